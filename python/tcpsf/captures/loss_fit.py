"""Maximum likelihood for the loss law, with intervals that allow for losses in clusters.

The law is a binomial model with a complementary log-log link (McCullagh and Nelder 1989, §4.3):
−log(1 − P) = exp(a + b·x) with x = log(size / reference size). So p = 1 − exp(−exp(a)), and b is the
exponent. The likelihood is exact for any number of losses, and concave in a and b.

Intervals are those of the profile likelihood. Losses of a connection or of a burst are not
independent, which makes the likelihood too narrow. The likelihood ratio is therefore divided by the
ratio of the variance among clusters (sandwich estimator; White 1982, Liang and Zeger 1986) to the
variance of the model, which is at least 1, and compared with a quantile of Student's t.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tcpsf.intervals import Ends, t_quantile

Numbers: TypeAlias = NDArray[np.float64]

EXPONENTS: Ends = (-8.0, 8.0)
"""Range of exponents in which an interval is searched."""

LEVELS: Ends = (-40.0, 6.0)
"""Range of a in which an interval is searched: losses from 4e-18 to 1."""

SINGULAR = 1e10
"""Condition number of the information above which the sizes do not determine an exponent."""

STEPS = 100
"""Maximum number of steps of Newton's method and of a bisection."""

PRECISION = 1e-9
"""Precision of both."""

CONFIDENCE = 0.95

