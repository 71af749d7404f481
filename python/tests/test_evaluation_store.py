"""Runs that the store has, is missing or finds damaged, and the report from stored runs."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from test_evaluation import SEED, TINY, without_time

from tcpsf import _core, stored_run
from tcpsf.distribution import EXACT, Distribution
from tcpsf.evaluation.plan import Case, make, plan
from tcpsf.papers import smart_framing as paper
from tcpsf.reproduce.smart_framing import evaluate, prepare
from tcpsf.result import Provenance
from tcpsf.runs import Progress
from tcpsf.store import RunKey, Store, point_of
from tcpsf.summary import Group, RunSummary, Totals


def test_the_same_report_on_one_worker_and_from_kept_runs(tmp_path: Path) -> None:
    evaluation = prepare(scale=TINY, seed=SEED, only=["fig-6", "draft-table"])
    heard: list[int] = []
    fresh = evaluate(evaluation)
    evaluate(prepare(scale=TINY, seed=SEED, only=["fig-6"]), store=Store(tmp_path), workers=1)
    again = evaluate(evaluation, store=Store(tmp_path), workers=1, found=heard.append)
    kept = evaluate(evaluation, store=Store(tmp_path), found=heard.append)
    assert heard == [26, 32]
    assert json.dumps(without_time(again)) == json.dumps(without_time(fresh))
    assert json.dumps(without_time(kept)) == json.dumps(without_time(fresh))


@pytest.fixture
def case() -> Case:
    return Case(
        scenario=paper.web_scenario(sender=paper.CLASSIC.sender, duration="5s"), histogram=True
    )


def only_run(case: Case, store: Store) -> tuple[RunSummary, int]:
    """Make the run, and say how many the store had."""
    heard: list[int] = []
    (run,) = make(plan([case], seeds=[1]), store=store, found=heard.append).of(case)
    return run, heard[0]


def test_a_kept_run_is_the_run(case: Case, tmp_path: Path) -> None:
    fresh, found = only_run(case, Store(tmp_path))
    assert found == 0
    kept, found = only_run(case, Store(tmp_path))
    assert found == 1
    assert kept == fresh
    assert any(len(totals.times) for totals in kept.groups.values())


def _cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _with_one_more_flow(content: bytes) -> bytes:
    frame, footer = pl.read_parquet(content), pl.read_parquet_metadata(io.BytesIO(content))
    altered = io.BytesIO()
    frame.with_columns(pl.col("flows") + 1).write_parquet(altered, metadata=footer)
    return altered.getvalue()


def _of_another_point(content: bytes) -> bytes:
    frame, footer = pl.read_parquet(content), pl.read_parquet_metadata(io.BytesIO(content))
    altered = io.BytesIO()
    digest = footer["tcpsf.digest"]
    frame.write_parquet(altered, metadata={"tcpsf.digest": digest[1:] + digest[:1]})
    return altered.getvalue()


def _of_other_columns(_content: bytes) -> bytes:
    other = io.BytesIO()
    pl.DataFrame({"flows": [1, 2, 3]}).write_parquet(other)
    return other.getvalue()


def _inverted_byte(content: bytes) -> bytes:
    half = len(content) // 2
    return content[:half] + bytes([content[half] ^ 0xFF]) + content[half + 1 :]


@pytest.mark.parametrize(
    "damage",
    [
        _cut,
        _with_one_more_flow,
        _of_another_point,
        _of_other_columns,
        _inverted_byte,
        lambda _content: b"",
    ],
)
def test_what_is_damaged_is_made_again(
    damage: Callable[[bytes], bytes], case: Case, tmp_path: Path
) -> None:
    fresh, _ = only_run(case, Store(tmp_path))
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    (tmp_path / "notes.txt").write_text("foreign", encoding="utf-8")
    again, found = only_run(case, Store(tmp_path))
    assert (again, found) == (fresh, 0)
    assert only_run(case, Store(tmp_path))[1] == 1


def test_file_of_one_seed_is_not_read_as_another(case: Case, tmp_path: Path) -> None:
    store = Store(tmp_path)
    only_run(case, store)
    (path,) = tmp_path.iterdir()
    key = RunKey(path.stem.rpartition("-")[0], 1)
    assert store.load(key, scenario=case.scenario) is not None
    path.rename(tmp_path / RunKey(key.point, 2).file)
    assert store.load(RunKey(key.point, 2), scenario=case.scenario) is None


def test_the_same_run_is_stored_in_the_same_bytes(case: Case, tmp_path: Path) -> None:
    for folder in ("one", "other"):
        only_run(case, Store(tmp_path / folder))
    (one,), (other,) = ((tmp_path / folder).iterdir() for folder in ("one", "other"))
    assert (one.name, one.read_bytes()) == (other.name, other.read_bytes())


def test_stored_runs_are_one_dataset(case: Case, tmp_path: Path) -> None:
    runs = make(plan([case], seeds=[1, 2]), store=Store(tmp_path)).of(case)
    found = (
        pl.scan_parquet(tmp_path / "*.parquet")
        .filter(kind="flows")
        .group_by("seed")
        .agg(pl.col("flows").sum(), pl.col("times_ns").list.len().sum().alias("times"))
        .sort("seed")
        .collect()
    )
    assert found.rows() == [
        (
            seed,
            sum(totals.flows for totals in run.groups.values()),
            sum(len(totals.times) for totals in run.groups.values()),
        )
        for seed, run in enumerate(runs, start=1)
    ]


def test_histograms_and_watched_data_survive(case: Case) -> None:
    times = Distribution(range(1, 2 * EXACT, 2))
    times.update(Distribution([7, 7]))
    group = Group("web", "", None)
    summary = RunSummary(
        provenance=Provenance(version=_core.version, seed=5, scenario=case.scenario),
        groups={group: Totals(flows=EXACT + 2, completed=EXACT + 2, times=times)},
        links=[],
        watched={"queue": {"states": [[1, 2.5], None], "name": "é"}},
    )
    content = stored_run.to_parquet(summary, point="a", seed=5)
    found = stored_run.from_parquet(content, scenario=case.scenario, point="a", seed=5)
    assert found == summary
    assert found is not None
    assert not found.groups[group].times.is_exact


def test_what_a_run_depends_on_is_in_its_key(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = case.scenario
    points = [
        point_of(scenario, histogram=True),
        point_of(scenario, histogram=False),
        point_of(scenario, histogram=True, classes=False),
        point_of(scenario.with_value("tcp.mss", 536), histogram=True),
    ]
    monkeypatch.setattr("tcpsf.store.build", lambda: "another build")
    points.append(point_of(scenario, histogram=True))
    assert len(set(points)) == len(points)


class StoppedError(Exception):
    """Stands for Ctrl-C."""


def test_an_interrupted_evaluation_goes_on(tmp_path: Path) -> None:
    wanted = prepare(scale=replace(TINY, duration="20s"), seed=SEED, only=["fig-6"]).plan

    def stop(progress: Progress) -> None:
        if progress.finished:
            raise StoppedError

    with pytest.raises(StoppedError):
        make(wanted, store=Store(tmp_path), workers=1, progress=stop)
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept
    assert all(name.endswith(".parquet") for name in kept)
    heard: list[int] = []
    make(wanted, store=Store(tmp_path), found=heard.append)
    assert heard == [len(kept)]
    assert len(list(tmp_path.iterdir())) == len(wanted.runs)
