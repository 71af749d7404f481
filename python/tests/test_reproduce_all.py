"""`tcpsf reproduce all`: what it lists, what it links to, what it does not run, and how it goes on."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import Command
from test_cli import schema

from tcpsf import TcpsfError
from tcpsf.cli import all_reports, live_report
from tcpsf.cli.paper_report import write
from tcpsf.evaluation.plan import Scale
from tcpsf.reproduce import catalogue, closed_models, santa_cruz
from tcpsf.reproduce.closed_models import model_section
from tcpsf.reproduce.santa_cruz import contents as cruz

TINY = Scale("quick", 2, "1s")

section = cache(model_section)
"""The closed models of a paper, which take seconds and are the same in each test."""


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(santa_cruz.SCALES, "quick", TINY)
    monkeypatch.setattr(closed_models, "model_section", section)


@pytest.fixture
def cruz_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other paper is simulated."""
    monkeypatch.setattr(catalogue, "has_simulations", lambda paper: paper == "santa-cruz")


def test_every_folder_of_a_paper_is_a_paper() -> None:
    folders = {path.parent.name for path in Path(catalogue.__file__).parent.glob("*/__init__.py")}
    assert {paper.key.replace("-", "_") for paper in catalogue.papers()} == folders
    for paper in catalogue.papers():
        assert paper.citations
        assert all(isinstance(each, str) for each in paper.citations)
    keys = [part.key for part in catalogue.parts()]
    assert len(keys) == len(set(keys)) >= 9


def test_keys_are_those_of_the_exhibits() -> None:
    assert catalogue.keys("santa-cruz") == tuple(each.key for each in santa_cruz.prepare().exhibits)
    assert all(
        catalogue.keys(paper.key)
        for paper in catalogue.papers()
        if catalogue.has_simulations(paper.key)
    )


