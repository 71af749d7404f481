"""Keep 10 000 connections to a server open, with and without remedies, and compare all data.

    python verification/cure_crowd.py [--connections 10000] [--rounds 3]

Each connection to nginx requests files of other sizes, one after the other, while all others are open.
Every response must arrive as it is. Then clients of Multipath TCP request files from a server that
listens with it.
It needs root, BPF and nginx, and exits with 77 without them.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import selectors
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from _live import CannotRunError, Verdicts, main
from _served_programs import PORT, SERVERS
from cure_servers import PLAIN, REMEDIES, running, write_files

from tcpsf.live.network import enter, turn_loopback_on

FILES_LIMIT: Final = 20_000
LONGEST_S: Final = 60.0
ADDRESSES: Final = 4
"""Number of source addresses, because one has fewer ports than there are connections."""
LARGEST: Final = 20_000


class Client:
    """A connection that requests one file after the other."""

    def __init__(self, number: int, protocol: int) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
        self.socket.bind((f"127.0.0.{2 + number % ADDRESSES}", 0))
        self.socket.connect(("127.0.0.1", PORT))
        self.socket.setblocking(False)
        self.found = bytearray()
        self.wanted = b""

    def request(self, name: str, content: bytes) -> None:
        """Request a file whose content is known."""
        self.found.clear()
        self.wanted = content
        self.socket.send(f"GET /{name} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    def receive(self) -> bool:
        """Read what has arrived; return whether the response is complete."""
        part = self.socket.recv(1 << 16)
        self.found += part
        _, end, body = bytes(self.found).partition(b"\r\n\r\n")
        return not part or (bool(end) and len(body) >= len(self.wanted))

    @property
    def is_right(self) -> bool:
        """Whether the response has the content of the file."""
        head, _, body = bytes(self.found).partition(b"\r\n\r\n")
        return b" 200 " in head and body == self.wanted


def wrong_responses(contents: Mapping[str, bytes], number: int, rounds: int, protocol: int) -> int:
    """Request files on many connections at once, and count responses that are wrong."""
    draw = random.Random(3)  # noqa: S311 (no secret)
    names = sorted(contents)
    wrong = 0
    with ExitStack() as stack, selectors.DefaultSelector() as waiting:
        clients = [Client(index, protocol) for index in range(number)]
        for client in clients:
            stack.callback(client.socket.close)
            waiting.register(client.socket, selectors.EVENT_READ, client)
        for _ in range(rounds):
            for client in clients:
                name = draw.choice(names)
                client.request(name, contents[name])
            left, end_s = len(clients), time.monotonic() + LONGEST_S
            while left and time.monotonic() < end_s:
                for key, _ in waiting.select(1.0):
                    if key.data.receive():
                        left -= 1
                        wrong += not key.data.is_right
                        key.data.wanted = b"\0"  # more data would be another error
                        key.data.found.clear()
            wrong += left
    return wrong


def compare(
    verdicts: Verdicts,
    name: str,
    *,
    number: int,
    rounds: int,
    protocol: int,
    remedies: Sequence[str],
) -> None:
    """Compare the data of a server with each remedy to its files."""
    with tempfile.TemporaryDirectory(prefix="tcpsf-crowd-") as place:
        folder = Path(place)
        folder.chmod(0o755)
        write_files(folder / "files")
        contents = {
            file.name: file.read_bytes()
            for file in (folder / "files").iterdir()
            if file.stat().st_size <= LARGEST
        }
        command = SERVERS[name].command(folder)
        for remedy in remedies:
            cuts: list[int] = []
            with running(command, REMEDIES[remedy], cuts):
                wrong = wrong_responses(contents, number, rounds, protocol)
            verdicts.report(
                f"{name}, {remedy}: {number} connections, {rounds * number} responses, {wrong} wrong, "
                f"{cuts[0]} writes cut",
                holds=wrong == 0,
            )


def work(verdicts: Verdicts) -> None:
    """Compare nginx with many connections, and a listener of Multipath TCP."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("nginx") is None:
        message = "it needs root and nginx"
        raise CannotRunError(message)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_LIMIT, FILES_LIMIT))
    enter()
    turn_loopback_on()
    remedies = (PLAIN, "dup-tail", "tail(n=4)", "--preload tail(n=4)")
    compare(
        verdicts,
        "nginx",
        number=options.connections,
        rounds=options.rounds,
        protocol=0,
        remedies=remedies,
    )
    compare(
        verdicts,
        "python-mptcp",
        number=100,
        rounds=options.rounds,
        protocol=socket.IPPROTO_MPTCP,
        remedies=remedies,
    )


if __name__ == "__main__":
    sys.exit(main(work))
