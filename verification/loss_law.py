"""Compare the loss laws that `tcpsf analyze` fits with the laws of the paths that were captured.

The simulator sends many short transfers over paths with a known law: loss by packet, by byte,
between both, and in bursts. Each run is one capture. The share of runs whose 95 % interval contains
the truth is the coverage of the interval, for the exponent, for the loss of a full packet and for
the mean run. Long transfers through a policer, through a full queue and with random losses show how
often the test for a policer is right.

    python verification/loss_law.py [RUNS]

A coverage passes if 95 %, or more, is within its own 99 % interval. Bursts seen by the receiver are
stated and not judged, because those at the end of a flight are not visible. A policer must be found in
nine of ten transfers, and without one in one of twenty at most.
"""

# ruff: noqa: T201 (this program prints verdicts)

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from _loss_paths import FULL, LONG, LOSS, SHORT, Law, Place, capture_long, capture_short

from tcpsf.captures import analyze
from tcpsf.captures.law import LossLaw
from tcpsf.captures.laws import loss_laws
from tcpsf.intervals import Ends, wilson

PLACES: Final[tuple[Place, ...]] = ("sender", "receiver")
RUNS: Final = 200
MOST: Final = 1_000_000
"""Maximum number of runs of a comparison."""
NOMINAL: Final = 0.95
QUANTILE: Final = 2.576
"""Of the normal distribution, for 99 %."""
MANY: Final = 2.0
"""Mean run from which on losses come in bursts."""
FOUND: Final = 0.9
FALSE: Final = 0.05


def main() -> int:
    """Run all laws, and print the coverage of the intervals."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    with TemporaryDirectory() as name:
        folder = Path(name)
        failed = sum(
            judge_intervals(law, place, seeds(2 * number + part, runs), folder)
            for number, law in enumerate(SHORT)
            for part, place in enumerate(PLACES)
        )
        failed += sum(
            judge_policer(law, seeds(100 + number, max(runs // 5, 1)), folder)
            for number, law in enumerate(LONG)
        )
    return 1 if failed else 0


def fitted(path: Path) -> LossLaw:
    """Return the law of the data, which the originator sends."""
    (law,) = (law for law in loss_laws(analyze(path).tables) if law.direction == "originator")
    return law


def seeds(number: int, runs: int) -> range:
    """Return the random seeds of one comparison. No two comparisons have common ones."""
    return range(number * MOST + 1, number * MOST + 1 + min(runs, MOST))


def judge_intervals(law: Law, place: Place, seeds: range, folder: Path) -> int:
    """Print the coverages of one law, and return how many are too low."""
    hits: Counter[str] = Counter()
    known: Counter[str] = Counter()
    bursty, packets, losses, runs = 0, 0, 0, len(seeds)
    for seed in seeds:
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
    judged = place == "sender" or law.mean_run < MANY
    return sum(judge_coverage(what, hits[what], known[what], runs, judged) for what in known)


def loss_of_full(found: LossLaw) -> Ends | None:
    """Return the interval of the loss, if its size is that of a full packet."""
    return found.loss_interval if found.reference_size == FULL else None


def judge_coverage(what: str, hits: int, known: int, runs: int, judged: bool) -> int:
    """Print one coverage, and return whether it is too low."""
    _, high = wilson(hits / known, known, QUANTILE)
    good = high >= NOMINAL or not judged
    verdict = ("good" if good else "TOO LOW") if judged else "stated"
    print(
        f"  {what}: an interval in {known} of {runs} runs, "
        f"the truth is in {hits} of them, {hits / known:.1%}: {verdict}"
    )
    return not good


def judge_policer(law: Law, seeds: range, folder: Path) -> int:
    """Print how often a policer was found, and return whether that is wrong."""
    verdicts: Counter[str] = Counter()
    for seed in seeds:
        path = folder / "run.pcapng"
        capture_long(law, seed=seed, path=path)
        verdicts[fitted(path).policer.verdict] += 1
    runs = len(seeds)
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
