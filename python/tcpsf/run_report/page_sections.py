"""Pages of sections with tables, charts and drawings, which need no network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tcpsf.chart import Plot, marks, page
from tcpsf.run_report.playground_link import PlaygroundLink
from tcpsf.text import TitledTable


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSection:
    """A section of a page. Text between backticks becomes code."""

    key: str
    """Name for links; different for each section of a page."""
    title: str
    text: Sequence[str] = ()
    """Paragraphs in front of the tables."""
    tables: Sequence[TitledTable] = ()
    plots: Sequence[Plot] = ()
    drawings: Sequence[str] = ()
    """SVG documents."""
    playground: PlaygroundLink | None = None
    """The drawn flow in the playground."""
    notes: Sequence[str] = ()
    """Remarks at the end."""


def page_of_sections(
    sections: Sequence[PageSection], *, title: str, text: Sequence[str] = ()
) -> str:
    """Return a page, which needs no other file and no network.

    A series' key looks the same in each chart.
    """
    plots = [plot for section in sections for plot in section.plots]
    known = marks.palette(panel for plot in plots for panel in plot.panels)
    template = page.environment("tcpsf.run_report").get_template("sections.html")
    return template.render(title=title, text=text, sections=sections, known=known)
