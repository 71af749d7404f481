"""The complete packet-discard evaluation.

It covers every simulated figure and table, and the paper's claims about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tcpsf.evaluation.evaluate import (
    Evaluation,
    Heading,
    chosen,
    command_of,
    plan_of,
    scale_of,
    seeds_of,
)
from tcpsf.evaluation.exhibit import Exhibit
from tcpsf.evaluation.plan import Scale
from tcpsf.papers import packet_discard as paper
from tcpsf.papers import packet_discard_networks as networks
from tcpsf.reproduce.packet_discard import (
    balanced,
    kin,
    ladders,
    mixed,
    padding,
    sack,
    sensitivity,
    spacing,
    thresholds,
    timers,
    traces,
)
from tcpsf.reproduce.packet_discard.exhibit_parts import Readings, Setting

SCALES = {
    "quick": Scale("quick", 6, networks.DURATION),
    "full": Scale("full", 48, networks.DURATION),
}
"""Scales; the runs have the paper's duration, and each has its own start times."""

OURS = {"quick": "60s", "full": "200s"}
"""Simulated time of a run of the exhibits that the paper does not contain, by scale."""

READ: dict[Readings, str] = {
    "text": "Assumptions as in the paper's text.",
    "closest": "With the timer that Fig. 17 shows: tick 100 ms, timeout from 200 ms.",
}

HEADLINE = (
    "bpd-over-epd",
    "b-epd-best",
    "bpd-best",
    "bpd-improvement",
    "epd-timeouts",
    "b-epd-active",
    "bpd-twice",
)
"""Keys of the paper's main claims."""

TIMER = (
    "no single timer gives all published numbers: the throughputs of Figs. 8 and 12 need the text's tick of "
    "500 ms, and the timeouts of Figs. 17 and 20 need a minimum timeout of 200 ms"
)
"""Reason for differences, found with both timers; `fig-20-fine` and `sensitivity` show it."""

SPACING = (
    "by equation (2), two losses from a window below 10 always need the timer, so W/2 is sufficient only "
    "for larger windows; and a connection with the highest loss rate that the rule permits has a window of 4 segments"
)
"""Reason for the failure of the rule of thumb of section 2.2.

`reproduce.packet_discard.spacing.NOTE` derives the second part.
"""

SECTIONS = (
    Heading(
        "spacing",
        "Losses from one window",
        ("Losses that Reno repairs without its timer, and the necessary distance between them.",),
        why=SPACING,
    ),
    Heading(
        "a",
        "Plain ATM, PPD and EPD: topology A",
        ("Ten links of 75 Mb/s lead to one of 75 Mb/s with a buffer of 1200 cells. Assumptions:",),
        paper.READINGS,
    ),
    Heading(
        "b",
        "Plain ATM, PPD and EPD: topology B",
        (
            (
                "Five links of 30 Mb/s lead to one of 75 Mb/s: with three connections idle at most 0.8 of it "
                "can be used."
            ),
        ),
        why=TIMER,
    ),
    Heading(
        "bpd",
        "Balanced packet discard",
        (
            "After a loss, the switch accepts the next Gap packets of the connection, up to a higher threshold.",
        ),
        why=TIMER,
    ),
    Heading(
        "traces",
        "Windows and the buffer against time",
        (),
        why=TIMER,
    ),
    Heading("mixed", "Reno and SACK", (), why=TIMER),
    Heading("timers", "Timeout and round-trip time", ()),
    Heading("sensitivity", "Sensitivity to unstated assumptions", ()),
    Heading(
        "kin",
        "Balanced discard for queues of packets",
        (
            "Not in the paper: does spacing losses help on an ordinary line, which drops whole packets?",
        ),
    ),
    Heading(
        "padding",
        "Framing over ATM",
        (
            "Not in the paper: TCP Smart Framing divides segments into quarters, while cells keep their size.",
        ),
    ),
)


def prepare(
    *,
    scale: Scale | Literal["quick", "full"] = "quick",
    readings: Readings = "text",
    seed: int = 1,
    only: Sequence[str] = (),
) -> Evaluation:
    """Find the necessary runs and return the evaluation.

    Runs use the seeds ``seed``, ``seed + 1``, … ``readings`` selects the timer of TCP. ``only``
    names figures and tables by their keys, such as ``fig-12``.
    """
    scale = scale_of(scale, SCALES)
    exhibits = chosen(_exhibits(Setting(duration=scale.duration, readings=readings), scale), only)
    return Evaluation(
        title="Balanced packet discard: evaluation reproduced",
        subtitle=f"{paper.CITATION}. {READ[readings]}",
        headings=SECTIONS,
        headline=HEADLINE,
        scale=scale,
        exhibits=exhibits,
        plan=plan_of(exhibits, seeds=seeds_of(seed, scale)),
        command=command_of("packet-discard", scale=scale, seed=seed, readings=readings, only=only),
    )


def _exhibits(setting: Setting, scale: Scale) -> tuple[Exhibit, ...]:
    return (
        *ladders.exhibits(),
        *spacing.exhibits(),
        *thresholds.exhibits(setting),
        *balanced.exhibits(setting),
        *traces.exhibits(setting),
        *mixed.exhibits(setting),
        *sack.exhibits(setting),
        *timers.exhibits(),
        *sensitivity.exhibits(setting),
        *kin.exhibits(setting, OURS[scale.name]),
        *padding.exhibits(OURS[scale.name]),
    )
