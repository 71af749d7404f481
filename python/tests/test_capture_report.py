"""The page of an analysed capture, the choice of its connections, and sizes for a scenario."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import Command
from test_captures import LINUX, captured

from tcpsf import Pcap, Scenario, TcpsfError, run
from tcpsf.captures import CaptureReader, CaptureTables, analyze
from tcpsf.captures.capture_summary import CAUSES, NEEDED, CaptureSummary
from tcpsf.captures.report import drawn_flows, report, sequence_plot
from tcpsf.captures.report.capture_page import CaptureFigures
from tcpsf.captures.report.cost_figures import GROUPS, group_of, verdict
from tcpsf.captures.report.drawn_flows import FlowSelection, second_pass
from tcpsf.captures.report.flow_lengths import FlowLengths
from tcpsf.captures.report.server_completion import CompletionTimes
from tcpsf.chart import marks
from tcpsf.distribution import EXACT

WEB = """\
name = "web"
duration = "20s"

[[link]]
name = "there"
from = "a"
to = "b"
rate = "10Mb/s"
delay = "20ms"
loss = { kind = "packet", probability = 0.05 }

[[link]]
name = "back"
from = "b"
to = "a"
delay = "20ms"

[[workload]]
name = "web"
kind = "poisson"
from = "a"
to = "b"
load = 0.2
of = "there"
sizes = SIZES
sender = "linux"
handshake = true
opener = "receiver"

[tcp]
profile = "linux-6.18"
"""


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of some hundred replies with losses."""
    path = tmp_path_factory.mktemp("web") / "web.pcapng"
    scenario = Scenario.from_toml_text(WEB.replace("SIZES", "{ classes = [400, 4000, 40000] }"))
    run(scenario, seed=1, pcap=Pcap(path=path))
    return path


def read(path: Path) -> tuple[CaptureReader, list[CaptureTables]]:
    reader = CaptureReader(path)
    return reader, list(reader.batches())


class TestPage:
    def test_a_page_has_every_part(self, tcpsf: Command, web: Path, tmp_path: Path) -> None:
        target = tmp_path / "page.html"
        answer = tcpsf("analyze", web, "--report", target)
        assert (answer.status, answer.err) == (0, "")
        page = target.read_text(encoding="utf-8")
        keys = ["verdict", "costs", "episodes", "loss-law", "completion", "lengths", "sequences"]
        assert re.findall(r'<section id="([\w-]+)">', page) == keys
        for key in ("lost-time", "completion-density", "completion-distribution", "flow-lengths"):
            assert f'id="figure-{key}"' in page
        assert len(re.findall(r'id="figure-flow-\d+-(?:originator|responder)"', page)) == 4
        assert "sent again: " in page
        assert 'id="figure-loss-by-size-responder"' in page
        for outside in ("http:", "https:", "<link", "src="):
            assert outside not in page.replace("http://www.w3.org/2000/svg", "")
        assert "already exists" in tcpsf("analyze", web, "--report", target).err
        assert tcpsf("analyze", web, "--report", target, "--force").status == 0

    def test_python_writes_the_same_page(self, tcpsf: Command, web: Path, tmp_path: Path) -> None:
        one, other = tmp_path / "one.html", tmp_path / "other.html"
        assert tcpsf("analyze", web, "--report", one, "--flow", "3").status == 0
        assert report(web, other, flows=[3]) == other
        assert one.read_bytes() == other.read_bytes()
        words = ["--vantage", "sender", "--sender", "rfc", "--force"]
        assert tcpsf("analyze", web, "--report", one, *words).status == 0
        report(web, other, vantage="sender", sender="rfc")
        assert one.read_bytes() == other.read_bytes()
        assert "sent again: RACK" not in one.read_text(encoding="utf-8")
        with pytest.raises(TcpsfError, match="no such connection"):
            report(web, other, flows=[999_999])
        with pytest.raises(TcpsfError, match="only once"):
            report("-", other)

    def test_a_capture_without_losses(self, tcpsf: Command, tmp_path: Path) -> None:
        path = captured(tmp_path, sender=LINUX, profile="linux-6.18", size=14480, drops="0")
        target = tmp_path / "page.html"
        assert tcpsf("analyze", path, "--report", target).status == 0
        page = target.read_text(encoding="utf-8")
        assert "No data was sent again" in page
        assert 'id="costs"' not in page
        assert "too few for 15 classes" in page

    def test_what_a_page_cannot_show(self, tcpsf: Command, web: Path, tmp_path: Path) -> None:
        target = tmp_path / "page.html"
        for words, problem in (
            ([web, web, "--report", target], "2 captures are given"),
            ([web, "--flow", "3"], "`--flow` `3` without `--report`"),
            (
                [web, "--report", target, "--flow", "999999"],
                "cannot draw `999999`: the capture has no such connection",
            ),
            ([web, "--report", target, "--explain", "1"], "were both given"),
            ([web, "--report", "-"], "a page is a file of its own"),
        ):
            answer = tcpsf("analyze", *words)
            assert (answer.status, answer.out) == (2, "")
            assert problem in answer.err
        assert not target.exists()

    def test_standard_input_needs_ends(self, tcpsf: Command, tmp_path: Path) -> None:
        target = tmp_path / "page.html"
        refused = tcpsf("analyze", "-", "--report", target, "--flow", "3")
        assert refused.status == 2
        assert "numbers of connections are not known before standard input is read" in refused.err

    def test_standard_input_draws_named_ends(self, web: Path, tmp_path: Path) -> None:
        row = analyze(web).tables.flows.filter(direction="responder").row(5, named=True)
        name = f"{row['destination']}:{row['destination_port']}"
        for words, figures in (([], 0), (["--flow", name], 1)):
            target = tmp_path / f"page-{figures}.html"
            with web.open("rb") as capture:
                command = [sys.executable, "-m", "tcpsf", "analyze", "-", "--report", str(target)]
                subprocess.run(
                    [*command, *words], stdin=capture, check=True, capture_output=True, timeout=60
                )
            page = target.read_text(encoding="utf-8")
            assert len(re.findall(r'id="figure-flow-\d', page)) == figures
            assert ("Standard input can be read only once" in page) == (figures == 0)


