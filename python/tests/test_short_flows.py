"""The short-flow paper's simulations: points, trials with their intervals, fits, and the evaluation, very small."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import polars as pl
import pytest
from conftest import REPOSITORY, Command
from test_cli import schema
from test_short_flows_trials import one, trials

from tcpsf import TcpsfError, _core, stats
from tcpsf.chart import marks, upright
from tcpsf.evaluation.data import Report, TableCell
from tcpsf.evaluation.plan import Scale, make, plan
from tcpsf.intervals import Same
from tcpsf.pages import claims
from tcpsf.papers import short_flows as paper
from tcpsf.papers import short_flows_simulated as simulated
from tcpsf.papers.short_flows_simulated import CLOSEST, TEXT, TransferPoint, network
from tcpsf.report.evaluation_page import page, panel
from tcpsf.reproduce.short_flows import (
    alternatives,
    evaluate,
    events,
    explanations,
    figure_3,
    measured_paths,
    phases,
    prepare,
    sensitivity,
    sweeps,
    transaction,
)
from tcpsf.reproduce.short_flows import contents as module
from tcpsf.reproduce.short_flows import trials as read
from tcpsf.reproduce.short_flows.trials import PointTrials, Setting, Trials
from tcpsf.scenario import BurstLoss, Transfers
from tcpsf.store import Store, point_of

SMALL = 300
TINY = Scale("quick", 1, f"{simulated.duration_s(SMALL)}s")


# Points and their network


def test_the_paper_s_network() -> None:
    scenario = network(TransferPoint())
    assert sum(float(link.delay.removesuffix("s")) for link in scenario.link) == pytest.approx(0.07)
    assert [link.loss is None for link in scenario.link] == [True, False, True, False]
    (transfers,) = scenario.workload
    assert isinstance(transfers, Transfers)
    assert transfers.sizes == (10_000,) * 4000
    for assumed in (
        TEXT,
        CLOSEST,
        replace(TEXT, receive_buffer=16_384, nagle=False, timed_ack=True, burst=2.0),
    ):
        _core.Simulation(
            network(TransferPoint(loss_back=0.02), assumed, trials=2).to_json(), seed=1
        )


def test_what_the_readings_differ_in() -> None:
    assert (TEXT.rto_s, CLOSEST.rto_s) == (1.0, 0.2)
    assert replace(CLOSEST, rto_s=1.0, lone_segments=True) == TEXT
    short, long = (
        one([1.0], TransferPoint(size=1460), CLOSEST),
        one([1.0], TransferPoint(size=1461), CLOSEST),
    )
    assert read.fitted([short, long]) == [long]
    assert read.fitted([replace(short, assumed=TEXT)]) == [replace(short, assumed=TEXT)]


def test_without_loss_the_time_is_the_least_and_exact(tmp_path: Path) -> None:
    """The simulated least time is that of the lossless model, to a round trip."""
    setting = Setting(trials=20)
    point = TransferPoint(loss=0.0)
    case = setting.case(point)
    store = Store(tmp_path)
    wanted = plan([case], seeds=[1])
    seen = setting.seen(point, make(wanted, store=store))
    assert seen.trials.minimum().spread == Same()
    assert seen.trials.median() == stats.Estimate(seen.trials.minimum().value, Same(), 20)
    assert abs(seen.trials.minimum().value - seen.model(1)) < 0.07
    assert not seen.trials.events.any()
    again = setting.seen(point, make(wanted, store=store))
    assert again.trials.seconds.tolist() == seen.trials.seconds.tolist()
    (kept,) = tmp_path.iterdir()
    assert pl.read_parquet(kept).filter(kind="flows").height == 1, "transfers are not a class each"


def test_classes_are_part_of_a_run_s_name() -> None:
    scenario = network(TransferPoint(), trials=2)
    assert point_of(scenario, histogram=False) != point_of(scenario, histogram=False, classes=False)


# Reductions


def test_total_variation_of_the_binomial_law() -> None:
    """Draws from the law are near it; none at all are as far as the law says that some are lost."""
    chance = np.random.default_rng(3)
    point = TransferPoint()
    drawn = chance.binomial(7, 0.05, 4000).astype(float).tolist()
    near = events.variation(
        PointTrials(point=point, assumed=TEXT, trials=trials([1.0] * 4000, timeouts=drawn))
    )
    assert near.high < 0.04
    none = events.variation(one([1.0] * 100))
    assert none.value == pytest.approx(1.0 - 0.95**7)


def test_what_each_reduction_costs() -> None:
    """The third costs 3 s where the first two cost 1 s each; a lost SYN is left out."""
    chance = np.random.default_rng(2)
    counts = np.repeat([0.0, 1.0, 2.0, 3.0], 50)
    seconds = np.asarray([1.0, 2.0, 3.0, 6.0])[counts.astype(int)] + chance.normal(0.0, 0.01, 200)
    found = trials(
        [*seconds.tolist(), 90.0],
        timeouts=[*counts.tolist(), 0.0],
        syn_timeouts=[0.0] * 200 + [1.0],
    )
    columns = events.by_events(found)
    assert [len(each) for each in columns.values()] == [50] * 4
    grows, costlier = events._findings_16(columns)
    assert (grows.verdict, costlier.verdict) == ("holds", "holds")
    assert costlier.estimate is not None
    assert costlier.estimate.value == pytest.approx(2.0, abs=0.05)
    figure = events._figure_16(found, columns)
    assert figure.series[0].style == "point"
    assert [round(float(point.x)) for point in figure.series[0].points] == counts.tolist()
    drawn = upright.draw(panel(figure), marks.Palette())
    assert drawn.svg.count("<use") >= 200


def test_each_variation_changes_one_thing() -> None:
    """And the same runs serve those that change only how fits are taken."""
    for base in (TEXT, CLOSEST):
        for variation in sensitivity.variations(base):
            changed = variation.of(base)
            differ = [
                each for each in base.__slots__ if getattr(base, each) != getattr(changed, each)
            ]
            assert set(differ) <= set(variation.changed)
            assert len(differ) + variation.own_timer + variation.at_sender <= 2
    ticks = {each.changed.get("tick_s") for each in sensitivity.variations(CLOSEST)}
    assert 0.1 in ticks
    assert 0.5 not in ticks
    runs = prepare(only=["sensitivity"]).plan.runs
    distinct = {json.dumps(case.scenario.to_dict(), sort_keys=True) for case in runs.values()}
    assert len(distinct) == len(runs)


# The other sections


def test_figure_1_packet_by_packet() -> None:
    """Nothing in it is random: the paper's rounds, and its windows that acknowledgments open."""
    made = evaluate(prepare(scale=TINY, only=["fig-1"]))
    (section,) = made.sections
    (table,) = section.tables
    counts = [
        int(cell.ours.value)
        for row in table.rows
        if isinstance(cell := row.cells[0], TableCell) and cell.ours
    ]
    assert counts[:3] == [1, 2, 3]
    assert sum(counts) == transaction.SEGMENTS
    (drawing,) = section.drawings
    assert drawing.svg.startswith("<svg")
    assert drawing.svg.count("(1460)") == transaction.SEGMENTS
    assert drawing.svg.count(">SYN<") == 2
    assert [finding.verdict for finding in section.findings] == ["holds", "holds"]


