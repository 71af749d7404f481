"""HTML of charts: templates with their style and script, which need no network."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from tcpsf.chart import marks

if TYPE_CHECKING:
    import jinja2


def environment(*packages: str) -> jinja2.Environment:
    """Return the template environment of the pages, with the templates of other packages.

    The templates of charts are ``figure.html``, ``shapes.html``, ``chart.css`` and ``chart.js``.
    """
    import jinja2
    from markupsafe import Markup

    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader(package, "templates") for package in (*packages, "tcpsf.chart")]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["marked"] = lambda content: Markup(marked(content))  # noqa: S704  it escapes
    made.filters["drawn"] = Markup  # SVG of this package, which escapes its text
    made.globals["shapes"] = marks.SHAPES
    return made


def marked(content: str) -> str:
    """Text as HTML; text between backticks becomes code.

    >>> marked("`a < b` & c")
    '<code>a &lt; b</code> &amp; c'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(content))
