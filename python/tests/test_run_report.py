"""Pages and charts of runs: their numbers follow from the rows of the runs."""

from __future__ import annotations

import base64
import dataclasses
import re
import struct
import zlib
from html import unescape
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import Command
from html_tables import Tables
from polars.testing import assert_frame_equal

from tcpsf import OutputError, RunResult, Scenario, TcpsfError, replicate, run
from tcpsf.chart import Plot
from tcpsf.chart.panel import Curve
from tcpsf.chart.time_sequence import paired
from tcpsf.run_report import flow_trace, observed, run_plots
from tcpsf.run_report.flow_choice import FlowChoice
from tcpsf.sim_summary import sums_of

EXAMPLES = Path(__file__).parents[1] / "tcpsf" / "examples"


@pytest.fixture
def lossy() -> Scenario:
    whole = Scenario.from_toml(EXAMPLES / "lossy-access.toml")
    return whole.with_value("duration", "30s")


@pytest.fixture
def one() -> RunResult:
    return run(Scenario.from_toml(EXAMPLES / "one-short-flow.toml"))


def curve(plot: Plot, panel: str, label: str) -> Curve:
    (found,) = (each for each in plot.panels if each.title == panel)
    (drawn,) = (each for each in found.curves if each.label == label)
    return drawn


@pytest.mark.parametrize("name", ["lossy-access", "smart-framing-web", "red-ecn"])
def test_sampling_does_not_change_a_run(name: str) -> None:
    scenario = Scenario.from_toml(EXAMPLES / f"{name}.toml").with_value("duration", "30s")
    plain = run(scenario, seed=3)
    sampled = run(observed._watched(scenario, 0.001), seed=3)
    assert sampled.samples.height > 10_000
    traced = run(dataclasses.replace(scenario, trace=("web",)), seed=3)
    assert traced.packets.height > 10_000
    for table in ("flows", "recoveries", "links"):
        for other in (sampled, traced):
            assert_frame_equal(getattr(plain, table), getattr(other, table))


def test_rates_and_drops_add_up_to_the_rows_of_the_links(lossy: Scenario) -> None:
    result = run(lossy, seed=2)
    seen = observed.observe(lossy, seed=2)
    for row in result.links.iter_rows(named=True):
        own = seen.links.filter(pl.col("link") == row["link"])
        assert own.height == observed.SLICES
        assert own["utilisation"].mean() == pytest.approx(row["utilisation"], abs=1e-6)
        bits = row["delivered_bytes"] * 8 / row["duration_s"]
        assert own["throughput_bps"].mean() == pytest.approx(bits, rel=1e-6)
        drops = seen.drops.filter(pl.col("link") == row["link"])
        for column in observed.DROPS:
            assert own[column].sum() == row[column]
            assert drops.filter(pl.col("column") == column)["packets"].sum() == row[column]
    counted = dict(
        result.recoveries.filter(pl.col("time_s") <= 30).group_by("cause").len().iter_rows()
    )
    assert {cause: sum(each) for cause, each in seen.counts.items() if sum(each)} == counted
    assert counted["timeout"] > 0


def test_sampled_queues_are_those_of_the_run(small: Scenario) -> None:
    seen = observed.observe(small, seed=1)
    own = seen.samples.filter(pl.col("object") == "there", pl.col("quantity") == "queue_bytes")
    (row,) = run(small).links.filter(pl.col("link") == "there").iter_rows(named=True)
    assert own["value"].max() <= row["max_queue_bytes"]
    assert own["value"].mean() == pytest.approx(row["mean_queue_bytes"], rel=0.01)
    drawn = curve(run_plots.queue(seen), "there", "queue")
    assert np.allclose(np.asarray(drawn.y) * 1000, own["value"].to_numpy())
    marks = curve(run_plots.queue(seen), "there", "dropped, buffer full")
    assert len(marks.x) == seen.drops.filter(pl.col("link") == "there").height


