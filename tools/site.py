"""Build the documentation site, and check every link of the result.

Usage: ``python tools/site.py build FOLDER [--reports FOLDER]``, ``check FOLDER`` or ``requirements``.
`build` needs cargo and the packages that `requirements` prints. It needs no network.
"""

# ruff: noqa: S603, T201 (the program runs others, and prints its findings)

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]

CRATES = ("tcp", "policy", "link", "wire", "capture", "units")
"""Crates with pages. The public types of the others use those of `units`."""

MODULES = (
    "tcpsf",
    "tcpsf.aio",
    "tcpsf.captures",
    "tcpsf.chart",
    "tcpsf.models",
    "tcpsf.papers",
    "tcpsf.scenario",
    "tcpsf.stats",
    "tcpsf.python_models",
    "!tcpsf._core",
    "!tcpsf.cli",
    "!tcpsf.pages",
    "!tcpsf.reproduce",
    "!tcpsf.report",
)
"""Python modules with pages; those with an exclamation mark have none."""

INDEX = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Crates of tcpsf</title>
<style>:root {{ color-scheme: light dark; font-family: system-ui, sans-serif }} body {{ margin: 2rem }}</style>
<h1>Crates of tcpsf</h1><ul>{items}</ul><p><a href="../../index.html">Documentation of tcpsf</a></p></html>
"""
"""Page of the crates, which rustdoc makes only with an unstable option."""

UNRESOLVED = "ignore:Error parsing type annotation"
"""Annotations with names that are imported only for type checkers are shown as they are written."""

REMOTE = re.compile(r"""(url\(|@import)\s*["']?(https?:)?//""")
"""Something in a style sheet that a browser loads from another host."""

LINES = re.compile(r"\d+-\d+")
"""Range of lines of a source file. The script of rustdoc implements these anchors."""

SETTINGS = re.compile(r"\w+=")
"""Settings of the playground in an address, which its script reads."""

LOADED = {
    "img": "src",
    "script": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "object": "data",
    "embed": "src",
}
"""Attribute of each element that makes a browser load something. `link` elements do also."""


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    build_command = commands.add_parser("build")
    build_command.add_argument("folder", type=Path)
    build_command.add_argument("--reports", type=Path)
    commands.add_parser("check").add_argument("folder", type=Path)
    commands.add_parser("requirements")
    given = parser.parse_args()
    if given.command == "requirements":
        print(*requirements(), sep="\n")
        return 0
    if given.command == "build":
        build(given.folder, given.reports)
    pages, links, faults = check(given.folder)
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{links} links and loaded files in {pages} pages, {len(faults)} faults")
    return int(bool(faults) or not links)


def requirements() -> list[str]:
    """Return the packages of the extra `docs`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return list(project["optional-dependencies"]["docs"])


def build(folder: Path, reports: Path | None) -> None:
    """Build the site in place of an earlier one."""
    work = folder.with_name(f"{folder.name}-work")
    for old in (folder, work):
        shutil.rmtree(old, ignore_errors=True)
    folder.mkdir(parents=True)
    extras: dict[str, object] = {}
    if (playground := ROOT / "out" / "web").joinpath("index.html").exists():
        shutil.copytree(playground, folder / "play")
        extras["play"] = True
    # A report links to the playground, if it is there.
    extras["reports"] = _reports(folder / "reports", reports)
    _pages(folder, work, extras)
    _python(folder / "api" / "python")
    _rust(folder / "api" / "rust")
    shutil.rmtree(work)


def _reports(folder: Path, given: Path | None) -> dict[str, str]:
    """Make the reports that take little time, and copy those of `reproduce all`."""
    tcpsf = [sys.executable, "-m", "tcpsf", "-q"]
    _run([*tcpsf, "model", "report", "--out", str(folder / "models")])
    _run([*tcpsf, "demo", "--out", str(folder / "demo")])
    scenario = ROOT / "python" / "tcpsf" / "examples" / "lossy-access.toml"
    (folder / "run").mkdir()
    _run([*tcpsf, "sim", str(scenario), "--report", str(folder / "run" / "run.html")])
    found = {
        "reports/run/run.html": "A run of a scenario: an access link that loses packets",
        "reports/models/model.html": "The closed models of five papers",
        "reports/demo/demo.html": "One lost segment, and Table I, simulated and published",
    }
    if given is not None:
        shutil.copytree(given, folder / "papers", ignore=shutil.ignore_patterns(".*", "*.parquet"))
        found["reports/papers/index.html"] = "All reports of the papers"
    return found


def _pages(folder: Path, work: Path, extras: dict[str, object]) -> None:
    """Run Sphinx over a copy of the files that git knows, so that it reads nothing else."""
    source = work / "source"
    source.mkdir(parents=True)
    listed = subprocess.run(
        [
            shutil.which("git") or "git",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name, follow_symlinks=False)
    sphinx = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", str(ROOT / "site")]
    environment = {**os.environ, "TCPSF_SITE_EXTRAS": json.dumps(extras)}
    _run([*sphinx, "-d", str(work / "doctrees"), str(source), str(folder)], environment)
    for leftover in (".buildinfo", "objects.inv"):
        (folder / leftover).unlink(missing_ok=True)


def _python(folder: Path) -> None:
    _run(
        [
            *(sys.executable, "-W", "error", "-W", UNRESOLVED, "-m", "pdoc"),
            *("--docformat", "markdown", "--no-show-source"),
            *("--template-directory", str(ROOT / "site" / "pdoc"), "-o", str(folder), *MODULES),
        ]
    )


def _rust(folder: Path) -> None:
    """Run rustdoc, with its lints as errors."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
    shutil.rmtree(target / "doc", ignore_errors=True)
    environment = {**os.environ, "RUSTDOCFLAGS": "-D warnings"}
    chosen = [word for crate in CRATES for word in ("-p", crate)]
    _run(["cargo", "doc", "--quiet", "--locked", "--no-deps", *chosen], environment)
    shutil.copytree(target / "doc", folder, ignore=shutil.ignore_patterns(".*"))
    items = "".join(f'<li><a href="{crate}/index.html">{crate}</a></li>' for crate in CRATES)
    (folder / "index.html").write_text(INDEX.format(items=items), encoding="utf-8")


def _run(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False)
    if done.returncode:
        sys.exit(f"error: `{' '.join(command[:4])} …` failed with exit status {done.returncode}")


class _Page(HTMLParser):
    """Anchors of a page, its links, and the files that a browser loads for it."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.redirects = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what an element defines, links to or loads."""
        given = {name: value or "" for name, value in attrs}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        if given.get("http-equiv") == "refresh":
            self.redirects = True
        elif tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in (
            "next",
            "prev",
            "index",
            "search",
            "canonical",
        ):
            self.loaded.append(given.get("href", ""))
        elif LOADED.get(tag, "") in given:
            self.loaded.append(given[LOADED[tag]])


def check(folder: Path) -> tuple[int, int, list[str]]:
    """Return the number of pages and of links, and what is wrong with them.

    A link leads to a file of the site and to an anchor that its page has. Other hosts may be linked
    to, but nothing is loaded from them, by pages or style sheets.
    """
    pages = {path: _parsed(path) for path in sorted(folder.rglob("*.html"))}
    links, faults = 0, []
    for path, page in pages.items():
        for target in (*page.links, *page.loaded):
            links += 1
            if (fault := _fault(target, path, pages, loaded=target in page.loaded)) is not None:
                faults.append(f"{path.relative_to(folder)}: {fault} `{target}`")
    faults += [
        f"{sheet.relative_to(folder)}: loads from another host"
        for sheet in sorted(folder.rglob("*.css"))
        if REMOTE.search(sheet.read_text(encoding="utf-8"))
    ]
    return len(pages), links, faults


def _parsed(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _fault(target: str, path: Path, pages: dict[Path, _Page], *, loaded: bool) -> str | None:
    parts = urlsplit(target)
    if parts.scheme == "data":
        return None
    if parts.scheme or parts.netloc:
        return "loads from another host" if loaded else None
    file = path
    if parts.path:
        file = Path(os.path.normpath(path.parent / unquote(parts.path)))
    if file.is_dir():
        file /= "index.html"
    if not file.exists():
        # rustdoc names this list also for a trait that no other crate implements, and writes none.
        return None if "/trait.impl/" in target else "no file"
    if file not in pages or pages[file].redirects or LINES.fullmatch(parts.fragment):
        return None
    if SETTINGS.match(parts.fragment):
        return None
    found = {parts.fragment, unquote(parts.fragment)} & (pages[file].anchors | {"", "top"})
    return None if found else "no anchor"


if __name__ == "__main__":
    sys.exit(main())
