"""Balanced packet discard: published numbers, networks, what is read from runs, and the evaluation, very small."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from conftest import REPOSITORY, Command
from plus_minus import plus_minus
from test_cli import schema

from tcpsf import Scenario, TcpsfError, _core, run
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Report
from tcpsf.evaluation.plan import Case, Scale, make, plan
from tcpsf.models import packet_discard as model
from tcpsf.pages import claims
from tcpsf.papers import packet_discard as paper
from tcpsf.papers import packet_discard_networks as networks
from tcpsf.report.evaluation_page import page
from tcpsf.reproduce.packet_discard import SCALES, evaluate, prepare, spacing
from tcpsf.reproduce.packet_discard import contents as module
from tcpsf.reproduce.packet_discard import exhibit_parts as measures
from tcpsf.reproduce.packet_discard.traces import CURVES, EVERY
from tcpsf.result import Provenance
from tcpsf.store import Store, point_of
from tcpsf.summary import RunSummary

TINY = Scale("quick", 2, "1s")
FIGURES = {f"fig-{number}" for number in (3, 6, 7, 8, 9, 12, 13, 14, 15, 16, 17)} | {
    "fig-12-long",
    "fig-14-long",
    "fig-18-bpd",
    "fig-18-epd",
    "loss-spacing",
}
DRAWINGS = {"fig-1", "fig-2", "fig-4", "fig-19"}
TABLES = {
    "fig-20-fine",
    "packets-reno",
    "policies",
    "packets-sack",
    "fig-20",
    "recovery-bound",
    "sensitivity",
    "queues-reno",
    "queues-sack",
    "queues-fs",
    "padding",
    "framing-atm",
    "sack-timeouts",
}


# What the paper says of itself


def test_figure_20_agrees_with_itself() -> None:
    """Throughputs of 45 Mb/s links add up to that of one of 75 Mb/s, and Jain's index is of the printed ones."""
    for pair in paper.FIGURE_20:
        shares = [each.throughput for each in pair.connections]
        assert sum(shares) * 45 / 75 == pytest.approx(pair.overall, abs=0.002)
        index = sum(shares) ** 2 / (2 * sum(share**2 for share in shares))
        assert index == pytest.approx(pair.fairness, abs=0.0011)


def test_published_improvement() -> None:
    assert 100 * (paper.BPD_BEST / paper.EPD_BEST - 1) > paper.IMPROVEMENT
    assert paper.EPD_ACTIVE + paper.EPD_IDLE < 1, "the two sections contradict each other"


def test_cells() -> None:
    """576 bytes take 13 cells, and no share of the bare line can be the printed 0.932."""
    assert float(model.cells(paper.SEGMENT + paper.HEADER)) == paper.CELLS
    assert paper.capacity(1.0) == pytest.approx(0.778, abs=0.0005)
    assert paper.capacity(1.0) < paper.BPD_BEST


def test_the_timer_of_figure_17() -> None:
    """18 timeouts in 10 s, half of them active: less than half a second each."""
    wait = paper.TRACE_SECONDS * (1 - paper.EPD_ACTIVE) / paper.TIMEOUTS
    assert 2 * 0.1 < wait < 0.5


# The networks


@pytest.mark.parametrize(
    ("topology", "connections", "incoming", "cells"),
    [
        (networks.A, 10, "75Mb/s", 1200),
        (networks.B, 5, "30Mb/s", 1200),
        (networks.MIXED, 2, "45Mb/s", 400),
    ],
)
def test_topologies(
    topology: networks.Topology, connections: int, incoming: str, cells: int
) -> None:
    scenario = networks.network(topology, networks.bpd(0.4, gap=25))
    switch = scenario.link[0]
    assert (switch.rate, switch.delay) == ("75Mb/s", "0.3ms")
    assert switch.buffer is not None
    assert switch.buffer.cells == cells
    assert len(scenario.workload) == connections
    assert {link.rate for link in scenario.link if link.name.startswith("in-")} == {incoming}
    assert networks.closest(scenario).tcp.rto_min == "200ms"
    _core.Simulation(scenario.to_json(), seed=1)