def test_phases_of_a_transfer_add_up() -> None:
    """Phases of traced transfers, against the times and the waits that the simulator counts."""
    case = figure_3._case(Setting(trials=SMALL), figure_3.LONG)
    case = replace(case, watches=(*case.watches, read.OUTCOMES))
    (run,) = made = make(plan([case], seeds=[1])).of(case)
    found = Trials.of(made, name="traced")
    seen = figure_3._seen(figure_3.LONG, TEXT, made)
    assert seen.total() == pytest.approx(found.seconds, abs=1e-9)
    # The sender may also wait for a lost acknowledgment when the receiver has all data.
    same = seen.columns["timeouts"] == found.timeouts
    assert same.mean() > 0.95
    assert seen.columns[phases.TIMER][same] == pytest.approx(found.waited_s[same], abs=1e-9)
    parts = seen.sum((phases.HANDSHAKE, phases.DELAYED, *phases.FIRST))
    assert parts == pytest.approx(seen.total(), abs=1e-9)
    assert (seen.columns["runs"] <= seen.columns["timeouts"]).all()
    drawn = run.watched["phases"]["drawn"]
    ends = [end for _, end, _ in drawn["phases"]]
    assert [start for start, _, _ in drawn["phases"]] == [0.0, *ends[:-1]]
    assert ends[-1] == pytest.approx(found.seconds[drawn["trial"]])
    needed = {phases.HANDSHAKE, phases.DELAYED, phases.TIMER, phases.SLOW_START, phases.AVOIDANCE}
    assert needed <= {name for _, _, name in drawn["phases"]}


