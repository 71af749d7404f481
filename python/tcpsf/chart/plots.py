"""Charts of a user's own data: `plot` makes a `Plot`, which becomes HTML, SVG, PDF or PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpsf.chart import layout, lying, marks, page, rows, standalone
from tcpsf.chart.panel import Axis, CurveStyle, Panel
from tcpsf.errors import TcpsfError
from tcpsf.staging import write_file

if TYPE_CHECKING:
    import polars as pl

WIDTH = 720.0
"""Usual width of an SVG document in pixels."""
PUBLISHED = "published"
"""Usual words of the legend for reference values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A chart of one or more panels, which share their axes and their legend."""

    panels: tuple[Panel, ...]
    title: str = ""
    caption: str = ""
    """Text below the title; text between backticks becomes code. Only pages show it."""
    notes: tuple[str, ...] = ()
    """Remarks below the chart."""
    key: str = "chart"
    """Name for links and for saved files; different for each chart of a page."""
    reference: str = PUBLISHED
    """Source of the reference values, for the legend."""
    interval: str = layout.INTERVAL
    """Kind of the intervals, for the legend."""

    def html(self) -> str:
        """Return a page with this chart, which needs no other file and no network."""
        return page_of([self], title=self.title)

    def svg(
        self, *, theme: standalone.Theme = "paper", width: float = WIDTH, columns: int = 2
    ) -> str:
        """Return an SVG document.

        It is ``width`` pixels wide (96 to the inch) and has at most ``columns`` panels in a row.
        The theme ``auto`` follows the setting of a browser.
        """
        if not width >= 160:
            raise TcpsfError(
                f"cannot draw a chart that is {width:g} pixels wide", hint="at least 160"
            )
        if columns < 1:
            raise TcpsfError(f"cannot draw {columns} panels in a row", hint="at least 1")
        words = standalone.Lettering(
            title=self.title, notes=self.notes, reference=self.reference, interval=self.interval
        )
        return standalone.document(
            self.panels,
            marks.palette(self.panels),
            words,
            theme=theme,
            width=width,
            columns=columns,
        )

    def save(self, path: str | Path, *, width: float = WIDTH, columns: int = 2) -> Path:
        """Write the chart; the extension decides: ``.html``, ``.svg``, ``.pdf`` or ``.png``.

        ``width`` and ``columns`` are those of `svg`. PDF and PNG need the package
        vl-convert-python (``pip install 'tcpsf[pdf]'``). The file appears complete or not at all.
        Raises `TcpsfError` for another extension, and `OutputError` if it cannot be written.
        """
        target = Path(path)
        kind = target.suffix.lower()
        if kind == ".html":
            content = self.html().encode()
        elif kind == ".svg":
            content = self.svg(width=width, columns=columns).encode()
        elif kind in (".pdf", ".png"):
            content = _converted(self.svg(width=width, columns=columns), kind)
        else:
            raise TcpsfError(
                f"cannot save a chart as `{target}`: unknown extension `{kind}`",
                hint="use .html, .svg, .pdf or .png",
            )
        write_file(target, content)
        return target

    def placed(self, known: marks.Palette) -> layout.Placed:
        """Parts of the chart for a page, drawn with the styles of the page's palette."""
        return layout.placed(self.panels, known, reference=self.reference, interval=self.interval)

    def _repr_html_(self) -> str:
        """Return a frame with the page, so that the notebook's style and the page's stay apart."""
        heights = (lying.height(each) if each.groups else 330.0 for each in self.panels)
        tall = 220 + sum(heights) / min(len(self.panels), 2) + 40 * len(self.panels)
        style = f"width:100%;height:{tall:.0f}px;border:0"
        return f'<iframe style="{style}" title="{escape(self.title)}" srcdoc="{escape(self.html())}"></iframe>'

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        """Return HTML, and SVG for programs that show no frames."""
        return {
            "text/html": self._repr_html_(),
            "image/svg+xml": self.svg(),
            "text/plain": f"Plot({self.title!r}, panels={len(self.panels)})",
        }


