"""Measure what a study adds to the CPU time of its simulations, and its memory.

python benches/study_overhead.py [--points N] [--turns N]

Both sides simulate the same points in one process and reduce each run to the same sums. One is `tcpsf
sweep run`, which plans the study, writes a Parquet file for each run, and computes the results. The
other is a loop over single runs. They alternate.
"""

# ruff: noqa: T201 (this program prints measurements)

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from _measure import measure, word

TARGET = 0.05
DURATION_S = 1500.0
"""Simulated time of a point, in seconds."""
POINT_S = 0.15
"""CPU time of a point for which the target is checked."""
MEMORY_MB = 300.0
ANSWER_S = 1.0
"""Time in which `status` and `show` answer."""

STUDY = """
name = "many"
example = "starter"

[set]
duration = "{duration:g}s"
"workload.replies.handshake" = false
"workload.replies.opener" = ""

[[axis]]
name = "delay"
keys = ["link.down.delay", "link.up.delay"]
from = "5ms"
to = "100ms"
steps = {points}

[runs]
count = 1

[keep]
measures = ["mean_s", "p95_s"]
workloads = ["replies"]
"""

LOOP = """
import sys
from functools import partial
from tcpsf import Study
from tcpsf.runs import Job, run_jobs
from tcpsf.studies.points import points_of, scenario_at
from tcpsf.summary import SummaryFold

study = Study.from_toml(sys.argv[1])
fold = partial(SummaryFold, percentiles=True, classes=True)
for point in points_of(study):
    run_jobs([Job(scenario=scenario_at(study, point), seed=1, fold=fold)], workers=1)
"""


def main() -> int:
    """Measure both sides, print the ratio, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    added, plain, peak, answers = [], [], 0.0, []
    for turn in range(options.turns):
        with tempfile.TemporaryDirectory() as name:
            study = Path(name) / "many.toml"
            text = STUDY.format(duration=DURATION_S, points=options.points)
            study.write_text(text, encoding="utf-8")
            command = [sys.executable, "-m", "tcpsf", "sweep"]
            swept = measure([*command, "run", str(study), "-q", "--workers", "1"])
            looped = measure([sys.executable, "-c", LOOP, str(study)])
            for verb in ("status", "show"):
                begin = time.perf_counter()
                measure([*command, verb, str(study)])
                answers.append(time.perf_counter() - begin)
        point, more = looped.cpu_s / options.points, (swept.cpu_s - looped.cpu_s) / options.points
        peak = max(peak, swept.peak_mb)
        plain.append(point)
        added.append(more)
        print(f"turn {turn + 1}: {point * 1e3:6.1f} ms a point, {more * 1e3:+5.1f} ms of the study")
    point, more = statistics.median(plain), statistics.median(added)
    share = more / POINT_S
    print(f"{options.points} points; {more / point:.1%} of {point * 1e3:.0f} ms a point")
    print(
        f"  {share:.1%} of points of {POINT_S * 1e3:.0f} ms; target {TARGET:.0%}  {word(share <= TARGET)}"
    )
    print(f"  peak memory {peak:.0f} MB; target {MEMORY_MB:.0f} MB  {word(peak <= MEMORY_MB)}")
    slowest = statistics.median(answers)
    print(
        f"  `status` and `show` {slowest:.2f} s; target {ANSWER_S:g} s  {word(slowest <= ANSWER_S)}"
    )
    return int(share > TARGET or peak > MEMORY_MB or slowest > ANSWER_S)


if __name__ == "__main__":
    sys.exit(main())
