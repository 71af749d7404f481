"""Measure what a remedy does to connections without it on the same full queue.

    python verification/cure_fairness.py [--runs 5] [--seconds 15] [--page PAGE.md]

A server of the kernel's TCP listens at two ports, and a remedy is for the connections of one. Clients of
both share a link with a finite queue. Runs with a remedy are paired with those without it: requests are
sent at the same times. Each situation is also simulated, with requests at these times. The
changes of the completion times of connections without a remedy must agree in nine of ten cells: the 95 %
intervals of the measured and the simulated one overlap. Cells of `fs`, which the simulated sender applies
to more segments, do not count. It needs root, TUN and BPF, and exits with 77 without them.
"""

# ruff: noqa: S603, T201 (this module runs programs and prints verdicts)

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shlex
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import _cure_fairness_page
from _cure_fairness_page import FairnessCell, FairnessRun, Group
from _live import CannotRunError, Verdicts, main
from _pcapng import records

from tcpsf import RunResult, Scenario, run
from tcpsf.cure import CurePolicy
from tcpsf.lab.client import TIMEOUT_S, arrivals
from tcpsf.lab.server import header
from tcpsf.live.network import enter

REMEDIES: Final = ("dup-tail", "dup-tail(delay=10ms)", "tail(n=4)", "fs(n=40, min=11)")
PORTS: Final = {"plain": 8001, "remedied": 8002}
RTT_S: Final = 0.04
LOAD: Final = 0.9
"""Share of the capacity that the responses without a remedy take."""
OVERHEAD: Final = 400
"""Bytes of a response's headers, of its handshake and of its acknowledgments, about."""
LONG_BEGIN_S, LONG_END_S = 3.0, 15.0
"""Time in which the shares of long transfers are measured, from the first packet."""
SHARE: Final = 0.9
"""Least share of the cells in which the simulator agrees."""


@dataclass(frozen=True, slots=True)
class FairnessCase:
    """Responses of both groups, and their bottleneck."""

    title: str
    text: str
    size: int
    bits_per_s: float
    queue_bytes: int
    long: int = 0
    """Number of long transfers of each group that begin together; 0 for short responses."""

    @property
    def requests_per_s(self) -> float:
        """Rate of the requests of one group."""
        if self.long:
            return 1000.0
        return LOAD * self.bits_per_s / 8 / (self.size + OVERHEAD) / 2


CASES: Final = (
    FairnessCase(
        "Responses of 1200 B",
        "A link of 2 Mb/s with a queue of 15 kB.",
        1200,
        2e6,
        15_000,
    ),
    FairnessCase(
        "Responses of 14 kB",
        "A link of 10 Mb/s with a queue of 62.5 kB.",
        14_000,
        10e6,
        62_500,
    ),
    FairnessCase(
        "Long transfers",
        "Two long transfers of each group share a link of 10 Mb/s with a queue of 62.5 kB.",
        8_000_000,
        10e6,
        62_500,
        long=2,
    ),
)


def measured(case: FairnessCase, remedy: str | None, *, seed: int, seconds: float) -> FairnessRun:
    """Measure both groups on the kernel."""
    with tempfile.TemporaryDirectory(prefix="tcpsf-fairness-") as place:
        folder = Path(place)
        capture = captured(case, remedy, folder, seed=seed, seconds=seconds)
        times = {name: json.loads((folder / name).read_text(encoding="utf-8")) for name in PORTS}
        return from_capture(case, capture, times)


def captured(
    case: FairnessCase, remedy: str | None, folder: Path, *, seed: int, seconds: float
) -> Path:
    """Run both groups on the kernel. Return the capture; the times of a group are in its file."""
    capture = folder / "packets.pcapng"
    clients = [client(case, name, folder, seed=seed, seconds=seconds) for name in PORTS]
    link = [sys.executable, "-m", "tcpsf", "link", "-q", "--delay", f"{RTT_S / 2}s"]
    link += ["--down-rate", f"{case.bits_per_s / 1e6:g}Mb/s"]
    link += ["--down-queue", f"{case.queue_bytes}B", "--seed", str(seed), "--no-offload"]
    link += ["--pcap", str(capture), "--pcap-at", "both", "--pcap-bytes", "80"]
    link += ["--outside", shlex.join(server(remedy)), "--", "sh", "-c"]
    link += [" & ".join(map(shlex.join, clients)) + " & wait"]
    done = subprocess.run(link, check=False, capture_output=True, text=True, timeout=300)
    if done.returncode:
        message = f"`tcpsf link` ended with {done.returncode}: {done.stderr}"
        raise RuntimeError(message)
    return capture


def server(remedy: str | None) -> list[str]:
    """Return the command of the server, with a remedy for one port."""
    command = [sys.executable, "-m", "tcpsf.lab.server", *map(str, PORTS.values())]
    if remedy is None:
        return command
    cure = [sys.executable, "-m", "tcpsf", "cure", "run", "-q", "--policy", remedy]
    return [*cure, "--port", str(PORTS["remedied"]), "--", *command]


