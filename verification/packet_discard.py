"""Check the packet-discard conditions against two Reno senders.

The check covers all patterns of up to four losses:

    python verification/packet_discard.py [--window 24]

The first sender is `models.packet_discard.reno_recovers`, which processes one acknowledgment after
the other. The second sender is the simulator's TCP, with the losses as masks on its link.

Each printed line is a statement about all patterns in windows up to the given size. The exit status
is 1 if a statement does not hold, and 2 if the windows are too small for the statements.
"""

# ruff: noqa: T201 (this program prints its verdicts)

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Iterator

import numpy as np
from _reno_windows import LEAST, places, recovers
from _verdicts import judged

from tcpsf.models import packet_discard as pd

RULES: tuple[pd.Rule, ...] = ("cwnd", "flight")
MOST_LOSSES = 4
FIRST_OF_THREE = 20
"""Smallest window with a pattern that satisfies (3). The statements include such a window."""


def main() -> int:
    """Run both senders, count the recoveries and print the verdicts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--window", type=int, default=24, help="largest window in segments [default: 24]"
    )
    most = parser.parse_args().window
    if most < FIRST_OF_THREE:
        parser.error(
            f"argument --window: expected {FIRST_OF_THREE} segments or more, got {most}: "
            "in smaller windows no pattern satisfies condition (3)"
        )
    played = {(rule, window, lost): pd.reno_recovers(window, lost, ssthresh_rule=rule)
              for rule in RULES for window, lost in _patterns(most)}  # fmt: skip
    found: dict[tuple[str, int], Counter[bool]] = {}
    for (rule, _, lost), good in played.items():
        found.setdefault((rule, len(lost)), Counter())[good] += 1
    simulated = {key: good for rule in RULES for key, good in _simulated(rule, most)}
    print(f"{len(played) // 2} patterns in windows up to {most}, each under both rules\n")
    print(f"{'lost':>6}{'patterns':>10}{'half of cwnd':>18}{'half of flight':>18}")
    for count in range(1, MOST_LOSSES + 1):
        total = found["cwnd", count].total()
        print(f"{count:6}{total:10}" + "".join(f"{found[rule, count][True]:18}" for rule in RULES))
    print()
    statements = itertools.chain(
        _statements(played, found), _of_the_simulator(played, simulated, most)
    )
    return 1 if judged(statements) else 0


def _patterns(most: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    for window in range(1, most + 1):
        for count in range(1, min(MOST_LOSSES, window) + 1):
            for lost in itertools.combinations(range(window), count):
                yield window, lost


def _simulated(
    rule: pd.Rule, most: int
) -> Iterator[tuple[tuple[pd.Rule, int, tuple[int, ...]], bool]]:
    for window, place in places(rule, most).items():
        patterns = [lost for at, lost in _patterns(window) if at == window]
        for lost, good in zip(patterns, recovers(rule, place, patterns), strict=True):
            yield (rule, window, lost), good


def _of_the_simulator(
    played: dict[tuple[pd.Rule, int, tuple[int, ...]], bool],
    simulated: dict[tuple[pd.Rule, int, tuple[int, ...]], bool],
    most: int,
) -> Iterator[tuple[str, bool]]:
    for rule, halved in zip(RULES, ("cwnd", "FlightSize"), strict=True):
        ours = {key: good for key, good in simulated.items() if key[0] == rule}
        theirs = {key: good for key, good in played.items() if key[0] == rule and key[1] >= LEAST}
        other = sum(good != theirs[key] for key, good in ours.items())
        statement = f"agrees in {len(ours) - other} of {len(theirs)} patterns in windows from {LEAST} to {most}"
        yield (
            f"the simulator's TCP, which halves {halved}, {statement}",
            bool(ours) and ours == theirs and any(ours.values()),
        )


def _statements(
    played: dict[tuple[pd.Rule, int, tuple[int, ...]], bool],
    found: dict[tuple[str, int], Counter[bool]],
) -> Iterator[tuple[str, bool]]:
    alike = True
    for (rule, window, count), group in itertools.groupby(
        played.items(), key=lambda i: (*i[0][:2], len(i[0][2]))
    ):
        cases = list(group)
        ours = pd.recovers(window, np.array([key[2] for key, _ in cases]), ssthresh_rule=rule)
        alike &= (
            ours.shape == (len(cases),)
            and ours.tolist() == [good for _, good in cases]
            and count > 0
        )
    yield "`recovers` agrees with `reno_recovers` for every pattern, under both rules", alike
    one = [
        (w, lost, good)
        for (rule, w, lost), good in played.items()
        if rule == "cwnd" and len(lost) == 1
    ]
    yield "(1) is exact", all(bool(pd.first_repaired(w, 1)) == good for w, _, good in one)
    two = [
        (w, lost, good)
        for (rule, w, lost), good in played.items()
        if rule == "cwnd" and len(lost) == 2
    ]
    yield (
        "(2), corrected, is exact",
        all(
            bool(pd.second_repaired(w, 2, apart=lost[1] - lost[0])) == good for w, lost, good in two
        ),
    )
    wrong = {(w, lost) for w, lost, good in two if (w // 2 - 2 >= 3) != good}
    yield (
        "(2) as printed is wrong only for W = 8 {0, 7} and W = 9 {0, 8}",
        wrong == {(8, (0, 7)), (9, (0, 8))},
    )
    three = [
        (w, lost, good)
        for (rule, w, lost), good in played.items()
        if rule == "cwnd" and len(lost) == 3
    ]
    yield (
        "(3), with floors, is exact",
        all(bool(pd.third_repaired(w, apart=lost[1] - lost[0])) == good for w, lost, good in three),
    )
    yield "some pattern satisfies (3)", found["cwnd", 3][True] > 0
    yield (
        "more patterns of three losses recover when FlightSize is halved",
        (found["flight", 3][True] > found["cwnd", 3][True]),
    )
    yield (
        "no pattern of four losses recovers, under either rule",
        all(found[rule, 4][True] == 0 and found[rule, 4].total() > 0 for rule in RULES),
    )


if __name__ == "__main__":
    sys.exit(main())
