"""Times at which the kernel sends and receives TCP segments, from a packet socket.

A capture of the link has the times at which the link reads and writes packets. Those of the kernel
differ from them by the microseconds that decide whether RACK takes an acknowledgment into account.
"""

from __future__ import annotations

import json
import socket
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from _linux_capture import FIN, SYN, Packet, parse

_ETH_P_ALL: Final = 0x0003
_SO_RCVBUFFORCE: Final = 33
_SO_TIMESTAMPNS: Final = 35
_OUTGOING: Final = 4
"""Packet type of an outgoing packet (`PACKET_OUTGOING`)."""
_BUFFER: Final = 256 << 20
_HEADERS: Final = 160
_INFO_BYTES: Final = 152
"""Bytes of `TCP_INFO` up to the minimum round-trip time."""


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


def tap() -> socket.socket:
    """Begin to record. The kernel keeps the packets until they are read."""
    recorder = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ETH_P_ALL))
    recorder.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
    recorder.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    recorder.setblocking(False)
    return recorder


def handshake_us(connection: socket.socket) -> int:
    """Return the round-trip time of the handshake in µs, which is the kernel's minimum so far."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
    return int(struct.unpack_from("=I", raw, _INFO_BYTES - 4)[0])


def write(recorder: socket.socket, handshakes: dict[int, int], file: Path) -> None:
    """Write what was recorded, and the times of the handshakes by the port of the peer."""
    rows = []
    while True:
        try:
            data, ancillary, _, address = recorder.recvmsg(_HEADERS, 64)
        except BlockingIOError:
            break
        if address[0] == "lo":
            continue
        seconds, nanos = struct.unpack("qq", ancillary[0][2])
        rows.append((seconds * 10**9 + nanos, address[2] == _OUTGOING, data.hex()))
    whole = file.with_suffix(".part")
    whole.write_text(json.dumps([rows, list(handshakes.items())]), encoding="utf-8")
    whole.rename(file)


@dataclass(frozen=True, slots=True)
class Recorded:
    """Segments of a connection, and its handshake."""

    handshake_us: int
    segments: list[Tapped]


def read(file: Path) -> dict[int, Recorded]:
    """Read the connections by the port of the peer."""
    rows, handshakes = json.loads(file.read_text(encoding="utf-8"))
    found: dict[int, list[Tapped]] = {}
    for time_ns, sent, data in rows:
        packet = parse(bytes.fromhex(data), time_ns / 1e9, None)
        if packet is not None:
            peer = packet.destination if sent else packet.source
            found.setdefault(peer[1], []).append(Tapped(time_ns, sent, packet))
    return {port: Recorded(time_us, found.get(port, [])) for port, time_us in handshakes}


class RoundTrips(NamedTuple):
    """Round-trip times of a connection whose first retransmission was acknowledged, in seconds."""

    least_s: float
    """The kernel's minimum before that."""
    again_s: float
    """From the first retransmission to its acknowledgment."""
    correction_s: float
    """Difference between the kernel's measurement of the handshake and the packet socket's."""


def round_trips(recorded: Recorded) -> RoundTrips | None:
    """Return the round-trip times before the first retransmission and that of this.

    The second one is from the first data segment that is sent twice to the acknowledgment that
    delivers it. The minimum is over the handshake and the acknowledgments before. Linux measures
    with the youngest segment that an acknowledgment delivers. Segments of one system call have the
    time of its first one, and the segment with the FIN has a time of its own.

    The kernel reads its clock some microseconds before a packet passes the socket to the device,
    and after one passes it from there. The handshake, of which the kernel's own measurement is
    known, shows how many.
    """
    sent_ns: dict[int, int] = {}
    """Times of transmission by the end of the segment, until it is delivered."""
    least_ns, more_ns = 1000 * recorded.handshake_us, None
    opened_ns = first_ns = 0
    ends: set[int] = set()
    resent: tuple[int, int] | None = None
    for one in recorded.segments:
        packet = one.packet
        if one.sent and packet.flags & SYN:
            opened_ns = one.time_ns
        elif one.sent and packet.length > 0:
            end = (packet.seq + packet.length) % 2**32
            first_ns = first_ns or one.time_ns
            if end in ends:
                resent = resent or (end, one.time_ns)
                continue
            ends.add(end)
            sent_ns[end] = one.time_ns if packet.flags & FIN else first_ns
        elif not one.sent and opened_ns:
            if more_ns is None:
                more_ns = least_ns - (one.time_ns - opened_ns)
            elif resent is not None and one.delivers(resent[0]):
                again_ns = one.time_ns - resent[1] + more_ns
                return RoundTrips(least_ns / 1e9, again_ns / 1e9, more_ns / 1e9)
            delivered = [end for end in sent_ns if one.delivers(end)]
            if delivered:
                rtt_ns = one.time_ns - max(sent_ns[end] for end in delivered) + more_ns
                least_ns = min(least_ns, rtt_ns)
            for end in delivered:
                del sent_ns[end]
    return None
