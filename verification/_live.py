"""Build and run the program of `crates/interop`, and print verdicts on its results."""

# ruff: noqa: S603, T201 (this module runs a program and prints verdicts)

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]

Row = dict[str, Any]


class CannotRunError(Exception):
    """A prerequisite of the comparison is missing on this machine."""


def build() -> Path:
    """Build the program with the release profile and return its path."""
    cargo = os.environ.get("CARGO", "cargo")
    if shutil.which(cargo) is None:
        message = f"no `{cargo}` on the PATH"
        raise CannotRunError(message)
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        message = "it needs root and /dev/net/tun"
        raise CannotRunError(message)
    command = [cargo, "build", "--locked", "--release", "-p", "interop", "--message-format", "json"]
    output = subprocess.run(
        command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    messages = (json.loads(line) for line in output.splitlines())
    return next(Path(message["executable"]) for message in messages if message.get("executable"))


def run_each(
    program: Path, runs: Sequence[Sequence[str]], *, at_once: int
) -> Iterator[tuple[int, list[Row], str]]:
    """Run the program once for each list of arguments, with at most `at_once` processes.

    Yields the index of the run, the rows that it printed, and its standard error if it failed.
    """

    def one(number: int) -> tuple[int, list[Row], str]:
        done = subprocess.run(
            [str(program), *runs[number]], check=False, capture_output=True, text=True
        )
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return number, rows, done.stderr.strip() if done.returncode else ""

    with ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(one, range(len(runs)))


class Verdicts:
    """Prints verdicts and counts the failed ones."""

    def __init__(self) -> None:
        self.failed = 0
        self._lines = 0

    def report(self, statement: str, *, holds: bool) -> None:
        """Print one verdict: ``holds`` is whether the statement is true."""
        self._lines += 1
        self.failed += not holds
        print(f"  {'holds' if holds else 'FAILS':6} {statement}", flush=True)

    @property
    def exit_status(self) -> int:
        """0 if at least one verdict was printed and all of them hold, otherwise 1."""
        return 1 if self.failed or not self._lines else 0


def main(work: Any) -> int:
    """Run ``work``, which prints its verdicts, and return the exit status.

    The status is 77 if a prerequisite is missing on this machine.
    """
    verdicts = Verdicts()
    try:
        work(verdicts)
    except CannotRunError as error:
        print(f"cannot run: {error}")
        return 77
    sys.stdout.flush()
    return verdicts.exit_status
