"""Requests to processes that have attached a policy: their state, and to end.

Each listens at an abstract Unix socket, which the kernel removes with the process. Only the same user
and root may ask.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_PREFIX = "tcpsf-cure-"
_SOCKETS = Path("/proc/net/unix")
_LIMIT = 1 << 17
"""Most bytes of an answer; the kernel's limit of a packet is usually above 200 kB."""
_TIMEOUT_S = 2.0

STATUS, DETACH = "status", "detach"


class CureControl:
    """The socket at which this process answers requests."""

    def __init__(self, state: Callable[[], dict[str, Any]]) -> None:
        self._state = state
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.bind(f"\0{_PREFIX}{os.getpid()}")
        self._socket.listen()
        self._waiting = selectors.DefaultSelector()
        self._waiting.register(self._socket, selectors.EVENT_READ)

    def serve(self, seconds: float, *, until: int | None = None) -> bool:
        """Answer requests for some time, or until a descriptor is readable.

        Returns whether one of them was to detach.
        """
        if until is not None and until not in self._waiting.get_map():
            self._waiting.register(until, selectors.EVENT_READ)
        for key, _ in self._waiting.select(seconds):
            if key.fileobj is not self._socket:
                continue
            with contextlib.suppress(OSError):  # the other process may have ended
                if self._answer():
                    return True
        return False

    def _answer(self) -> bool:
        connection, _ = self._socket.accept()
        with connection:
            connection.settimeout(_TIMEOUT_S)
            size = struct.calcsize("3i")
            found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
            _, user, _ = struct.unpack("3i", found)
            if user not in (0, os.geteuid()):
                return False
            request = connection.recv(_LIMIT).decode(errors="replace")
            if request in (STATUS, DETACH):
                connection.send(json.dumps(self._state()).encode())
            return request == DETACH

    def close(self) -> None:
        """Answer no more requests."""
        self._waiting.close()
        self._socket.close()


@contextlib.contextmanager
def controlled(state: Callable[[], dict[str, Any]]) -> Iterator[CureControl]:
    """Answer requests while the block runs. ``state`` returns plain data."""
    control = CureControl(state)
    try:
        yield control
    finally:
        control.close()


def running() -> list[int]:
    """Return the processes of this network namespace that have attached a policy."""
    names = (line.split()[-1] for line in _SOCKETS.read_text(encoding="utf-8").splitlines()[1:])
    start = "@" + _PREFIX
    found = {name.removeprefix(start) for name in names if name.startswith(start)}
    return sorted(int(number) for number in found if number.isdecimal())


def ask(process: int, request: str) -> dict[str, Any] | None:
    """Send a request to a process, and return its state; ``None`` if it does not answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(_TIMEOUT_S)
        try:
            connection.connect(f"\0{_PREFIX}{process}")
            connection.send(request.encode())
            data = connection.recv(_LIMIT)
        except OSError:
            return None
    return json.loads(data) if data else None
