"""Client of `_live_advice`: fetches files at random times, and writes the time of each response.

    python _advise_client.py SETTINGS

It runs behind `tcpsf link`. SETTINGS is a JSON file with these keys: `address`, that of the server, or
null for the other end of the link; `files`, the names of files; `requests`, their number; `responses`,
the number of requests on each connection; `rate`, requests per second; `seed`; and `out`, a file for
the times in seconds from the request to the last byte, with ``null`` for a connection that failed.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import sys
import time
from pathlib import Path

TIMEOUT_S = 60.0
PAUSE_S = 0.05
"""Time in seconds between a response and the next request on the same connection."""


async def fetch(address: str, files: list[str], times: list[float | None]) -> None:
    """Fetch files one after the other on one connection, and append the times of the responses."""
    reader, writer = await asyncio.open_connection(address, 80)
    try:
        for number, file in enumerate(files):
            if number:
                await asyncio.sleep(PAUSE_S)
            writer.write(f"GET /{file} HTTP/1.1\r\nHost: server\r\n\r\n".encode())
            begin = time.monotonic()
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                int(line.split(b":")[1])
                for line in head.splitlines()
                if line.lower().startswith(b"content-length")
            )
            await reader.readexactly(length)
            times.append(time.monotonic() - begin)
    finally:
        writer.close()


async def until_open(address: str) -> None:
    """Wait until the server accepts connections, for some seconds."""
    for _ in range(200):
        try:
            _, writer = await asyncio.open_connection(address, 80)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return


async def main() -> None:
    """Fetch all files."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    draw = random.Random(settings["seed"])  # noqa: S311 (no secret)
    address = settings["address"] or os.environ["TCPSF_LINK_OUTSIDE"]
    await until_open(address)
    begin, tasks, at_s = time.monotonic(), [], 0.0
    times: list[float | None] = []
    together = settings["responses"]
    names = itertools.cycle(settings["files"])
    for _ in range(settings["requests"] // together):
        # Poisson arrivals.
        at_s += draw.expovariate(settings["rate"] / together)
        await asyncio.sleep(max(0.0, begin + at_s - time.monotonic()))
        files = list(itertools.islice(names, together))
        one = asyncio.wait_for(fetch(address, files, times), TIMEOUT_S)
        tasks.append(asyncio.create_task(one))
    found = await asyncio.gather(*tasks, return_exceptions=True)
    times += [None for each in found if isinstance(each, BaseException)]
    Path(settings["out"]).write_text(json.dumps(times), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
