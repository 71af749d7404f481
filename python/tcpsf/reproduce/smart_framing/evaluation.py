"""The whole Smart Framing evaluation: every simulated figure and table, and what the papers claim of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_draft as draft
from tcpsf.reproduce.evaluation import Evaluation, Heading, chosen, command_of, plan_of, scale_of, seeds_of
from tcpsf.reproduce.exhibit import Exhibit
from tcpsf.reproduce.plan import Scale
from tcpsf.reproduce.smart_framing import buffers, load, matrix, overhead, proposals, usual
from tcpsf.reproduce.smart_framing import draft as draft_exhibits
from tcpsf.reproduce.smart_framing.exhibit import Readings, Setting

SCALES = {
    "quick": Scale("quick", 4, "400s"),
    "full": Scale("full", paper.FULL_RUNS, paper.FULL_DURATION),
}
"""``full`` is the paper's own."""

OURS = {SCALES["full"]: "1000s"}
"""Simulated time of a run for what is ours, where the paper's would be more than tells anything."""


NETWORK = (
    "Ten greedy flows and short ones, arriving as a Poisson process with the fifteen sizes of Table I, share a "
    "bottleneck of 10 Mb/s and 50 ms with a buffer of 150 kB. The three senders meet the same arrivals."
)
CHUNKS = (
    "A packet takes whole chunks of the bottleneck's 150 000 bytes: with chunks of one byte the buffer counts bytes, "
    "with chunks of 1500 it counts packets."
)
MATRIX = (
    "Not in the paper: the same network at 80 % load with other congestion controls, with delayed ACKs, and with the "
    "initial window of ten segments that is usual today. All flows, greedy ones included, use the same congestion "
    "control and window; the framing is that of the short flows alone."
)

READ: dict[Readings, str] = {
    "text": "Read as the text has it.",
    "closest": "Read as brings Table I nearest: first timeout 6 s, load with headers (0.8 is 0.75 of payload).",
}

SECTIONS = (
    Heading("load", "Completion time and fast retransmits against load", (NETWORK,)),
    Heading(
        "load-80",
        "At 80 % load",
        ("The runs of the point 0.8, flow size by flow size. How the text is read:",),
        paper.READINGS,
    ),
    Heading(
        "proposals",
        "Limited Transmit and a larger initial window",
        ("The same network at 80 % load; all short flows use the sender shown, the greedy ones are Classic.",),
    ),
    Heading(
        "friendliness",
        "Friendliness",
        ("A part of the short flows uses framing, the others do not; nobody has selective acknowledgements.",),
    ),
    Heading("buffers", "How the router hands out memory", (CHUNKS,)),
    Heading("overhead", "Protocol overhead", ("Finer segments carry more headers.",)),
    Heading("draft", "The draft's table", (f"{draft.CITATION}: the same network with ten other flow lengths.",)),
    Heading("matrix", "Where framing still helps", (MATRIX,)),
)


def prepare(
    *,
    scale: Scale | Literal["quick", "full"] = "quick",
    readings: Readings = "text",
    seed: int = 1,
    only: Sequence[str] = (),
) -> Evaluation:
    """Find out which runs are needed.

    Runs use the seeds ``seed``, ``seed + 1``, … ``readings`` says how the papers are read where they leave freedom.
    ``only`` names figures and tables by their keys, such as ``fig-2``; ``fig-14`` stands for both of its parts.
    """
    scale = scale_of(scale, SCALES)
    setting = Setting(duration=scale.duration, duration_of_ours=OURS.get(scale, scale.duration), readings=readings)
    exhibits = chosen(_exhibits(setting), only)
    words = () if readings == "text" else (f"--readings {readings}",)
    return Evaluation(
        title="TCP Smart Framing: the evaluation, made again",
        subtitle=f"{paper.CITATION}; {draft.CITATION}. {READ[readings]}",
        headings=SECTIONS,
        scale=scale,
        exhibits=exhibits,
        plan=plan_of(exhibits, seeds=seeds_of(seed, scale)),
        command=command_of("smart-framing", scale=scale, seed=seed, words=words, only=only),
    )


def _exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    modules = (load, usual, proposals, buffers, overhead, draft_exhibits, matrix)
    return tuple(exhibit for module in modules for exhibit in module.exhibits(setting))
