"""Programs and files that the checks of a release use (`tools/release.py`)."""

# ruff: noqa: S603 (the program runs others)

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class CheckError(Exception):
    """A check that does not hold, with the reason."""


class NotRunError(Exception):
    """A check that cannot run here, with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The files to be published."""

    folder: Path
    version: str

    def wheel(self, processor: str = "x86_64") -> Path:
        """Return the wheel for a processor, with the name that Python's platform tags use."""
        found = sorted(self.folder.glob(f"tcpsf-{self.version}-*manylinux*{processor}.whl"))
        if not found:
            place = f"version {self.version} for {processor} in {self.folder}"
            raise CheckError(f"no manylinux wheel of {place}")
        return found[0]


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
