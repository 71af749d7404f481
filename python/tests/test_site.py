"""The check of the documentation site: links, anchors, and files of other hosts."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from conftest import REPOSITORY


@pytest.fixture(scope="module")
def site() -> ModuleType:
    """The program ``tools/site.py``; its name is also that of a module of Python."""
    spec = importlib.util.spec_from_file_location("tcpsf_site", REPOSITORY / "tools" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(folder: Path, **pages: str) -> Path:
    for name, text in pages.items():
        path = folder / name.replace("__", "/").replace("_html", ".html").replace("_css", ".css")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_good_links(site: ModuleType, tmp_path: Path) -> None:
    write(
        tmp_path,
        index_html='<h1 id="a b">x</h1><a href="#a%20b">1</a><a href="sub/">2</a><a href="#">3</a>'
        '<a href="https://example.org/">4</a><img src="data:image/png;base64,AA==">'
        '<a href="sub/index.html?q=1#here">5</a><a href="mailto:x@example.org">6</a>',
        sub__index_html='<a name="here"></a><link rel="stylesheet" href="../a.css">',
        a_css="p { background: url(data:image/png;base64,AA==); color: url(#x) }",
    )
    assert site.check(tmp_path) == (2, 8, [])


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ('<a href="none.html">x</a>', "no file `none.html`"),
        ('<a href="../../outside.html">x</a>', "no file `../../outside.html`"),
        ('<a href="#none">x</a>', "no anchor `#none`"),
        ('<img src="none.png">', "no file `none.png`"),
        ('<img src="https://example.org/a.png">', "loads from another host"),
        ('<script src="//example.org/a.js"></script>', "loads from another host"),
        ('<link rel="stylesheet" href="http://example.org/a.css">', "loads from another host"),
        ('<iframe src="https://example.org/"></iframe>', "loads from another host"),
    ],
)
def test_faults(site: ModuleType, tmp_path: Path, page: str, fault: str) -> None:
    _, links, faults = site.check(write(tmp_path / "site", index_html=page))
    assert links == 1
    assert len(faults) == 1
    assert faults[0].startswith("index.html: ")
    assert fault in faults[0]


@pytest.mark.parametrize(
    "rule",
    [
        "@import url(https://example.org/a.css);",
        '@import "//example.org/a.css";',
        "p { src: url('http://example.org/a.woff2') }",
    ],
)
def test_style_sheets(site: ModuleType, tmp_path: Path, rule: str) -> None:
    write(tmp_path, index_html='<a href="#">x</a>', a_css=rule)
    assert site.check(tmp_path)[2] == ["a.css: loads from another host"]


def test_every_lesson_has_a_place_for_the_playground() -> None:
    lessons = sorted((REPOSITORY / "docs" / "lessons").glob("*.md"))
    assert len(lessons) == 3
    examples = REPOSITORY / "python" / "tcpsf" / "examples"
    for lesson in lessons:
        text = lesson.read_text(encoding="utf-8")
        name = text.split("<!-- playground: ")[1].split()[0]
        assert (examples / f"{name}.toml").exists(), lesson
