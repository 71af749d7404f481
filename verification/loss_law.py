"""Compare the loss laws that `tcpsf analyze` fits with the laws of the paths that were captured.

The simulator sends many short transfers over paths with a known law: loss by packet, by byte,
between both, and in bursts. Each run is one capture. The share of runs whose 95 % interval contains
the truth is the coverage of the interval, for the exponent, for the loss of a full packet and for
the mean run. Long transfers through a policer, through a full queue and with random losses show how
often the test for a policer is right.

    python verification/loss_law.py [RUNS]

A coverage passes if 95 %, or more, is within its own 99 % interval. A policer must be found in nine
of ten transfers, and without one in one of twenty at most.
"""

# ruff: noqa: T201 (this program prints verdicts)

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from _loss_paths import FULL, LONG, LOSS, SHORT, Law, Place, capture_long, capture_short

from tcpsf.capture_law import LossLaw
from tcpsf.capture_laws import loss_laws
from tcpsf.captures import analyze
from tcpsf.intervals import Ends, wilson

RUNS: Final = 200
NOMINAL: Final = 0.95
QUANTILE: Final = 2.576
"""Of the normal distribution, for 99 %."""
FOUND: Final = 0.9
FALSE: Final = 0.05


def main() -> int:
    """Run all laws, and print the coverage of the intervals."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    with TemporaryDirectory() as name:
        folder = Path(name)
        failed = sum(
            judge_intervals(law, place, runs, folder)
            for law in SHORT
            for place in ("sender", "receiver")
        )
        failed += sum(judge_policer(law, max(runs // 5, 1), folder) for law in LONG)
    return 1 if failed else 0


def fitted(path: Path) -> LossLaw:
    """Return the law of the data, which the originator sends."""
    (law,) = (law for law in loss_laws(analyze(path).tables) if law.direction == "originator")
    return law


def judge_intervals(law: Law, place: Place, runs: int, folder: Path) -> int:
    """Print the coverages of one law, and return how many are too low."""
    hits: Counter[str] = Counter()
    known: Counter[str] = Counter()
    bursty, packets, losses = 0, 0, 0
    for seed in range(1, runs + 1):
        path = folder / "run.pcapng"
        capture_short(law, seed=seed, path=path, place=place)
        found = fitted(path)
        bursty += found.bursty
        packets, losses = packets + found.packets, losses + found.losses
        for what, truth, interval in (
            ("exponent", law.exponent, found.exponent_interval),
            ("loss", LOSS, loss_of_full(found)),
            ("mean run", law.mean_run, found.mean_run_interval),
        ):
            if truth is not None and interval is not None:
                known[what] += 1
                hits[what] += interval[0] <= truth <= interval[1]
    print(
        f"{law.name}, capture at the {place}: {runs} runs with {packets / runs:.0f} packets "
        f"and {losses / runs:.0f} losses on average, {bursty} with bursts"
    )
    return sum(judge_coverage(what, hits[what], known[what], runs) for what in known)


def loss_of_full(found: LossLaw) -> Ends | None:
    """Return the interval of the loss, if its size is that of a full packet."""
    return found.loss_interval if found.reference_size == FULL else None


def judge_coverage(what: str, hits: int, known: int, runs: int) -> int:
    """Print one coverage, and return whether it is too low."""
    _, high = wilson(hits / known, known, QUANTILE)
    good = high >= NOMINAL
    print(
        f"  {what}: an interval in {known} of {runs} runs, "
        f"the truth is in {hits} of them, {hits / known:.1%}: {'good' if good else 'TOO LOW'}"
    )
    return not good


def judge_policer(law: Law, runs: int, folder: Path) -> int:
    """Print how often a policer was found, and return whether that is wrong."""
    verdicts: Counter[str] = Counter()
    for seed in range(1, runs + 1):
        path = folder / "run.pcapng"
        capture_long(law, seed=seed, path=path)
        verdicts[fitted(path).policer.verdict] += 1
    tested = runs - verdicts["not enough"]
    share = verdicts["found"] / tested if tested else 0.0
    good = tested > 0 and (share >= FOUND if law.policed else share <= FALSE)
    print(
        f"{law.name}: policer found in {verdicts['found']} of {tested} transfers "
        f"that were tested, of {runs}: {'good' if good else 'WRONG'}"
    )
    return not good


if __name__ == "__main__":
    raise SystemExit(main())
