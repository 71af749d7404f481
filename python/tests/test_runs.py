"""Runs: the same bytes whatever the workers, batches that lose nothing, progress, Ctrl-C."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import Answer
from polars.testing import assert_frame_equal

from tcpsf import (
    Batch,
    Progress,
    Provenance,
    Scenario,
    TcpsfError,
    replicate,
    replicates,
    run,
    runs,
)
from tcpsf.summary import SummaryFold, Totals


def test_a_result_says_how_to_make_it_again(small: Scenario) -> None:
    result = run(small, seed=7)
    assert result.flows.height > 50
    again = run(**result.provenance.arguments())
    for table in ("flows", "recoveries", "samples", "packets", "links"):
        assert_frame_equal(getattr(result, table), getattr(again, table), check_exact=True)
    assert result.provenance.to_dict()["scenario"] == small.to_dict()
    assert (
        Scenario.from_dict(json.loads(json.dumps(result.provenance.to_dict()["scenario"]))) == small
    )


def test_seeds_differ(small: Scenario) -> None:
    assert not run(small, seed=1).flows.equals(run(small, seed=2).flows)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_the_number_of_workers_changes_nothing(small: Scenario, workers: int) -> None:
    seeds = [5, 3, 9, 4]
    results = replicate(small, seeds=seeds, workers=workers)
    assert [result.provenance.seed for result in results] == seeds
    for result in results:
        assert_frame_equal(
            result.flows, run(small, seed=result.provenance.seed).flows, check_exact=True
        )


def test_batches_lose_nothing(small: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(small, seed=1)
    monkeypatch.setattr(runs, "EVENTS_BETWEEN_CHECKS", 500)
    monkeypatch.setattr(runs, "ROWS_BETWEEN_FOLDS", 10)
    pieces = run(small, seed=1)
    for table in ("flows", "recoveries", "samples", "packets", "links"):
        assert_frame_equal(getattr(whole, table), getattr(pieces, table), check_exact=True)


def test_a_fold_sees_every_row_once(small: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "EVENTS_BETWEEN_CHECKS", 500)
    monkeypatch.setattr(runs, "ROWS_BETWEEN_FOLDS", 10)
    batches: list[int] = []

    class Count:
        def __init__(self) -> None:
            self.flows = 0

        def add(self, batch: Batch) -> None:
            batches.append(batch.flows.height)
            self.flows += batch.flows.height

        def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> tuple[int, int, int]:
            return provenance.seed, self.flows, links.height

    counted = replicate(small, seeds=[1, 2], reduce=Count)
    assert counted == [(seed, run(small, seed=seed).flows.height, 2) for seed in (1, 2)]
    assert len(batches) > 10


def test_sums_are_those_of_the_tables(small: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    flows = run(small, seed=1).flows.with_columns(pl.col("workload").cast(pl.String))
    monkeypatch.setattr(runs, "EVENTS_BETWEEN_CHECKS", 500)
    monkeypatch.setattr(runs, "ROWS_BETWEEN_FOLDS", 10)
    [summary] = replicate(small, seeds=[1], reduce=SummaryFold)
    assert [group.workload for group in summary.groups] == ["web", "web", "web", "greedy"]
    assert [group.size_class for group in summary.groups] == [1, 2, 3, None]
    total = Totals()
    for group, totals in summary.groups.items():
        rows = flows.filter(
            pl.col("workload") == group.workload, pl.col("class").eq_missing(group.size_class)
        )
        times = rows["sender_s"].drop_nulls()
        assert totals.flows == rows.height
        assert totals.completed == times.len() == len(totals.times)
        assert totals.sender_ns == round(sum(times.to_list()) * 1e9)
        for name in ("timeouts", "fast_retransmits", "sent_bytes", "retransmitted_segments"):
            assert getattr(totals, name) == rows[name].sum()
        total.add(totals)
    assert total.flows == flows.height


def test_a_run_completes_what_began_before_its_end(small: Scenario) -> None:
    """The rows of flows that ended before `duration` are the same, and the others have a time."""
    cut = run(small, seed=1).flows.filter(pl.col("size_bytes").is_not_null())
    drained = run(small.with_value("drain", "1000s"), seed=1).flows.filter(
        pl.col("size_bytes").is_not_null()
    )
    ended = cut.filter(pl.col("sender_s").is_not_null())
    assert 0 < ended.height < cut.height == drained.height
    assert drained.head(ended.height).equals(ended)
    assert drained["sender_s"].null_count() == 0


def test_progress_rises_to_the_end(small: Scenario) -> None:
    told: list[Progress] = []
    replicate(small.with_value("duration", "60s"), seeds=range(3), workers=1, progress=told.append)
    assert told
    assert all(earlier.done <= later.done for earlier, later in itertools.pairwise(told))
    assert told[-1] == Progress(done=1.0, finished=3, runs=3)


def test_some_worker_is_needed(small: Scenario) -> None:
    with pytest.raises(TcpsfError, match="0 workers"):
        replicate(small, seeds=[1], workers=0)


def threads() -> list[str]:
    """The threads that simulate."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("tcpsf")]


