"""The playground: one HTML page with the WebAssembly module of `crates/web`, its style and scripts.

``python -m tcpsf.pages.playground MODULE FILE`` writes the page; `make web` calls it.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from pathlib import Path

import jinja2
from markupsafe import Markup

from tcpsf.captures.capture_summary import CAUSES
from tcpsf.chart.page import environment
from tcpsf.papers.smart_framing import CLASS_BYTES

PARTS = Path(__file__).parents[3] / "crates" / "web" / "page"
"""Folder with the template, the style and the scripts."""


def playground(module: bytes) -> str:
    """Return the page with the WebAssembly module ``module``."""
    made = environment("tcpsf.chart")
    made.loader = jinja2.ChoiceLoader([jinja2.FileSystemLoader(PARTS), made.loader or _NOTHING])
    words = json.dumps({"causes": CAUSES, "classes": list(CLASS_BYTES)}, separators=(",", ":"))
    return made.get_template("page.html").render(
        module=base64.b64encode(zlib.compress(module, 9)).decode("ascii"),
        words=Markup(words),  # noqa: S704  constants without `<`
        given="",
    )


_NOTHING = jinja2.DictLoader({})


def main() -> None:
    """Write the page to the file that is given."""
    if len(sys.argv) != 3:
        sys.exit("usage: python -m tcpsf.pages.playground MODULE FILE")
    module, target = map(Path, sys.argv[1:])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(playground(module.read_bytes()), encoding="utf-8")


if __name__ == "__main__":
    main()
