"""Compile ``ns3/web.cc`` against ns-3 and run it.

Two packages contain ns-3's headers and libraries: Debian's ``libns3-dev`` and PyPI's ``ns3``.
Debian's package is used if it is installed, because it is faster (README.md). Otherwise PyPI's
package is unpacked under ``out/ns3/``, separate from this project's dependencies.
"""

# ruff: noqa: S603 (this module starts a compiler, pip and the compiled program)

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parent / "ns3" / "web.cc"
OUT = Path(__file__).resolve().parents[1] / "out" / "ns3"
PYPI = "ns3==3.44.post0"
MODULES = ("point-to-point", "internet", "network", "core")
FLAGS = ("-std=c++20", "-O3", "-DNDEBUG", "-w")
PACKAGES = ("debian", "pypi")

# The fastest of ns-3's schedulers on this network (README.md).
SCHEDULER = "ns3::PriorityQueueScheduler"


class Ns3Error(RuntimeError):
    """ns-3 is not installed, or a run failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ns3:
    """A program compiled against one of the two packages."""

    package: str
    version: str
    program: Path

    def command(self, **options: object) -> list[str]:
        """The command line; ``options`` are those of web.cc, for example ``load=0.8``."""
        words = (f"--{key}={value}" for key, value in options.items())
        return [str(self.program), f"--SchedulerType={SCHEDULER}", *words]

    def run(self, **options: object) -> dict[str, Any]:
        """Simulate once and return web.cc's JSON object."""
        done = subprocess.run(self.command(**options), capture_output=True, text=True, check=False)
        if done.returncode != 0 or not done.stdout.startswith("{"):
            output = (done.stderr or done.stdout).strip().splitlines()
            raise Ns3Error(
                f"run ns-3: exit status {done.returncode}: {output[0] if output else 'nothing said'}"
            )
        result: dict[str, Any] = json.loads(done.stdout)
        return result


def build(package: str | None = None) -> Ns3:
    """Compile web.cc against ``package``; by default against Debian's if it is installed."""
    compiler = shutil.which("g++")
    if compiler is None:
        raise Ns3Error(
            "compile ns3/web.cc: no program `g++` on the path\nhint: apt-get install g++"
        )
    chosen = package or ("debian" if Path("/usr/include/ns3").is_dir() else "pypi")
    found = _debian() if chosen == "debian" else _pypi()
    OUT.mkdir(parents=True, exist_ok=True)
    program = OUT / f"web-{chosen}"
    where = [
        f"-L{found.libraries}",
        f"-Wl,-rpath,{found.libraries}",
        f"-Wl,-rpath-link,{found.libraries}",
    ]
    links = [f"-l{found.prefix}-{module}" for module in MODULES]
    arguments = [compiler, *FLAGS, *found.headers, str(SOURCE), "-o", str(program), *where, *links]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error:" in line] or ["nothing said"]
        raise Ns3Error(f"compile ns3/web.cc: exit status {done.returncode}: {errors[0]}")
    return Ns3(package=chosen, version=found.version, program=program)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Installed:
    """Locations of a package's headers and libraries."""

    headers: tuple[str, ...]
    """Arguments of the compiler for the headers."""
    libraries: Path
    prefix: str
    """Prefix of the libraries' names."""
    version: str


def _debian() -> _Installed:
    libraries = sorted(Path("/usr/lib").glob("*/libns3-core.so.*"))
    if not libraries or not Path("/usr/include/ns3").is_dir():
        raise Ns3Error("compile ns3/web.cc: no ns-3 from Debian\nhint: apt-get install libns3-dev")
    version = f"3{libraries[0].suffix}"
    return _Installed(headers=(), libraries=libraries[0].parent, prefix="ns3", version=version)


def _pypi() -> _Installed:
    """Install the wheel once, without the dependencies of its unused Python modules."""
    target = OUT / "pypi"
    if not (target / "ns3").is_dir():
        pip = (
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
        )
        done = subprocess.run(
            [*pip, "--target", str(target), PYPI], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise Ns3Error(
                f"install {PYPI}: exit status {done.returncode}\nhint: apt-get install libns3-dev"
            )
    libraries = sorted((target / "ns3").glob("lib*/libns3.*-core.so"))
    if not libraries:
        raise Ns3Error(f"compile ns3/web.cc: no libraries in {PYPI}")
    prefix = libraries[0].name.removeprefix("lib").removesuffix("-core.so")
    return _Installed(
        headers=("-isystem", str(target / "ns3" / "include")),
        libraries=libraries[0].parent,
        prefix=prefix,
        version=prefix.removeprefix("ns"),
    )
