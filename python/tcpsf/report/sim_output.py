"""Output of `tcpsf sim`: flows by class, endless flows, links."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from tcpsf import stats, text
from tcpsf.scenario import Greedy
from tcpsf.summed import GroupReport, SummedRuns

SCHEMA = "tcpsf.sim/2"


def as_json(
    found: SummedRuns, *, seeds: Sequence[int], links: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield pieces of JSON as ``report/schema/sim.json`` describes it, indented by two spaces.

    ``links`` are the rows of the ``links`` table of all runs, with the random seed. Neither these
    rows nor the seeds need to be in memory at once.
    """
    return members(
        schema=SCHEMA,
        version=found.source.version,
        seeds=iter(seeds),
        flows=iter(map(_group_dict, found.groups())),
        links=iter(links),
        scenario=found.source.scenario.to_dict(),
    )


def members(**values: Any) -> Iterator[str]:
    """Yield a JSON object piece by piece; an iterator among its ``values`` becomes an array."""
    before = "{\n"
    for name, value in values.items():
        yield f"{before}  {json.dumps(name)}: "
        yield from _array(value) if isinstance(value, Iterator) else (_indented(value, "  "),)
        before = ",\n"
    yield "\n}"


def _array(values: Iterator[Any]) -> Iterator[str]:
    before = "[\n    "
    for value in values:
        yield f"{before}{_indented(value, '    ')}"
        before = ",\n    "
    yield "[]" if before.startswith("[") else "\n  ]"


def _indented(value: Any, by: str) -> str:
    return json.dumps(value, indent=2).replace("\n", f"\n{by}")


def as_text(found: SummedRuns, *, seeds: Sequence[int]) -> str:
    """Return the flows by class, endless flows and links of `tcpsf sim`, as text."""
    scenario = found.source.scenario
    endless = {workload.name for workload in scenario.workload if isinstance(workload, Greedy)}
    groups = found.groups()
    named = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    parts = [f"{scenario.name}: {text.count(found.runs, 'run')} of {scenario.duration}, {named}"]
    finite = [group for group in groups if group.group.workload not in endless]
    for (workload, variant), members in groupby(finite, key=lambda group: group.group[:2]):
        parts.append(f"Flows of `{workload}`, {variant}\n\n{_flows(list(members))}")
    greedy = [group for group in groups if group.group.workload in endless]
    if greedy:
        parts.append(f"Endless flows\n\n{_greedy(greedy, found)}")
    parts += [f"Links\n\n{_links(found)}", "\n".join(_legend(finite=bool(finite), runs=found.runs))]
    return "\n\n".join(parts)


def _flows(groups: Sequence[GroupReport]) -> str:
    heads = [
        "class",
        "bytes",
        "flows",
        "done",
        "mean, s",
        "p50, s",
        "p95, s",
        "%FR",
        "timeouts",
        "resent, %",
    ]
    rows = [
        [
            text.NOTHING if each.group.size_class is None else str(each.group.size_class),
            text.number(each.size_bytes, 0),
            text.plain(each.flows, 0),
            text.plain(each.completed, 0),
            text.seconds_estimate(each.completion_s),
            text.seconds_compact(each.median_s),
            text.seconds_compact(each.p95_s),
            _share(each),
            text.plain(each.timeouts + each.syn_timeouts, 0),
            text.compact(each.retransmitted_percent, 1),
        ]
        for each in groups
    ]
    return text.table([heads, *rows])


def _legend(*, finite: bool, runs: int) -> Iterator[str]:
    """Yield explanations of the columns."""
    if runs > 1:
        yield "± and [low,high]: 95 % interval over runs."
    if finite:
        yield "mean, p50, p95: completion time of the flows that are done; p50 and p95 are percentiles."
    yield "%FR: fast retransmits, as a percentage of fast retransmits and timeouts. –: none."
    yield "resent: share of the payload bytes sent. dropped: by the queue. lost: by the link's loss model."
    yield "used: share of the link's rate. queue, max: mean and largest queue."


def _share(each: GroupReport) -> str:
    """Text of %FR; a dash without any fast retransmit, because zero ± zero would claim too much."""
    return text.compact(each.fast_percent if each.fast_retransmits else None, 1)


def _greedy(groups: Sequence[GroupReport], found: SummedRuns) -> str:
    rows = [["workload", "sender", "flows", "Mb/s each", "%FR", "timeouts", "resent, %"]]
    for each in groups:
        flows_a_run = each.flows / found.runs
        rows.append(
            [
                each.group.workload,
                each.group.variant,
                text.short(flows_a_run),
                text.number(each.sent_once_bytes * 8e-6 / found.observed_s / flows_a_run, 3),
                _share(each),
                text.plain(each.timeouts + each.syn_timeouts, 0),
                text.compact(each.retransmitted_percent, 1),
            ]
        )
    return text.table(rows, left=[0, 1])


def _links(found: SummedRuns) -> str:
    marking = any(link.marked_packets for link in found.links)
    marked_head = ["marked, %"] if marking else []
    rows = [
        [
            "link",
            "used, %",
            "packets",
            "dropped, %",
            *marked_head,
            "lost, %",
            "queue, kB",
            "max, kB",
        ]
    ]
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
    return text.table(rows, left=[0])


def _group_dict(each: GroupReport) -> dict[str, Any]:
    return {
        "workload": each.group.workload,
        "variant": each.group.variant,
        "class": each.group.size_class,
        "size_bytes": each.size_bytes,
        "flows": each.flows,
        "completed": each.completed,
        "completion_s": _estimate_dict(each.completion_s),
        "delivery_s": _estimate_dict(each.delivery_s),
        **_quantile_dict("median", each.median_s),
        **_quantile_dict("p95", each.p95_s),
        "fast_percent": _estimate_dict(each.fast_percent),
        "retransmitted_percent": _estimate_dict(each.retransmitted_percent),
        "fast_retransmits": each.fast_retransmits,
        "timeouts": each.timeouts,
        "syn_timeouts": each.syn_timeouts,
        "sent_once_bytes": each.sent_once_bytes,
    }


def _quantile_dict(name: str, found: stats.Estimate | None) -> dict[str, Any]:
    """Return a time in seconds, and its interval as a separate member."""
    if found is None:
        return {f"{name}_s": None, f"{name}_interval_s": None}
    return {f"{name}_s": found.value, f"{name}_interval_s": found.interval}


def _estimate_dict(found: stats.Estimate | None) -> dict[str, Any] | None:
    return None if found is None else found.to_dict()
