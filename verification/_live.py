"""The program of `crates/interop`, built and run; verdicts on what it finds."""

# ruff: noqa: S603, T201 (it runs a program and prints what the programs here find)

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
    """Something is missing here that is not ours."""


def build() -> Path:
    """Build the program, in release, and return where it is."""
    cargo = os.environ.get("CARGO", "cargo")
    if shutil.which(cargo) is None:
        message = f"no `{cargo}` on the PATH"
        raise CannotRunError(message)
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        message = "it needs root and /dev/net/tun"
        raise CannotRunError(message)
    command = [cargo, "build", "--locked", "--release", "-p", "interop", "--message-format", "json"]
    told = subprocess.run(
        command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    messages = (json.loads(line) for line in told.splitlines())
    return next(Path(message["executable"]) for message in messages if message.get("executable"))


def run_each(
    program: Path, runs: Sequence[Sequence[str]], *, at_once: int
) -> Iterator[tuple[int, list[Row], str]]:
    """Run the program with each of these words, some at a time: the run's place, its results, and its complaint."""

    def one(number: int) -> tuple[int, list[Row], str]:
        done = subprocess.run(
            [str(program), *runs[number]], check=False, capture_output=True, text=True
        )
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return number, rows, done.stderr.strip() if done.returncode else ""

    with ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(one, range(len(runs)))


class Verdicts:
    """Lines of what should hold, and whether it does."""

    def __init__(self) -> None:
        self.failed = 0
        self._told = 0

    def say(self, told: str, *, holds: bool) -> None:
        """Print one."""
        self._told += 1
        self.failed += not holds
        print(f"  {'holds' if holds else 'FAILS':6} {told}", flush=True)

    @property
    def exit_status(self) -> int:
        """0 if all hold, and there was something to hold."""
        return 1 if self.failed or not self._told else 0


def main(work: Any) -> int:
    """Run ``work``, which says its verdicts; what is missing here makes it one that could not run."""
    verdicts = Verdicts()
    try:
        work(verdicts)
    except CannotRunError as error:
        print(f"cannot run: {error}")
        return 77
    sys.stdout.flush()
    return verdicts.exit_status
