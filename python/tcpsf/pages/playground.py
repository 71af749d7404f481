"""The playground: one HTML page with the WebAssembly module of `crates/web`, its style and scripts.

``python -m tcpsf.pages.playground MODULE FILE`` writes the page; `make web` calls it.
"""

from __future__ import annotations

import base64
import json
import lzma
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup

from tcpsf.captures.capture_summary import CAUSES
from tcpsf.chart.page import environment
from tcpsf.papers.smart_framing import CLASS_BYTES

PACKED: Sequence[Mapping[str, int]] = [
    {"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0, "nice_len": 273}
]
"""Settings of the compressor. Instructions have no alignment, so positions do not matter (`pb`)."""

COMMENT = re.compile(r"^ *(?://[^\n]*|/\*\*.*?\*/)\n", re.MULTILINE | re.DOTALL)
"""A comment on lines of its own, in a script."""

PARTS = Path(__file__).parents[3] / "crates" / "web" / "page"
"""Folder with the template, the style and the scripts."""


def playground(module: bytes) -> str:
    """Return the page with the WebAssembly module ``module``."""
    made = environment("tcpsf.chart")
    own = jinja2.FunctionLoader(_part)
    made.loader = jinja2.ChoiceLoader([own, made.loader or _NOTHING])
    words = json.dumps({"causes": CAUSES, "classes": list(CLASS_BYTES)}, separators=(",", ":"))
    # LZMA makes the module a quarter smaller than DEFLATE. Base64 of it costs nothing with gzip.
    packed = lzma.compress(module, format=lzma.FORMAT_ALONE, filters=PACKED)
    return made.get_template("page.html").render(
        bytes=len(module),
        module=base64.b64encode(packed).decode("ascii"),
        words=Markup(words),  # noqa: S704  constants without `<`
        given="",
    )


_NOTHING = jinja2.DictLoader({})


def _part(name: str) -> str | None:
    """Return a part of the page, a script without its comments; ``None`` if there is none."""
    path = PARTS / name
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    return COMMENT.sub("", text) if path.suffix == ".js" else text


def main() -> None:
    """Write the page to the file that is given."""
    if len(sys.argv) != 3:
        sys.exit("usage: python -m tcpsf.pages.playground MODULE FILE")
    module, target = map(Path, sys.argv[1:])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(playground(module.read_bytes()), encoding="utf-8")


if __name__ == "__main__":
    main()
