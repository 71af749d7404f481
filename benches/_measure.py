"""Shared functions of the benchmarks: the cost of a process, and comparisons of two simulators."""

# ruff: noqa: T201 (this module prints measurements)

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SIMULATE = Path(__file__).with_name("_simulate.py")


class ProcessError(RuntimeError):
    """A measured process failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Resources that a finished process used."""

    cpu_s: float
    """User and system time, in seconds."""
    peak_mb: float
    """Peak resident memory in MiB; at least the parent's memory when it started the process."""
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A simulating process, and the number of packets that pass its bottleneck."""

    arguments: Sequence[str]
    text: str = ""
    """Standard input of the process."""
    packets: int

    def measure(self) -> Cost:
        """Run the process once."""
        return measure(self.arguments, text=self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """Results of alternating measurements."""

    ratios: tuple[float, ...]
    """Our packets per CPU second divided by the peer's, for each turn."""
    peak_mb: float
    """Peak memory of our simulator over all turns, in MiB."""


def measure(arguments: Sequence[str], *, text: str = "") -> Cost:
    """Run a process with ``text`` as its standard input; the cost is as the kernel counts it."""
    with tempfile.TemporaryFile("w+") as source, tempfile.TemporaryFile("w+") as output:
        source.write(text)
        source.seek(0)
        child = os.posix_spawnp(
            arguments[0],
            list(arguments),
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, source.fileno(), 0),
                (os.POSIX_SPAWN_DUP2, output.fileno(), 1),
            ],
        )
        _, status, usage = os.wait4(child, 0)
        if os.waitstatus_to_exitcode(status) != 0:
            raise ProcessError(
                f"run {arguments[0]}: exit status {os.waitstatus_to_exitcode(status)}"
            )
        output.seek(0)
        return Cost(
            cpu_s=usage.ru_utime + usage.ru_stime,
            peak_mb=usage.ru_maxrss / 1024,
            output=output.read(),
        )


def simulate(*words: str, python: str = sys.executable) -> list[str]:
    """Return the command line of ``_simulate.py`` with the build that ``python`` imports."""
    return [python, str(SIMULATE), *words]


def our_counts(
    description: Mapping[str, Any], *words: str, python: str = sys.executable
) -> dict[str, Any]:
    """Return the JSON that ``_simulate.py`` prints for ``words`` after it has run a scenario."""
    command = simulate(*words, python=python)
    counts: dict[str, Any] = json.loads(measure(command, text=json.dumps(description)).output)
    return counts


def our_work(description: Mapping[str, Any], counts: Mapping[str, Any]) -> Work:
    """The process of our simulator; ``counts`` comes from a separate run, which is not timed."""
    return Work(
        arguments=simulate(), text=json.dumps(description), packets=counts["through_packets"]
    )


def take_turns(*, peer: str, theirs: Work, ours: Work, turns: int) -> Turns:
    """Measure both simulators alternately, ``turns`` times, and print one line per turn."""
    print(f"           {peer} CPU s  packets/s  ours CPU s  packets/s   ratio  our peak")
    ratios, peaks = [], []
    for turn in range(1, turns + 1):
        their, our = theirs.measure(), ours.measure()
        speeds = theirs.packets / their.cpu_s, ours.packets / our.cpu_s
        ratios.append(speeds[1] / speeds[0])
        peaks.append(our.peak_mb)
        print(
            f"  turn {turn:<3} {their.cpu_s:11.2f} {speeds[0]:10.3g} {our.cpu_s:11.2f} {speeds[1]:10.3g}"
            f" {ratios[-1]:7.1f} {our.peak_mb:6.0f} MB",
            flush=True,
        )
    print(
        f"  ratio: median {statistics.median(ratios):.1f}, min {min(ratios):.1f}, max {max(ratios):.1f}"
    )
    print(f"  packets through the bottleneck: {peer} {theirs.packets}, ours {ours.packets}")
    return Turns(ratios=tuple(ratios), peak_mb=max(peaks))


def word(good: bool) -> str:
    """The verdict on a target."""
    return "met" if good else "MISSED"


def conclude(verdicts: Iterable[tuple[str, bool]]) -> int:
    """Print each target with its verdict, and return the exit status."""
    found = list(verdicts)
    print()
    for text, good in found:
        print(f"{text}: {word(good)}")
    return 0 if all(good for _, good in found) else 1
