"""Checks of delays in the captures of a link: reordering, jitter and rate traces."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from _distribution_tests import Numbers, chi_squared, kolmogorov, one_sided_margin
from _link_captures import Integers, LinkRun, numbers, whole
from _link_losses import BLOCK, in_blocks

Findings = Iterator[tuple[str, float | bool]]

MS: Final = 1_000_000
"""Nanoseconds in a millisecond."""
SIDE: Final = 1e-5
"""Probability that a distribution function exceeds its bound on one side."""

RESOLUTION: Final = 2000
"""Resolution of the start of a rate trace, in nanoseconds."""
TOLERANCE: Final = 10_000
"""Permitted difference of a departure, in nanoseconds: five times the resolution."""

_random = random.Random(25)  # noqa: S311 (a fixed file)
DELAYS_US: Final = sorted(_random.sample(range(-3000, 9000), 40))
FILE: Final = "\n".join(f"{delay}us" for delay in DELAYS_US) + "\n"
"""A file of delays."""
STEPS: Final = ((0, 200_000_000), (80 * MS, 40_000_000), (160 * MS, 0), (180 * MS, 90_000_000))
"""Rates in bits per second by their begin in nanoseconds, in each period."""
PERIOD: Final = 260 * MS
TRACE: Final = (
    "\n".join(f"{begin / MS:g}ms {f'{rate}bit' if rate else 0}" for begin, rate in STEPS)
    + f"\n{PERIOD / MS:g}ms repeat\n"
)


def not_early(run: LinkRun) -> Findings:
    """Check the live link's lateness: no packet is early, and its own report is right."""
    late = run.lateness_ns
    # Both clocks begin with the first arrival.
    yield "no packet leaves before it is due", bool(late.min() >= 0)
    bound = 1.04e9 * run.up["timing_error_p99_s"] + 1
    yield "99 % of the lateness is as small as reported", bool((late <= bound).mean() >= 0.99)


def of_law(run: LinkRun, law: Callable[[Numbers], Numbers], base_ns: int) -> Findings:
    """Check the delays against a distribution function of nanoseconds beyond `base_ns`."""
    if not run.same:
        return
    yield from not_early(run)
    exact = run.delays_ns(run.simulated) - base_ns
    # A uniform number within a nanosecond makes the whole values continuous.
    blurred = exact + np.random.default_rng(1).uniform(-0.5, 0.5, len(exact))
    yield "the delays less the lateness of each packet have the law", kolmogorov(blurred, law)
    live = np.sort(run.delays_ns(run.deliveries) - base_ns).astype(float)
    count, late = len(live), 1.04e9 * run.up["timing_error_p99_s"] + 1
    margin = one_sided_margin(count, SIDE)
    steps = np.arange(1, count + 1) / count
    above = float(np.max(steps - law(live + 0.5)))
    below = float(np.max(law(live - late) - 0.01 - (steps - 1 / count)))
    yield (
        "the delays in the captures are between the law and the law plus the lateness",
        (above <= margin and below <= margin),
    )


def uniform(run: LinkRun) -> Findings:
    """Check `uniform:3ms`."""
    yield from of_law(run, lambda x: np.clip((x + 3 * MS) / (6 * MS), 0, 1), 20 * MS)


def normal_law(x: Numbers) -> Numbers:
    """Return the distribution function of `normal:3ms`."""
    erf = np.frompyfunc(math.erf, 1, 1)
    return np.asarray(0.5 + 0.5 * np.asarray(erf(x / (3 * MS * math.sqrt(2))), dtype=float))


def normal(run: LinkRun) -> Findings:
    """Check `normal:3ms`."""
    yield from of_law(run, normal_law, 20 * MS)


def pareto(run: LinkRun) -> Findings:
    """Check `pareto:3ms,3`."""
    yield from of_law(run, lambda x: 1 - (1 + np.maximum(x, 0) / (2 * 3 * MS)) ** -3.0, 5 * MS)


def measured(run: LinkRun) -> Findings:
    """Check `file:FILE`: each delay of the file has the same probability."""
    if not run.same:
        return
    yield from not_early(run)
    exact = run.delays_ns(run.simulated) - 5 * MS
    kinds = np.array(DELAYS_US) * 1000
    place = np.searchsorted(kinds, exact)
    yield (
        "every delay is one of the file",
        bool((kinds[np.minimum(place, len(kinds) - 1)] == exact).all()),
    )
    counts = np.bincount(place, minlength=len(kinds)).astype(float)
    yield (
        "the delays of the file are equally frequent",
        chi_squared(counts, np.full(len(counts), len(exact) / len(counts))),
    )


