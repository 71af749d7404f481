"""Recorder of the packets of a server, with a packet socket."""

from __future__ import annotations

import json
import socket
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ETH_P_ALL: Final = 0x0003
_SO_RCVBUFFORCE: Final = 33
_SO_TIMESTAMPNS: Final = 35
_OUTGOING: Final = 4
"""Packet type of an outgoing packet (`PACKET_OUTGOING`)."""
_BUFFER: Final = 256 << 20
_HEADERS: Final = 160
_INFO_BYTES: Final = 152
"""Bytes of `TCP_INFO` up to the minimum round-trip time."""


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


@dataclass(frozen=True, slots=True)
class Written:
    """A reply, as far as the server knows it."""

    handshake_us: int
    """Round-trip time of the handshake, as the kernel measured it."""
    time_ns: int
    """Time of the wall clock before it wrote the reply."""


def write(recorder: socket.socket, replies: dict[int, Written], file: Path) -> None:
    """Write what was recorded, and the replies by the port of the peer."""
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
    known = [(port, one.handshake_us, one.time_ns) for port, one in replies.items()]
    whole.write_text(json.dumps([rows, known]), encoding="utf-8")
    whole.rename(file)
