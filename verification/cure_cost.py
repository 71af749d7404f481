"""Measure the cost of an attached remedy for connections that it is for, and for others.

    python verification/cure_cost.py [--seconds 2] [--rounds 20] [--only dup-tail]

nginx serves a small file over the loopback device to `wrk`, which keeps both processors busy. Runs with
and without a remedy alternate, in both orders, and the ratio of their requests per second has an interval.

For another port, the cost is at most 2 %. With a library, each write of the server is one more system
call, and that cost is printed without a bound.

For the port of the server, a remedy that sends more packets must cost what packets cost. The same server
without a remedy, on a device with a smaller MTU and without GSO, sends as many: the remedy costs
at most 10 % more than that. A remedy that sends no more packets costs at most 10 %.

It needs root, BPF, nginx and wrk, and exits with 77 without them. Another load on the machine widens the
intervals.
"""

# ruff: noqa: S603, T201 (this module runs programs and prints verdicts)

from __future__ import annotations

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from _live import CannotRunError, Verdicts, main
from _served_loads import load
from _served_programs import SERVERS
from cure_servers import running, write_files

from tcpsf.live.network import enter, turn_loopback_on

OTHER_PORT: Final = ("--port", "9999")
MTU: Final = 65_536
"""MTU of the loopback device."""
THIRDS, QUARTERS, SIXTHS = 500, 440, 260
"""MTUs with which the body of the response has three, four and six segments.

nginx writes its header and the body by two calls, so a remedy for the end of a write applies to both.
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A remedy, and what it may cost."""

    name: str
    words: Sequence[str]
    most: float | None = 0.1
    """Largest cost as a share of the requests per second; ``None`` without a bound."""
    mtu: int | None = None
    """MTU with which the server without the remedy sends as many packets as with it."""


CASES: Final = (
    Case(
        "dup-tail for another port", ("--device", "lo", "--policy", "dup-tail", *OTHER_PORT), 0.02
    ),
    Case(
        "tail(n=4)+rto-min(ms=50) for another port",
        ("--policy", "tail(n=4)+rto-min(ms=50)", *OTHER_PORT),
        0.02,
    ),
    Case(
        "--preload tail(n=4) for another port",
        ("--preload", "--policy", "tail(n=4)", *OTHER_PORT),
        None,
    ),
    Case("rto-min(ms=50)", ("--policy", "rto-min(ms=50)")),
    Case("dup-tail", ("--device", "lo", "--policy", "dup-tail"), mtu=QUARTERS),
    Case(
        "dup-tail(delay=10ms)", ("--device", "lo", "--policy", "dup-tail(delay=10ms)"), mtu=QUARTERS
    ),
    Case("tiny-tail", ("--policy", "tiny-tail"), mtu=THIRDS),
    Case("tail(n=4)", ("--policy", "tail(n=4)"), mtu=SIXTHS),
    Case("--preload tail(n=4)", ("--preload", "--policy", "tail(n=4)"), mtu=THIRDS),
)


@dataclass(frozen=True, slots=True)
class Ratio:
    """Geometric mean of ratios, with the half of its interval of 95 %."""

    value: float
    half: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ± {self.half:.3f}"


def ratio(above: Sequence[float], below: Sequence[float]) -> Ratio:
    """Compare the runs of the same rounds."""
    logarithms = [math.log(one / other) for one, other in zip(above, below, strict=True)]
    half = 2.0 * statistics.stdev(logarithms) / math.sqrt(len(logarithms))
    return Ratio(math.exp(statistics.mean(logarithms)), half)


def set_loopback(mtu: int) -> None:
    """Give the device an MTU. With a smaller one, the kernel sends each segment by itself."""
    most = "1" if mtu < MTU else "65535"
    words = ["ip", "link", "set", "dev", "lo", "mtu", str(mtu), "gso_max_segs", most]
    subprocess.run(words, check=True)


def sent_packets() -> int:
    """Return the number of packets that the loopback device has sent."""
    lines = Path("/proc/net/dev").read_text(encoding="utf-8").splitlines()
    (counters,) = (line.split(":")[1].split() for line in lines if line.strip().startswith("lo:"))
    return int(counters[9])


def measured(
    command: list[str], words: Sequence[str], mtu: int, seconds: int
) -> tuple[float, float]:
    """Return the requests per second of a run, and the packets of both ends per request."""
    set_loopback(mtu)
    try:
        with running(command, words, []):
            before = sent_packets()
            speed, _ = load(SERVERS["nginx"], seconds)
            return speed, (sent_packets() - before) / (speed * seconds)
    finally:
        set_loopback(MTU)


def compare(verdicts: Verdicts, case: Case, folder: Path, options: argparse.Namespace) -> None:
    """Compare a remedy with no remedy, and with as many packets."""
    command = SERVERS["nginx"].command(folder)
    variants: dict[str, tuple[Sequence[str], int]] = {
        "plain": ((), MTU),
        "cured": (case.words, MTU),
    }
    if case.mtu is not None:
        variants["packets"] = ((), case.mtu)
    speeds: dict[str, list[float]] = {name: [] for name in variants}
    packets: dict[str, list[float]] = {name: [] for name in variants}
    for number in range(options.rounds):
        for name in list(variants)[:: 1 if number % 2 else -1]:
            speed, each = measured(command, *variants[name], options.seconds)
            speeds[name].append(speed)
            packets[name].append(each)
    found = ratio(speeds["cured"], speeds["plain"])
    counts = [statistics.median(packets[name]) for name in ("plain", "cured")]
    text = f"{case.name}: {found} times the requests/s, {counts[1]:.2f} packets per request"
    text += f" instead of {counts[0]:.2f}"
    if case.mtu is not None:
        text += f"; as many packets without it: {ratio(speeds['packets'], speeds['plain'])} times"
        found = ratio(speeds["cured"], speeds["packets"])
        text += (
            f" ({statistics.median(packets['packets']):.2f}), so the remedy itself {found} times"
        )
    if case.most is None:
        print(f"         {text}", flush=True)
    else:
        verdicts.report(text, holds=found.value + found.half >= 1.0 - case.most)


def work(verdicts: Verdicts) -> None:
    """Compare each remedy."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", help="names of remedies that begin with this")
    options = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("nginx") is None or shutil.which("wrk") is None:
        message = "it needs root, nginx and wrk"
        raise CannotRunError(message)
    enter()
    turn_loopback_on()
    with tempfile.TemporaryDirectory(prefix="tcpsf-cost-") as place:
        folder = Path(place)
        folder.chmod(0o755)
        write_files(folder / "files")
        for case in CASES:
            if case.name.startswith(options.only or ""):
                compare(verdicts, case, folder, options)


if __name__ == "__main__":
    sys.exit(main(work))
