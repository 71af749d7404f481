"""The whole Smart Framing evaluation: every simulated figure and table, and what the papers claim of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from tcpsf import _core
from tcpsf.errors import TcpsfError, nearest
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_draft as draft
from tcpsf.report.evaluation import Report, ReportProvenance, Section
from tcpsf.reproduce.plan import Plan, Runs, make, plan
from tcpsf.reproduce.smart_framing import buffers, load, matrix, overhead, proposals, usual
from tcpsf.reproduce.smart_framing import draft as draft_exhibits
from tcpsf.reproduce.smart_framing.exhibit import Exhibit, Readings, Setting
from tcpsf.reproduce.store import Store
from tcpsf.reproduce.table_1 import Scale
from tcpsf.runs import Progress

SCALES = {
    "quick": Scale("quick", 4, "400s"),
    "full": Scale("full", paper.FULL_RUNS, paper.FULL_DURATION),
}
"""``full`` is the paper's own."""

OURS = {SCALES["full"]: "1000s"}
"""Simulated time of a run for what is ours, where the paper's would be more than tells anything."""


@dataclass(frozen=True, slots=True)
class Heading:
    """What stands above a section's figures."""

    key: str
    title: str
    text: tuple[str, ...]
    items: tuple[str, ...] = ()
    """What the papers leave open, as it is read here."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What is to be made: which exhibits, at which scale, of which runs."""

    scale: Scale
    exhibits: tuple[Exhibit, ...]
    plan: Plan
    readings: Readings
    only: tuple[str, ...]
    """What was asked for; empty for all."""

    @property
    def command(self) -> str:
        """The command line that repeats it."""
        words = ["tcpsf reproduce smart-framing", f"--{self.scale.name}", f"--seed {self.plan.seeds[0]}"]
        if self.readings != "text":
            words.append(f"--readings {self.readings}")
        if self.only:
            words.append(f"--only {','.join(self.only)}")
        return " ".join(words)


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
    if isinstance(scale, str):
        if scale not in SCALES:
            raise TcpsfError(
                f"no scale is called `{scale}`", hint=f"scales: {', '.join(f'`{name}`' for name in SCALES)}"
            )
        scale = SCALES[scale]
    setting = Setting(duration=scale.duration, duration_of_ours=OURS.get(scale, scale.duration), readings=readings)
    exhibits = _chosen(_exhibits(setting), only)
    cases = [case for exhibit in exhibits for case in exhibit.cases]
    seeds = tuple(range(seed, seed + scale.runs))
    return Evaluation(
        scale=scale, exhibits=exhibits, plan=plan(cases, seeds=seeds), readings=readings, only=tuple(only)
    )


def evaluate(
    evaluation: Evaluation,
    *,
    store: Store | None = None,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    found: Callable[[int], None] | None = None,
) -> Report:
    """Make the runs that ``store`` does not have, and the report of all.

    The same evaluation gives the same report but for its date and the time it took, on any number of ``workers`` and
    after any interruption. ``found`` hears how many runs the store had.
    """
    started, began = datetime.now(UTC), time.monotonic()
    runs = make(evaluation.plan, store=store, workers=workers, progress=progress, found=found)
    sections = _sections(evaluation.exhibits, runs)
    scale = evaluation.scale
    return Report(
        title="TCP Smart Framing: the evaluation, made again",
        subtitle=f"{paper.CITATION}; {draft.CITATION}. {READ[evaluation.readings]}",
        sections=sections,
        provenance=ReportProvenance(
            version=_core.version,
            command=evaluation.command,
            scale=scale.name,
            runs=scale.runs,
            duration=scale.duration,
            seeds=evaluation.plan.seeds,
            scenarios={
                what: scenario.to_dict() for exhibit in evaluation.exhibits for what, scenario in exhibit.shown.items()
            },
            started=started.isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - began, 1),
            jobs=len(evaluation.plan.runs),
        ),
    )


def _sections(exhibits: Sequence[Exhibit], runs: Runs) -> tuple[Section, ...]:
    sections = []
    for heading in SECTIONS:
        parts = [exhibit.build(runs) for exhibit in exhibits if exhibit.section == heading.key]
        if parts:
            sections.append(
                Section(
                    key=heading.key,
                    title=heading.title,
                    text=heading.text,
                    items=heading.items,
                    figures=tuple(figure for part in parts for figure in part.figures),
                    tables=tuple(table for part in parts for table in part.tables),
                    findings=tuple(finding for part in parts for finding in part.findings),
                )
            )
    return tuple(sections)


def _exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    modules = (load, usual, proposals, buffers, overhead, draft_exhibits, matrix)
    return tuple(exhibit for module in modules for exhibit in module.exhibits(setting))


def _chosen(exhibits: tuple[Exhibit, ...], only: Sequence[str]) -> tuple[Exhibit, ...]:
    keys = [exhibit.key for exhibit in exhibits]
    for word in only:
        if not any(_is(word, key) for key in keys):
            near = nearest(word, keys)
            hint = f"did you mean `{near}`?" if near else f"there are: {', '.join(f'`{key}`' for key in keys)}"
            raise TcpsfError(f"no figure or table is called `{word}`", hint=hint)
    return tuple(exhibit for exhibit in exhibits if not only or any(_is(word, exhibit.key) for word in only))


def _is(word: str, key: str) -> bool:
    """``fig-14`` is both of its parts; ``fig-1`` is not ``fig-14``."""
    return key == word or key.startswith(f"{word}-")
