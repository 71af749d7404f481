"""Requests to the servers of `cure_servers`: every file, and many at once."""

# ruff: noqa: S603 (this module runs programs)

from __future__ import annotations

import hashlib
import http.client
import re
import socket
import ssl
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from _served_programs import PORT, Served

LOADED: Final = "1200"
"""Name of the file of 1200 bytes that is requested many times."""
CLIENTS: Final = 50
TIMEOUT_S: Final = 30.0


def wrong_files(served: Served, folder: Path, digests: Mapping[str, str]) -> list[str]:
    """Fetch all files over one connection and over one each; return those with other data."""
    names = [name for name in digests if int(name) <= served.largest]
    wrong = []
    for reuse in (True, False):
        fetch, close = _redis_client(folder) if served.scheme == "redis" else _http_client(served)
        for name in names:
            if not reuse:
                close()
            if hashlib.sha256(fetch(name)).hexdigest() != digests[name]:
                wrong.append(name)
        close()
    return wrong


Fetch = tuple[Callable[[str], bytes], Callable[[], None]]
"""Functions that return a file, and that close the connection; the next one opens another."""


def _http_client(served: Served) -> Fetch:
    if served.scheme == "https":
        context = ssl._create_unverified_context()  # noqa: S323, SLF001 (a certificate of our own)
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            "127.0.0.1", PORT, timeout=TIMEOUT_S, context=context
        )
    else:
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=TIMEOUT_S)

    def fetch(name: str) -> bytes:
        connection.request("GET", f"/{name}")
        return connection.getresponse().read()

    return fetch, connection.close


def _redis_client(folder: Path) -> Fetch:
    opened: list[socket.socket] = []

    def fetch(name: str) -> bytes:
        """Store a file, and return it."""
        if not opened:
            opened.append(socket.create_connection(("127.0.0.1", PORT), timeout=TIMEOUT_S))
        data = (folder / name).read_bytes()
        with opened[0].makefile("rwb") as both:
            for words in (b"SET", name.encode(), data), (b"GET", name.encode()):
                both.write(b"*%d\r\n" % len(words))
                for word in words:
                    both.write(b"$%d\r\n%s\r\n" % (len(word), word))
            both.flush()
            if both.readline() != b"+OK\r\n":
                return b""
            found = both.read(int(both.readline()[1:]))
            both.read(2)
            return found

    def close() -> None:
        while opened:
            opened.pop().close()

    return fetch, close


def load(served: Served, seconds: int, *, port: int = PORT) -> tuple[float, int]:
    """Request one file by many connections; return requests per second and the number of errors."""
    if served.scheme == "redis":
        return _redis_load(seconds)
    address = f"{served.scheme}://127.0.0.1:{port}/{LOADED}"
    command = ["wrk", "-t1", f"-c{CLIENTS}", f"-d{seconds}s", address]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    (speed,) = re.findall(r"Requests/sec:\s*([\d.]+)", done.stdout)
    errors = [
        int(each) for each in re.findall(r"(?:connect|read|write|timeout) (\d+)", done.stdout)
    ]
    errors += [int(each) for each in re.findall(r"Non-2xx or 3xx responses: (\d+)", done.stdout)]
    return float(speed), sum(errors)


def _redis_load(seconds: int) -> tuple[float, int]:
    command = ["redis-benchmark", "-p", str(PORT), "-c", str(CLIENTS), "-d", LOADED, "--csv"]
    command += ["-t", "set,get", "-n", str(30_000 * seconds)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    (speed,) = re.findall(r'"GET","([\d.]+)"', done.stdout)
    return float(speed), done.stderr.count("rror")
