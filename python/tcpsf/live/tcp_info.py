"""The state of a socket's TCP in Linux: ``TCP_INFO``, for which Python has no type.

Newer kernels append fields to the structure. A field that the kernel does not have is ``None``.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

LONGEST = 512
"""Bytes; longer than the structure of any kernel."""
MICRO = 1e-6

_RTO, _RCV_MSS, _RTT, _RETRANSMITTED, _SEGMENTS = 8, 20, 68, 100, 156
_WINDOW, _TIMEOUTS = 232, 240
"""Offsets of the fields in bytes, in `struct tcp_info` of `linux/tcp.h`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpInfo:
    """Selected fields of ``TCP_INFO``, the kernel's state of a TCP socket."""

    srtt_s: float
    rto_s: float
    received_segment_bytes: int
    """Payload of the peer's full-sized segments, as estimated by the kernel."""
    segments: int
    """Data segments sent, retransmissions included."""
    retransmitted_segments: int
    """Retransmitted data segments and SYNs."""
    window_bytes: int | None
    """Window that the socket advertises now; from Linux 6.2."""
    timeouts: int | None
    """Number of retransmission timeouts, SYNs included; from Linux 6.7."""


def read(one: socket.socket) -> TcpInfo:
    """Read the state of a socket from the kernel."""
    raw = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, LONGEST)

    def u32(at: int) -> int:
        return int(struct.unpack_from("=I", raw, at)[0])

    def later(at: int, form: str) -> int | None:
        return (
            int(struct.unpack_from(form, raw, at)[0])
            if len(raw) >= at + struct.calcsize(form)
            else None
        )

    return TcpInfo(
        srtt_s=u32(_RTT) * MICRO,
        rto_s=u32(_RTO) * MICRO,
        received_segment_bytes=u32(_RCV_MSS),
        segments=u32(_SEGMENTS),
        retransmitted_segments=u32(_RETRANSMITTED),
        window_bytes=later(_WINDOW, "=I"),
        timeouts=later(_TIMEOUTS, "=H"),
    )
