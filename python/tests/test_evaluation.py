"""The whole evaluation, very small: what it holds, how runs are shared, kept and taken up again, claims."""

from __future__ import annotations

import io
import json
import re
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from conftest import Command
from plus_minus import plus_minus
from test_cli import schema

from tcpsf import Scenario, TcpsfError
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Report
from tcpsf.evaluation.plan import Case, Scale, make, plan
from tcpsf.evaluation.store import Store, key_of
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_draft as draft
from tcpsf.papers import smart_framing_figures as figures
from tcpsf.report import tidy
from tcpsf.report.evaluation_text import as_text
from tcpsf.reproduce import measure
from tcpsf.reproduce.smart_framing import SCALES, evaluate, prepare
from tcpsf.reproduce.smart_framing import draft as draft_exhibits
from tcpsf.reproduce.smart_framing import evaluation as module
from tcpsf.reproduce.smart_framing.exhibit import Setting
from tcpsf.result import Provenance
from tcpsf.runs import Progress
from tcpsf.summary import Group, RunSummary, Totals

TINY = Scale("quick", 2, "5s")
SEED = 11

FIGURES = {
    "fig-2",
    "fig-2-gain",
    "fig-3",
    "fig-4",
    "fig-5",
    "fig-6",
    "fig-7",
    "fig-14-top",
    "fig-14-top-gain",
    "fig-14-bottom",
    "fig-14-bottom-gain",
    "advantages-pipelining",
    "advantages-bit-errors",
    "draft-gain",
    "matrix-gain",
}
TABLES = {
    "table-1",
    "bottleneck",
    "limited-transmit",
    "overhead",
    "advantages-delayed-acks",
    "advantages-rto",
    "advantages-costs",
    "advantages-packet-sizes",
    "security",
    "draft-table",
    "matrix",
}


@pytest.fixture(scope="module")
def report() -> Report:
    return evaluate(prepare(scale=TINY, seed=SEED))


def without_time(report: Report) -> dict[str, Any]:
    content = report.to_dict()
    for key in ("started", "seconds"):
        del content["provenance"][key]
    return content


# What it holds


def test_every_simulated_figure_and_table_is_there(report: Report) -> None:
    shown = [figure for section in report.sections for figure in section.figures]
    tables = [table for section in report.sections for table in section.tables]
    assert Counter(each.key for each in shown) == Counter(FIGURES)
    assert Counter(each.key for each in tables) == Counter(TABLES)
    by_key = {figure.key: figure for figure in shown}
    assert [point.x for point in by_key["fig-2"].series[0].points] == list(figures.LOADS)
    assert {series.key for series in by_key["fig-2"].series} == {"classic", "vs", "fs"}
    assert [point.x for point in by_key["fig-14-top"].series[0].points] == [
        str(chunk) for chunk in figures.CHUNKS
    ]
    assert len(by_key["fig-6"].series) == 12
    assert [len(series.points) for series in by_key["fig-7"].series] == [
        5,
        5,
        5,
        5,
    ]  # none of a kind at one end
    assert len(by_key["matrix-gain"].series[0].points) == 4 * 2 * 2 + 4 * 2
    for table in tables:
        assert all(len(row.cells) == len(table.columns) - 1 for row in table.rows)


def test_no_point_without_its_interval(report: Report) -> None:
    points = [
        point.y
        for section in report.sections
        for figure in section.figures
        for series in figure.series
        for point in series.points
    ]
    seen = [y for y in points if y is not None]
    assert len(seen) > 300
    assert all((y.interval is not None and y.runs == TINY.runs) or not y.random for y in seen)


def test_the_distribution_grows_to_all(report: Report) -> None:
    (figure,) = (
        each for section in report.sections for each in section.figures if each.key == "fig-4"
    )
    for series in figure.series:
        heights = [point.y.value for point in series.points if point.y is not None]
        assert len(heights) == 81
        assert heights == sorted(heights)
        assert heights[0] < 5.0
        # Flows are followed to their end, which for a few lies beyond the axis.
        assert 99.0 < heights[-1] <= 100.0


def test_no_band_leaves_the_possible_range(report: Report) -> None:
    """With two runs intervals are wide, and those of times and shares of flows are cut off."""
    by_key = {figure.key: figure for section in report.sections for figure in section.figures}

    def ends(key: str) -> list[tuple[float, float]]:
        points = [point.y for series in by_key[key].series for point in series.points]
        return [y.interval for y in points if y is not None and y.interval is not None]

    times, shares = ends("fig-2"), ends("fig-4")
    assert min(low for low, _ in times) >= 0.0
    assert any(low == 0.0 for low, _ in times), "none was cut off: the test has shown nothing"
    assert all(0.0 <= low <= high <= 100.0 for low, high in shares)
    assert any(low == 0.0 for low, _ in shares)
    assert any(high == 100.0 for _, high in shares)