def in_order(run: LinkRun) -> Findings:
    """Check `--jitter normal:3ms`: packets wait for those before them."""
    if not run.same:
        return
    yield from not_early(run)
    found = numbers(run.deliveries)
    yield "packets keep their order", bool((np.diff(found[found >= 0]) > 0).all())
    # A packet that leaves later than the packet before it has a delay of its own.
    due = whole(run.simulated["time"])
    begin = whole(run.arrivals["time"])
    own = np.flatnonzero(np.diff(due) > 0) + 1
    delay = due[own] - begin[own] - 20 * MS
    # Its delay is the law's under the condition that it exceeds the wait for the others.
    least = due[own - 1] - begin[own] - 20 * MS
    beyond = (1 - normal_law(delay.astype(float))) / (1 - normal_law(least.astype(float)))
    yield (
        f"delays of the {len(own)} packets that did not wait have the law",
        kolmogorov(beyond, lambda x: np.clip(x, 0, 1)),
    )


def reordering(run: LinkRun) -> Findings:
    """Check `--delay 5ms --reorder 2%,20ms`."""
    if not run.same:
        return
    yield from not_early(run)
    live, exact = run.delays_ns(run.deliveries), run.delays_ns(run.simulated)
    yield "each delay is 5 ms or 25 ms", bool(np.isin(exact, [5 * MS, 25 * MS]).all())
    hits = np.zeros(int(run.numbers.max()) + 1, dtype=np.bool_)
    hits[numbers(run.deliveries)[numbers(run.deliveries) >= 0]] = live >= 25 * MS
    yield (
        f"late packets in {BLOCK} are binomial with 2 %",
        in_blocks(hits[run.numbers[run.sent]], 0.02),
    )


def rate_trace(run: LinkRun) -> Findings:
    """Check `--rate-trace` against departures computed from the rates and the arrivals.

    The captures do not have the start of the link. It is within 10 µs of the one for which lateness
    varies least, and no packet leaves early with it. A packet that leaves at the beginning of an outage
    would have to wait for its end with a start some microseconds later.
    """
    begin, sizes = whole(run.arrivals["time"]), whole(run.arrivals["size"])
    live = whole(run.deliveries["time"])
    yield "no packet is lost", len(begin) == len(live)
    if len(begin) != len(live):
        return
    some = slice(min(len(begin), 60_000))

    def spread(start: int) -> float:
        late = live[some] - departures(begin[some], sizes[some], start)
        return float(np.abs(late - np.median(late)).mean())

    start = min(range(0, PERIOD, MS // 2), key=spread)
    start = min(range(start - MS // 2, start + MS // 2, RESOLUTION), key=spread)

    def early(start: int) -> tuple[int, float]:
        late = live - departures(begin, sizes, start)
        return int((late < -TOLERANCE).sum()), spread(start)

    start = min(range(start - TOLERANCE, start + TOLERANCE + 1, RESOLUTION), key=early)
    late = live - departures(begin, sizes, start)
    limit_us = TOLERANCE // 1000
    yield f"no packet leaves more than {limit_us} µs early", bool(late.min() >= -TOLERANCE)
    bound = 1.04e9 * run.up["timing_error_p99_s"] + TOLERANCE
    on_time = bool((late <= bound).mean() >= 0.99)
    yield (
        f"99 % of the packets leave when the rates permit, within {limit_us} µs and the lateness",
        on_time,
    )


def departures(begin: Integers, sizes: Integers, start: int) -> Integers:
    """Return when packets leave a line whose `STEPS` began `start` before the first packet."""
    begins = np.array([at for at, _ in STEPS] + [PERIOD], dtype=float)
    rates = np.array([rate for _, rate in STEPS], dtype=float)
    sums = np.concatenate([[0.0], np.cumsum(np.diff(begins) * rates)])
    times = begin + start
    carried = times // PERIOD * sums[-1] + np.interp(times % PERIOD, begins, sums)
    work = sizes * 8e9
    # A packet leaves when the work of the busy period up to it is done. The start of the busy
    # period is the earlier arrival for which this takes longest.
    total = np.cumsum(work)
    done = np.maximum.accumulate(carried - (total - work)) + total
    periods = np.floor(done / sums[-1])
    # An outage has two times for one capacity. Packets after it take the later one.
    ends = periods * PERIOD + np.interp(done - periods * sums[-1], sums, begins)
    found: Integers = np.ceil(ends - start).astype(np.int64)
    return found
