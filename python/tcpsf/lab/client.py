"""Client of a laboratory: requests at random times, and the time of each response.

    python -m tcpsf.lab.client SETTINGS

It runs behind `tcpsf link`. SETTINGS is a JSON file with these keys: `port` and `path` of the requests,
`requests`, their number, `rate`, requests per second, `seed`, and `out`, a file for the times in seconds
from the request to the last byte, with ``null`` for a request that failed.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from pathlib import Path

TIMEOUT_S = 60.0
LONGEST_START_S = 20.0
"""Time for the server to accept connections."""


async def _fetch(address: str, port: int, path: str) -> float:
    """Return the time of a response in seconds, without that of the handshake."""
    reader, writer = await asyncio.open_connection(address, port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n".encode())
        begin = time.monotonic()
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(_length(head))
        return time.monotonic() - begin
    finally:
        writer.close()


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


async def _main(settings: dict[str, object]) -> list[float | None]:
    draw = random.Random(str(settings["seed"]))  # noqa: S311 (no secret)
    address, port = os.environ["TCPSF_LINK_OUTSIDE"], int(str(settings["port"]))
    await _until_open(address, port)
    begin_s, at_s, tasks = time.monotonic(), 0.0, []
    for _ in range(int(str(settings["requests"]))):
        # Poisson arrivals.
        at_s += draw.expovariate(float(str(settings["rate"])))
        await asyncio.sleep(max(0.0, begin_s + at_s - time.monotonic()))
        one = asyncio.wait_for(_fetch(address, port, str(settings["path"])), TIMEOUT_S)
        tasks.append(asyncio.create_task(one))
    found = await asyncio.gather(*tasks, return_exceptions=True)
    return [None if isinstance(each, BaseException) else each for each in found]


if __name__ == "__main__":
    wanted = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(wanted["out"]).write_text(json.dumps(asyncio.run(_main(wanted))), encoding="utf-8")
