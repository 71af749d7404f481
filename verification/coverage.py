"""Measure how often the 95 % confidence intervals of the reports contain the true value.

The intervals are computed by the same functions as in the reports, in two sets of repeated
experiments with eight runs each. The first set draws runs whose flows are correlated, because each
run has a random effect. Its true values follow from the distributions. The second set simulates a
small network. Its true values come from a run 200 times as long as an experiment.

An interval passes if it contains the true value in 93 to 97 % of the experiments. The exit status
is 1 if an interval fails.

    python verification/coverage.py [--experiments N] [--counted SECONDS]

The accepted range was chosen before any result was seen. With 1000 experiments the standard error
of a share is 0.7 %.

Two kinds of quantities have no verdict. The last table shows the limits of the intervals: rare
proportions whose observations are strongly correlated, by the number of runs. Differences of
percentiles (`tcpsf compare`) are printed with the others; their intervals are known to be too wide
near the median, and too narrow with few flows beyond the percentile.
"""

# ruff: noqa: T201 (this program prints its verdicts)

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from _verdicts import judged

from tcpsf import Buffer, Link, Poisson, Scenario, Sizes, Tcp, paired, replicate, stats
from tcpsf.distribution import Distribution
from tcpsf.papers import smart_framing as paper
from tcpsf.reproduce import web_runs
from tcpsf.result import Provenance
from tcpsf.summary import Group, RunSummary, SummaryFold, Totals, completion_s, fast_percent

RUNS = 8
RANGE = (0.93, 0.97)
MADE_UP = 4000
"""Smallest number of experiments with drawn runs, which take little time."""
LONG = 200
"""Length of the run that gives the true values, as a multiple of an experiment's length."""

QUANTILES = "% quantiles"
"""End of the names of differences of percentiles, which are not judged."""

Estimates = dict[str, stats.Estimate | None]


@dataclass
class Tally:
    """Number of intervals that contained the true value, by quantity."""

    truth: dict[str, float]
    covered: dict[str, int] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)

    def add(self, found: Estimates) -> None:
        """Add the intervals of one experiment."""
        for what, truth in self.truth.items():
            estimate = found[what]
            if estimate is None or estimate.spread is None:
                continue
            self.seen[what] = self.seen.get(what, 0) + 1
            # The slack covers rounding errors of the bounds.
            slack = 1e-9 * abs(truth)
            self.covered[what] = self.covered.get(what, 0) + (
                estimate.low - slack <= truth <= estimate.high + slack
            )

    def statements(self, experiments: int) -> list[tuple[str, bool]]:
        """One statement for each quantity, and whether its share is in the accepted range."""
        lines = []
        for what, truth in self.truth.items():
            seen = self.seen.get(what, 0)
            share = self.covered.get(what, 0) / seen if seen else math.nan
            holds = seen >= 0.99 * experiments and RANGE[0] <= share <= RANGE[1]
            lines.append(
                (f"{what:58} {100 * share:5.1f} % of {seen} intervals contain {truth:.4g}", holds)
            )
        return lines


def main() -> int:
    """Run both sets and print one line for each quantity."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--experiments",
        type=int,
        default=1000,
        help="experiments with the simulated network (default: 1000)",
    )
    parser.add_argument(
        "--counted",
        type=int,
        default=COUNTED_S,
        help="counted seconds of a run (default: %(default)s)",
    )
    arguments = parser.parse_args()
    experiments: int = arguments.experiments
    count = max(MADE_UP, experiments)
    print(f"\nDrawn runs, {RUNS} in each of {count} experiments")
    failed = _judge(made_up(count), count)
    print(f"\nSimulated network, {RUNS} runs in each of {experiments} experiments")
    failed += _judge(simulated(experiments, arguments.counted), experiments)
    print(f"\nLimits of the intervals, {count} experiments each: not judged")
    for line in limits(count):
        print(line)
    return 1 if failed else 0


def _judge(tally: Tally, experiments: int) -> int:
    """Judge the quantities of a set, and print those without a verdict. Returns the failures."""
    statements = tally.statements(experiments)
    failed = judged([each for each in statements if QUANTILES not in each[0]])
    for line, _ in statements:
        if QUANTILES in line:
            print(f"-      {line} (not judged)")
    return failed


# Drawn runs: the flows of a run have a common random effect and are therefore correlated.

SPREAD = 0.2
"""Standard deviation of the logarithm of a run's effect on its completion times."""
FLOWS = 60.0
"""Mean number of flows in a run."""
MEAN_S = 2.0
"""Mean completion time of a flow, in seconds."""
LESS_S = 0.15
"""Mean difference between full-sized and framed completion times, in seconds."""
LESS_RUN_S, LESS_FLOW_S = 0.1, 0.2
"""Standard deviations of the difference among runs, and among the flows of a run, in seconds."""
RECOVERIES = 40.0
"""Mean number of recoveries in a run."""
CORRELATION = 0.05
"""Correlation of two recoveries of a run, in whether each is a fast retransmit."""
SHARES = (0.05, 0.1, 0.5, 0.9)
OBSERVED = 400
"""Number of independent observations in the numerator and in the denominator of a ratio."""
RATIOS = (
    ("ratio of proportions", 0.8, 0.2),
    ("ratio of rare proportions", 0.1, 0.05),
    ("ratio of means", 6.0, 2.0),
)
"""Name of a ratio, its numerator and its denominator."""


