"""TCP segments of a capture by `tcpsf link --pcap-at both`, with their delays on the link."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from _pcapng import OUTBOUND, records

_SACK = 5
"""Kind of a TCP option."""
TCP = 6
FIN, SYN, ACK = 0x01, 0x02, 0x10


@dataclass(frozen=True, slots=True)
class Packet:
    """A TCP segment as it entered the link."""

    sent_s: float
    """Wall-clock time at which it entered the link, in seconds."""
    delay_s: float | None
    """Time that it took to the other end in seconds; ``None`` if it was lost."""
    source: tuple[str, int]
    destination: tuple[str, int]
    seq: int
    ack: int
    flags: int
    size: int
    """Bytes of the packet."""
    length: int
    """Bytes of data."""
    blocks: tuple[tuple[int, int], ...]
    """SACK blocks: first sequence number, and the one after the last."""


def packets(capture: Path) -> list[Packet]:
    """Read a capture of both ends. The packets are in order of their transmission."""
    entered: list[tuple[float, int, bytes]] = []
    left: dict[tuple[int, bytes], float] = {}
    for one in records(capture):
        # A packet goes in at one end and comes out at the other.
        if one.direction == OUTBOUND:
            entered.append((one.time_ns / 1e9, one.interface, one.data))
        else:
            left.setdefault((one.interface, one.data), one.time_ns / 1e9)
    found = []
    for time_s, interface, data in entered:
        out = left.get((1 - interface, data))
        packet = parse(data, time_s, None if out is None else out - time_s)
        if packet is not None:
            found.append(packet)
    return found


def parse(data: bytes, sent_s: float, delay_s: float | None) -> Packet | None:
    """Read the headers of an IPv4 packet, which may be cut short; ``None`` if it is not TCP."""
    if len(data) < 40 or data[0] >> 4 != 4 or data[9] != TCP:
        return None
    header = 4 * (data[0] & 15)
    length = struct.unpack_from("!H", data, 2)[0]
    source, destination, seq, ack, offset, flags = struct.unpack_from("!HHIIBB", data, header)
    addresses = [".".join(str(byte) for byte in data[at : at + 4]) for at in (12, 16)]
    return Packet(
        sent_s=sent_s,
        delay_s=delay_s,
        source=(addresses[0], source),
        destination=(addresses[1], destination),
        seq=seq,
        ack=ack,
        flags=flags,
        size=length,
        length=length - header - 4 * (offset >> 4),
        blocks=tuple(_blocks(data[header + 20 : header + 4 * (offset >> 4)])),
    )


def _blocks(options: bytes) -> Iterator[tuple[int, int]]:
    """Yield the SACK blocks of TCP options."""
    at = 0
    while at + 1 < len(options) and options[at] != 0:
        if options[at] == 1:
            at += 1
            continue
        size = max(2, options[at + 1])
        if options[at] == _SACK:
            yield from struct.iter_unpack("!II", options[at + 2 : at + size])
        at += size
