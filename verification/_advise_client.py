"""Client of `advise_live`: fetches files at random times, and writes the time of each response.

    python _advise_client.py SETTINGS

It runs behind `tcpsf link`. SETTINGS is a JSON file with these keys: `address`, that of the server;
`files`, the names of files; `requests`, their number; `rate`, requests per second; `seed`; and `out`,
a file for the times in seconds from the request to the last byte, with ``null`` for a failure.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from pathlib import Path

TIMEOUT_S = 60.0


async def fetch(address: str, file: str) -> float:
    """Fetch a file on a connection of its own, and return the time of the response in seconds."""
    reader, writer = await asyncio.open_connection(address, 80)
    try:
        writer.write(f"GET /{file} HTTP/1.0\r\n\r\n".encode())
        begin = time.monotonic()
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1])
            for line in head.splitlines()
            if line.lower().startswith(b"content-length")
        )
        await reader.readexactly(length)
        return time.monotonic() - begin
    finally:
        writer.close()


async def main() -> None:
    """Fetch all files."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    draw = random.Random(settings["seed"])  # noqa: S311 (no secret)
    begin, tasks, at_s = time.monotonic(), [], 0.0
    for number in range(settings["requests"]):
        # Poisson arrivals.
        at_s += draw.expovariate(settings["rate"])
        await asyncio.sleep(max(0.0, begin + at_s - time.monotonic()))
        file = settings["files"][number % len(settings["files"])]
        tasks.append(
            asyncio.create_task(asyncio.wait_for(fetch(settings["address"], file), TIMEOUT_S))
        )
    found = await asyncio.gather(*tasks, return_exceptions=True)
    times = [None if isinstance(each, BaseException) else each for each in found]
    Path(settings["out"]).write_text(json.dumps(times), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
