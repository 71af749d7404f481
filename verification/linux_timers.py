"""Measure in which order the kernel's timers of one slot expire, and compare the simulator.

    python verification/linux_timers.py [--seconds 15]

Two groups of connections overload a link, so that retransmission timers expire in the same slot of
Linux's timer wheel. `enqueue_timer` of the kernel adds a timer to the head of its slot, so the last one
armed expires first. Of retransmissions that leave together, the one whose connection was silent for a
shorter time must leave first in three of four pairs. A random order has half of them. Each processor has
a wheel, so pairs of two processors have no order. It needs root, TUN and BPF, and exits with 77 without
them.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import Final

from _live import CannotRunError, Verdicts, main
from cure_fairness import CASES, PORTS, captured, segments, simulated

from tcpsf import RunResult
from tcpsf.live.network import enter

REMEDY: Final = "dup-tail"
"""Its copies make the overload."""
SLOT_S: Final = 0.0005
"""Maximum time between two retransmissions of one slot."""
SAME_S: Final = 0.001
"""Timers that were armed within this time are in no order."""
SHARE: Final = 0.75
"""Least share of the pairs in the kernel's order."""

Transmission = tuple[Hashable, float]
"""A connection, and the time at which it sends data, in seconds."""


def measured(capture: Path) -> Iterator[Transmission]:
    """Return the transmissions of the group without a remedy, whose segments leave once."""
    for one in segments(capture):
        if one.end == "outside" and one.source == PORTS["plain"] and one.payload > 0:
            yield one.target, one.time_ns / 1e9


def of_simulation(result: RunResult) -> Iterator[Transmission]:
    """Return the transmissions of this group in the simulator."""
    columns = result.packets.select("event", "workload", "payload_bytes", "time_s")
    for event, workload, payload, time_s in columns.iter_rows():
        if event == "sent" and payload and workload.startswith("plain"):
            yield workload, time_s


def pairs(sent: Iterable[Transmission]) -> tuple[int, int]:
    """Count the pairs of one slot, and those with the later armed timer first."""
    last_s: dict[Hashable, float] = {}
    slots: list[list[tuple[float, float]]] = []
    for connection, time_s in sent:
        armed_s = last_s.get(connection)
        last_s[connection] = time_s
        if armed_s is None:
            continue
        if not slots or time_s - slots[-1][-1][0] > SLOT_S:
            slots.append([])
        slots[-1].append((time_s, armed_s))
    found = [
        first > second
        for slot in slots
        for (_, first), (_, second) in itertools.combinations(slot, 2)
        if abs(first - second) > SAME_S
    ]
    return len(found), sum(found)


def work(verdicts: Verdicts) -> None:
    """Measure, simulate, and judge."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=15.0)
    options = parser.parse_args()
    if os.geteuid() != 0:
        message = "it needs root"
        raise CannotRunError(message)
    enter()
    case = CASES[0]
    with tempfile.TemporaryDirectory(prefix="tcpsf-timers-") as folder:
        capture = captured(case, REMEDY, Path(folder), seed=1, seconds=options.seconds)
        kernel = pairs(measured(capture))
    result = simulated(case, REMEDY, seed=1, seconds=options.seconds)
    for name, (total, reverse) in {
        "kernel": kernel,
        "simulator": pairs(of_simulation(result)),
    }.items():
        text = f"{name}: the timer armed last expires first in {reverse} of {total} pairs"
        verdicts.report(text, holds=total >= 50 and reverse >= SHARE * total)


if __name__ == "__main__":
    sys.exit(main(work))
