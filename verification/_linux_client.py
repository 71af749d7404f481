"""Client of `linux_cells`: fetches the replies of a list, one every few milliseconds.

    python _linux_client.py SETTINGS

It runs behind `tcpsf link`. SETTINGS is a JSON file with these keys: `replies`, the numbers of
segments, in order; `every`, the seconds between connections; `linger`, the seconds to wait before
the end. `quick` says whether the kernel may acknowledge quickly at first, and `sack` whether it
offers SACK. If `at_once`, it reads with real-time priority as soon as data arrives. If `asks`, it
sends an HTTP request for the file of this number. `ready` is a file that
the server makes, with its address if that is not the end of the link, and `done` one that this
program makes at the end. `tap` is a file for which it then waits, or null.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import sys
import time
from pathlib import Path
from typing import Any

PORT = 9000
HTTP_PORT = 8080
PATIENCE_S = 60.0
BURST_S = 0.001
"""Wait before a read, in seconds. The kernel merges segments that arrive while a program reads."""


def main() -> None:
    """Fetch the replies."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    if settings["at_once"]:
        run_first()
    Path("/proc/sys/net/ipv4/tcp_sack").write_text(str(int(settings["sack"])), encoding="ascii")
    wait_for(Path(settings["ready"]))
    address = Path(settings["ready"]).read_text(encoding="utf-8")
    outside, asks = address or os.environ["TCPSF_LINK_OUTSIDE"], settings["asks"]
    waiting = selectors.DefaultSelector()
    kept: list[socket.socket] = []
    for number, segments in enumerate(settings["replies"]):
        begin = time.monotonic()
        connection = socket.socket()
        connection.setblocking(False)
        connection.connect_ex((outside, HTTP_PORT if asks else PORT + segments))
        waiting.register(connection, selectors.EVENT_WRITE, segments if asks else None)
        is_last = number == len(settings["replies"]) - 1
        end = begin + (PATIENCE_S if is_last else settings["every"])
        receive(waiting, end, kept, settings, until_empty=is_last)
    time.sleep(settings["linger"])
    Path(settings["done"]).touch()
    if settings["tap"] is not None:
        wait_for(Path(settings["tap"]))


def receive(
    waiting: selectors.BaseSelector,
    end: float,
    kept: list[socket.socket],
    settings: dict[str, Any],
    *,
    until_empty: bool,
) -> None:
    """Read from connections until a time, or until none is left. Adds ended ones to ``kept``."""
    quick = settings["quick"]
    while (rest := end - time.monotonic()) > 0:
        if until_empty and not waiting.get_map():
            return
        ready = waiting.select(rest)
        if not settings["at_once"] and any(events & selectors.EVENT_READ for _, events in ready):
            time.sleep(BURST_S)
        for key, events in ready:
            connection = key.fileobj
            assert isinstance(connection, socket.socket)  # noqa: S101 (for the type)
            if events & selectors.EVENT_WRITE:
                if key.data is not None:
                    connection.sendall(f"GET /{key.data} HTTP/1.0\r\n\r\n".encode())
                if key.data is not None or not quick:
                    # A connection that counts as interactive delays its acknowledgments. A request
                    # makes it one.
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, int(quick))
                waiting.modify(connection, selectors.EVENT_READ)
            elif not connection.recv(65536):
                # It is closed only at the end, so that no FIN repeats an acknowledgment.
                waiting.unregister(connection)
                kept.append(connection)


def run_first() -> None:
    """Use real-time priority.

    While a program in a call of its socket waits for a processor, the kernel collects the packets
    of the connection. It then joins segments, and acknowledges them together.
    """
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def wait_for(file: Path) -> None:
    """Wait until the server has made its file."""
    end = time.monotonic() + 20
    while not file.exists():
        if time.monotonic() > end:
            sys.exit("the server does not start")
        time.sleep(0.02)


if __name__ == "__main__":
    main()