def test_figures_agree_with_the_table(report: Report) -> None:
    """The mean over all flows at 0.8 in Fig. 2 is that of the classes, weighted by their flows."""
    by_key = {figure.key: figure for section in report.sections for figure in section.figures}
    (at_80,) = (p.y for p in by_key["fig-2"].series[0].points if p.x == 0.8)
    (at_1,) = (p.y for p in by_key["fig-14-top"].series[0].points if p.x == "1")
    assert at_80 == at_1


def test_findings_are_complete_and_say_where_from(report: Report) -> None:
    findings = [finding for section in report.sections for finding in section.findings]
    keys = [finding.key for finding in findings]
    assert len(keys) == len(set(keys)) > 90
    assert all(finding.source and finding.published and finding.ours for finding in findings)
    verdicts = {finding.key: finding.verdict for finding in findings}
    assert verdicts["regime-segments-vs"] == "holds"
    assert verdicts["regime-segments-fs"] == "does not hold"  # 26, not 28: errata
    assert {verdicts[f"overhead-40-{v.key}"] for v in paper.VARIANTS} == {"does not hold"}
    assert {verdicts[f"overhead-80-{v.key}"] for v in paper.VARIANTS} == {"holds"}


def test_the_report_keeps_to_its_schema(report: Report) -> None:
    content = json.loads(json.dumps(report.to_dict()))
    jsonschema.validate(content, schema("evaluation"))
    source = content["provenance"]
    assert source["command"] == "tcpsf reproduce smart-framing --quick --seed 11"
    assert source["seeds"] == [11, 12]
    for scenario in source["scenarios"].values():
        assert Scenario.from_dict(scenario).to_dict() == scenario


def test_the_text_fits_a_terminal(report: Report) -> None:
    text = as_text(report)
    assert max(map(len, text.splitlines())) <= 80
    assert all(
        f"({', '.join(keys)})" in text.replace("\n", " ")
        for keys in (["fig-2", "fig-2-gain", "fig-5"], ["overhead"])
    )
    counted = Counter(
        finding.verdict for section in report.sections for finding in section.findings
    )
    assert text.endswith(f"{counted['undecided']} undecided.")


def test_rows_in_parquet(report: Report) -> None:
    frames = {
        name: pl.read_parquet(io.BytesIO(content)) for name, content in tidy.parquet_files(report)
    }
    assert set(frames) == FIGURES | TABLES | {"findings"}
    fig_2 = frames["fig-2"]
    assert fig_2.columns == [
        "figure",
        "series",
        "x",
        "value",
        "low",
        "high",
        "runs",
        "published",
        "unit",
    ]
    assert fig_2.height == 3 * len(figures.LOADS)
    published = fig_2.filter(pl.col("published").is_not_null())
    assert published["x"].to_list() == [0.8] * 3
    assert published["published"].to_list() == pytest.approx(
        [31.06 / 15, 28.06 / 15, 26.46 / 15], abs=0.1
    )
    assert (
        frames["table-1"]
        .filter(pl.col("x") == "13681", pl.col("series") == "Classic, %FR")["published"]
        .item()
        == 19.5
    )
    assert frames["findings"].height == sum(len(section.findings) for section in report.sections)


def test_a_published_point_where_we_have_none() -> None:
    from tcpsf.evaluation.data import Axis, Figure, Point, PublishedPoint, Series

    axis = Axis(label="x", unit="", scale="linear")
    series = Series(
        key="a",
        label="A",
        points=(Point(x=1.0, y=None),),
        published=(PublishedPoint(x=2.0, y=3.0),),
        style="line",
    )
    figure = Figure(key="f", title="", source="", caption="", x=axis, y=axis, series=(series,))
    assert tidy.figure_frame(figure).select("x", "value", "published").rows() == [
        (1.0, None, None),
        (2.0, None, 3.0),
    ]


# Which runs


def test_figures_share_runs() -> None:
    jobs = {
        key: len(prepare(scale=TINY, only=[key]).plan.runs)
        for key in ("fig-2", "fig-5", "fig-3", "table-1", "fig-14")
    }
    assert jobs == {"fig-2": 60, "fig-5": 60, "fig-3": 6, "table-1": 6, "fig-14": 84}
    together = prepare(scale=TINY, only=["fig-2", "fig-3", "fig-4", "fig-5", "table-1"])
    assert len(together.plan.runs) == 60
    everything = prepare(scale=SCALES["full"]).plan
    assert len(everything.runs) < 1500  # the budget of twenty minutes
    senders = [case.scenario.workload[-1].sender for case in everything.keys]
    assert None in senders  # a mix