def test_recoveries_are_at_the_windows_of_their_flows(small: Scenario) -> None:
    result = run(small)
    plot = result.plot_windows()
    greedy = result.flows.filter(pl.col("workload").cast(pl.String) == "greedy")["flow"].sort()
    assert [panel.title for panel in plot.panels] == [f"flow {each} of greedy" for each in greedy]
    drawn = curve(plot, f"flow {greedy[0]} of greedy", "fast retransmit")
    rows = result.recoveries.filter(
        pl.col("flow") == greedy[0], pl.col("cause").cast(pl.String) == "fast-retransmit"
    )
    assert rows.height > 0
    assert list(drawn.x) == rows["time_s"].to_list()
    assert np.allclose(np.asarray(drawn.y) * 1000, rows["cwnd_bytes"].to_numpy())


def test_distributions_count_the_flows_of_all_runs(small: Scenario) -> None:
    results = replicate(small, seeds=[1, 2, 3])
    found, _ = sums_of(results)
    times = pl.concat([each.flows for each in results]).drop_nulls("sender_s")
    for by_class, wanted in ((False, times), (True, times.filter(pl.col("class") == 2))):
        plot = run_plots.completion_times(found, by_class=by_class)
        drawn = plot.panels[1 if by_class else 0].curves[0]
        assert plot.panels[0].x.scale == "log"
        for x, y in zip(drawn.x[1:], drawn.y[1:], strict=True):
            share = (wanted["sender_s"] <= float(x) + 1e-9).mean()
            assert y == pytest.approx(share)
        assert (drawn.y[0], drawn.y[-1]) == (0.0, 1.0)
    titles = [panel.title for panel in run_plots.completion_times(found, by_class=True).panels]
    assert titles == ["class 1: 500 bytes", "class 2: 5000 bytes", "class 3: 50\u202f000 bytes"]


def test_long_runs_have_bounded_charts(small: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observed, "MOST_POINTS", 500)
    own = small.with_value("samples", {"every": "1ms"})
    seen = observed.observe(own, seed=1)
    counted = seen.samples.group_by("object", "quantity").len()
    assert max(counted["len"].to_list()) <= 501
    assert counted.height == 4
    assert seen.every_s == pytest.approx(0.04)


def test_the_chosen_flow_is_the_first_with_a_timeout(lossy: Scenario) -> None:
    flows = run(lossy, seed=1).flows
    choice = FlowChoice()
    for start in range(0, flows.height, 7):
        choice.add(flows[start : start + 7])
    short = flows.filter(pl.col("timeouts") > 0, pl.col("segments") <= 60)
    row = choice.row()
    assert row is not None
    assert row["flow"] == short["flow"].min()
    without = FlowChoice()
    without.add(flows.filter(pl.col("timeouts") == 0))
    found = without.row()
    assert found is not None
    assert found["fast_retransmits"] > 0
    assert FlowChoice().row() is None


def test_the_sentence_says_what_repaired_the_loss(one: RunResult) -> None:
    flow = one.ladder()
    (response,) = one.recoveries.iter_rows(named=True)
    (row,) = one.flows.iter_rows(named=True)
    assert flow.row == row
    assert flow.sentence() == (
        "The flow sends 10\u202f000 bytes in 29 segments from 0.000 s. It is complete after "
        f"{row['sender_s']:.3f} s. The segment with the bytes 1 to 362, sent at 0.060 s, is lost on "
        f"the link. A fast retransmit repairs the loss at {response['time_s']:.3f} s, 0.041 s after "
        "the segment was sent."
    )
    assert "fast retransmit" in flow.svg()
    full = one.provenance.scenario.with_value("workload.page.sender", "reno+sack / full / iw=1")
    later = run(full).ladder().repair()
    assert later is not None
    assert later.cause == "timeout"
    assert later.time_s - later.lost.sent_s > 0.9
    clean = run(one.provenance.scenario.with_value("link.down.loss", None)).ladder()
    assert clean.repair() is None
    assert clean.sentence().endswith("None of its packets is lost.")


def test_a_traced_flow_has_the_packets_of_its_run(lossy: Scenario) -> None:
    result = run(dataclasses.replace(lossy, trace=("web",)), seed=1)
    flow = run(lossy, seed=1).ladder()
    number = flow.row["flow"]
    whole = result.packets.filter(pl.col("flow") == number).to_dicts()
    assert [dict(row) for row in flow.rows] == whole
    assert list(flow.recoveries) == result.recoveries.filter(pl.col("flow") == number).to_dicts()


