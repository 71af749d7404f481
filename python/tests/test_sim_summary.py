"""The summary of runs: the text of `tcpsf sim`, data frames, HTML, and pickles of results."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from conftest import Command
from html_tables import Tables
from polars.testing import assert_frame_equal

from tcpsf import (
    Batch,
    Provenance,
    RunResult,
    Scenario,
    Summary,
    TcpsfError,
    replicate,
    run,
)
from tcpsf.summary import RunSummary, SummaryFold

TABLES = ("flows", "recoveries", "links", "samples", "packets")


@pytest.fixture
def both(small: Scenario) -> Scenario:
    """A short run with finite and endless flows, samples and packets."""
    changed = small.with_value("duration", "10s").with_value("trace", ["greedy"])
    return changed.with_value("samples", {"every": "1s", "links": ["there"]})


@pytest.mark.parametrize("runs", [1, 3])
def test_the_text_is_that_of_the_command(tcpsf: Command, small_file: Path, runs: int) -> None:
    scenario = Scenario.from_toml(small_file)
    results = replicate(scenario, seeds=range(4, 4 + runs))
    printed = tcpsf("sim", small_file, "--seed", "4", "--runs", runs).out
    assert str(Summary.of(results)) + "\n" == printed
    if runs == 1:
        assert str(results[0].summary()) + "\n" == printed


def test_the_text_names_seeds_that_are_not_consecutive(both: Scenario) -> None:
    results = {seed: run(both, seed=seed) for seed in range(1, 4)}

    def title(*seeds: int) -> str:
        return str(Summary.of(results[seed] for seed in seeds)).splitlines()[0]

    assert title(2) == "small: 1 run of 10s, seed 2"
    assert title(1, 2, 3) == "small: 3 runs of 10s, seeds 1 to 3"
    assert title(3, 1) == "small: 2 runs of 10s, seeds 3, 1"
    assert title(*[1, 3] * 5) == "small: 10 runs of 10s, seeds 1, 3, 1, 3, 1, 3, 1, 3, …"


def test_frames_have_the_values_of_the_tables(both: Scenario) -> None:
    result = run(both, seed=1)
    flows = result.summary().to_frame()
    assert flows["workload"].to_list() == ["web", "web", "web", "greedy"]
    assert flows["class"].to_list() == [1, 2, 3, None]
    for row in flows.iter_rows(named=True):
        rows = result.flows.filter(
            pl.col("workload").cast(pl.String) == row["workload"],
            pl.col("class").eq_missing(row["class"]),
        )
        assert row["flows"] == rows.height
        assert row["timeouts"] == rows["timeouts"].sum()
        assert row["completion_s"] == (
            pytest.approx(rows["sender_s"].mean()) if row["completed"] else None
        )
        assert row["completion_s_low"] is None
        assert (row["goodput_mbps"] is None) == (row["workload"] == "web")
    links = result.summary().to_frame("links")
    assert links["link"].to_list() == ["there", "back"]
    assert links["used_percent"].to_list() == pytest.approx(
        (100 * result.links["utilisation"]).fill_null(0).to_list()
    )
    assert links["max_queue_bytes"].to_list() == result.links["max_queue_bytes"].to_list()
    with pytest.raises(TcpsfError, match="cannot make a data frame of `packets`"):
        result.summary().to_frame("packets")  # type: ignore[arg-type]


def test_frames_of_several_runs_have_intervals_and_the_same_columns(both: Scenario) -> None:
    several = Summary.of(replicate(both, seeds=[1, 2, 3]))
    assert several.runs == 3
    flows = several.to_frame().filter(workload="web")
    assert (flows["completion_s_low"] < flows["completion_s"]).all()
    assert (flows["completion_s"] < flows["completion_s_high"]).all()
    assert several.to_frame().schema == run(both).summary().to_frame().schema


def test_runs_of_different_scenarios_have_no_summary(both: Scenario) -> None:
    other = both.with_value("duration", "5s")
    with pytest.raises(TcpsfError, match="the scenario of the run with seed 2 differs"):
        Summary.of([run(both, seed=1), run(other, seed=2)])
    with pytest.raises(TcpsfError, match="no result is given"):
        Summary.of([])


def test_html_has_the_cells_of_the_text_with_escaped_names(both: Scenario) -> None:
    names = {"workload.web.of": "<b>&", "link.there.name": "<b>&", "name": "<script>"}
    result = run(both.with_values({**names, "samples": None}), seed=1)
    html = result._repr_html_()
    assert "<script>" not in html
    found = Tables(html)
    text = str(result.summary())
    assert found.text.startswith("<script>: 1 run of 10s, seed 1")
    assert "<b>&" in [row[0] for row in found.rows]
    for row in found.rows:
        assert any(line.split() == " ".join(row).split() for line in text.splitlines()), row
    assert f"flows ({result.flows.height})" in found.text
    assert Tables(result.summary()._repr_html_()).rows == found.rows


def same(one: RunResult, other: RunResult) -> None:
    assert other.provenance == one.provenance
    assert repr(other) == repr(one)
    for name in TABLES:
        assert_frame_equal(getattr(other, name), getattr(one, name), check_exact=True)
    assert str(other.summary()) == str(one.summary())


COPIES: dict[str, Callable[[object], object]] = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),  # noqa: S301 (our own)
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("way", COPIES)
def test_results_have_copies(both: Scenario, way: str) -> None:
    again = COPIES[way]
    result = run(both, seed=3)
    copied = again(result)
    assert isinstance(copied, RunResult)
    same(result, copied)
    same(result, again(copied))  # type: ignore[arg-type]
    assert str(again(result.summary())) == str(result.summary())
    [summary] = replicate(both, seeds=[3], reduce=SummaryFold)
    summed = again(summary)
    assert isinstance(summed, RunSummary)
    assert summed == summary
    [batch] = replicate(both, seeds=[3], reduce=Last)
    kept = again(batch)
    assert isinstance(kept, Batch)
    assert repr(kept) == repr(batch)
    for name in Batch.TABLES:
        assert_frame_equal(getattr(kept, name), getattr(result, name), check_exact=True)


class Last:
    """A fold that keeps the only batch of a short run."""

    def add(self, batch: Batch) -> None:
        self._batch = batch

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> Batch:
        del links, provenance
        return self._batch


def test_results_pass_between_processes(both: Scenario) -> None:
    """With `spawn`, a new interpreter receives the scenario and returns the result."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        [made] = pool.map(run, [both])
        frame = pool.apply(Summary.to_frame, [made.summary()])
    same(run(both), made)
    assert_frame_equal(frame, made.summary().to_frame())
