"""One TCP connection of the kernel's, as fast as it can be.

``serve PORT CONGESTION`` sends, ``fetch HOST PORT SECONDS`` takes; ``-`` for HOST is the other end
of the link that it runs behind. The client prints JSON: bytes and seconds after a warm-up, and the
CPU seconds that its parent, which is the emulator if there is one, used meanwhile.
"""

# ruff: noqa: T201 (what it prints is what it is asked for)

from __future__ import annotations

import json
import os
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

WARM_UP_S = 0.5
PATIENCE_S = 10.0


def serve(port: int, congestion: str) -> None:
    """Send to whoever connects, one after another."""
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
    """Wait until the server is there."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return socket.create_connection((host, port))
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def parents_cpu_s() -> float:
    """CPU time of the process that started this one."""
    return int(Path("/proc", str(os.getppid()), "schedstat").read_text().split()[0]) / 1e9


def fetch(host: str, port: int, seconds: float) -> None:
    """Take what comes."""
    with connect(os.environ["TCPSF_LINK_OUTSIDE"] if host == "-" else host, port) as server:
        buffer = bytearray(1 << 18)
        begun, since, taken, cpu_s = time.monotonic(), None, 0, 0.0
        while True:
            length = server.recv_into(buffer)
            now = time.monotonic()
            if not length:
                raise SystemExit("the server has closed")
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
            sys.exit(f"{__doc__}\n{words} is neither")
