"""Compare `tcpsf link` with mahimahi, toxiproxy and tc-netem(8): timing, speed, loss and jitter.

All have the same client and server, which are small Python programs on the kernel's TCP (CUBIC)
and UDP. The measurements alternate between the emulators, several times. Each has new network
namespaces, which are deleted at its end. ``--page FILE`` writes docs/reference/emulators.md.
"""

# ruff: noqa: T201 (this program prints measurements)

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from _emulators_page import REASONS, Column, Measured, Results, Row, page, table, worse
from _link_emulators import ALL, OURS, Emulator, Nothing, WantedPath, output
from _measure import conclude
from _network import CANNOT_RUN, BenchError, check_machine, namespace, running

from tcpsf.stats import proportion

PORT = 7009
CONGESTION = "cubic"
HERE = Path(__file__).parent
CLIENTS = ("_bulk.py", "_exchange.py", "_connection.py")
"""Files of the clients."""

DELAY_MS, LOSS, JITTER_MS = 20, 0.02, 5
RATE_MBPS = 1000
MESSAGES, GAP_MS = 600, 5.0
JITTERED, JITTERED_GAP_MS = 400, 20.0
"""Messages have a distance of 10 ms at least, the width of the jitter: none waits for another."""

DATAGRAMS = 20_000
SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A measurement: a path, and the words of the client."""

    path: WantedPath
    client: str
    words: tuple[str, ...]
    """Words of the client: the first one follows the program, the others address and port."""


ECHO = ("echo", str(MESSAGES), str(GAP_MS))
BULK = ("fetch", str(SECONDS))
COUNT = ("datagrams", str(DATAGRAMS))
TASKS = {
    "echo": Task(path=WantedPath(delay_ms=DELAY_MS), client="_exchange.py", words=ECHO),
    "bulk": Task(path=WantedPath(delay_ms=1), client="_bulk.py", words=BULK),
    "gigabit": Task(path=WantedPath(rate_mbps=RATE_MBPS), client="_bulk.py", words=BULK),
    "kept": Task(path=WantedPath(up_loss=0.0), client="_exchange.py", words=COUNT),
    "lost": Task(path=WantedPath(up_loss=LOSS), client="_exchange.py", words=COUNT),
    "jitter": Task(
        path=WantedPath(delay_ms=DELAY_MS, up_jitter_ms=JITTER_MS),
        client="_exchange.py",
        words=("echo", str(JITTERED), str(JITTERED_GAP_MS)),
    ),
}


@dataclass(slots=True)
class Subject:
    """An emulator with its results."""

    emulator: Emulator
    version: str
    missing: str | None = None
    """The reason why it cannot run here."""
    results: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


def measure(emulator: Emulator, task: Task, folder: Path, *, seed: int) -> dict[str, Any]:
    """Measure one path once, and return the object that the client prints."""
    path = replace(task.path, seed=seed)
    with ExitStack() as stack:
        where = stack.enter_context(namespace("server"))
        words = [CONGESTION] if task.client == "_bulk.py" else []
        serve = [PYTHON, str(folder / task.client), "serve", str(PORT), *words]
        server = stack.enter_context(running([*where, *serve]))
        way = emulator.make(stack, where, PORT, path)
        environment = {"BENCH_ROOT": str(os.getpid()), "BENCH_SERVER": str(server.pid)}
        first, *rest = task.words
        client = [PYTHON, str(folder / task.client), first, way.host, str(way.port), *rest]
        stack.enter_context(punctual(str(folder / "_exchange.py")))
        text = output([*way.prefix, *client], environment={**environment, **way.environment})
    lines = [line for line in text.splitlines() if line.startswith("{")]
    if len(lines) != 1:
        raise BenchError(f"{emulator.name}: the client printed {text!r}")
    found: dict[str, Any] = json.loads(lines[0])
    return {**found, "asked_s": 2e-3 * task.path.delay_ms if way.has_delay else 0.0}


@contextmanager
def punctual(program: str) -> Iterator[None]:
    """Give real-time priority to clients that wait for it: those in mahimahi are not root."""
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(0.1):
            for file in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    if program.encode() in file.read_bytes().split(b"\0"):
                        process = int(file.parent.name)
                        os.sched_setscheduler(process, os.SCHED_RR, os.sched_param(1))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
"""A Python that every user may run: the shells of mahimahi refuse root."""


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile of values, linear between them."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    return ordered[low] + (place - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


def late_us(result: Mapping[str, Any], share: float) -> float:
    """Return a quantile of the time beyond the round trip that was asked, in microseconds."""
    return (quantile(result["rtt_s"], share) - float(result["asked_s"])) * 1e6


def quartiles_ms(result: Mapping[str, Any]) -> float:
    """Return the distance of the quartiles of round-trip times, in milliseconds."""
    return 1e3 * (quantile(result["rtt_s"], 0.75) - quantile(result["rtt_s"], 0.25))


def furthest_decile_ms(result: Mapping[str, Any]) -> float:
    """Return the largest distance between a decile and the asked one, in milliseconds.

    The distances are relative to the median: a constant delay is no error of the jitter.
    """
    times = result["rtt_s"]
    middle = quantile(times, 0.5)
    return max(
        abs(1e3 * (quantile(times, tenth / 10) - middle) - JITTER_MS * (2 * tenth / 10 - 1))
        for tenth in range(1, 10)
    )


def lost_percent(results: Results) -> Measured | None:
    """Return the share of lost datagrams in percent, with Wilson's 95 % interval."""
    sent = sum(result["sent"] for result in results)
    found = proportion(sent - sum(result["received"] for result in results), sent)
    if found is None:
        return None
    return Measured(value=100 * found.value, low=100 * found.low, high=100 * found.high)


