"""Measure how often the intervals of a study's stopping rule contain the true value.

A stopping rule looks at the interval after 8, 16, 32 and 64 runs, and stops at the first one that is
narrow enough. The program draws the values of runs from known distributions and applies the rule of
`tcpsf.studies`. The exit status is 1 if intervals of normally distributed runs contain the true
value in less than 95 % of the experiments, apart from three standard errors of the simulation.

    python verification/stopping.py [--experiments N]

Skewed distributions have no verdict, because Student's interval itself is too narrow for them. The
program also prints the coverage of a rule that looks at 95 % intervals, as a comparison.
"""

# ruff: noqa: T201 (this program prints its verdicts)

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator

import numpy as np
from _verdicts import judged

from tcpsf import StoppingRule, stats
from tcpsf.studies.running import confidence_after, is_narrow_enough, rounds

EXPERIMENTS = 10_000

Draw = Callable[[np.random.Generator, int], np.ndarray]

# Distributions of a run's value with the mean 1. The normal one has a standard deviation of 0.3.
DISTRIBUTIONS: dict[str, Draw] = {
    "normal": lambda random, size: random.normal(1.0, 0.3, size),
    "gamma, shape 4": lambda random, size: random.gamma(4.0, 0.25, size),
    "exponential": lambda random, size: random.exponential(1.0, size),
}

WIDTHS = ("25%", "15%", "10%", "7%")


def covered(draw: Draw, width: str, experiments: int, *, corrected: bool) -> tuple[float, float]:
    """Return the share of intervals that contain the mean, and the mean number of runs."""
    rule = StoppingRule(measure="mean_s", half_width=width, maximum=64)
    confidence = confidence_after(rule) if corrected else stats.CONFIDENCE
    random = np.random.default_rng(20_260)
    hits = runs = 0
    for _ in range(experiments):
        values = draw(random, rule.maximum).tolist()
        for total in rounds(rule):
            found = stats.mean(values[:total])
            if is_narrow_enough(found, rule, confidence):
                break
        low, high = (found and found.interval_at(confidence)) or (math.nan, math.nan)
        hits += low <= 1.0 <= high
        runs += total
    return hits / experiments, runs / experiments


def statements(experiments: int) -> Iterator[tuple[str, bool | None]]:
    """Yield a line for each distribution and width, with its verdict."""
    least = 0.95 - 3.0 * math.sqrt(0.95 * 0.05 / experiments)
    for name, draw in DISTRIBUTIONS.items():
        for width in WIDTHS:
            share, runs = covered(draw, width, experiments, corrected=True)
            plain, fewer = covered(draw, width, experiments, corrected=False)
            line = (
                f"{name}, ±{width}: {100 * share:.1f} % of {experiments} intervals contain the mean "
                f"({runs:.0f} runs); with 95 % at each look {100 * plain:.1f} % ({fewer:.0f} runs)"
            )
            yield line, share >= least if name == "normal" else None


def main() -> int:
    """Print the coverage of each case."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--experiments", type=int, default=EXPERIMENTS)
    experiments = parser.parse_args().experiments
    found = list(statements(experiments))
    for line, verdict in found:
        if verdict is None:
            print(f"-      {line} (not judged)")
    return judged([(line, verdict) for line, verdict in found if verdict is not None])


if __name__ == "__main__":
    sys.exit(main())
