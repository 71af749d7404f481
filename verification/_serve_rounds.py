"""Round-trip times that `tcpsf serve` measured, from the capture that it writes itself.

The times of this capture are those that the server's TCP uses. A capture of the link has later or
earlier ones, by the time that a process needs to wake up and to handle a packet.
"""

# ruff: noqa: T201 (this module prints runs that differ)

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from _linux_capture import SYN, parse
from _pcapng import OUTBOUND, records
from _round_trips import Recorded, Tapped, round_trips

CLEAR_S: Final = 2e-6
"""Error of a difference of two round-trip times: TCP counts microseconds."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run of a bimodal cell."""

    server: str
    cell: str
    waited: bool
    """Whether the server waited for a timer."""
    port: int
    """Port of the client."""
    time_s: float
    """Wall-clock time of the first data, in seconds."""


def shares(outcomes: Sequence[Outcome]) -> dict[str, tuple[int, int]]:
    """Return for each server the number of runs that waited, and that of all runs."""
    runs = Counter((one.server, one.waited) for one in outcomes)
    return {
        server: (runs[server, True], runs[server, True] + runs[server, False])
        for server in sorted({one.server for one in outcomes})
    }


def decisions(outcomes: Sequence[Outcome], capture: Path) -> tuple[int, int, int]:
    """Compare runs of `tcpsf serve` with the round-trip times in its ``capture``.

    A run must wait if, and only if, the first retransmission was acknowledged sooner than the
    minimum round-trip time (RFC 8985 section 6.2, step 2). Returns the number of runs that agree,
    that of runs with clear round-trip times, and that of all runs.
    """
    found = connections(capture)
    same = clear = total = 0
    for one in outcomes:
        if one.server != "tcpsf":
            continue
        total += 1
        times = [
            recorded
            for port, begin_s, recorded in found
            if port == one.port and begin_s < one.time_s
        ]
        rounds = round_trips(times[-1]) if times else None
        if rounds is None or abs(rounds.again_s - rounds.least_s) < CLEAR_S:
            continue
        clear += 1
        agrees = one.waited == (rounds.again_s < rounds.least_s)
        same += agrees
        if not agrees:
            print(
                f"    {one.server}, port {one.port} of {one.cell}: waited {one.waited}, minimum "
                f"{1e3 * rounds.least_s:.3f} ms, retransmission {1e3 * rounds.again_s:.3f} ms"
            )
    return same, clear, total


def connections(capture: Path) -> list[tuple[int, float, Recorded]]:
    """Read the connections: port of the peer, time of the SYN in seconds, and segments."""
    segments: dict[tuple[int, float], list[Tapped]] = {}
    latest: dict[int, float] = {}
    for record in records(capture):
        time_s, outbound = record.time_ns / 1e9, record.direction == OUTBOUND
        packet = parse(record.data, time_s, None)
        if packet is None:
            continue
        port = (packet.destination if outbound else packet.source)[1]
        if not outbound and packet.flags & SYN:
            latest[port] = time_s
        if port in latest:
            one = Tapped(record.time_ns, outbound, packet)
            segments.setdefault((port, latest[port]), []).append(one)
    return [
        (port, begin_s, Recorded(handshake_us(rows), rows))
        for (port, begin_s), rows in segments.items()
    ]


def handshake_us(segments: Sequence[Tapped]) -> int:
    """Return the time from the SYN-ACK to the next segment of the client in µs, or 0."""
    sent = [one.time_ns for one in segments if one.sent and one.packet.flags & SYN]
    if not sent:
        return 0
    after = (one.time_ns for one in segments if not one.sent and one.time_ns > sent[-1])
    return round((next(after, sent[-1]) - sent[-1]) / 1000)
