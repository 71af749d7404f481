"""Tables II and III: published numbers, what is read from flows, the report. No network; `test_live.py` has that."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from conftest import REPOSITORY
from test_cli import schema

from tcpsf.evaluation.data import Report
from tcpsf.live import estimates
from tcpsf.live.experiment import Experiment
from tcpsf.live.experiment_result import DOCUMENTED, Live, LiveStore
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_testbed as testbed
from tcpsf.report.evaluation_page import page
from tcpsf.report.evaluation_text import as_text
from tcpsf.reproduce.smart_framing.testbed import LiveScale, evaluate, prepare
from tcpsf.reproduce.smart_framing.testbed_read import PathResult
from tcpsf.runs import run

CLASSIC, VS, FS = (variant.sender for variant in paper.VARIANTS)
TINY = LiveScale(name="quick", simulated=3000, seconds={0.01: 1.0, 0.02: 1.0, 0.05: 1.0, 0.10: 1.0})


def test_table_2_is_whole() -> None:
    """Every recovery is the one or the other."""
    assert len(testbed.TABLE_2) == 4
    for host in testbed.TABLE_2:
        assert host.classic_fast + host.classic_timeout == pytest.approx(100.0)
        assert host.framed_fast + host.framed_timeout == pytest.approx(100.0)
    ratios = [host.framed_fast / host.classic_fast for host in testbed.TABLE_2]
    assert sum(ratios) / 4 == pytest.approx(testbed.TIMES_AS_OFTEN, abs=0.5)


def test_table_3_and_the_draft_are_the_same_measurement() -> None:
    settings = [
        testbed.LinkSetting(drop, ms) for drop in testbed.DROPS for ms in testbed.LATENCIES_MS
    ]
    assert list(testbed.TABLE_3) == list(testbed.DRAFT_TABLE) == settings
    odd = []
    for setting, row in testbed.TABLE_3.items():
        for ours, theirs in zip(
            (row.classic, row.framed), testbed.DRAFT_TABLE[setting], strict=True
        ):
            assert ours.timer_ms == theirs.timer_ms
            together = round(ours.timeout_percent + theirs.fast_percent, 1)
            if together != 100.0:
                odd.append((setting, together))
    assert odd == [(settings[7], 110.0), (settings[8], 110.0)]


def test_objects_are_those_of_table_1_below_10_kb() -> None:
    assert paper.CLASS_BYTES[:12] == testbed.OBJECT_BYTES


def simulated_as_live(experiment: Experiment, *, progress: Callable[[float], None]) -> Live:
    """Flows of the simulator in the place of live ones: the report must find the two alike."""
    frames = []
    for number, sender in enumerate(experiment.senders):
        found = run(experiment.simulated(sender, head_bytes=0, flows=3000), seed=100 + number).flows
        frames.append(
            found.select(
                variant=pl.lit(sender),
                size_bytes="size_bytes",
                completion_s="receiver_s",
                idle_s=pl.lit(0.0),
                server_s=pl.col("receiver_s") + 0.1,
                fast_retransmits=pl.col("fast_retransmits").cast(pl.Int64),
                timeouts=pl.col("timeouts").cast(pl.Int64),
                rto_s=pl.lit(0.2),
                failure=pl.lit(""),
                received_bytes="size_bytes",
                head_bytes=pl.lit(220),
                segments="segments",
            )
        )
    progress(1.0)
    return Live(experiment=experiment, flows=pl.concat(frames), link=LINK, server={})


DOWN = {
    "offered_packets": 1000,
    "dropped_loss_packets": 10,
    "missed_packets": 0,
    "timing_error_median_s": 4e-5,
    "timing_error_p99_s": None,
}
LINK = {"down": DOWN, "up": {"offered_packets": 700, "missed_packets": 0}}


@pytest.fixture(scope="module")
def made() -> Mapping[str, tuple[Report, Mapping[str, PathResult]]]:
    return {
        which: evaluate(prepare(which, scale=TINY), measure=simulated_as_live)
        for which in ("table-2", "table-3")
    }


@pytest.mark.parametrize("which", ["table-2", "table-3"])
def test_a_report_is_data_text_and_page(made: Any, which: str) -> None:
    report, cells = made[which]
    jsonschema.validate(report.to_dict(), schema("evaluation"))
    told = as_text(report, tables=True)
    shown = page(report)
    for name in cells:
        assert name in told
        assert name in shown
    assert "live" in told
    assert report.provenance.seeds == tuple(cell.live.experiment.seed for cell in cells.values())
    assert report.provenance.command.startswith(
        f"tcpsf reproduce smart-framing {which} --quick --seed 1"
    )


def test_published_values_stand_beside_ours(made: Any) -> None:
    report, _ = made["table-3"]
    table, drafts = report.sections[0].tables
    assert len(table.rows) == len(drafts.rows) == 27
    row = next(row for row in table.rows if row.label == "0.05, 100 ms, FS")
    assert [cell.published for cell in row.cells] == [8227.0, 652, 16.0, 3.48, None]
    assert all(cell.ours is not None for cell in row.cells)
    row = next(row for row in drafts.rows if row.label == "0.05, 100 ms, FS")
    assert [cell.published for cell in row.cells] == [652, 84.0]
    assert all(cell.ours is not None for cell in row.cells)
    report, _ = made["table-2"]
    (table,) = report.sections[0].tables
    assert [cell.published for cell in table.rows[0].cells] == [24.2, 75.8]
    assert len(table.rows) == 8 + 12


def test_claims_hold_where_the_simulator_is_the_network(made: Any) -> None:
    """The simulator's flows as live ones: framing has fewer timeouts, and the two agree or more flows are needed."""
    report, _ = made["table-3"]
    verdicts = {
        finding.key: finding.verdict for section in report.sections for finding in section.findings
    }
    assert verdicts["table-3-fewer-timeouts-fs"] == "holds"
    assert verdicts["table-3-simulated-fast"] != "does not hold"
    assert verdicts["table-3-simulated-time"] != "does not hold"
    assert verdicts["every-byte"] == verdicts["no-failure"] == "holds"


