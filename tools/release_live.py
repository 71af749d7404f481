"""Use `tcpsf serve` and `tcpsf link` as root, in a network namespace without anything else.

`tools/release.py` runs this program in a root file system. It prints one line, or fails.
"""

# ruff: noqa: S310, S603, T201 (the program starts tcpsf, fetches from it, and prints a line)

from __future__ import annotations

import http.server
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from functools import partial
from pathlib import Path

TCPSF = Path(sys.executable).with_name("tcpsf")

CONTENT = os.urandom(200_000)

DELAY_S = 0.04

INSIDE = """
import os, sys, time, urllib.request
began = time.monotonic()
address = os.environ["TCPSF_LINK_OUTSIDE"]
data = urllib.request.urlopen(f"http://{address}:8000/file", timeout=30).read()
print(len(data), time.monotonic() - began)
"""
"""Program behind the link: it fetches the file from outside, and prints size and time."""


def serve(folder: Path) -> float:
    """Fetch a file from `tcpsf serve`; return the time in seconds."""
    command = [str(TCPSF), "serve", str(folder)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            line = server.stdout.readline() if server.stdout else ""
            found = re.search(r"http://\d[\d.:]*/", line)
            if found is None:
                sys.exit(
                    f"`tcpsf serve` printed {line!r}: {server.stderr and server.stderr.read()}"
                )
            began = time.monotonic()
            with urllib.request.urlopen(f"{found[0]}file", timeout=30) as answer:
                data = answer.read()
            seconds = time.monotonic() - began
        finally:
            server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)
    if data != CONTENT or server.returncode != 0:
        sys.exit(f"`tcpsf serve`: {len(data)} bytes, exit status {server.returncode}")
    return seconds


def link(folder: Path) -> float:
    """Fetch the file through `tcpsf link` from a server of Python; return the time in seconds."""
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("", 8000), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        words = ["link", "-q", "--delay", f"{DELAY_S:g}s", "--", sys.executable, "-c", INSIDE]
        done = subprocess.run([str(TCPSF), *words], capture_output=True, text=True, check=False)
        server.shutdown()
    if done.returncode != 0:
        sys.exit(f"`tcpsf link`: exit status {done.returncode}: {done.stderr}")
    size, seconds = done.stdout.split()
    # The handshake and the request each take a round trip of twice the delay.
    if int(size) != len(CONTENT) or float(seconds) < 4 * DELAY_S:
        sys.exit(f"`tcpsf link`: {size} bytes in {seconds} s")
    return float(seconds)


def main() -> None:
    """Run both, and print their times."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "file").write_bytes(CONTENT)
        print(
            f"200 kB from `serve` in {serve(Path(name)):.2f} s, "
            f"through `link` with {1000 * DELAY_S:g} ms of delay in {link(Path(name)):.2f} s"
        )


if __name__ == "__main__":
    main()
