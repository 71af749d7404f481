"""The table of ``emulator_peers.py``, and the page docs/reference/emulators.md."""

from __future__ import annotations

import os
import platform
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Results = Sequence[Mapping[str, Any]]
NONE = "–"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A value with the ends of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of the table."""

    key: str
    head: str
    task: str
    digits: int
    best: Literal["low", "high"] | float
    """The better end of the values, or the value that was asked."""
    value: Callable[[Results], Measured | None]
    is_speed: bool = True
    """Whether the column is in the first table, and not in the second one."""
    long: str | None = None
    """Name of the column outside of the table, if its head needs the one before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An emulator."""

    name: str
    version: str
    missing: str | None
    """The reason why it did not run."""
    results: Mapping[str, Results]
    """Results of its runs, by task."""

    def estimate(self, column: Column) -> Measured | None:
        """Return the value in a column, if the emulator was measured."""
        results = self.results.get(column.task)
        return column.value(results) if results else None


WAKE_UPS = (
    "`tcpsf link` delivers each packet at its own time, or at most 50 µs later with the packets of "
    "its segment, so it wakes up some 28 000 times in a second, and the receiver with it. "
)
PER_PACKET = (
    "toxiproxy has no packets: it passes what it reads from a connection, here up to 32 kB at a time, "
    "and the kernel hands the stream over as 64 kB segments on the loopback interface."
)
PER_MS = (
    "The opportunities of mm-link are whole milliseconds: it sleeps between groups of 83 packets."
)
PYTHON = (
    "The process is a Python interpreter with the command line. The other programs are compiled."
)
REASONS = {
    ("cpu", "mahimahi"): WAKE_UPS + PER_MS,
    ("cpu", "toxiproxy"): WAKE_UPS + PER_PACKET,
    ("all cpu", "mahimahi"): WAKE_UPS + PER_MS,
    ("all cpu", "toxiproxy"): WAKE_UPS + PER_PACKET,
    ("memory", "mahimahi"): PYTHON,
    ("memory", "toxiproxy"): PYTHON,
    ("speed", "toxiproxy"): PER_PACKET,
}
"""Reasons for values of ours that are worse than another's, by column and emulator."""

METHOD = """
- *Lateness* is the time beyond the round trip of 40 ms that was asked (20 ms in each direction):
  messages of 64 bytes over a TCP connection, at random distances of 5 ms on average. Both directions and
  the time of the kernel and of the two programs are in it. The last row has that time alone. Here
  the client and the server have real-time priority, so that their own waits for a core do not count.
- *Without a rate*: one connection downloads at maximum speed over a path with a delay of 1 ms in each
  direction.
- *Of 1 Gb/s*: the same over a path with this rate and no delay, with a queue of 1 MB. The values are
  bytes of the stream, without headers: 0.965 Gb/s is a full link. CPU seconds are for each gigabyte:
  those of the emulator's processes, and also of the client and the server. The time of the kernel's
  TCP is in the process that causes it: in the emulator, if it writes packets to a TUN device.
- *Memory* is the sum of the peak resident memory of the emulator's processes.
- *Lost*: numbered UDP datagrams to the server, ten in each millisecond, with a loss probability of 2 %,
  and of 0. The intervals are Wilson's.
- *Jitter*: the delay towards the server is uniform between 15 and 25 ms, so the quartiles of the
  round-trip times should have a distance of 5 ms, and the deciles of 1 ms from each other. The last
  column is the largest distance of a decile from its place, relative to the median. Messages have
  distances of 10 ms at least, so that none waits for the one before it.
"""

LIMITS = """
## Limits of the programs

- mahimahi needs whole milliseconds of delay, has no jitter, and runs only as a user other than root,
  whose shell is the command. The last Debian with a package is 11. Its iptables commands fail with
  iptables 1.8.8 or newer, which refuses programs with the set-user-ID bit; here a wrapper starts it.
- toxiproxy is a proxy for TCP connections, each with an address to be configured. It has no packets, so
  there are no losses, queues, marks or UDP; handshakes and acknowledgments do not pass the emulated
  path, and the server sees another client. Delays are whole milliseconds.
- tc-netem(8) changes the queueing discipline of a device that exists, needs root and a kernel module,
  and delays packets in one direction.
- `tcpsf link` has real-time priority (`SCHED_RR`), which is its default as root. The others have the
  priority with which they were started. On a busy machine this is a part of their lateness.
"""


