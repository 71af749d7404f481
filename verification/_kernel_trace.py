"""Causes of retransmissions, as the tracepoints of TCP in the kernel tell them."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from _linux_server import MOST, PORT

TRACING: Final = Path("/sys/kernel/tracing")

TIMEOUT, PROBE, RACK_TIMER = "timeout", "tail_loss_probe", "rack_timer"
DETECTED, REPAIR, SLOW_START = "rack", "recovery", "slow_start"

FUNCTIONS: Final = {
    "tcp_send_loss_probe": PROBE,
    "tcp_retransmit_timer": TIMEOUT,
    "tcp_rack_reo_timeout": RACK_TIMER,
}
"""Functions in the stack, and the causes that they are."""

RECOVERY: Final = 3
LOSS: Final = 4
"""Numbers of the states `TCP_CA_Recovery` and `TCP_CA_Loss`."""

ENTRY: Final = re.compile(r"^ *\S.*-\d+ +\[(\d+)\] (\S{5}) +([\d.]+): (.*)$")
"""Line of an event: processor, context, time in seconds, and text."""


@dataclass(slots=True)
class Event:
    """An event of a tracepoint."""

    context: str
    time_s: float
    """On the clock TAI."""
    text: str
    functions: set[str] = field(default_factory=set)
    """Functions in the stack. The kernel cannot follow the stack of every interrupt."""


def has_tracepoint(point: str) -> bool:
    """Return whether the kernel has a tracepoint. Mount the tracing file system where it is not."""
    if TRACING.is_dir() and not (TRACING / "events").is_dir():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACING], check=False)  # noqa: S603, S607
    return (TRACING / "events" / point).is_dir()


@contextlib.contextmanager
def tracing(points: Sequence[str], stack: str | None = None) -> Iterator[Path]:
    """Yield an instance of the tracing file system that records tracepoints, also the stack of one.

    A point is its folder in `events`, for example `tcp/tcp_probe`.
    """
    instance = TRACING / "instances" / f"tcpsf-{os.getpid()}"
    instance.mkdir()
    try:
        (instance / "buffer_size_kb").write_text("65536")
        (instance / "trace_clock").write_text("tai")
        if stack is not None:
            (instance / "events" / stack / "trigger").write_text("stacktrace")
        for point in points:
            (instance / "events" / point / "enable").write_text("1")
        yield instance
    finally:
        (instance / "events" / "enable").write_text("0")
        instance.rmdir()


def events(lines: Iterable[str]) -> list[Event]:
    """Return the events of a trace.

    A stack belongs to the last event of the same processor. Another processor may have an event
    between the two.
    """
    found: list[Event] = []
    last: dict[str, Event] = {}
    stack: set[str] | None = None
    for line in lines:
        entry = ENTRY.match(line)
        if entry is None:
            called = re.match(r" => (\w+)", line)
            if called is not None and stack is not None:
                stack.add(called[1])
            continue
        processor, context, time_s, text = entry.groups()
        if text == "<stack trace>":
            event = last.pop(processor, None)
            stack = None if event is None else event.functions
            continue
        stack = None
        last[processor] = Event(context, float(time_s), text)
        found.append(last[processor])
    return found


def kernel_causes(trace: str) -> dict[tuple[int, int], list[tuple[float, str]]]:
    """Times and causes of the retransmissions of each connection, by its two ports."""
    causes: defaultdict[tuple[int, int], list[tuple[float, str]]] = defaultdict(list)
    behind_s = time.clock_gettime(time.CLOCK_TAI) - time.clock_gettime(time.CLOCK_REALTIME)
    states: dict[tuple[int, int], int] = {}
    has_repaired: set[tuple[int, int]] = set()
    for event in events(trace.splitlines()):
        found = re.search(r"sport=(\d+) dport=(\d+)", event.text)
        if found is None:
            continue
        connection = int(found[1]), int(found[2])
        state = re.search(r"cong_state=(\d+)", event.text)
        if state is not None:
            # The loss of a repair after a timeout begins a fast recovery, which repeats it.
            if (states.get(connection), int(state[1])) != (LOSS, RECOVERY):
                has_repaired.discard(connection)
            states[connection] = int(state[1])
            continue
        if not PORT < connection[0] <= PORT + MOST or "state=TCP_SYN" in event.text:
            continue
        timer = timer_of(event, states.get(connection))
        if timer is not None:
            cause = timer
        elif states.get(connection) == LOSS:
            cause = SLOW_START
        else:
            cause = REPAIR if connection in has_repaired else DETECTED
        if cause != PROBE:
            has_repaired.add(connection)
        causes[connection].append((event.time_s - behind_s, cause))
    return causes


def timer_of(event: Event, state: int | None) -> str | None:
    """Cause of a retransmission by a timer; ``None`` for one by an acknowledgment.

    Without a stack, the context is the evidence: `tcpsf link` delivers acknowledgments in the
    context of its process, and timers run in a soft interrupt. The state follows the rules of
    Linux: only a probe leaves it.
    """
    if event.functions:
        return next((cause for name, cause in FUNCTIONS.items() if name in event.functions), None)
    if event.context[2] != "s":
        return None
    return {LOSS: TIMEOUT, RECOVERY: RACK_TIMER}.get(state or 0, PROBE)
