"""Packets of captures that `tcpsf` makes, with their comments, and a writer for computed captures.

The simulator captures at hosts. A capture between two hosts is computed from the one at both: a
packet passes the point after the constant delay of the link before it, unless that link drops it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from _pcapng import INBOUND, INTERFACE, PACKET, RESOLUTION, records

_SECTION: Final = 0x0A0D0D0A
"""Type of the first block of pcapng."""
_NANOSECONDS: Final = 9
_RAW_IP: Final = 101


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A packet of a capture."""

    number: int
    """Number in the file, from 1."""
    host: str
    """Name of the interface."""
    time_ns: int
    inbound: bool
    data: bytes
    comments: tuple[str, ...]

    @property
    def identification(self) -> int:
        """Number of the packet in its flow, modulo 2^16."""
        return int.from_bytes(self.data[4:6], "big")

    @property
    def ports(self) -> tuple[int, int]:
        """Ports of source and destination."""
        source, destination = struct.unpack_from("!HH", self.data, 20)
        return source, destination

    @property
    def seq(self) -> int:
        """Sequence number."""
        return int.from_bytes(self.data[24:28], "big")

    @property
    def is_syn(self) -> bool:
        """Whether it opens a connection."""
        return bool(self.data[33] & 2)

    @property
    def end(self) -> int:
        """Sequence number after the packet."""
        length = int.from_bytes(self.data[2:4], "big") - 20 - 4 * (self.data[32] >> 4)
        return (self.seq + length + (self.data[33] & 1) + self.is_syn) % 2**32

    @property
    def flow(self) -> tuple[int, int]:
        """Ports of both ends in ascending order, which name the flow."""
        low, high = sorted(self.ports)
        return low, high


def is_before(one: int, other: int) -> bool:
    """Return whether a sequence number is before another one."""
    return one != other and (other - one) % 2**32 < 2**31


def repeated(packets: Iterable[Frame]) -> Iterator[int]:
    """Yield the numbers of packets before which there is the same or later data of their sender."""
    highest: dict[tuple[int, int], int] = {}
    for frame in packets:
        before, end = highest.get(frame.ports), frame.end
        if end == frame.seq:
            continue
        if before is not None and is_before(frame.seq, before):
            yield frame.number
        if before is None or is_before(before, end):
            highest[frame.ports] = end


def frames(capture: Path) -> Iterator[Frame]:
    """Yield the packets of a capture."""
    for number, record in enumerate(records(capture), start=1):
        yield Frame(
            number=number,
            host=record.name,
            time_ns=record.time_ns,
            inbound=record.direction == INBOUND,
            data=record.data,
            comments=record.comments,
        )


def between(all_frames: Iterable[Frame], first_links: Mapping[str, tuple[str, int]]) -> list[Frame]:
    """Return the packets that pass a point between the hosts.

    ``first_links`` has, for each host, the name and the delay in nanoseconds of the link from the
    host to the point. Its rate is unlimited.
    """
    passing = []
    for frame in all_frames:
        link, delay_ns = first_links[frame.host]
        is_dropped = any(
            comment.startswith("Dropped") and f"on link `{link}`" in comment
            for comment in frame.comments
        )
        if not frame.inbound and not is_dropped:
            passing.append((frame.time_ns + delay_ns, frame))
    passing.sort(key=lambda item: item[0])
    return [
        Frame(
            number=number,
            host="middle",
            time_ns=time_ns,
            inbound=True,
            data=frame.data,
            comments=(),
        )
        for number, (time_ns, frame) in enumerate(passing, start=1)
    ]


def write(path: Path, written: Iterable[Frame]) -> None:
    """Write packets to a capture with one interface."""
    resolution = struct.pack("<HHB3xI", RESOLUTION, 1, _NANOSECONDS, 0)
    blocks = [
        _block(_SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
        _block(INTERFACE, struct.pack("<HHI", _RAW_IP, 0, 0) + resolution),
    ]
    for frame in written:
        # The length on the wire is in the header of IPv4.
        length = int.from_bytes(frame.data[2:4], "big")
        high, low = divmod(frame.time_ns, 1 << 32)
        header = struct.pack("<IIIII", 0, high, low, len(frame.data), length)
        blocks.append(_block(PACKET, header + frame.data + bytes(-len(frame.data) % 4)))
    path.write_bytes(b"".join(blocks))


def write_pcap(path: Path, written: Iterable[Frame]) -> None:
    """Write packets to a pcap file of microseconds and Ethernet, which old programs read."""
    records = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)]
    for frame in written:
        data = bytes(12) + b"\x08\x00" + frame.data
        length = int.from_bytes(frame.data[2:4], "big") + 14
        seconds, rest_ns = divmod(frame.time_ns, 10**9)
        records.append(struct.pack("<IIII", seconds, rest_ns // 1000, len(data), length) + data)
    path.write_bytes(b"".join(records))


def _block(kind: int, body: bytes) -> bytes:
    size = len(body) + 12
    return struct.pack("<II", kind, size) + body + struct.pack("<I", size)
