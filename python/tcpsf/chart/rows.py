"""Rows of a table as the panels and curves of a chart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tcpsf.chart.panel import Axis, Curve, CurveStyle, Panel
from tcpsf.errors import TcpsfError, nearest

if TYPE_CHECKING:
    import polars as pl

Rows: TypeAlias = "pl.DataFrame | Mapping[str, Any] | Iterable[Mapping[str, Any]]"
"""A Polars frame, columns by name, or rows that are mappings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Names of the columns of a chart's rows; ``x`` and ``y`` must exist."""

    x: str = "x"
    y: str = "y"
    low: str = "low"
    high: str = "high"
    series: str = "series"
    panel: str = "panel"
    group: str = "group"
    published: str = "published"


USUAL = Names()


def panels(
    data: Rows,
    names: Names,
    *,
    x_axis: Axis | str | None,
    y_axis: Axis | str | None,
    style: CurveStyle | Mapping[str, CurveStyle],
    keys: Mapping[str, str],
) -> tuple[Panel, ...]:
    """Sort rows into panels and curves, in the order in which they first occur."""
    y = _axis(y_axis, names.y, category=False)
    table = _chosen(frame(data), names, y.label)
    categories = not table["x"].dtype.is_numeric()
    x = _axis(x_axis, names.x, category=categories)
    if categories and x.scale != "category":
        raise TcpsfError(
            f"cannot plot the column `{names.x}` on a {x.scale} axis: it has no numbers",
            hint='use `Axis(scale="category")`, or numbers; a time as seconds',
        )
    labels = table["series"].unique(maintain_order=True).to_list()
    headings = _groups(table)
    return tuple(
        Panel(
            key=title,
            title=title,
            x=x,
            y=y,
            curves=tuple(
                _curve(part, label, style=_style(style, label), key=keys.get(label, label))
                for label in labels
                for part in (rows.filter(rows["series"] == label),)
            ),
            groups=headings,
        )
        for (title,), rows in table.group_by("panel", maintain_order=True)
    )


def frame(data: Rows) -> pl.DataFrame:
    """Rows as a Polars frame; an error if they are none."""
    import polars as pl

    if isinstance(data, pl.DataFrame):
        return data
    try:
        if isinstance(data, Mapping):
            return pl.DataFrame(data, strict=False)
        return pl.DataFrame(list(data), strict=False, infer_schema_length=None)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise TcpsfError(
            f"cannot plot {type(data).__name__}: {error}",
            hint="expected a Polars frame, a mapping of columns, or rows that are mappings",
        ) from error


def column(table: pl.DataFrame, name: str) -> pl.Series:
    """Column of a table; an error if there is none."""
    if name not in table.columns:
        near = nearest(name, table.columns)
        known = ", ".join(f"`{each}`" for each in table.columns) or "none"
        raise TcpsfError(
            f"cannot plot the column `{name}`: the rows have no such column",
            hint=f"did you mean `{near}`?" if near else f"the columns are {known}",
        )
    return table[name]


def _chosen(table: pl.DataFrame, names: Names, label: str) -> pl.DataFrame:
    """Columns under their usual names; a table without series has one with this label."""
    import polars as pl

    found: dict[str, pl.Series] = {}
    for role, name in _roles(names):
        if name in table.columns or role in ("x", "y") or name != getattr(USUAL, role):
            found[role] = column(table, name)
    for role in ("y", "low", "high", "published"):
        if role in found and not (found[role].dtype.is_numeric() or found[role].dtype == pl.Null):
            raise TcpsfError(
                f"cannot plot the column `{getattr(names, role)}`: it has {found[role].dtype}",
                hint="expected numbers",
            )
    if ("low" in found) != ("high" in found):
        there, lacks = ("low", "high") if "low" in found else ("high", "low")
        raise TcpsfError(
            f"cannot plot the column `{getattr(names, there)}`: there is no column "
            f"`{getattr(names, lacks)}`",
            hint="an interval has two ends",
        )
    if found["x"].dtype.is_temporal():
        raise TcpsfError(
            f"cannot plot the column `{names.x}`: it has {found['x'].dtype}",
            hint="expected numbers or text; give times in seconds",
        )
    kept = pl.DataFrame({role: values.alias(role) for role, values in found.items()})
    kept = kept.drop_nulls("x")
    if kept["x"].dtype.is_float():
        kept = kept.filter(pl.col("x").is_finite())
    if not len(kept):
        raise TcpsfError(
            f"cannot plot the column `{names.x}`: it has no values", hint="each row is a point"
        )
    text = [
        (pl.col(role).cast(pl.String).fill_null("") if role in found else pl.lit(usual)).alias(role)
        for role, usual in (("series", label), ("panel", ""))
    ]
    kept = kept.with_columns(text)
    if not kept["x"].dtype.is_numeric():
        kept = kept.with_columns(pl.col("x").cast(pl.String))
    if "group" in found:
        joined = pl.concat_str(pl.col("group").cast(pl.String), pl.lit(", "), pl.col("x"))
        kept = kept.with_columns(x=joined)
    return kept


def _roles(names: Names) -> Iterator[tuple[str, str]]:
    for role in Names.__dataclass_fields__:
        yield role, getattr(names, role)


def _axis(axis: Axis | str | None, name: str, *, category: bool) -> Axis:
    if isinstance(axis, Axis):
        return axis
    return Axis(label=name if axis is None else axis, scale="category" if category else "linear")


def _style(style: CurveStyle | Mapping[str, CurveStyle], label: str) -> CurveStyle:
    return style if isinstance(style, str) else style.get(label, "line")


def _groups(table: pl.DataFrame) -> tuple[tuple[str, int], ...]:
    if "group" not in table.columns:
        return ()
    counted = table.group_by("group", maintain_order=True).agg(_distinct())
    return tuple((str(group), count) for group, count in counted.iter_rows())


def _distinct() -> pl.Expr:
    import polars as pl

    return pl.col("x").n_unique()


def _curve(rows: pl.DataFrame, label: str, *, style: CurveStyle, key: str) -> Curve:
    import polars as pl

    numbers = {
        role: rows[role].cast(pl.Float64).to_numpy()
        for role in ("y", "low", "high")
        if role in rows.columns
    }
    if style in ("span", "bold-span") and "low" not in numbers:
        raise TcpsfError(
            f"cannot plot the series `{label}` as {style}s: the rows have no ends",
            hint="a span is a vertical line from the column `low` to the column `high`",
        )
    categories = not rows["x"].dtype.is_numeric()
    published = []
    if "published" in rows.columns:
        values = pl.col("published").cast(pl.Float64)
        published = rows.select("x", values).filter(values.is_finite()).rows()
    return Curve(
        key=key,
        label=label,
        style=style,
        x=rows["x"].to_list() if categories else rows["x"].cast(pl.Float64).to_numpy(),
        y=numbers["y"],
        low=numbers.get("low", ()),
        high=numbers.get("high", ()),
        published=tuple(published),
    )
