"""Verdicts on remedies, by fixed statistical rules.

Each measure of time of each remedy is compared with the sender as it is, over pairs of runs with the
fitted loss law. P-values are adjusted for all of these comparisons (Holm 1979). The comparison of p99
is repeated for each end of the intervals of the law.

- `hurts`: p99 or the mean increases significantly, by `HARM` percent at least, and one of them
  increases at each end of the law as well (its 95 % interval is above zero).
- `helps`: p95, p99 or p99.9 decreases significantly, by `WORTH` percent at least, and decreases at
  each end of the law as well (its interval is below zero). The mean and p99 do not increase as above.
- `no effect`: the interval of the change of p99 is within ± `WORTH`, for the law and at its ends.
- `not enough evidence`: otherwise, if the capture has too few losses for intervals of the law, or if
  the replay without a remedy differs from the capture.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tcpsf import paired
from tcpsf.advice.law_variants import LawVariant
from tcpsf.advice.remedy_list import Remedy
from tcpsf.advice.replay import BYTES, MEAN, PERCENTILES, REPLAY_MEASURES, TIMES, ReplayArm
from tcpsf.intervals import Ends
from tcpsf.measurements import SIGNIFICANT, RunMeasure
from tcpsf.stats import Estimate

Verdict: TypeAlias = Literal["helps", "hurts", "no effect", "not enough evidence"]

WORTH = 5.0
"""Decrease of a percentile in percent from which a remedy is worth its cost."""

HARM = 1.0
"""Increase of the mean or of p99 in percent from which a remedy is harmful."""

P95, P99, P999 = (measure for measure, part in PERCENTILES.items() if part > 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedMeasure:
    """A measure with one remedy."""

    measure: RunMeasure
    value: Estimate | None
    """Value with the fitted law."""
    over_laws: Ends | None
    """Interval that contains those of the fitted law and of the ends of its intervals."""
    difference: paired.Difference | None
    """Difference from the sender as it is, with the fitted law."""
    adjusted_p: float | None
    """Its p-value, adjusted for all comparisons; ``None`` if it is not tested."""
    changes: dict[str, Estimate | None]
    """Changes in percent for each loss law."""

    @property
    def is_significant(self) -> bool:
        """Whether the measure differs, at an adjusted 5 % level."""
        return self.adjusted_p is not None and self.adjusted_p < SIGNIFICANT

    @property
    def percent(self) -> Estimate | None:
        """Change in percent with the fitted law."""
        return None if self.difference is None else self.difference.percent

    def increases(self, least: float) -> bool:
        """Return whether the measure increases significantly, by ``least`` percent or more."""
        percent = self.percent
        return self.is_significant and percent is not None and percent.value >= least

    def decreases(self, least: float) -> bool:
        """Return whether the measure decreases significantly, by ``least`` percent or more."""
        percent = self.percent
        return self.is_significant and percent is not None and percent.value <= -least

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""

        def numbers(found: Estimate | None) -> dict[str, Any] | None:
            return None if found is None else found.to_dict()

        return {
            "value": numbers(self.value),
            "over_laws": None if self.over_laws is None else list(self.over_laws),
            "difference": numbers(self.difference.absolute if self.difference else None),
            "percent": numbers(self.percent),
            "adjusted_p_value": self.adjusted_p,
            "significant": self.is_significant,
            "percent_by_law": {name: numbers(found) for name, found in self.changes.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyResult:
    """A remedy with its measures and the verdict."""

    remedy: Remedy
    measures: dict[str, ReplayedMeasure]
    """Measures by key."""
    verdict: Verdict | None
    """``None`` for the sender as it is."""
    reason: str
    """The facts that decided."""


def results(
    remedies: Sequence[Remedy],
    laws: Sequence[LawVariant],
    arms: Sequence[Sequence[ReplayArm]],
    *,
    lack: str | None,
) -> tuple[RemedyResult, ...]:
    """Compare all remedies with the first one. ``lack`` is the reason why none can be judged."""
    tested = [
        paired.p_value(found.absolute) if found else None
        for arm in arms[0][1:]
        for found in (arms[0][0].difference(arm, measure) for measure in TIMES)
    ]
    adjusted = iter(paired.holm(tested))
    found = []
    for at, remedy in enumerate(remedies):
        measures = {
            measure.key: _measure(
                measure, at, laws, arms, next(adjusted) if at and measure in TIMES else None
            )
            for measure in REPLAY_MEASURES
        }
        verdict, reason = _verdict(measures, lack) if at else (None, "")
        found.append(RemedyResult(remedy=remedy, measures=measures, verdict=verdict, reason=reason))
    return tuple(found)


def _measure(
    measure: RunMeasure,
    at: int,
    laws: Sequence[LawVariant],
    arms: Sequence[Sequence[ReplayArm]],
    adjusted_p: float | None,
) -> ReplayedMeasure:
    differences = [each[0].difference(each[at], measure) if at else None for each in arms]
    values = [each[at].value(measure) for each in arms]
    return ReplayedMeasure(
        measure=measure,
        value=values[0],
        over_laws=hull(values),
        difference=differences[0],
        adjusted_p=adjusted_p,
        changes={
            law.name: None if found is None else found.percent
            for law, found in zip(laws, differences, strict=True)
        }
        if at
        else {},
    )


def hull(values: Sequence[Estimate | None]) -> Ends | None:
    """Return the interval that contains those of all values; ``None`` if it is unknown."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    ends = min(value.low for value in known), max(value.high for value in known)
    return ends if all(map(math.isfinite, ends)) else None