def plot(
    data: rows.Rows,
    *,
    x: str = rows.USUAL.x,
    y: str = rows.USUAL.y,
    low: str = rows.USUAL.low,
    high: str = rows.USUAL.high,
    series: str = rows.USUAL.series,
    panel: str = rows.USUAL.panel,
    group: str = rows.USUAL.group,
    published: str = rows.USUAL.published,
    x_axis: Axis | str | None = None,
    y_axis: Axis | str | None = None,
    style: CurveStyle | Mapping[str, CurveStyle] = "line",
    keys: Mapping[str, str] | None = None,
    title: str = "",
    caption: str = "",
    notes: Sequence[str] = (),
    key: str = "chart",
    reference: str = PUBLISHED,
    interval: str = layout.INTERVAL,
) -> Plot:
    """Make a chart of rows: a Polars frame, columns by name, or mappings.

    ``x`` to ``published`` are names of columns. A row has a position, a value and, if there are
    such columns, the ends of its interval, its series, its panel, and a reference value that is
    drawn hollow. ``group`` has headings of categories; the bars are then horizontal. Only ``x`` and
    ``y`` must exist, and columns with other than the usual names.

    An axis is an `Axis` or its label. Without one, the column's name is the label. Text makes an
    axis of categories. ``style`` is that of all series, or of each by its label. ``keys`` gives a
    series the colour of a known key, such as `classic`, `vs` or `fs`.

    Raises `TcpsfError` for a column that does not exist or has no numbers.

    >>> rows = [{"x": load, "y": 1 / (1 - load), "series": "M/M/1"} for load in (0.1, 0.5, 0.9)]
    >>> chart = plot(rows, x_axis="load", y_axis=Axis(label="sojourn time", unit="s"))
    >>> chart.svg().startswith("<svg")
    True
    """
    names = rows.Names(
        x=x,
        y=y,
        low=low,
        high=high,
        series=series,
        panel=panel,
        group=group,
        published=published,
    )
    return Plot(
        panels=rows.panels(data, names, x_axis=x_axis, y_axis=y_axis, style=style, keys=keys or {}),
        title=title,
        caption=caption,
        notes=tuple(notes),
        key=key,
        reference=reference,
        interval=interval,
    )


def cumulative(
    data: rows.Rows,
    *,
    x: str = rows.USUAL.x,
    series: str = rows.USUAL.series,
    panel: str = rows.USUAL.panel,
    complementary: bool = False,
) -> pl.DataFrame:
    """Return the distribution function of a column's values, as rows for `plot`.

    ``y`` is the share of the values of a series, in its panel, that are at most ``x``, or more than
    ``x`` if ``complementary``. Empty values are left out. Draw it with the style ``step``.

    >>> cumulative({"x": [3.0, 1.0, 3.0, 2.0]})["y"].to_list()
    [0.25, 0.5, 1.0]
    """
    import polars as pl

    table = rows.frame(data)
    rows.column(table, x)
    roles = {"panel": panel, "series": series}
    there = [role for role, name in roles.items() if name in table.columns]
    by = [
        (pl.col(name) if role in there else pl.lit("")).alias(role) for role, name in roles.items()
    ]
    kept = table.select(pl.col(x).alias("x"), *by).drop_nulls("x")
    counted = kept.group_by([*roles, "x"], maintain_order=True).len("count")
    order = counted.select([*roles]).unique(maintain_order=True).with_row_index("order")
    counted = counted.join(order, on=[*roles], nulls_equal=True).sort("order", "x")
    share = (pl.col("count").cum_sum() / pl.col("count").sum()).over("order")
    return counted.select("x", (1.0 - share if complementary else share).alias("y"), *there)


def page_of(plots: Sequence[Plot], *, title: str, text: Sequence[str] = ()) -> str:
    """Return a page with charts below each other, which needs no other file and no network.

    ``text`` has paragraphs for the top; text between backticks becomes code. A series' key looks
    the same in each chart.
    """
    keys = [each.key for each in plots]
    for key in keys:
        if keys.count(key) > 1:
            raise TcpsfError(
                f"cannot lay out the page: it has more than one chart `{key}`",
                hint="give each chart a different `key`",
            )
    known = marks.palette(panel for each in plots for panel in each.panels)
    return (
        page.environment()
        .get_template("chart.html")
        .render(
            title=title,
            text=text,
            headed=len(plots) != 1,
            plots=[(each, each.placed(known)) for each in plots],
        )
    )


def _converted(drawing: str, kind: str) -> bytes:
    try:
        import vl_convert
    except ImportError as error:
        raise TcpsfError(
            f"cannot save a chart as {kind}: the package vl-convert-python is not installed",
            hint="pip install 'tcpsf[pdf]', or save it as .svg",
        ) from error
    found: bytes = (
        vl_convert.svg_to_pdf(drawing)
        if kind == ".pdf"
        else vl_convert.svg_to_png(drawing, scale=2)
    )
    return found
