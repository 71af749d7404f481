"""The HTML page of Table I: one file that needs nothing else, in the reader's light or dark, and on paper."""

from __future__ import annotations

from tcpsf.papers import smart_framing as paper
from tcpsf.report import chart, table_1, text
from tcpsf.reproduce.table_1 import Table1


def as_html(result: Table1) -> str:
    """Render the page."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tcpsf.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["estimate"] = text.estimate
    environment.filters["number"] = text.number
    return environment.get_template("table_1.html").render(
        result=result,
        heading=table_1.heading(result).splitlines(),
        variants=paper.VARIANTS,
        rows=list(zip(range(1, len(paper.CLASS_BYTES) + 1), paper.CLASS_BYTES, result.classes, strict=True)),
        chart=_chart(result),
        keys=[
            (
                variant,
                chart.legend_marker(number, variant.key, hollow=False),
                chart.legend_marker(number, variant.key, hollow=True),
            )
            for number, variant in enumerate(paper.VARIANTS)
        ],
        citation=paper.CITATION,
        readings=paper.READINGS,
        differences=paper.DIFFERENCES,
        share=table_1.seen,
        time=lambda cell: cell.completion_s,
        scenario=result.provenance[paper.CLASSIC.key].scenario.to_toml(),
    )


def _chart(result: Table1) -> str:
    series = [
        chart.Series(
            key=variant.key,
            label=variant.label,
            ours=tuple(row[variant.key].completion_s for row in result.classes),
            published=tuple(cell.completion_s for cell in variant.published),
        )
        for variant in paper.VARIANTS
    ]
    return chart.by_class(
        series,
        [str(size) for size in paper.CLASS_BYTES],
        axis="completion time, seconds",
        title="Mean completion time by flow size, for three senders, ours and the paper's",
    )