def cell(found: Measured | None, column: Column) -> str:
    """Return a value with its interval."""
    if found is None:
        return NONE
    text, low, high = (f"{each:.{column.digits}f}" for each in (found.value, found.low, found.high))
    return text if low == high else f"{text} ({low} to {high})"


def table(columns: Sequence[Column], rows: Sequence[Row]) -> str:
    """Return the table in Markdown: a line for each emulator."""
    lines = [
        ["", *(column.head for column in columns)],
        ["---"] * (len(columns) + 1),
        *(
            [
                row.name if row.missing is None else f"{row.name}: {row.missing}",
                *(cell(row.estimate(column), column) for column in columns),
            ]
            for row in rows
        ),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def worse(columns: Sequence[Column], rows: Sequence[Row], *, ours: str) -> list[tuple[str, str]]:
    """Return the columns and emulators by which ours is clearly beaten, by intervals.

    A column with an asked value counts if the value is outside our interval. The path without an
    emulator is no peer.
    """
    (own,) = [row for row in rows if row.name == ours]
    found = []
    for column in columns:
        mine = own.estimate(column)
        if mine is None:
            continue
        if isinstance(column.best, float):
            if not mine.low <= column.best <= mine.high:
                found.append((column.key, ours))
            continue
        for row in rows:
            other = row.estimate(column)
            if row.name in (ours, "no emulator") or other is None:
                continue
            if other.high < mine.low if column.best == "low" else other.low > mine.high:
                found.append((column.key, row.name))
    return found


def page(
    columns: Sequence[Column], rows: Sequence[Row], *, ours: str, turns: int, load: float
) -> str:
    """Return the page."""
    first = [column for column in columns if column.is_speed]
    second = [column for column in columns if not column.is_speed]
    versions = ", ".join(f"{row.name} {row.version}" for row in rows if row.missing is None)
    parts = [
        "# `tcpsf link` and other emulators",
        wrapped(
            "`benches/emulator_peers.py --page` writes this page. All rows have the same client and "
            f"server, and are from one run of {turns} turns, in each of which every emulator was "
            "measured once. Values are medians of the turns with minimum and maximum, which are a 97 % "
            "interval of the median for six turns. "
            f"Machine: {os.cpu_count()} virtual cores, Linux {platform.release().partition('-')[0]}, "
            f"load {load:.1f} at the start by programs of low priority. Versions: {versions}. A dash "
            "means that the program lacks the feature of the column, or that it did not run here: "
            "mahimahi has no jitter, toxiproxy has no losses of packets, and a path without an "
            "emulator has no rate, losses or jitter."
        ),
        table(first, rows),
        table(second, rows),
        METHOD.strip(),
        "## Values worse than those of another program",
        reasons(columns, rows, ours=ours),
        LIMITS.strip(),
    ]
    return "\n\n".join(parts) + "\n"


def reasons(columns: Sequence[Column], rows: Sequence[Row], *, ours: str) -> str:
    """Return a list of the values in which ours is beaten, with the reasons."""
    (own,) = [row for row in rows if row.name == ours]
    lines: dict[str, list[str]] = {}
    for column in columns:
        for key, name in worse([column], rows, ours=ours):
            (other,) = [row for row in rows if row.name == name]
            found = (
                column.task,
                cell(own.estimate(column), column),
                cell(other.estimate(column), column),
            )
            text = REASONS.get((key, name), "The reason is not known.")
            lines.setdefault(text, []).append(
                f"{column.long or column.head}: {found[1]}, and {name} {found[2]}"
            )
    if not lines:
        return "None: no interval of another program is better than ours."
    return "\n".join(
        wrapped(f"- {'; '.join(values)}. {text}", indent="  ") for text, values in lines.items()
    )


def wrapped(text: str, *, indent: str = "") -> str:
    """Return text in lines of the length that the pages have."""
    return "\n".join(
        textwrap.wrap(
            text, 105, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
    )
