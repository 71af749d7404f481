"""Common parts of the Santa Cruz exhibits: the measurements of a run and their presentation."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tcpsf import stats, text
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import OWN, Axis, Figure, Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part, series
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case
from tcpsf.evaluation.watch import Delays, Rows
from tcpsf.intervals import EVERYTHING, Ends
from tcpsf.papers import santa_cruz as paper
from tcpsf.scenario import Scenario
from tcpsf.summary import RunSummary, total

DELAYS = Delays(workload=paper.SOURCE)
CURVES = Rows(
    table="samples",
    columns=("time_s", "object", "quantity", "value"),
    where=(
        ("object", (f"{paper.SOURCE}/0", paper.FORWARD)),
        ("quantity", ("cwnd_bytes", "queue_packets")),
    ),
)

TIME = Axis(label="time", unit="s", scale="linear", low=0.0, high=10.0)
PACKETS = Axis(label="congestion window", unit="packets", scale="linear", low=0.0)
WAITING = Axis(label="bottleneck queue", unit="packets", scale="linear", low=0.0)

FEW_PERCENT = 5.0
"""Tolerance in per cent for a published number.

It is a few per cent, because the printed numbers are rounded to one per cent.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuantities:
    """The quantities of the paper's tables, for one run."""

    throughput_mbps: float
    """Throughput of whole packets that arrived, including retransmissions."""
    utilisation: float
    """The throughput divided by the bottleneck's rate."""
    delay_ms: float
    variance_s2: float
    timeouts: int
    fast_retransmits: int
    cwnd: tuple[float, ...]
    """Sampled congestion windows, in packets."""
    queue: tuple[float, ...]
    """Sampled queue of the bottleneck, in packets."""
    times_s: tuple[float, ...]
    """Times of the samples."""


BySender = Mapping[str, Sequence[RunQuantities]]
"""Measurements by sender's key, one per run."""


def case(scenario: Scenario, *, once: bool = False) -> Case:
    """Return a case that keeps every quantity of `RunQuantities`."""
    return Case(scenario=scenario, watches=(DELAYS, CURVES), once=once)


def unwatched(scenario: Scenario) -> Scenario:
    """Return a scenario that keeps no samples and traces no packets."""
    return replace(scenario, samples=None, trace=())


def measured(run: RunSummary, *, rate_bps: float) -> RunQuantities:
    """Return the quantities of the paper's tables for one run."""
    delay = DELAYS.of(run)
    seconds = run.links[0]["duration_s"]
    bits = 8 * (delay.arrived_bytes + paper.HEADER * delay.arrived_packets)
    cwnd = list(CURVES.curve(run, object=f"{paper.SOURCE}/0", quantity="cwnd_bytes"))
    queue = CURVES.curve(run, object=paper.FORWARD, quantity="queue_packets")
    source = total(totals for group, totals in run.groups.items() if group.workload == paper.SOURCE)
    return RunQuantities(
        throughput_mbps=1e-6 * bits / seconds,
        utilisation=bits / seconds / rate_bps,
        delay_ms=1e3 * delay.mean_s,
        variance_s2=delay.variance_s2,
        timeouts=source.timeouts,
        fast_retransmits=source.fast_retransmits,
        cwnd=tuple(value / paper.MSS for _, value in cwnd),
        queue=tuple(value for _, value in queue),
        times_s=tuple(at for at, _ in cwnd),
    )


def exhibit(
    key: str,
    section: str,
    cases: Mapping[str, Case],
    build: Callable[[BySender], Part],
    *,
    rate_bps: float,
    what: str,
) -> Exhibit:
    """Return an exhibit of cases by sender's key, optionally with other cases.

    ``what`` describes the simulation.
    """
    return Exhibit(
        key=key,
        section=section,
        cases=tuple(cases.values()),
        build=lambda runs: build(
            {
                name: [measured(run, rate_bps=rate_bps) for run in runs.of(each)]
                for name, each in cases.items()
            }
        ),
        shown={
            f"{each.label}, {what}": cases[each.key].scenario
            for each in paper.SENDERS
            if each.key in cases
        },
    )