def traced(*rows: tuple[float, int, str, str, int, int, int | None, int]) -> list[phases.Traced]:
    return [phases.Traced(*row) for row in rows]


def test_phases_of_three_segments_of_which_one_is_lost() -> None:
    """A lone segment waits for its acknowledgment, the next one is lost, and its copy ends it."""
    rows = traced(
        (0.0, 0, "sent", "sender", 0, 0, None, 536),
        (0.1, 0, "arrived", "sender", 0, 0, None, 536),
        (0.1, 1, "sent", "receiver", 0, 0, 1, 536),
        (0.2, 1, "arrived", "receiver", 0, 0, 1, 536),
        (0.2, 2, "sent", "sender", 1, 100, 1, 100),
        (0.3, 2, "arrived", "sender", 1, 100, 1, 100),
        (0.5, 3, "sent", "receiver", 1, 0, 101, 100),
        (0.6, 3, "arrived", "receiver", 1, 0, 101, 100),
        (0.6, 4, "sent", "sender", 101, 100, 1, 200),
        (0.6, 5, "sent", "sender", 201, 100, 1, 200),
        (0.65, 4, "dropped-loss", "sender", 101, 100, 1, 200),
        (0.7, 5, "arrived", "sender", 201, 100, 1, 200),
        (0.7, 6, "sent", "receiver", 1, 0, 101, 200),
        (0.8, 6, "arrived", "receiver", 1, 0, 101, 200),
        (1.8, 7, "sent", "sender", 101, 100, 1, 100),
        (1.9, 7, "arrived", "sender", 101, 100, 1, 100),
        (1.9, 8, "sent", "receiver", 1, 0, 301, 100),
        (2.0, 8, "arrived", "receiver", 1, 0, 301, 100),
    )
    repairs = [phases.Repair(1.8, "timeout", 200)]
    found = phases.phases_of(rows, repairs, size=300, mss=100)
    assert found is not None
    lasted = dict(zip(phases.PARTS, found.durations(), strict=True))
    assert lasted == pytest.approx(
        {
            phases.HANDSHAKE: 0.2,
            phases.DELAYED: 0.2,
            phases.SLOW_START: 0.5,
            phases.AVOIDANCE: 0.0,
            phases.RECOVERY: 0.0,
            phases.TIMER: 1.0,
        }
    )
    assert found.first == pytest.approx((0.4, 1.0, 0.1))
    assert found.counts == (1, 1, 1, 4)
    assert [span.phase for span in found.merged()] == [
        phases.HANDSHAKE, phases.SLOW_START, phases.DELAYED, phases.SLOW_START, phases.TIMER,
        phases.SLOW_START,
    ]  # fmt: skip
    assert phases.phases_of(rows[:12], [], size=300, mss=100) is None


