"""The points of a study: every combination of the positions of its axes.

Grid axes are combined with each other, and with each drawn point of the sampled axes. Drawn points
depend on the sample's random seed and the names of the axes alone, so that another axis does not
change them.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tcpsf.errors import ScenarioError, StudyError
from tcpsf.scenario import Scenario
from tcpsf.studies.definition import MOST_POINTS, Study, StudyAxis, StudySample

DIGITS = 6
"""Significant digits of computed values."""

Value = str | float | int | bool


@dataclass(frozen=True, slots=True)
class Position:
    """A position of an axis."""

    shown: Value
    """Its value in the axis's column: a number, a quantity as text, or a label."""
    changes: Mapping[str, Any]
    """Values of the scenario by dotted key."""


@dataclass(frozen=True, slots=True)
class StudyPoint:
    """A combination of positions."""

    number: int
    """Number of the point from 0, in the order of the axes; the last axis varies fastest."""
    positions: tuple[Position, ...]
    """One position for each axis, in the order of the study."""
    drawn: int = 0
    """Number of the drawn point on the sampled axes, from 0."""

    @property
    def shown(self) -> tuple[Value, ...]:
        """The values of the axes' columns."""
        return tuple(position.shown for position in self.positions)


def points_of(study: Study) -> list[StudyPoint]:
    """Return all points. Raises `StudyError` if a range cannot be divided.

    >>> from tcpsf.papers.smart_framing import CLASSIC, web_scenario
    >>> web = web_scenario(sender=CLASSIC.sender, duration="5s")
    >>> loads = StudyAxis(key="workload.web.load", from_=0.2, to=0.4, steps=3)
    >>> delays = StudyAxis(keys=("link.0.delay", "link.1.delay"), values=("10ms", "20ms"))
    >>> [point.shown for point in points_of(Study(name="web", scenario=web, axis=(loads, delays)))]
    [(0.2, '10ms'), (0.2, '20ms'), (0.3, '10ms'), (0.3, '20ms'), (0.4, '10ms'), (0.4, '20ms')]
    """
    grids: list[Sequence[Position]] = [_grid(axis) for axis in study.axis if not axis.is_sampled]
    sampled = [axis for axis in study.axis if axis.is_sampled]
    drawn: Sequence[Sequence[Position]] = _drawn(sampled, study.sample) if study.sample else [()]
    count = math.prod(map(len, grids)) * len(drawn)
    if count > MOST_POINTS:
        raise StudyError(
            f"the study has {count} points, more than {MOST_POINTS}",
            hint="give fewer values, or draw points with `[sample]`",
        )
    combinations = itertools.product(itertools.product(*grids), enumerate(drawn))
    return [
        StudyPoint(number, _in_order(study, chosen, sample), at)
        for number, (chosen, (at, sample)) in enumerate(combinations)
    ]


def _in_order(
    study: Study, chosen: Sequence[Position], sample: Sequence[Position]
) -> tuple[Position, ...]:
    """Return the positions on grid axes and on sampled axes in the order of the study's axes."""
    grid, drawn = iter(chosen), iter(sample)
    return tuple(next(drawn) if axis.is_sampled else next(grid) for axis in study.axis)


def scenario_at(study: Study, point: StudyPoint) -> Scenario:
    """Return the scenario of a point. Raises `StudyError` if a value does not fit."""
    changes = dict(study.set_)
    for position in point.positions:
        changes.update(position.changes)
    # As in `--set KEY=`, an empty text removes the key.
    wanted = {key: None if value == "" else value for key, value in changes.items()}
    try:
        return study.scenario.with_values(wanted)
    except ScenarioError as error:
        raise StudyError(f"{described(study, point)}: {error}", hint=error.hint) from None


def described(study: Study, point: StudyPoint) -> str:
    """Name a point by the values of its axes."""
    pairs = zip(study.axis, point.shown, strict=True)
    return "point " + ", ".join(f"{axis.column} = {shown}" for axis, shown in pairs)


