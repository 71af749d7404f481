"""Section 2.2's rule of thumb: losses 3W/4 + 3 or W/2 segments apart need no timeout."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Axis, Figure
from tcpsf.evaluation.exhibit import Exhibit, Part, series
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case
from tcpsf.evaluation.ranges import Verdict
from tcpsf.evaluation.watch import Rows
from tcpsf.models import packet_discard as model
from tcpsf.papers import packet_discard as paper
from tcpsf.papers import packet_discard_networks as networks
from tcpsf.summary import RunSummary

WHERE = "section 2.2"
DISTANCES = (6, 8, 12, 16, 24, 32, 48, 64, 96)
"""Mean distances between losses, in segments."""
LAWS = {
    "regular": "always the same distance",
    "spaced": "half to one and a half of the mean distance",
    "random": "independent losses",
}
FLOWS = 20
"""Flows of each law at each distance; each flow is one observation."""
SEGMENTS = 1500
"""Length of a flow.

Every loss is more than ten windows before the end, at every distance.
"""
BEGIN, END = 24, 100
"""Numbers of segments at the start and at the end of a flow without losses.

At the start the window is small. At the end too few segments follow the loss.
"""
WINDOWS = range(5, 33)
"""Windows of the enumeration.

Section 2.1: fast retransmit repairs no loss in a window of fewer than 5 segments.
"""
TWO_LOSSES = 10
"""Equation (2): the smallest window in which two losses are repaired."""

RESPONSES = Rows(table="recoveries", columns=("workload", "cause", "cwnd_bytes"))
AWAY = Axis(label="mean distance of losses", unit="segments", scale="log")
EXPIRED = Axis(label="losses that end in a timeout", unit="%", scale="linear", low=0.0, high=100.0)

NOTE = (
    "Losses at a regular distance of D segments hold the window between W/2 and W with 3W²/8 = D. The rule "
    "requires D ≥ 3W/4 + 3, which such a window meets from W = 4 on. Every loss at D ≥ 6 therefore meets "
    "the rule. Near that distance the window is too small for three duplicate acknowledgments."
)


def exhibits() -> tuple[Exhibit, ...]:
    """Return the exhibit of timeouts by the distance between losses.

    Its losses are listed individually, so its runs are not random.
    """
    cases = {
        distance: Case(
            scenario=networks.spacing_scenario(
                [mask(law, distance, n) for law in LAWS for n in range(FLOWS)]
            ),
            watches=(RESPONSES,),
            once=True,
        )
        for distance in DISTANCES
    }
    return (
        Exhibit(
            key="loss-spacing",
            section="spacing",
            cases=tuple(cases.values()),
            build=lambda runs: _part(
                {distance: runs.of(case)[0] for distance, case in cases.items()}
            ),
        ),
    )


def mask(law: str, distance: int, number: int) -> tuple[bool, ...]:
    """Return a mask of the lost data packets of a flow; equal arguments give equal masks.

    >>> lost = [at for at, gone in enumerate(mask("regular", 12, 3)) if gone]
    >>> {b - a for a, b in zip(lost, lost[1:])}
    {12}
    """
    chance = random.Random(f"{law} {distance} {number}")  # noqa: S311 (no secret)
    lost = set()
    at = BEGIN + chance.randrange(distance)
    while at < SEGMENTS - END:
        lost.add(at)
        at += _gap(law, distance, chance)
    return tuple(each in lost for each in range(SEGMENTS))


def _gap(law: str, distance: int, chance: random.Random) -> int:
    if law == "regular":
        return distance
    if law == "spaced":
        return chance.randint(distance // 2, distance + distance // 2)
    gap = 1
    while chance.random() >= 1.0 / distance:
        gap += 1
    return gap


def _part(runs: Mapping[int, RunSummary]) -> Part:
    figure = Figure(
        key="loss-spacing",
        title="Timeouts by distance of losses",
        source=f"{paper.SHORT}, {WHERE} (rule only; the paper has no figure)",
        caption=(
            f"Reno on lines without a queue, {FLOWS} flows of {SEGMENTS} segments for each point; "
            "retransmissions count as other segments."
        ),
        x=AWAY,
        y=EXPIRED,
        series=tuple(
            series(law, label, list(runs), [_expired(run, law) for run in runs.values()])
            for law, label in LAWS.items()
        ),
        notes=(NOTE,),
    )
    return Part(figures=(figure,), findings=tuple(_claims(runs)))


def _responses(run: RunSummary, law: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the responses to loss of each flow of a law."""
    rows = RESPONSES.of(run)
    first = list(LAWS).index(law) * FLOWS
    for number in range(first, first + FLOWS):
        yield [row for row in rows if row["workload"] == f"{networks.WINDOW}-{number}"]


