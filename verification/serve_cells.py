"""Compare replies of `tcpsf serve --profile linux-6.18` with the simulated sender, cell by cell.

The cells and the rules are those of `linux_cells`, which compares the kernel with the simulated
sender. Here `tcpsf serve` sends the replies, to a client with the kernel's TCP. The sets with lost
retransmissions, lost acknowledgments and other initial windows show that the server has the same
timers and the same recovery as the kernel. `linux_serve` compares headers and times with a server
of the kernel directly, in fewer cells.

Two kinds of sets are left out. The HTTP server does not end segments early, as records do. Without
SACK, the request matters, which the simulated client does not send: Linux does not count the first
duplicate acknowledgment after new data of the peer (`newreno-duplicate-after-a-request.pkt`).
`linux_serve` has cells without SACK.

    python verification/serve_cells.py [--all] [--sets first,acks] [--rtt 20,100]

It needs root and TUN devices, and exits with 77 without them.
"""

# ruff: noqa: T201 (this module prints verdicts)

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from linux_cells import RTTS_MS, missing, parts, run, verdict_of

SETS: Final = ("first", "again", "acks", "iw2", "delayed")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sets, and print a verdict for each and a line for each cell that is not equal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--all", action="store_true", help="every mask of 6 to 8 segments")
    parser.add_argument("--sets", default=",".join(SETS), help="names, separated by commas")
    parser.add_argument("--rtt", help="only these round-trip times, in ms")
    options = parser.parse_args(arguments)
    reason = missing()
    if reason is not None:
        print(f"cannot run: {reason}")
        return 77
    names = options.sets.split(",")
    rtts = [float(word) for word in options.rtt.split(",")] if options.rtt else RTTS_MS
    chosen = [part for part in parts(everything=options.all) if part.name in names]
    failed = 0
    with ProcessPoolExecutor(2) as pool:
        for part in chosen:
            settings = [one for one in part.settings if one.rtt_ms in rtts]
            run(part, settings, pool, server="served")
            failed += not verdict_of(part)
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
