"""Tables II and III: published numbers, what is read from flows, the report. No network; `test_live.py` has that."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from conftest import REPOSITORY, Answer
from test_cli import schema

from tcpsf import TcpsfError
from tcpsf.evaluation.data import Report
from tcpsf.live import measure
from tcpsf.live.experiment import Experiment, Kernel
from tcpsf.live.result import DOCUMENTED, Live, LiveStore
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_testbed as testbed
from tcpsf.report.evaluation_page import page
from tcpsf.report.evaluation_text import as_text
from tcpsf.reproduce.smart_framing.testbed import LiveScale, evaluate, prepare, setting_name
from tcpsf.reproduce.smart_framing.testbed_read import Cell
from tcpsf.runs import run
from tcpsf.scenario import BurstLoss, PacketLoss

CLASSIC, VS, FS = (variant.sender for variant in paper.VARIANTS)

TINY = LiveScale(name="quick", simulated=3000, seconds={0.01: 1.0, 0.02: 1.0, 0.05: 1.0, 0.10: 1.0})


def flows(sender: str, rows: list[tuple[float | None, int, int, float]]) -> pl.DataFrame:
    """Made-up flows: completion time, fast retransmits, timeouts, timer."""
    columns = ("completion_s", "fast_retransmits", "timeouts", "rto_s")
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    server_s = pl.col("completion_s") + 1.0
    return frame.with_columns(
        variant=pl.lit(sender), size_bytes=pl.lit(1650), idle_s=pl.lit(0.0), server_s=server_s
    )


def test_table_2_is_whole() -> None:
    """Every recovery is the one or the other."""
    assert len(testbed.TABLE_2) == 4
    for host in testbed.TABLE_2:
        assert host.classic_fast + host.classic_timeout == pytest.approx(100.0)
        assert host.framed_fast + host.framed_timeout == pytest.approx(100.0)
    ratios = [host.framed_fast / host.classic_fast for host in testbed.TABLE_2]
    assert sum(ratios) / 4 == pytest.approx(testbed.TIMES_AS_OFTEN, abs=0.5)


def test_table_3_and_the_draft_are_the_same_measurement() -> None:
    settings = [testbed.Setting(drop, ms) for drop in testbed.DROPS for ms in testbed.LATENCIES_MS]
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


@pytest.mark.parametrize("law", testbed.LAWS)
@pytest.mark.parametrize("drop", testbed.DROPS)
def test_both_laws_lose_a_full_size_packet_with_the_same_probability(
    law: testbed.Law, drop: float
) -> None:
    """Simulated: how many of full-size packets, and of small ones, are lost."""
    experiment = prepare("table-3", law=law).experiments[0]
    loss = testbed.loss(drop, law)
    quarter = drop / 4 if law == "proportional" else 1 - (1 - drop) ** 0.25
    for payload, expected in ((1460, drop), (335, quarter)):
        scenario = experiment.simulated(CLASSIC, head_bytes=0, flows=10)
        scenario = scenario.with_value("link.0.loss", {"kind": loss.kind, **_plain(loss)})
        scenario = scenario.with_value("workload.web.sizes", {"classes": [payload]})
        scenario = scenario.with_value("workload.web.handshake", False).with_value(
            "duration", "300s"
        )
        scenario = scenario.with_value("tcp.timestamps", False).with_value("tcp.mss", 1460)
        link = run(scenario, seed=3).links.row(0, named=True)
        share, tries = (
            link["dropped_loss_packets"] / link["offered_packets"],
            link["offered_packets"],
        )
        assert abs(share - expected) < 4 * (expected / tries) ** 0.5, payload


def _plain(loss: Any) -> dict[str, Any]:
    return {name: getattr(loss, name) for name in loss.__dataclass_fields__}


def test_shares_and_means_over_flows() -> None:
    found = flows(FS, [(0.1, 0, 0, 0.2), (0.3, 1, 0, 0.2), (0.9, 1, 2, 0.8), (None, 0, 4, 3.2)])
    share = measure.timeout_percent(found)
    assert share is not None
    assert share.value == pytest.approx(75.0)
    assert share.runs == 4
    fast = measure.fast_percent(found)
    assert fast is not None
    assert fast.value == pytest.approx(25.0)
    assert share.interval is not None
    assert fast.interval == pytest.approx((100.0 - share.interval[1], 100.0 - share.interval[0]))
    timer, time = measure.timer_ms(found), measure.completion_s(found)
    assert timer is not None
    assert timer.value == pytest.approx(1100.0)
    assert time is not None
    assert time.value == pytest.approx(1.3 / 3)
    assert time.runs == 3
    assert measure.recoveries(found) == 8


def test_saved_time_is_over_flows_with_a_loss() -> None:
    classic = flows(CLASSIC, [(0.1, 0, 0, 0.2), (0.5, 0, 1, 0.2), (0.7, 0, 1, 0.2)])
    framed = flows(FS, [(5.0, 0, 0, 0.2), (0.2, 1, 0, 0.2), (0.4, 1, 0, 0.2)])
    saved = measure.saved_s(classic, framed)
    assert saved is not None
    assert saved.value == pytest.approx(0.3)
    one = measure.completion_s(measure.with_a_loss(classic))
    assert one is not None
    # Both intervals are cut off at zero, so the difference reaches as far down as one goes up and
    # down together.
    half = one.high - one.value
    assert saved.high - saved.value == pytest.approx(math.hypot(half, 0.3))


def test_nothing_is_made_of_nothing() -> None:
    quiet = flows(FS, [(0.1, 0, 0, 0.2), (0.2, 0, 0, 0.2)])
    assert measure.timeout_percent(quiet) is None
    assert measure.saved_s(quiet, quiet) is None
    assert measure.completion_s(quiet.head(0)) is None


def test_an_interval_covers_what_it_should() -> None:
    """Of many samples of flows whose share is known, about 95 % have it in their interval."""
    chance = random.Random(7)  # noqa: S311  not for secrets
    covered = 0
    for _ in range(400):
        rows: list[tuple[float | None, int, int, float]] = []
        for _ in range(300):
            lost = chance.random() < 0.2
            fast = lost and chance.random() < 0.6
            rows.append((0.1, int(fast), int(lost and not fast), 0.2))
        found = measure.fast_percent(flows(FS, rows))
        assert found is not None
        covered += found.low <= 60.0 <= found.high
    assert 0.92 * 400 < covered < 0.98 * 400


def test_paths_have_seeds_of_their_own() -> None:
    experiments = prepare("table-3", seed=5).experiments
    assert [each.seed for each in experiments] == list(range(5, 14))
    assert [each.name for each in experiments] == [setting_name(each) for each in testbed.TABLE_3]
    starts, sizes = experiments[0].fetches()
    assert (starts, sizes) == experiments[0].fetches()
    assert sizes != experiments[1].fetches()[1]
    assert starts == sorted(starts)
    assert {size for (size,) in sizes} == set(testbed.OBJECT_BYTES)
    expected = experiments[0].rate * experiments[0].duration_s
    assert abs(len(starts) - expected) < 5 * expected**0.5


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"rate": 0.0}, "`rate` is 0"),
        ({"duration_s": float("nan")}, "`duration_s` is nan"),
        ({"rate": 1e4, "duration_s": 60.0}, "too many"),
        ({"senders": ()}, "no senders"),
        ({"sizes": ()}, "no sizes"),
        ({"sizes": (0,)}, "size is 0"),
        ({"objects": 0}, "fetches 0 files"),
        ({"latency_ms": -1}, "-1 ms"),
        ({"latency_up_ms": -2}, "-2 ms"),
        ({"kernel": Kernel()}, "it has both `senders` and `kernel`"),
        ({"senders": (), "kernel": Kernel(initial_window=0)}, "initial window is 0"),
        ({"receive_buffer": 0}, "receive buffer is 0"),
    ],
)
def test_an_experiment_that_makes_no_sense(changes: dict[str, Any], told: str) -> None:
    values: dict[str, Any] = {
        "name": "x",
        "latency_ms": 20,
        "loss": PacketLoss(probability=0.1),
        "senders": (FS,),
        "sizes": (100,),
        "rate": 10.0,
        "duration_s": 1.0,
    }
    with pytest.raises(TcpsfError, match=told) as caught:
        Experiment(**(values | changes))
    assert caught.value.hint


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
def made() -> Mapping[str, tuple[Report, Mapping[str, Cell]]]:
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
        assert sum(counts) == measure.of(live.flows, sender).height
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


def test_objects_take_the_place_of_sessions() -> None:
    wanted = prepare("table-3", scale=TINY, through="proxy", objects=2, rate=50.0)
    assert wanted.command.endswith("--through proxy --objects 2 --rate 50")
    assert all(each.browsing is None and each.objects == 2 for each in wanted.experiments)
    report, _ = evaluate(wanted, measure=proxied_flows)
    assert "3GPP2" not in " ".join(report.sections[0].items)
    assert "Fig. 8" in " ".join(report.sections[0].items)


def test_every_sender_is_asked_for_the_same() -> None:
    """What is drawn depends on the seed alone, and through proxy and server connections begin at the same moments."""
    through = prepare("table-3", scale=TINY, through="proxy", objects=1, rate=600.0).experiments[0]
    serving = prepare("table-3", scale=TINY).experiments[0]
    assert through.fetches()[0] == serving.fetches()[0]
    assert replace(through, senders=(FS,)).connections() == through.connections()


def test_table_2_has_no_proxy() -> None:
    with pytest.raises(TcpsfError, match="cannot measure Table II through a proxy") as caught:
        prepare("table-2", through="proxy")
    assert caught.value.hint


def test_time_at_the_client_leaves_idle_times_out() -> None:
    found = flows(FS, [(0.5, 0, 0, 0.2), (0.7, 1, 0, 0.2), (None, 0, 1, 0.2)]).with_columns(
        idle_s=pl.Series([0.1, 0.3, 0.0]), size_bytes=pl.Series([9_999, 10_000, 10_001])
    )
    busy, server = measure.busy_s(found), measure.server_s(found)
    assert busy is not None
    assert busy.value == pytest.approx(0.4)
    assert server is not None
    assert server.value == pytest.approx(1.6)
    assert measure.shorter_than(found, 10_000)["size_bytes"].to_list() == [9_999]
    assert measure.from_size(found, 10_000)["size_bytes"].to_list() == [10_000, 10_001]
    assert measure.server_s(found.with_columns(server_s=pl.lit(None, pl.Float64))) is None


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


def test_every_loss_of_a_path_can_be_told_as_data() -> None:
    for loss in (PacketLoss(probability=0.1), BurstLoss(probability=0.1, run=2.0)):
        experiment = Experiment(
            name="x", latency_ms=1, loss=loss, senders=(FS,), sizes=(1,), rate=1.0, duration_s=1.0
        )
        assert json.loads(json.dumps(experiment.to_dict()))["loss"]["kind"] == loss.kind


@pytest.mark.parametrize(
    "words",
    [
        ("table-3", "--rate", "0"),
        ("table-3", "--rate", "1e9"),
        ("table-3", "--loss", "some"),
        ("table-3", "--through", "server proxy"),
        ("table-3", "--through", "proxy", "--objects", "0"),
        ("table-3", "--through", "proxy", "--full", "--rate", "2000"),
        ("table-2", "--through", "proxy"),
        ("table-2", "--acks", "no"),
        ("table-2", "--loss", "per-byte"),
    ],
)
def test_bad_options_are_refused(
    tcpsf: Callable[..., Answer], tmp_path: Path, words: tuple[str, ...]
) -> None:
    answer = tcpsf("reproduce", "smart-framing", *words, "--out", tmp_path / "out")
    assert answer.status == 2
    error, hint = answer.err.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "name", "rate"),
    [((), "table-3", 600.0), (("--through", "proxy"), "table-3-proxy", 200.0)],
)
def test_what_is_not_said_depends_on_who_has_the_senders(
    tcpsf: Callable[..., Answer],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    name: str,
    rate: float,
) -> None:
    told: dict[str, Any] = {}

    def prepared(which: Any, **options: Any) -> object:
        told["wanted"] = prepare(which, **options)
        return prepare(which, **options)

    def made(_make: object, **options: Any) -> None:
        told.update(options)

    monkeypatch.setattr("tcpsf.cli.testbed.prepare", prepared)
    monkeypatch.setattr("tcpsf.cli.testbed._make", made)
    answer = tcpsf("reproduce", "smart-framing", "table-3", *words)
    assert answer.status == 0, answer.err
    assert (told["name"], told["out"], told["paths"]) == (name, Path(f"tcpsf-{name}"), 9)
    assert told["wanted"].rate == rate
    assert (told["wanted"].experiments[0].browsing is None) == (not words)


def test_columns_are_documented() -> None:
    assert set(measure.COLUMNS) <= set(DOCUMENTED)


def test_the_columns_are_those_of_the_reference_page() -> None:
    told = (REPOSITORY / "docs" / "reference" / "live-tables.md").read_text(encoding="utf-8")
    for name, what in DOCUMENTED.items():
        assert f"| `{name}` | {what} |" in told


def test_table_2_lists_no_assumption_about_table_3() -> None:
    """Table II has one file size and no timers, times or numbers of objects."""
    told = " ".join(testbed.READINGS_2)
    for word in ("RT is", "Objects", "--objects", "Completion time", "--loss per-byte"):
        assert word not in told
        assert word in " ".join(testbed.READINGS)
    assert set(testbed.READINGS_2) < set(testbed.READINGS)
    assert "%FR and %RTO are" in told


def test_a_note_about_long_means_stands_only_where_there_are_any() -> None:
    from tcpsf.evaluation.exhibit import series
    from tcpsf.evaluation.judge import exact
    from tcpsf.reproduce.smart_framing.exhibit import UNSTABLE_S, unstable

    calm = series("fs", "FS", [0.1, 0.9], [exact(1.0), exact(7.0)])
    assert unstable([calm]) == ()
    (note,) = unstable([calm, series("vs", "VS", [0.9], [exact(2 * UNSTABLE_S)])])
    assert f"above {UNSTABLE_S:g} s" in note
