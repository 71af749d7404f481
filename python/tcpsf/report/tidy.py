"""A report's numbers as Parquet: one file for each figure and table, and one for the findings.

A row is a point. The columns are ``figure``, ``series``, ``x``, ``value``, ``low`` and ``high`` of
the 95 % interval, ``runs``, ``published`` and ``unit``. ``x`` is a number or, where the axis has
categories, text. In tables ``x`` is the row's label and ``series`` the column's heading.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tcpsf import stats
from tcpsf.evaluation.data import Figure, Report, Table, TableCell

if TYPE_CHECKING:
    import polars as pl

FINDINGS = "findings"


def parquet_files(report: Report) -> Iterator[tuple[str, bytes]]:
    """Yield each file's name, without its extension, and content."""
    for section in report.sections:
        for figure in section.figures:
            yield figure.key, _parquet(figure_frame(figure))
        for table in section.tables:
            yield table.key, _parquet(table_frame(table))
    yield FINDINGS, _parquet(findings_frame(report))


def figure_frame(figure: Figure) -> pl.DataFrame:
    """Return a figure's points, with the published ones beside those of this project."""
    rows = []
    for series in figure.series:
        published = {point.x: point.y for point in series.published}
        rows += [
            _row(
                figure.key,
                series.label,
                point.x,
                point.y,
                published.pop(point.x, None),
                figure.y.unit,
            )
            for point in series.points
        ]
        rows += [
            _row(figure.key, series.label, x, None, y, figure.y.unit) for x, y in published.items()
        ]
    return _frame(rows, category=figure.x.scale == "category")


def table_frame(table: Table) -> pl.DataFrame:
    """Return a table's numbers; text cells are left out."""
    return _frame(
        [
            _row(table.key, column, row.label, cell.ours, cell.published, cell.unit)
            for row in table.rows
            for column, cell in zip(table.columns[1:], row.cells, strict=True)
            if isinstance(cell, TableCell)
        ],
        category=True,
    )


def findings_frame(report: Report) -> pl.DataFrame:
    """Return the claims of the papers, and the findings of this project."""
    import polars as pl

    rows = [
        {"section": section.key, **finding.to_dict()}
        for section in report.sections
        for finding in section.findings
    ]
    text = ("section", "key", "claim", "source", "published", "ours")
    schema = {name: pl.String() for name in text} | {
        "value": pl.Float64(),
        "verdict": pl.String(),
        "test": pl.String(),
        "low": pl.Float64(),
        "high": pl.Float64(),
        "confidence": pl.Float64(),
        "comparisons": pl.Int64(),
        "random": pl.Boolean(),
        "wording": pl.String(),
    }
    return pl.DataFrame([_ends(row) for row in rows], schema=schema)


def _ends(row: dict[str, Any]) -> dict[str, Any]:
    """Row with its interval as two numbers."""
    low, high = row["interval"] or (None, None)
    return {
        **{name: value for name, value in row.items() if name != "interval"},
        "low": low,
        "high": high,
    }


def _row(
    figure: str,
    series: str,
    x: float | str,
    y: stats.Estimate | None,
    published: float | None,
    unit: str,
) -> dict[str, Any]:
    interval = (None if y is None else y.interval) or (None, None)
    return {
        "figure": figure,
        "series": series,
        "x": x,
        "value": None if y is None else y.value,
        "low": interval[0],
        "high": interval[1],
        "runs": None if y is None else y.runs,
        "published": published,
        "unit": unit,
    }


def _frame(rows: list[dict[str, Any]], *, category: bool) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(
        rows,
        schema={
            "figure": pl.String(),
            "series": pl.String(),
            "x": pl.String() if category else pl.Float64(),
            "value": pl.Float64(),
            "low": pl.Float64(),
            "high": pl.Float64(),
            "runs": pl.Int64(),
            "published": pl.Float64(),
            "unit": pl.String(),
        },
    )


def _parquet(frame: pl.DataFrame) -> bytes:
    content = io.BytesIO()
    frame.write_parquet(content)
    return content.getvalue()
