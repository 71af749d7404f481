"""The complete Santa Cruz evaluation.

It covers the paper's tables and figures, its claims, and the topics that it leaves to later work.
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
from tcpsf.papers import santa_cruz as paper
from tcpsf.reproduce.santa_cruz import (
    asymmetric,
    basic,
    beyond,
    direction,
    path_changes,
    readings,
    recovery,
    reverse,
    states,
)

SCALES = {
    "quick": Scale("quick", 8, paper.DURATION),
    "full": Scale("full", 40, paper.DURATION),
}
"""Scales: the paper made one run of each case; unspecified conditions form an ensemble here."""

NETWORK = (
    "A greedy flow of 1000-byte packets over a line of 1.5 Mb/s with room for 17 packets, 40 ms one way, for 10 s. "
    "Assumptions where the text is silent or ambiguous:"
)

HEADLINE = (
    "basic-sc-1.5-delay-gain",
    "basic-similar-throughput",
    "reverse-sc-5-above-reno",
    "asymmetric-reno-utilisation",
    "basic-sc-1.5-variance-gain",
)
"""Keys of the paper's main claims."""

HEADINGS = (
    Heading(
        basic.SECTION,
        "The basic bottleneck",
        (NETWORK,),
        paper.READINGS,
        why=basic.WHY,
    ),
    Heading(
        reverse.SECTION,
        "Traffic on the return path",
        (
            "The same network with a Reno source on the far side, whose data use the path of the acknowledgments.",
        ),
        why=reverse.WHY,
    ),
    Heading(
        asymmetric.SECTION,
        "Asymmetric links",
        (
            (
                "2.4 Mb/s forward with 9 packets of buffer, and a return path with the capacity for one ACK per "
                "three packets."
            ),
        ),
        why=asymmetric.WHY,
    ),
    *readings.HEADINGS,
    *direction.HEADINGS,
    *recovery.HEADINGS,
    *beyond.HEADINGS,
    *path_changes.HEADINGS,
)


def prepare(
    *, scale: Scale | Literal["quick", "full"] = "quick", seed: int = 1, only: Sequence[str] = ()
) -> Evaluation:
    """Find the necessary runs and return the evaluation.

    Runs use the seeds ``seed``, ``seed + 1``, … ``only`` names figures and tables by their keys,
    such as ``table-2``.
    """
    scale = scale_of(scale, SCALES)
    exhibits = chosen(_exhibits(), only)
    return Evaluation(
        title="TCP Santa Cruz: evaluation reproduced",
        subtitle=f"{paper.CITATION}.",
        headings=HEADINGS,
        headline=HEADLINE,
        scale=scale,
        exhibits=exhibits,
        plan=plan_of(exhibits, seeds=seeds_of(seed, scale)),
        command=command_of("santa-cruz", scale=scale, seed=seed, only=only),
    )


def _exhibits() -> tuple[Exhibit, ...]:
    theirs = (*basic.exhibits(), *reverse.exhibits(), *asymmetric.exhibits())
    claimed = (
        *readings.exhibits(),
        *direction.exhibits(),
        *states.exhibits(),
        *recovery.exhibits(),
    )
    return (*theirs, *claimed, *beyond.exhibits(), *path_changes.exhibits())
