"""Measure the cost of an attached remedy for connections that it is for, and for others.

    python verification/cure_cost.py [--seconds 2] [--rounds 10] [--only dup-tail]

Two servers, both nginx, answer `wrk` over the loopback device at the same time. They share a processor,
whose time the kernel divides between them, so the ratio of their requests per second is that of their
costs, whatever else the machine does. The programs of `wrk` share the other processor.

For another port, the cost is the time in the BPF programs, which the kernel counts
(`kernel.bpf_stats_enabled`). The counting itself takes time, which an empty program on the same packets
measures, and which is subtracted. The cost is at most 2 % of the time of the server's processor. With a
library, each write of the server is one more system call, and the cost is printed without a bound.

One of the servers has the remedy in the other cases. A remedy that sends no more packets costs at most
10 %. Others are compared with the number of packets: the cost of a request must not grow by more
than 10 % above that number.

It needs x86-64, root, BPF, nginx, wrk and two processors, and exits with 77 without them.
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
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from _bpf_programs import empty_program, run_time_ns, run_time_of_process_ns, statistics_on
from _live import CannotRunError, Verdicts, main
from _served_loads import load
from _served_programs import PORT, SERVERS, nginx
from cure_servers import running, write_files

from tcpsf.live.network import enter, turn_loopback_on

SERVER_CPU, CLIENT_CPU = 0, 1
PLAIN_PORT: Final = 8081
"""Port of the server without the remedy."""
PLACES: Final = (("plain", PLAIN_PORT), ("cured", PORT))
"""Folders and ports of the servers."""
OTHER_PORT: Final = ("--port", "9999")
MOST_FOR_OTHERS: Final = 0.02
"""Largest cost for other ports, as a share of the time of the processor."""
MOST: Final = 0.1
"""Largest cost beyond that of the packets."""


@dataclass(frozen=True, slots=True)
class Case:
    """A remedy, with the options of `tcpsf cure run`."""

    name: str
    words: Sequence[str]


FOR_OTHERS: Final = (
    Case("dup-tail", ("--device", "lo", "--policy", "dup-tail")),
    Case("tail(n=4)+rto-min(ms=50)", ("--policy", "tail(n=4)+rto-min(ms=50)")),
    Case("--preload tail(n=4)", ("--preload", "--policy", "tail(n=4)")),
)
CASES: Final = (
    Case("rto-min(ms=50)", ("--policy", "rto-min(ms=50)")),
    Case("dup-tail", ("--device", "lo", "--policy", "dup-tail")),
    Case("dup-tail(delay=10ms)", ("--device", "lo", "--policy", "dup-tail(delay=10ms)")),
    Case("tiny-tail", ("--policy", "tiny-tail")),
    Case("tail(n=4)", ("--policy", "tail(n=4)")),
    Case("--preload tail(n=4)", ("--preload", "--policy", "tail(n=4)")),
)


@dataclass(frozen=True, slots=True)
class Ratio:
    """Geometric mean of the ratios of some rounds, with the half of its interval of 95 %."""

    value: float
    half: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ± {self.half:.3f}"


def ratio(values: Sequence[float]) -> Ratio:
    """Return the mean of ratios."""
    logarithms = [math.log(each) for each in values]
    half = 2.0 * statistics.stdev(logarithms) / math.sqrt(len(logarithms))
    return Ratio(math.exp(statistics.mean(logarithms)), half)


@contextmanager
def two_servers(folder: Path, words: Sequence[str]) -> Iterator[int]:
    """Run a server with a remedy and one without. Yields the process of the first."""
    pinned = ["taskset", "--cpu-list", str(SERVER_CPU)]
    # With one process each, both servers always have something to do.
    plain, cured = ([*pinned, *nginx(folder / name, port, workers=1)] for name, port in PLACES)
    with running(plain, (), [], port=PLAIN_PORT), running(cured, words, []) as process:
        yield process


def speeds(seconds: int) -> tuple[float, float]:
    """Load both servers at once; return the requests per second, without and with the remedy."""
    with ThreadPoolExecutor(2) as pool:
        both = pool.map(
            lambda port: load(SERVERS["nginx"], seconds, port=port)[0], (PLAIN_PORT, PORT)
        )
        plain, cured = both
    return plain, cured


def sent_packets() -> int:
    """Return the number of packets that the loopback device has sent."""
    lines = Path("/proc/net/dev").read_text(encoding="utf-8").splitlines()
    (counters,) = (line.split(":")[1].split() for line in lines if line.strip().startswith("lo:"))
    return int(counters[9])


def packets_per_request(port: int) -> float:
    """Return the packets of both ends for a request to a server."""
    before = sent_packets()
    speed, _ = load(SERVERS["nginx"], 1, port=port)
    return (sent_packets() - before) / speed


def cost_for_others(
    verdicts: Verdicts, case: Case, folder: Path, options: argparse.Namespace
) -> None:
    """Report the cost for connections to other ports."""
    is_preload = "--preload" in case.words
    on_device = "--device" in case.words
    ratios, shares, counting = [], [], []
    for _ in range(options.rounds):
        with (
            two_servers(folder, (*case.words, *OTHER_PORT)) as process,
            empty_program("lo") as empty,
        ):
            before, before_empty = run_time_of_process_ns(process), run_time_ns(empty)
            plain, cured = speeds(options.seconds)
            # The device has one program for both servers.
            whole_ns = 1e9 * options.seconds
            shares.append((run_time_of_process_ns(process) - before) / whole_ns)
            counting.append((run_time_ns(empty) - before_empty) / whole_ns)
            ratios.append(cured / plain)
    text = f"{case.name} for another port: {ratio(ratios)} times the requests/s"
    if is_preload:
        print(f"         {text}", flush=True)
    else:
        # Programs for cuts do not run for each packet, so hardly any of their time is counting.
        of_empty = statistics.median(counting) if on_device else 0.0
        share = max(0.0, statistics.median(shares) - of_empty)
        verdicts.report(
            f"{text}, {100 * share:.2f} % of the time in BPF programs, and {100 * of_empty:.2f} % to count it",
            holds=share <= MOST_FOR_OTHERS,
        )


def cost(verdicts: Verdicts, case: Case, folder: Path, options: argparse.Namespace) -> None:
    """Report the cost for connections that the remedy is for."""
    ratios, more = [], []
    for _ in range(options.rounds):
        with two_servers(folder, (*case.words, "--port", str(PORT))):
            plain, cured = speeds(options.seconds)
            ratios.append(plain / cured)
            more.append(packets_per_request(PORT) / packets_per_request(PLAIN_PORT))
    found, packets = ratio(ratios), statistics.median(more)
    verdicts.report(
        f"{case.name}: a request costs {found} times the time, with {packets:.2f} times the packets",
        holds=found.value - found.half <= (1.0 + MOST) * max(1.0, packets),
    )


def work(verdicts: Verdicts) -> None:
    """Measure each remedy."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", default="", help="remedies whose names begin with this")
    options = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("nginx") is None or shutil.which("wrk") is None:
        message = "it needs root, nginx and wrk"
        raise CannotRunError(message)
    if not {SERVER_CPU, CLIENT_CPU} <= os.sched_getaffinity(0):
        message = "it needs two processors"
        raise CannotRunError(message)
    enter()
    turn_loopback_on()
    os.sched_setaffinity(0, {CLIENT_CPU})
    with statistics_on(), tempfile.TemporaryDirectory(prefix="tcpsf-cost-") as place:
        folder = Path(place)
        folder.chmod(0o755)
        for name, _ in PLACES:
            (folder / name).mkdir()
            write_files(folder / name / "files")
        for measure, cases in ((cost_for_others, FOR_OTHERS), (cost, CASES)):
            for case in cases:
                if case.name.startswith(options.only):
                    measure(verdicts, case, folder, options)


if __name__ == "__main__":
    sys.exit(main(work))