def test_the_verdict_counts_episodes_and_time(web: Path) -> None:
    summary = CaptureSummary()
    reader, batches = read(web)
    for batch in batches:
        summary.add(batch)
    data = summary.to_dict(reader.facts())
    text = verdict(data)
    causes = data["causes"]
    episodes = sum(cause["episodes"] for cause in causes)
    assert f"It has {episodes} loss episodes" in text
    assert f"In {sum(cause['spurious_episodes'] for cause in causes)} of the episodes" in text
    assert "a retransmission timeout in " in text
    assert "% of the lost time" in text
    assert verdict(data | {"causes": []}).endswith("there is no loss episode.")


def test_a_summary_of_the_needed_columns_is_that_of_all(web: Path) -> None:
    found = []
    for needed in (None, NEEDED):
        summary, reader = CaptureSummary(), CaptureReader(web)
        for batch in reader.batches(needed=needed):
            assert needed is None or set(needed.flows or ()) == set(batch.flows.columns)
            summary.add(batch)
        found.append(summary.to_dict(reader.facts()))
    assert found[0] == found[1]


def test_every_cause_has_a_group_and_a_colour() -> None:
    assert sorted(CAUSES) == sorted(cause for causes in GROUPS.values() for cause in causes)
    styles = [marks.STYLES[f"repair:{cause}"] for cause in CAUSES]
    assert len(set(styles)) == len(CAUSES)
    assert group_of("syn_timeout") == "timeouts"