def test_several_objects_a_connection_are_not_simulated() -> None:
    def measured(experiment: Experiment, *, progress: Callable[[float], None]) -> Live:
        live = simulated_as_live(replace(experiment, objects=1), progress=progress)
        return replace(live, experiment=experiment)

    wanted = prepare("table-3", scale=TINY, objects=4)
    assert wanted.command.endswith("--objects 4")
    assert all(len(sizes) == 4 for sizes in wanted.experiments[0].fetches()[1])
    report, _ = evaluate(wanted, measure=measured)
    assert [section.key for section in report.sections] == ["table-3", "conditions"]


def proxied_flows(experiment: Experiment, *, progress: Callable[[float], None]) -> Live:
    """Made-up flows of 4 and 40 kB, half of them with a loss: Classic has a timeout, framed senders one of five."""
    chance = random.Random(experiment.seed)  # noqa: S311  not for secrets
    rows = []
    for number in range(1200):
        sender = experiment.senders[number % len(experiment.senders)]
        lost = chance.random() < 0.5
        late = lost and (sender == CLASSIC or chance.random() < 0.2)
        busy_s = 0.1 + 0.5 * late + 0.05 * chance.random()
        rows.append(
            {
                "variant": sender,
                "size_bytes": chance.choice((4_000, 9_999, 10_000, 40_000)),
                "completion_s": busy_s + 0.2,
                "idle_s": 0.2,
                "server_s": busy_s + 1.3,
                "fast_retransmits": int(lost and not late),
                "timeouts": int(late),
                "rto_s": 0.2 + 0.1 * late,
                "failure": "",
                "received_bytes": 1,
                "head_bytes": 220,
                "segments": 4,
            }
        )
    progress(1.0)
    return Live(experiment=experiment, flows=pl.DataFrame(rows), link=LINK, server={})


def test_through_the_proxy_flows_are_divided_at_10_kb() -> None:
    wanted = prepare("table-3", scale=TINY, through="proxy")
    assert (
        wanted.command == "tcpsf reproduce smart-framing table-3 --quick --seed 1 --through proxy"
    )
    assert {each.sizes for each in wanted.experiments} == {paper.CLASS_BYTES}
    assert all(each.through == "proxy" and each.browsing is not None for each in wanted.experiments)
    report, cells = evaluate(wanted, measure=proxied_flows)
    jsonschema.validate(report.to_dict(), schema("evaluation"))
    assert [section.key for section in report.sections] == ["table-3", "conditions"]
    assert report.title.endswith(", through a proxy")
    short, drafts, long = report.sections[0].tables
    assert [table.key for table in (short, drafts, long)] == [
        "table-3",
        "draft-paths",
        "table-3-long",
    ]
    for row in range(27):
        name = short.rows[row].label
        live = cells[name.rpartition(", ")[0]].live
        sender = (CLASSIC, VS, FS)[row % 3]
        counts = [value(table.rows[row].cells[0]) for table in (short, long)]
        assert sum(counts) == estimates.of(live.flows, sender).height
        below = live.flows.filter((pl.col("variant") == sender) & (pl.col("size_bytes") < 10_000))
        assert counts[0] == below.height
        late, fast = value(short.rows[row].cells[2]), value(drafts.rows[row].cells[1])
        assert late + fast == pytest.approx(100.0)
    # Idle times are the same for all here, so both differences are what a timeout costs.
    saved = short.rows[2].cells
    assert value(saved[3]) == pytest.approx(value(saved[4]))
    assert value(saved[4]) == pytest.approx(0.4, abs=0.08)
    assert [cell.published for cell in long.rows[2].cells if not isinstance(cell, str)] == [
        None
    ] * 5
    verdicts = {finding.key: finding.verdict for finding in report.sections[0].findings}
    for key in (
        "table-3-fewer-timeouts-fs",
        "draft-paths-more-fast-fs",
        "table-3-long-fewer-timeouts-fs",
    ):
        assert verdicts[key] == "holds"
    told = " ".join(report.sections[0].items)
    assert "3GPP2 C.R1002-0" in told
    assert "Fig. 8" in told
    assert "flows of 10 kB and more" in page(report)


