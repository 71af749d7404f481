"""Section V of the Smart Framing paper: throughput gain and waste in the small-window region."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from tcpsf.evaluation.data import Axis, Figure, PublishedPoint, Section, Series
from tcpsf.evaluation.judge import Finding, exact, is_above, is_below, is_within
from tcpsf.models import smart_framing as small
from tcpsf.report import chains, model_sheets
from tcpsf.report.sheet import LOSS, line
from tcpsf.reproduce.closed_finding import claim

JOURNAL = "Mellia et al. 2005"
DOCUMENTED = "The project's documentation lists the corrections on the page “The closed models”."
LOSSES = (0.0005, 0.001, 0.002, 0.005, *(round(0.01 * n, 2) for n in range(1, 16)))
RTTS = tuple(round(0.02 * n, 2) for n in range(1, 26))
FIG_13_LOSS = 0.05
SEEN = (0.02, 0.04, 0.06, 0.08, 0.1, 0.12)
"""Loss rates at which a claim about Figs. 12 and 15 as a whole is tested.

The largest is the largest that the text names.
"""
SMALL = 0.001
LAWS: tuple[small.Law, ...] = ("linear", "constant")


Framed = Mapping[tuple[str, small.Law], small.Passage]
"""Passages through the small-window region by sender (``vs``, ``fs``) and law of loss."""

LABELS = {"vs": "VS", "fs": "FS"}
MAKERS: Mapping[str, Callable[..., small.Passage]] = {
    "vs": small.variable_size,
    "fs": small.fixed_size,
}
"""Models of the framed senders by key."""
_LAW: dict[small.Law, str] = {
    "linear": "loss linear in size",
    "constant": "loss independent of size",
}
GAIN = Axis(label="throughput gain over Classic", unit="%", scale="linear")


def section() -> Section:
    """Return the section on the small-window region, with Figs. 9 to 13 and 15."""
    classic = small.classic(LOSSES)
    framed = {(key, law): make(LOSSES, law=law) for key, make in MAKERS.items() for law in LAWS}
    return Section(
        key="small-window",
        title="The small-window region",
        text=(f"The Markov chains of section V, with misprints corrected. {DOCUMENTED}",),
        drawings=tuple(
            map(chains.drawing, model_sheets.small_window_chains(loss=FIG_13_LOSS).chains)
        ),
        figures=(*_gain_by_loss(classic, framed), _gain_by_rtt(), _waste(classic, framed)),
        findings=(*_gain_claims(), *_rtt_claims(), *_waste_claims()),
        why=(
            "(4) and (11) count headers as throughput, so the negative gain appears only net of headers; "
            "the cause of the difference in waste is not known"
        ),
    )


def _gain_by_loss(classic: small.Passage, framed: Framed) -> tuple[Figure, Figure]:
    def gains(*, net: bool) -> tuple[Series, ...]:
        return tuple(
            line(
                f"{key}-{law}",
                f"{LABELS[key]}, {law}",
                LOSSES,
                list(small.gain_percent(each, classic, net=net)),
            )
            for (key, law), each in framed.items()
        )

    fig_12 = Figure(
        key="fig-12",
        title="Fig. 12: gain by loss",
        source=f"{JOURNAL}, Fig. 12",
        caption="Round trip 200 ms, timeout 1.5 s. By (4) and (11), headers counted as throughput.",
        x=LOSS,
        y=GAIN,
        series=gains(net=False),
    )
    net = Figure(
        key="fig-12-net",
        title="Fig. 12, net of headers",
        source=f"{JOURNAL}, Fig. 12",
        caption="The same without the 40 bytes of header of each segment: below zero at small losses, as printed.",
        x=LOSS,
        y=GAIN,
        series=gains(net=True),
    )
    return fig_12, net


def _gain_by_rtt() -> Figure:
    classic = small.classic(FIG_13_LOSS, rtt=RTTS)
    return Figure(
        key="fig-13",
        title="Fig. 13: gain by round trip",
        source=f"{JOURNAL}, Fig. 13",
        caption="Loss 0.05, timeout 1.5 s.",
        x=Axis(label="round trip", unit="s", scale="linear", low=0.0),
        y=GAIN,
        series=tuple(
            line(
                f"{key}-{law}",
                f"{LABELS[key]}, {law}",
                RTTS,
                list(small.gain_percent(make(FIG_13_LOSS, law=law, rtt=RTTS), classic)),
            )
            for key, make in MAKERS.items()
            for law in LAWS
        ),
    )


def _waste(classic: small.Passage, framed: Framed) -> Figure:
    wastes = [
        line(f"{key}-{law}", f"{LABELS[key]}, {law}", LOSSES, list(100.0 * each.waste_fraction))
        for (key, law), each in framed.items()
    ]
    published = (PublishedPoint(x=LOSSES[0], y=10.0),)
    return Figure(
        key="fig-15",
        title="Fig. 15: bandwidth wasted",
        source=f"{JOURNAL}, Fig. 15",
        caption="Headers and lost bytes, as a percentage of the sent bytes. The text gives one number.",
        x=LOSS,
        y=Axis(label="waste", unit="%", scale="linear", low=0.0),
        series=(
            line("classic", "Classic", LOSSES, list(100.0 * classic.waste_fraction)),
            *(
                replace(each, published=published) if each.key == "fs-linear" else each
                for each in wastes
            ),
        ),
    )


def _gain_claims() -> Iterator[Finding]:
    seen = np.array(SEEN)
    for key, make in MAKERS.items():
        found = small.gain_percent(make(seen, law="constant"), small.classic(seen))
        yield claim(
            f"gain-constant-{LABELS[key]}",
            f"{LABELS[key]}-TCP-SF gains even if loss does not depend on size (2 to 12 %)",
            "section V-D, Fig. 12",
            "above 0",
            is_above(exact(float(found.min())), 0.0, "%"),
        )
    for net in (False, True):
        lowest = small.gain_percent(small.fixed_size(SMALL), small.classic(SMALL), net=net)
        yield claim(
            f"negative-gain-{'net' if net else 'gross'}",
            f"FS-TCP-SF loses at very small loss ({SMALL}), {'net of headers' if net else 'by (4) and (11)'}",
            "section V-D, Fig. 12",
            "below 0",
            is_below(exact(float(lowest)), 0.0, "%"),
        )
    for law in LAWS:
        both = [
            small.gain_percent(make(0.12, law=law), small.classic(0.12)) for make in MAKERS.values()
        ]
        yield claim(
            f"fs-over-vs-{law}",
            f"FS-TCP-SF gains more than VS-TCP-SF at a loss of 12 %, {_LAW[law]}",
            "section V-D",
            "above 0",
            is_above(exact(float(both[1] - both[0])), 0.0, "percentage points"),
        )


def _rtt_claims() -> Iterator[Finding]:
    over_rtt = small.gain_percent(
        small.fixed_size(FIG_13_LOSS, rtt=RTTS), small.classic(FIG_13_LOSS, rtt=RTTS)
    )
    yield claim(
        "gain-falls-with-rtt",
        "The gain of FS-TCP-SF falls as the round trip grows",
        "section V-D, Fig. 13",
        "always",
        is_below(
            exact(float(np.diff(over_rtt).max())), 0.0, "percentage points a step, the largest"
        ),
    )
    yield claim(
        "gain-at-half-a-second",
        "FS-TCP-SF still gains at a round trip of 0.5 s",
        "section V-D, Fig. 13",
        "above 0",
        is_above(exact(float(over_rtt[-1])), 0.0, "%"),
    )


def _waste_claims() -> Iterator[Finding]:
    at_zero = [
        100.0 * float(passage.waste_fraction)
        for passage in (small.classic(0.0), *(make(0.0) for make in MAKERS.values()))
    ]
    yield claim(
        "fs-waste",
        "FS-TCP-SF wastes 10 % of the bandwidth at small loss (to the nearest percent)",
        "section VII, Fig. 15",
        "10 %",
        is_within(exact(at_zero[2]), 9.5, 10.5, "%"),
    )
    for key, name, times, other in (("classic", "Classic", 3, 0), ("vs", "VS-TCP-SF", 2, 1)):
        yield claim(
            f"fs-waste-over-{key}",
            f"At small loss FS-TCP-SF wastes {times} times as much as {name} (to the nearest integer)",
            "section VII",
            f"{times}",
            is_within(exact(at_zero[2] / at_zero[other]), times - 0.5, times + 0.5, "times"),
        )
    for key, loss in (("vs", 0.08), ("fs", 0.12)):
        yield claim(
            f"waste-crosses-{key}",
            f"From a loss of {loss} on, linear in size, Classic wastes more than {LABELS[key]}-TCP-SF (to half a percent)",
            "section VII, Fig. 15",
            f"{loss}",
            is_below(exact(_crossing(MAKERS[key])), loss + 0.005, ""),
        )


def _crossing(make: Callable[..., small.Passage]) -> float:
    """Smallest loss rate, to 0.01 %, from which on Classic wastes more."""
    losses = np.arange(1, 4000) * 1e-4
    more = small.classic(losses).waste_fraction > make(losses).waste_fraction
    return float(losses[np.argmax(more)])
