"""Findings from an estimate and a threshold.

A verdict uses the whole 95 % interval. A claim about several points holds if it holds at each
point by that point's own interval. All tests must agree, so no correction is needed. Wider intervals
decide that the claim fails at one point, or that one point shows an effect. They are widened for
the number of points (Bonferroni), because among many points some deviate by chance. A `Test`
records the interval that decided and the values that were compared. A report can therefore show
the interval on which the verdict rests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tcpsf import stats
from tcpsf.evaluation.ranges import Range, Verdict, number, shown
from tcpsf.intervals import Ends, Same

Kind = Literal["value", "interval", "every point", "some point", "most points", "count"]
"""Basis of a verdict.

It is a single value without spread, one interval, intervals at several points, or a count of
events.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Test:
    """The way in which a verdict was reached."""

    kind: Kind
    wording: str
    """The test and its outcome in one or two sentences."""
    interval: Ends | None = None
    """The interval that decided.

    It is ``None`` if no single interval decided or if the value has no spread.
    """
    confidence: float | None = None
    """Confidence of that interval: 0.95, or more if it is one of several (Bonferroni)."""
    comparisons: int = 1
    """Number of intervals or values that were compared with the threshold."""
    random: bool = True
    """Whether more or longer runs could change the outcome."""

    __test__ = False  # pytest treats classes of this name as tests

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "test": self.kind,
            "interval": None if self.interval is None else list(self.interval),
            "confidence": self.confidence,
            "comparisons": self.comparisons,
            "random": self.random,
            "wording": self.wording,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A claim, our result, and the verdict."""

    key: str
    claim: str
    source: str
    """Place in the paper where the claim is made."""
    published: str
    """Result from the paper's own numbers."""
    ours: str
    """Result of the simulation, with the interval that decided."""
    estimate: stats.Estimate | None
    verdict: Verdict
    test: Test

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "key": self.key,
            "claim": self.claim,
            "source": self.source,
            "published": self.published,
            "ours": self.ours,
            "value": None if self.estimate is None else self.estimate.value,
            "verdict": self.verdict,
            **self.test.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict and the test that gave it."""

    estimate: stats.Estimate | None
    verdict: Verdict
    ours: str
    test: Test


def finding(*, key: str, claim: str, source: str, published: str, judged: Judged) -> Finding:
    """Combine a claim and its verdict into a finding."""
    return Finding(
        key=key,
        claim=claim,
        source=source,
        published=published,
        ours=judged.ours,
        estimate=judged.estimate,
        verdict=judged.verdict,
        test=judged.test,
    )


def above(estimate: stats.Estimate | None, threshold: float) -> Verdict:
    """Judge ``value > threshold`` by the whole interval."""
    return Range(low=threshold).verdict(estimate)


def below(estimate: stats.Estimate | None, threshold: float) -> Verdict:
    """Judge ``value < threshold`` by the whole interval."""
    return Range(high=threshold).verdict(estimate)


def is_above(estimate: stats.Estimate | None, threshold: float, unit: str) -> Judged:
    """Judge the claim ``value > threshold``.

    >>> is_above(exact(31.0), 30.0, "%").test.wording
    'The value, 31.0 %, is above 30 %. Nothing is random.'
    """
    return _one(estimate, Range(low=threshold), unit)


def is_below(estimate: stats.Estimate | None, threshold: float, unit: str) -> Judged:
    """Judge the claim ``value < threshold``."""
    return _one(estimate, Range(high=threshold), unit)


def is_within(estimate: stats.Estimate | None, low: float, high: float, unit: str) -> Judged:
    """Judge the claim ``low <= value <= high``.

    It expresses the word "about"; the bounds follow from the precision of the paper's statement.
    """
    return _one(estimate, Range(low, high, closed=True), unit)


def _one(found: stats.Estimate | None, allowed: Range, unit: str) -> Judged:
    verdict, ours = allowed.verdict(found), shown(found, unit)
    if found is None:
        return Judged(
            found,
            verdict,
            ours,
            Test(kind="interval", wording="There was no observation for a verdict."),
        )
    if not found.random:
        place = f"is {'' if verdict == 'holds' else 'not '}{allowed.place(unit)}"
        wording = f"The value, {shown(found, unit)}, {place}. {_no_spread(found)}"
        return Judged(found, verdict, ours, Test(kind="value", wording=wording, random=False))
    interval = found.interval
    if interval is None:
        wording = f"{_runs(found)} no interval, so the value is no evidence; more runs would give an interval."
        return Judged(found, verdict, ours, Test(kind="interval", wording=wording))
    wording = (
        f"The 95 % interval, {allowed.ends(interval, unit)}, {allowed.describe(verdict, unit)}."
    )
    if verdict == "undecided":
        wording += f" {MORE}"
    return Judged(
        found,
        verdict,
        ours,
        Test(kind="interval", wording=wording, interval=interval, confidence=stats.CONFIDENCE),
    )


MORE = "More or longer runs would reduce the interval."


def _no_spread(found: stats.Estimate) -> str:
    return (
        "Nothing is random." if found.runs == 1 else f"All {found.runs} runs gave the same value."
    )


def _runs(found: stats.Estimate) -> str:
    return "One run gives" if found.runs == 1 else f"{found.runs} runs give"


Points = Mapping[str, stats.Estimate | None]


def all_above(points: Points, threshold: float, unit: str) -> Judged:
    """Judge ``value > threshold`` at every point; the text names the lowest that decides.

    >>> all_above({"a": exact(2.0), "b": exact(9.0)}, 0.0, "%").ours
    'lowest 2.0 % (a)'
    """
    return _all(points, Range(low=threshold), lambda found: found.value, "lowest", unit)


def all_below(points: Points, threshold: float, unit: str) -> Judged:
    """Judge ``value < threshold`` at every point; the text names the highest that decides."""
    return _all(points, Range(high=threshold), lambda found: -found.value, "highest", unit)


def all_within(points: Points, low: float, high: float, unit: str) -> Judged:
    """Judge ``low <= value <= high`` at every point.

    The text names the point that is nearest to a bound, or farthest outside.

    >>> all_within({"a": exact(2.0), "b": exact(3.0)}, -5.0, 5.0, "%").ours
    'farthest 3.0 % (b)'
    """
    middle = (low + high) / 2.0
    return _all(
        points,
        Range(low, high, closed=True),
        lambda found: -abs(found.value - middle),
        "farthest",
        unit,
    )


def family(comparisons: int) -> float:
    """Return the confidence of each of ``count`` intervals (Bonferroni).

    Together the intervals cover with a probability of at least 95 %.

    >>> family(1), family(10)
    (0.95, 0.995)
    """
    return 1.0 - (1.0 - stats.CONFIDENCE) / comparisons


def _all(
    points: Points,
    allowed: Range,
    margin: Callable[[stats.Estimate], float],
    extreme: str,
    unit: str,
) -> Judged:
    count, wider = len(points), family(max(1, len(points)))
    verdicts = {where: _verdict(found, allowed, wider) for where, found in points.items()}
    verdict = together(list(verdicts.values()))
    deciding = {
        where: found
        for where, found in points.items()
        if found is not None and verdicts[where] == verdict
    }
    if not deciding:
        wording = f"{_unseen(points)}, so nothing is decided."
        return Judged(
            None,
            "undecided",
            "no data",
            Test(kind="every point", wording=wording, comparisons=count),
        )
    where, worst = min(deciding.items(), key=lambda item: margin(item[1]))
    confidence = stats.CONFIDENCE if verdict == "holds" else wider
    interval = worst.interval_at(confidence)
    test = Test(
        kind="every point",
        wording=_all_wording(points, allowed, verdict, (extreme, where, worst), unit),
        interval=interval,
        confidence=None if interval is None else confidence,
        comparisons=count,
        random=worst.random
        if verdict == "does not hold"
        else any(f is None or f.random for f in points.values()),
    )
    widened = (
        f"; widened for {count} comparisons"
        if interval is not None and confidence > stats.CONFIDENCE
        else ""
    )
    return Judged(
        worst, verdict, f"{extreme} {shown(worst, unit, confidence)} ({where}{widened})", test
    )


def _verdict(found: stats.Estimate | None, allowed: Range, wider: float) -> Verdict:
    """Judge one of several points: a failure needs the widened interval."""
    verdict = allowed.verdict(found)
    if verdict == "does not hold":
        return "does not hold" if allowed.verdict(found, wider) == "does not hold" else "undecided"
    return verdict


def _all_wording(
    points: Points,
    allowed: Range,
    verdict: Verdict,
    named: tuple[str, str, stats.Estimate],
    unit: str,
) -> str:
    extreme, where, worst = named
    count = len(points)
    if verdict == "holds":
        if all(found is not None and not found.random for found in points.values()):
            return f"{_each(count, 'value')} is {allowed.place(unit)}. No value has any spread."
        alone = f"{_each(count, '95 % interval')} is {allowed.place(unit)}"
        return (
            f"{alone}."
            if count == 1
            else f"{alone}. The claim requires all of them, so no interval is widened for their number."
        )
    if not worst.random:
        return f"The {extreme} value, {shown(worst, unit)} ({where}), is not {allowed.place(unit)}. {_no_spread(worst)}"
    interval = worst.interval_at(family(count))
    if interval is None:
        return f"{_runs(worst)} no interval at {where}, so nothing is decided; more runs would give one."
    open_ = "undecided " if verdict == "undecided" else ""
    position = f"{allowed.ends(interval, unit)}{_widened(count)}, {allowed.describe(verdict, unit)}"
    wording = f"The {extreme} {open_}value is at {where}: its interval, {position}."
    return f"{wording} {MORE}" if verdict == "undecided" else wording


def _each(count: int, what: str) -> str:
    return f"The {what}" if count == 1 else f"Each of the {count} {what}s"


def _widened(count: int) -> str:
    if count == 1:
        return " (95 %)"
    return f" (95 % for {count} comparisons together, Bonferroni)"


def _unseen(points: Points) -> str:
    if not points:
        return "There was nothing to compare"
    missing = [where for where, found in points.items() if found is None]
    return f"Nothing was observed at {', '.join(missing)}"


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """Combine verdicts that must all hold; one failure decides.

    >>> together(["holds", "undecided"]), together(["undecided", "does not hold"]), together([])
    ('undecided', 'does not hold', 'undecided')
    """
    if "does not hold" in verdicts:
        return "does not hold"
    return "holds" if verdicts and set(verdicts) == {"holds"} else "undecided"


def most_above(points: Points, threshold: float) -> Judged:
    """Judge ``value > threshold`` at more than half of the points."""
    allowed, count = Range(low=threshold), len(points)
    verdicts = [allowed.verdict(found) for found in points.values()]
    yes, no = verdicts.count("holds"), verdicts.count("does not hold")
    verdict: Verdict = "undecided"
    if 2 * yes > count:
        verdict = "holds"
    elif 2 * no >= count > 0:
        verdict = "does not hold"
    wording = (
        f"Intervals of 95 %, {count} in all: {yes} above {threshold:.4g}, {no} below, "
        f"and {count - yes - no} that contain it or are unknown."
    )
    random = any(found is None or found.random for found in points.values())
    test = Test(kind="most points", wording=wording, comparisons=count, random=random)
    return Judged(None, verdict, f"{yes} of {count} surely, {no} surely not", test)


def some_below(points: Points, threshold: float) -> Judged:
    """Judge ``value < threshold`` at one point at least, by the widened interval."""
    return _some(points, Range(high=threshold), lambda found: found.value)


def some_above(points: Points, threshold: float) -> Judged:
    """Judge ``value > threshold`` at one point at least, by the widened interval."""
    return _some(points, Range(low=threshold), lambda found: -found.value)


def _some(points: Points, allowed: Range, rank: Callable[[stats.Estimate], float]) -> Judged:
    count = len(points)
    wider = family(max(1, count))
    seen = {where: found for where, found in points.items() if found is not None}
    sure = {
        where: found for where, found in seen.items() if allowed.verdict(found, wider) == "holds"
    }
    random = any(found is None or found.random for found in points.values())
    if sure:
        where, best = min(sure.items(), key=lambda item: rank(item[1]))
        interval = best.interval_at(wider)
        if interval is None:
            wording = f"The value at {where} is {allowed.place('')}. {_no_spread(best)}"
        else:
            position = f"{allowed.ends(interval, '')}{_widened(count)}, is {allowed.place('')}"
            wording = f"The interval at {where}, {position}."
        test = Test(
            kind="some point",
            wording=wording,
            interval=interval,
            confidence=None if interval is None else wider,
            comparisons=count,
            random=best.random,
        )
        return Judged(None, "holds", f"at {', '.join(sure)}", test)
    nowhere = (
        bool(seen)
        and len(seen) == count
        and all(allowed.verdict(f) == "does not hold" for f in seen.values())
    )
    if nowhere:
        wording = f"{_each(count, '95 % interval')} {allowed.describe('does not hold', '')}."
    elif not seen:
        wording = f"{_unseen(points)}, so nothing is decided."
    else:
        wording = f"No interval{_widened(count)} is {allowed.place('')}, but not every 95 % interval excludes it."
    test = Test(kind="some point", wording=wording, comparisons=count, random=random)
    return Judged(None, "does not hold" if nowhere else "undecided", "nowhere with certainty", test)


def is_none(count: int, of: int) -> Judged:
    """Judge that a counted event never happened although it was possible."""
    verdict: Verdict = "does not hold" if count else "holds" if of else "undecided"
    return counted(count, of, verdict)


def is_some(count: int, of: int, *, expected: float = 5.0) -> Judged:
    """Judge that a counted event happened.

    Few cases without an event are inconclusive if ``expected`` per cent of the cases should have
    one.

    >>> is_some(0, 10).verdict, is_some(0, 100).verdict
    ('undecided', 'does not hold')
    """
    by_chance = (1.0 - expected / 100.0) ** of
    verdict: Verdict = "holds" if count else "undecided" if by_chance > 0.05 else "does not hold"
    return counted(count, of, verdict, "" if count else expected_none(expected, by_chance))


def expected_none(expected: float, by_chance: float) -> str:
    """State the probability of no event if ``expected`` per cent of the cases should have one."""
    return f" If {expected:.3g} % were due, that would happen by chance with a probability of {by_chance:.2g}."


def counted(count: int, of: int, verdict: Verdict, more: str = "") -> Judged:
    """Judge by the number of events among a number of cases."""
    seen = (
        f"It was seen in {count} of {of} cases."
        if of
        else "There was no case in which it could have been seen."
    )
    return Judged(None, verdict, f"{count} of {of}", Test(kind="count", wording=seen + more))


def is_exactly(value: float, published: float, *, within: float, unit: str) -> Judged:
    """Judge that a deterministic number equals the published one, to the last printed digit.

    >>> is_exactly(7, 7, within=0, unit="segments").verdict
    'holds'
    """
    near = abs(value - published) <= within
    allowed = "" if within == 0 else f"within {within:g} of "
    position = f"is {'' if near else 'not '}{allowed}{number(published, unit)}"
    wording = f"The value, {number(value, unit)}, {position}. Nothing is random."
    return by_value(value, "holds" if near else "does not hold", number(value, unit), wording)


def by_value(value: float, verdict: Verdict, ours: str, wording: str) -> Judged:
    """Make the judgment of a claim about a deterministic number."""
    return Judged(exact(value), verdict, ours, Test(kind="value", wording=wording, random=False))


def exact(value: float) -> stats.Estimate:
    """Return a deterministic value as an estimate without spread."""
    return stats.Estimate(value, Same(), 1)
