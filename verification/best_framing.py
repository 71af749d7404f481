"""Compare the sender of the best-framing model with the simulator's TCP, for each loss pattern.

The first set has trains of up to eight full-sized segments in one window, with every pattern of
losses. The second set has smaller windows, with each single loss. In both senders the last
acknowledgment must arrive at the same time, within two ticks of the clock.

    python verification/best_framing.py

The exit status is 1 if any pattern differs.
"""

# ruff: noqa: T201 (this program prints its verdicts)

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence

from tcpsf.models.sender import Detection, Train, acknowledged
from tcpsf.runs import run
from tcpsf.scenario import Link, MaskLoss, Scenario, Tcp, Transfers

RTT, RTO, MSS = 0.1, 1.0, 1460
LONGEST = 8
WINDOWS = (1, 2, 3, 4)
TICK_S = 0.001


def main() -> int:
    """Run every pattern through both senders, compare the times and print the verdicts."""
    failed = 0
    lines = [
        (
            f"{count} segments in one window",
            10,
            list(itertools.product([False, True], repeat=count)),
        )
        for count in range(1, LONGEST + 1)
    ]
    lines += [
        (
            f"{LONGEST} segments, window {window}, one lost",
            window,
            [_only(lost) for lost in range(LONGEST)],
        )
        for window in WINDOWS
    ]
    for statement, window, patterns in lines:
        wrong = [pattern for pattern in patterns if not _alike(pattern, window)]
        failed += bool(wrong)
        shown = f"; first {''.join(str(int(lost)) for lost in wrong[0])}" if wrong else ""
        print(
            f"{'FAILS' if wrong else 'holds':6} {statement}: {len(wrong)} of {len(patterns)} patterns differ{shown}"
        )
    return 1 if failed else 0


def _only(lost: int) -> tuple[bool, ...]:
    return tuple(number == lost for number in range(LONGEST))


def _alike(pattern: Sequence[bool], window: int) -> bool:
    train = Train(costs=(1.0,) * len(pattern), window=float(window), full=1.0, rtt=RTT)
    ours = acknowledged(train, Detection(rack=False, rto=RTO), pattern)[-1]
    return abs(ours - simulated(pattern, window)) <= 2 * TICK_S


def simulated(pattern: Sequence[bool], window: int) -> float:
    """Time at which the simulated sender receives the last acknowledgment, in seconds."""
    drops = ",".join(str(int(lost)) for lost in pattern)
    scenario = Scenario(
        name="train",
        duration="300s",
        link=(
            Link(name="there", from_="a", to="b", delay=f"{RTT / 2}s", loss=MaskLoss(drops=drops)),
            Link(name="back", from_="b", to="a", delay=f"{RTT / 2}s"),
        ),
        workload=(
            Transfers(
                name="w",
                from_="a",
                to="b",
                sender=f"reno+sack / full / iw={window}",
                sizes=(len(pattern) * MSS,),
            ),
        ),
        tcp=Tcp(
            profile="rfc",
            mss=MSS,
            tick=f"{TICK_S}s",
            rto_initial=f"{RTO}s",
            rto_min=f"{RTO}s",
            ack_every=1,
            growth="ack",
            timestamps=False,
        ),
    )
    found: float = run(scenario, seed=1).flows["sender_s"][0]
    return found


if __name__ == "__main__":
    sys.exit(main())
