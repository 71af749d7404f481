"""Server of the kernel's TCP for `linux_cells`: port 9000 + N sends a reply of N segments.

    python _linux_server.py SETTINGS

It runs at the outside end of `tcpsf link`. SETTINGS is a JSON file with these keys: `segment`, the
bytes of a full segment; `short`, the bytes by which the last segment is shorter. `records` are the
bytes of a record that ends a segment, or null, and `initial_window` is a number of segments, or
null. `at_once` asks for real-time priority. `ready` is a file that the server makes when it accepts
connections. `tap` is a file for the
times of the kernel's segments, which it writes when the client makes the file `done`, or null. With
`tap`, the FIN follows when the reply is acknowledged: the kernel has no tracepoint for segments that
arrive after the FIN was sent.
"""

from __future__ import annotations

import fcntl
import json
import os
import selectors
import socket
import sys
import termios
import time
from pathlib import Path
from typing import Any

import _linux_tap
from _linux_client import run_first

from tcpsf.live.network import set_initial_window

PORT = 9000
MOST = 40
"""Largest number of segments of a reply."""
POLL_S = 0.02
"""Interval between looks for replies that are acknowledged, in seconds."""


def main() -> None:
    """Serve until the link ends the program."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    if settings["at_once"]:
        run_first()
    if settings["initial_window"] is not None:
        ends = os.environ["TCPSF_LINK_OUTSIDE"], os.environ["TCPSF_LINK_INSIDE"]
        set_initial_window(*ends, settings["initial_window"])
    waiting = selectors.DefaultSelector()
    for segments in range(1, MOST + 1):
        listener = socket.create_server(("0.0.0.0", PORT + segments), backlog=512)  # noqa: S104
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        waiting.register(listener, selectors.EVENT_READ, segments)
    written: dict[int, _linux_tap.Written] = {}
    unacknowledged: list[socket.socket] = []
    recorder = _linux_tap.tap() if settings["tap"] else None
    Path(settings["ready"]).touch()
    while True:
        if recorder is not None and Path(settings["done"]).exists():
            _linux_tap.write(recorder, written, Path(settings["tap"]))
            recorder = None
        for connection in [one for one in unacknowledged if not unacknowledged_bytes(one)]:
            connection.shutdown(socket.SHUT_WR)
            unacknowledged.remove(connection)
        for key, _ in waiting.select(None if recorder is None else POLL_S):
            if key.data is None:
                waiting.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]
                continue
            connection, address = key.fileobj.accept()  # type: ignore[union-attr]
            handshake_us, now_ns = _linux_tap.handshake_us(connection), time.time_ns()
            try:
                reply(connection, key.data, settings)
            except ConnectionError:  # the client has given up
                connection.close()
                continue
            if recorder is None:
                connection.shutdown(socket.SHUT_WR)
            else:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
                written[address[1]] = _linux_tap.Written(handshake_us, now_ns)
                unacknowledged.append(connection)
            waiting.register(connection, selectors.EVENT_READ)


def reply(connection: socket.socket, segments: int, settings: dict[str, Any]) -> None:
    """Write a reply of ``segments`` segments.

    The cork keeps the last one, so that a FIN joins it.
    """
    size = segments * settings["segment"] - settings["short"]
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    record = settings["records"]
    if record is None:
        connection.sendall(b"x" * size)
    else:
        for begin in range(0, size, record):
            connection.sendmsg([b"x" * min(record, size - begin)], [], socket.MSG_EOR)


def unacknowledged_bytes(connection: socket.socket) -> int:
    """Return the number of bytes that are not acknowledged."""
    raw = fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4))
    return int.from_bytes(raw, sys.byteorder)


if __name__ == "__main__":
    main()
