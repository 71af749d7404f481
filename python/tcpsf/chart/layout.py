"""Parts of a figure on a page: the drawing of each panel, the legend, and the values as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tcpsf import text
from tcpsf.chart import axes, dense, lying, marks, upright
from tcpsf.chart.panel import Curve, Measured, Panel

SHARED = 300.0
"""Minimum width, in pixels, of the horizontal axis of one of several panels on a screen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueColumn:
    """Values of a curve in the table: its own or the reference values."""

    series: int
    label: str
    published: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A value as text for the reader, and as a number for a program."""

    text: str
    value: float | None = None
    interval: tuple[float, float] | None = None


_EMPTY = Cell(text="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """All values at one position."""

    x: str
    plain: float | str
    """The position as a program reads it."""
    place: str | None
    """Per cent of the axis, or of the height with horizontal bars; ``None`` outside the axis."""
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPanel:
    """A panel, drawn, with its table."""

    title: str
    chart: upright.Drawn
    up: str
    along: str
    """Names of the vertical axis (``up``) and of the horizontal axis (``along``)."""
    places: str
    """Heading of the column that identifies the rows of the table."""
    columns: tuple[ValueColumn, ...]
    rows: tuple[Line, ...]
    packed: tuple[dense.Packed, ...]
    """Points in binary form if the panel is dense."""
    lying: bool

    @property
    def dense(self) -> bool:
        """Whether the table is a summary."""
        return bool(self.packed)

    @property
    def zooms(self) -> bool:
        """Whether the horizontal axis has numbers."""
        return not self.lying and not self.chart.x.names


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """All panels of a figure with their common legend."""

    panels: tuple[PlacedPanel, ...]
    keys: tuple[tuple[int, str, str], ...]
    """Number, sign as SVG, and label of each curve."""
    signs: tuple[tuple[str, str], ...]
    """Further signs, and their meaning."""
    notes: tuple[str, ...]
    solid: bool
    """Whether no line is dashed.

    Dashes hide the corners of steps and of dense lines, and a single line needs no dashes.
    """


INTERVAL = "95 % interval"
"""Usual words of the legend for intervals."""


def placed(
    panels: Sequence[Panel],
    known: marks.Palette,
    *,
    reference: str,
    interval: str = INTERVAL,
) -> Placed:
    """Draw panels, which share their axes, and lay out their values.

    The curves of all panels have the same keys in the same order. In the legend, ``reference``
    describes the source of the published values, and ``interval`` the intervals.
    """
    flat = bool(panels[0].groups)
    scales = (lying.fitted if flat else upright.fitted)(panels)
    room = SHARED if len(panels) > 1 else upright.WIDE
    drawn = [
        lying.draw(panel, known, scales=scales)
        if flat
        else upright.draw(panel, known, scales=scales, room=room)
        for panel in panels
    ]
    curves = panels[0].curves
    missing = sum(each.missing for each in drawn)
    return Placed(
        panels=tuple(
            _placed(panel, each, reference) for panel, each in zip(panels, drawn, strict=True)
        ),
        keys=tuple(
            (
                number,
                marks.legend_marker(curve, style, joined=curve.joined and not scales[0].names),
                curve.label,
            )
            for number, (curve, style) in enumerate(zip(curves, drawn[0].styles, strict=True))
        ),
        signs=tuple(_signs(panels, drawn, reference, interval)),
        notes=tuple(_notes(panels, missing)),
        solid=len(curves) == 1
        or any(panel.dense for panel in panels)
        or all(curve.style == "step" for curve in curves),
    )


def _signs(
    panels: Sequence[Panel], drawn: Sequence[upright.Drawn], reference: str, interval: str
) -> Iterator[tuple[str, str]]:
    if any(each.banded for each in drawn):
        yield marks.interval_marker(band=True), interval
    if any(each.whiskered for each in drawn):
        yield marks.interval_marker(band=False), interval
    if any(curve.published for panel in panels for curve in panel.curves):
        yield marks.published_marker(), f"hollow: {reference}"


def _notes(panels: Sequence[Panel], missing: int) -> Iterator[str]:
    for panel in panels:
        for note in panel.notes:
            yield note if len(panels) == 1 else f"{panel.title}: {note}"
    if missing:
        # The table of a dense panel does not have single values.
        where = "" if any(panel.dense for panel in panels) else ", but in the table"
        yield f"Outside the axes{where}: {text.count(missing, 'value')}."


def _placed(panel: Panel, drawn: upright.Drawn, reference: str) -> PlacedPanel:
    columns = tuple(
        ValueColumn(
            series=number,
            label=f"{curve.label}, {reference}" if published else curve.label,
            published=published,
        )
        for number, curve in enumerate(panel.curves)
        for published in ((False, True) if curve.published else (False,))
    )
    flat, heavy = bool(panel.groups), panel.dense
    return PlacedPanel(
        title=panel.title,
        chart=drawn,
        up=upright.titled(panel.x if flat else panel.y),
        along=upright.titled(panel.y if flat else panel.x),
        places=upright.titled(panel.x) + (", from" if heavy else ""),
        columns=columns,
        rows=tuple((_slices if heavy else _lines)(panel, columns, drawn)),
        packed=tuple(dense.packed(curve, drawn.x) for curve in panel.curves) if heavy else (),
        lying=flat,
    )


def _lines(panel: Panel, columns: Sequence[ValueColumn], drawn: upright.Drawn) -> Iterator[Line]:
    scale = drawn.x
    by_column = [
        {
            _at(x, scale): cell
            for x, cell in _values(panel.curves[column.series], published=column.published)
        }
        for column in columns
    ]
    places: list[float | str] = [*scale.names] or list({x for values in by_column for x in values})
    if not scale.names:
        places.sort(key=lambda x: axes.number(x, panel.x))
    for x in places:
        place = scale.place(x) if drawn.rows is None else drawn.rows[axes.name(x)]
        yield Line(
            plain=x,
            x=text.label(x) if isinstance(x, str) else text.short(x),
            place=None if place is None else f"{100 * place:.2f}",
            cells=tuple(values.get(x, _EMPTY) for values in by_column),
        )


def _at(x: float | str, scale: axes.AxisScale) -> float | str:
    """Identity of a position: a category's name, or the number."""
    return axes.name(x) if scale.names else x