def test_the_diagram_of_a_long_flow_shows_the_loss(small: Scenario) -> None:
    result = run(small)
    greedy = result.flows.filter(pl.col("workload").cast(pl.String) == "greedy")["flow"][0]
    flow = result.ladder(greedy)
    found = flow.repair()
    assert found is not None
    assert len(flow.shown()) == flow_trace.MOST_ARROWS < flow.total
    assert found.lost in flow.shown()
    assert flow.shown()[0] in paired(flow.rows)


def test_a_page_has_the_tables_of_the_text(
    tcpsf: Command, small_file: Path, tmp_path: Path
) -> None:
    target = tmp_path / "page.html"
    answer = tcpsf("sim", small_file, "--runs", "2", "--report", target)
    assert answer.status == 0
    page = target.read_text(encoding="utf-8")
    summary = page.partition('<section id="summary">')[2].partition("</section>")[0]
    found = [
        row
        for table in re.findall(r"<table>.*?</table>", summary, re.DOTALL)
        for row in Tables(table).rows
    ]
    assert len(found) > 5
    for row in found:
        assert any(line.split() == " ".join(row).split() for line in answer.out.splitlines()), row
    for outside in ("://", "url(", "@import"):
        assert outside not in page.replace("http://www.w3.org/2000/svg", "")
    headings = re.findall(r"<h3>(.*?)</h3>", page)
    assert headings[:5] == [
        "Completion times",
        "Completion times by size class",
        "Queues",
        "Utilisation",
        "Throughput",
    ]
    assert page.count('class="ladder"') == 1


def unpacked(page: str, chart: str) -> list[float]:
    """Values of the first dense curve of a chart, from the page."""
    part = page.partition(f'id="figure-{chart}"')[2]
    match = re.search(r'class="packed" data-count="(\d+)"[^>]*>([^<]*)<', part)
    assert match is not None
    count = int(match[1])
    content = zlib.decompress(base64.b64decode(match[2]))
    values = np.frombuffer(content, np.uint8, 4 * count, 4 * count).reshape(4, count)
    return list(struct.unpack(f"<{count}f", values.T.tobytes()))


def test_a_page_has_the_samples_of_the_scenario(
    tcpsf: Command, small: Scenario, tmp_path: Path
) -> None:
    own = small.with_value("samples", {"every": "2ms", "links": ["there"]})
    file, target = tmp_path / "own.toml", tmp_path / "page.html"
    file.write_text(own.to_toml(), encoding="utf-8")
    assert tcpsf("sim", file, "--report", target).status == 0
    rows = run(own).samples.filter(pl.col("quantity").cast(pl.String) == "queue_bytes")
    found = unpacked(target.read_text(encoding="utf-8"), "queues")
    assert len(found) == rows.height
    assert np.allclose(found, rows["value"].to_numpy() * 1e-3)


def test_the_same_seed_gives_the_same_page(
    tcpsf: Command, small_file: Path, tmp_path: Path
) -> None:
    pages = []
    for workers in ("1", "2"):
        target = tmp_path / f"{workers}.html"
        words = ("sim", small_file, "--seed", "5", "--runs", "3", "--workers", workers)
        assert tcpsf(*words, "--report", target).status == 0
        pages.append(target.read_bytes())
    assert pages[0] == pages[1]
    assert tcpsf("sim", small_file, "--seed", "6", "--report", tmp_path / "6.html").status == 0
    assert (tmp_path / "6.html").read_bytes() != pages[0]


