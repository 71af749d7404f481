"""Section 2.1: the retransmission timeout against the actual round-trip time (Fig. 3)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Axis, Figure
from tcpsf.evaluation.exhibit import Exhibit, Part, series
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case
from tcpsf.evaluation.watch import Rows
from tcpsf.papers import packet_discard as paper
from tcpsf.papers import packet_discard_networks as networks
from tcpsf.summary import RunSummary

TIMERS = Rows(table="flows", columns=("workload", "rto_s"))
CLOCKS = {
    "500ms": ("tick of 500 ms", "500ms", "1s"),
    "100ms": ("tick of 100 ms", "100ms", "200ms"),
    "1ms": ("tick of 1 ms, at least 200 ms", "1ms", "200ms"),
}
"""Timers: that of the text, that of Fig. 17, and a usual one of today."""
LONG = 2.0
"""Ratio of a timeout to the round-trip time from which on it is "much longer"."""

TRIP = Axis(label="actual round-trip time", unit="s", scale="log")
TIMEOUT = Axis(label="retransmission timeout", unit="s", scale="log")


def exhibits() -> tuple[Exhibit, ...]:
    """Return Fig. 3, the timeout by the round-trip time.

    It varies the timer itself, so it takes no setting.
    """
    cases = {
        key: Case(scenario=networks.timer_scenario(tick=tick, least=least), watches=(TIMERS,))
        for key, (_, tick, least) in CLOCKS.items()
    }
    return (
        Exhibit(
            key="fig-3",
            section="timers",
            cases=tuple(cases.values()),
            build=lambda runs: _figure_3({key: runs.of(case) for key, case in cases.items()}),
            shown={"Fig. 3": cases["500ms"].scenario},
        ),
    )


def _figure_3(runs: Mapping[str, Sequence[RunSummary]]) -> Part:
    lines = []
    for key, (label, _, _) in CLOCKS.items():
        trips = [_trip(runs[key], milliseconds) for milliseconds in networks.ROUND_TRIPS_MS]
        lines.append(
            series(
                key, label, trips, [_timeout(runs[key], each) for each in networks.ROUND_TRIPS_MS]
            )
        )
    figure = Figure(
        key="fig-3",
        title="Retransmission timeout against round-trip time",
        source=f"{paper.SHORT}, Fig. 3",
        caption=(
            f"{len(networks.ROUND_TRIPS_MS) * networks.SHARING} connections, {networks.SHARING} to a line of "
            f"{networks.LINE_MBPS:g} Mb/s; the actual time is propagation plus the mean queueing delay; the "
            "timeout is the median of the values at the end."
        ),
        x=TRIP,
        y=TIMEOUT,
        series=tuple(lines),
    )
    return Part(figures=(figure,), findings=tuple(_claims(runs["500ms"])))


def _claims(runs: Sequence[RunSummary]) -> Iterator[Finding]:
    tick = 0.5
    ratios = {
        f"{_trip(runs, each):.3f} s": found.scaled(1.0 / _trip(runs, each))
        for each in networks.ROUND_TRIPS_MS
        if _trip(runs, each) < tick and (found := _timeout(runs, each)) is not None
    }
    yield judge.finding(
        key="timeout-much-longer",
        claim="With a tick of 500 ms the timeout is more than twice as long as any round trip shorter than the tick",
        source="section 2.1, Fig. 3",
        published="much longer",
        judged=judge.all_above(ratios, LONG, "times"),
    )


def _trip(runs: Sequence[RunSummary], milliseconds: int) -> float:
    """Round-trip time in seconds: the propagation delay and the mean queueing delay of a link."""
    queues = [
        link["mean_queue_bytes"]
        for run in runs
        for link in run.links
        if link["link"] == f"line-{milliseconds}"
    ]
    return milliseconds / 1000.0 + 8e-6 * math.fsum(queues) / len(queues) / networks.LINE_MBPS


def _timeout(runs: Sequence[RunSummary], milliseconds: int) -> stats.Estimate | None:
    """Median timeout of a link's connections.

    The median is used because a few timers are backed off, by up to a minute.
    """
    name = f"rtt-{milliseconds}"
    found = [[row["rto_s"] for row in TIMERS.of(run) if row["workload"] == name] for run in runs]
    return stats.mean([statistics.median(of_run) for of_run in found])
