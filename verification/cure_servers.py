"""Run servers of others with and without remedies: their data, their errors, and their speed.

Each server serves files over the loopback device, with `tcpsf cure run` and without. Every file must
arrive as it is, over one connection and over connections of its own, and `wrk` must count no error. The
go server is a static binary, and nginx sends by `sendfile` except with TLS. redis stores and returns
values, under `redis-benchmark`. The runs with and without a remedy alternate, and the ratio of their speeds
is printed. With `--preload`, the writes that were cut are counted; the static binary must be refused.

    python verification/cure_servers.py [--seconds 4] [--rounds 3] [--servers nginx,go]

It needs root, BPF and wrk, and exits with 77 without them. Servers that are not installed are named.
"""

# ruff: noqa: S603, T201 (this module runs programs and prints verdicts)

from __future__ import annotations

import argparse
import hashlib
import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from _live import CannotRunError, Verdicts, main
from _served_loads import load, wrong_files
from _served_programs import PORT, SERVERS

from tcpsf.live.network import die_with_parent, enter, turn_loopback_on

PLAIN: Final = "without a remedy"
REMEDIES: Final[Mapping[str, Sequence[str]]] = {
    PLAIN: (),
    "dup-tail": ("--device", "lo", "--policy", "dup-tail"),
    "dup-tail(delay=10ms)": ("--device", "lo", "--policy", "dup-tail(delay=10ms)"),
    "tail(n=4)": ("--policy", "tail(n=4)"),
    "tiny-tail+rto-min(ms=50)": ("--policy", "tiny-tail+rto-min(ms=50)"),
    "--preload tail(n=4)": ("--preload", "--policy", "tail(n=4)"),
    "--preload tiny-tail+rto-min(ms=50)": ("--preload", "--policy", "tiny-tail+rto-min(ms=50)"),
}
"""Options of `tcpsf cure run` by the name of the remedy."""
FILES: Final = 40
LARGEST: Final = 300_000
START_S: Final = 20.0


def write_files(folder: Path) -> dict[str, str]:
    """Write files of many sizes, and return their digests by name."""
    draw = random.Random(7)  # noqa: S311 (no secret)
    sizes = {1, 2, 100, 1200, 1447, 1448, 1449, 4096, 14_480, 65_536}
    while len(sizes) < FILES:
        sizes.add(round(draw.uniform(1, LARGEST ** (draw.random() ** 0.5))))
    found = {}
    folder.mkdir()
    for size in sorted(sizes):
        data = draw.randbytes(size)
        (folder / str(size)).write_bytes(data)
        found[str(size)] = hashlib.sha256(data).hexdigest()
    return found


@contextmanager
def running(
    command: list[str], remedy: Sequence[str], cuts: list[int], *, port: int = PORT
) -> Iterator[int]:
    """Run a server until the block ends, and yield the process identifier of the command.

    ``cuts`` gets the number of writes that were cut.
    """
    if remedy:
        cure = [sys.executable, "-m", "tcpsf", "cure", "run", "-q", "--json", *remedy]
        command = [*cure, "--", *command]
    quiet = subprocess.DEVNULL
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=quiet, preexec_fn=die_with_parent)
        try:
            until_open(process, port)
            yield process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        output.seek(0)
        found = re.search(rb'"event": "summary".*"cut_writes": (\d+)', output.read())
        cuts.append(int(found[1]) if found else 0)


def until_open(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until the server accepts connections."""
    end_s = time.monotonic() + START_S
    while time.monotonic() < end_s and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    message = "the server does not listen"
    raise RuntimeError(message)


def compare(verdicts: Verdicts, name: str, options: argparse.Namespace) -> None:
    """Compare a server with each remedy to the same server without."""
    with tempfile.TemporaryDirectory(prefix="tcpsf-servers-") as place:
        folder = Path(place)
        folder.chmod(0o755)  # some servers run as another user
        digests = write_files(folder / "files")
        served = SERVERS[name]
        command = served.command(folder)
        remedies = {
            each: words
            for each, words in REMEDIES.items()
            if not (served.is_static and "--preload" in words)
        }
        if served.is_static:
            refuses(verdicts, name, command)
        speeds: dict[str, list[float]] = {each: [] for each in remedies}
        wrong: dict[str, list[str]] = {each: [] for each in remedies}
        cuts: dict[str, list[int]] = {each: [] for each in remedies}
        errors = dict.fromkeys(remedies, 0)
        for round_number in range(options.rounds):
            for each, words in remedies.items():
                with running(command, words, cuts[each]):
                    if round_number == 0:
                        wrong[each] = wrong_files(served, folder / "files", digests)
                    speed, failed = load(served, options.seconds)
                speeds[each].append(speed)
                errors[each] += failed
    plain = statistics.median(speeds[PLAIN])
    print(f"{name}: {plain:.0f} requests/s, {errors[PLAIN]} errors without a remedy", flush=True)
    for each in list(speeds)[1:]:
        ratios = [one / other for one, other in zip(speeds[each], speeds[PLAIN], strict=True)]
        verdicts.report(
            f"{name}, {each}: {len(wrong[each])} files differ, {errors[each]} errors, "
            f"{sum(cuts[each])} writes cut, {statistics.median(ratios):.2f} times the requests/s "
            f"({min(ratios):.2f} to {max(ratios):.2f})",
            holds=not wrong[each]
            and errors[each] <= errors[PLAIN]
            and (each.startswith("dup-tail") or min(cuts[each]) > 0),
        )


def refuses(verdicts: Verdicts, name: str, command: list[str]) -> None:
    """Check that a static server is not started with a library."""
    cure = [sys.executable, "-m", "tcpsf", "cure", "run", "--preload", "--policy", "tail", "--"]
    done = subprocess.run([*cure, *command], capture_output=True, text=True, check=False)
    verdicts.report(
        f"{name}, --preload: {done.stderr.splitlines()[0]}",
        holds=done.returncode == 2 and "static program" in done.stderr,
    )


def work(verdicts: Verdicts) -> None:
    """Compare the servers that are installed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--servers", default=",".join(SERVERS))
    options = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("wrk") is None:
        message = "it needs root and wrk"
        raise CannotRunError(message)
    enter()
    turn_loopback_on()
    for name in options.servers.split(","):
        if shutil.which(SERVERS[name].program) is None:
            print(f"{name} is not installed", flush=True)
        else:
            compare(verdicts, name, options)


if __name__ == "__main__":
    sys.exit(main(work))
