"""Settings of Sphinx for the documentation site, which ``make site`` builds.

The sources are the Markdown pages of the repository, through the folder that `tools/site.py` lays
out. The navigation has the lists of ``docs/README.md``.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx

from tcpsf.run_report.playground_link import packed
from tcpsf.scenario import Scenario, packaged

HERE = Path(__file__).resolve().parent

project = "tcpsf"
author = "the authors of tcpsf"
html_title = "tcpsf"
root_doc = "docs/README"
include_patterns = [
    "*.md",
    "docs/**",
    "benches/*.md",
    "crates/*/README.md",
    "scripts/*.md",
    "verification/ns2/*.md",
]
exclude_patterns = ["**.toml", "**.svg"]
extensions = ["myst_parser"]
source_suffix = {".md": "markdown", ".ipynb": "notebook"}
myst_heading_anchors = 6
myst_links_external_new_tab = False
nitpicky = True
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]

templates_path = [str(HERE / "templates")]
html_theme = "furo"
html_static_path = [str(HERE / "static"), str(HERE.parent / "docs" / "img" / "lost-segment.svg")]
html_css_files = ["site.css"]
html_additional_pages = {"index": "home.html"}
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_theme_options = {
    "footer_icons": [],
    "light_css_variables": {"font-stack": "system-ui, sans-serif"},
}

EXTRAS = json.loads(os.environ.get("TCPSF_SITE_EXTRAS", "{}"))
"""Parts beside the pages: `play` is whether there is a playground, `reports` has titles by address."""

html_context = {"play": EXTRAS.get("play", False)}

SECTION = re.compile(r"^\*\*(\w+)\*\*: .*?\n\n((?:[-] .*\n(?:  .*\n)*)+)", re.MULTILINE)
"""A heading of ``docs/README.md`` and its list."""

LINK = re.compile(r"\[([^\]]+)\]\(([^)]+\.(?:md|ipynb))(?:#[^)]*)?\)")

PLAYGROUND = re.compile(
    r"<!-- playground: ([\w-]+)((?: [\w.-]+=\S+)*) \|\s+([^>]*?) -->", re.DOTALL
)
"""Place in a lesson of the playground: an example scenario, values of its keys or the `view`, and a task."""


class NotebookParser(MystParser):
    """Parser of notebooks with their stored outputs, as Markdown. Nothing is executed."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Parse the cells of a notebook."""
        super().parse(
            "\n\n".join(_cell(cell) for cell in json.loads(inputstring)["cells"]), document
        )


def _cell(cell: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return source
    shown = [f"```python\n{source}\n```"]
    for output in cell["outputs"]:
        data = {kind: "".join(text) for kind, text in output.get("data", {}).items()}
        if drawing := data.get("image/svg+xml") or data.get("text/html"):
            one = re.sub(r"\n\s*\n", "\n", drawing)
            shown.append(f'<div class="output">\n{one}\n</div>')
        elif text := data.get("text/plain") or "".join(output.get("text", "")):
            shown.append(f"```text\n{text}\n```")
    return "\n\n".join(shown)


def _read(_app: Sphinx, name: str, source: list[str]) -> None:
    """Add navigation, playground and reports to the pages that have places for them."""
    if name == root_doc:
        source[0] += "\n\n" + "\n\n".join(_navigation(source[0]))
    base = "../" * name.count("/")
    if EXTRAS.get("play"):
        source[0] = PLAYGROUND.sub(lambda found: _playground(base, *found.groups()), source[0])
    if reports := EXTRAS.get("reports"):
        rows = [f'<li><a href="{base}{place}">{title}</a></li>' for place, title in reports.items()]
        text = (
            "## Reports\n\nReports with charts, made with this site:\n\n<ul>"
            + "".join(rows)
            + "</ul>"
        )
        source[0] = source[0].replace("<!-- reports -->", text)


def _playground(base: str, example: str, values: str, task: str) -> str:
    """Return the playground with an example scenario as HTML, and a task for it."""
    scenario = Scenario.from_toml(packaged.example(example))
    view = ""
    for key, _, value in (each.partition("=") for each in values.split()):
        if key == "view":
            view = f"&amp;view={value}"
        else:
            scenario = scenario.with_value(key, value)
    address = f"{base}play/index.html#scenario={packed(scenario)}{view}"
    return (
        f'{task}\n\n<iframe class="play" title="Playground" loading="lazy" src="{address}"></iframe>\n\n'
        f'<p><a href="{address}">The playground on a page of its own</a></p>'
    )


def _navigation(page: str) -> list[str]:
    """Return a table of contents for each list of the page."""
    found = []
    for heading, items in SECTION.findall(page):
        pages = [
            f"{title.replace('`', '')} <{posixpath.normpath(posixpath.join('/docs', target)).rsplit('.', 1)[0]}>"
            for title, target in LINK.findall(items)
            if "../" not in target or heading == "Project"
        ]
        if pages:
            found.append(
                f"```{{toctree}}\n:hidden:\n:caption: {heading}\n\n" + "\n".join(pages) + "\n```"
            )
    return found


def setup(app: Sphinx) -> None:
    """Register the parser and the changes of pages."""
    app.add_source_parser(NotebookParser)
    app.connect("source-read", _read)
