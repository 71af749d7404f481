"""Packets of pcapng files that `tcpsf` writes, with their interfaces and comments."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

INTERFACE: Final = 1
PACKET: Final = 6
"""Types of blocks."""
RESOLUTION: Final = 9
"""Option of an interface: the negative power of ten of its times."""
_COMMENT, _NAME, _FLAGS = 1, 2, 2
INBOUND: Final = 1
OUTBOUND: Final = 2
"""Directions of packets, as the host sees them."""


@dataclass(frozen=True, slots=True)
class Record:
    """A packet in a file."""

    interface: int
    name: str
    """Name of the interface."""
    time_ns: int
    """Wall-clock time in nanoseconds, or that of the simulation."""
    direction: int
    """`INBOUND`, `OUTBOUND`, or 0 if the file does not say."""
    data: bytes
    comments: tuple[str, ...]


def records(capture: Path) -> Iterator[Record]:
    """Yield the packets of a capture in the order of the file."""
    content = capture.read_bytes()
    interfaces: list[tuple[str, int]] = []
    at = 0
    while at + 12 <= len(content):
        kind, size = struct.unpack_from("<II", content, at)
        if kind == INTERFACE:
            options = dict(_options(content[at + 16 : at + size - 4]))
            power = options.get(RESOLUTION, b"\x06")[0]
            interfaces.append((options.get(_NAME, b"").decode(), 10 ** (9 - power)))
        elif kind == PACKET:
            interface, high, low, kept = struct.unpack_from("<IIII", content, at + 8)
            name, unit_ns = interfaces[interface]
            listed = list(_options(content[at + 28 + (kept + 3) // 4 * 4 : at + size - 4]))
            flags = next((value for code, value in listed if code == _FLAGS), bytes(4))
            yield Record(
                interface=interface,
                name=name,
                time_ns=((high << 32) + low) * unit_ns,
                direction=flags[0] & 3,
                data=content[at + 28 : at + 28 + kept],
                comments=tuple(value.decode() for code, value in listed if code == _COMMENT),
            )
        at += size


def _options(content: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(content):
        code, length = struct.unpack_from("<HH", content, at)
        if code == 0:
            return
        yield code, content[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