def each_turn(value: Callable[[Mapping[str, Any]], float]) -> Callable[[Results], Measured | None]:
    """Return the median of a value over the turns, with minimum and maximum."""

    def over_turns(results: Results) -> Measured | None:
        values = [value(result) for result in results]
        return Measured(value=statistics.median(values), low=min(values), high=max(values))

    return over_turns


def gbps(result: Mapping[str, Any]) -> float:
    """Return the rate of the stream, without headers."""
    return float(result["bytes"]) * 8e-9 / float(result["seconds"])


def per_gb(key: str) -> Callable[[Mapping[str, Any]], float]:
    """Return CPU seconds for each gigabyte of the stream."""
    return lambda result: float(result[key]) / (float(result["bytes"]) * 1e-9)


COLUMNS = (
    Column(
        key="late",
        head="lateness, µs: p50",
        task="echo",
        digits=0,
        best="low",
        value=each_turn(lambda result: late_us(result, 0.5)),
    ),
    Column(
        key="p99",
        long="lateness, µs: p99",
        head="p99",
        task="echo",
        digits=0,
        best="low",
        value=each_turn(lambda result: late_us(result, 0.99)),
    ),
    Column(
        key="speed",
        head="Gb/s without a rate",
        task="bulk",
        digits=2,
        best="high",
        value=each_turn(gbps),
    ),
    Column(
        key="gigabit",
        head="Gb/s of 1",
        task="gigabit",
        digits=3,
        best="high",
        value=each_turn(gbps),
    ),
    Column(
        key="cpu",
        long="CPU s/GB at 1 Gb/s",
        head="CPU s/GB: emulator",
        task="gigabit",
        digits=2,
        best="low",
        value=each_turn(per_gb("cpu_s")),
    ),
    Column(
        key="all cpu",
        long="CPU s/GB with both ends",
        head="with both ends",
        task="gigabit",
        digits=2,
        best="low",
        value=each_turn(per_gb("all_cpu_s")),
    ),
    Column(
        key="memory",
        head="memory, MiB",
        task="gigabit",
        digits=0,
        best="low",
        value=each_turn(lambda result: float(result["peak_mb"])),
    ),
    Column(
        key="lost",
        is_speed=False,
        head="lost of 2 %, %",
        task="lost",
        digits=3,
        best=100 * LOSS,
        value=lost_percent,
    ),
    Column(
        key="kept",
        is_speed=False,
        head="lost of 0, %",
        task="kept",
        digits=4,
        best=0.0,
        value=lost_percent,
    ),
    Column(
        key="quartiles",
        is_speed=False,
        head="jitter, ms: quartiles",
        task="jitter",
        digits=2,
        best=float(JITTER_MS),
        value=each_turn(quartiles_ms),
    ),
    Column(
        key="decile",
        long="jitter, ms: furthest decile",
        is_speed=False,
        head="furthest decile",
        task="jitter",
        digits=2,
        best="low",
        value=each_turn(furthest_decile_ms),
    ),
)


