"""Compare our host with smoltcp, as servers on TUN devices for clients of this kernel.

The result is the data transferred, or the number of answers, per second of the server's CPU time.
Most of that time is spent in writes to the TUN device, because the kernel's receiving TCP runs
there. Therefore a separate column has user time only. The kernel's TCP over a veth pair shows the
limit.

peers/ contains the programs. On each connection, all servers do the same work: they send without
end, receive data, or answer each 120 bytes with 1000.

Each measurement has new network namespaces for server and client, which are deleted at its end. The
measurements of the servers alternate, and a ratio is computed within each turn.
"""

# ruff: noqa: T201, S603 (this program prints measurements; it starts cargo and compiled programs)

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
    """A task of the client, and the sockets of smoltcp for it."""

    name: str
    load: tuple[str, ...]
    port: int
    """Port of all of smoltcp's sockets."""
    sockets: int
    """Number of smoltcp's sockets: with more it is slower, with fewer it refuses connections."""
    buffer: int
    """Size of each of smoltcp's buffers in bytes.

    Our buffers grow with their use, up to the size in the first task.
    """
    unit: str
    scale: float
    held: int = 0
    """Number of additional connections that are open and idle."""


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
        name="one connection per request, 100 at once",
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
    """Result of one measurement."""

    count: float
    """Megabytes, or thousands of answers."""
    elapsed_s: float
    cpu_s: float
    user_s: float
    """User time within the CPU time; it is counted in ticks, so a few ticks are inaccurate."""

    @property
    def per_cpu_s(self) -> float:
        """Megabytes, or thousands of answers, per second of the server's CPU time."""
        return self.count / self.cpu_s


def build() -> Path:
    """Compile the programs and return the folder that contains them."""
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
    """CPU time and user time of a running process, in seconds."""
    folder = Path("/proc", str(process.pid))
    spent_ns = int((folder / "schedstat").read_text().split()[0])
    fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
    return spent_ns / 1e9, int(fields[11]) / TICKS_PER_S


def private_bytes(process: subprocess.Popen[str]) -> int:
    """Private memory of a process, in bytes."""
    rows = Path("/proc", str(process.pid), "smaps_rollup").read_text().splitlines()
    return sum(1024 * int(row.split()[1]) for row in rows if row.startswith("Private_Dirty"))


class Bench:
    """The compiled programs and the length of a measurement."""

    def __init__(self, programs: Path, seconds: float) -> None:
        """Store the folder of the programs and the length of a measurement in seconds."""
        self.programs, self.seconds = programs, seconds

    def server(self, side: str, task: Task, mtu: int) -> list[str]:
        """The command line of a server."""
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
        """Measure one server at one task once."""
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
        result = json.loads(done.stdout)
        return Score(
            count=(result["bytes"] if task.unit == "MB" else result["answers"]) / task.scale,
            elapsed_s=result["nanoseconds"] / 1e9,
            cpu_s=after[0] - before[0],
            user_s=after[1] - before[1],
        )

    def idle_bytes(self) -> float:
        """Memory of our host for each idle connection that has been used, in bytes."""
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
    """Median, minimum and maximum, as text."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def per_user_s(scores: Sequence[Score]) -> float:
    """Result per second of user time, over all turns, because user time is counted in ticks."""
    return sum(score.count for score in scores) / max(
        sum(score.user_s for score in scores), 1 / TICKS_PER_S
    )


def compare(
    bench: Bench, task: Task, *, sides: Sequence[str], turns: int, mtu: int = 1500
) -> dict[str, list[float]]:
    """Measure all servers alternately and print the results.

    Returns each server's ratios to smoltcp, per CPU second.
    """
    print(f"\n{task.name}{'' if mtu == 1500 else f', MTU {mtu}'} (unit: {task.unit})")
    scores: dict[str, list[Score]] = {side: [] for side in sides}
    for turn in range(turns):
        # Each turn begins with another server.
        for place in range(len(sides)):
            side = sides[(turn + place) % len(sides)]
            scores[side].append(bench.measure(side, task, mtu=mtu))
    theirs = scores["smoltcp"]
    print(
        f"  {'':14} {'per s':>9} {'per CPU s':>13}   {'÷ smoltcp, per CPU s':30}   per user s only"
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
    """Compare the servers at every task; the exit status is 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a measurement")
    parser.add_argument("--task", type=int, choices=range(len(TASKS)), help="run only this task")
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
                (f"{task.name}: {ratio:.2f} times smoltcp (target {TARGET:g})", ratio >= TARGET)
            )
            if task.unit == "MB":
                # The largest IP packets, in place of offload.
                compare(bench, task, sides=("smoltcp", "ours"), turns=given.turns, mtu=65_000)
        if given.task is None:
            idle = bench.idle_bytes()
            verdicts.append(
                (
                    f"{HELD} connections: {idle:.0f} bytes each (target {MOST_BYTES_IDLE})",
                    idle < MOST_BYTES_IDLE,
                )
            )
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return conclude(verdicts)


if __name__ == "__main__":
    sys.exit(main())
