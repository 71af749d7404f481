"""Compare predictions of `tcpsf advise` with measurements of the kernel's TCP under `tcpsf cure`.

A server of the kernel's TCP sends replies over `tcpsf link`, which loses packets. `tcpsf advise`
predicts the 99th percentile of the completion time with a remedy from a capture of the server as it
is. Then `tcpsf cure run` applies the remedy, and the client measures the percentile. `_live_advice`
has the rules of the comparison.

    python verification/cure_live.py [--only 1,2] [--requests 2500] [--rate 60]

It needs root, TUN devices and BPF, and exits with 77 without them. A set-up takes two minutes.
"""

from __future__ import annotations

import sys
from typing import Final

from _live import Verdicts, main
from _live_advice import PACKET, LiveSetup, judge_setups

SETUPS: Final = (
    LiveSetup(PACKET, 1_100, 40, "dup-tail", "", is_kernel=True),
    LiveSetup(PACKET, 14_000, 40, "dup-tail", "", 5, is_kernel=True),
    LiveSetup(PACKET, 1_100, 100, "rto-min(ms=20)", "", is_kernel=True),
    LiveSetup(PACKET, 60_000, 40, "iw=20", "", is_kernel=True),
)


def work(verdicts: Verdicts) -> None:
    """Measure the set-ups."""
    judge_setups(verdicts, SETUPS)


if __name__ == "__main__":
    sys.exit(main(work))