def test_figure_3_and_its_models() -> None:
    made = evaluate(prepare(scale=TINY, only=["fig-3"]))
    (section,) = made.sections
    tables = {table.key: table for table in section.tables}
    assert set(tables) == {"fig-3", "fig-3-counts", "fig-3-latency"}
    (drawing,) = section.drawings
    assert "congestion avoidance, " in drawing.svg
    assert "timeout" in drawing.svg
    assert "SYN" in drawing.svg
    for point in (figure_3.SHORT, figure_3.LONG):
        for assumed in (TEXT, CLOSEST):
            model = figure_3.model_of(point, assumed)
            assert model.total_s == pytest.approx(read.closed(point, 14, assumed))
            # (13) by itself: v phases of e segments in slow start with r = 1.5 and w = 1.
            rounds = math.log(model.segments * 0.5 + 1.0) / math.log(1.5)
            assert model.sending_s == pytest.approx(model.phases * rounds * point.rtt)
    assert {finding.key for finding in section.findings} == {"fig-3-slow-start", "fig-3-handshake"}


def test_ways_to_send() -> None:
    setting = Setting(trials=SMALL)
    wide, four = alternatives.WINDOW, alternatives.PARALLEL
    assert wide.assumed(setting).sender == "reno / full / iw=3"
    assert four.point(32_000, 0.05).size == 8000
    for way in alternatives.METHODS:
        scenario = way.case(setting, 32_000, 0.0).scenario
        _core.Simulation(scenario.to_json(), seed=1)
        (transfers,) = scenario.workload
        assert isinstance(transfers, Transfers)
        assert len(transfers.sizes) == 2 * alternatives.FLOWS, "nothing is random without loss"
    assert all(size % alternatives.FLOWS == 0 for size in alternatives.SIZES)


def test_waiting_is_a_share_of_the_time_after_the_handshake() -> None:
    found = trials(
        [1.07, 2.07, 9.0],
        waited_s=[0.5, 1.0, 0.0],
        syn_timeouts=[0, 0, 1],
        segments=[7, 9, 8],
        timeouts=[0, 2, 1],
    )
    seen = PointTrials(point=TransferPoint(), assumed=TEXT, trials=found)
    share, segments = explanations.waiting(seen), explanations.between(seen)
    assert share is not None
    assert segments is not None
    assert share.value == pytest.approx(0.5)
    assert segments.value == 8.0


def test_table_1() -> None:
    assert [sample.name for sample in paper.TABLE_1] == [host.name for host in paper.HOSTS]
    assert [sample.ping_ms for sample in paper.TABLE_1] == [108, 50, 62, 109]
    assert [sample.sustained_kb for sample in paper.TABLE_1] == [200, 470, 350, 200]
    for path in measured_paths.PATHS:
        assumed = path.assumed(Setting(), line=True)
        scenario = network(path.point(4000), assumed, trials=2)
        _core.Simulation(scenario.to_json(), seed=1)
        rates = {link.name: link.rate for link in scenario.link}
        assert rates["up"] == "100Mb/s"
        assert rates["on"] == rates["back"] == assumed.line
        assert path.assumed(Setting(), line=False).line is None


def test_losses_in_runs() -> None:
    (_, on, _, down) = network(TransferPoint(), replace(TEXT, burst=2.0), trials=1).link
    assert on.loss == down.loss == BurstLoss(probability=0.05, run=2.0)


# The evaluation


@pytest.fixture(scope="module")
def report() -> Report:
    return evaluate(prepare(scale=TINY, only=["fig-5", "fig-7", "fig-14", "loss-back"]))