PLACES = 25
"""Number of sizes at which the fitted curve is computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """Sums over clusters, from which the variance of any linear estimate follows.

    With the losses y and the packets n of the classes in a cluster, they are the sums of y·yᵀ, y·nᵀ
    and n·nᵀ over all clusters.
    """

    losses: Numbers
    mixed: Numbers
    packets: Numbers
    count: int
    """Number of clusters."""
    lossy: int
    """Number of clusters with a loss."""

    @property
    def correction(self) -> float:
        """Correction of the variance for the number of clusters."""
        return self.count / max(self.count - 1, 1)

    def meat(self, weights: Numbers, means: Numbers) -> Numbers:
        """Return the sum of the squared scores of clusters.

        ``weights`` has a row for each parameter. The score is the sum of weight · (y − mean · n).
        """
        residual = (
            self.losses
            - self.mixed * means[None, :]
            - self.mixed.T * means[:, None]
            + self.packets * np.outer(means, means)
        )
        found: Numbers = weights @ residual @ weights.T
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A fitted law: a and b, with 95 % intervals that may be infinite, and the fitted curve."""

    level: float
    level_interval: Ends
    exponent: float
    exponent_interval: Ends
    curve: tuple[tuple[float, float, Ends], ...]
    """Logs of relative sizes, and values of a + b·x with their intervals by the normal
    approximation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeCounts:
    """First transmissions by size."""

    sizes: Numbers
    """Log of the size relative to the reference size, of each class."""
    packets: Numbers
    losses: Numbers

    def log_likelihood(self, level: float, exponent: float) -> float:
        """Return the logarithm of the likelihood, without its constant."""
        hazards = np.exp(np.minimum(level + exponent * self.sizes, 700.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            lost = np.where(self.losses > 0.0, self.losses * np.log(-np.expm1(-hazards)), 0.0)
        return float(np.sum(lost - (self.packets - self.losses) * hazards))

    def derivatives(self, level: float, exponent: float) -> tuple[Numbers, Numbers, Numbers]:
        """Return the scores of the classes, their expected information, and their loss."""
        hazards = np.exp(np.minimum(level + exponent * self.sizes, 700.0))
        loss = -np.expm1(-hazards)
        # d log P / dη, which tends to 1 for a small hazard.
        slope = hazards * np.exp(-hazards) / np.maximum(loss, 1e-300)
        score = self.losses * slope - (self.packets - self.losses) * hazards
        information = self.packets * hazards * slope
        return score, information, loss

    def best_level(self, exponent: float) -> float:
        """Return the a of the maximum for an exponent."""
        scale = float(np.sum(self.packets * np.exp(exponent * self.sizes)))
        start = math.log(max(float(self.losses.sum()), 1e-9) / scale)

        def step(level: float) -> float:
            score, information, _ = self.derivatives(level, exponent)
            return float(score.sum() / max(information.sum(), 1e-300))

        return _newton(step, start)

    def best_exponent(self, level: float, start: float) -> float:
        """Return the b of the maximum for a level."""

        def step(exponent: float) -> float:
            score, information, _ = self.derivatives(level, exponent)
            return float(
                (score * self.sizes).sum() / max((information * self.sizes**2).sum(), 1e-300)
            )

        return _newton(step, start)


def _newton(step: Callable[[float], float], start: float) -> float:
    """Return the zero of a concave problem, by steps of at most 1."""
    at = start
    for _ in range(STEPS):
        change = min(max(step(at), -1.0), 1.0)
        at += change
        if abs(change) < PRECISION:
            break
    return at


def fit_level(counts: SizeCounts, clusters: Sequence[Clusters]) -> tuple[float, Ends]:
    """Return a for the exponent 0, with its interval. There must be a loss."""
    level = counts.best_level(0.0)
    best = counts.log_likelihood(level, 0.0)
    limit = _limits(counts, level, 0.0, np.ones((1, counts.sizes.size)), clusters)[0]

    def ratio(at: float) -> float:
        return 2.0 * (best - counts.log_likelihood(at, 0.0))

    return level, _ends(ratio, level, limit, LEVELS)


def fit(counts: SizeCounts, clusters: Sequence[Clusters]) -> Fitted | None:
    """Fit a and b. Returns ``None`` if the sizes do not determine both."""
    design = np.stack([np.ones_like(counts.sizes), counts.sizes])
    found = _maximum(counts, design)
    if found is None:
        return None
    level, exponent = found
    best = counts.log_likelihood(level, exponent)
    limits = _limits(counts, level, exponent, design, clusters)

    def of_level(at: float) -> float:
        return 2.0 * (best - counts.log_likelihood(at, counts.best_exponent(at, exponent)))

    def of_exponent(at: float) -> float:
        return 2.0 * (best - counts.log_likelihood(counts.best_level(at), at))

    return Fitted(
        level=level,
        level_interval=_ends(of_level, level, limits[0], LEVELS),
        exponent=exponent,
        exponent_interval=_ends(of_exponent, exponent, limits[1], EXPONENTS),
        curve=tuple(_curve(counts, level, exponent, clusters)),
    )


def _maximum(counts: SizeCounts, design: Numbers) -> tuple[float, float] | None:
    """Return a and b of the maximum by Fisher scoring, or ``None`` if there is none."""
    level, exponent = counts.best_level(0.0), 0.0
    for _ in range(STEPS):
        score, information, _ = counts.derivatives(level, exponent)
        fisher = (design * information) @ design.T
        if np.linalg.cond(fisher) > SINGULAR:
            return None
        change = np.clip(np.linalg.solve(fisher, design @ score), -1.0, 1.0)
        level, exponent = level + float(change[0]), exponent + float(change[1])
        if not EXPONENTS[0] < exponent < EXPONENTS[1]:
            return None
        if float(np.abs(change).max()) < PRECISION:
            break
    return level, exponent


def _curve(
    counts: SizeCounts, level: float, exponent: float, clusters: Sequence[Clusters]
) -> Iterator[tuple[float, float, Ends]]:
    """Yield the fitted line over the range of sizes, as the level at each of them."""
    for place in np.linspace(counts.sizes.min(), counts.sizes.max(), PLACES).tolist():
        moved = SizeCounts(sizes=counts.sizes - place, packets=counts.packets, losses=counts.losses)
        design = np.stack([np.ones_like(moved.sizes), moved.sizes])
        value = level + exponent * place
        _, information, _ = moved.derivatives(value, exponent)
        variance = float(np.linalg.inv((design * information) @ design.T)[0, 0])
        half = math.sqrt(variance * _limits(moved, value, exponent, design, clusters)[0])
        yield place, value, (value - half, value + half)


def _limits(
    counts: SizeCounts,
    level: float,
    exponent: float,
    design: Numbers,
    clusters: Sequence[Clusters],
) -> list[float]:
    """Return the largest likelihood ratio inside the interval of each parameter."""
    _, information, loss = counts.derivatives(level, exponent)
    model = np.linalg.inv((design * information) @ design.T)
    hazards = np.exp(level + exponent * counts.sizes)
    weights = design * (hazards / np.maximum(loss, 1e-300))
    limits = np.zeros(len(design))
    for kind in clusters:
        robust = model @ kind.meat(weights, loss) @ model
        ratio = np.maximum(np.diag(robust) / np.diag(model) * kind.correction, 1.0)
        quantile = t_quantile((1.0 + CONFIDENCE) / 2.0, max(kind.lossy - 1, 1))
        limits = np.maximum(limits, ratio * quantile**2)
    return [float(limit) for limit in limits]


def _ends(ratio: Callable[[float], float], best: float, limit: float, possible: Ends) -> Ends:
    """Return the values at which the likelihood ratio reaches the limit; infinite outside."""
    return _end(ratio, best, limit, possible[0]), _end(ratio, best, limit, possible[1])


def _end(ratio: Callable[[float], float], best: float, limit: float, last: float) -> float:
    outside = best
    distance = math.copysign(0.125, last - best)
    while ratio(outside) <= limit:
        outside += distance
        distance *= 2.0
        if (outside - last) * distance > 0.0:
            if ratio(last) <= limit:
                return math.copysign(math.inf, distance)
            outside = last
            break
    inside = best
    for _ in range(STEPS):
        middle = (inside + outside) / 2.0
        if ratio(middle) <= limit:
            inside = middle
        else:
            outside = middle
        if abs(outside - inside) < 1e-6:
            break
    return outside
