"""Comments, docstrings and pages follow "Language" in CONTRIBUTING.md, as far as a program can check."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

RUST = ("benches/peers/src", "crates", "fuzz/fuzz_targets")
"""Folders of Rust sources that follow the rules."""

PYTHON = ("python/tcpsf", "tools", "verification", "benches", "crates/py")
"""Folders of Python sources that follow the rules."""

PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "benches", "docs", "verification")
"""Pages, and folders of pages, without the words of `WORDS` outside of code, quotations and tables."""

LONGEST_LINE = 100
LONGEST_SENTENCE = 40
"""Words. The rule is about 25; a program that counts words of a list or a formula has to be more lenient."""

OPENINGS = re.compile(
    r"(What|Which|Whose|Who|As there|So many|The same\b|That one|Those\b|Not one)\b"
)
"""A comment that begins so does not name its subject."""

WORDS = re.compile(
    r"\b(whoever|whichever|at hand|by turns|takes its turn|is told|are told|goes on|"
    r"looks again|so many|so long as it|who asks|of its own accord|acknowledgements?|"
    r"for want of|makes of it|nobody|somebody|patience)\b",
    re.IGNORECASE,
)
"""Words for which the glossary has a term of the field."""


def rust_comments(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Each comment of a file: its first line, its text, and whether it is documentation."""
    first, text, doc = 0, list[str](), False
    for number, line in enumerate([*path.read_text(encoding="utf-8").splitlines(), ""], 1):
        found = re.match(r"\s*(///|//!|//)( |$)(.*)", line)
        if found and text and (found[1] != "//") == doc:
            text.append(found[3])
            continue
        if text:
            yield first, "\n".join(text), doc
        first, text, doc = number, [found[3]] if found else [], bool(found and found[1] != "//")


def python_comments(path: Path) -> Iterator[tuple[int, str, bool]]:
    """The same for Python: docstrings of modules, classes, functions and attributes."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for statement in (
            getattr(node, "body", ()) if not isinstance(node, ast.Lambda | ast.IfExp) else ()
        ):
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield statement.lineno, text, True


def sentences(text: str) -> Iterator[str]:
    """The sentences of a comment, without code blocks, tables and lists."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    kept = [line for line in prose.split("\n") if not re.match(r"\s*([|*>#-]|\d+\.)", line)]
    for paragraph in re.split(r"\n\s*\n", "\n".join(kept)):
        yield from re.split(r"(?<=[.:;?])\s+(?=[A-Z`])", paragraph.replace("\n", " ").strip())


def faults(path: Path, comments: Iterator[tuple[int, str, bool]]) -> Iterator[str]:
    """What a file's comments have against the rules, a line each."""
    where = path.relative_to(REPOSITORY)
    for number, text, doc in comments:
        if doc and OPENINGS.match(text.strip()):
            yield f"{where}:{number}: begins with {text.strip().split()[0]!r}: {text.strip()[:60]}"
        for word in WORDS.findall(text):
            yield f"{where}:{number}: {word!r}"
        for sentence in sentences(text):
            if len(sentence.split()) > LONGEST_SENTENCE:
                yield f"{where}:{number}: {len(sentence.split())} words: {sentence[:60]}"
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if len(line) > LONGEST_LINE and re.match(r"\s*(//|#|\"\"\")", line):
            yield f"{where}:{number}: {len(line)} columns"


def page_faults(path: Path) -> Iterator[str]:
    """The words of `WORDS` in the prose of a Markdown page, a line each."""
    page = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.DOTALL)
    kept = [line for line in page.split("\n") if not line.startswith(("|", "    "))]
    prose = re.sub(r"`[^`]*`|\"[^\"]{,80}\"", "", " ".join("\n".join(kept).split()))
    for word in WORDS.findall(prose):
        yield f"{path.relative_to(REPOSITORY)}: {word!r}"


def files(folders: tuple[str, ...], suffix: str) -> list[Path]:
    """The sources below folders, which may be files themselves."""
    paths = [REPOSITORY / folder for folder in folders]
    return [
        file
        for path in paths
        for file in ([path] if path.is_file() else sorted(path.rglob(f"*{suffix}")))
    ]


def test_rust_comments_follow_the_rules() -> None:
    paths = files(RUST, ".rs")
    assert paths
    assert not [fault for path in paths for fault in faults(path, rust_comments(path))]


def test_docstrings_follow_the_rules() -> None:
    paths = files(PYTHON, ".py")
    assert paths
    assert not [fault for path in paths for fault in faults(path, python_comments(path))]


def test_pages_follow_the_rules() -> None:
    paths = list(files(PAGES, ".md"))
    assert paths
    assert not [fault for path in paths for fault in page_faults(path)]


def test_the_rules_find_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.REPOSITORY", tmp_path)
    bad = tmp_path / "bad.rs"
    bad.write_text(
        "/// What arrived, which whoever asks is told.\n" + "// " + "x" * 100 + "\n/// Fine.\n",
        encoding="utf-8",
    )
    found = list(faults(bad, rust_comments(bad)))
    assert [fault.split(": ", 1)[1] for fault in found] == [
        "begins with 'What': What arrived, which whoever asks is told.",
        "'whoever'",
        "'is told'",
        "103 columns",
    ]


def test_the_rules_find_faults_of_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.REPOSITORY", tmp_path)
    bad = tmp_path / "bad.md"
    bad.write_text(
        "# Acknowledgements\n\nThe run goes\non, for want of `patience`.\n\n"
        '```\nwhoever\n```\n\n    whichever\n\n| so many |\n\nNot "at hand".\n',
        encoding="utf-8",
    )
    assert list(page_faults(bad)) == [
        "bad.md: 'Acknowledgements'",
        "bad.md: 'goes on'",
        "bad.md: 'for want of'",
    ]
