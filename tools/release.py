"""The checklist of a release: ``python tools/release.py FOLDER [--root FOLDER …] [--skip NAME,…]``.

FOLDER is that of `make dist`. Each row of the printed table is a check, and the exit status is 0 if
all of them hold. Root file systems are made by mmdebstrap, as root, or given by `--root`: Debian
stable and the release after it, with Python and without a compiler or Rust. Programs in them
have a network namespace of their own. Only pip, pipx and uv need package registries.
"""

# ruff: noqa: S603, T201 (the program runs others, and prints its findings)

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent

DISTRIBUTIONS = ("bookworm", "trixie")
"""Releases of Debian: the one of most users, and one with a newer Python and C library."""

DEMO_SECONDS = 20
"""Longest time of `tcpsf demo`, with which issue 26 defines an installation that is fast enough."""

COMMANDS = re.compile(r"^(?:\.venv/bin/)?(tcpsf [^#\n]+)", re.MULTILINE)
"""A command of the readme's shell blocks."""

PROGRAM = (HERE / "release_live.py").read_text(encoding="utf-8")
"""Program that uses `serve` and `link`, run in a root file system."""


NETWORK = 'ip link set lo up && ip address add 192.0.2.1/32 dev lo && exec "$@"'
"""Program of a shell that gives a network namespace an address, and runs a command in it."""


class CheckError(Exception):
    """A check that does not hold, with the reason."""


class NotRunError(Exception):
    """A check that cannot run here, with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The files to be published."""

    folder: Path
    version: str

    @property
    def wheel(self) -> Path:
        """Return the wheel for x86-64."""
        found = sorted(self.folder.glob(f"tcpsf-{self.version}-*manylinux*x86_64.whl"))
        if not found:
            raise CheckError(f"no manylinux wheel of version {self.version} in {self.folder}")
        return found[0]


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


def check_manuals(release: Release, work: Path) -> str:
    """Check the man pages of the wheel with mandoc."""
    mandoc = tool("mandoc")
    folder = work / "manuals"
    output(sys.executable, "-m", "zipfile", "-e", str(release.wheel), str(folder))
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
    output(python, "-m", "pipx", "install", "--quiet", str(release.wheel), extra=variables)
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
    chosen = ("--python", sys.executable, str(release.wheel))
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


class RootSystem:
    """A root file system with Python, in which the wheel is installed."""

    def __init__(self, distribution: str, given: Path | None, release: Release, work: Path) -> None:
        self.distribution = distribution
        self.release = release
        self.work = work
        self.path = given or work / distribution
        self.given = given is not None

    def install(self) -> str:
        """Make the root file system, and install the wheel without a network."""
        if os.geteuid() != 0:
            raise NotRunError("needs root")
        if not self.given:
            options = ("--variant=minbase", "--include=python3,python3-venv")
            output(tool("mmdebstrap"), *options, self.distribution, str(self.path))
        for program in ("cc", "gcc", "rustc", "cargo"):
            if shutil.which(program, path=f"{self.path}/usr/bin:{self.path}/usr/local/bin"):
                raise CheckError(f"the root file system has `{program}`")
        folder = self.path / "opt" / "release"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        number = self.inside("python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
        chosen = ("--only-binary", ":all:", "--python-version", number.strip())
        output(
            *(environment(self.work / "builder"), "-m", "pip", "download", "--quiet"),
            *(*chosen, "--dest", str(folder), str(self.release.wheel)),
        )
        shutil.copytree(ROOT / "python" / "tcpsf" / "examples", folder / "scenarios")
        (folder / "live.py").write_text(PROGRAM, encoding="utf-8")
        self.inside("python3", "-m", "venv", "--clear", "/opt/tcpsf")
        packages = ("--no-index", "--find-links", "/opt/release", "tcpsf")
        self.inside("/opt/tcpsf/bin/pip", "install", "--quiet", *packages)
        return f"Python {number.strip()}, no compiler"

    def demo(self) -> str:
        """Run the demo, and compare its time with `DEMO_SECONDS`."""
        self.needed()
        began, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        self.inside("/opt/tcpsf/bin/tcpsf", "-q", "demo", "--out", f"/opt/demo-{time.time_ns()}")
        seconds = time.monotonic() - began
        work = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - used.ru_utime
        text = f"{seconds:.1f} s, {work:.1f} s of processor time; at most {DEMO_SECONDS} s"
        if seconds > DEMO_SECONDS:
            raise CheckError(f"`tcpsf demo` took {text}")
        return text

    def live(self) -> str:
        """Fetch a file from `tcpsf serve`, and through `tcpsf link`, as root."""
        self.needed()
        return self.inside("/opt/tcpsf/bin/python", "/opt/release/live.py").strip()

    def readme(self) -> str:
        """Run the commands of the readme's shell blocks."""
        self.needed()
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
        commands = [each.strip() for each in COMMANDS.findall(blocks)]
        if len(commands) < 3:
            raise CheckError("the readme has fewer than three commands")
        folder = f"/opt/readme-{time.time_ns()}"
        self.inside("/bin/cp", "-r", "/opt/release", folder)
        for command in commands:
            self.inside("/bin/sh", "-c", f"cd {folder} && PATH=/opt/tcpsf/bin:$PATH {command}")
        return f"{len(commands)} commands"

    def needed(self) -> None:
        """Check that the wheel has been installed."""
        if not (self.path / "opt" / "tcpsf" / "bin" / "tcpsf").exists():
            raise NotRunError("nothing is installed")

    def inside(self, *command: str) -> str:
        """Run a command in the root file system and return its output."""
        with mounted(self.path):
            return output(
                *(tool("unshare"), "--net", "--mount", "--pid", "--fork", "--kill-child"),
                *("/bin/sh", "-c", NETWORK, "sh", tool("chroot"), str(self.path), *command),
                extra={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root"},
            )


@contextmanager
def mounted(root: Path) -> Iterator[None]:
    """Mount devices, processes and the state of the kernel in a root file system."""
    mounts = [("--rbind", "/dev"), ("--rbind", "/sys"), ("--rbind", "/proc")]
    for option, place in mounts:
        output(tool("mount"), option, "--make-rslave", place, f"{root}{place}")
    try:
        yield
    finally:
        for _, place in reversed(mounts):
            output(tool("umount"), "--recursive", "--lazy", f"{root}{place}", check=False)


def environment(folder: Path, *packages: str) -> str:
    """Return the interpreter of an environment with packages, which is made if it is not there."""
    python = folder / "bin" / "python"
    if not python.exists():
        output(sys.executable, "-m", "venv", str(folder))
        if packages:
            output(str(python), "-m", "pip", "install", "--quiet", *packages)
    return str(python)


def tool(name: str) -> str:
    """Return the path of a program."""
    if (path := shutil.which(name)) is None:
        raise NotRunError(f"there is no `{name}` here")
    return path


def output(
    *command: str, cwd: Path = ROOT, check: bool = True, extra: dict[str, str] | None = None
) -> str:
    """Run a program and return its standard output, or its standard error with ``check=False``."""
    done = subprocess.run(
        [shutil.which(command[0]) or command[0], *command[1:]],
        cwd=cwd,
        env={**os.environ, **(extra or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if check and done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise CheckError(f"`{' '.join(command)[:80]}`: exit status {done.returncode}: {last}")
    return done.stdout if check else done.stdout + done.stderr


if __name__ == "__main__":
    sys.exit(main())
