"""Summary of runs of one scenario: flows by class, endless flows, links.

`tcpsf sim` prints it, and `RunResult.summary` returns it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, Protocol

from tcpsf import markup, stats, text
from tcpsf.errors import TcpsfError
from tcpsf.result import Provenance
from tcpsf.scenario import Greedy
from tcpsf.summary import SummaryFold
from tcpsf.summed import GroupReport, LinkSums, SummedRuns

if TYPE_CHECKING:
    import polars as pl


class _Result(Protocol):
    """A run with its tables."""

    @property
    def provenance(self) -> Provenance: ...
    @property
    def flows(self) -> pl.DataFrame: ...
    @property
    def links(self) -> pl.DataFrame: ...


def sums_of(results: Iterable[_Result]) -> tuple[SummedRuns, list[int]]:
    """Return the sums over runs of one scenario, and the seeds of the runs.

    Raises `TcpsfError` if there is no result, or if the scenarios or Python models differ.
    """
    found, seeds = SummedRuns(), list[int]()
    for result in results:
        source = result.provenance
        if found.runs and source.scenario != found.source.scenario:
            raise TcpsfError(
                f"cannot summarize: the scenario of the run with seed {source.seed} differs "
                f"from that of the run with seed {seeds[0]}",
                hint="make one summary for each scenario",
            )
        if found.runs and source.models != found.source.models:
            raise TcpsfError(
                f"cannot summarize: the Python models of the run with seed {source.seed} differ "
                f"from those of the run with seed {seeds[0]}",
                hint="make one summary for each model",
            )
        fold = SummaryFold()
        fold.add(result)
        found.add(fold.finish(links=result.links, provenance=source))
        seeds.append(source.seed)
    if not seeds:
        raise TcpsfError("cannot summarize: no result is given", hint="give at least one run")
    return found, seeds


class Summary:
    """Summary of one or more runs of a scenario, as `tcpsf sim` prints it.

    ``str(summary)`` is the text, and a notebook shows HTML tables. Values over several runs have
    95 % intervals. `RunResult.summary` makes the summary of one run, and `Summary.of` that of
    several.

    >>> from tcpsf import replicates
    >>> from tcpsf.papers.smart_framing import CLASSIC, web_scenario
    >>> web = web_scenario(sender=CLASSIC.sender, duration="5s")
    >>> print(str(Summary.of(replicates(web, num_replicates=2))).splitlines()[0])
    smart-framing-web: 2 runs of 5s, seeds 1 to 2
    """

    __slots__ = ("_found", "_seeds")

    def __init__(self, found: SummedRuns, *, seeds: Sequence[int]) -> None:
        self._found = found
        self._seeds = seeds

    @classmethod
    def of(cls, results: Iterable[_Result]) -> Summary:
        """Summarize runs of one scenario. An iterator needs memory for one result at a time.

        A result is a `RunResult`, or has its attributes ``provenance``, ``flows`` and ``links``.
        Raises `TcpsfError` if there is no result, or if the scenarios or Python models differ.
        """
        found, seeds = sums_of(results)
        return cls(found, seeds=seeds)

    @property
    def runs(self) -> int:
        """Number of runs."""
        return self._found.runs

    def to_frame(self, table: Literal["flows", "links"] = "flows") -> pl.DataFrame:
        """Return the values as a data frame: one row per group of flows, or per link.

        Columns that end in ``_low`` and ``_high`` have the ends of 95 % intervals, which are null
        for a single run. Units are part of the names, as in the tables of a run. Raises `TcpsfError`
        for another name of a table.
        """
        import polars as pl

        if table not in ("flows", "links"):
            raise TcpsfError(
                f"cannot make a data frame of `{table}`: expected `flows` or `links`",
                hint="the tables of a run, such as `recoveries`, are attributes of `RunResult`",
            )
        found = self._found
        if table == "flows":
            rows = [_flow_columns(each, found) for each in found.groups()]
            names = [*FLOW_TEXTS, *FLOW_NUMBERS, *FLOW_COUNTS, *_with_ends(FLOW_ESTIMATES)]
        else:
            rows = [_link_columns(link, found.runs) for link in found.links]
            names = ["link", *LINK_COUNTS, *_with_ends(LINK_ESTIMATES)]
        texts, counts = {*FLOW_TEXTS, "link"}, {*FLOW_COUNTS, *LINK_COUNTS, "class"}
        schema = {
            name: pl.String if name in texts else pl.Int64 if name in counts else pl.Float64
            for name in names
        }
        return pl.DataFrame(rows, schema=schema)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return "\n\n".join([self.title(), *map(str, self.tables()), "\n".join(self.legend())])

    def _repr_html_(self) -> str:
        tables = (
            markup.table(part.rows, caption=part.title, left=part.left) for part in self.tables()
        )
        legend = markup.paragraph("\n".join(self.legend()))
        return (
            f"<div><p>{markup.paragraph(self.title())}</p>{''.join(tables)}"
            f"<p><small>{legend}</small></p></div>"
        )

    def title(self) -> str:
        """Return the first line of the text: the scenario, the duration and the seeds."""
        source = self._found.source
        runs = f"{text.count(self.runs, 'run')} of {source.scenario.duration}"
        title = f"{source.scenario.name}: {runs}, {text.seeds(self._seeds)}"
        return f"{title}\nPython models: {source.models}" if source.models else title

    def _finite(self) -> list[GroupReport]:
        return [each for each in self._found.groups() if not _is_endless(each, self._found)]

    def tables(self) -> Iterator[text.TitledTable]:
        """Yield the tables of the text: flows of each workload, endless flows, links."""
        found = self._found
        for (workload, variant), members in groupby(self._finite(), lambda each: each.group[:2]):
            yield text.TitledTable(f"Flows of `{workload}`, {variant}", _flows(list(members)))
        endless = [each for each in found.groups() if _is_endless(each, found)]
        if endless:
            yield text.TitledTable("Endless flows", _greedy(endless, found), (0, 1))
        yield text.TitledTable("Links", _links(found), (0,))

    def legend(self) -> list[str]:
        """Return explanations of the columns."""
        return list(self._explanations())

    def _explanations(self) -> Iterator[str]:
        if self.runs > 1:
            yield "± and [low,high]: 95 % interval over runs."
        if self._finite():
            yield "mean, p50, p95: completion time of the flows that are done; p50 and p95 are percentiles."
        yield "%FR: fast retransmits, as a percentage of fast retransmits and timeouts. –: none."
        yield "resent: share of the payload bytes sent. dropped: by the queue. lost: by the link's loss model."
        yield "used: share of the link's rate. queue, max: mean and largest queue."


def _is_endless(each: GroupReport, found: SummedRuns) -> bool:
    workloads = found.source.scenario.workload
    return any(isinstance(load, Greedy) and load.name == each.group.workload for load in workloads)


def _goodput(each: GroupReport, found: SummedRuns) -> float:
    """Payload of one endless flow in Mb/s, without retransmissions."""
    return each.sent_once_bytes * 8e-6 / found.observed_s / (each.flows / found.runs)


def _flows(groups: Sequence[GroupReport]) -> list[list[str]]:
    heads = ["class", "bytes", "flows", "done", "mean, s", "p50, s", "p95, s", "%FR", "timeouts"]
    rows = [
        [
            text.NOTHING if each.group.size_class is None else str(each.group.size_class),
            text.number(each.size_bytes, 0),
            text.plain(each.flows, 0),
            text.plain(each.completed, 0),
            text.seconds_estimate(each.completion_s),
            text.seconds_compact(each.median_s),
            text.seconds_compact(each.p95_s),
            *_repairs(each),
        ]
        for each in groups
    ]
    return [[*heads, "resent, %"], *rows]


def _repairs(each: GroupReport) -> list[str]:
    """Cells of %FR, timeouts and retransmissions.

    %FR is a dash without any fast retransmit, because zero ± zero would claim too much.
    """
    return [
        text.compact(each.fast_percent if each.fast_retransmits else None, 1),
        text.plain(each.timeouts + each.syn_timeouts, 0),
        text.compact(each.retransmitted_percent, 1),
    ]


def _greedy(groups: Sequence[GroupReport], found: SummedRuns) -> list[list[str]]:
    rows = [["workload", "sender", "flows", "Mb/s each", "%FR", "timeouts", "resent, %"]]
    for each in groups:
        flows = text.short(each.flows / found.runs)
        goodput = text.number(_goodput(each, found), 3)
        rows.append([each.group.workload, each.group.variant, flows, goodput, *_repairs(each)])
    return rows


def _links(found: SummedRuns) -> list[list[str]]:
    marking = any(link.marked_packets for link in found.links)
    marked_head = ["marked, %"] if marking else []
    heads = ["link", "used, %", "packets", "dropped, %", *marked_head, "lost, %", "queue, kB"]
    rows = [[*heads, "max, kB"]]
    for link in found.links:
        queue = link.queue_bytes(found.runs)
        rows.append(
            [
                link.name,
                text.estimate(link.used_percent(found.runs)),
                text.plain(link.offered_packets, 0),
                text.estimate(link.dropped_percent(found.runs)),
                *([text.estimate(link.marked_percent(found.runs))] if marking else []),
                text.estimate(link.lost_percent(found.runs)),
                text.estimate(None if queue is None else queue.scaled(1e-3)),
                text.number(link.max_queue_bytes * 1e-3, 1),
            ]
        )
    return rows


FLOW_TEXTS = ("workload", "variant")
FLOW_NUMBERS = ("class", "size_bytes", "goodput_mbps")
FLOW_ESTIMATES = (
    "completion_s",
    "delivery_s",
    "median_s",
    "p95_s",
    "fast_percent",
    "retransmitted_percent",
)
FLOW_COUNTS = (
    "flows",
    "completed",
    "fast_retransmits",
    "timeouts",
    "syn_timeouts",
    "sent_once_bytes",
)
LINK_ESTIMATES = (
    "used_percent",
    "dropped_percent",
    "marked_percent",
    "lost_percent",
    "queue_bytes",
)
LINK_COUNTS = ("offered_packets", "marked_packets", "max_queue_bytes")
"""Columns of the data frames. Estimates and counts are named after the fields of their class."""


def _with_ends(names: Sequence[str]) -> Iterator[str]:
    """Yield the columns of estimates: the value and both ends of its interval."""
    for name in names:
        yield from (name, f"{name}_low", f"{name}_high")


def _flow_columns(each: GroupReport, found: SummedRuns) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "workload": each.group.workload,
        "variant": each.group.variant,
        "class": each.group.size_class,
        "size_bytes": each.size_bytes,
        "goodput_mbps": _goodput(each, found) if _is_endless(each, found) else None,
    }
    for name in FLOW_ESTIMATES:
        columns |= _columns(name, getattr(each, name))
    return columns | {name: getattr(each, name) for name in FLOW_COUNTS}


def _link_columns(link: LinkSums, runs: int) -> dict[str, Any]:
    columns: dict[str, Any] = {"link": link.name}
    for name in LINK_ESTIMATES:
        columns |= _columns(name, getattr(link, name)(runs))
    return columns | {name: getattr(link, name) for name in LINK_COUNTS}


def _columns(name: str, found: stats.Estimate | None) -> dict[str, float | None]:
    interval = found and found.interval
    low, high = interval or (None, None)
    return {name: found.value if found else None, f"{name}_low": low, f"{name}_high": high}
