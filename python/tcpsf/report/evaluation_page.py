"""A report as one HTML page without external files: charts and tables.

The page follows the reader's light or dark setting, and can be printed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from tcpsf import text
from tcpsf.chart import layout, marks
from tcpsf.chart import page as chart_page
from tcpsf.chart.panel import Curve, Panel
from tcpsf.errors import TcpsfError
from tcpsf.evaluation.data import Figure, Report, ReportProvenance, Series, Table, TableCell

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

VERDICTS = ("holds", "does not hold", "undecided")
SVG_NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'
"""Attribute that an SVG document needs, and an SVG element inside HTML does not."""


def environment() -> jinja2.Environment:
    """Return the template environment of the pages."""
    from markupsafe import Markup

    made = chart_page.environment("tcpsf.report")
    made.filters["plain_json"] = lambda data: Markup(_plain_json(data))  # noqa: S704  it escapes
    made.filters["sentence"] = _sentence
    made.filters["embedded"] = lambda svg: Markup(svg.replace(SVG_NAMESPACE, "", 1))  # noqa: S704  of `Drawing`
    return made


def page(report: Report) -> str:
    """Return a report as an HTML page."""
    figures = [figure for section in report.sections for figure in section.figures]
    tables = [table for section in report.sections for table in section.tables]
    findings = [finding for section in report.sections for finding in section.findings]
    _refuse_twins("section", [section.key for section in report.sections])
    _refuse_twins("drawing", [each.key for section in report.sections for each in section.drawings])
    _refuse_twins("figure", [figure.key for figure in figures])
    _refuse_twins("table", [table.key for table in tables])
    panels = {figure.key: panel(figure) for figure in figures}
    known = marks.palette(panels.values())
    counts = [
        (verdict, sum(finding.verdict == verdict for finding in findings)) for verdict in VERDICTS
    ]
    return (
        environment()
        .get_template("evaluation.html")
        .render(
            report=report,
            source=report.provenance,
            drawings={
                key: layout.placed([each], known, reference="paper") for key, each in panels.items()
            },
            captions={figure.key: _caption(figure) for figure in figures},
            tables={table.key: _lay(table) for table in tables},
            claims=text.count(len(findings), "claim"),
            verdicts=[(verdict, count) for verdict, count in counts if count],
            facts=list(_facts(report.provenance)),
            scenarios=text.count(len(report.provenance.scenarios), "scenario"),
        )
    )


def _refuse_twins(kind: str, keys: Sequence[str]) -> None:
    for key in keys:
        if keys.count(key) > 1:
            raise TcpsfError(
                f"cannot lay out the report: it has more than one {kind} `{key}`",
                hint="links and downloads use the key; give each a different key",
            )


def panel(figure: Figure) -> Panel:
    """Return a figure as the data of a chart."""
    return Panel(
        key=figure.key,
        title=figure.title,
        x=figure.x,
        y=figure.y,
        curves=tuple(_curve(series) for series in figure.series),
        groups=figure.groups,
        notes=figure.notes,
    )


def _curve(series: Series) -> Curve:
    ends = [None if point.y is None else point.y.interval for point in series.points]
    return Curve(
        key=series.key,
        label=series.label,
        style=series.style,
        x=[point.x for point in series.points],
        y=[None if point.y is None else point.y.value for point in series.points],
        low=[None if each is None else each[0] for each in ends],
        high=[None if each is None else each[1] for each in ends],
        published=tuple((point.x, point.y) for point in series.published),
    )


def _caption(figure: Figure) -> Markup:
    from markupsafe import Markup

    source, words = escape(_sentence(figure.source)), chart_page.marked(figure.caption)
    return Markup(f"{source} {words}")  # noqa: S704  both are escaped


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    label: str
    published: bool
    """Whether the paper's value is beside this project's."""
    decimals: int
    """Decimals of the paper's values, as the paper prints them: 0.30 above 0.27."""
    text: bool
    """Whether the column has only text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Laid:
    paired: bool
    dense: bool
    """Whether the table has many columns and needs a smaller type."""
    heads: tuple[_Head, ...]
    rows: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    """Label and cells of each row, each cell with its CSS class."""


def _lay(table: Table) -> _Laid:
    for row in table.rows:
        if len(row.cells) + 1 != len(table.columns):
            raise TcpsfError(
                f"cannot lay out the table `{table.key}`: row `{row.label}` has {text.count(len(row.cells), 'cell')}",
                hint=f"the columns {', '.join(f'`{name}`' for name in table.columns)} "
                f"need {len(table.columns) - 1}",
            )
    heads, units = [], []
    for number, label in enumerate(table.columns[1:]):
        cells = [
            cell
            for cell in (row.cells[number] for row in table.rows)
            if isinstance(cell, TableCell)
        ]
        common = {cell.unit for cell in cells}
        unit = common.pop() if len(common) == 1 else None
        units.append(unit)
        heads.append(
            _Head(
                label=text.titled(label, unit),
                published=any(cell.published is not None for cell in cells),
                decimals=max((_decimals(cell.published) for cell in cells), default=0),
                text=not cells,
            )
        )
    columns = [
        list(_column([row.cells[number] for row in table.rows], *each))
        for number, each in enumerate(zip(heads, units, strict=True))
    ]
    return _Laid(
        paired=any(head.published for head in heads),
        dense=sum(2 if head.published else 1 for head in heads) >= DENSE,
        heads=tuple(heads),
        rows=tuple(
            (text.label(row.label), tuple(part for column in columns for part in column[number]))
            for number, row in enumerate(table.rows)
        ),
    )


LONG = 24
"""Minimum length, in characters, of a cell's text that is shown in several lines."""
DENSE = 8
"""Minimum number of columns of a table in a smaller type."""
PADDED = 2
"""Maximum decimals to which published values are padded: 0.30 above 0.27, but not 1400.0000."""


