"""Server of `serve_cells`: `tcpsf serve --profile linux-6.18` with files for replies of N segments.

    python _linux_served.py SETTINGS

It runs at the outside end of `tcpsf link`. SETTINGS is the JSON file of `_linux_server`, of which
it reads `segment`, `short`, `initial_window` and `ready`. It writes its address to `ready`.
"""

# ruff: noqa: S603 (this module runs a program)

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from _linux_client import HTTP_PORT
from _served_files import fit

from tcpsf.live.network import die_with_parent

MOST = 8
"""Largest number of segments of a reply."""


def main() -> None:
    """Serve until the link ends the program."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    with TemporaryDirectory() as name:
        words = [sys.executable, "-m", "tcpsf", "serve", name, "--json", "--no-offload", "-q"]
        words += ["--profile", "linux-6.18", "--port", str(HTTP_PORT)]
        if settings["initial_window"] is not None:
            words += ["--sender", f"cubic+rack+tlp+prr / full / iw={settings['initial_window']}"]
        server = subprocess.Popen(words, stdout=subprocess.PIPE, preexec_fn=die_with_parent)
        first = b"" if server.stdout is None else server.stdout.readline()
        address = json.loads(first)["addresses"][0]
        for segments in range(1, MOST + 1):
            total = segments * settings["segment"] - settings["short"]
            fit(Path(name) / str(segments), (address, HTTP_PORT), total)
        ready = Path(settings["ready"])
        part = ready.with_suffix(".part")
        part.write_text(address, encoding="utf-8")
        part.rename(ready)
        server.wait()


if __name__ == "__main__":
    main()
