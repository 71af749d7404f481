"""The checklist of a release: ``python tools/release.py FOLDER [--root FOLDER …] [--skip NAME,…]``.

FOLDER is that of `make dist`. Each row of the printed table is a check, and the exit status is 0 if
all of them hold. Root file systems are made by mmdebstrap, as root, or given by `--root`: Debian
stable and the release after it, with Python and without a compiler or Rust. Programs in them
have a network namespace of their own. The wheel for aarch64 is installed in a third one, whose
programs QEMU executes. Only pip, pipx and uv need package registries.
"""

# ruff: noqa: T201 (the program prints its findings)

from __future__ import annotations

import argparse
import json
import re
import sys
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from zipfile import ZipFile

from release_programs import ROOT, CheckError, NotRunError, Release, environment, output, tool
from release_system import EmulatedSystem, RootSystem

PLAYGROUND = "tcpsf/explore/playground.html"
"""The page of `tcpsf explore` in a wheel."""

DISTRIBUTIONS = ("bookworm", "trixie")
"""Releases of Debian: the one of most users, and one with a newer Python and C library."""


def main() -> int:
    """Run all checks, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--root", type=Path, action="append", default=[])
    parser.add_argument("--skip", default="")
    given = parser.parse_args()
    release = Release(folder=given.folder.resolve(), version=version())
    with tempfile.TemporaryDirectory(prefix="tcpsf-release-") as name:
        rows = list(run_all(release, Path(name), given.root, set(given.skip.split(","))))
    width = max(len(check) for check, _, _ in rows)
    print(f"\nRelease {release.version}\n")
    for check, verdict, text in rows:
        print(f"{check:{width}}  {verdict:8}  {text}")
    failed = sum(verdict == "FAILED" for _, verdict, _ in rows)
    left = sum(verdict == "not run" for _, verdict, _ in rows)
    print(f"\n{len(rows) - failed - left} checks hold, {failed} failed, {left} not run")
    return int(failed > 0 or left == len(rows))


def run_all(
    release: Release, work: Path, roots: list[Path], skipped: set[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield name, verdict and text of each check, in order."""
    checks: list[tuple[str, Callable[[], str]]] = [
        ("version", lambda: check_version(release)),
        ("changelog", lambda: check_changelog(release)),
        ("tree", check_tree),
        ("checksums", lambda: check_sums(release)),
        ("bill", lambda: check_bill(release)),
        ("playground", lambda: check_playground(release)),
        ("manuals", lambda: check_manuals(release, work)),
        ("pipx", lambda: check_pipx(release, work)),
        ("uv", lambda: check_uv(release, work)),
        ("sdist", lambda: check_sdist(release, work)),
    ]
    for number, distribution in enumerate(DISTRIBUTIONS):
        given = roots[number] if number < len(roots) else None
        system = RootSystem(distribution, given, release, work)
        checks += [
            (f"{distribution}: {step.__name__}", step)
            for step in (system.install, system.demo, system.live, system.readme)
        ]
    other = EmulatedSystem(DISTRIBUTIONS[0], None, release, work)
    checks += [
        (f"{other.processor}: {step.__name__}", step)
        for step in (other.install, other.same_results)
    ]
    for name, check in checks:
        began = time.monotonic()
        if name in skipped or name.split(":")[0] in skipped:
            verdict, text = "not run", "by --skip"
        else:
            verdict, text = _judge(check)
        print(f"== {name}: {verdict}, {time.monotonic() - began:.0f} s: {text}", flush=True)
        yield name, verdict, text


def _judge(check: Callable[[], str]) -> tuple[str, str]:
    """Run a check and return its verdict and text."""
    try:
        return "holds", check()
    except NotRunError as reason:
        return "not run", str(reason)
    except CheckError as reason:
        return "FAILED", str(reason)


def version() -> str:
    """Return the version of the workspace."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    return str(manifest["workspace"]["package"]["version"])


def check_version(release: Release) -> str:
    """Compare the version of the workspace with those of the published files and the man pages."""
    names = [each.name for each in release.folder.iterdir() if each.name.startswith("tcpsf-")]
    other = [name for name in names if not name.startswith(f"tcpsf-{release.version}")]
    if other or not names:
        raise CheckError(f"Cargo.toml has {release.version}; files: {', '.join(other) or 'none'}")
    manual = ROOT / "python" / "tcpsf.data" / "data" / "share" / "man" / "man1" / "tcpsf.1"
    if f'"tcpsf {release.version}"' not in manual.read_text(encoding="utf-8"):
        raise CheckError("the man pages have another version; hint: make docs")
    return f"{len(names)} files of version {release.version}"


def check_changelog(release: Release) -> str:
    """Look for the section of the version, and for an empty list of unreleased changes."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(rf"^## \[{re.escape(release.version)}\] - \d{{4}}-\d\d-\d\d$", text, re.M)
    if section is None:
        raise CheckError(f"CHANGELOG.md has no section `## [{release.version}] - DATE`")
    before = text[: section.start()].partition("## [Unreleased]")[2].strip()
    if before:
        raise CheckError(
            f"CHANGELOG.md has unreleased changes above the section of {release.version}"
        )
    return section[0].removeprefix("## ")


