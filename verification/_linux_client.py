"""Client of `linux_cells`: fetches the replies of a list, one every few milliseconds.

    python _linux_client.py SETTINGS

It runs behind `tcpsf link`. SETTINGS is a JSON file with these keys: `replies`, the numbers of
segments, in order; `every`, the seconds between connections; `linger`, the seconds to wait before
the end. `quick` says whether the kernel may acknowledge quickly at first. `ready` is a file that
the server makes, and `done` one that this program makes at the end. `tap` is a file for which it
then waits, or null.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import sys
import time
from pathlib import Path

PORT = 9000
PATIENCE_S = 60.0
BURST_S = 0.001
"""Wait before a read, in seconds. The kernel merges segments that arrive while a program reads."""


def main() -> None:
    """Fetch the replies."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    wait_for(Path(settings["ready"]))
    outside = os.environ["TCPSF_LINK_OUTSIDE"]
    waiting = selectors.DefaultSelector()
    kept: list[socket.socket] = []
    for number, segments in enumerate(settings["replies"]):
        begin = time.monotonic()
        connection = socket.socket()
        connection.setblocking(False)
        connection.connect_ex((outside, PORT + segments))
        waiting.register(connection, selectors.EVENT_WRITE)
        is_last = number == len(settings["replies"]) - 1
        end = begin + (PATIENCE_S if is_last else settings["every"])
        receive(waiting, end, kept, quick=settings["quick"], until_empty=is_last)
    time.sleep(settings["linger"])
    Path(settings["done"]).touch()
    if settings["tap"] is not None:
        wait_for(Path(settings["tap"]))


def receive(
    waiting: selectors.BaseSelector,
    end: float,
    kept: list[socket.socket],
    *,
    quick: bool,
    until_empty: bool,
) -> None:
    """Read from connections until a time, or until none is left. Adds ended ones to ``kept``."""
    while (rest := end - time.monotonic()) > 0:
        if until_empty and not waiting.get_map():
            return
        ready = waiting.select(rest)
        if any(events & selectors.EVENT_READ for _, events in ready):
            time.sleep(BURST_S)
        for key, events in ready:
            connection = key.fileobj
            assert isinstance(connection, socket.socket)  # noqa: S101 (for the type)
            if events & selectors.EVENT_WRITE:
                if not quick:
                    # The connection counts as interactive, so that acknowledgments are delayed.
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
                waiting.modify(connection, selectors.EVENT_READ)
            elif not connection.recv(65536):
                # It is closed only at the end, so that no FIN repeats an acknowledgment.
                waiting.unregister(connection)
                kept.append(connection)


def wait_for(file: Path) -> None:
    """Wait until the server has made its file."""
    end = time.monotonic() + 20
    while not file.exists():
        if time.monotonic() > end:
            sys.exit("the server does not start")
        time.sleep(0.02)


if __name__ == "__main__":
    main()