def test_a_report_of_some_figures(report: Report) -> None:
    figures = {figure.key: figure for section in report.sections for figure in section.figures}
    assert set(figures) == {"fig-5", "fig-7", "fig-14", "loss-back"}
    names = [series.label for series in figures["fig-7"].series]
    assert names[:4] == ["minimum", "median", "mean", "80 %"]
    median = figures["fig-7"].series[1]
    assert [point.x for point in median.points] == list(simulated.SMALL)
    assert all(point.y is not None and point.y.runs == SMALL for point in median.points)
    jsonschema.validate(report.to_dict(), schema("evaluation"))
    keys = [finding.key for section in report.sections for finding in section.findings]
    assert len(keys) == len(set(keys))
    assert {"fig-7-short", "fig-7-lossless", "fig-5-mean", "fig-14-binomial"} <= set(keys)


def test_every_headline_is_a_claim() -> None:
    """At the smallest scale of all: every figure is made, and every claim judged."""
    made = evaluate(
        prepare(scale=Scale("quick", 1, f"{simulated.duration_s(40)}s"), readings="closest")
    )
    keys = {finding.key for section in made.sections for finding in section.findings}
    assert set(module.HEADLINE) <= keys
    assert claims.without_claims({"short-flows": made}) == []
    shown = [figure.key for section in made.sections for figure in section.figures]
    tables = [table.key for section in made.sections for table in section.tables]
    assert {f"fig-{number}" for number in range(5, 17)} <= set(shown)
    assert {"fig-1", "fig-3", "table-1", "sensitivity"} <= set(tables)
    assert len({*shown, *tables}) == len(shown) + len(tables), "a data file each"
    page(made)


def test_keys() -> None:
    assert (
        prepare(only=["fig-7"]).command
        == "tcpsf reproduce short-flows --quick --seed 1 --only fig-7"
    )
    assert "--readings closest" in prepare(readings="closest").command
    with pytest.raises(TcpsfError, match="`fig-17` is measured, not simulated"):
        prepare(only=["fig-17"])
    with pytest.raises(TcpsfError, match="no figure or table is called `fig-4`"):
        prepare(only=["fig-4"])


def test_the_reference_and_the_help_name_every_key(tcpsf: Command) -> None:
    told = (REPOSITORY / "docs" / "reference" / "short-flows.md").read_text(encoding="utf-8")
    shown = tcpsf("reproduce", "short-flows", "--help").out
    for exhibit in prepare().exhibits:
        assert f"`{exhibit.key}`" in told
        if exhibit.key not in {f"fig-{number}" for number in range(6, 16)}:
            assert exhibit.key in shown


def test_every_sweep_has_the_ends_that_the_paper_gives() -> None:
    ends = {sweep.number: (sweep.values[0], sweep.values[-1]) for sweep in sweeps.SWEEPS}
    assert ends == {
        7: (500, 32_000), 8: (32_000, 512_000), 9: (400, 3200), 10: (0.005, 0.4), 11: (0.01, 0.15),
        12: (0.0001, 0.02), 13: (0.0001, 0.02),
    }  # fmt: skip


def test_the_command_goes_on_from_finished_runs(tcpsf: Command, tmp_path: Path) -> None:
    out = tmp_path / "report"
    words = ("reproduce", "short-flows", "--only", "loss-back", "--out", str(out))
    first = tcpsf(*words)
    assert first.status == 0, first.err
    assert "Slightly more loss on the return path" in first.out
    assert {path.name for path in out.iterdir()} == {
        ".runs", "data", "provenance.json", "report.json", "short-flows.html",
    }  # fmt: skip
    assert (out / "data" / "loss-back.parquet").exists()
    again = tcpsf(*words, "--force", "--json")
    assert again.status == 0, again.err
    assert json.loads(again.out)["provenance"]["jobs"] == 3


def test_live_figures_are_named(tcpsf: Command, tmp_path: Path) -> None:
    answer = tcpsf(
        "reproduce", "short-flows", "--only", "fig-18", "--out", str(tmp_path / "report")
    )
    assert answer.status == 2
    assert "tcpsf reproduce short-flows live" in answer.err
    refused = tcpsf("reproduce", "short-flows", "--only", "fig-7", "live")
    assert "`--only` applies to the whole evaluation, not to `live`" in refused.err
