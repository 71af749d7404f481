"""Compare simulations with models (1), (4) and (14) of Cardwell, Savage and Anderson (1998).

The program simulates Figs. 5 to 16, with 4000 transfers for each point. It prints the claims that
`tcpsf reproduce short-flows` judges, and the reason why (14) is above the medians. Then it checks
properties that the simulator must have.

The exit status is 1 if a check fails. A claim of the paper that does not hold is a result and does
not change the exit status.

    python verification/short_flows.py [--readings text|closest] [--out DIR]

With --out the report is also written as a page.
"""

# ruff: noqa: T201 (this program prints its verdicts)

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
from tcpsf.models import short_flows as sf
from tcpsf.papers.short_flows_simulated import TransferPoint
from tcpsf.report.evaluation_page import page
from tcpsf.report.evaluation_text import as_text
from tcpsf.reproduce.short_flows import evaluate, prepare
from tcpsf.reproduce.short_flows.events import SHOWN as COUNTED
from tcpsf.reproduce.short_flows.histograms import MODERATE, SEVERE
from tcpsf.reproduce.short_flows.sweeps import SWEEPS
from tcpsf.reproduce.short_flows.trials import Setting
from tcpsf.store import Store

SIGMAS = 4.0
FIGURES = (*(f"fig-{number}" for number in range(5, 17)), "loss-back")
LEAST = (7, 9, 10, 12, 13)
"""Numbers of the figures in which at least one transfer of each point has no loss."""


def main() -> int:
    """Simulate, print the claims and print the verdicts of the checks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--readings",
        choices=["text", "closest"],
        default="text",
        help="readings of the paper, as for `tcpsf reproduce short-flows`",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="write a page with the figures to this folder"
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
    print("\nReasons why (14) is above the medians of short transfers and below their means:")
    for statement in _why(setting, runs):
        print(f"  {statement}")
    print("\nChecks:")
    failed = judged(_checks(setting, runs))
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "short-flows.html").write_text(page(report), encoding="utf-8")
        print(f"\nthe page: {options.out / 'short-flows.html'}")
    print(f"\nIt took {time.monotonic() - began:.0f} s.")
    return 1 if failed else 0


def _why(setting: Setting, runs: Runs) -> Iterator[str]:
    for point in (TransferPoint(size=4000), MODERATE, TransferPoint(size=32_000)):
        trials = setting.seen(point, runs).trials
        clean = float((trials.events == 0).mean())
        median = "the minimum" if clean > 0.5 else "that of a trial with losses"
        losses = float(sf.expected_losses(point.size, point.loss, mss=point.mss))
        expected = losses * float(sf.timeout_probability(point.loss))
        yield (
            f"{point.size:6} bytes: {100 * clean:.0f} % of the trials have no loss, so the median is {median}; "
            f"{trials.timeouts.mean():.2f} timeouts per trial, {expected:.2f} by (7)"
        )


def _checks(setting: Setting, runs: Runs) -> Iterator[tuple[str, bool]]:
    for point in (MODERATE, SEVERE, COUNTED[15][1]):
        trials = setting.seen(point, runs).trials
        lost = 1.0 - (1.0 - point.loss) ** 2
        found = float((trials.syn_timeouts > 0).mean())
        error = SIGMAS * math.sqrt(lost * (1.0 - lost) / len(trials))
        statement = f"share of handshakes with a loss, at loss {point.loss}, {point.size} bytes"
        yield (
            f"{statement}: {100 * found:.2f} %, expected {100 * lost:.2f} ± {100 * error:.2f} %",
            abs(found - lost) <= error,
        )
    for sweep in SWEEPS:
        seen = sweep.seen(setting, runs)
        # (1) includes a delayed acknowledgment, which transfers of a single segment do not have.
        apart = [
            (each.trials.minimum().value - each.model(1)) / each.point.rtt
            for each in seen
            if each.point.segments > 1
        ]
        if sweep.number in LEAST:
            statement = f"Fig. {sweep.number}, {sweep.what}: minimum within one round trip of (1)"
            yield (
                f"{statement}: {min(apart):+.2f} to {max(apart):+.2f}",
                max(map(abs, apart)) <= 1.0,
            )
        names = ("minimum", "median", "80 %")
        times = [
            [each.value for name in names if (each := one.trials.statistic(name))] for one in seen
        ]
        yield (
            f"Fig. {sweep.number}, {sweep.what}: minimum, median and 80 % in ascending order at {len(seen)} points",
            all(row == sorted(row) and len(row) == len(names) for row in times),
        )


if __name__ == "__main__":
    sys.exit(main())
