"""Cardwell, Savage and Anderson (1998): Figs. 5 to 16 from our simulator, with models (1), (4) and (14) beside them.

Printed are the claims that `tcpsf reproduce short-flows` judges, from the same runs of 4000
transfers a point; why (14) is above the medians; then checks of the simulator against what must be
so. Exit status 1 if a check fails: a claim that does not hold here is a finding, not a failure.

    python verification/short_flows.py [--readings text|closest] [--out DIR]

With --out the report is also written as a page.
"""

# ruff: noqa: T201 (it is a program, and prints what it finds)

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from _verdicts import judged

from tcpsf.evaluation.plan import Runs, make
from tcpsf.evaluation.store import Store
from tcpsf.models import short_flows as sf
from tcpsf.papers.short_flows_simulated import Point
from tcpsf.report.evaluation_page import page
from tcpsf.report.evaluation_text import as_text
from tcpsf.reproduce.short_flows import evaluate, prepare
from tcpsf.reproduce.short_flows.events import SHOWN as COUNTED
from tcpsf.reproduce.short_flows.histograms import MODERATE, SEVERE
from tcpsf.reproduce.short_flows.sweeps import SWEEPS
from tcpsf.reproduce.short_flows.trials import Setting

SIGMAS = 4.0
FIGURES = (*(f"fig-{number}" for number in range(5, 17)), "loss-back")
LEAST = (7, 9, 10, 12, 13)
"""Figures in which some transfer of each point loses nothing."""


def main() -> int:
    """Simulate, print, judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--readings", choices=["text", "closest"], default="text", help="as for the command"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="write a page with the figures there"
    )
    options = parser.parse_args()
    began = time.monotonic()
    wanted = prepare(readings=options.readings, only=FIGURES)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        report = evaluate(wanted, store=store)
        runs = make(wanted.plan, store=store)
    setting = Setting(readings=options.readings)
    print(as_text(report))
    print("\nWhy (14) is above the medians of short transfers, and below their means:")
    for told in _why(setting, runs):
        print(f"  {told}")
    print("\nChecks:")
    failed = judged(_checks(setting, runs))
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "short-flows.html").write_text(page(report), encoding="utf-8")
        print(f"\nthe page: {options.out / 'short-flows.html'}")
    print(f"\nIt took {time.monotonic() - began:.0f} s.")
    return 1 if failed else 0


def _why(setting: Setting, runs: Runs) -> Iterator[str]:
    for point in (Point(size=4000), MODERATE, Point(size=32_000)):
        trials = setting.seen(point, runs).trials
        clean = float((trials.events == 0).mean())
        median = "the least time" if clean > 0.5 else "that of a trial with losses"
        losses = float(sf.expected_losses(point.size, point.loss, mss=point.mss))
        expected = losses * float(sf.timeout_probability(point.loss))
        yield (
            f"{point.size:6} bytes: {100 * clean:.0f} % of the trials lose nothing, so the median is {median}; "
            f"{trials.timeouts.mean():.2f} timeouts a trial, (7) has {expected:.2f}"
        )


def _checks(setting: Setting, runs: Runs) -> Iterator[tuple[str, bool]]:
    for point in (MODERATE, SEVERE, COUNTED[15][1]):
        trials = setting.seen(point, runs).trials
        lost = 1.0 - (1.0 - point.loss) ** 2
        found = float((trials.syn_timeouts > 0).mean())
        error = SIGMAS * math.sqrt(lost * (1.0 - lost) / len(trials))
        told = f"handshakes lose a packet as two packets do, loss {point.loss}, {point.size} bytes"
        yield (
            f"{told}: {100 * found:.2f} % against {100 * lost:.2f} ± {100 * error:.2f}",
            abs(found - lost) <= error,
        )
    for sweep in SWEEPS:
        seen = sweep.seen(setting, runs)
        # A single segment does not wait for the delayed acknowledgment that (1) counts.
        apart = [
            (each.trials.minimum().value - each.model(1)) / each.point.rtt
            for each in seen
            if each.point.segments > 1
        ]
        if sweep.number in LEAST:
            told = f"Fig. {sweep.number}, {sweep.what}: the least time is (1) to a round trip"
            yield f"{told}: by {min(apart):+.2f} to {max(apart):+.2f}", max(map(abs, apart)) <= 1.0
        names = ("minimum", "median", "80 %")
        times = [
            [each.value for name in names if (each := one.trials.statistic(name))] for one in seen
        ]
        yield (
            f"Fig. {sweep.number}, {sweep.what}: minimum, median and 80 % are in order: {len(seen)} points",
            all(row == sorted(row) and len(row) == len(names) for row in times),
        )


if __name__ == "__main__":
    sys.exit(main())
