"""The complete Smart Framing evaluation.

It covers every simulated figure and table, and the papers' claims about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_draft as draft
from tcpsf.reproduce.smart_framing import (
    buffers,
    load,
    matrix,
    mechanisms,
    overhead,
    proposals,
    security,
    usual,
)
from tcpsf.reproduce.smart_framing import draft as draft_exhibits
from tcpsf.reproduce.smart_framing.advantages import section as advantages
from tcpsf.reproduce.smart_framing.exhibit_parts import Readings, Setting

SCALES = {
    "quick": Scale("quick", 4, "600s", paper.WARM_UP),
    "full": Scale("full", paper.FULL_RUNS, paper.FULL_DURATION, paper.WARM_UP),
}
"""Scales; ``full`` is the paper's own."""

OURS = {SCALES["full"]: "1000s"}
"""Simulated time of a run for the exhibits that the paper does not contain.

The paper's duration would be longer than necessary.
"""


NETWORK = (
    "Ten greedy flows and short ones, arriving as a Poisson process with the fifteen sizes of Table I, share a "
    "bottleneck of 10 Mb/s and 50 ms with a buffer of 150 kB. The three senders have the same arrivals."
)
CHUNKS = (
    "A packet takes whole chunks of the bottleneck's 150 000 bytes: with chunks of one byte the buffer counts bytes, "
    "with chunks of 1500 it counts packets."
)
MATRIX = (
    "Not in the paper: the same network at 80 % load with other congestion controls, with delayed ACKs, and with the "
    "initial window of ten segments that is usual today. All flows, greedy ones included, use the same congestion "
    "control and window; only the short flows use framing."
)

READ: dict[Readings, str] = {
    "text": "Assumptions as in the paper's text.",
    "closest": "Assumptions closest to Table I: first timeout 6 s, load with headers (0.8 is 0.75 of payload).",
}

HEADLINE = (
    "middle-gain-fs",
    "middle-gain-vs",
    "more-fast-retransmits-fs",
    "fewer-timeouts-fs",
    "outperforms-classic-fs",
    "outperforms-classic-vs",
)
"""Keys of the papers' main claims, on gain and on fast retransmits of short flows."""

BURSTS = (
    "all flows start at the bottleneck, where a burst arrives at one instant and loses its last segments, "
    "so that flows of two segments have no fast retransmit"
)
WHY: dict[Readings, dict[str, str]] = {
    "text": {
        "load": (
            "load counts payload only, so at high load the sum of payload, headers and retransmissions "
            "exceeds the capacity of the link, and framing has more headers and retransmissions"
        ),
        "load-80": paper.WHY,
    },
    "closest": {"load-80": BURSTS},
}
"""Reasons for differences, by section, as `verification/smart_framing_readings.py` has found."""
ALWAYS_WHY = {
    "overhead": (
        "the paper's percentages count 80 bytes for each data segment (its header and that of its ACK), and "
        "not the stated 40 bytes"
    ),
    "matrix": (
        "Tahoe retransmits a whole loss window after each loss, which is one segment for Classic and four "
        "for fixed-size framing"
    ),
}


def sections(readings: Readings) -> tuple[Heading, ...]:
    """Return the headings of the report's sections, with the texts for these readings."""
    why = {**ALWAYS_WHY, **WHY[readings]}
    return tuple(replace(heading, why=why.get(heading.key, "")) for heading in SECTIONS)


SECTIONS = (
    Heading("load", "Completion time and fast retransmits against load", (NETWORK,)),
    Heading(
        "load-80",
        "At 80 % load",
        (
            "The runs at a load of 0.8, by flow size. Assumptions where the text is silent or ambiguous:",
        ),
        paper.READINGS,
    ),
    Heading(
        "proposals",
        "Limited Transmit and a larger initial window",
        (
            "The same network at 80 % load; all short flows use the sender shown, the greedy ones are Classic.",
        ),
    ),
    Heading(
        "friendliness",
        "Friendliness",
        ("Some of the short flows use framing, the others do not. SACK is off for all flows.",),
    ),
    Heading("buffers", "Router buffers that allocate memory in chunks", (CHUNKS,)),
    Heading("overhead", "Protocol overhead", ("Smaller segments carry more headers.",)),
    Heading(
        "advantages",
        "Advantages and costs",
        (
            "Advantages and costs of framing that the texts list, each measured separately or in the network above.",
        ),
    ),
    Heading(
        "security",
        "Security considerations",
        (
            (
                "The draft says that framing raises no new security issue. This section counts the packets that "
                "a request causes."
            ),
        ),
    ),
    Heading(
        "draft",
        "The draft's table",
        (f"{draft.CITATION}: the same network with ten other flow lengths.",),
    ),
    Heading("matrix", "Framing with other senders, ACKs and queues", (MATRIX,)),
)


def prepare(
    *,
    scale: Scale | Literal["quick", "full"] = "quick",
    readings: Readings = "text",
    seed: int = 1,
    only: Sequence[str] = (),
) -> Evaluation:
    """Find the necessary runs and return the evaluation.

    Runs use the seeds ``seed``, ``seed + 1``, … ``readings`` selects the readings of the papers
    where they are ambiguous. ``only`` names figures and tables by their keys, such as ``fig-2``;
    ``fig-14`` selects both parts of that figure.
    """
    scale = scale_of(scale, SCALES)
    setting = Setting(
        duration=scale.duration,
        duration_of_ours=OURS.get(scale, scale.duration),
        warm_up=scale.warm_up,
        readings=readings,
    )
    exhibits = chosen(_exhibits(setting), only)
    return Evaluation(
        title="TCP Smart Framing: evaluation reproduced",
        subtitle=f"{paper.CITATION}; {draft.CITATION}. {READ[readings]}",
        headings=sections(readings),
        headline=HEADLINE,
        scale=scale,
        exhibits=exhibits,
        plan=plan_of(exhibits, seeds=seeds_of(seed, scale)),
        command=command_of("smart-framing", scale=scale, seed=seed, readings=readings, only=only),
    )


def _exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    modules = (
        load,
        usual,
        proposals,
        mechanisms,
        buffers,
        overhead,
        advantages,
        security,
        draft_exhibits,
        matrix,
    )
    return tuple(exhibit for module in modules for exhibit in module.exhibits(setting))