def test_every_policy_runs() -> None:
    for policy in (networks.PLAIN, networks.PPD, networks.epd(0.7), networks.bpd(0.4, gap=25)):
        scenario = networks.network(networks.B, policy, duration="200ms")
        simulation = _core.Simulation(scenario.to_json(), seed=1)
        while simulation.advance(max_events=100_000):
            pass


def test_the_example_file_is_topology_b() -> None:
    example = Scenario.from_toml(REPOSITORY / "scenarios" / "atm-balanced-discard.toml")
    ours = networks.network(networks.B, networks.bpd(paper.LOWER, gap=paper.GAP))
    assert replace(example, name=ours.name) == ours


# What is read from a run


def row(
    *, received: int = 0, start: float = 0.0, waited: float = 0.0, timeouts: int = 0
) -> dict[str, object]:
    return {
        "received_bytes": received,
        "start_s": start,
        "waited_s": waited,
        "timeouts": timeouts,
        "segments": 100,
        "retransmitted_segments": 4,
    }


def summary(*rows: dict[str, object]) -> RunSummary:
    scenario = networks.network(networks.MIXED, networks.PPD)
    named = [
        {"workload": networks.connection(number), **each}
        for number, each in enumerate(rows, start=1)
    ]
    return RunSummary(
        provenance=Provenance(version="0", seed=1, scenario=scenario),
        groups={},
        links=[{"link": networks.SWITCH, "duration_s": 10.0}],
        watched={
            measures.CONNECTIONS.name: {
                name: [row.get(name) for row in named] for name in measures.CONNECTIONS.columns
            }
        },
    )


