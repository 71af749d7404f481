"""Client of a laboratory: requests at random times, and the time of each response.

    python -m tcpsf.lab.client SETTINGS

It runs behind `tcpsf link`. SETTINGS is a JSON file with these keys: `address`, that of the server, or
null for the other end of the link; `port`; `paths`, which are requested in turn; `requests`, their
number; `responses`, the number of requests on each connection; `rate`, requests per second; `seed`;
`out`, a file for the times in seconds from the request to the last byte, with ``null`` for a connection
that failed; and optionally `downloads` with `port` and `number`, downloads that run beside the requests.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TIMEOUT_S = 60.0
PAUSE_S = 0.05
"""Time in seconds between a response and the next request on the same connection."""
LONGEST_START_S = 20.0
"""Time for the server to accept connections."""
DOWNLOAD = 100_000_000
"""Bytes of a download. A new one begins when it has ended."""
DOWNLOADS_AHEAD_S = 3.0
"""Time for the downloads to fill the link before the first request."""


async def _fetch(address: str, port: int, paths: list[str], times: list[float | None]) -> None:
    """Request paths one after the other on one connection, and append the times of the responses.

    The time of the handshake does not count.
    """
    reader, writer = await asyncio.open_connection(address, port)
    try:
        for number, path in enumerate(paths):
            if number:
                await asyncio.sleep(PAUSE_S)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n".encode())
            begin = time.monotonic()
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(_length(head))
            times.append(time.monotonic() - begin)
    finally:
        writer.close()


async def _download(address: str, port: int) -> None:
    """Download without an end."""
    while True:
        reader, writer = await asyncio.open_connection(address, port)
        writer.write(f"GET /{DOWNLOAD} HTTP/1.1\r\nHost: {address}\r\n\r\n".encode())
        try:
            left = DOWNLOAD
            while left > 0 and (part := await reader.read(1 << 16)):
                left -= len(part)
        finally:
            writer.close()


async def _with_downloads(address: str, settings: dict[str, Any]) -> list[asyncio.Task[None]]:
    """Begin the downloads, and wait until they have filled the link."""
    wanted = settings.get("downloads", {"number": 0})
    if not wanted["number"]:
        return []
    await _until_open(address, wanted["port"])
    one = [_download(address, wanted["port"]) for _ in range(wanted["number"])]
    tasks = [asyncio.create_task(each) for each in one]
    await asyncio.sleep(DOWNLOADS_AHEAD_S)
    return tasks


def _length(head: bytes) -> int:
    """Return the length of the body, which the header must have."""
    for line in head.splitlines():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    message = "the response has no Content-Length"
    raise ValueError(message)


async def _until_open(address: str, port: int) -> None:
    """Wait until the server accepts connections."""
    end_s = time.monotonic() + LONGEST_START_S
    while time.monotonic() < end_s:
        try:
            _, writer = await asyncio.open_connection(address, port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return


def arrivals(seed: str, rate: float) -> Iterator[float]:
    """Yield the times of Poisson arrivals in seconds, ``rate`` per second."""
    draw = random.Random(seed)  # noqa: S311 (no secret)
    at_s = 0.0
    while True:
        at_s += draw.expovariate(rate)
        yield at_s


async def _main(settings: dict[str, Any]) -> list[float | None]:
    address, port = settings["address"] or os.environ["TCPSF_LINK_OUTSIDE"], settings["port"]
    await _until_open(address, port)
    together, paths = settings["responses"], itertools.cycle(settings["paths"])
    times: list[float | None] = []
    downloads = await _with_downloads(address, settings)
    begin_s, tasks = time.monotonic(), []
    times_s = arrivals(str(settings["seed"]), settings["rate"] / together)
    for at_s in itertools.islice(times_s, settings["requests"] // together):
        await asyncio.sleep(max(0.0, begin_s + at_s - time.monotonic()))
        one = _fetch(address, port, list(itertools.islice(paths, together)), times)
        tasks.append(asyncio.create_task(asyncio.wait_for(one, TIMEOUT_S)))
    found = await asyncio.gather(*tasks, return_exceptions=True)
    for each in downloads:
        if each.done():
            each.result()  # A download that failed has changed the load.
        each.cancel()
    return times + [None for each in found if isinstance(each, BaseException)]


if __name__ == "__main__":
    wanted = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(wanted["out"]).write_text(json.dumps(asyncio.run(_main(wanted))), encoding="utf-8")
