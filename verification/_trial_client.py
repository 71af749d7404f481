"""Client of `cure_trial`: several threads fetch responses until a file exists.

    python _trial_client.py SIZE THREADS PAUSE_MS FILE

It runs behind `tcpsf link`, whose other end has `tcpsf.lab.server`. Each response has a connection of
its own, and the pauses between them are exponential.
"""

from __future__ import annotations

import http.client
import os
import random
import sys
import threading
import time
from pathlib import Path


def fetch(size: int, pause_s: float, end: Path, draw: random.Random) -> None:
    """Fetch responses until the file exists."""
    while not end.exists():
        connection = http.client.HTTPConnection(os.environ["TCPSF_LINK_OUTSIDE"], 80, timeout=30)
        try:
            connection.request("GET", f"/{size}")
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            time.sleep(0.1)
        finally:
            connection.close()
        if pause_s:
            time.sleep(draw.expovariate(1 / pause_s))


def main() -> None:
    """Run the threads."""
    size, count, pause_ms, end = sys.argv[1:]
    threads = [
        threading.Thread(
            target=fetch,
            args=(int(size), int(pause_ms) / 1e3, Path(end), random.Random(number)),  # noqa: S311
        )
        for number in range(int(count))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
