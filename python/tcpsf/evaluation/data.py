"""Data of an evaluation: figures, tables and findings in sections, with every interval.

Experiments build a `Report`. The page, the JSON and the Parquet files are functions of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from tcpsf import stats, text
from tcpsf.chart import Axis as Axis

if TYPE_CHECKING:
    from tcpsf.evaluation.judge import Finding

SCHEMA = "tcpsf.evaluation/2"

OWN = "this project"
"""Source of a figure, table or claim that is in no paper."""


@dataclass(frozen=True, slots=True)
class Plain:
    """Base class of data whose plain form consists of their fields."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


@runtime_checkable
class _Data(Protocol):
    """A class that converts itself to plain data: parts of a report, estimates, findings."""

    def to_dict(self) -> dict[str, Any]: ...


def _plain(value: Any) -> Any:
    if isinstance(value, _Data):
        return value.to_dict()
    if isinstance(value, Axis):
        return asdict(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Point(Plain):
    """One point of a figure, computed by this project."""

    x: float | str
    """Position on the axis; text for a category: a chunk size, a class, a variant."""
    y: stats.Estimate | None
    """Mean of the values; ``None`` if there are no values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedPoint(Plain):
    """A number that the paper's text or table gives; never a number read off a figure."""

    x: float | str
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Series(Plain):
    """Points of one curve or one group of bars."""

    key: str
    label: str
    style: Literal["line", "step", "bar", "point"] = "line"
    """Style of the drawing; ``point``: points without a line, on an axis of numbers."""
    points: tuple[Point, ...]
    published: tuple[PublishedPoint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure(Plain):
    """A figure of the paper, reproduced."""

    key: str
    title: str
    source: str
    """The paper and the figure in it."""
    caption: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    groups: tuple[tuple[str, int], ...] = ()
    """Headings, and the number of categories below each.

    The bars of a figure with groups are horizontal.
    """
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell(Plain):
    """Cell of a table: this project's value and the paper's."""

    ours: stats.Estimate | None
    published: float | None
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(Plain):
    """A row of a table; its label is in the first column."""

    label: str
    cells: tuple[TableCell | str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Plain):
    """A table of the paper, reproduced, or a table of this project."""

    key: str
    title: str
    source: str
    caption: str
    columns: tuple[str, ...]
    """Headings of the columns; the first is above the rows' labels."""
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing(Plain):
    """A drawing that is no chart, such as a time-sequence diagram of a simulated run."""

    key: str
    title: str
    source: str
    """The paper and the figure in it."""
    caption: str
    svg: str
    """A stand-alone SVG document, with all text escaped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section(Plain):
    """A part of a report: its text, figures, tables and findings."""

    key: str
    title: str
    text: tuple[str, ...] = ()
    """Paragraphs."""
    items: tuple[str, ...] = ()
    """Short points, shown as a list after the paragraphs."""
    drawings: tuple[Drawing, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    findings: tuple[Finding, ...] = ()
    why: str = ""
    """Cause of differences from published results, without a full stop; empty if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion(Plain):
    """The three sentences at the top of a report, computed by `evaluation.conclusion`."""

    found: str
    not_reproduced: str
    why: str
    """Known causes of the differences."""

    @property
    def sentences(self) -> tuple[str, str, str]:
        """Sentences on what was found, on what was not reproduced, and on the causes."""
        return (self.found, self.not_reproduced, self.why)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportProvenance(Plain):
    """Origin of a report, and the command to reproduce it."""

    version: str
    """Version of tcpsf."""
    command: str
    """Command line that reproduces the report."""
    scale: str
    runs: int
    """Number of independent runs per point."""
    duration: str
    """Duration of a run: simulated time, or the time in which live transfers start."""
    seeds: tuple[int, ...]
    scenarios: Mapping[str, Mapping[str, Any]]
    """Scenarios as plain data, by a name that describes the simulated case."""
    jobs: int
    """Number of runs from which the report is computed."""
    kind: Literal["simulated", "live"] = "simulated"
    """Method of the runs."""
    started: str | None = None
    """Date and time, ISO 8601; ``None`` where the same input must give the same bytes."""
    seconds: float | None = None
    """Time that the runs took."""

    @property
    def size(self) -> str:
        """Number of runs and duration per point, in words."""
        if self.kind == "live":
            return f"transfers begun for {self.duration} a point"
        return f"{text.count(self.runs, 'run')} of {self.duration} a point"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown(Plain):
    """Parts of a report that one key of ``--only`` makes, by their own keys."""

    key: str
    section: str
    """Key of the section that contains them."""
    drawings: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Plain):
    """A report: its conclusion, its sections and its provenance."""

    title: str
    conclusion: Conclusion
    subtitle: str
    sections: tuple[Section, ...]
    provenance: ReportProvenance
    exhibits: tuple[Shown, ...] = ()
    """Parts that each key of ``--only`` made; empty if there are no such keys."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, as ``report/schema/evaluation.json`` describes it."""
        return {"schema": SCHEMA, **Plain.to_dict(self)}