class TestSelection:
    def test_the_longest_episodes_are_drawn(self, web: Path) -> None:
        selection = FlowSelection()
        reader, batches = read(web)
        for batch in batches:
            selection.add(batch)
        drawn = second_pass(reader, selection)
        tables = analyze(web).tables
        data = tables.flows.filter(pl.col("unique_bytes") > 0)
        episodes = tables.episodes.join(data, on=["flow", "direction"], how="semi")
        episodes = episodes.filter(~pl.col("cause").str.starts_with("syn_"))
        worst = episodes.group_by("flow").agg(pl.col("delay_s").max())
        expected = worst.sort("delay_s", "flow", descending=[True, False])["flow"].head(4)
        assert [flow.data["flow"] for flow in drawn] == expected.to_list()
        for flow in drawn:
            both = flow.data["packets"] + flow.reply["packets"]
            assert (len(flow.packets), flow.left_out) == (both, 0)
            assert flow.packets.filter("data")["payload_bytes"].sum() == flow.data["payload_bytes"]

    def test_long_connections_keep_the_packets_around_their_loss(
        self, web: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        selection = FlowSelection()
        reader, batches = read(web)
        for batch in batches:
            selection.add(batch)
        monkeypatch.setattr(drawn_flows, "MOST_PACKETS", 4 * 10)
        drawn = second_pass(reader, selection)
        assert any(flow.left_out for flow in drawn)
        for flow in drawn:
            both = flow.data["packets"] + flow.reply["packets"]
            assert len(flow.packets) == both - flow.left_out == min(both, 10)
            longest = flow.episodes.sort("delay_s", descending=True).row(0, named=True)
            assert longest["repaired_frame"] in flow.packets["frame"]
            sequence_plot.sequence_plot(flow, key="flow").html()

    def test_names_choose_connections(self, web: Path) -> None:
        reader, batches = read(web)
        row = batches[0].flows.filter(direction="responder").row(5, named=True)
        client = (row["destination"], row["destination_port"])
        for name in (row["flow"], (client, (None, None)), ((row["source"], None), client)):
            selection = FlowSelection([name])
            for batch in batches:
                selection.add(batch)
            (drawn,) = second_pass(reader, selection)
            assert drawn.data["flow"] == row["flow"]


class TestSequence:
    def test_positions_are_those_of_the_data(self, tmp_path: Path) -> None:
        path = captured(tmp_path, sender=LINUX, profile="linux-6.18", size=14480, drops="0,1,0,0,1")
        reader, batches = read(path)
        selection = FlowSelection([0])
        for batch in batches:
            selection.add(batch)
        (flow,) = second_pass(reader, selection)
        plot = sequence_plot.sequence_plot(flow, key="flow")
        curves = {curve.label: curve for curve in plot.panels[0].curves}
        segments = curves["segments"]
        assert sorted(set(np.asarray(segments.low)))[1:11] == [1448 * n for n in range(10)]
        assert max(np.asarray(segments.high)) >= 14480
        assert list(np.asarray(curves["acknowledged"].y))[-1] >= 14480
        again = [curve for label, curve in curves.items() if label.startswith("sent again: ")]
        assert sorted(at for curve in again for at in np.asarray(curve.low)) == [1448, 4 * 1448]
        assert np.asarray(curves["SACK blocks"].low).min() == 2 * 1448
        assert (np.asarray(curves["end of the advertised window"].y) > 14480).all()

    def test_sequence_numbers_wrap(self) -> None:
        numbers = np.array([2**32 - 2, 10, 2**32 - 2, 5, 2**31 + 4], np.uint32)
        assert (sequence_plot._unwrapped(numbers) - 2**32 + 2).tolist() != []
        assert sequence_plot._unwrapped(numbers).tolist() == [0, 12, 0, 7, 7 + 2**31 - 1]


class TestLengths:
    def test_classes_have_the_same_number_of_flows(self) -> None:
        lengths = FlowLengths()
        lengths.add(pl.Series([*range(1, 31), 0]))
        classes = lengths.classes()
        assert [(each.least, each.most, each.mean) for each in classes] == [
            (n, n + 1, n + 0.5) for n in range(1, 31, 2)
        ]
        assert lengths.classes(31) == []

    def test_many_lengths_become_bins(self) -> None:
        lengths, exact = FlowLengths(), np.random.default_rng(1).lognormal(8, 2, EXACT + 50)
        values = np.maximum(exact.astype(np.int64), 1)
        lengths.add(pl.Series(values))
        assert (lengths.is_exact, len(lengths)) == (False, EXACT + 50)
        means = [part.mean() for part in np.array_split(np.sort(values), 15)]
        assert [each.mean for each in lengths.classes()] == pytest.approx(means, rel=0.01)
        total = sum(each.mean * each.flows for each in lengths.classes())
        assert total == pytest.approx(values.sum(), rel=1e-9)
        assert list(lengths.up_to(100))[-1][1] == 1.0

    def test_a_scenario_reads_the_sizes(self, tcpsf: Command, web: Path, tmp_path: Path) -> None:
        sizes = tmp_path / "sizes.txt"
        assert tcpsf("analyze", web, "--sizes", sizes).status == 0
        file = tmp_path / "again.toml"
        file.write_text(WEB.replace("SIZES", '{ file = "sizes.txt" }'), encoding="utf-8")
        (workload,) = json.loads(Scenario.from_toml(file).to_json())["workload"]
        assert len(workload["sizes"]["classes"]) == 15
        assert tcpsf("sim", file, "--set", "duration=2s").status == 0

    def test_few_connections_have_no_classes(self, tcpsf: Command, tmp_path: Path) -> None:
        path = captured(tmp_path, sender=LINUX, profile="linux-6.18", size=14480, drops="0")
        sizes = tmp_path / "sizes.txt"
        answer = tcpsf("analyze", path, "--sizes", sizes)
        assert (answer.status, sizes.exists()) == (2, False)
        assert "15 classes need at least 15 connections" in answer.err


class TestCompletion:
    def test_a_timer_is_a_peak(self) -> None:
        times = CompletionTimes()
        times.add(pl.Series([0.0, None, *[0.05 * 1.01**n for n in range(90)], *[0.2] * 60]))
        assert (len(times), times.single) == (151, 1)
        rows = times.density()
        highest = max(rows, key=lambda row: row["y"])
        assert abs(np.log10(highest["x"] / 0.2)) <= 0.5 / times.bins_per_decade
        area = sum(row["y"] for row in rows) / times.bins_per_decade
        assert area == pytest.approx(150 / 151)

    def test_the_distribution_begins_with_single_segments(self) -> None:
        times = CompletionTimes()
        times.add(pl.Series([0.0, 0.0, 0.1, 1.0]))
        shares = [row["y"] for row in times.distribution()]
        assert (shares[0], shares[-1]) == (0.5, 1.0)

    def test_without_replies_the_originators_count(self, tmp_path: Path) -> None:
        path = captured(tmp_path, sender=LINUX, profile="linux-6.18", size=14480, drops="0,1")
        figures = CaptureFigures()
        for batch in read(path)[1]:
            figures.add(batch)
        assert (figures.side, len(figures.lengths)) == ("originator", 1)
