"""An evaluation as data: figures, tables and findings in sections, with every interval, before anybody draws it.

Experiments build a `Report`; the page, the JSON and the Parquet files are functions of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from tcpsf import stats
from tcpsf.report import text

if TYPE_CHECKING:
    from tcpsf.reproduce.judge import Finding

SCHEMA = "tcpsf.evaluation/2"

OWN = "this project"
"""The source of a figure, table or claim that is in no paper."""


@dataclass(frozen=True, slots=True)
class Plain:
    """What its fields say, and no more."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


@runtime_checkable
class _Data(Protocol):
    """Knows itself as plain data: parts of a report, estimates, findings."""

    def to_dict(self) -> dict[str, Any]: ...


def _plain(value: Any) -> Any:
    if isinstance(value, _Data):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Point(Plain):
    """One of our points."""

    x: float | str
    """Text for a category: a chunk size, a class, a variant."""
    y: stats.Estimate | None
    """``None`` where nothing was seen to take a mean of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedPoint(Plain):
    """A number that the paper's text or table gives; never one read off a figure."""

    x: float | str
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Series(Plain):
    """Points that belong together."""

    key: str
    label: str
    style: Literal["line", "step", "bar", "point"] = "line"
    """``point``: each by itself, on an axis of numbers."""
    points: tuple[Point, ...]
    published: tuple[PublishedPoint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis(Plain):
    """What an axis shows, and from where to where."""

    label: str
    unit: str
    """Empty for a pure number or a category."""
    scale: Literal["linear", "log", "category"]
    low: float | None = None
    """``None``: as the data have it."""
    high: float | None = None
    """Bars that reach beyond the axis are cut there, with a mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure(Plain):
    """A figure of the paper, made again."""

    key: str
    title: str
    source: str
    """The paper and the figure in it."""
    caption: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    groups: tuple[tuple[str, int], ...] = ()
    """Headings, and how many categories stand below each: such bars are drawn lying."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell(Plain):
    """Our value and the paper's."""

    ours: stats.Estimate | None
    published: float | None
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(Plain):
    """A row of a table; its label stands under the first column."""

    label: str
    cells: tuple[TableCell | str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Plain):
    """A table of the paper, made again, or one of ours."""

    key: str
    title: str
    source: str
    caption: str
    columns: tuple[str, ...]
    """The first is above the rows' labels."""
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
    """What is read together."""

    key: str
    title: str
    text: tuple[str, ...] = ()
    """Paragraphs."""
    items: tuple[str, ...] = ()
    """Short points, set as a list after them."""
    drawings: tuple[Drawing, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    findings: tuple[Finding, ...] = ()
    why: str = ""
    """Why results differ from the published ones, without a full stop; empty where not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion(Plain):
    """The three sentences at the top of a report, computed by `report.conclusion`."""

    found: str
    not_reproduced: str
    why: str
    """The causes of the differences, as far as they are known."""

    @property
    def sentences(self) -> tuple[str, str, str]:
        """All three, in order."""
        return (self.found, self.not_reproduced, self.why)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportProvenance(Plain):
    """Where a report comes from, and how to make it again."""

    version: str
    """The version of tcpsf."""
    command: str
    """The command line that repeats it."""
    scale: str
    runs: int
    """Independent runs a point."""
    duration: str
    """Time of a run: simulated, or that in which live transfers are begun."""
    seeds: tuple[int, ...]
    scenarios: Mapping[str, Mapping[str, Any]]
    """By a name that says what is simulated, as plain data."""
    jobs: int
    """Runs that the report rests on."""
    kind: Literal["simulated", "live"] = "simulated"
    """How they were made."""
    started: str | None = None
    """Date and time, ISO 8601; ``None`` where the same input shall give the same bytes."""
    seconds: float | None = None
    """How long it took."""

    @property
    def size(self) -> str:
        """How much each point rests on, in words."""
        if self.kind == "live":
            return f"transfers begun for {self.duration} a point"
        return f"{text.count(self.runs, 'run')} of {self.duration} a point"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown(Plain):
    """Which parts of a report one key of ``--only`` makes, by their own keys."""

    key: str
    section: str
    """Key of the section that they stand in."""
    drawings: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Plain):
    """The whole of it."""

    title: str
    conclusion: Conclusion
    subtitle: str
    sections: tuple[Section, ...]
    provenance: ReportProvenance
    exhibits: tuple[Shown, ...] = ()
    """What each key of ``--only`` made; empty where there are no such keys."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, as ``report/schema/evaluation.json`` describes it."""
        return {"schema": SCHEMA, **Plain.to_dict(self)}
