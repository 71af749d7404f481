"""A paper's complete evaluation: its exhibits, the runs that they need, and the report."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tcpsf import _core
from tcpsf.errors import TcpsfError, nearest
from tcpsf.evaluation.conclusion import conclude
from tcpsf.evaluation.data import Report, ReportProvenance, Section, Shown
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.plan import Plan, Scale, make, plan
from tcpsf.runs import Progress
from tcpsf.store import Store


@dataclass(frozen=True, slots=True)
class Heading:
    """Title and text above the figures of a report's section."""

    key: str
    title: str
    text: tuple[str, ...]
    items: tuple[str, ...] = ()
    """Statements of the papers that need a reading, with the reading used here."""
    why: str = ""
    """Text of `Section.why`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Settings of an evaluation: its exhibits, its scale and the random seeds of its runs."""

    title: str
    subtitle: str
    headings: tuple[Heading, ...]
    scale: Scale
    exhibits: tuple[Exhibit, ...]
    plan: Plan
    headline: tuple[str, ...]
    """Keys of the papers' main claims, for the conclusion."""
    command: str
    """The command line that repeats the evaluation."""


def scale_of(scale: Scale | str, scales: Mapping[str, Scale]) -> Scale:
    """Return the scale with this name, or the given scale itself."""
    if not isinstance(scale, str):
        return scale
    if scale not in scales:
        raise TcpsfError(
            f"no scale is called `{scale}`",
            hint=f"scales: {', '.join(f'`{name}`' for name in scales)}",
        )
    return scales[scale]


def seeds_of(seed: int, scale: Scale) -> tuple[int, ...]:
    """Return the random seeds of a point's runs; they are consecutive."""
    return tuple(range(seed, seed + scale.runs))


def plan_of(exhibits: Sequence[Exhibit], *, seeds: Sequence[int]) -> Plan:
    """Find the distinct runs of the exhibits."""
    return plan([case for exhibit in exhibits for case in exhibit.cases], seeds=seeds)


def command_of(
    name: str, *, scale: Scale, seed: int, readings: str = "text", only: Sequence[str] = ()
) -> str:
    """Return the command line that repeats ``tcpsf reproduce name``."""
    words = () if readings == "text" else (f"--readings {readings}",)
    some = (f"--only {','.join(only)}",) if only else ()
    return " ".join((f"tcpsf reproduce {name}", f"--{scale.name}", f"--seed {seed}", *words, *some))


def chosen(exhibits: tuple[Exhibit, ...], only: Sequence[str]) -> tuple[Exhibit, ...]:
    """Return the exhibits whose keys are in ``only``, or all exhibits.

    The key ``fig-14`` selects both parts of the figure.
    """
    keys = [exhibit.key for exhibit in exhibits]
    for word in only:
        if not any(_is(word, key) for key in keys):
            near = nearest(word, keys)
            hint = (
                f"did you mean `{near}`?"
                if near
                else f"there are: {', '.join(f'`{key}`' for key in keys)}"
            )
            raise TcpsfError(f"no figure or table is called `{word}`", hint=hint)
    return tuple(
        exhibit for exhibit in exhibits if not only or any(_is(word, exhibit.key) for word in only)
    )


def evaluate(
    evaluation: Evaluation,
    *,
    store: Store | None = None,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    found: Callable[[int], None] | None = None,
) -> Report:
    """Simulate the runs that ``store`` does not have, and return the report of all runs.

    The same evaluation gives the same report except for its date and its duration. The number of
    ``workers`` and interruptions make no difference. ``found`` is called with the number of runs
    that the store had.
    """
    started, began = datetime.now(UTC), time.monotonic()
    runs = make(evaluation.plan, store=store, workers=workers, progress=progress, found=found)
    parts = {exhibit.key: exhibit.build(runs) for exhibit in evaluation.exhibits}
    sections = _sections(evaluation, parts)
    scale = evaluation.scale
    return Report(
        title=evaluation.title,
        conclusion=conclude(sections, headline=evaluation.headline),
        subtitle=evaluation.subtitle,
        sections=sections,
        provenance=ReportProvenance(
            version=_core.version,
            command=evaluation.command,
            scale=scale.name,
            runs=scale.runs,
            duration=scale.duration,
            seeds=evaluation.plan.seeds,
            scenarios={
                what: scenario.to_dict()
                for exhibit in evaluation.exhibits
                for what, scenario in exhibit.shown.items()
            },
            started=started.isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - began, 1),
            jobs=len(evaluation.plan.runs),
        ),
        exhibits=tuple(_shown(exhibit, parts[exhibit.key]) for exhibit in evaluation.exhibits),
    )


def _sections(evaluation: Evaluation, parts: Mapping[str, Part]) -> tuple[Section, ...]:
    sections = []
    for heading in evaluation.headings:
        here = [
            parts[exhibit.key] for exhibit in evaluation.exhibits if exhibit.section == heading.key
        ]
        if here:
            sections.append(
                Section(
                    key=heading.key,
                    title=heading.title,
                    text=heading.text,
                    items=heading.items,
                    why=heading.why,
                    drawings=tuple(drawing for part in here for drawing in part.drawings),
                    figures=tuple(figure for part in here for figure in part.figures),
                    tables=tuple(table for part in here for table in part.tables),
                    findings=tuple(finding for part in here for finding in part.findings),
                )
            )
    return tuple(sections)


def _shown(exhibit: Exhibit, part: Part) -> Shown:
    return Shown(
        key=exhibit.key,
        section=exhibit.section,
        drawings=tuple(each.key for each in part.drawings),
        figures=tuple(each.key for each in part.figures),
        tables=tuple(each.key for each in part.tables),
        findings=tuple(each.key for each in part.findings),
    )


def _is(word: str, key: str) -> bool:
    """Whether ``key`` is ``word`` or one of its parts; ``fig-1`` does not include ``fig-14``."""
    return key == word or key.startswith(f"{word}-")