def _decimals(value: float | None) -> int:
    return 0 if value is None else len(f"{value:.6f}".rstrip("0").partition(".")[2])


def _column(
    cells: Sequence[TableCell | str], head: _Head, unit: str | None
) -> Iterable[tuple[tuple[str, str], ...]]:
    """Yield the parts of each cell of a column.

    They are this project's value, and the published value if there is one in the column.
    """
    ours = iter(text.column([cell.ours for cell in cells if isinstance(cell, TableCell)]))
    for cell in cells:
        if isinstance(cell, str):
            kind = "text long" if len(cell) > LONG else "text"
            yield ((cell, kind), ("", "paper")) if head.published else ((cell, kind),)
            continue
        behind = f" {cell.unit}" if unit is None and cell.unit else ""
        first = (next(ours) + (behind if cell.ours else ""), "")
        yield (
            (first, (_published(cell.published, head.decimals, behind), "paper"))
            if head.published
            else (first,)
        )


def _published(value: float | None, decimals: int, behind: str) -> str:
    if value is None:
        return text.NOTHING
    return (text.plain(value, decimals) if decimals <= PADDED else text.short(value)) + behind


def _facts(source: ReportProvenance) -> Iterable[tuple[str, str]]:
    yield "Made by", f"tcpsf {source.version}"
    yield "To repeat it", f"`{source.command}`"
    if source.jobs:
        yield "Scale", f"{source.scale}: {source.size}"
        yield "Seeds", _seeds(source.seeds)
        yield source.kind.capitalize(), text.count(source.jobs, "run") + " in all"
    else:
        yield "Scale", source.scale
    if source.started is not None:
        yield "Started", source.started
    if source.seconds is not None:
        yield "Took", _took(source.seconds)


def _seeds(seeds: Sequence[int]) -> str:
    """Text of random seeds.

    >>> _seeds((3,)), _seeds((1, 2, 3)), _seeds((1, 5))
    ('3', '1 to 3', '1, 5')
    """
    if len(seeds) > 1 and list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def _took(seconds: float) -> str:
    """Text of a duration.

    >>> _took(3.21), _took(754.4)
    ('3.2 s', '12 min 34 s')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def _sentence(sentence: str) -> str:
    """Words as a sentence.

    >>> _sentence("ours"), _sentence("Table I")
    ('Ours.', 'Table I.')
    """
    return f"{sentence[:1].upper()}{sentence[1:]}."


def _plain_json(data: Mapping[str, Any]) -> str:
    """Data as JSON, for a part of the page in which quotes need no escaping."""
    return escape(json.dumps(data, indent=2, ensure_ascii=False), quote=False)