def client(
    case: FairnessCase, name: str, folder: Path, *, seed: int, seconds: float
) -> Sequence[str]:
    """Return the command of the client of a group."""
    wanted = {
        "address": None,
        "port": PORTS[name],
        "paths": [f"/{case.size}"],
        "requests": case.long or round(seconds * case.requests_per_s),
        "responses": 1,
        "rate": case.requests_per_s,
        "seed": seed_of(name, seed),
        "out": str(folder / name),
    }
    settings = folder / f"{name}.json"
    settings.write_text(json.dumps(wanted), encoding="utf-8")
    return [sys.executable, "-m", "tcpsf.lab.client", str(settings)]


def seed_of(name: str, seed: int) -> str:
    """Return the random seed of a group's request times."""
    return f"{name} {seed}"


@dataclass(frozen=True, slots=True)
class Segment:
    """A packet of a capture: the end of the link, its time, ports and number of data bytes."""

    end: str
    time_ns: int
    source: int
    target: int
    payload: int


def segments(capture: Path) -> Iterator[Segment]:
    """Yield the packets of a capture of TCP over IPv4 without options."""
    for one in records(capture):
        source, target = struct.unpack_from("!HH", one.data, 20)
        (length,) = struct.unpack_from("!H", one.data, 2)
        payload = length - 20 - 4 * (one.data[32] >> 4)
        yield Segment(one.name, one.time_ns, source, target, payload)


def from_capture(
    case: FairnessCase, capture: Path, times: dict[str, list[float | None]]
) -> FairnessRun:
    """Count the packets of the groups at both ends of the link."""
    sent: Counter[str] = Counter()
    arrived: Counter[str] = Counter()
    received: Counter[str] = Counter()
    names = {port: name for name, port in PORTS.items()}
    begin_ns = 0
    for one in segments(capture):
        begin_ns = begin_ns or one.time_ns
        if one.source not in names or one.payload <= 0:
            continue
        if one.end == "outside":
            sent[names[one.source]] += 1
            continue
        arrived[names[one.source]] += 1
        if LONG_BEGIN_S <= (one.time_ns - begin_ns) / 1e9 < LONG_END_S:
            received[names[one.source]] += one.payload
    return run_of(times, sent, sent - arrived, received, is_long=bool(case.long))


def run_of(
    times: dict[str, list[float | None]],
    sent: Counter[str],
    dropped: Counter[str],
    received: Counter[str],
    *,
    is_long: bool,
) -> FairnessRun:
    """Return a run of completion times in seconds, numbers of packets and received bytes."""
    return FairnessRun(
        {
            name: Group(
                mean_s=None if is_long else mean(times[name]),
                dropped=dropped[name] / sent[name],
                share=received[name] / received.total() if is_long else None,
            )
            for name in PORTS
        }
    )


def mean(times: Sequence[float | None]) -> float:
    """Return the mean of the completion times in seconds."""
    known = [each for each in times if each is not None]
    return sum(known) / len(known)


def simulated(case: FairnessCase, remedy: str | None, *, seed: int, seconds: float) -> RunResult:
    """Simulate both groups with Linux's sender."""
    with_remedy = "linux" if remedy is None else CurePolicy.parse(remedy).sender
    half = f"{1e9 * RTT_S / 2:.0f}ns"
    down = {
        "rate": f"{case.bits_per_s / 1e6:g}Mb/s",
        "delay": half,
        "buffer": {"bytes": f"{case.queue_bytes}B"},
    }
    senders = {"plain": "linux", "remedied": with_remedy}
    draw = random.Random(seed)  # noqa: S311 (no secret)
    workloads = [
        workload
        for name, sender in senders.items()
        for workload in (
            [long_transfers(case, name, sender, draw)]
            if case.long
            else responses(case, name, sender, seed=seed, seconds=seconds)
        )
    ]
    scenario: dict[str, Any] = {
        "name": "fairness",
        "duration": f"{seconds + TIMEOUT_S}s",
        "trace": [each["name"] for each in workloads],
        "tcp": {"profile": "linux-6.18"},
        "link": [
            {"name": "down", "from": "server", "to": "client"} | down,
            {"name": "up", "from": "client", "to": "server", "delay": half, "rate": "10Gb/s"},
        ],
        "workload": workloads,
    }
    return run(Scenario.from_dict(scenario), seed=seed)


