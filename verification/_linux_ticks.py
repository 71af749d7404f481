"""How often a timer of the kernel expires a tick late, without TCP.

A processor may handle its timers before another one has advanced the kernel's count of ticks. A
timer that is due then waits for the next tick.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time

JIFFY_NS = 4_000_000


def late_share(count: int = 200) -> float:
    """Return the share of receive timeouts (`SO_RCVTIMEO`) that expire a tick late."""
    one, other = socket.socketpair()
    jiffies = 15
    one.setsockopt(
        socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, jiffies * JIFFY_NS // 1000)
    )
    late = 0
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        for number in range(count):
            time.sleep(number % 7 * 0.00025)
            begin = time.monotonic_ns()
            with contextlib.suppress(BlockingIOError):
                one.recv(1)
            ticks = time.monotonic_ns() // JIFFY_NS - begin // JIFFY_NS
            late += ticks > jiffies + 1
    finally:
        os.sched_setscheduler(0, policy, parameters)
        one.close()
        other.close()
    return late / count