def made_up(experiments: int) -> Tally:
    """Run the experiments with drawn runs."""
    chance = np.random.default_rng(20_021)
    proportions = {f"proportion of {share:g}": 100.0 * share for share in SHARES}
    tally = Tally(
        truth={
            **_true_times(chance),
            **proportions,
            **{name: ours / theirs for name, ours, theirs in RATIOS},
        }
    )
    apart = np.random.default_rng(20_023)
    for _ in range(experiments):
        classic, framed = _drawn(chance, RUNS)
        found = _times(classic, framed)
        for share in SHARES:
            found[f"proportion of {share:g}"] = fast_percent(
                _recovering(chance, share, CORRELATION, RUNS)
            )
        tally.add(found | _ratios(apart))
    return tally


def _ratios(chance: np.random.Generator) -> Estimates:
    """Ratios of independent proportions of independent observations, and of independent means."""
    found = {}
    for name, ours, theirs in RATIOS:
        if ours < 1.0:
            hits = (
                stats.proportion(int(chance.binomial(OBSERVED, each)), OBSERVED)
                for each in (ours, theirs)
            )
            found[name] = stats.quotient(*hits)
        else:
            times = (
                stats.mean(chance.exponential(each, OBSERVED).tolist()) for each in (ours, theirs)
            )
            found[name] = stats.quotient(*times)
    return found


def _true_times(chance: np.random.Generator) -> dict[str, float]:
    """True values: the mean by definition, and quantiles of four million drawn values."""
    count = 4_000_000
    effects = np.exp(chance.normal(-(SPREAD**2) / 2, SPREAD, count))
    times = chance.exponential(MEAN_S * effects)
    framed = times - chance.normal(LESS_S, math.hypot(LESS_RUN_S, LESS_FLOW_S), count)
    return {
        "mean of flows": MEAN_S,
        "mean of runs' means": MEAN_S,
        "median": float(np.quantile(times, 0.5)),
        "90 % quantile": float(np.quantile(times, 0.9)),
        "difference of pairs": LESS_S,
        "gain of pairs, %": 100.0 * LESS_S / MEAN_S,
        "compare: difference of means": -LESS_S,
        **{
            _named(part): float(np.quantile(framed, part) - np.quantile(times, part))
            for part in (0.5, 0.9)
        },
    }


def _drawn(chance: np.random.Generator, runs: int) -> tuple[list[RunSummary], list[RunSummary]]:
    """Pairs of runs with the same effect; the second run of a pair has shorter completion times."""
    pairs = []
    for _ in range(runs):
        effect = math.exp(chance.normal(-(SPREAD**2) / 2, SPREAD))
        times = chance.exponential(MEAN_S * effect, max(1, chance.poisson(FLOWS)))
        saved = chance.normal(LESS_S, LESS_RUN_S) + chance.normal(0.0, LESS_FLOW_S, len(times))
        pairs.append((_summary(times), _summary(times - saved)))
    return [one for one, _ in pairs], [other for _, other in pairs]


def _summary(seconds: np.ndarray) -> RunSummary:
    nanoseconds = [round(each * 1e9) for each in seconds.tolist()]
    count = len(nanoseconds)
    totals = Totals(
        flows=count, completed=count, sender_ns=sum(nanoseconds), times=Distribution(nanoseconds)
    )
    return RunSummary(provenance=NOWHERE, groups={Group(paper.WEB, "any", 1): totals}, links=[])


def _recovering(
    chance: np.random.Generator, share: float, correlation: float, runs: int
) -> list[Totals]:
    """Runs with recoveries, where the share of fast retransmits is drawn for each run."""
    beta = 1.0 / correlation - 1.0
    made = []
    for _ in range(runs):
        count = chance.poisson(RECOVERIES)
        fast = int(chance.binomial(count, chance.beta(share * beta, (1.0 - share) * beta)))
        made.append(Totals(fast_retransmits=fast, timeouts=int(count) - fast))
    return made


def limits(experiments: int) -> Iterator[str]:
    """Coverage of the intervals of rare proportions with strongly correlated observations."""
    chance = np.random.default_rng(20_022)
    for share, correlation, runs in itertools.product(
        (0.02, 0.05), (0.1, 0.2), (RUNS, 4 * RUNS, 16 * RUNS)
    ):
        what = f"proportion of {share:g}, correlation {correlation:g}, {runs} runs"
        tally = Tally(truth={what: 100.0 * share})
        for _ in range(experiments):
            tally.add({what: fast_percent(_recovering(chance, share, correlation, runs))})
        yield from (lines for lines, _ in tally.statements(experiments))