def check_tree() -> str:
    """Check that git has every file as it is."""
    changed = output("git", "status", "--porcelain").splitlines()
    if changed:
        raise CheckError(
            f"{len(changed)} files are changed or unknown to git, such as `{changed[0]}`"
        )
    return f"clean, at {output('git', 'rev-parse', '--short', 'HEAD').strip()}"


def check_sums(release: Release) -> str:
    """Check the checksums, and that they cover every file."""
    sums = release.folder / "SHA256SUMS"
    if not sums.exists():
        raise CheckError(f"no file {sums}; hint: make dist")
    listed = {line.split("  ", 1)[1] for line in sums.read_text(encoding="utf-8").splitlines()}
    there = {each.name for each in release.folder.iterdir()} - {sums.name}
    if listed != there:
        raise CheckError(f"checksums and files differ: {', '.join(sorted(listed ^ there))}")
    output("sha256sum", "--check", "--strict", "--quiet", sums.name, cwd=release.folder)
    return f"{len(listed)} files"


def check_bill(release: Release) -> str:
    """Check that the bill of materials is complete and names no folder of this machine."""
    (file,) = release.folder.glob("*.cdx.json")
    text = file.read_text(encoding="utf-8")
    parts = {each["name"] for each in json.loads(text)["components"]}
    if missing := {"tcp", "policy", "pyo3", "numpy", "polars", "click"} - parts:
        raise CheckError(f"the bill of materials lacks {', '.join(sorted(missing))}")
    if str(ROOT) in text:
        raise CheckError("the bill of materials has paths of this machine")
    return f"{len(parts)} components"


def check_playground(release: Release) -> str:
    """Check that each wheel and the site have the playground, which `make web` builds."""
    files = sorted(release.folder.glob("*.whl"))
    lacking = [each.name for each in files if PLAYGROUND not in ZipFile(each).namelist()]
    (site,) = release.folder.glob("*-site.tar.gz")
    with tarfile.open(site) as archive:
        if not any(name.endswith("/play/index.html") for name in archive.getnames()):
            lacking.append(site.name)
    if lacking:
        raise CheckError(f"no playground in {', '.join(lacking)}; hint: make web, then make dist")
    return f"in {len(files)} wheels and the site"


def check_manuals(release: Release, work: Path) -> str:
    """Check the man pages of the wheel with mandoc."""
    mandoc = tool("mandoc")
    folder = work / "manuals"
    output(sys.executable, "-m", "zipfile", "-e", str(release.wheel()), str(folder))
    pages = sorted(folder.glob("*.data/data/share/man/man1/*.1"))
    if not pages:
        raise CheckError("the wheel has no man pages")
    # A page has no date, so that it depends only on the commands.
    found = output(mandoc, "-Tlint", "-Wwarning", *map(str, pages), check=False).splitlines()
    faults = [line for line in found if "missing date" not in line]
    if faults:
        raise CheckError(f"{len(faults)} warnings of mandoc, such as {faults[0]}")
    return f"{len(pages)} pages"


def check_pipx(release: Release, work: Path) -> str:
    """Install the wheel with pipx, and call the command and its completion."""
    python = environment(work / "pipx-program", "pipx")
    home = work / "pipx"
    variables = {
        "PIPX_HOME": str(home),
        "PIPX_BIN_DIR": str(home / "bin"),
        "PIPX_MAN_DIR": str(home / "man"),
    }
    output(python, "-m", "pipx", "install", "--quiet", str(release.wheel()), extra=variables)
    if not (home / "man" / "man1" / "tcpsf-sim.1").exists():
        raise CheckError("pipx links no man page")
    return works(home / "bin" / "tcpsf", release)


def check_uv(release: Release, work: Path) -> str:
    """Install the wheel with `uv tool`, and call the command and its completion."""
    python = environment(work / "uv-program", "uv")
    home = work / "uv"
    variables = {
        "UV_TOOL_DIR": str(home),
        "UV_TOOL_BIN_DIR": str(home / "bin"),
        "UV_CACHE_DIR": str(work / "uv-cache"),
    }
    chosen = ("--python", sys.executable, str(release.wheel()))
    output(python, "-m", "uv", "tool", "install", "--quiet", *chosen, extra=variables)
    return works(home / "bin" / "tcpsf", release)


def works(command: Path, release: Release) -> str:
    """Check the version of an installed command, and a completion by bash."""
    if output(str(command), "--version").strip() != f"tcpsf {release.version}":
        raise CheckError(f"`{command} --version` is not {release.version}")
    words = {"COMP_WORDS": "tcpsf si", "COMP_CWORD": "1", "_TCPSF_COMPLETE": "bash_complete"}
    if output(str(command), extra=words).strip() != "plain,sim":
        raise CheckError("the shell completes `tcpsf si` to nothing")
    return "installed, with completion"


def check_sdist(release: Release, work: Path) -> str:
    """Build a wheel from the source distribution alone."""
    archives = sorted(release.folder.glob("*.tar.gz"))
    (source,) = [each for each in archives if not each.name.endswith("-site.tar.gz")]
    folder = work / "from-source"
    python = environment(work / "builder")
    output(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), str(source))
    (built,) = folder.glob("*.whl")
    return built.name


if __name__ == "__main__":
    sys.exit(main())
