"""Verdicts of the comparisons: lines of a report, Welch's test for sets, Fisher's for shares."""

# ruff: noqa: T201 (this module prints the verdicts)

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NOT_JUDGED = "(not judged)"

# A test passes only if it would have detected a relative difference of this size.
COARSEST_RESOLUTION = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One quantity: its value in the reference, its value in our simulator, and the verdict."""

    what: str
    reference: float
    ours: float
    note: str
    verdict: str

    @property
    def failed(self) -> bool:
        """Whether the two sides differ, or there are too few runs for a verdict."""
        return self.verdict not in ("agree", NOT_JUDGED)


def report(title: str, lines: Sequence[Line], *, reference: str) -> None:
    """Print the lines of one part; ``reference`` is the heading of the reference column."""
    print(f"\n{title}")
    print(f"  {'':44} {reference:>12} {'ours':>12}  {'':34} verdict")
    for line in lines:
        print(
            f"  {line.what:44} {line.reference:12.4f} {line.ours:12.4f}  {line.note:34} {line.verdict}"
        )


def judged(statements: Iterable[tuple[str, bool]]) -> int:
    """Print each statement after `holds` or `FAILS`, and return the number that fail."""
    failed = 0
    for statement, holds in statements:
        failed += not holds
        print(f"{'holds' if holds else 'FAILS':6} {statement}")
    return failed


def welch(
    what: str, reference: Sequence[float | None], ours: Sequence[float | None], *, error: float
) -> Line:
    """Compare the means of the runs on both sides by Welch's test, with unequal variances.

    ``error`` is the probability of a false difference.
    """
    a = [value for value in reference if value is not None]
    b = [value for value in ours if value is not None]
    if min(len(a), len(b)) < 2:
        return Line(
            what=what, reference=math.nan, ours=math.nan, note="no values", verdict="TOO FEW RUNS"
        )
    square_a = statistics.variance(a) / len(a)
    square_b = statistics.variance(b) / len(b)
    mean_a, mean_b = statistics.mean(a), statistics.mean(b)
    scatter = square_a + square_b
    if scatter == 0:
        verdict = "agree" if mean_a == mean_b else "DIFFER"
        return Line(what=what, reference=mean_a, ours=mean_b, note="no scatter", verdict=verdict)
    freedom = scatter**2 / (square_a**2 / (len(a) - 1) + square_b**2 / (len(b) - 1))
    half_width = student_quantile(error, max(1, math.floor(freedom))) * math.sqrt(scatter)
    # A mean of zero has no relative resolution. No quantity that is compared has a mean of zero.
    resolution = half_width / abs(mean_a) if mean_a else math.inf
    verdict = (
        "DIFFER"
        if abs(mean_b - mean_a) > half_width
        else "agree"
        if resolution <= COARSEST_RESOLUTION
        else "TOO FEW RUNS"
    )
    note = (
        f"{100 * (mean_b - mean_a) / mean_a:+.1f} %, would detect {100 * resolution:.1f} %"
        if mean_a
        else ""
    )
    return Line(what=what, reference=mean_a, ours=mean_b, note=note, verdict=verdict)


def student_quantile(error: float, freedom: int) -> float:
    """The t with P(|T| > t) = error for Student's t with a whole number of degrees of freedom."""
    low, high = 0.0, 1.0
    while _student_beyond(high, freedom) > error:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if _student_beyond(middle, freedom) > error:
            low = middle
        else:
            high = middle
    return high


def _student_beyond(t: float, freedom: int) -> float:
    """P(|T| > t) for Student's t with a whole number of degrees of freedom.

    The finite sums for odd and for even degrees of freedom are Abramowitz and Stegun 26.7.3 and
    26.7.4.
    """
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2 == 1
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(3 if odd else 2, freedom - 1, 2):
        term *= cosine**2 * (k - 1) / k
        total += term
    within = 2 / math.pi * (angle + sine * total) if odd else sine * total
    return 1 - within
