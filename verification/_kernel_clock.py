"""Times at which the kernel's TCP reads its clock, from tracepoints.

TCP reads the clock once when a segment arrives, and once when a timer expires. What it sends because
of that has this time, though it passes the device some microseconds later. Packet sockets only know
the latter.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from _kernel_trace import ENTRY

POINTS: Final = ("tcp/tcp_probe", "tcp/tcp_retransmit_skb", "timer/timer_expire_entry")

_ARRIVED: Final = re.compile(r"tcp_probe: .* src=\S+:(\d+) dest=\S+:(\d+) ")
_RESENT: Final = re.compile(r"tcp_retransmit_skb: .* sport=(\d+) dport=(\d+) ")
_TIMER: Final = re.compile(r"timer_expire_entry: .* function=tcp_write_timer ")


@dataclass(slots=True)
class Clock:
    """Times in ns of the wall clock at which the kernel read its clock for a connection."""

    arrived_ns: list[int] = field(default_factory=list)
    """For each segment that arrived at the established connection."""
    resent_ns: list[int] = field(default_factory=list)
    """For each retransmission."""


def read(lines: Iterable[str]) -> dict[tuple[int, int], Clock]:
    """Read the clocks of the connections in a trace, by the own port and that of the peer.

    What retransmits is the last segment that arrived at the connection, or the last timer of TCP
    that expired: the later one at the processor.
    """
    behind_ns = time.clock_gettime_ns(time.CLOCK_TAI) - time.clock_gettime_ns(time.CLOCK_REALTIME)
    found: defaultdict[tuple[int, int], Clock] = defaultdict(Clock)
    last_ns: dict[str, int] = {}
    """Time of the last event that may have caused a retransmission, by the processor."""
    for line in lines:
        entry = ENTRY.match(line)
        if entry is None:
            continue
        processor, _, time_s, text = entry.groups()
        seconds, micros = time_s.split(".")
        time_ns = int(seconds) * 10**9 + int(micros) * 1000 - behind_ns
        if _TIMER.match(text):
            last_ns[processor] = time_ns
        elif arrived := _ARRIVED.match(text):
            last_ns[processor] = time_ns
            found[int(arrived[1]), int(arrived[2])].arrived_ns.append(time_ns)
        elif resent := _RESENT.match(text):
            connection = int(resent[1]), int(resent[2])
            found[connection].resent_ns.append(last_ns.get(processor, time_ns))
    return dict(found)
