"""Client of `linux_cubic`: reads what the server sends, and writes how long it took.

    python _linux_bulk_client.py SETTINGS

It runs behind `tcpsf link`. SETTINGS is a JSON file with `ready` and `samples` (files of the
server) and `took` (the file for the time in seconds).
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path

from _linux_client import run_first, wait_for


def main() -> None:
    """Read everything."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    wait_for(Path(settings["ready"]))
    run_first()
    begin = time.monotonic()
    with socket.create_connection((os.environ["TCPSF_LINK_OUTSIDE"], 9000)) as connection:
        buffer = bytearray(1 << 18)
        while connection.recv_into(buffer):
            pass
    Path(settings["took"]).write_text(json.dumps(time.monotonic() - begin), encoding="utf-8")
    end = time.monotonic() + 5
    while not Path(settings["samples"]).exists() and time.monotonic() < end:
        time.sleep(0.05)


if __name__ == "__main__":
    main()