def test_variants_meet_the_same_flows() -> None:
    evaluation = prepare(scale=TINY, seed=SEED, only=["table-1", "fig-7"])
    runs = make(evaluation.plan)
    flows = {
        tuple(measure.short_flows(run).flows for run in runs.of(case))
        for case in evaluation.plan.keys
    }
    assert len(flows) == 1
    assert min(min(flows)) > 100


def test_only_some() -> None:
    report = evaluate(prepare(scale=TINY, seed=SEED, only=["overhead", "fig-3"]))
    assert [section.key for section in report.sections] == ["load-80", "overhead"]
    assert report.provenance.command.endswith("--only overhead,fig-3")
    with pytest.raises(TcpsfError, match="no figure or table is called `fig-9`"):
        prepare(only=["fig-9"])
    with pytest.raises(TcpsfError, match="no figure or table is called `fig-1`"):
        prepare(only=["fig-1"])
    with pytest.raises(TcpsfError, match="no scale is called `huge`"):
        prepare(scale="huge")  # type: ignore[arg-type]


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


def test_closest_readings() -> None:
    both = [prepare(scale=TINY, readings=readings).plan for readings in ("text", "closest")]
    assert len(both[0].runs) == len(both[1].runs)
    assert all(case.scenario.tcp.rto_initial == "6s" for case in both[1].keys)
    evaluation = prepare(scale=TINY, readings="closest", only=["fig-14-bottom"])
    for case in evaluation.plan.keys:
        loads = [each.load for each in case.scenario.workload if hasattr(each, "load")]
        assert sum(load for load in loads if load is not None) == pytest.approx(0.75)
    assert evaluation.command.endswith("--readings closest --only fig-14-bottom")


# Runs that are kept


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


# The command


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCALES, "quick", TINY)


WORDS = ("reproduce", "smart-framing", "--only", "fig-3,overhead")