def _expired(run: RunSummary, law: str) -> stats.Estimate | None:
    """Per cent of the responses that are timeouts; flows are the observations."""
    flows = list(_responses(run, law))
    found = stats.share([_timeouts(rows) for rows in flows], [len(rows) for rows in flows])
    return None if found is None else found.scaled(100.0)


def _timeouts(rows: Sequence[Mapping[str, Any]]) -> int:
    return sum(row["cause"] == "timeout" for row in rows)


def conservative(window: float) -> float:
    """Distance 3W/4 + 3 in segments, which section 2.2 recommends."""
    return 3.0 * window / 4.0 + 3.0


def half(window: float) -> float:
    """Distance W/2, which suffices according to section 2.2 if it is strictly kept."""
    return window / 2.0


def timed_out(windows: Sequence[int], rule: Callable[[float], float]) -> tuple[list[str], int]:
    """Enumerate the loss patterns of one window that keep the rule.

    Return the patterns that need the timer, and the number of all patterns.

    >>> timed_out([8], half)
    (['8 {0, 4}', '8 {0, 5}', '8 {0, 6}', '8 {1, 5}', '8 {1, 6}', '8 {1, 7}', '8 {2, 6}', '8 {2, 7}', '8 {3, 7}'], 18)
    """
    bad, count = [], 0
    for window in windows:
        for pattern in _patterns(window, rule(window)):
            count += 1
            if not bool(model.recovers(window, np.array(pattern, dtype=np.float64))):
                bad.append(f"{window} {{{', '.join(map(str, pattern))}}}")
    return bad, count


def _patterns(window: int, least: float) -> Iterator[tuple[int, ...]]:
    """Yield the sets of positions in a window that are at least ``least`` segments apart."""
    for count in itertools.count(1):
        found = False
        for pattern in itertools.combinations(range(window), count):
            if all(b - a >= least for a, b in itertools.pairwise(pattern)):
                found = True
                yield pattern
        if not found:
            return


def _pattern_claims() -> Iterator[Finding]:
    """Judge the claims on the losses of one window, of which all patterns are enumerated."""
    last = WINDOWS[-1]
    for key, claim, windows, rule in (
        (
            "spacing-conservative",
            f"Losses of one window at least 3W/4 + 3 apart need no timeout (windows of {WINDOWS[0]} to {last})",
            WINDOWS,
            conservative,
        ),
        (
            "spacing-half",
            f"Losses of one window at least W/2 apart need no timeout (windows of {WINDOWS[0]} to {last})",
            WINDOWS,
            half,
        ),
        (
            "spacing-half-large",
            f"Losses of one window at least W/2 apart need no timeout (windows of {TWO_LOSSES} to {last})",
            range(TWO_LOSSES, last + 1),
            half,
        ),
    ):
        bad, count = timed_out(windows, rule)
        shown = f"{len(bad)} of {count} patterns need it"
        wording = (
            f"All patterns are enumerated: {shown}{f', the first is {bad[0]}' if bad else ''}."
        )
        verdict: Verdict = "does not hold" if bad else "holds"
        judged = judge.by_value(len(bad), verdict, shown, wording)
        yield judge.finding(key=key, claim=claim, source=WHERE, published="none", judged=judged)


def _claims(runs: Mapping[int, RunSummary]) -> Iterator[Finding]:
    yield from _pattern_claims()
    distant = [
        row
        for distance, run in runs.items()
        for rows in _responses(run, "regular")
        for row in rows
        if WINDOWS[0] <= row["cwnd_bytes"] / paper.SEGMENT
        and distance >= conservative(row["cwnd_bytes"] / paper.SEGMENT)
    ]
    yield judge.finding(
        key="spacing-goes-on",
        claim="A connection that loses one segment in every 3W/4 + 3 or more does not time out (W from 5 on)",
        source=WHERE,
        published="none",
        judged=judge.is_none(_timeouts(distant), len(distant)),
    )
    yield judge.finding(
        key="spacing-premise",
        claim="The same number of losses causes fewer timeouts if they are spaced (half to one and a half "
        "of the mean distance)",
        source="sections 2.2 and 4",
        published="difference above 0",
        judged=judge.all_above(
            {
                f"{distance} segments": stats.apart(
                    _expired(run, "random"), _expired(run, "spaced")
                )
                for distance, run in runs.items()
            },
            0.0,
            "percentage points",
        ),
    )
