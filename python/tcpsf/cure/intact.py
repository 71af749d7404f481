"""A test of the kernel before writes are cut: the data must arrive as it was written.

Before Linux 6.13, the functions that cut have had errors, and some distributions have mended them.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tcpsf import _core
from tcpsf.cure.cgroups import own_group
from tcpsf.cure.policy import MOST_WINDOW, CurePolicy
from tcpsf.cure.target import CureTarget
from tcpsf.errors import TcpsfError
from tcpsf.live.network import move_thread

SIZES = (1, 2, 3, 1448, 1449, 4096, 14_480, 65_536, 65_537, 200_000)
"""Lengths of the writes in bytes."""
LONGEST_S = 2.0
"""Longest time without data in seconds."""

Attach = Callable[[CurePolicy, CureTarget], _core.SocketSettings]
"""Function that attaches a policy to the connections of a target."""


def require_intact_data(policy: CurePolicy, attach: Attach) -> None:
    """Send writes of many lengths over a connection of this process, with the cuts.

    Raises `TcpsfError` if other data arrives than was sent, or if nothing is cut.
    """
    with ThreadPoolExecutor(1) as pool:
        intact, cut_writes = pool.submit(_tried, _at_any_window(policy), attach).result()
    if not intact or not cut_writes:
        problem = "does not cut writes" if intact else "changes the data of writes that are cut"
        raise TcpsfError(
            f"cannot apply the policy `{policy}`: this kernel {problem}",
            hint="Linux 6.13 or later does it; `tcpsf proxy --sender` needs no such kernel",
        )


def _at_any_window(policy: CurePolicy) -> CurePolicy:
    """Return the policy with framing at any congestion window of the test."""
    remedies = dict(policy.remedies)
    if "fs" in remedies:
        remedies["fs"] = {**remedies["fs"], "min": MOST_WINDOW}
    return CurePolicy(remedies)


def _tried(policy: CurePolicy, attach: Attach) -> tuple[bool, int]:
    """Return whether the data arrives, and the number of writes that were cut."""
    # Without the privilege, the loopback device of this namespace serves.
    with contextlib.suppress(OSError, TcpsfError):
        move_thread()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        settings = attach(policy, CureTarget(ports=[listener.getsockname()[1]], group=own_group()))
        try:
            with socket.create_connection(listener.getsockname()) as reader:
                reader.settimeout(LONGEST_S)
                writer, _ = listener.accept()
                with writer, ThreadPoolExecutor(1) as pool:
                    intact = all(_arrives(writer, reader, size, pool) for size in SIZES)
            return intact, settings.counts()[2]
        finally:
            settings.detach()


def _arrives(
    writer: socket.socket, reader: socket.socket, size: int, pool: ThreadPoolExecutor
) -> bool:
    """Send a write, and return whether the same data arrives."""
    sent, found = os.urandom(size), bytearray()
    done = pool.submit(writer.sendall, sent)
    try:
        while len(found) < size and (part := reader.recv(size - len(found))):
            found += part
        done.result(LONGEST_S)
    except OSError:  # a time is over, or the write has failed
        reader.close()
        return False
    return found == sent
