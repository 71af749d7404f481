"""Exchange small messages and datagrams, to measure the delay and the loss of a path.

``serve PORT`` runs the server: it returns each message of a TCP connection, and counts UDP
datagrams. ``echo HOST PORT COUNT GAP_MS`` sends messages at random distances of ``GAP_MS`` on
average, but of half of it at least, over one connection. It prints their round-trip times in
seconds as a JSON object. ``datagrams HOST PORT COUNT`` sends numbered datagrams, ten in each
millisecond, and prints how many the server counted. A HOST that begins with `$` is an environment variable.
"""

# ruff: noqa: T201 (this program prints its result)

from __future__ import annotations

import json
import os
import random
import socket
import struct
import sys
import threading
import time
from contextlib import suppress

from _connection import TIMEOUT_S, address, connect

MESSAGE = struct.Struct("!dI52x")
"""The time of a message and its number. It has the size of small requests, 64 bytes."""

BURST, BURST_S = 10, 1e-3
ASK = 0xFFFF_FFFF
"""Number of a datagram that asks for the count."""

BUFFER_BYTES = 1 << 26


def be_punctual() -> None:
    """Use real-time priority, if it is permitted: waits of this program for a core do not count."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        # The benchmark gives it to a program that is not root.
        end = time.monotonic() + 2
        while os.sched_getscheduler(0) != os.SCHED_RR and time.monotonic() < end:
            time.sleep(0.02)


def serve(port: int) -> None:
    """Serve until the process is killed."""
    be_punctual()
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with suppress(OSError):  # beyond the limit of ordinary users
        udp.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_RCVBUFFORCE", 33), BUFFER_BYTES)
    udp.bind(("", port))
    threading.Thread(target=count, args=(udp,), daemon=True).start()
    with socket.create_server(("", port)) as server:
        print("ready", flush=True)
        while True:
            client, _ = server.accept()
            threading.Thread(target=echo, args=(client,), daemon=True).start()


def echo(client: socket.socket) -> None:
    """Return what a connection sends."""
    with client, suppress(OSError):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := client.recv(65_536):
            client.sendall(data)


def count(udp: socket.socket) -> None:
    """Count datagrams, and return the count to a client that asks for it."""
    seen: set[int] = set()
    while True:
        data, peer = udp.recvfrom(2048)
        (_, number) = MESSAGE.unpack(data)
        if number != ASK:
            seen.add(number)
            continue
        udp.sendto(json.dumps({"received": len(seen)}).encode(), peer)


def measure_echo(host: str, port: int, messages: int, gap_ms: float) -> None:
    """Send messages, and print their round-trip times."""
    be_punctual()
    times: list[float] = []
    with connect(host, port) as server:
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def receive() -> None:
            with server.makefile("rb") as stream:
                for _ in range(messages):
                    data = stream.read(MESSAGE.size)
                    times.append(time.monotonic() - MESSAGE.unpack(data)[0])

        receiver = threading.Thread(target=receive)
        receiver.start()
        draws = random.Random(1)  # noqa: S311 (no secret)
        due = time.monotonic()
        for number in range(messages):
            # Random times, so that no timer of an emulator is in step with the messages.
            due += gap_ms * 1e-3 * (0.5 + draws.expovariate(2.0))
            time.sleep(max(due - time.monotonic(), 0.0))
            server.sendall(MESSAGE.pack(time.monotonic(), number))
        receiver.join()
    # The first messages may wait for the handshake's effects: caches, the path through the kernel.
    print(json.dumps({"rtt_s": times[messages // 20 :]}), flush=True)


def measure_datagrams(host: str, port: int, datagrams: int) -> None:
    """Send numbered datagrams, and print how many arrived."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.connect((host, port))
        due = time.monotonic()
        for number in range(datagrams):
            if number % BURST == 0:
                due += BURST_S
                time.sleep(max(due - time.monotonic(), 0.0))
            udp.send(MESSAGE.pack(0.0, number))
        udp.settimeout(0.2)
        # All datagrams have arrived when the server has read the question behind them.
        time.sleep(0.5)
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            udp.send(MESSAGE.pack(0.0, ASK))
            with suppress(TimeoutError):
                found = json.loads(udp.recv(2048))
                print(json.dumps({"sent": datagrams, **found}), flush=True)
                return
        raise SystemExit("the server did not answer")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", port]:
            serve(int(port))
        case ["echo", host, port, messages, gap]:
            measure_echo(host, int(port), int(messages), float(gap))
        case ["datagrams", host, port, datagrams]:
            measure_datagrams(address(host), int(port), int(datagrams))
        case words:
            sys.exit(f"{__doc__}\nexpected one of these commands, got {words}")