def _verdict(measures: dict[str, ReplayedMeasure], lack: str | None) -> tuple[Verdict, str]:
    """Apply the rules to the measures of a remedy."""
    p99, mean = measures[P99.key], measures[MEAN.key]
    if p99.percent is None or mean.percent is None:
        return "not enough evidence", "too few transfers for the 99th percentile"
    if lack is not None:
        return "not enough evidence", lack
    for each in (p99, mean):
        if each.increases(HARM):
            return _harm(each, p99, mean)
    against = None
    for each in (p99, measures[P95.key], measures[P999.key]):
        if each.decreases(WORTH):
            against = next(_not_below(each.changes, 0.0), None)
            title = each.measure.title
            if against is None:
                return (
                    "helps",
                    f"{title} decreases with the loss law and at each end of its intervals",
                )
            against = f"{title} decreases with the fitted law, but not with the law `{against}`"
    if against is not None:
        return "not enough evidence", against
    wide = next(_not_below(p99.changes, WORTH), None) or next(_not_above(p99.changes, -WORTH), None)
    if wide is None:
        return "no effect", f"p99 changes by less than {WORTH:g} %"
    return "not enough evidence", f"p99 may change by more than {WORTH:g} % with the law `{wide}`"


def _harm(
    found: ReplayedMeasure, p99: ReplayedMeasure, mean: ReplayedMeasure
) -> tuple[Verdict, str]:
    """Return the verdict on a remedy that increases a measure with the fitted law."""
    what = f"{found.measure.title} increases"
    for name in found.changes:
        ends = (each.changes[name] for each in (p99, mean))
        if all(each is None or each.low <= 0.0 for each in ends):
            return (
                "not enough evidence",
                f"{what} with the fitted law, but not with the law `{name}`",
            )
    return "hurts", f"{what} significantly"


def _not_below(changes: dict[str, Estimate | None], limit: float) -> Iterator[str]:
    """Yield the laws for which the interval of a change is not below a limit in percent."""
    yield from (name for name, each in changes.items() if each is None or each.high >= limit)


def _not_above(changes: dict[str, Estimate | None], limit: float) -> Iterator[str]:
    """Yield the laws for which the interval of a change is not above a limit in percent."""
    yield from (name for name, each in changes.items() if each is None or each.low <= limit)


def best(found: Sequence[RemedyResult]) -> RemedyResult | None:
    """Return the remedy to recommend; ``None`` if none helps.

    It is the one with the fewest bytes among those that help about as much as the one with the
    lowest p99: their p99 is within the interval of the latter, or within `WORTH` percent. Among
    several with as many bytes it is the one with the lowest mean.
    """
    helping = [each for each in found if each.verdict == "helps"]
    if not helping:
        return None

    def value(each: RemedyResult, measure: RunMeasure) -> Estimate:
        estimate = each.measures[measure.key].value
        return Estimate(float("inf"), None, 0) if estimate is None else estimate

    lowest = value(min(helping, key=lambda each: value(each, P99).value), P99)
    limit = max(lowest.high, lowest.value * (1.0 + WORTH / 100.0))
    near = [each for each in helping if value(each, P99).value <= limit]

    def cost(each: RemedyResult) -> tuple[float, float]:
        # Differences of less than a thousandth are those of the retransmissions.
        added = each.measures[BYTES.key].percent
        return round(added.value if added else 0.0, 1), value(each, MEAN).value

    return min(near, key=cost)