def value(cell: Any) -> float:
    """Of a table's cell, ours."""
    assert cell.ours is not None
    return float(cell.ours.value)


def test_failures_are_told() -> None:
    def broken(experiment: Experiment, *, progress: Callable[[float], None]) -> Live:
        live = simulated_as_live(experiment, progress=progress)
        bad = pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("wrong bytes")).otherwise(pl.lit(""))
        return Live(
            experiment=experiment, flows=live.flows.with_columns(failure=bad), link=LINK, server={}
        )

    report, _ = evaluate(prepare("table-2", scale=TINY), measure=broken)
    verdicts = {finding.key: finding.verdict for finding in report.sections[-1].findings}
    assert verdicts == {
        "every-byte": "does not hold",
        "no-failure": "does not hold",
        "no-packet-missed": "holds",
    }
    assert "1 × wrong bytes" in as_text(report, tables=True)


def test_finished_paths_are_kept(tmp_path: Path) -> None:
    store = LiveStore(tmp_path)
    calls = []

    def counted(experiment: Experiment, *, progress: Callable[[float], None]) -> Live:
        calls.append(experiment.name)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return simulated_as_live(experiment, progress=progress)

    wanted = prepare("table-2", scale=TINY)
    with pytest.raises(KeyboardInterrupt):
        evaluate(wanted, measure=counted, store=store)
    there: list[int] = []
    first, _ = evaluate(wanted, measure=counted, store=store, found=there.append)
    assert there == [2]
    assert len(calls) == 3 + 2
    second, _ = evaluate(wanted, measure=counted, store=store)
    assert len(calls) == 3 + 2
    assert [section.to_dict() for section in first.sections] == [
        section.to_dict() for section in second.sections
    ]


def test_a_damaged_file_counts_as_not_there(tmp_path: Path) -> None:
    store = LiveStore(tmp_path)
    experiment = prepare("table-2", scale=TINY).experiments[0]
    live = simulated_as_live(experiment, progress=lambda _share: None)
    store.save(live)
    again = store.load(experiment)
    assert again is not None
    assert again.flows.equals(live.flows)
    for file in list(tmp_path.iterdir()):
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
        assert store.load(experiment) is None
        file.write_bytes(whole)
    assert store.load(experiment) is not None
    other = prepare("table-2", scale=TINY, seed=2).experiments[0]
    assert store.load(other) is None


def test_columns_are_documented() -> None:
    assert set(estimates.COLUMNS) <= set(DOCUMENTED)


def test_the_columns_are_those_of_the_reference_page() -> None:
    told = (REPOSITORY / "docs" / "reference" / "live-tables.md").read_text(encoding="utf-8")
    for name, what in DOCUMENTED.items():
        assert f"| `{name}` | {what} |" in told


def test_table_2_lists_no_assumption_about_table_3() -> None:
    """Table II has one file size and no timers, times or numbers of objects."""
    told = " ".join(testbed.READINGS_2)
    for word in ("RT is", "Objects", "--objects", "Completion time", "--law per-byte"):
        assert word not in told
        assert word in " ".join(testbed.READINGS)
    assert set(testbed.READINGS_2) < set(testbed.READINGS)
    assert "%FR and %RTO are" in told


def test_a_note_about_long_means_stands_only_where_there_are_any() -> None:
    from tcpsf.evaluation.exhibit import series
    from tcpsf.evaluation.judge import exact
    from tcpsf.reproduce.smart_framing.exhibit_parts import UNSTABLE_S, unstable

    calm = series("fs", "FS", [0.1, 0.9], [exact(1.0), exact(7.0)])
    assert unstable([calm]) == ()
    (note,) = unstable([calm, series("vs", "VS", [0.9], [exact(2 * UNSTABLE_S)])])
    assert f"above {UNSTABLE_S:g} s" in note