def test_a_new_exhibit_appears_by_itself(
    tcpsf: Command, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    before = cruz._exhibits()
    monkeypatch.setattr(cruz, "_exhibits", lambda: (*before, replace(before[0], key="brand-new")))
    catalogue._exhibits.cache_clear()
    request.addfinalizer(catalogue._exhibits.cache_clear)
    assert catalogue.keys("santa-cruz")[-1] == "brand-new"
    assert "brand-new" in re.sub(r"\s+", "", tcpsf("reproduce", "santa-cruz", "--help").out)


@pytest.mark.parametrize(
    "paper", [paper.key for paper in catalogue.papers() if catalogue.has_simulations(paper.key)]
)
def test_help_lists_every_key(tcpsf: Command, paper: str) -> None:
    told = re.sub(r"\s+", "", tcpsf("reproduce", paper, "--help").out)
    (listed,) = re.findall(r"Onlythesefiguresandtables:([^.]*)\.", told)
    assert tuple(listed.split(",")) == catalogue.keys(paper)


@pytest.mark.usefixtures("cruz_alone")
def test_it_goes_on_after_an_interruption_and_lists_everything(
    tcpsf: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_words: object, **_more: object) -> None:
        raise KeyboardInterrupt

    out = tmp_path / "all"
    words = ["reproduce", "all", "--only", "santa-cruz,short-flows", "--json", "--out", out]
    with monkeypatch.context() as patched:
        patched.setattr("tcpsf.cli.all_reports._closed", interrupted)
        first = tcpsf(*words)
    assert first.status == 130
    assert "run the same command again to continue" in first.err
    assert not (out / "index.html").exists()
    answer = tcpsf(*words)
    assert answer.status == 0, answer.err
    finished = r"^(\d+) runs, (\d+) of them already finished$"
    runs, there = re.findall(finished, answer.err, re.MULTILINE)[0]
    assert runs == there
    assert re.search(r"^santa-cruz: \d+ of \d+ claims hold, ", answer.err, re.MULTILINE)
    assert "short-flows-live: not run: " in answer.err
    assert_index(json.loads(answer.out), out)


def assert_index(found: dict[str, Any], out: Path) -> None:
    """The index of `santa-cruz` and `short-flows` lists and links everything."""
    jsonschema.validate(found, schema("index"))
    assert json.loads((out / "index.json").read_text(encoding="utf-8")) == found
    assert [paper["key"] for paper in found["papers"]] == ["santa-cruz", "short-flows"]
    parts = {part["key"]: part for paper in found["papers"] for part in paper["parts"]}
    (cruz_part, models) = (parts["santa-cruz"], parts["short-flows-models"])
    assert tuple(entry["key"] for entry in cruz_part["entries"]) == catalogue.keys("santa-cruz")
    assert [entry["key"] for entry in models["entries"]] == ["short-flows"]
    links = 0
    for part in parts.values():
        for entry in part["entries"]:
            for link in entry["links"]:
                file, _, place = link["place"].partition("#")
                assert f'id="{place}"' in (out / file).read_text(encoding="utf-8"), link
                links += 1
    assert links >= 25
    report = json.loads((out / "santa-cruz" / "report.json").read_text(encoding="utf-8"))
    jsonschema.validate(report, schema("evaluation"))
    for verdict, count in cruz_part["verdicts"].items():
        judged = [each for section in report["sections"] for each in section["findings"]]
        assert count == sum(each["verdict"] == verdict for each in judged)
    page = (out / "index.html").read_text(encoding="utf-8")
    for part in parts.values():
        for entry in part["entries"]:
            for link in entry["links"]:
                assert f'href="{link["place"]}"' in page
    assert "http" not in page.replace("http-equiv", "")
    # Measured parts are listed although nobody asked for them.
    assert parts["short-flows-live"]["status"] == "not run"
    assert "`--live`" in parts["short-flows-live"]["reason"]


@pytest.mark.usefixtures("cruz_alone")
def test_earlier_results_are_not_replaced_unless_asked(tcpsf: Command, tmp_path: Path) -> None:
    words = ["reproduce", "all", "--only", "short-flows", "--out", tmp_path / "all"]
    text = tcpsf(*words)
    assert text.status == 0
    assert text.out.startswith("All papers, quick scale: ")
    assert tcpsf(*words).status == 2
    assert tcpsf(*words, "--force").status == 0


@pytest.mark.usefixtures("cruz_alone")
def test_what_cannot_be_measured_is_listed_with_the_reason(
    tcpsf: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_privilege() -> None:
        raise TcpsfError("cannot make a network namespace: operation not permitted")

    monkeypatch.setattr(live_report, "check", no_privilege)
    answer = tcpsf(
        "reproduce", "all", "--live", "--only", "short-flows", "--json", "--out", tmp_path / "all"
    )
    assert answer.status == 0
    (paper,) = json.loads(answer.out)["papers"]
    (part,) = (each for each in paper["parts"] if each["kind"] == "live")
    assert (part["status"], part["page"], part["entries"]) == ("not run", "", [])
    assert part["reason"] == "cannot make a network namespace: operation not permitted"
    assert "operation not permitted" in (tmp_path / "all" / "index.html").read_text(
        encoding="utf-8"
    )


@pytest.mark.usefixtures("cruz_alone")
def test_what_was_measured_is_linked(
    tcpsf: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The measuring command writes its report as it does alone; here another report stands for it."""

    def measured(*, out: Path, full: bool, show: bool, **_options: object) -> None:
        assert (full, show) == (False, False)
        out.mkdir(parents=True)
        write(model_section("packet-discard", command=""), out, "measured.html")

    monkeypatch.setattr(live_report, "short_flows", measured)
    answer = tcpsf(
        "reproduce", "all", "--live", "--only", "short-flows", "--json", "--out", tmp_path / "all"
    )
    assert answer.status == 0, answer.err
    (paper,) = json.loads(answer.out)["papers"]
    (part,) = (each for each in paper["parts"] if each["kind"] == "live")
    assert (part["status"], part["page"]) == ("made", "short-flows-live/measured.html")
    assert sum(part["verdicts"].values()) == 4


def test_each_table_is_measured_as_its_command_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = {}

    def measured(which: str, *, through: str, out: Path, **_options: object) -> None:
        made[out.name] = f"reproduce smart-framing {which}" + (
            f" --through {through}" if through != "server" else ""
        )

    monkeypatch.setattr(live_report, "tables", measured)
    parts = [part for part in catalogue.parts(["smart-framing"]) if part.kind == "live"]
    for part in parts:
        assert all_reports._measured(part, tmp_path / part.key, full=False, seed=1) == ""
    assert made == {part.key: part.words for part in parts}
    assert set(made) == {"table-2", "table-3", "table-3-proxy"}


def test_an_unknown_paper(tcpsf: Command, tmp_path: Path) -> None:
    answer = tcpsf("reproduce", "all", "--only", "santa-curz", "--out", tmp_path / "all")
    assert answer.status == 2
    assert "did you mean `santa-cruz`?" in answer.err