@pytest.mark.usefixtures("tiny")
def test_the_command_writes_it_all(tcpsf: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = tcpsf(*WORDS, "--out", out)
    assert answer.status == 0
    assert answer.err == f"9 runs\n\nThe report: {(out / 'smart-framing.html').as_uri()}\n"
    assert "Protocol overhead (overhead)" in answer.out
    conclusion = json.loads((out / "report.json").read_text(encoding="utf-8"))["conclusion"]
    page = (out / "smart-framing.html").read_text(encoding="utf-8")
    assert len(conclusion) == 3
    for sentence in conclusion.values():
        assert sentence in answer.out.replace("\n", " ")
        assert re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(sentence)) in page
    files = {"smart-framing.html", "report.json", "provenance.json", "data", ".runs"}
    assert {path.name for path in out.iterdir()} == files
    assert {path.stem for path in (out / "data").iterdir()} == {"fig-3", "overhead", "findings"}
    refused = tcpsf(*WORDS, "--out", out)
    assert (refused.status, refused.out) == (2, "")
    assert "it contains earlier results" in refused.err
    again = tcpsf(*WORDS[:3], "overhead", "--json", "--out", out, "--force")
    assert again.err.startswith("9 runs, 9 of them already finished\n")
    assert json.loads(again.out) == json.loads((out / "report.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(again.out), schema("evaluation"))
    assert {path.stem for path in (out / "data").iterdir()} == {"overhead", "findings"}
    assert {path.name for path in out.iterdir()} == files
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    assert tcpsf(*WORDS, "--out", out, "--force").status == 0
    assert (out / "notes.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.usefixtures("tiny")
def test_interrupted_and_called_again(
    tcpsf: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def interrupting(_what: str) -> Iterator[Callable[[Progress], None]]:
        def move(progress: Progress) -> None:
            if progress.finished > 2:
                raise KeyboardInterrupt

        yield move

    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr("tcpsf.cli.evaluation.bar", interrupting)
        answer = tcpsf(*WORDS, "--out", out, "--workers", "1")
    assert (answer.status, answer.out) == (130, "")
    assert (
        answer.err
        == f"9 runs\nfinished runs are kept in `{out}`; run the same command again to continue\ninterrupted\n"
    )
    kept = len(list((out / ".runs").iterdir()))
    assert kept > 2
    assert not (out / "report.json").exists()
    answer = tcpsf(*WORDS, "--out", out)
    assert answer.status == 0
    assert answer.err.startswith(f"9 runs, {kept} of them already finished\n")


@pytest.mark.usefixtures("tiny")
def test_a_folder_with_something_else(tcpsf: Command, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work", encoding="utf-8")
    answer = tcpsf(*WORDS, "--out", tmp_path, "--force")
    assert answer.status == 2
    assert "it exists and contains other files" in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    answer = tcpsf(*WORDS, "--out", tmp_path / "thesis.tex" / "out")
    assert answer.status == 2
    assert "is not a folder" in answer.err


def test_a_disk_that_fills_up(tmp_path: Path) -> None:
    """The kernel refuses to write beyond a limit, as it would on a full disk."""
    out = tmp_path / "out"

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    answer = subprocess.run(
        [sys.executable, "-m", "tcpsf", *WORDS, "--workers", "1", "--out", out],
        capture_output=True,
        text=True,
        preexec_fn=little_room,
        check=False,
    )
    assert (answer.returncode, answer.stdout) == (2, "")
    told, error, hint = answer.stderr.splitlines()
    assert told == "15 runs"
    assert error == f"error: cannot write results to `{out}`: file too large"
    assert hint.startswith("hint: finished runs are kept")
    assert [path.name for path in out.rglob("*")] == [".runs"]


@pytest.mark.usefixtures("tiny")
def test_bad_words(tcpsf: Command, tmp_path: Path) -> None:
    answer = tcpsf(*WORDS[:3], "fig-44", "--out", tmp_path / "out")
    assert answer.status == 2
    assert answer.err.startswith("error: no figure or table is called `fig-44`\nhint: ")
    answer = tcpsf("reproduce", "smart-framing", "--only", "fig-2,", "--out", tmp_path / "out")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("error: invalid value for '--only': a key is empty\nhint: ")
    assert not (tmp_path / "out").exists()
    answer = tcpsf("reproduce", "smart-framing", "--seed", "3", "table-1")
    assert answer.status == 2
    assert answer.err.startswith(
        "error: `--seed` applies to the whole evaluation, not to `table-1`\n"
    )


# What claims come to


def made_up(
    sizes: tuple[int, ...], published: Mapping[str, tuple[paper.Cell, ...]], key: str, factor: float
) -> RunSummary:
    """A run whose cells are those of a published table, give or take ``factor``."""
    scenario = paper.web_scenario(sender=paper.CLASSIC.sender, duration="5s")
    groups = {}
    for number, cell in enumerate(published[key][: len(sizes)], start=1):
        fast = round(100 * (cell.fast_percent or 0))
        groups[Group(paper.WEB, "any", number)] = Totals(
            flows=1000,
            completed=1000,
            sender_ns=round(cell.completion_s * 1e12 * factor),
            fast_retransmits=fast,
            timeouts=10_000 - fast,
        )
    return RunSummary(
        provenance=Provenance(version="0", seed=1, scenario=scenario), groups=groups, links=[]
    )


def test_the_draft_agrees_with_itself() -> None:
    runs = {
        key: [
            made_up(draft.CLASS_BYTES, draft.PUBLISHED, key, factor)
            for factor in (0.999, 1.0, 1.001, 1.0)
        ]
        for key in draft.PUBLISHED
    }
    verdicts = {finding.key: finding for finding in draft_exhibits._claims(runs)}
    assert {key for key, finding in verdicts.items() if finding.verdict != "holds"} == {
        "draft-half-the-time-fs"
    }
    assert verdicts["draft-half-the-time-fs"].ours == "40.8 %"


def test_several_points_hold_together_or_not() -> None:
    sure, unsure, failing = (
        plus_minus(5.0, 1.0, 8),
        plus_minus(0.5, 1.0, 8),
        plus_minus(-2.0, 1.0, 8),
    )
    assert judge.all_above({"a": sure, "b": sure}, 0.0, "%").verdict == "holds"
    undecided = judge.all_above({"a": sure, "b": unsure}, 0.0, "%")
    assert (undecided.estimate, undecided.verdict) == (unsure, "undecided")
    assert undecided.ours == "lowest 0.5 ± 1.2 % (b; widened for 2 comparisons)"
    failed = judge.all_above({"a": sure, "b": unsure, "c": failing}, 0.0, "%")
    assert (failed.verdict, failed.ours) == (
        "does not hold",
        "lowest −2.0 ± 1.3 % (c; widened for 3 comparisons)",
    )
    assert (
        judge.all_below({"c": failing, "a": sure}, 0.0, "%").ours
        == "highest 5.0 ± 1.2 % (a; widened for 2 comparisons)"
    )
    assert judge.all_above({"a": sure, "b": None}, 0.0, "%").verdict == "undecided"
    assert judge.all_above({}, 0.0, "%").verdict == "undecided"


def test_one_of_many_that_strays_decides_nothing() -> None:
    """Failing by a little is no wonder among ten points, and is failing where there is one."""
    sure, straying = plus_minus(5.0, 1.0, 8), plus_minus(-1.2, 1.0, 8)
    many = {str(number): sure for number in range(9)} | {"x": straying}
    assert judge.all_above({"x": straying}, 0.0, "%").verdict == "does not hold"
    judged = judge.all_above(many, 0.0, "%")
    assert (judged.estimate, judged.verdict) == (straying, "undecided")
    assert judged.ours == "lowest −1.2 ± 1.7 % (x; widened for 10 comparisons)"
    assert judged.test.comparisons == 10
    assert judged.test.confidence == pytest.approx(0.995)
    assert judged.test.interval == straying.interval_at(0.995)
    assert judged.test.wording == (
        "The lowest undecided value is at x: its interval, [−2.9, 0.5] % (95 % for 10 comparisons together, "
        "Bonferroni), contains 0 %. More or longer runs would reduce the interval."
    )
    assert judge.some_below({"x": straying}, 0.0).verdict == "holds"
    assert judge.some_below(many, 0.0).verdict == "undecided"


@pytest.mark.parametrize(
    ("value", "half_width", "expected"),
    [
        (50.0, 4.0, "holds"),
        (50.0, 6.0, "undecided"),
        (60.0, 4.0, "does not hold"),
        (40.0, None, "undecided"),
    ],
)
def test_about(value: float, half_width: float | None, expected: str) -> None:
    assert judge.is_within(plus_minus(value, half_width, 8), 45.0, 55.0, "%").verdict == expected


def test_most_and_some() -> None:
    sure, unsure, failing = (
        plus_minus(5.0, 1.0, 8),
        plus_minus(0.5, 1.0, 8),
        plus_minus(-2.0, 1.0, 8),
    )
    assert judge.most_above({"a": sure, "b": sure, "c": failing}, 0.0).verdict == "holds"
    assert judge.most_above({"a": sure, "b": unsure, "c": failing}, 0.0).verdict == "undecided"
    assert judge.most_above({"a": sure, "b": failing, "c": failing}, 0.0).verdict == "does not hold"
    found = judge.some_below({"a": sure, "c": failing}, 0.0)
    assert (found.verdict, found.ours) == ("holds", "at c")
    assert found.test.interval == failing.interval_at(0.975)
    assert judge.some_below({"a": sure, "b": unsure}, 0.0).verdict == "undecided"
    assert judge.some_below({"a": sure}, 0.0).verdict == "does not hold"
    assert judge.is_none(0, 0).verdict == "undecided"
    assert judge.is_none(1, 9).verdict == "does not hold"


def test_slopes_need_every_point() -> None:
    assert measure.slope([0.0, 1.0], [[1.0, 2.0], None]) is None


# The networks


def test_access_nodes_share_the_load() -> None:
    scenario = figures.access_scenario(sender=paper.FIXED_SIZE.sender, chunk=256)
    names = {link.name for link in scenario.link}
    assert len(names) == 2 + 2 * 10
    bottleneck = scenario.link[0]
    assert bottleneck.buffer is not None
    assert (bottleneck.buffer.bytes, bottleneck.buffer.chunk) == ("150kB", "256B")
    loads = [
        each.load for each in scenario.workload if hasattr(each, "load") and each.load is not None
    ]
    assert (len(loads), sum(loads)) == (10, pytest.approx(0.8))


def test_shares_of_framed_flows() -> None:
    none, some, all_ = (
        figures.friendliness_scenario(framed="reno / fs(n=4) / iw=1", share=s)
        for s in (0.0, 0.4, 1.0)
    )
    assert [w.sender for w in none.workload] == ["reno / full / iw=1"] * 2
    assert some.workload[1].senders is not None
    assert [(each.sender, each.share) for each in some.workload[1].senders] == [
        ("reno / full / iw=1", 0.6),
        ("reno / fs(n=4) / iw=1", 0.4),
    ]
    assert all_.workload[1].sender == "reno / fs(n=4) / iw=1"


def test_every_scenario_is_one_the_simulator_takes() -> None:
    from tcpsf import _core

    for exhibit in module._exhibits(
        Setting(duration="4000s", duration_of_ours="1000s", readings="closest")
    ):
        for case in exhibit.cases:
            _core.Simulation(case.scenario.to_json(), seed=1)