def _values(curve: Curve, *, published: bool) -> Iterator[tuple[float | str, Cell]]:
    if published:
        for x, value in curve.published:
            yield x, Cell(text=text.short(value), value=value)
        return
    found = list(curve.marks())
    cells = [None if mark.value is None else Measured(mark.value, mark.interval) for mark in found]
    for mark, cell, shown in zip(found, cells, text.column(cells), strict=True):
        yield mark.x, _cell(cell, shown)


def _cell(value: Measured | None, shown: str) -> Cell:
    if value is None:
        return Cell(text=shown)
    return Cell(text=shown, value=value.value, interval=value.interval)


def _slices(panel: Panel, columns: Sequence[ValueColumn], drawn: upright.Drawn) -> Iterator[Line]:
    """Yield the rows of a dense panel's table, without those in which no curve has a value."""
    scale = drawn.x
    by_column = []
    for column in columns:
        curve = panel.curves[column.series]
        if column.published:
            x = [each for each, _ in curve.published]
            curve = Curve(key="", label="", x=x, y=[value for _, value in curve.published])
        values = dense.summarised(curve, scale)
        by_column.append(list(map(_cell, values, text.column(values))))
    starts = [dense.slice_start(number, scale) for number in range(dense.SLICES)]
    shown = [axes.label(float(f"{start:.4g}")) for start in starts]
    for number, start in enumerate(starts):
        cells = tuple(cells[number] for cells in by_column)
        if any(cell.value is not None for cell in cells):
            yield Line(
                plain=start,
                x=shown[number],
                place=f"{100 * number / dense.SLICES:.2f}",
                cells=cells,
            )
