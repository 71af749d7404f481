"""What `tcpsf sim` says: flows by class, endless flows, links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from tcpsf import stats
from tcpsf.report import text
from tcpsf.scenario import Greedy
from tcpsf.summary import GroupReport, RunSummary, report_groups

SCHEMA = "tcpsf.sim/2"


def as_dict(runs: Sequence[RunSummary]) -> dict[str, Any]:
    """Return plain data for JSON, as ``report/schema/sim.json`` describes it."""
    source = runs[0].provenance
    return {
        "schema": SCHEMA,
        "version": source.version,
        "seeds": [run.provenance.seed for run in runs],
        "flows": [_group_dict(group) for group in report_groups(runs)],
        "links": [{"seed": run.provenance.seed, **link} for run in runs for link in run.links],
        "scenario": source.scenario.to_dict(),
    }


def as_text(runs: Sequence[RunSummary]) -> str:
    """Lay out everything as text."""
    scenario = runs[0].provenance.scenario
    endless = {workload.name for workload in scenario.workload if isinstance(workload, Greedy)}
    groups = report_groups(runs)
    seeds = [run.provenance.seed for run in runs]
    named = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    parts = [f"{scenario.name}: {text.count(len(runs), 'run')} of {scenario.duration}, {named}"]
    finite = [group for group in groups if group.group.workload not in endless]
    for (workload, variant), members in groupby(finite, key=lambda group: group.group[:2]):
        parts.append(f"Flows of `{workload}`, {variant}\n\n{_flows(list(members))}")
    greedy = [group for group in groups if group.group.workload in endless]
    if greedy:
        parts.append(f"Endless flows\n\n{_greedy(greedy, runs)}")
    parts += [f"Links\n\n{_links(runs)}", "\n".join(_legend(finite=bool(finite), runs=len(runs)))]
    return "\n\n".join(parts)


def _flows(groups: Sequence[GroupReport]) -> str:
    heads = ["class", "bytes", "flows", "done", "mean, s", "p50, s", "p95, s", "%FR", "timeouts", "resent, %"]
    rows = [
        [
            text.NOTHING if each.group.size_class is None else str(each.group.size_class),
            text.number(each.size_bytes, 0),
            text.plain(each.flows, 0),
            text.plain(each.completed, 0),
            text.seconds_estimate(each.completion_s),
            text.seconds(each.median_s),
            text.seconds(each.p95_s),
            _share(each),
            str(each.timeouts + each.syn_timeouts),
            text.compact(each.retransmitted_percent, 1),
        ]
        for each in groups
    ]
    return text.table([heads, *rows])


def _legend(*, finite: bool, runs: int) -> Iterator[str]:
    """Explain the columns."""
    if runs > 1:
        yield "± and [low,high]: 95 % interval over runs."
    if finite:
        yield "mean, p50, p95: completion time of the flows that are done; p50 and p95 are percentiles."
    yield "%FR: fast retransmits, as a percentage of fast retransmits and timeouts. –: none."
    yield "resent: share of the payload bytes sent. dropped: by the queue. lost: by the link's loss model."
    yield "used: share of the link's rate. queue, max: mean and largest queue."


def _share(each: GroupReport) -> str:
    """%FR, and a dash where there was no fast retransmit: zero ± zero would claim too much."""
    return text.compact(each.fast_percent if each.fast_retransmits else None, 1)


def _greedy(groups: Sequence[GroupReport], runs: Sequence[RunSummary]) -> str:
    observed_s = sum(run.links[0]["duration_s"] for run in runs)
    rows = [["workload", "sender", "flows", "Mb/s each", "%FR", "timeouts", "resent, %"]]
    for each in groups:
        flows_a_run = each.flows / len(runs)
        rows.append(
            [
                each.group.workload,
                each.group.variant,
                f"{flows_a_run:g}",
                text.number(each.sent_once_bytes * 8e-6 / observed_s / flows_a_run, 3),
                _share(each),
                str(each.timeouts + each.syn_timeouts),
                text.compact(each.retransmitted_percent, 1),
            ]
        )
    return text.table(rows, left=[0, 1])


def _links(runs: Sequence[RunSummary]) -> str:
    marking = any(link["marked_packets"] for run in runs for link in run.links)
    marked_head = ["marked, %"] if marking else []
    heads = ["link", "used, %", "packets", "dropped, %", *marked_head, "lost, %", "queue, kB", "max, kB"]
    rows = [heads]
    for number, link in enumerate(runs[0].links):
        each = [run.links[number] for run in runs]
        offered = [row["offered_packets"] for row in each]
        marked = [_percent([row["marked_packets"] for row in each], offered)]
        rows.append(
            [
                link["link"],
                text.estimate(
                    stats.mean([100.0 * (row["utilisation"] or 0.0) for row in each], possible=stats.PERCENT)
                ),
                text.plain(sum(offered), 0),
                _percent([_dropped(row) for row in each], offered),
                *(marked if marking else []),
                _percent([row["dropped_loss_packets"] for row in each], offered),
                text.estimate(stats.mean([row["mean_queue_bytes"] * 1e-3 for row in each], possible=stats.POSITIVE)),
                text.number(max(row["max_queue_bytes"] for row in each) * 1e-3, 1),
            ]
        )
    return text.table(rows, left=[0])


def _percent(packets: Sequence[float], offered: Sequence[float]) -> str:
    found = stats.share(packets, offered)
    return text.NOTHING if found is None else text.estimate(found.scaled(100.0))


def _dropped(link: Mapping[str, Any]) -> int:
    """Packets that the queue refused: for want of room, or early."""
    return int(link["dropped_buffer_packets"] + link["dropped_early_packets"])


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
        "median_s": each.median_s,
        "p95_s": each.p95_s,
        "fast_percent": _estimate_dict(each.fast_percent),
        "retransmitted_percent": _estimate_dict(each.retransmitted_percent),
        "fast_retransmits": each.fast_retransmits,
        "timeouts": each.timeouts,
        "syn_timeouts": each.syn_timeouts,
        "sent_once_bytes": each.sent_once_bytes,
    }


def _estimate_dict(found: stats.Estimate | None) -> dict[str, Any] | None:
    return None if found is None else found.to_dict()
