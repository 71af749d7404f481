"""What Linux tells of a socket's TCP: ``TCP_INFO``, which Python has no type for.

The structure grows at its end from kernel to kernel, so what an older one lacks is ``None``.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

LONGEST = 512
"""More bytes than any kernel's structure has."""
MICRO = 1e-6

_RTO, _RCV_MSS, _RTT, _RETRANSMITTED, _SEGMENTS = 8, 20, 68, 100, 156
_WINDOW, _TIMEOUTS = 232, 240
"""Where the fields are, in bytes: `struct tcp_info` of `linux/tcp.h`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpInfo:
    """Some of a socket's state."""

    srtt_s: float
    rto_s: float
    received_segment_bytes: int
    """The payload of its peer's full-sized segments, as far as it has seen."""
    segments: int
    """Data segments sent, retransmissions included."""
    retransmitted_segments: int
    """Of these sent again, and SYNs sent again."""
    window_bytes: int | None
    """What it offers its peer now; from Linux 6.2."""
    timeouts: int | None
    """Times its timer expired, SYNs included; from Linux 6.7."""


def read(one: socket.socket) -> TcpInfo:
    """Ask the kernel."""
    told = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, LONGEST)

    def u32(at: int) -> int:
        return int(struct.unpack_from("=I", told, at)[0])

    def later(at: int, form: str) -> int | None:
        return (
            int(struct.unpack_from(form, told, at)[0])
            if len(told) >= at + struct.calcsize(form)
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