# ---- estimates

Quantity = Callable[[RunQuantities], float]


def throughput(run: RunQuantities) -> float:
    """Throughput in Mb/s."""
    return run.throughput_mbps


def utilisation_percent(run: RunQuantities) -> float:
    """Throughput in per cent of the bottleneck's rate."""
    return 100.0 * run.utilisation


def delay(run: RunQuantities) -> float:
    """Mean one-way delay of the data packets in milliseconds."""
    return run.delay_ms


def settled_window(run: RunQuantities) -> float:
    """Mean congestion window of the second half of the run, in packets."""
    later = run.cwnd[len(run.cwnd) // 2 :]
    return sum(later) / len(later)


def variance(run: RunQuantities) -> float:
    """Variance of the one-way delay in 10⁻³ s²."""
    return 1e3 * run.variance_s2


def mean(
    runs: Sequence[RunQuantities], of: Quantity, *, possible: Ends = EVERYTHING
) -> stats.Estimate | None:
    """Mean over the runs, or the value of one deterministic run.

    The interval is restricted to the ``possible`` range.
    """
    values = [of(run) for run in runs]
    return judge.exact(values[0]) if len(values) == 1 else stats.mean(values, possible=possible)


def more_percent(
    ours: Sequence[RunQuantities], theirs: Sequence[RunQuantities], of: Quantity
) -> stats.Estimate | None:
    """By how many per cent ``ours`` exceeds ``theirs``.

    Runs with the same random seed are compared in pairs.
    """
    return _flipped(less_percent(ours, theirs, of))


def less_percent(
    ours: Sequence[RunQuantities], theirs: Sequence[RunQuantities], of: Quantity
) -> stats.Estimate | None:
    """By how many per cent ``ours`` is below ``theirs``.

    Runs with the same random seed are compared in pairs.
    """
    a, b = [of(run) for run in ours], [of(run) for run in theirs]
    if len(a) == 1 and len(b) == 1 and b[0]:
        return judge.exact(100.0 * (1.0 - a[0] / b[0]))
    return stats.gain(a, b)


def times_less(
    ours: Sequence[RunQuantities], theirs: Sequence[RunQuantities], of: Quantity
) -> stats.Estimate | None:
    """Ratio of ``theirs`` to ``ours``, with runs on the same random seed compared in pairs."""
    a, b = [of(run) for run in ours], [of(run) for run in theirs]
    if len(a) == 1 and len(b) == 1 and a[0]:
        return judge.exact(b[0] / a[0])
    return stats.ratio(b, a)


def _flipped(found: stats.Estimate | None) -> stats.Estimate | None:
    return None if found is None else found.scaled(-1.0)


# ---- tables and figures

Column = tuple[str, str, Quantity, Callable[[paper.PublishedRow], float]]
"""Heading, unit, simulated quantity and published quantity of a column."""


def columns(*, micro: bool) -> tuple[Column, ...]:
    """Return the tables' columns; the variance of Table 4 is ``micro``, in 10⁻⁶ s²."""
    scale, unit = (1e6, "10⁻⁶ s²") if micro else (1e3, "10⁻³ s²")
    return (
        ("throughput", "Mb/s", throughput, lambda row: row.throughput_mbps),
        ("utilisation", "", lambda run: run.utilisation, lambda row: row.utilisation),
        ("delay", "ms", delay, lambda row: row.delay_ms),
        (
            "delay variance",
            unit,
            lambda run: scale * run.variance_s2,
            lambda row: scale * row.variance_s2,
        ),
    )


def senders_table(
    *,
    key: str,
    title: str,
    source: str,
    caption: str,
    runs: BySender,
    published: Callable[[paper.Sender], paper.PublishedRow],
    micro: bool = False,
    ranges: bool,
    notes: tuple[str, ...] = (),
) -> Table:
    """Return a table with the paper's rows.

    With ``ranges``, each row is an ensemble, with its median and its range.
    """
    shown = columns(micro=micro)
    rows = []
    for sender in paper.SENDERS:
        cells: list[TableCell | str] = []
        for _, unit, ours, theirs in shown:
            values = sorted(ours(run) for run in runs[sender.key])
            middle = stats.Estimate(statistics.median(values), None, len(values))
            cells.append(TableCell(ours=middle, published=theirs(published(sender)), unit=unit))
            if ranges:
                cells.append(text.span(values[0], values[-1]))
        rows.append(Row(label=sender.label, cells=tuple(cells)))
    heads = [
        head for name, *_ in shown for head in ((f"{name}, median", "range") if ranges else (name,))
    ]
    return Table(
        key=key,
        title=title,
        source=source,
        caption=caption,
        columns=("protocol", *heads),
        rows=tuple(rows),
        notes=notes,
    )


def means_table(
    *,
    key: str,
    title: str,
    caption: str,
    columns: Sequence[str],
    possible: Ends = stats.POSITIVE,
    unit: str = "",
    senders: Sequence[paper.Sender] = paper.SENDERS,
    of: Callable[[paper.Sender], Sequence[Sequence[float]]],
) -> Table:
    """Return a table of simulated means over runs, with one row per sender.

    ``of`` gives the values of the runs, column by column. ``possible`` is their range.
    """
    rows = tuple(
        Row(
            label=each.label,
            cells=tuple(
                TableCell(ours=stats.mean(values, possible=possible), published=None, unit=unit)
                for values in of(each)
            ),
        )
        for each in senders
    )
    return Table(
        key=key, title=title, source=OWN, caption=caption, columns=("sender", *columns), rows=rows
    )


def over_time(
    *,
    key: str,
    title: str,
    queue: str = "bottleneck queue",
    source: str,
    caption: str,
    runs: BySender,
    senders: Sequence[paper.Sender],
) -> tuple[Figure, Figure]:
    """Plot the first run's congestion window and its queue, labelled ``queue``, against time."""

    def figure(
        key: str, what: str, y: Axis, of: Callable[[RunQuantities], Sequence[float]]
    ) -> Figure:
        lines = []
        for sender in senders:
            run = runs[sender.key][0]
            points = [judge.exact(round(value, 4)) for value in of(run)]
            lines.append(
                series(
                    sender.key,
                    sender.label,
                    [round(at, 6) for at in run.times_s],
                    points,
                    style="step",
                )
            )
        heading = f"{title}: {what}"
        return Figure(
            key=key, title=heading, source=source, caption=caption, x=TIME, y=y, series=tuple(lines)
        )

    return (
        figure(key, "congestion window", PACKETS, lambda run: run.cwnd),
        figure(f"{key}-queue", queue, WAITING, lambda run: run.queue),
    )


def table_findings(
    *,
    key: str,
    source: str,
    runs: BySender,
    published: Callable[[paper.Sender], paper.PublishedRow],
) -> Iterator[Finding]:
    """Judge for each row whether throughput and delay are within a few per cent of the paper's."""
    quantities = [each for each in columns(micro=False) if each[0] in ("throughput", "delay")]
    for sender in paper.SENDERS:
        for what, unit, ours, theirs in quantities:
            value = theirs(published(sender))
            margin = value * FEW_PERCENT / 100.0
            yield judge.finding(
                key=f"{key}-{sender.key}-{what}",
                claim=f"{sender.label}: the row's {what}, within {FEW_PERCENT:g} %",
                source=source,
                published=f"{value:g} {unit}",
                judged=judge.is_within(
                    mean(runs[sender.key], ours), value - margin, value + margin, unit
                ),
            )
