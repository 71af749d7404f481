"""Measure what a study adds to the CPU time of its simulations, and its memory.

python benches/study_overhead.py [--points N] [--turns N]

Both sides simulate the same points in one process and reduce each run to the same sums. One is `tcpsf
sweep run`, which plans the study, writes a Parquet file for each run, and computes the results. The
other is a loop over single runs. They alternate, with points of several lengths.

A study has many points, so the start of both programs is measured with few points and subtracted. A
third program measures the part of the Parquet files: all of `stored_run.to_parquet`, and the writer
of Polars alone.
"""

# ruff: noqa: T201 (this program prints measurements)

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from _measure import measure, word

TARGET = 0.05
DURATIONS_S = (300.0, 700.0, 1500.0, 3000.0)
"""Simulated times of a point, in seconds."""
POINT_S = 0.15
"""CPU time of a point from which the target must hold."""
FEW = 2
"""Number of points with which the start is measured."""
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


FILES = """
import json, sys, time
from functools import partial
import numpy
import polars as pl
from tcpsf import Study, stored_run
from tcpsf.runs import Job, run_jobs
from tcpsf.studies.points import points_of, scenario_at
from tcpsf.summary import SummaryFold

writing, write = 0.0, pl.DataFrame.write_parquet

def timed(*arguments, **options):
    global writing
    begin = time.process_time()
    write(*arguments, **options)
    writing += time.process_time() - begin

pl.DataFrame.write_parquet = timed
study = Study.from_toml(sys.argv[1])
fold = partial(SummaryFold, percentiles=True, classes=True)
total = points = 0
for point in points_of(study):
    job = Job(scenario=scenario_at(study, point), seed=1, fold=fold)
    [summary] = run_jobs([job], workers=1)
    begin = time.process_time()
    stored_run.to_parquet(summary, point="0", seed=1)
    total, points = total + time.process_time() - begin, points + 1
print(json.dumps([total / points, writing / points]))
"""


@dataclass(slots=True)
class Length:
    """Measurements of points with one simulated time, a value for each turn, in seconds of CPU."""

    duration_s: float
    point: list[float] = field(default_factory=list)
    """A point without the study."""
    added: list[float] = field(default_factory=list)
    """CPU time that the study adds to a point."""
    start: list[float] = field(default_factory=list)
    """CPU time that the study adds once."""
    file: list[float] = field(default_factory=list)
    """The file of a point, without storing it."""
    writer: list[float] = field(default_factory=list)
    """The Parquet writer of Polars in it."""
    peak_mb: float = 0.0
    answers: list[float] = field(default_factory=list)
    """Elapsed times of `status` and `show`, in seconds."""

    def measure(self, points: int) -> None:
        """Take one turn."""
        with tempfile.TemporaryDirectory() as name:
            few, many = (self._study(Path(name) / f"{count}", count) for count in (FEW, points))
            swept, looped = self._cpu_s(many)
            swept_few, looped_few = self._cpu_s(few)
            for verb in ("status", "show"):
                begin = time.perf_counter()
                measure([*SWEEP, verb, str(many)])
                self.answers.append(time.perf_counter() - begin)
            file_s, writer_s = json.loads(measure([sys.executable, "-c", FILES, str(many)]).output)
        self.point.append((looped - looped_few) / (points - FEW))
        self.added.append((swept - looped - swept_few + looped_few) / (points - FEW))
        self.start.append(swept_few - looped_few - FEW * self.added[-1])
        self.file.append(file_s)
        self.writer.append(writer_s)

    def _study(self, folder: Path, points: int) -> Path:
        folder.mkdir()
        text = STUDY.format(duration=self.duration_s, points=points)
        (folder / "many.toml").write_text(text, encoding="utf-8")
        return folder / "many.toml"

    def _cpu_s(self, study: Path) -> tuple[float, float]:
        swept = measure([*SWEEP, "run", str(study), "-q", "--workers", "1"])
        looped = measure([sys.executable, "-c", LOOP, str(study)])
        self.peak_mb = max(self.peak_mb, swept.peak_mb)
        return swept.cpu_s, looped.cpu_s

    @property
    def point_s(self) -> float:
        """Median CPU time of a point."""
        return statistics.median(self.point)

    @property
    def added_s(self) -> float:
        """Median of what the study adds to it."""
        return statistics.median(self.added)

    def line(self) -> str:
        """Return the medians as text."""
        point, added = self.point_s, self.added_s
        start, file, writer = map(statistics.median, (self.start, self.file, self.writer))
        return (
            f"{point * 1e3:6.1f} ms a point: {added * 1e3:+5.2f} ms of the study ({added / point:.1%}); "
            f"its file {file * 1e3:.2f} ms, of that the Parquet writer {writer * 1e3:.2f} ms; "
            f"start {start:.2f} s once"
        )


SWEEP = [sys.executable, "-m", "tcpsf", "sweep"]


def holds_from(lengths: list[Length]) -> float | None:
    """Return the shortest CPU time of a point from which the target holds, in seconds.

    It is interpolated between two lengths; ``None`` if the target does not hold for the longest.
    """
    excess = [(each.point_s, each.added_s - TARGET * each.point_s) for each in lengths]
    if excess[-1][1] > 0.0:
        return None
    for (short, above), (long, below) in reversed(list(itertools.pairwise(excess))):
        if above > 0.0:
            return short + (long - short) * above / (above - below)
    return excess[0][0]


def main() -> int:
    """Measure both sides, print the ratio, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    lengths = [Length(duration_s) for duration_s in DURATIONS_S]
    for turn in range(options.turns):
        for length in lengths:
            length.measure(options.points)
            point, added = length.point[-1], length.added[-1]
            print(
                f"turn {turn + 1}: {point * 1e3:6.1f} ms a point, {added * 1e3:+5.2f} ms of the study"
            )
    print(f"medians of {options.turns} turns with {options.points} points")
    for length in lengths:
        print(f"  {length.line()}")
    limit = holds_from(lengths)
    text = "no measured length" if limit is None else f"points of {limit * 1e3:.0f} ms"
    good = limit is not None and limit <= POINT_S
    print(f"  at most {TARGET:.0%} from {text} on; target {POINT_S * 1e3:.0f} ms  {word(good)}")
    peak = max(length.peak_mb for length in lengths)
    print(f"  peak memory {peak:.0f} MB; target {MEMORY_MB:.0f} MB  {word(peak <= MEMORY_MB)}")
    slowest = max(statistics.median(length.answers) for length in lengths)
    print(
        f"  `status` and `show` {slowest:.2f} s; target {ANSWER_S:g} s  {word(slowest <= ANSWER_S)}"
    )
    return int(not good or peak > MEMORY_MB or slowest > ANSWER_S)


if __name__ == "__main__":
    sys.exit(main())
