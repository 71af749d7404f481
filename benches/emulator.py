"""Measure speed and timing accuracy of `tcpsf link` with one TCP connection of this kernel (CUBIC).

The link has a delay of 1 ms in each direction. Towards the client it has a rate of 1 Gb/s, 500 Mb/s
or no rate, each with offload, which is the default, and without. The same connection over a veth
pair shows the limit of the machine. The measurements of the paths alternate. Each measurement has
new network namespaces, which are deleted at its end.
"""

# ruff: noqa: T201, S603 (this program prints measurements; it starts our own program)

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from _measure import conclude
from _network import CANNOT_RUN, BenchError, check_machine, join, namespace, running

TARGET = 0.9

BULK = Path(__file__).with_name("_bulk.py")
PORT = 7009
CONGESTION = "cubic"
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
ON_THE_LINE = 1500 / 1448
"""Bytes that the link's rate counts, headers included, per byte of the stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A path for the connection."""

    name: str
    options: tuple[str, ...] | None
    """Options of the link; ``None`` for a path without a link."""
    rate: float | None = None
    """Rate of the link in Gb/s."""


DELAY = ("--delay", "1ms")


def links(name: str, rate: float | None, *options: str) -> tuple[Side, Side]:
    """A link with offload, and the same link without offload."""
    words = (*DELAY, *options)
    return (
        Side(name=name, options=words, rate=rate),
        Side(name=f"{name}, no offload", options=(*words, "--no-offload"), rate=rate),
    )


GIGABIT = links("1 Gb/s", 1.0, "--down-rate", "1gbit", "--down-queue", "1MB")
SIDES = (
    *GIGABIT,
    *links("500 Mb/s", 0.5, "--down-rate", "500mbit", "--down-queue", "1MB"),
    *links("no rate", None),
    Side(name="no link: veth", options=None),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Result of one measurement."""

    line_gbps: float
    """Rate on the link in Gb/s, headers included."""
    cpu_s_per_gb: float | None
    """CPU seconds of the emulator for each gigabyte of the stream."""
    late_us: tuple[float, float] | None
    """Median and 99th percentile of the lateness of forwarded packets, in microseconds."""
    missed: int
    """Number of packets that the emulator did not read in time."""


def fetching(host: str, seconds: float) -> list[str]:
    """The command line of the client."""
    return [sys.executable, str(BULK), "fetch", host, str(PORT), str(seconds)]


def ended(command: Sequence[str]) -> list[Any]:
    """Run a program to its end and return the JSON objects that it prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(
            f"{shlex.join(command)}: {done.stderr.strip() or f'status {done.returncode}'}"
        )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def measure(side: Side, seconds: float) -> Score:
    """Measure one path once."""
    serve = [sys.executable, str(BULK), "serve", str(PORT), CONGESTION]
    os.environ["BENCH_ROOT"] = str(os.getpid())
    with ExitStack() as stack:
        inside = stack.enter_context(namespace("client"))
        if side.options is None:
            where = stack.enter_context(namespace("server"))
            join(where, inside)
            stack.enter_context(running([*where, *serve]))
            (transfer,) = ended([*inside, *fetching("10.77.0.2", seconds)])
            report = None
        else:
            file = Path(stack.enter_context(TemporaryDirectory())) / "link.json"
            link = [
                sys.executable,
                "-m",
                "tcpsf",
                "link",
                *side.options,
                "--json",
                str(file),
                "--outside",
                shlex.join(serve),
                "--",
            ]
            (transfer,) = ended([*inside, *link, *fetching("$TCPSF_LINK_OUTSIDE", seconds)])
            report = json.loads(file.read_text(encoding="utf-8"))
    down = report["down"] if report else None
    return Score(
        line_gbps=transfer["bytes"] * ON_THE_LINE * 8e-9 / transfer["seconds"],
        cpu_s_per_gb=transfer["cpu_s"] / (transfer["bytes"] * 1e-9) if down else None,
        late_us=(down["timing_error_median_s"] * 1e6, down["timing_error_p99_s"] * 1e6)
        if down
        else None,
        missed=down["missed_packets"] if down else 0,
    )


def show(side: Side, scores: Sequence[Score]) -> None:
    """Print the medians, and the minimum and maximum of the speeds."""
    speeds = [score.line_gbps for score in scores]
    speed = f"{statistics.median(speeds):.2f} ({min(speeds):.2f} to {max(speeds):.2f})"
    share = f"{statistics.median(speeds) / side.rate:.3f}" if side.rate else ""
    costs = [score.cpu_s_per_gb for score in scores if score.cpu_s_per_gb is not None]
    late = [score.late_us for score in scores if score.late_us is not None]
    cost = f"{statistics.median(costs):.2f}" if costs else ""
    median, most = (
        ([f"{statistics.median(column):.0f}" for column in zip(*late, strict=True)])
        if late
        else ("", "")
    )
    print(f"  {side.name:22} {speed:21} {share:>11} {cost:>9} {median:>12} {most:>6}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all paths alternately; the exit status is 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a measurement")
    given = parser.parse_args(arguments)
    if CONGESTION not in AVAILABLE.read_text().split():
        print(
            f"could not run: this kernel has no {CONGESTION} (`modprobe tcp_{CONGESTION}`)",
            file=sys.stderr,
        )
        return CANNOT_RUN
    try:
        check_machine()
    except BenchError as error:
        print(f"could not run: {error}", file=sys.stderr)
        return CANNOT_RUN
    scores: dict[Side, list[Score]] = {side: [] for side in SIDES}
    try:
        for turn in range(given.turns):
            # Each turn begins with another path.
            for place in range(len(SIDES)):
                side = SIDES[(turn + place) % len(SIDES)]
                scores[side].append(measure(side, given.seconds))
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(
        f"  {'':22} {'Gb/s on the line':21} {'of its rate':>11} {'CPU s/GB':>9} {'lateness, µs':>12} {'p99':>6}"
    )
    for side, those in scores.items():
        show(side, those)
    reached = statistics.median(score.line_gbps for score in scores[GIGABIT[0]])
    missed = sum(score.missed for those in scores.values() for score in those)
    verdicts = (
        (f"a link of 1 Gb/s carries {reached:.3f} Gb/s (target {TARGET:g})", reached >= TARGET),
        (f"{missed} packets missed by the emulator (target 0)", missed == 0),
    )
    return conclude(verdicts)


if __name__ == "__main__":
    sys.exit(main())
