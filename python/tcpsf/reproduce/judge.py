"""From an estimate and a threshold to a finding.

A verdict takes the whole 95 % interval. A claim about several points holds if it holds at each by its own interval.
That it fails at one of them, or that one of them shows something, takes an interval widened for their number
(Bonferroni): among many points some stray by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tcpsf import stats

Verdict = Literal["holds", "does not hold", "undecided"]
"""``undecided``: the 95 % interval has the threshold inside, more runs are needed to tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A claim, what we found, and whether it holds."""

    key: str
    claim: str
    source: str
    """Where the paper says so."""
    published: str
    """What the paper's own numbers give."""
    ours: str
    """What ours give."""
    estimate: stats.Estimate | None
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        estimate = self.estimate
        return {
            "key": self.key,
            "claim": self.claim,
            "source": self.source,
            "published": self.published,
            "ours": self.ours,
            "value": None if estimate is None else estimate.value,
            "half_width": None if estimate is None else estimate.half_width,
            "verdict": self.verdict,
        }


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict and what it rests on."""

    estimate: stats.Estimate | None
    verdict: Verdict
    ours: str


def finding(*, key: str, claim: str, source: str, published: str, judged: Judged) -> Finding:
    """Put a claim and its verdict together."""
    return Finding(
        key=key,
        claim=claim,
        source=source,
        published=published,
        ours=judged.ours,
        estimate=judged.estimate,
        verdict=judged.verdict,
    )


def above(estimate: stats.Estimate | None, threshold: float) -> Verdict:
    """Judge ``value > threshold`` by the whole interval.

    >>> above(stats.Estimate(35.0, 2.0, 8), 30.0), above(stats.Estimate(31.0, 2.0, 8), 30.0)
    ('holds', 'undecided')
    """
    if estimate is None:
        return "undecided"
    if estimate.low > threshold:
        return "holds"
    return "does not hold" if estimate.high < threshold else "undecided"


def below(estimate: stats.Estimate | None, threshold: float) -> Verdict:
    """Judge ``value < threshold`` by the whole interval."""
    opposite: dict[Verdict, Verdict] = {
        "holds": "does not hold",
        "does not hold": "holds",
        "undecided": "undecided",
    }
    return opposite[above(estimate, threshold)]


def is_above(estimate: stats.Estimate | None, threshold: float, unit: str) -> Judged:
    """``value > threshold``.

    >>> is_above(stats.Estimate(31.0, 0.5, 8), 30.0, "%").verdict
    'holds'
    """
    return Judged(estimate, above(estimate, threshold), shown(estimate, unit))


def is_below(estimate: stats.Estimate | None, threshold: float, unit: str) -> Judged:
    """``value < threshold``."""
    return Judged(estimate, below(estimate, threshold), shown(estimate, unit))


def is_within(estimate: stats.Estimate | None, low: float, high: float, unit: str) -> Judged:
    """``low <= value <= high``: what "about" means, with bounds from how coarsely the paper speaks."""
    verdict: Verdict = "undecided"
    if estimate is not None:
        if low <= estimate.low and estimate.high <= high:
            verdict = "holds"
        elif estimate.high < low or estimate.low > high:
            verdict = "does not hold"
    return Judged(estimate, verdict, shown(estimate, unit))


def all_above(points: Mapping[str, stats.Estimate | None], threshold: float, unit: str) -> Judged:
    """``value > threshold`` at every point; the text names the lowest of those that decide.

    >>> all_above({"a": stats.Estimate(2.0, 1.0, 8), "b": stats.Estimate(9.0, 1.0, 8)}, 0.0, "%").ours
    'lowest 2.0 ± 1.0 % (a)'
    """
    return _all(points, lambda found: above(found, threshold), lambda found: found.value, "lowest", unit)


def all_below(points: Mapping[str, stats.Estimate | None], threshold: float, unit: str) -> Judged:
    """``value < threshold`` at every point; the text names the highest of those that decide."""
    return _all(points, lambda found: below(found, threshold), lambda found: -found.value, "highest", unit)


def all_within(points: Mapping[str, stats.Estimate | None], low: float, high: float, unit: str) -> Judged:
    """``low <= value <= high`` at every point; the text names the one nearest to leaving, or farthest out.

    >>> all_within({"a": stats.Estimate(2.0, 1.0, 8), "b": stats.Estimate(3.0, 1.0, 8)}, -5.0, 5.0, "%").ours
    'farthest 3.0 ± 1.0 % (b)'
    """
    middle = (low + high) / 2.0
    return _all(
        points,
        lambda found: is_within(found, low, high, unit).verdict,
        lambda found: -abs(found.value - middle),
        "farthest",
        unit,
    )


def _all(
    points: Mapping[str, stats.Estimate | None],
    judge: Callable[[stats.Estimate | None], Verdict],
    margin: Callable[[stats.Estimate], float],
    extreme: str,
    unit: str,
) -> Judged:
    verdicts = {where: _verdict(found, judge, len(points)) for where, found in points.items()}
    verdict = together(list(verdicts.values()))
    deciding = {where: found for where, found in points.items() if found is not None and verdicts[where] == verdict}
    if not deciding:
        return Judged(None, "undecided", "no data")
    where, worst = min(deciding.items(), key=lambda item: margin(item[1]))
    return Judged(worst, verdict, f"{extreme} {shown(worst, unit)} ({where})")


def _verdict(found: stats.Estimate | None, judge: Callable[[stats.Estimate | None], Verdict], points: int) -> Verdict:
    """Judge one of several points: to fail, it must fail by the widened interval."""
    verdict = judge(found)
    if verdict == "does not hold" and found is not None:
        return "does not hold" if judge(widened(found, points)) == "does not hold" else "undecided"
    return verdict


def widened(found: stats.Estimate, points: int) -> stats.Estimate:
    """The estimate with the interval that is one of ``points`` which all cover with 95 % probability, or more.

    >>> widened(stats.Estimate(1.0, 2.3646, 8), 10).half_width
    4.029...
    """
    if found.half_width is None or found.runs < 2:
        return found
    degrees = found.runs - 1
    wider = stats.t_quantile(1.0 - 0.025 / points, degrees) / stats.t_quantile(0.975, degrees)
    return stats.Estimate(found.value, found.half_width * wider, found.runs)


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """All must hold; one that does not is enough.

    >>> together(["holds", "undecided"]), together(["undecided", "does not hold"]), together([])
    ('undecided', 'does not hold', 'undecided')
    """
    if "does not hold" in verdicts:
        return "does not hold"
    return "holds" if verdicts and set(verdicts) == {"holds"} else "undecided"


def most_above(points: Mapping[str, stats.Estimate | None], threshold: float) -> Judged:
    """``value > threshold`` at more than half of the points."""
    verdicts = [above(found, threshold) for found in points.values()]
    yes, no = verdicts.count("holds"), verdicts.count("does not hold")
    verdict: Verdict = "undecided"
    if 2 * yes > len(verdicts):
        verdict = "holds"
    elif 2 * no >= len(verdicts) > 0:
        verdict = "does not hold"
    return Judged(None, verdict, f"{yes} of {len(verdicts)} surely, {no} surely not")


def some_below(points: Mapping[str, stats.Estimate | None], threshold: float) -> Judged:
    """``value < threshold`` at one point at least, by the widened interval."""
    return _some(points, lambda found: below(found, threshold))


def some_above(points: Mapping[str, stats.Estimate | None], threshold: float) -> Judged:
    """``value > threshold`` at one point at least, by the widened interval."""
    return _some(points, lambda found: above(found, threshold))


def _some(points: Mapping[str, stats.Estimate | None], judge: Callable[[stats.Estimate | None], Verdict]) -> Judged:
    seen = {where: found for where, found in points.items() if found is not None}
    sure = [where for where, found in seen.items() if judge(widened(found, len(points))) == "holds"]
    if sure:
        return Judged(None, "holds", f"at {', '.join(sure)}")
    nowhere = len(seen) == len(points) and all(judge(found) == "does not hold" for found in seen.values())
    return Judged(None, "does not hold" if nowhere and seen else "undecided", "nowhere surely")


def is_none(count: int, of: int) -> Judged:
    """Something counted never happened, though it had occasion to."""
    verdict: Verdict = "does not hold" if count else "holds" if of else "undecided"
    return Judged(None, verdict, f"{count} of {of}")


def is_some(count: int, of: int, *, expected: float = 5.0) -> Judged:
    """Something counted did happen. None of a few is no wonder where ``expected`` per cent are due.

    >>> is_some(0, 10).verdict, is_some(0, 100).verdict
    ('undecided', 'does not hold')
    """
    by_chance = (1.0 - expected / 100.0) ** of
    verdict: Verdict = "holds" if count else "undecided" if by_chance > 0.05 else "does not hold"
    return Judged(None, verdict, f"{count} of {of}")


def is_exactly(value: float, published: float, *, within: float, unit: str) -> Judged:
    """A number without chance in it is the published one, to the digit that is printed.

    >>> is_exactly(7, 7, within=0, unit="segments").verdict
    'holds'
    """
    verdict: Verdict = "holds" if abs(value - published) <= within else "does not hold"
    return Judged(exact(value), verdict, f"{value:.4g} {unit}")


def exact(value: float) -> stats.Estimate:
    """A value without chance in it."""
    return stats.Estimate(value, 0.0, 1)


DIGITS = (("percent points", 1), ("%", 1), ("s", 3))
"""Decimals shown of a value whose unit begins with this word; two of others."""


def shown(estimate: stats.Estimate | None, unit: str) -> str:
    """A value with its interval and unit.

    >>> shown(stats.Estimate(0.12345, 0.01, 8), "s"), shown(None, "s")
    ('0.123 ± 0.010 s', 'no data')
    """
    if estimate is None:
        return "no data"
    digits = next((digits for word, digits in DIGITS if unit == word or unit.startswith(f"{word} ")), 2)
    half = "" if estimate.half_width is None else f" ± {estimate.half_width:.{digits}f}"
    return f"{estimate.value:.{digits}f}{half} {unit}".rstrip()
