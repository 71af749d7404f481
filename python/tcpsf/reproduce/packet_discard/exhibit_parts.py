"""Common parts of the packet-discard exhibits: settings, axes, and quantities of a run.

Effective throughput, active time and fairness are defined in `READINGS` of the paper's module.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tcpsf import stats
from tcpsf.evaluation.data import Axis
from tcpsf.evaluation.plan import Case
from tcpsf.evaluation.watch import Rows
from tcpsf.papers import packet_discard as paper
from tcpsf.papers import packet_discard_networks as networks
from tcpsf.papers.packet_discard_networks import Policy, Topology
from tcpsf.scenario import Scenario
from tcpsf.summary import RunSummary

Readings = Literal["text", "closest"]
"""The TCP timer: that of the paper's text, or the one that Fig. 17 shows."""

CONNECTIONS = Rows(
    table="flows",
    columns=(
        "workload",
        "start_s",
        "received_bytes",
        "segments",
        "retransmitted_segments",
        "fast_retransmits",
        "timeouts",
        "waited_s",
    ),
)

SHARE = Axis(label="effective throughput", unit="", scale="linear", low=0.0, high=1.0)
NEAR_ONE = Axis(label="effective throughput", unit="", scale="linear")
"""Axis for topology A, where all values are close together."""
ACTIVE = Axis(
    label="time in which connections are active", unit="", scale="linear", low=0.0, high=1.0
)
THRESHOLD = Axis(label="threshold, share of the buffer", unit="", scale="linear")
SECONDS = Axis(label="time", unit="s", scale="linear")

ABOUT = 0.05
"""Tolerance for "about the same", for numbers read from the figures.

It applies to shares of throughput and of time.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Duration and reading that all scenarios of an evaluation share."""

    duration: str = networks.DURATION
    readings: Readings = "text"

    def case(self, topology: Topology, policy: Policy, **options: Any) -> Case:
        """Return a case of `networks.network` with the selected timer."""
        return self.of(networks.network(topology, policy, duration=self.duration, **options))

    def of(self, scenario: Scenario) -> Case:
        """Return a case of a scenario with the selected timer."""
        read = scenario if self.readings == "text" else networks.closest(scenario)
        return Case(scenario=read, watches=(CONNECTIONS,))


Measure = Callable[[RunSummary], float]
"""A quantity of a run."""


def connections(run: RunSummary) -> list[dict[str, Any]]:
    """Return the connections' rows in the scenario's order, not by start time."""
    rows = {row["workload"]: row for row in CONNECTIONS.of(run)}
    return [rows[workload.name] for workload in run.provenance.scenario.workload]


def goodput(topology: Topology) -> Measure:
    """Effective throughput: payload in order, as a share of the outgoing link's capacity."""
    return lambda run: math.fsum(rates(run)) / paper.capacity(topology.outgoing_mbps)


def rates(run: RunSummary) -> list[float]:
    """Payload in order of each connection, in Mb/s."""
    seconds = run.links[0]["duration_s"]
    return [8e-6 * row["received_bytes"] / seconds for row in connections(run)]


def active(run: RunSummary) -> float:
    """Share of the connections' time in which they did not wait for a timer."""
    seconds = run.links[0]["duration_s"]
    rows = connections(run)
    return 1.0 - math.fsum(row["waited_s"] for row in rows) / math.fsum(
        seconds - row["start_s"] for row in rows
    )


def fairness(run: RunSummary) -> float:
    """Jain's index of the connections' throughputs."""
    return stats.jain(rates(run))


def timeouts(run: RunSummary) -> float:
    """Retransmission timeouts per connection."""
    rows = connections(run)
    return float(sum(row["timeouts"] for row in rows) / len(rows))


def spacing(run: RunSummary) -> float:
    """Segments sent per retransmission by fast retransmit or timeout."""
    rows = connections(run)
    return float(
        sum(row["segments"] for row in rows)
        / max(1, sum(row["retransmitted_segments"] for row in rows))
    )


def each(runs: Sequence[RunSummary], measure: Measure) -> list[float]:
    """Return the value of a quantity in every run."""
    return [measure(run) for run in runs]


def mean(runs: Sequence[RunSummary], measure: Measure) -> stats.Estimate | None:
    """Mean over runs of a number that has no upper limit."""
    return stats.mean(each(runs, measure))


def mean_share(runs: Sequence[RunSummary], measure: Measure) -> stats.Estimate | None:
    """Mean over runs of a share; its interval is restricted to 0 to 1."""
    return stats.mean(each(runs, measure), possible=stats.SHARE)


def over(
    ours: Sequence[RunSummary], theirs: Sequence[RunSummary], measure: Measure
) -> stats.Estimate | None:
    """Difference between ``ours`` and ``theirs``, with runs compared in pairs."""
    return stats.difference(each(ours, measure), each(theirs, measure))


def best(runs: Mapping[float, Sequence[RunSummary]], measure: Measure) -> float:
    """Return the key of the highest mean over runs."""
    return max(runs, key=lambda at: math.fsum(each(runs[at], measure)))