def from_simulation(case: FairnessCase, result: RunResult) -> FairnessRun:
    """Count the packets of the groups, and their completion times."""
    sent: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    received: Counter[str] = Counter()
    opened_s: dict[tuple[str, int], float] = {}
    columns = result.packets.select(
        "event", "workload", "payload_bytes", "from", "time_s", "control", "flow"
    )
    for event, workload, payload, end, time_s, control, flow in columns.iter_rows():
        group = group_of(workload)
        if end == "sender" and control == "SYN" and event == "arrived":
            opened_s.setdefault((workload, flow), time_s)
        elif end == "sender" and payload:
            sent[group] += event == "sent"
            dropped[group] += str(event).startswith("dropped")
            if event == "arrived" and LONG_BEGIN_S <= time_s < LONG_END_S:
                received[group] += payload
    times: dict[str, list[float | None]] = {name: [] for name in PORTS}
    # The client sends its request when the handshake is complete, and measures from then on.
    ends = result.flows.select("workload", "flow", "start_s", "receiver_s")
    for workload, flow, start_s, time_s in ends.iter_rows():
        if (group := group_of(workload)) in times:
            duration_s = None if time_s is None else start_s + time_s - opened_s[workload, flow]
            times[group].append(duration_s)
    return run_of(times, sent, dropped, received, is_long=bool(case.long))


def group_of(workload: str) -> str:
    """Return the group of a workload, whose name begins with it."""
    return workload.partition(" ")[0]


def responses(
    case: FairnessCase, name: str, sender: str, *, seed: int, seconds: float
) -> list[dict[str, Any]]:
    """Return workloads of one response each, requested at the times of `client`.

    The server closes a connection after the client. Its FIN is in a packet of its own, that of the
    simulated sender in the last segment. Another workload sends a packet of this size.
    """
    found: list[dict[str, Any]] = []
    times_s = arrivals(seed_of(name, seed), case.requests_per_s)
    requests = round(seconds * case.requests_per_s)
    for number, at_s in enumerate(itertools.islice(times_s, requests)):
        ends = {"kind": "transfers", "from": "server", "to": "client"}
        found.append(
            {
                "name": f"{name} {number}",
                "sender": sender,
                "handshake": True,
                "opener": "receiver",
                "start": f"{at_s * 1e9:.0f}ns",
                "sizes": [case.size + len(header(case.size))],
            }
            | ends
        )
        fin_s = at_s + 2.5 * RTT_S
        found.append(
            {
                "name": f"FIN {name} {number}",
                "sender": "linux",
                "start": f"{fin_s * 1e9:.0f}ns",
                "sizes": [1],
            }
            | ends
        )
    return found


def long_transfers(
    case: FairnessCase, name: str, sender: str, draw: random.Random
) -> dict[str, Any]:
    """Return the long transfers of a group. They begin at random times within 20 ms."""
    start, spacing = (f"{draw.uniform(0.0, 10e6):.0f}ns" for _ in range(2))
    return {
        "name": name,
        "kind": "transfers",
        "from": "server",
        "to": "client",
        "sender": sender,
        "handshake": True,
        "opener": "receiver",
        "sizes": [case.size] * case.long,
        "start": start,
        "spacing": spacing,
    }


def cell(
    case: FairnessCase, remedy: str | None, options: argparse.Namespace
) -> tuple[list[FairnessRun], list[FairnessRun]]:
    """Measure and simulate the runs of a cell."""
    seeds = range(1, options.runs + 1)
    found = [measured(case, remedy, seed=seed, seconds=options.seconds) for seed in seeds]
    # A run of the simulation takes less time than one of the kernel.
    more = range(1, 4 * options.runs + 1)
    predicted = [
        from_simulation(case, simulated(case, remedy, seed=seed, seconds=options.seconds))
        for seed in more
    ]
    print(f"{case.title}, {remedy or 'none'}: {len(found)} runs", flush=True)
    return found, predicted


def work(verdicts: Verdicts) -> None:
    """Measure all cells, write the page if one is named, and judge."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--page", type=Path, help="write the tables as Markdown")
    options = parser.parse_args()
    if os.geteuid() != 0:
        message = "it needs root"
        raise CannotRunError(message)
    enter()
    tables = []
    for case in CASES:
        baseline = cell(case, None, options)
        cells = [FairnessCell.of("none", baseline, baseline)]
        cells += [
            FairnessCell.of(remedy, baseline, cell(case, remedy, options)) for remedy in REMEDIES
        ]
        tables.append((case.title, case.text, bool(case.long), cells))
    if options.page is not None:
        page = _cure_fairness_page.page(tables, options.runs)
        options.page.write_text(page, encoding="utf-8")
    for title, _, is_long, cells in tables:
        for each in cells[1:]:
            verdict = "agrees" if each.agrees() else "differs"
            print(f"         {verdict}  {title}, {each.remedy}: {each.effect(is_long=is_long)}")
    every = [each for *_, cells in tables for each in cells[1:]]
    for is_known in (False, True):
        some = [each for each in every if each.remedy.startswith("fs") is is_known]
        agreed = sum(each.agrees() for each in some)
        text = f"the simulator agrees on the effect on others in {agreed} of {len(some)} cells"
        if is_known:
            print(f"         {text} of `fs`")
        else:
            verdicts.report(f"{text} without `fs`", holds=agreed >= SHARE * len(some))


if __name__ == "__main__":
    sys.exit(main(work))