def _times(classic: Sequence[RunSummary], framed: Sequence[RunSummary]) -> Estimates:
    return {
        "mean of flows": completion_s(web_runs.each(classic)),
        "mean of runs' means": web_runs.mean(web_runs.times(classic)),
        "median": web_runs.quantile(classic, 0.5),
        "90 % quantile": web_runs.quantile(classic, 0.9),
        "difference of pairs": web_runs.longer(classic, framed),
        "gain of pairs, %": web_runs.gain(framed, classic),
        **_compared(classic, framed, (0.5, 0.9)),
    }


def _compared(
    classic: Sequence[RunSummary], framed: Sequence[RunSummary], parts: Sequence[float]
) -> Estimates:
    """Differences of the mean and of quantiles, as `tcpsf compare` computes them."""
    one, other = web_runs.each(classic), web_runs.each(framed)
    sums = ([(t.sender_ns * 1e-9, t.completed) for t in each] for each in (one, other))
    found = {"compare: difference of means": paired.ratios(*sums)}
    first, second = ([totals.times for totals in each] for each in (one, other))
    for part in parts:
        values = stats.quantile(first, part), stats.quantile(second, part)
        found[_named(part)] = paired.quantiles(first, second, *values)
    return {name: each.absolute if each else None for name, each in found.items()}


def _named(part: float) -> str:
    return f"compare: difference of {100 * part:g} {QUANTILES}"


# Simulated network.

COUNTED_S = 120
"""Counted time of a run, in seconds.

In runs of 10 s, a single episode of congestion determines the mean of the run, so that the means of
runs are skewed. With eight such runs, intervals by Student's t cover 90 to 91 %. The runs of reports
last at least 400 s, with 40 flows per second.
"""
WARM_UP_S = 20


def network(framing: str, *, counted_s: int) -> Scenario:
    """Scenario with short flows of three sizes on a link with a small buffer."""
    link = Link(
        name=paper.BOTTLENECK,
        from_="a",
        to="b",
        rate="2Mb/s",
        delay="20ms",
        buffer=Buffer(bytes="15kB"),
    )
    web = Poisson(
        name=paper.WEB,
        from_="a",
        to="b",
        load=0.7,
        of=paper.BOTTLENECK,
        sizes=Sizes(classes=(1000, 5000, 20_000)),
        sender=f"reno+sack / {framing} / iw=1",
    )
    return Scenario(
        name="coverage",
        duration=f"{WARM_UP_S + counted_s}s",
        warm_up=f"{WARM_UP_S}s",
        link=(link, Link(name="back", from_="b", to="a", delay="20ms")),
        workload=(web,),
        tcp=Tcp(profile="ns2"),
    )


NOWHERE = Provenance(version="", seed=0, scenario=network("full", counted_s=COUNTED_S))


def simulated(experiments: int, counted_s: int) -> Tally:
    """Run the experiments with the simulated network, and the long run for the true values."""
    long, short = [
        {
            framing: replicate(network(framing, counted_s=counted), seeds=seeds, reduce=SummaryFold)
            for framing in ("full", "fs(n=4)")
        }
        for counted, seeds in (
            (LONG * RUNS * counted_s, range(10**9, 10**9 + 1)),
            (counted_s, range(1, experiments * RUNS + 1)),
        )
    ]
    truth = {
        what: found.value
        for what, found in _quantities(long["full"], long["fs(n=4)"]).items()
        if found
    }
    tally = Tally(truth=truth)
    for number in range(experiments):
        runs = slice(number * RUNS, (number + 1) * RUNS)
        tally.add(_quantities(short["full"][runs], short["fs(n=4)"][runs]))
    return tally


def _quantities(classic: Sequence[RunSummary], framed: Sequence[RunSummary]) -> Estimates:
    return {
        "mean of flows of 20 kB, s": completion_s(web_runs.each(classic, classes=(3,))),
        "mean of runs' means of 20 kB, s": web_runs.mean(web_runs.times(classic, classes=(3,))),
        "median, s": web_runs.quantile(classic, 0.5),
        "95 % quantile, s": web_runs.quantile(classic, 0.95),
        "fast retransmits, %, full-sized segments": fast_percent(web_runs.each(classic)),
        "fast retransmits, %, framed": fast_percent(web_runs.each(framed)),
        "fast retransmits, %, framed, 5 kB": fast_percent(web_runs.each(framed, classes=(2,))),
        "packets lost, %": web_runs.lost_percent(classic),
        "utilisation, %": web_runs.utilisation_percent(classic),
        "queue, bytes": web_runs.queue_bytes(classic),
        "difference of pairs, s": web_runs.longer(framed, classic),
        "gain of pairs for 20 kB, %": web_runs.gain(framed, classic, classes=(3,)),
        **_compared(classic, framed, (0.5, 0.95, 0.99, 0.999)),
    }


if __name__ == "__main__":
    sys.exit(main())
