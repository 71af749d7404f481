"""Our host beside smoltcp as servers for clients of this kernel, on the same kind of TUN device, in one run.

What is moved and answered counts per second of the server's CPU time. Writing to a TUN device takes
the most of that, because there the kernel does the client's half of TCP; so the user's share, which
is the server's own doing, stands beside. The kernel's own TCP over a pair of Ethernet devices shows
the limit. peers/ holds the programs; the servers do the same for a connection: send for ever, take
what comes, or answer each 120 bytes with 1000.

Each measurement is a server and a client in a network namespace of their own, gone when it ends.
Sides take turns, and the ratio is taken within each.
"""

# ruff: noqa: T201, S603 (it prints what it finds; it starts cargo, and what that compiled)

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from _measure import conclude
from _network import CANNOT_RUN, BenchError, check_machine, join, namespace, running

TARGET = 2.0
MOST_BYTES_IDLE = 4096
HELD = 10_000

PEERS = Path(__file__).with_name("peers")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What the client does."""

    name: str
    load: tuple[str, ...]
    port: int
    """The one that smoltcp has its sockets on."""
    sockets: int
    """smoltcp's: more are slower, fewer refuse connections."""
    buffer: int
    """Bytes of each of smoltcp's buffers. Ours grow when they are used, to what the first task says at most."""
    unit: str
    scale: float
    held: int = 0
    """Connections that are open beside, and idle."""


SOURCE, SINK, REQUESTS = 1001, 1002, 1003
BULK, SMALL = 1 << 20, 1 << 14

TASKS = (
    Task(
        name="bulk, from the server",
        load=("get",),
        port=SOURCE,
        sockets=1,
        buffer=BULK,
        unit="MB",
        scale=1e6,
    ),
    Task(
        name="bulk, to the server",
        load=("put",),
        port=SINK,
        sockets=1,
        buffer=BULK,
        unit="MB",
        scale=1e6,
    ),
    Task(
        name="requests, 100 connections",
        load=("ask", "--connections", "100"),
        port=REQUESTS,
        sockets=100,
        buffer=SMALL,
        unit="thousand",
        scale=1e3,
    ),
    Task(
        name="a connection for each, 100 at once",
        load=("ask", "--fresh", "--connections", "100"),
        port=REQUESTS,
        sockets=200,
        buffer=SMALL,
        unit="thousand",
        scale=1e3,
    ),
    Task(
        name=f"requests, 100 of {HELD} connections",
        load=("ask", "--connections", "100"),
        port=REQUESTS,
        sockets=HELD,
        buffer=SMALL,
        unit="thousand",
        scale=1e3,
        held=HELD - 100,
    ),
)

