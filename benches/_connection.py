"""A connection to a server that may not be ready, for the clients `_bulk.py` and `_exchange.py`.

Benchmarks copy this file together with a client, so it imports nothing else of this folder.
"""

from __future__ import annotations

import os
import socket
import time

TIMEOUT_S = 10.0


def address(host: str) -> str:
    """Return the address of a host, which is an environment variable if it begins with `$`."""
    return os.environ[host[1:]] if host.startswith("$") else host


def connect(host: str, port: int) -> socket.socket:
    """Connect to the server; try again while it refuses, for `TIMEOUT_S` seconds at most."""
    end = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return socket.create_connection((address(host), port))
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)