def test_measures() -> None:
    full = round(paper.capacity(75.0) * 1e6 / 8 * 10)
    run = summary(
        row(received=full // 2, start=0.0, waited=5.0, timeouts=3),
        row(received=full // 2, start=5.0),
    )
    assert measures.goodput(networks.MIXED)(run) == pytest.approx(1.0, abs=1e-6)
    assert measures.active(run) == pytest.approx(1 - 5 / 15)
    assert measures.fairness(run) == pytest.approx(1.0)
    assert (measures.timeouts(run), measures.spacing(run)) == (1.5, 25.0)
    one_sided = summary(row(received=full), row())
    assert measures.fairness(one_sided) == pytest.approx(0.5)
    assert measures.fairness(summary(row(), row())) == 1.0


def test_shares_are_cut_off_and_counts_are_not() -> None:
    runs = [
        summary(row(waited=waited, timeouts=number), row())
        for waited, number in ((0.0, 0), (1.0, 3))
    ]
    share, count = (
        measures.mean_share(runs, measures.active),
        measures.mean(runs, measures.timeouts),
    )
    assert share is not None
    assert count is not None
    assert share.high == 1.0
    assert count.high > 1.0


def test_some_above_takes_the_widened_interval() -> None:
    sure, near = plus_minus(1.0, 0.2, 4), plus_minus(1.0, 0.9, 4)
    assert judge.some_above({"a": sure, "b": near}, 0.0).verdict == "holds"
    assert judge.some_above({"a": near, "b": near}, 0.0).verdict == "undecided"
    assert judge.some_above({"a": sure.scaled(-1.0)}, 0.0).verdict == "does not hold"


def test_watches_are_kept_and_found_again(tmp_path: Path) -> None:
    scenario = networks.network(
        networks.B,
        networks.PPD,
        duration="500ms",
        sampled=("connection-1", networks.SWITCH),
        every=EVERY,
    )
    case = Case(scenario=scenario, watches=(measures.CONNECTIONS, CURVES))
    store = Store(tmp_path)
    wanted = plan([case], seeds=[1])
    (made,) = make(wanted, store=store).of(case)
    (again,) = make(wanted, store=store).of(case)
    assert again.watched == json.loads(json.dumps(made.watched))
    rows = measures.connections(made)
    assert [each["workload"] for each in rows] == [
        networks.connection(number) for number in range(1, 6)
    ]
    assert 0.0 < measures.goodput(networks.B)(made) < 1.0
    times = [at for at, _ in CURVES.curve(made, object="connection-1/0", quantity="cwnd_bytes")]
    assert len(times) > 70
    assert times == sorted(times)


def test_what_is_watched_is_part_of_a_run_s_name() -> None:
    scenario = networks.network(networks.B, networks.PPD)
    keys = {
        point_of(scenario, histogram=False, watches=watches)
        for watches in ((), (measures.CONNECTIONS,), (measures.CONNECTIONS, CURVES), (CURVES,))
    }
    assert len(keys) == 4


# Losses from one window


@pytest.mark.parametrize("window", range(4, 11))
def test_the_simulator_repairs_what_the_equations_say(window: int) -> None:
    """Section 2.2: a flow of the simulator times out for exactly those patterns for which the played sender does."""
    patterns = [
        lost for count in (1, 2, 3) for lost in itertools.combinations(range(window), count)
    ]
    for lost in patterns:
        (timeouts,) = run(networks.window_scenario(window, lost), seed=1).flows["timeouts"]
        assert (timeouts == 0) == model.reno_recovers(window, lost), lost


def test_distances_of_losses() -> None:
    for law, least, most in (("regular", 16, 16), ("spaced", 8, 24), ("random", 1, 1500)):
        masks = [spacing.mask(law, 16, number) for number in range(spacing.FLOWS)]
        lost = [[at for at, gone in enumerate(mask) if gone] for mask in masks]
        gaps = [b - a for places in lost for a, b in itertools.pairwise(places)]
        assert min(gaps) >= least
        assert max(gaps) <= most
        assert math.fsum(gaps) / len(gaps) == pytest.approx(16, rel=0.1)
        assert min(places[0] for places in lost) >= spacing.BEGIN
        assert max(places[-1] for places in lost) < spacing.SEGMENTS - spacing.END
        assert masks[0] == spacing.mask(law, 16, 0) != masks[1]


def test_patterns_that_keep_a_distance() -> None:
    """W = 24: at 21 or more there are 24 single losses and 6 pairs; at W/2 = 4 of 8, nine of ten pairs time out."""
    assert spacing.conservative(24) == 21
    assert spacing.timed_out([24], spacing.conservative) == ([], 24 + 6)
    bad, count = spacing.timed_out([8], spacing.half)
    assert (len(bad), count) == (9, 8 + 10)
    assert "8 {0, 7}" not in bad, "the exception to (2)"


def test_what_a_ladder_shows(report: Report) -> None:
    """The numbers are those of the window's segments, and what is sent again is what was lost."""
    (figure_4,) = (each for each in report.sections[0].drawings if each.key == "fig-4")
    for number in (0, 21, 22):
        assert re.search(rf'<text class="lost-text"[^>]*>{number}</text>', figure_4.svg)
        assert re.search(rf'<text class="again-text"[^>]*>{number}</text>', figure_4.svg)
    assert figure_4.svg.count("fast retransmit</text>") == 3
    assert "timeout</text>" not in figure_4.svg
    shown = page(report)
    for key in DRAWINGS:
        assert f'<figure id="drawing-{key}">' in shown
        assert f'href="#drawing-{key}"' in shown
    by_key = {finding.key: finding for section in report.sections for finding in section.findings}
    assert {by_key[f"{key}-repaired"].verdict for key in DRAWINGS} == {"holds"}
    assert "timeout" in by_key["fig-19-repaired"].ours


# The evaluation


@pytest.fixture(scope="module")
def report() -> Report:
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(module.OURS, "quick", "5s")
        return evaluate(prepare(scale=TINY, seed=3))


def test_every_figure_and_table_is_there(report: Report) -> None:
    figures = [figure for section in report.sections for figure in section.figures]
    tables = [table for section in report.sections for table in section.tables]
    made = [
        key for each in report.exhibits for key in (*each.drawings, *each.figures, *each.tables)
    ]
    assert Counter(made) == Counter({*FIGURES, *TABLES, *DRAWINGS})
    judged = [key for each in report.exhibits for key in each.findings]
    assert Counter(judged) == Counter(
        each.key for section in report.sections for each in section.findings
    )
    assert Counter(each.key for each in figures) == Counter(FIGURES)
    assert claims.without_claims({"packet-discard": report}) == []
    assert Counter(each.key for each in tables) == Counter(TABLES)
    drawings = [drawing for section in report.sections for drawing in section.drawings]
    assert Counter(each.key for each in drawings) == Counter(DRAWINGS)
    by_key = {figure.key: figure for figure in figures}
    gaps = [len(by_key[key].series) - 1 for key in ("fig-12", "fig-12-long")]
    assert sum(gaps) == len(paper.GAPS)
    assert max(gaps) <= 3  # more curves would hide each other
    assert [point.x for point in by_key["fig-8"].series[2].points] == list(paper.THRESHOLDS)
    for table in tables:
        assert all(len(row.cells) == len(table.columns) - 1 for row in table.rows)
    jsonschema.validate(report.to_dict(), schema("evaluation"))


def test_no_band_of_a_share_leaves_the_range_of_shares(report: Report) -> None:
    """Intervals of throughputs, of times as shares, of fairness and of the buffer lie within 0 to 1."""
    figures = [figure for section in report.sections for figure in section.figures]
    tables = [table for section in report.sections for table in section.tables]
    findings = {finding.key: finding for section in report.sections for finding in section.findings}
    bands = [
        point.y
        for figure in figures
        if figure.y.label.startswith(("effective throughput", "time in which", "occupied"))
        for series in figure.series
        for point in series.points
    ]
    bands += [
        cell.ours
        for table in tables
        for row in table.rows
        for column, cell in zip(table.columns[1:], row.cells, strict=True)
        if not isinstance(cell, str)
        and any(word in column for word in ("throughput", "active", "fairness"))
    ]
    bands += [
        findings[key].estimate
        for key in ("bpd-best", "bpd-active", "b-epd-active", "epd-keeps-below")
    ]
    ranges = [band.interval for band in bands if band is not None and band.interval is not None]
    assert len(ranges) > 200
    assert sum(high == 1.0 for _, high in ranges) > 0, (
        "none was cut off: the test has shown nothing"
    )
    assert all(0.0 <= low <= high <= 1.0 for low, high in ranges)


def test_claims_are_distinct_and_judged(report: Report) -> None:
    findings = [finding for section in report.sections for finding in section.findings]
    assert len(findings) == len({finding.key for finding in findings}) >= 40
    assert all(math.isfinite(each.estimate.value) for each in findings if each.estimate is not None)


def test_a_part_of_it() -> None:
    wanted = prepare(scale=TINY, seed=4, readings="closest", only=["fig-20"])
    assert len(wanted.plan.runs) == 4 * TINY.runs
    assert (
        wanted.command
        == "tcpsf reproduce packet-discard --quick --seed 4 --readings closest --only fig-20"
    )
    with pytest.raises(TcpsfError, match="no figure or table is called `fig-21`"):
        prepare(scale=TINY, only=["fig-21"])


def test_command(tcpsf: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCALES, "quick", TINY)
    words = ["reproduce", "packet-discard", "--only", "fig-20", "--out", tmp_path / "out"]
    answer = tcpsf(*words)
    assert answer.status == 0
    assert answer.out.startswith(
        "Balanced packet discard: evaluation reproduced\n2 runs of 1s a point"
    )
    assert "16 runs\n" in answer.err
    assert (tmp_path / "out" / "packet-discard.html").is_file()
    data = json.loads(tcpsf(*words, "--json", "--force").out)
    jsonschema.validate(data, schema("evaluation"))
    assert (
        tcpsf("reproduce", "packet-discard", "--only", "fig-5", "--out", tmp_path / "no").status
        == 2
    )
