"""The page of `tcpsf advise --report`: the answer, percentiles by remedy, and the assumptions."""

from __future__ import annotations

from collections.abc import Iterator

from tcpsf import __version__, text
from tcpsf.advice import Advice
from tcpsf.advice.advice_result import assumptions, legend, paragraph, table_rows
from tcpsf.advice.replay import PERCENTILES
from tcpsf.chart import Axis, Plot, plot
from tcpsf.run_report.page_sections import PageSection, page_of_sections


def advice_page(found: Advice) -> str:
    """Return the page, which needs no other file and no network."""
    table = text.TitledTable("Remedies", table_rows(found), (0, 9))
    reasons = [
        f"`{each.remedy.name}` {each.verdict}: {each.reason}."
        for each in found.results
        if each.verdict is not None
    ]
    sections = [
        PageSection(
            key="remedies",
            title="Remedies",
            text=list(paragraph(found)),
            tables=[table],
            plots=[_percentiles(found)],
            notes=list(legend(found)),
        ),
        PageSection(key="verdicts", title="Verdicts", text=reasons),
        PageSection(key="assumptions", title="Assumptions", text=list(assumptions(found))),
    ]
    about = f"{found.name}. Made by tcpsf {__version__}."
    return page_of_sections(sections, title="tcpsf advise", text=[about])


def _percentiles(found: Advice) -> Plot:
    return plot(
        list(_rows(found)),
        x_axis=Axis(label="remedy", scale="category"),
        y_axis=Axis(label="completion time", unit="ms", scale="log"),
        style="point",
        title="Completion time by remedy",
        caption="Time until the receiver has all data. Intervals contain those of all loss laws.",
        interval="95 % intervals over all loss laws",
        key="percentiles",
    )


def _rows(found: Advice) -> Iterator[dict[str, float | str | None]]:
    for measure in PERCENTILES:
        for each in found.results:
            entry = each.measures[measure.key]
            if entry.value is None:
                continue
            low, high = entry.over_laws or (None, None)
            yield {
                "x": each.remedy.name,
                "y": 1e3 * entry.value.value,
                "low": None if low is None else 1e3 * low,
                "high": None if high is None else 1e3 * high,
                "series": measure.title,
            }