def test_the_page_of_a_result_is_that_of_the_command(
    tcpsf: Command, small: Scenario, tmp_path: Path
) -> None:
    file = tmp_path / "small.toml"
    file.write_text(small.to_toml(), encoding="utf-8")
    assert tcpsf("sim", file, "--report", tmp_path / "a.html", "--flow", "3").status == 0
    result = run(Scenario.from_toml(file))
    assert result.report(tmp_path / "b.html", flow=3) == tmp_path / "b.html"
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_output_and_tables_do_not_depend_on_the_page(
    tcpsf: Command, small_file: Path, tmp_path: Path
) -> None:
    plain = tcpsf("sim", small_file, "--json", "--out", tmp_path / "plain")
    page = ("--report", tmp_path / "page.html")
    both = tcpsf("sim", small_file, "--json", "--out", tmp_path / "both", *page)
    assert plain == both
    names = sorted(path.name for path in (tmp_path / "plain").iterdir())
    assert "samples.parquet" not in names
    for name in names:
        assert (tmp_path / "plain" / name).read_bytes() == (tmp_path / "both" / name).read_bytes()


def test_pages_that_cannot_be_written(tcpsf: Command, small_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_text("mine", encoding="utf-8")

    def refused(*words: str | Path) -> str:
        answer = tcpsf("sim", small_file, *words)
        assert (answer.status, answer.out) == (2, "")
        error, hint = answer.err.splitlines()
        assert hint.startswith("hint: ")
        return error.removeprefix("error: ")

    assert refused("--report", target) == f"cannot write `{target}`: it already exists"
    assert target.read_text(encoding="utf-8") == "mine"
    assert "is not a folder" in refused("--report", tmp_path / "none" / "page.html")
    assert refused("--report", "-") == "cannot write `--report -`: a page is a file of its own"
    assert refused("--flow", "1") == "cannot draw a flow: `--flow 1` without `--report`"
    wrong = refused("--report", tmp_path / "new.html", "--flow", "99999")
    assert wrong == "cannot draw flow 99999: the run has no such flow"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "small.toml"]
    assert tcpsf("sim", small_file, "--report", target, "--force").status == 0
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_charts_that_do_not_exist_are_refused(one: RunResult, tmp_path: Path) -> None:
    with pytest.raises(TcpsfError, match="cannot draw link `left`") as wrong:
        one.plot_queue("left")
    assert wrong.value.hint == "expected `down`, `up`"
    (panel,) = one.plot_completion_times(by_class=True).panels
    assert panel.title == "class 1: 10\u202f000 bytes"
    slow = run(one.provenance.scenario.with_value("duration", "0.1s"))
    with pytest.raises(TcpsfError, match="no flow is complete"):
        slow.plot_completion_times()
    for number in (7, -1, 10**30):
        with pytest.raises(TcpsfError, match=f"cannot draw flow {number}"):
            one.ladder(number)
    with pytest.raises(OutputError, match="cannot write"):
        one.report(tmp_path / "none" / "page.html")
    one.report(tmp_path / "page.html")
    with pytest.raises(OutputError, match="already exists"):
        one.report(tmp_path / "page.html")
    clean = run(one.provenance.scenario.with_value("link.down.loss", None))
    with pytest.raises(TcpsfError, match="no loss and no recovery"):
        clean.plot_losses()
    old = dataclasses.replace(one.provenance, version="0.0.1")
    other = RunResult(provenance=old, batches=(), links=one.links)
    with pytest.raises(TcpsfError, match=r"the result is of tcpsf 0\.0\.1"):
        other.plot_throughput()


def test_charts_of_a_result_in_a_notebook(one: RunResult, tmp_path: Path) -> None:
    plots = [
        one.plot_completion_times(),
        one.plot_queue("down"),
        one.plot_throughput(),
        one.plot_utilisation(),
        one.plot_losses(),
        one.plot_windows(),
    ]
    assert [len(each.panels) for each in plots] == [1, 1, 2, 2, 2, 1]
    for each in plots:
        assert each._repr_html_().startswith("<iframe")
    shown = one.ladder()._repr_html_()
    assert unescape(shown).count("<svg") == 1
    assert one.ladder().save(tmp_path / "a.svg").read_text(encoding="utf-8") == one.ladder().svg()
    with pytest.raises(TcpsfError, match=r"unknown extension `\.png`"):
        one.ladder().save(tmp_path / "a.png")
    assert np.isfinite(np.asarray(plots[1].panels[0].curves[0].y)).all()
