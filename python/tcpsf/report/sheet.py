"""Results of a closed model as data: a table, and the section with its figure.

Text, JSON and the page are made from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tcpsf import text
from tcpsf.evaluation.conclusion import conclude
from tcpsf.evaluation.data import (
    Axis,
    Figure,
    Point,
    Report,
    ReportProvenance,
    Row,
    Section,
    Series,
    Table,
    TableCell,
)
from tcpsf.evaluation.judge import exact

SCHEMA = "tcpsf.model/1"

LOSS = Axis(label="loss of a full-sized segment", unit="", scale="linear")

Value = float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a model's table."""

    key: str
    """Name of the column in JSON, with the unit."""
    label: str
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """Table, figures and arguments of a closed model."""

    model: str
    title: str
    source: str
    arguments: Mapping[str, Any]
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, as ``report/schema/model.json`` describes it."""
        return {
            "schema": SCHEMA,
            "model": self.model,
            "arguments": dict(self.arguments),
            "columns": [column.key for column in self.columns],
            "rows": [list(row) for row in self.rows],
        }

    def section(self, title: str = "Values") -> Section:
        """Return the sheet as part of a report."""
        table = Table(
            key=f"{self.model}-values",
            title="Values of the model",
            source=self.source,
            caption=", ".join(f"{name} = {value}" for name, value in self.arguments.items()) + ".",
            columns=tuple(column.label for column in self.columns),
            rows=tuple(
                Row(label=_label(first), cells=tuple(map(_cell, rest, self.columns[1:])))
                for first, *rest in self.rows
            ),
        )
        return Section(
            key=self.model, title=title, text=self.notes, figures=self.figures, tables=(table,)
        )


def as_text(sheet: Sheet) -> str:
    """Lay out the arguments and the table.

    >>> column = Column(key="loss", label="loss")
    >>> sheet = Sheet(model="m", title="M", source="s", arguments={"rtt_s": 0.2}, columns=(column,), rows=((0.1,),),
    ...               figures=())
    >>> print(as_text(sheet))
    M
    s; rtt_s=0.2
    <BLANKLINE>
    loss
    ----
    0.1
    """
    heads = [
        f"{column.label}, {column.unit}" if column.unit else column.label
        for column in sheet.columns
    ]
    rows = [[_text(value) for value in row] for row in sheet.rows]
    words = [number for number, value in enumerate(sheet.rows[0]) if isinstance(value, str)]
    given = " ".join(f"{name}={value}" for name, value in sheet.arguments.items())
    lines = [
        sheet.title,
        f"{sheet.source}; {given}",
        "",
        text.table([heads, *rows], left=[0, *words]),
    ]
    return "\n".join([*lines, *(["", *sheet.notes] if sheet.notes else [])])


def report(
    sections: Sequence[Section],
    *,
    title: str,
    subtitle: str,
    command: str,
    headline: Sequence[str] = (),
) -> Report:
    """Make a report of sections that need no runs."""
    from tcpsf import __version__

    provenance = ReportProvenance(
        version=__version__,
        command=command,
        scale="closed forms",
        runs=0,
        duration="",
        seeds=(),
        scenarios={},
        jobs=0,
    )
    return Report(
        title=title,
        conclusion=conclude(sections, headline=headline),
        subtitle=subtitle,
        sections=tuple(sections),
        provenance=provenance,
    )


def line(key: str, label: str, x: Sequence[Value], y: Sequence[float]) -> Series:
    """A curve of values that are not random."""
    return Series(key=key, label=label, points=_points(x, y))


def bar(key: str, label: str, x: Sequence[Value], y: Sequence[float]) -> Series:
    """Return a series of bars whose values are not random."""
    return Series(key=key, label=label, style="bar", points=_points(x, y))


def _points(x: Sequence[Value], y: Sequence[float]) -> tuple[Point, ...]:
    return tuple(
        Point(x=at if isinstance(at, str) else float(at), y=exact(float(value)))
        for at, value in zip(x, y, strict=True)
    )


def _text(value: Value) -> str:
    r"""Text of a value with four significant digits; a whole number has all its digits.

    >>> _text(10000.0), _text(0.123456), _text("FS")
    ('10\u202f000', '0.1235', 'FS')
    """
    if isinstance(value, str):
        return value
    return (
        text.plain(value, 0)
        if abs(value) < 1e9 and (value == round(value) or abs(value) >= 1000)
        else f"{value:.4g}".replace("-", "−")
    )


def _label(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:.10g}"


def _cell(value: Value, column: Column) -> TableCell | str:
    if isinstance(value, str):
        return value
    return TableCell(ours=exact(value), published=None, unit=column.unit)
