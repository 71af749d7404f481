"""`tcpsf link stats --watch`: rates, queues and drops of a running link, redrawn each second."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

from tcpsf import text
from tcpsf.cli.output import print_pieces
from tcpsf.emulation.link_requests import ask, running
from tcpsf.errors import TcpsfError

_INTERVAL_S = 1.0
_CLEAR = "\x1b[H\x1b[J"
"""Control sequences of ECMA-48: cursor to the first position, and erase what follows."""

_DROPS = {
    "dropped, buffer full": "dropped_buffer_packets",
    "dropped early": "dropped_early_packets",
    "lost": "dropped_loss_packets",
    "marked": "marked_packets",
    "too long for the path": "too_big_packets",
}


def watch(name: str) -> None:
    """Redraw the statistics of a link each second, until it ends or Ctrl-C."""
    if not sys.stdout.isatty():
        raise TcpsfError(
            "cannot watch a link: standard output is not a terminal",
            hint=f"`tcpsf link stats {name} --json` prints the statistics once",
        )
    before = ask(name, "stats")
    while True:
        time.sleep(_INTERVAL_S)
        if name not in running():
            return
        after = ask(name, "stats")
        print_pieces((_CLEAR, frame(before, after)))
        before = after


def frame(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return the text of a second: rates between two answers, and the queue at the later one."""
    elapsed_s = float(max(after["time_s"] - before["time_s"], 1e-9))
    ways = ("up", "down")

    def change(way: str, column: str) -> float:
        return float(after[way][column] - before[way][column]) / elapsed_s

    rows = [["", *ways]]
    for label, column in (("offered, Mb/s", "offered"), ("delivered, Mb/s", "delivered")):
        rows.append(
            [label, *(text.number(change(way, f"{column}_bytes") * 8e-6, 2) for way in ways)]
        )
    rows.append(["queue, packets", *(text.plain(after[way]["queue_packets"], 0) for way in ways)])
    rows.append(["queue, kB", *(text.number(after[way]["queue_bytes"] * 1e-3, 1) for way in ways)])
    for label, column in _DROPS.items():
        if any(after[way][column] for way in ways):
            rows.append(
                [
                    f"{label} (per second)",
                    *(
                        f"{text.plain(after[way][column], 0)} ({change(way, column):.0f})"
                        for way in ways
                    ),
                ]
            )
    head = f"{after['name']} after {text.seconds(after['time_s'])} s. Ctrl-C ends the view."
    return f"{head}\n\n{text.table(rows, left=[0])}"