class TestReplicates:
    def test_results_are_those_of_a_list(self, small: Scenario) -> None:
        listed = replicate(small, seeds=range(4, 9))
        made = list(replicates(small, num_replicates=5, seed=4, workers=2))
        assert [result.provenance for result in made] == [each.provenance for each in listed]
        for one, other in zip(made, listed, strict=True):
            assert_frame_equal(one.flows, other.flows, check_exact=True)
        folded = list(replicates(small, num_replicates=2, seed=np.int64(4), reduce=SummaryFold))
        assert folded == replicate(small, seeds=[4, 5], reduce=SummaryFold)
        assert not threads()

    def test_few_runs_are_ahead(self, small: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
        started: list[int] = []
        drive = runs._drive

        def counted(job: runs.Job[Any], *, between: Any) -> Any:
            started.append(job.seed)
            return drive(job, between=between)

        monkeypatch.setattr(runs, "_drive", counted)
        results = replicates(small, num_replicates=10**9, workers=2)
        assert not started
        for number in range(1, 6):
            assert next(results).provenance.seed == number
            time.sleep(0.05)
            assert len(started) <= number + 4
        results.close()
        assert not threads()

    def test_the_end_of_a_loop_stops_the_threads(self, small: Scenario) -> None:
        long = small.with_value("duration", "1000h")
        began = time.monotonic()
        results = replicates(long, num_replicates=3, workers=2)
        for result in replicates(small, num_replicates=100, workers=2):
            assert result.provenance.seed == 1
            break
        assert not threads()
        waiting = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
        waiting.start()
        with pytest.raises(KeyboardInterrupt):
            next(results)
        assert not threads()
        assert time.monotonic() - began < 20

    @pytest.mark.parametrize(("end", "status"), [("raise KeyboardInterrupt", 130), ("exit(3)", 3)])
    def test_the_end_of_a_program_stops_the_threads(
        self, small_file: Path, end: str, status: int
    ) -> None:
        """The iterator has a name, so it is not closed before the interpreter ends."""
        program = f"""
import tcpsf
from tcpsf.runs import Job, results_of
from tcpsf.summary import SummaryFold
short = tcpsf.Scenario.from_toml({str(small_file)!r})
long = short.with_value("duration", "1000h")
jobs = [Job(scenario=each, seed=1, fold=SummaryFold) for each in (short, long, long)]
results = results_of(jobs, runs=3, workers=2)
next(results)
{end}
"""
        process = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, timeout=60, check=False
        )
        assert process.returncode in (status, -signal.SIGINT)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"num_replicates": 0}, "cannot simulate `0` replicates"),
            ({"num_replicates": 1.5}, "cannot simulate `1.5` replicates"),
            ({"num_replicates": 2, "seed": 2**64 - 1}, "seed 18446744073709551616"),
            ({"num_replicates": 2, "seed": -1}, "seed -1"),
            ({"num_replicates": 2, "workers": 0}, "0 workers"),
        ],
    )
    def test_errors_are_raised_at_the_call(
        self, small: Scenario, arguments: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(TcpsfError, match=message) as caught:
            replicates(small, **arguments)
        assert caught.value.hint


def test_a_failing_fold_stops_the_rest(small: Scenario) -> None:
    class Broken(SummaryFold):
        def add(self, batch: Any) -> None:
            raise ZeroDivisionError(batch.flows.height)

    began = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        replicate(small.with_value("duration", "200s"), seeds=range(50), reduce=Broken)
    assert time.monotonic() - began < 20


def test_ctrl_c_ends_the_command_with_130_and_leaves_nothing(
    small_file: Path, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tcpsf",
            "sim",
            small_file,
            "--set",
            "duration=1000h",
            "--runs",
            "4",
            "--out",
            "out",
        ],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while not any(path.name.startswith(".out.partial") for path in tmp_path.iterdir()):
        assert time.monotonic() < deadline, "it never began"
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_tables_on_disk_are_those_in_memory(
    tcpsf: Callable[..., Answer],
    small_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runs, "EVENTS_BETWEEN_CHECKS", 500)
    monkeypatch.setattr(runs, "ROWS_BETWEEN_FOLDS", 100)
    changes = [
        "--set",
        "samples.every=1s",
        "--set",
        'samples.links=["there"]',
        "--set",
        'trace=["web"]',
    ]
    for workers in (1, 2):
        answer = tcpsf(
            "sim",
            small_file,
            "--runs",
            "3",
            "--workers",
            str(workers),
            "--out",
            tmp_path / f"{workers}",
            *changes,
        )
        assert answer.status == 0
    tables = ["flows", "links", "packets", "recoveries", "samples"]
    names = [*(f"{table}.parquet" for table in tables), "provenance.json", "summary.json"]
    assert sorted(path.name for path in (tmp_path / "1").iterdir()) == sorted(names)
    for name in names:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes(), name
    provenance = json.loads((tmp_path / "1" / "provenance.json").read_text(encoding="utf-8"))
    assert provenance["seeds"] == [1, 2, 3]
    scenario = Scenario.from_dict(provenance["scenario"])
    base = Scenario.from_toml(small_file).with_value("trace", ["web"])
    assert scenario == base.with_value("samples", {"every": "1s", "links": ["there"]})
    for table in tables:
        written = pl.read_parquet(tmp_path / "1" / f"{table}.parquet")
        assert written.height > 0
        for seed in provenance["seeds"]:
            rows = written.filter(pl.col("seed") == seed).drop("seed")
            assert_frame_equal(rows, getattr(run(scenario, seed=seed), table), check_exact=True)
