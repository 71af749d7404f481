"""Transfer data over one TCP connection of the kernel, at maximum speed.

``serve PORT CONGESTION`` runs the server, which sends. ``fetch HOST PORT SECONDS`` runs the client,
which receives. A HOST that begins with `$` is an environment variable, such as the address of the
other end of a link. The client prints a JSON object: bytes and seconds after a warm-up; the CPU
seconds of the emulator's processes in that time, and their peak memory in MiB; and the CPU seconds
of these processes, the client and the server.

The environment names processes. The emulator's are `BENCH_EMULATOR`, or else the ancestors of the
client up to `BENCH_ROOT`, without it. The server is `BENCH_SERVER`.
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

from _connection import connect

WARM_UP_S = 0.5


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


def emulator_processes() -> list[int]:
    """Return the processes of the emulator."""
    if "BENCH_EMULATOR" in os.environ:
        return [int(word) for word in os.environ["BENCH_EMULATOR"].split()]
    root, process, found = int(os.environ["BENCH_ROOT"]), os.getppid(), []
    while process not in (root, 0):
        found.append(process)
        # The name of a program, in parentheses, may contain spaces.
        fields = Path("/proc", str(process), "stat").read_text().rpartition(")")[2].split()
        process = int(fields[1])
    return found


def cpu_s(processes: list[int]) -> float:
    """CPU time of the threads of processes, in seconds."""
    files = (
        file
        for process in processes
        for file in Path("/proc", str(process)).glob("task/*/schedstat")
    )
    return sum(int(file.read_text().split()[0]) for file in files) / 1e9


def peak_mb(processes: list[int]) -> float:
    """Peak resident memory of processes, added up, in MiB."""
    found = 0
    for process in processes:
        lines = Path("/proc", str(process), "status").read_text().splitlines()
        found += sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return found / 1024


def fetch(host: str, port: int, seconds: float) -> None:
    """Receive for ``seconds`` after a warm-up, and print the result."""
    emulator = emulator_processes()
    ends = [os.getpid(), *map(int, os.environ.get("BENCH_SERVER", "").split())]
    with connect(host, port) as server:
        buffer = bytearray(1 << 18)
        begun, since, taken = time.monotonic(), None, 0
        before = (0.0, 0.0)
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
                since, before = now, (cpu_s(emulator), cpu_s(ends))
        used = cpu_s(emulator) - before[0]
        found = {
            "bytes": taken,
            "seconds": now - since,
            "cpu_s": used,
            "all_cpu_s": used + cpu_s(ends) - before[1],
            "peak_mb": peak_mb(emulator),
        }
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", port, congestion]:
            serve(int(port), congestion)
        case ["fetch", host, port, seconds]:
            fetch(host, int(port), float(seconds))
        case words:
            sys.exit(f"{__doc__}\nexpected one of these two commands, got {words}")
