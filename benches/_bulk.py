"""Transfer data over one TCP connection of the kernel, at maximum speed.

``serve PORT CONGESTION`` runs the server, which sends. ``fetch HOST PORT SECONDS`` runs the client,
which receives; ``-`` for HOST is the other end of the link behind which the client runs. The client
prints a JSON object: bytes and seconds after a warm-up, and the CPU seconds of its parent process
in that time. The parent is the emulator, if the path has a link.
"""

# ruff: noqa: T201 (this program prints its result)

from __future__ import annotations

import json
import os
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

WARM_UP_S = 0.5
TIMEOUT_S = 10.0


def serve(port: int, congestion: str) -> None:
    """Send data to each client that connects, one after the other."""
    with socket.create_server(("", port)) as server:
        print("ready", flush=True)
        data = bytes(1 << 20)
        while True:
            client, _ = server.accept()
            with client, suppress(OSError):
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
                while True:
                    client.sendall(data)


def connect(host: str, port: int) -> socket.socket:
    """Connect to the server; try again while it refuses, for `TIMEOUT_S` seconds at most."""
    end = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return socket.create_connection((host, port))
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def parents_cpu_s() -> float:
    """CPU time of the parent process, in seconds."""
    return int(Path("/proc", str(os.getppid()), "schedstat").read_text().split()[0]) / 1e9


def fetch(host: str, port: int, seconds: float) -> None:
    """Receive for ``seconds`` after a warm-up, and print the result."""
    with connect(os.environ["TCPSF_LINK_OUTSIDE"] if host == "-" else host, port) as server:
        buffer = bytearray(1 << 18)
        begun, since, taken, cpu_s = time.monotonic(), None, 0, 0.0
        while True:
            length = server.recv_into(buffer)
            now = time.monotonic()
            if not length:
                raise SystemExit("the server closed the connection")
            if since is not None:
                taken += length
                if now - since >= seconds:
                    break
            elif now - begun >= WARM_UP_S:
                since, cpu_s = now, parents_cpu_s()
        print(
            json.dumps({"bytes": taken, "seconds": now - since, "cpu_s": parents_cpu_s() - cpu_s}),
            flush=True,
        )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", port, congestion]:
            serve(int(port), congestion)
        case ["fetch", host, port, seconds]:
            fetch(host, int(port), float(seconds))
        case words:
            sys.exit(f"{__doc__}\nexpected one of these two commands, got {words}")
