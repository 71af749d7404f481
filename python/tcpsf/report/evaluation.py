"""An evaluation as data: figures, tables and findings in sections, with every interval, before anybody draws it.

Experiments build a `Report`; the page, the JSON and the Parquet files are functions of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tcpsf import stats
from tcpsf.reproduce.claims import Finding

SCHEMA = "tcpsf.evaluation/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One of our points."""

    x: float | str
    """Text for a category: a chunk size, a class, a variant."""
    y: stats.Estimate | None
    """``None`` where nothing was seen to take a mean of."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"x": self.x, "y": _estimate(self.y)}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedPoint:
    """A number that the paper's text or table gives; never one read off a figure."""

    x: float | str
    y: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"x": self.x, "y": self.y}


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Points that belong together."""

    key: str
    label: str
    points: tuple[Point, ...]
    published: tuple[PublishedPoint, ...] = ()
    style: Literal["line", "step", "bar"] = "line"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "key": self.key,
            "label": self.label,
            "style": self.style,
            "points": [point.to_dict() for point in self.points],
            "published": [point.to_dict() for point in self.published],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What an axis shows, and from where to where."""

    label: str
    unit: str
    """Empty for a pure number or a category."""
    scale: Literal["linear", "log", "category"]
    low: float | None = None
    """``None``: as the data have it."""
    high: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"label": self.label, "unit": self.unit, "scale": self.scale, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure of the paper, made again."""

    key: str
    title: str
    source: str
    """The paper and the figure in it."""
    caption: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "key": self.key,
            "title": self.title,
            "source": self.source,
            "caption": self.caption,
            "x": self.x.to_dict(),
            "y": self.y.to_dict(),
            "series": [series.to_dict() for series in self.series],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell:
    """Our value and the paper's."""

    ours: stats.Estimate | None
    published: float | None
    unit: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"ours": _estimate(self.ours), "published": self.published, "unit": self.unit}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a table; its label stands under the first column."""

    label: str
    cells: tuple[TableCell | str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "label": self.label,
            "cells": [cell if isinstance(cell, str) else cell.to_dict() for cell in self.cells],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of the paper, made again, or one of ours."""

    key: str
    title: str
    source: str
    caption: str
    columns: tuple[str, ...]
    """The first is above the rows' labels."""
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "key": self.key,
            "title": self.title,
            "source": self.source,
            "caption": self.caption,
            "columns": list(self.columns),
            "rows": [row.to_dict() for row in self.rows],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What is read together."""

    key: str
    title: str
    text: tuple[str, ...] = ()
    """Paragraphs."""
    items: tuple[str, ...] = ()
    """Short points, set as a list after them."""
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "key": self.key,
            "title": self.title,
            "text": list(self.text),
            "items": list(self.items),
            "figures": [figure.to_dict() for figure in self.figures],
            "tables": [table.to_dict() for table in self.tables],
            "findings": [finding.to_dict() for finding in self.findings],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportProvenance:
    """Where a report comes from, and how to make it again."""

    version: str
    """The version of tcpsf."""
    command: str
    """The command line that repeats it."""
    scale: str
    runs: int
    """Independent runs a point."""
    duration: str
    """Simulated time of a run."""
    seeds: tuple[int, ...]
    scenarios: Mapping[str, Mapping[str, Any]]
    """By a name that says what is simulated, as plain data."""
    jobs: int
    """Runs that the report rests on."""
    started: str | None = None
    """Date and time, ISO 8601; ``None`` where the same input shall give the same bytes."""
    seconds: float | None = None
    """How long it took."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "version": self.version,
            "command": self.command,
            "scale": self.scale,
            "runs": self.runs,
            "duration": self.duration,
            "seeds": list(self.seeds),
            "scenarios": {name: dict(scenario) for name, scenario in self.scenarios.items()},
            "jobs": self.jobs,
            "started": self.started,
            "seconds": self.seconds,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The whole of it."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    provenance: ReportProvenance

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, as ``report/schema/evaluation.json`` describes it."""
        return {
            "schema": SCHEMA,
            "title": self.title,
            "subtitle": self.subtitle,
            "sections": [section.to_dict() for section in self.sections],
            "provenance": self.provenance.to_dict(),
        }


def _estimate(found: stats.Estimate | None) -> dict[str, float | int | None] | None:
    return None if found is None else found.to_dict()
