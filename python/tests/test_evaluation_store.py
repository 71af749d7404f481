"""Runs that the store has, is missing or finds damaged, and the report from stored runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from test_evaluation import SEED, TINY, without_time

from tcpsf.evaluation.plan import Case, make, plan
from tcpsf.evaluation.store import Store, key_of
from tcpsf.papers import smart_framing as paper
from tcpsf.reproduce.smart_framing import evaluate, prepare
from tcpsf.runs import Progress
from tcpsf.summary import RunSummary


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


def _cut(content: str) -> str:
    return content[: len(content) // 2]


def _other_number(content: str) -> str:
    data = json.loads(content)
    data["run"]["groups"][0]["sums"][0] += 1
    return json.dumps(data)


def _other_key(content: str) -> str:
    return content.replace('"key": "', '"key": "0', 1)


def _other_shape(_content: str) -> str:
    return json.dumps([1, 2, 3])


@pytest.mark.parametrize(
    "damage", [_cut, _other_number, _other_key, _other_shape, lambda _content: ""]
)
def test_what_is_damaged_is_made_again(
    damage: Callable[[str], str], case: Case, tmp_path: Path
) -> None:
    fresh, _ = only_run(case, Store(tmp_path))
    (path,) = tmp_path.iterdir()
    path.write_text(damage(path.read_text(encoding="utf-8")), encoding="utf-8")
    (tmp_path / "notes.txt").write_text("foreign", encoding="utf-8")
    again, found = only_run(case, Store(tmp_path))
    assert (again, found) == (fresh, 0)
    assert only_run(case, Store(tmp_path))[1] == 1


def test_what_a_run_depends_on_is_in_its_key(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = case.scenario
    keys = [
        key_of(scenario, 1, histogram=True),
        key_of(scenario, 2, histogram=True),
        key_of(scenario, 1, histogram=False),
        key_of(scenario.with_value("tcp.mss", 536), 1, histogram=True),
    ]
    monkeypatch.setattr("tcpsf.evaluation.store.build", lambda: "another build")
    keys.append(key_of(scenario, 1, histogram=True))
    assert len(set(keys)) == len(keys)


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
    assert all(name.endswith(".json") for name in kept)
    heard: list[int] = []
    make(wanted, store=Store(tmp_path), found=heard.append)
    assert heard == [len(kept)]
    assert len(list(tmp_path.iterdir())) == len(wanted.runs)