def _grid(axis: StudyAxis) -> list[Position]:
    """Return the positions of an axis that is not sampled. Raises `StudyError` for equal ones."""
    found = _listed(axis)
    seen = set()
    for position in found:
        if position.shown in seen:
            raise StudyError(
                f"axis `{axis.column}`: it has `{position.shown}` twice",
                hint="give each value once, or fewer `steps`",
            )
        seen.add(position.shown)
    return found


def _listed(axis: StudyAxis) -> list[Position]:
    if axis.points:
        return [Position(point.label, point.set_) for point in axis.points]
    if axis.values:
        labels = axis.labels or [_label(axis, value) for value in axis.values]
        pairs = zip(labels, axis.values, strict=True)
        return [Position(label, dict.fromkeys(axis.targets, value)) for label, value in pairs]
    steps = axis.steps or 0
    return _ranged(axis, [step / (steps - 1) for step in range(steps)])


def _label(axis: StudyAxis, value: Any) -> Value:
    if isinstance(value, str | int | float):
        return value
    raise StudyError(
        f"axis `{axis.column}`: its values are tables or lists and need names",
        hint='give one name for each value: `labels = ["…", "…"]`',
    )


def _ranged(axis: StudyAxis, shares: Sequence[float]) -> list[Position]:
    """Return the positions at shares of the way from one end of a range to the other."""
    (low, unit), (high, other) = _end(axis, axis.from_), _end(axis, axis.to)
    where = f"axis `{axis.column}`"
    if unit != other:
        raise StudyError(
            f"{where}: `{axis.from_}` and `{axis.to}` have different units",
            hint="write both ends of a range with the same unit",
        )
    if axis.scale == "log" and min(low, high) <= 0:
        raise StudyError(f"{where}: a logarithmic range needs ends above 0")
    whole = isinstance(axis.from_, int) and isinstance(axis.to, int)
    values = [_between(low, high, share, axis.scale, whole=whole) for share in shares]
    shown: list[Value] = [f"{value:g}{unit}" if unit else value for value in values]
    return [Position(each, dict.fromkeys(axis.targets, each)) for each in shown]


def _end(axis: StudyAxis, value: Any) -> tuple[float, str]:
    """Split an end of a range into its number and its unit."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), ""
    found = re.fullmatch(r"([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)\s*([^\W\d_]*(?:/s)?|%)", str(value))
    if found is None:
        raise StudyError(
            f"axis `{axis.column}`: `{value}` is not a number, nor a quantity such as `10ms`"
        )
    return float(found[1]), found[2]


def _between(low: float, high: float, share: float, scale: str, *, whole: bool) -> float | int:
    if share in (0.0, 1.0):
        value = high if share else low
    elif scale == "log":
        value = math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
    else:
        value = low + share * (high - low)
    return round(value) if whole else float(f"{value:.{DIGITS}g}")


def _drawn(axes: Sequence[StudyAxis], sample: StudySample) -> list[tuple[Position, ...]]:
    """Return the drawn points, each with one position for every sampled axis."""
    columns = [_ranged(axis, list(_shares(axis.column, sample))) for axis in axes]
    return list(zip(*columns, strict=True))


def _shares(column: str, sample: StudySample) -> Iterator[float]:
    """Yield the shares of an axis's range: of each drawn point, from 0 to 1.

    For a Latin hypercube (McKay, Beckman and Conover 1979), the range has as many equal strata as
    there are points, and each has one point. The permutations of the axes are independent.
    """
    count = sample.points
    uniform = [_uniform(sample.seed, column, "place", number) for number in range(count)]
    if sample.method == "random":
        yield from uniform
        return
    keys = [_uniform(sample.seed, column, "stratum", number) for number in range(count)]
    strata = {
        number: rank for rank, number in enumerate(sorted(range(count), key=keys.__getitem__))
    }
    for number in range(count):
        yield (strata[number] + uniform[number]) / count


def _uniform(seed: int, *parts: object) -> float:
    """Return a number between 0 and 1 that depends on the seed and the parts alone."""
    text = "/".join(map(str, (seed, *parts)))
    return (int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") + 0.5) / 2.0**64