SIDES = ("smoltcp", "ours", "ours, offload", "kernel")


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What came of one measurement."""

    count: float
    """Megabytes, or thousands of answers."""
    elapsed_s: float
    cpu_s: float
    user_s: float
    """Of that; in ticks, so less than some of them says little."""

    @property
    def per_cpu_s(self) -> float:
        """What is compared."""
        return self.count / self.cpu_s


def build() -> Path:
    """Compile the programs and return the folder that holds them."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", PEERS.parents[1] / "target"))
    command = [
        "cargo",
        "build",
        "--release",
        "--locked",
        "--quiet",
        "--manifest-path",
        str(PEERS / "Cargo.toml"),
    ]
    try:
        subprocess.run([*command, "--target-dir", str(target)], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BenchError(f"compile {PEERS}: {error}") from error
    return target / "release"


def cpu_s(process: subprocess.Popen[str]) -> tuple[float, float]:
    """CPU time of a running process: all of it, and the user's part."""
    folder = Path("/proc", str(process.pid))
    spent_ns = int((folder / "schedstat").read_text().split()[0])
    fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
    return spent_ns / 1e9, int(fields[11]) / TICKS_PER_S


def private_bytes(process: subprocess.Popen[str]) -> int:
    """Memory that is the process's own."""
    rows = Path("/proc", str(process.pid), "smaps_rollup").read_text().splitlines()
    return sum(1024 * int(row.split()[1]) for row in rows if row.startswith("Private_Dirty"))


class Bench:
    """Compiled programs, and how long to run them."""

    def __init__(self, programs: Path, seconds: float) -> None:
        """Keep them."""
        self.programs, self.seconds = programs, seconds

    def server(self, side: str, task: Task, mtu: int) -> list[str]:
        """The command line of a side's server."""
        if side == "kernel":
            return [str(self.programs / "kernel")]
        words = ["--mtu", str(mtu)]
        if side == "smoltcp":
            words += [
                "--port",
                str(task.port),
                "--sockets",
                str(task.sockets),
                "--buffer",
                str(task.buffer),
            ]
            return [str(self.programs / "smoltcp"), *words]
        return [str(self.programs / "ours"), *words, *(["--offload"] if "offload" in side else [])]

    def measure(self, side: str, task: Task, *, mtu: int = 1500) -> Score:
        """Do a task once."""
        load = str(self.programs / "load")
        with ExitStack() as stack:
            inside = stack.enter_context(namespace("client"))
            where = inside
            if side == "kernel":
                where = stack.enter_context(namespace("server"))
                join(where, inside)
            server = stack.enter_context(running([*where, *self.server(side, task, mtu)]))
            if task.held:
                hold = [*inside, load, "hold", "--connections", str(task.held)]
                stack.enter_context(running(hold, stdin=subprocess.PIPE))
            before = cpu_s(server)
            command = [*inside, load, *task.load, "--milliseconds", str(round(1000 * self.seconds))]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            after = cpu_s(server)
            if done.returncode != 0 or server.poll() is not None:
                raise BenchError(
                    f"{task.name}, {side}: {done.stderr.strip() or 'the server ended'}"
                )
        said = json.loads(done.stdout)
        return Score(
            count=(said["bytes"] if task.unit == "MB" else said["answers"]) / task.scale,
            elapsed_s=said["nanoseconds"] / 1e9,
            cpu_s=after[0] - before[0],
            user_s=after[1] - before[1],
        )

    def idle_bytes(self) -> float:
        """Memory of our host for each of many connections that are open, have been used, and are idle."""
        with ExitStack() as stack:
            inside = stack.enter_context(namespace("client"))
            server = stack.enter_context(running([*inside, *self.server("ours", TASKS[0], 1500)]))
            hold = [*inside, str(self.programs / "load"), "hold", "--connections"]
            stack.enter_context(running([*hold, "10"], stdin=subprocess.PIPE))
            before = private_bytes(server)
            stack.enter_context(running([*hold, str(HELD)], stdin=subprocess.PIPE))
            time.sleep(0.5)
            return (private_bytes(server) - before) / HELD


def spread(values: Sequence[float]) -> str:
    """Median, least and most."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def per_user_s(scores: Sequence[Score]) -> float:
    """Over all turns, for ticks are coarse."""
    return sum(score.count for score in scores) / max(
        sum(score.user_s for score in scores), 1 / TICKS_PER_S
    )


def compare(
    bench: Bench, task: Task, *, sides: Sequence[str], turns: int, mtu: int = 1500
) -> dict[str, list[float]]:
    """Measure all sides in turns, print what came of it, and return each side's ratios to smoltcp per CPU second."""
    print(f"\n{task.name}{'' if mtu == 1500 else f', MTU {mtu}'} ({task.unit}s)")
    scores: dict[str, list[Score]] = {side: [] for side in sides}
    for turn in range(turns):
        # Another side begins each time.
        for place in range(len(sides)):
            side = sides[(turn + place) % len(sides)]
            scores[side].append(bench.measure(side, task, mtu=mtu))
    theirs = scores["smoltcp"]
    print(
        f"  {'':14} {'a second':>9} {'a CPU second':>13}   {'times smoltcp, per CPU second':30}   of user time only"
    )
    ratios = {}
    for side, ours in scores.items():
        ratios[side] = [
            our.per_cpu_s / their.per_cpu_s for our, their in zip(ours, theirs, strict=True)
        ]
        speed = statistics.median(score.count / score.elapsed_s for score in ours)
        cost = statistics.median(score.per_cpu_s for score in ours)
        user = per_user_s(ours) / per_user_s(theirs)
        print(
            f"  {side:14} {speed:9.0f} {cost:13.0f}   {spread(ratios[side]):30} {user:19.2f}",
            flush=True,
        )
    return ratios


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare at every task; status 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a measurement")
    parser.add_argument("--task", type=int, choices=range(len(TASKS)), help="only this one")
    given = parser.parse_args(arguments)
    try:
        check_machine()
        bench = Bench(build(), given.seconds)
    except BenchError as error:
        print(f"could not run: {error}", file=sys.stderr)
        return CANNOT_RUN
    verdicts = []
    try:
        for task in TASKS if given.task is None else [TASKS[given.task]]:
            ratio = statistics.median(
                compare(bench, task, sides=SIDES, turns=given.turns)["ours, offload"]
            )
            verdicts.append(
                (f"{task.name}: {ratio:.2f} times smoltcp (asked for {TARGET:g})", ratio >= TARGET)
            )
            if task.unit == "MB":
                # The longest packets, in place of offload.
                compare(bench, task, sides=("smoltcp", "ours"), turns=given.turns, mtu=65_000)
        if given.task is None:
            idle = bench.idle_bytes()
            verdicts.append(
                (
                    f"{HELD} connections: {idle:.0f} bytes each (asked for {MOST_BYTES_IDLE})",
                    idle < MOST_BYTES_IDLE,
                )
            )
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return conclude(verdicts)


if __name__ == "__main__":
    sys.exit(main())
