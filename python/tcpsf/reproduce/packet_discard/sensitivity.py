"""Variations of the conditions that the paper does not state.

They are start times, the timer, the window, delays, the upper threshold and the duration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tcpsf.evaluation.data import OWN, Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.papers import packet_discard as paper
from tcpsf.papers import packet_discard_networks as networks
from tcpsf.papers.packet_discard_networks import MIXED, B
from tcpsf.reproduce.packet_discard.exhibit_parts import (
    CONNECTIONS,
    Setting,
    active,
    connections,
    fairness,
    goodput,
    mean,
    mean_share,
)
from tcpsf.scenario import Scenario
from tcpsf.summary import RunSummary

EPD = networks.epd(paper.BEST_THRESHOLD)
BPD = networks.bpd(paper.LOWER, gap=paper.GAP)
UNLIKE = (networks.SACK, networks.RENO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """One assumption that differs from the paper's setting, and its value."""

    label: str
    options: Mapping[str, Any]
    """Options of `networks.network`."""
    values: Mapping[str, Any]
    """Values for `Scenario.with_value`."""
    upper: float = paper.UPPER


def _variation(
    label: str, *, upper: float = paper.UPPER, options: Mapping[str, Any] | None = None, **tcp: Any
) -> Variation:
    values = {f"tcp.{key}": value for key, value in tcp.items()}
    return Variation(label=label, options=options or {}, values=values, upper=upper)


VARIATIONS = (
    *(
        _variation(f"starts within {spread}", options={"spread": spread})
        for spread in ("0s", "10ms", "100ms", "1s")
    ),
    _variation("tick 500 ms, timeout from 1 s", tick="500ms", rto_min="1s"),
    _variation("tick 100 ms, timeout from 1 s", tick="100ms", rto_min="1s"),
    *(
        _variation(f"tick 100 ms, timeout from {least}", tick="100ms", rto_min=least)
        for least in ("500ms", "300ms", "200ms")
    ),
    *(_variation(f"window of {kilo} KiB", receive_buffer=f"{kilo}KiB") for kilo in (16, 32, 128)),
    *(
        _variation(f"delay of {delay} a link", options={"delay": delay})
        for delay in ("0.03ms", "3ms")
    ),
    *(_variation(f"upper threshold {upper:g}", upper=upper) for upper in (0.8, 1.0)),
    *(
        _variation(f"runs of {duration}", options={"duration": duration})
        for duration in ("30s", "60s")
    ),
    _variation("delayed acknowledgments", ack_every=2),
    _variation("a loss halves the flight size", halving="flight"),
    _variation("each packet leaves up to 0.1 ms late", send_jitter="100us"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VariationCases:
    """The cases with one assumption changed."""

    epd: Case
    bpd: Case
    unlike: Case
    """SACK with Reno without BPD (Fig. 20)."""


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return the exhibit of the results under changed assumptions."""
    rows = {each.label: _cases(setting, each) for each in VARIATIONS}
    return (
        Exhibit(
            key="sensitivity",
            section="sensitivity",
            cases=tuple(case for row in rows.values() for case in (row.epd, row.bpd, row.unlike)),
            build=lambda runs: _table(rows, runs),
        ),
    )


def _cases(setting: Setting, variation: Variation) -> VariationCases:
    changed = _changing(setting, variation)
    bpd = networks.bpd(paper.LOWER, gap=paper.GAP, upper=variation.upper)
    return VariationCases(
        epd=changed(B, EPD),
        bpd=changed(B, bpd),
        unlike=changed(MIXED, networks.PPD, senders=UNLIKE),
    )


def _changing(setting: Setting, variation: Variation) -> Callable[..., Case]:
    """Return a function that makes a case with the variation.

    The variation is applied after the timer of ``setting``.
    """

    def case(topology: networks.Topology, policy: networks.Policy, **more: Any) -> Case:
        options = {"duration": setting.duration, **variation.options, **more}
        scenario: Scenario = setting.of(networks.network(topology, policy, **options)).scenario
        return Case(scenario=scenario.with_values(variation.values), watches=(CONNECTIONS,))

    return case


def _table(rows: Mapping[str, VariationCases], runs: Runs) -> Part:
    return Part(
        tables=(
            Table(
                key="sensitivity",
                title="Sensitivity to unstated assumptions",
                source=OWN,
                caption=(
                    "Topology B with EPD (threshold 0.7) and BPD (0.4, 0.9, Gap 25), and Fig. 20's SACK and Reno "
                    "without BPD. Each row changes one assumption. Round trips are a few "
                    "milliseconds, so a timeout from 1 s is 1 s with either tick: those two rows are equal."
                ),
                columns=(
                    "choice",
                    "EPD, throughput",
                    "BPD, throughput",
                    "EPD, active",
                    "BPD, active",
                    "SACK and Reno, fairness",
                    "SACK and Reno, throughput",
                    "timeouts of that Reno",
                ),
                rows=tuple(_row(label, cases, runs) for label, cases in rows.items()),
            ),
        )
    )


def _row(label: str, cases: VariationCases, runs: Runs) -> Row:
    epd, bpd, unlike = runs.of(cases.epd), runs.of(cases.bpd), runs.of(cases.unlike)
    found = (
        mean_share(epd, goodput(B)),
        mean_share(bpd, goodput(B)),
        mean_share(epd, active),
        mean_share(bpd, active),
        mean_share(unlike, fairness),
        mean_share(unlike, goodput(MIXED)),
        mean(unlike, _of_reno),
    )
    return Row(label=label, cells=tuple(TableCell(ours=each, published=None) for each in found))


def _of_reno(run: RunSummary) -> float:
    return float(connections(run)[1]["timeouts"])
