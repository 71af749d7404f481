"""Measure the cost of an attached remedy for connections that it is not for.

    python verification/cure_cost.py [--seconds 2] [--pairs 20]

nginx serves a small file over the loopback device. The remedy is for another port. Runs of `wrk` with and
without it alternate, in both orders, and the ratio of their requests per second has an interval. The cost
is at most 2 %. With a library, each write of the server is one more system call, and that cost is
printed without a bound.

It needs root, BPF, nginx and wrk, and exits with 77 without them. Another load on the machine widens the
intervals.
"""

# ruff: noqa: T201 (this module prints verdicts)

from __future__ import annotations

import argparse
import math
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Final

from _live import CannotRunError, Verdicts, main
from _served_loads import load
from _served_programs import SERVERS
from cure_servers import running, write_files

from tcpsf.live.network import enter, turn_loopback_on

OTHER_PORT: Final = ("--port", "9999")
REMEDIES: Final = {
    "dup-tail": ("--device", "lo", "--policy", "dup-tail", *OTHER_PORT),
    "tail(n=4)+rto-min(ms=50)": ("--policy", "tail(n=4)+rto-min(ms=50)", *OTHER_PORT),
    "--preload tail(n=4)": ("--preload", "--policy", "tail(n=4)", *OTHER_PORT),
}
UNBOUNDED: Final = ("--preload tail(n=4)",)
MOST: Final = 0.02
"""Largest cost, as a share of the requests per second."""


def ratio(folder: Path, words: tuple[str, ...], options: argparse.Namespace) -> tuple[float, float]:
    """Return the ratio of the speeds with and without a remedy, and the half of its interval."""
    served = SERVERS["nginx"]
    command = served.command(folder)
    logarithms = []
    for pair in range(options.pairs):
        speeds = {}
        for remedied in (False, True) if pair % 2 else (True, False):
            with running(command, words if remedied else (), []):
                speeds[remedied], _ = load(served, options.seconds)
        logarithms.append(math.log(speeds[True] / speeds[False]))
    mean = statistics.mean(logarithms)
    half = 2.0 * statistics.stdev(logarithms) / math.sqrt(len(logarithms))
    return math.exp(mean), half


def work(verdicts: Verdicts) -> None:
    """Compare each remedy for another port with no remedy."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=20)
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
        for name, words in REMEDIES.items():
            found, half = ratio(folder, words, options)
            text = f"{name} for another port: {found:.3f} ± {half:.3f} times the requests/s"
            if name in UNBOUNDED:
                print(f"         {text}", flush=True)
            else:
                verdicts.report(text, holds=found + half >= 1.0 - MOST)


if __name__ == "__main__":
    sys.exit(main(work))
