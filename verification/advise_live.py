"""Compare predictions of `tcpsf advise` with live measurements.

In each set-up, `tcpsf serve` sends replies with the TCP of Linux 6.18 over `tcpsf link`, which loses
data by a given law. The link captures the packets at the server. `tcpsf advise` predicts the 99th
percentile of the completion time with a remedy from this capture alone. Then the server has this
remedy, the link has other random numbers, and the client measures the same percentile.
`_live_advice` has the rules of the comparison.

    python verification/advise_live.py [--only 1,2] [--requests 2500] [--rate 60]

It needs root and TUN devices, and exits with 77 without them. A set-up takes two minutes.
"""

from __future__ import annotations

import sys
from typing import Final

from _live import Verdicts, main
from _live_advice import BURST, BYTE, PACKET, LiveSetup, judge_setups

SETUPS: Final = (
    LiveSetup(PACKET, 1_100, 20, "dup-tail", "linux / dup-tail"),
    LiveSetup(PACKET, 1_100, 100, "rto-min(ms=20)", "linux / rto-min(ms=20)"),
    LiveSetup(PACKET, 5_000, 40, "tail(n=4)", "linux / tail(n=4)"),
    LiveSetup(PACKET, 14_000, 100, "dup-tail", "linux / dup-tail", 5),
    LiveSetup(PACKET, 60_000, 40, "iw=20", "linux / full / iw=20"),
    LiveSetup(BYTE, 1_100, 20, "tail(n=4)", "linux / tail(n=4)"),
    LiveSetup(BYTE, 4_000, 60, "tiny-tail", "linux / tiny-tail", 5),
    LiveSetup(BYTE, 14_000, 40, "fs", "linux / fs(n=40, min=11)"),
    LiveSetup(BURST, 4_000, 40, "dup-tail(delay=10ms)", "linux / dup-tail(delay=10ms)"),
    LiveSetup(BURST, 14_000, 100, "rto-min(ms=20)", "linux / rto-min(ms=20)"),
    LiveSetup(PACKET, 14_000, 40, "dup-tail", "linux / dup-tail", rate="10Mb/s"),
    LiveSetup(PACKET, 4_000, 60, "dup-tail", "linux / dup-tail", 5, rate="5Mb/s"),
)


def work(verdicts: Verdicts) -> None:
    """Measure the set-ups."""
    judge_setups(verdicts, SETUPS)


if __name__ == "__main__":
    sys.exit(main(work))
