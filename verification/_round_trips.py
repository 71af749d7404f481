"""Round-trip times that the kernel's TCP measures, from a packet socket and tracepoints.

A capture of the link has the times at which the link reads and writes packets. Those of the kernel
differ from them by the microseconds that decide whether RACK takes an acknowledgment into account.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

from _kernel_clock import Clock
from _linux_capture import SYN, Packet, parse

_APART_NS: Final = 1_000_000
"""Longest time between the kernel's reading of its clock and the packet socket, in ns."""


@dataclass(frozen=True, slots=True)
class Tapped:
    """A TCP segment at the kernel's side of the link's device."""

    time_ns: int
    sent: bool
    packet: Packet

    def delivers(self, end: int) -> bool:
        """Return whether it acknowledges or reports a segment that ends before ``end``."""
        return _at_or_after(self.packet.ack, end) or any(
            _at_or_after(last, end) and _at_or_after(end, first + 1)
            for first, last in self.packet.blocks
        )


def _at_or_after(one: int, other: int) -> bool:
    return (one - other) % 2**32 < 2**31


@dataclass(frozen=True, slots=True)
class Recorded:
    """Segments of a connection, with the times that its TCP uses, and its handshake."""

    handshake_us: int
    segments: list[Tapped]
    written_ns: int | None = None
    """Time before the first data, if that of its segments is not known better.

    TCP reads its clock between this time and that of the first segment."""


def read(file: Path, clocks: dict[tuple[int, int], Clock]) -> dict[int, Recorded]:
    """Read the connections by the port of the peer.

    Segments that arrived, and retransmissions, get the time of the kernel's clock. A connection
    whose ``clocks`` do not belong to its segments is left out.
    """
    rows, replies = json.loads(file.read_text(encoding="utf-8"))
    found: dict[tuple[int, int], list[Tapped]] = {}
    for time_ns, sent, data in rows:
        packet = parse(bytes.fromhex(data), time_ns / 1e9, None)
        if packet is not None:
            ends = (packet.source, packet.destination)
            own, peer = ends if sent else ends[::-1]
            found.setdefault((own[1], peer[1]), []).append(Tapped(time_ns, sent, packet))
    written = {port: (handshake_us, time_ns) for port, handshake_us, time_ns in replies}
    recorded = {}
    for connection, tapped in found.items():
        port = connection[1]
        segments = _on_clock(tapped, clocks.get(connection, Clock()))
        if segments and port in written:
            handshake_us, time_ns = written[port]
            recorded[port] = Recorded(handshake_us, segments, time_ns)
    return recorded


def _on_clock(tapped: Sequence[Tapped], clock: Clock) -> list[Tapped]:
    """Give segments the times of the kernel's clock, up to the last one that it is known for.

    The tracepoint of segments that arrive begins after the handshake. Returns nothing if the times
    do not belong to the segments.
    """
    arrived, resent = iter(clock.arrived_ns), iter(clock.resent_ns)
    ends: set[int] = set()
    is_open = False
    found = []
    for one in tapped:
        packet, time_ns = one.packet, one.time_ns
        end = packet.seq + packet.length
        if not one.sent and is_open:
            time_ns = next(arrived, 0)
        elif one.sent and packet.length > 0 and end in ends:
            time_ns = next(resent, 0)
        if not time_ns:
            break
        if abs(time_ns - one.time_ns) > _APART_NS:
            return []
        if one.sent and packet.length > 0:
            ends.add(end)
        is_open |= not one.sent and not packet.flags & SYN
        found.append(replace(one, time_ns=time_ns))
    return found


class RoundTrips(NamedTuple):
    """Round-trip times of a connection whose first retransmission was acknowledged, in seconds."""

    least_s: float
    """The minimum before that."""
    again_s: float
    """From the first retransmission to its acknowledgment."""
    error_s: float
    """Error of the minimum: TCP read its clock for the first data at some time before these."""


def round_trips(recorded: Recorded) -> RoundTrips | None:
    """Return the round-trip times before the first retransmission and that of this.

    The second one is from the first data segment that is sent twice to the acknowledgment that
    delivers it. The minimum is over the handshake and the acknowledgments before. Linux measures
    with the youngest segment that an acknowledgment delivers. Segments of one system call have the
    time of its first one.
    """
    sent_ns: dict[int, int] = {}
    """Times of transmission by the end of the segment, until it is delivered."""
    handshake_ns = 1000 * recorded.handshake_us
    short_ns = long_ns = handshake_ns
    """Bounds of the minimum."""
    is_open = False
    first_ns = 0
    ends: set[int] = set()
    resent: tuple[int, int] | None = None
    for one in recorded.segments:
        packet = one.packet
        if one.sent and packet.flags & SYN:
            is_open = True
        elif one.sent and packet.length > 0:
            end = (packet.seq + packet.length) % 2**32
            first_ns = first_ns or one.time_ns
            if end in ends:
                resent = resent or (end, one.time_ns)
                continue
            ends.add(end)
            sent_ns[end] = first_ns
        elif not one.sent and is_open:
            if resent is not None and one.delivers(resent[0]):
                least_ns, error_ns = (short_ns + long_ns) / 2, (long_ns - short_ns) / 2
                again_ns = one.time_ns - resent[1]
                return RoundTrips(least_ns / 1e9, again_ns / 1e9, error_ns / 1e9)
            delivered = [end for end in sent_ns if one.delivers(end)]
            if delivered:
                latest_ns = max(sent_ns[end] for end in delivered)
                short_ns = min(short_ns, one.time_ns - latest_ns)
                earliest_ns = recorded.written_ns or latest_ns
                long_ns = min(long_ns, one.time_ns - min(earliest_ns, latest_ns))
            for end in delivered:
                del sent_ns[end]
    return None
