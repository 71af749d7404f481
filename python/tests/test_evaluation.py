"""The whole evaluation, very small: what it holds, how runs are shared, kept and taken up again, claims."""

from __future__ import annotations

import io
import json
from collections import Counter
from typing import Any

import jsonschema
import polars as pl
import pytest
from test_cli import schema

from tcpsf import Scenario, TcpsfError
from tcpsf.evaluation.data import Report
from tcpsf.evaluation.plan import Scale, make
from tcpsf.pages import claims
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_figures as figures
from tcpsf.report import tidy
from tcpsf.report.evaluation_text import as_text
from tcpsf.reproduce import web_runs
from tcpsf.reproduce.smart_framing import SCALES, evaluate, prepare
from tcpsf.reproduce.smart_framing import contents as module
from tcpsf.reproduce.smart_framing.exhibit_parts import Setting

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
    assert claims.without_claims({"smart-framing": report}) == []
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
        tuple(web_runs.short_flows(run).flows for run in runs.of(case))
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


def test_closest_readings() -> None:
    both = [prepare(scale=TINY, readings=readings).plan for readings in ("text", "closest")]
    assert len(both[0].runs) == len(both[1].runs)
    assert all(case.scenario.tcp.rto_initial == "6s" for case in both[1].keys)
    evaluation = prepare(scale=TINY, readings="closest", only=["fig-14-bottom"])
    for case in evaluation.plan.keys:
        loads = [each.load for each in case.scenario.workload if hasattr(each, "load")]
        assert sum(load for load in loads if load is not None) == pytest.approx(0.75)
    assert evaluation.command.endswith("--readings closest --only fig-14-bottom")


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