def take_turns(subjects: Sequence[Subject], turns: int, folder: Path) -> None:
    """Measure every task of every emulator, alternately."""
    for turn in range(turns):
        for name, task in TASKS.items():
            for place in range(len(subjects)):
                # Each turn begins with another emulator.
                subject = subjects[(turn + place) % len(subjects)]
                if subject.missing is None and subject.emulator.offers(task.path):
                    found = measure(subject.emulator, task, folder, seed=turn + 1)
                    subject.results.setdefault(name, []).append(found)
        print(f"  turn {turn + 1} of {turns}", flush=True)


def found_subjects() -> list[Subject]:
    """Return the emulators, with the reason for each that cannot run here.

    Raises `BenchError` if no emulator of another project can.
    """
    subjects = []
    for emulator in ALL:
        try:
            subjects.append(Subject(emulator, emulator.version()))
        except BenchError as error:
            subjects.append(Subject(emulator, "–", missing=str(error)))
    if all(each.missing for each in subjects if each.emulator.name not in (OURS, Nothing.name)):
        reasons = "; ".join(f"{each.emulator.name}: {each.missing}" for each in subjects)
        raise BenchError(f"no other emulator: {reasons}")
    return subjects


def with_clients(subjects: Sequence[Subject], turns: int) -> None:
    """Copy the clients to a folder that every user may read, and measure."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for client in CLIENTS:
            shutil.copy(HERE / client, folder)
            (folder / client).chmod(0o644)
        take_turns(subjects, turns, folder)


def verdicts(rows: Sequence[Row]) -> list[tuple[str, bool]]:
    """Return the targets, and whether they are met."""
    ours = rows[0].results
    kept, lost = lost_percent(ours["kept"]), lost_percent(ours["lost"])
    if kept is None or lost is None:
        raise BenchError("no datagrams were sent")
    unexplained = [pair for pair in worse(COLUMNS, rows, ours=OURS) if pair not in REASONS]
    return [
        (f"{kept.value:.4f} % of datagrams lost without a loss (target 0)", kept.value == 0.0),
        (
            f"{lost.low:.3f} to {lost.high:.3f} % lost (target 2 inside)",
            lost.low <= 100 * LOSS <= lost.high,
        ),
        (f"worse without a known reason: {unexplained or 'none'} (target none)", not unexplained),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table and write the page; the exit status is 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--page", type=Path, help="write the page to this file")
    parser.add_argument("--data", type=Path, help="write all results to this file, as JSON")
    given = parser.parse_args(arguments)
    try:
        check_machine()
        subjects = found_subjects()
    except BenchError as error:
        print(f"could not run: {error}", file=sys.stderr)
        return CANNOT_RUN
    load = os.getloadavg()[0]
    try:
        with_clients(subjects, given.turns)
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    rows = [
        Row(
            name=each.emulator.name,
            version=each.version,
            missing=each.missing,
            results=each.results,
        )
        for each in subjects
    ]
    print(table(COLUMNS, rows))
    if given.page is not None:
        text = page(COLUMNS, rows, ours=OURS, turns=given.turns, load=load)
        given.page.write_text(text, encoding="utf-8")
    if given.data is not None:
        data = {row.name: row.results for row in rows}
        given.data.write_text(json.dumps(data), encoding="utf-8")
    return conclude(verdicts(rows))


if __name__ == "__main__":
    sys.exit(main())
