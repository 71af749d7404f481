"""One figure or table of an evaluation: its cases, and the function that makes it of their runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tcpsf import stats
from tcpsf.evaluation.data import Drawing, Figure, Point, PublishedPoint, Series, Table
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Contribution of an exhibit to its section of the report."""

    drawings: tuple[Drawing, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """A figure or a table with the claims that rest on it."""

    key: str
    section: str
    """Key of the exhibit's section."""
    cases: tuple[Case, ...]
    build: Callable[[Runs], Part]
    shown: Mapping[str, Scenario] = field(default_factory=dict)
    """Representative scenarios for the provenance, by what they show."""


def series(
    key: str,
    label: str,
    x: Sequence[float | str],
    y: Sequence[stats.Estimate | None],
    *,
    published: tuple[PublishedPoint, ...] = (),
    style: Literal["line", "step", "bar", "point"] = "line",
) -> Series:
    """Return the series of a figure with points at ``x`` and ``y``, joined by a line."""
    points = tuple(Point(x=at, y=value) for at, value in zip(x, y, strict=True))
    return Series(key=key, label=label, points=points, published=published, style=style)


def bars(
    key: str,
    label: str,
    x: Sequence[str],
    y: Sequence[stats.Estimate | None],
    *,
    published: tuple[PublishedPoint, ...] = (),
) -> Series:
    """Return the series of a figure with one bar for each category ``x``."""
    return series(key, label, x, y, published=published, style="bar")
