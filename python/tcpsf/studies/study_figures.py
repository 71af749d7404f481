"""Figures of a study: the plots that it defines, with the intervals of their points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tcpsf import _core, text
from tcpsf.chart import Axis, Plot, plot
from tcpsf.errors import StudyError
from tcpsf.measurements import MEASURES
from tcpsf.studies.definition import Study, StudyPlot
from tcpsf.studies.study_sentence import sentence, shown

if TYPE_CHECKING:
    import polars as pl

CLASS = "class"
"""The name by which a plot refers to size classes, as it refers to axes."""

MOST_WHISKERS = 12
"""Most points of a line whose intervals are whiskers. With more points they are bands."""

QUANTITIES: tuple[tuple[Callable[[str], float], float, str], ...] = (
    (_core.nanoseconds, 1e-6, "ms"),
    (_core.bits_per_second, 1e-6, "Mb/s"),
    (_core.bytes, 1e-3, "kB"),
)
"""Parsers of quantities, with the factor to the unit of an axis."""

PREFIXES = {"value": "", "difference": "difference_", "percent": "percent_"}


def figures(study: Study, frame: pl.DataFrame) -> Iterator[Plot]:
    """Yield the plots of a study. Raises `StudyError` if a plot has no results."""
    for wanted in study.plot:
        yield _figure(study, frame, wanted)


def _figure(study: Study, frame: pl.DataFrame, wanted: StudyPlot) -> Plot:
    rows = _selected(frame, wanted)
    if not rows:
        limits = "".join(f" and {name} = `{value}`" for name, value in wanted.only.items())
        raise StudyError(
            f"plot `{wanted.name}`: no result has the measure `{wanted.measure}`{limits}",
            hint="check its `measure`, `workload`, `classes` and `only`, and `[keep]`",
        )
    x_axis, positions = _positions(study, wanted, rows)
    prefix = PREFIXES[wanted.value]
    drawn = [
        {
            "x": position,
            "y": row[f"{prefix}value"],
            "low": row[f"{prefix}low"],
            "high": row[f"{prefix}high"],
            "series": _series(study, wanted, row),
            "panel": "" if wanted.panels is None else _named(study, wanted.panels, row),
        }
        for position, row in zip(positions, rows, strict=True)
        if row[f"{prefix}value"] is not None
    ]
    if not drawn:
        raise _without_values(wanted)
    bars = x_axis.scale == "category"
    many = len(set(positions)) > MOST_WHISKERS
    y_axis = _y_axis(wanted, rows)
    return plot(
        drawn,
        x_axis=x_axis,
        y_axis=y_axis,
        style="bar" if bars else "line" if many else "whiskers",
        title=wanted.title or f"{y_axis.label[0].upper()}{y_axis.label[1:]}: {rows[0]['name']}",
        caption=sentence(study, rows),
        key=wanted.name,
    )


def _selected(frame: pl.DataFrame, wanted: StudyPlot) -> list[dict[str, Any]]:
    """Return the rows of a plot: of one measure and subject, and of the wanted classes."""
    import polars as pl

    rows = frame.filter(pl.col("measure") == wanted.measure, pl.col("variant").is_null())
    names = rows["name"].unique(maintain_order=True).to_list()
    if not names:
        return []
    name = wanted.workload or names[0]
    rows = rows.filter(pl.col("name") == name)
    if CLASS in (wanted.x, wanted.lines, wanted.panels):
        rows = rows.filter(pl.col(CLASS).is_not_null())
        if wanted.classes:
            rows = rows.filter(pl.col(CLASS).is_in(wanted.classes))
    else:
        rows = rows.filter(pl.col(CLASS).is_null())
    found = [
        row
        for row in rows.to_dicts()
        if all(row[name] == value for name, value in wanted.only.items())
    ]
    if wanted.value == "value" or not found:
        return found
    compared = [row for row in found if row["difference_value"] is not None]
    if not compared:
        raise _without_values(wanted)
    return compared


def _without_values(wanted: StudyPlot) -> StudyError:
    return StudyError(
        f"plot `{wanted.name}`: `{wanted.measure}` has no value at any point",
        hint="a percentile needs more flows: add runs, or a longer `duration`",
    )


def _positions(
    study: Study, wanted: StudyPlot, rows: Sequence[dict[str, Any]]
) -> tuple[Axis, list[float | str]]:
    """Return the horizontal axis, and the position of each row: a number, or a category."""
    if wanted.x == CLASS:
        sizes = {row[CLASS]: row["size_bytes"] for row in rows if row["size_bytes"] is not None}
        return (
            Axis(label="flow size", unit="bytes", scale="log"),
            [sizes.get(row[CLASS]) or row[CLASS] for row in rows],
        )
    axis = study.axis_of(wanted.x)
    title = (axis.title if axis else None) or wanted.x
    scale = axis.scale if axis else "linear"
    values = [row[wanted.x] for row in rows]
    if all(isinstance(value, int | float) for value in values):
        return Axis(label=title, scale=scale), values
    for parse, factor, unit in QUANTITIES:
        try:
            numbers: list[float | str] = [parse(value) * factor for value in values]
        except ValueError:
            continue
        return Axis(label=title, unit=unit, scale=scale), numbers
    return Axis(label=title, scale="category"), [str(value) for value in values]


def _series(study: Study, wanted: StudyPlot, row: dict[str, Any]) -> str:
    """Return the label of a row's line: its value on ``lines``, and on axes without a role."""
    placed = {wanted.x, wanted.panels, wanted.lines, *wanted.only}
    baseline = study.compare.axis if study.compare and wanted.value != "value" else None
    others = [axis.column for axis in study.axis if axis.column not in placed]
    free = [column for column in others if column != baseline or _several(study, column)]
    named = [wanted.lines] if wanted.lines else []
    parts = [_named(study, column, row) for column in (*named, *free)]
    if not parts and baseline:
        parts = [_named(study, baseline, row)]
    return ", ".join(parts) or str(row["name"])


def _several(study: Study, column: str) -> bool:
    """Return whether more than one value of the axis is compared with the baseline."""
    axis = study.axis_of(column)
    return axis is not None and max(len(axis.values), len(axis.points), axis.steps or 0) > 2


def _named(study: Study, column: str, row: dict[str, Any]) -> str:
    """Return the label of a row on an axis, with the axis's name if the value is a number."""
    value = row[column]
    if column == CLASS:
        size = row["size_bytes"]
        return f"{text.plain(size, 0)} bytes" if size is not None else f"class {value}"
    axis = study.axis_of(column)
    title = (axis.title if axis else None) or column
    is_word = isinstance(value, str) and not value[:1].isdigit()
    return value if is_word else f"{title} {shown(value)}"


def _y_axis(wanted: StudyPlot, rows: Sequence[dict[str, Any]]) -> Axis:
    measure = {each.key: each for each in MEASURES}[wanted.measure]
    times = rows[0]["kind"] == "flows" and measure.key.endswith("_s")
    title = f"{measure.title} completion time" if times else measure.title
    if wanted.value != "value":
        title = f"change of {title}"
    unit = "%" if wanted.value == "percent" else measure.unit
    return Axis(label=title, unit=unit, scale="log" if wanted.log else "linear")
