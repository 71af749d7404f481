"""Figs. 17 to 20: published numbers, fits on made-up transfers, the report. No network; `test_live.py` has that."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest
from conftest import REPOSITORY, Answer
from test_cli import schema

from tcpsf import TcpsfError
from tcpsf.evaluation.data import Report
from tcpsf.live.cell import measure
from tcpsf.live.experiment import Experiment
from tcpsf.live.experiment_result import Live, LiveStore
from tcpsf.models import short_flows as sf
from tcpsf.papers import short_flows as paper
from tcpsf.report.evaluation_page import page
from tcpsf.report.evaluation_text import as_text
from tcpsf.reproduce.short_flows import fits
from tcpsf.reproduce.short_flows.sections import ENOUGH
from tcpsf.reproduce.short_flows.transfer_cells import ADAPTIVE, CELLS, LOSSY, PATHS
from tcpsf.reproduce.short_flows.transfers import OURS, evaluate, prepare

HEAD = 100
TIMER_S = 0.3


def made_up(experiment: Experiment, *, progress: Callable[[float], None]) -> Live:
    """Transfers that take what (1) says; those that lose a segment wait for the timer as well."""
    _, sizes = experiment.fetches()
    chance = random.Random(experiment.seed)  # noqa: S311  not for secrets
    rtt = (experiment.latency_ms + experiment.latency_up_ms) / 1000.0
    b = 2.0 if experiment.acks == "delayed" else 1.0
    loss = experiment.loss.probability
    bytes_ = np.asarray([float(size + HEAD) for (size,) in sizes])
    taken = sf.lossless(
        bytes_, rtt=rtt, mss=1448.0, initial_window=2.0, ack_every=b, delayed_ack=0.0
    ).tolist()
    rows = []
    for number, (size,) in enumerate(sizes):
        segments = math.ceil((size + HEAD) / 1448)
        lost = sum(chance.random() < loss for _ in range(segments))
        rows.append(
            (number, size, taken[number] + 2.0 * lost * TIMER_S, 2 * rtt, segments + lost, lost)
        )
    flows = pl.DataFrame(
        rows,
        schema=(
            "flow",
            "size_bytes",
            "completion_s",
            "first_byte_s",
            "segments",
            "retransmitted_segments",
        ),
        orient="row",
    ).with_columns(
        variant=pl.lit(experiment.variants[0]),
        received_bytes="size_bytes",
        head_bytes=pl.lit(HEAD),
        failure=pl.lit(""),
        window_bytes=pl.lit(30_000),
        segment_bytes=pl.lit(1448),
        syn_timeouts=pl.lit(0),
        srtt_s=pl.lit(rtt),
        rto_s=pl.lit(TIMER_S),
    )
    offered = int(flows["segments"].sum())
    down = {
        "offered_packets": offered,
        "dropped_loss_packets": int(flows["retransmitted_segments"].sum()),
        "missed_packets": 0,
        "timing_error_median_s": 4e-5,
        "timing_error_p99_s": None,
    }
    up = {"offered_packets": offered // 2, "dropped_loss_packets": 3, "missed_packets": 0}
    progress(1.0)
    server = (
        {"kernel": "6.1", "settings": {"tcp_sack": "1"}} if experiment.kernel is not None else {}
    )
    return Live(experiment=experiment, flows=flows, link={"down": down, "up": up}, server=server)


def one(index: int = 0, **changes: Any) -> Live:
    return made_up(replace(prepare().experiments[index], **changes), progress=lambda _share: None)


def test_the_hosts_are_those_of_the_captions() -> None:
    assert [host.key for host in paper.HOSTS] == ["fig-17", "fig-18", "fig-19", "fig-20"]
    assert sum(host.transfers for host in paper.HOSTS) == 354 + 403 + 394 + 347
    assert [host.rto_ms for host in paper.HOSTS] == [206, 203, 150, 390]
    assert max(host.loss for host in paper.HOSTS) == 0.003
    assert (paper.SIZES[0], paper.SIZES[-1]) == (1, 128_000)


def test_a_cell_for_each_sender_on_each_path() -> None:
    wanted = prepare(seed=7)
    assert len(wanted.experiments) == len(CELLS) == 2 * len(PATHS) + 2
    for cell, experiment in zip(CELLS, wanted.experiments, strict=True):
        assert experiment.name == cell.name
        assert experiment.latency_ms + experiment.latency_up_ms == cell.host.rtt_ms
        assert experiment.loss == experiment.loss_up
        assert experiment.loss.probability == cell.host.loss
        assert experiment.receive_buffer == cell.host.window_kb * 1024
        assert experiment.variants == (
            ("kernel reno / iw=2",) if cell.sender == "kernel" else (OURS,)
        )
    assert len({each.name for each in wanted.experiments}) == len(CELLS)
    # Who sends on one path meets the same transfers.
    assert wanted.experiments[0].fetches() == wanted.experiments[1].fetches()
    assert wanted.experiments[0].fetches() != wanted.experiments[2].fetches()
    assert wanted.command == "tcpsf reproduce short-flows live --quick --seed 7"
    assert prepare(scale="full", rate=20.0).command.endswith("--full --seed 1 --per-second 20")


def test_sizes_are_uniform() -> None:
    sizes = [size for (size,) in replace(prepare().experiments[0], duration_s=60.0).fetches()[1]]
    assert 1 <= min(sizes) < 1000
    assert 127_000 < max(sizes) <= 128_000
    mean = sum(sizes) / len(sizes)
    assert abs(mean - 64_000) < 5 * 128_000 / 12**0.5 / len(sizes) ** 0.5


def test_a_path_is_what_its_transfers_tell() -> None:
    live = one(duration_s=60.0)
    told = fits.path(live)
    assert (told.mss, told.window) == (1448.0, 30_000.0)
    assert told.rtt_s == pytest.approx(0.119)
    assert told.rto_s == pytest.approx(TIMER_S)
    assert (
        told.loss
        == live.link["down"]["dropped_loss_packets"] / live.link["down"]["offered_packets"]
    )
    assert 0.0 < told.loss_back < told.loss * 100
    silent = replace(live, flows=live.flows.with_columns(window_bytes=pl.lit(None, pl.Int64)))
    assert fits.path(silent).window == 64 * 1024


def test_a_model_that_made_the_transfers_fits_them() -> None:
    found = fits.seen(one())
    exact, slow = (
        fits.off(found, model, where=found.clean) for model in (fits.LOSSLESS_2, fits.LOSSLESS)
    )
    assert exact is not None
    assert slow is not None
    assert exact.value == pytest.approx(0.0, abs=1e-12)
    # Then the other is off by the ratio of the two.
    sizes = np.asarray(found.bytes)
    ratio = np.log(
        fits.LOSSLESS.seconds(sizes, found.path) / fits.LOSSLESS_2.seconds(sizes, found.path)
    )
    assert slow.value == pytest.approx(float(np.mean(np.abs(ratio[found.clean > 0]))))
    delayed = fits.seen(one(-1))
    again = fits.off(delayed, fits.LOSSLESS, where=delayed.clean)
    assert again is not None
    assert again.value == pytest.approx(0.0, abs=1e-12)


def test_a_bias_is_a_ratio() -> None:
    live = one()
    twice = fits.seen(
        replace(live, flows=live.flows.with_columns(completion_s=2.0 * pl.col("completion_s")))
    )
    once = fits.seen(live)
    for model in fits.MODELS:
        one_time, two_times = fits.longer(once, model), fits.longer(twice, model)
        assert one_time is not None
        assert two_times is not None
        assert two_times.value == pytest.approx(2.0 * one_time.value)


def test_models_come_together_where_nothing_is_lost() -> None:
    live = one(loss=replace(prepare().experiments[0].loss, probability=0.0))
    told = fits.path(live)
    assert told.loss == 0.0
    sizes = np.asarray([1.0, 1500.0, 64_000.0, 128_000.0])
    assert np.allclose(fits.SHORT.seconds(sizes, told), fits.LOSSLESS.seconds(sizes, told))
    assert np.allclose(
        fits.STEADY.seconds(sizes, told), told.rtt_s + sizes * told.rtt_s / told.window
    )  # the window a round trip


def test_what_lost_something_is_told_from_what_did_not() -> None:
    live = one(PATHS.index(LOSSY) * 2)
    found = fits.seen(live)
    resent = np.asarray(live.flows["retransmitted_segments"].to_list())
    assert found.lossy.sum() == (resent > 0).sum() > ENOUGH
    assert found.clean.sum() + found.lossy.sum() == live.flows.height
    # A handshake that took a second is neither.
    slow = (
        pl.when(pl.col("flow") == int(np.argmin(resent)))
        .then(1.3)
        .otherwise(pl.col("first_byte_s"))
    )
    late = fits.seen(replace(live, flows=live.flows.with_columns(first_byte_s=slow)))
    assert late.clean.sum() == found.clean.sum() - 1
    assert late.lossy.sum() == found.lossy.sum()
    wide, narrow = fits.spread(found, found.lossy), fits.spread(found, found.clean)
    assert wide is not None
    assert narrow is not None
    assert wide.value > 2 * narrow.value


def test_sizes_are_put_together() -> None:
    found = fits.seen(one())
    bins = fits.by_size(found)
    assert [middle for middle, _ in bins] == [4000.0 + 8000.0 * number for number in range(16)]
    assert sum(len(times) for _, times in bins) == len(found.seconds)
    first = found.seconds[found.bytes < 8000]
    assert sorted(bins[0][1]) == sorted(first.tolist())


def test_medians_are_nearer_than_transfers_where_much_is_lost() -> None:
    found = fits.seen(one(PATHS.index(LOSSY) * 2))
    off, medians = fits.off(found, fits.LOSSLESS_2), fits.off_medians(found, fits.LOSSLESS_2)
    assert off is not None
    assert medians is not None
    assert medians.runs == 16
    assert 0.0 < medians.value < off.value
    # Those of a path without loss are the model's, but for the width of a bin.
    clean = fits.off_medians(fits.seen(one(2)), fits.LOSSLESS_2)
    assert clean is not None
    assert clean.value < 0.05


def test_a_path_that_carries_nothing_is_told() -> None:
    live = one()
    none = live.flows.with_columns(
        completion_s=pl.lit(None, pl.Float64), failure=pl.lit("out of patience")
    )
    with pytest.raises(
        TcpsfError, match=r"cannot fit `Fig. 17, kernel`: none of \d+ .*: out of patience"
    ) as caught:
        fits.seen(replace(live, flows=none))
    assert "--per-second" in str(caught.value.hint)


def test_an_experiment_without_transfers_is_told() -> None:
    quiet = replace(prepare().experiments[0], rate=1.0, duration_s=1e-6)
    with pytest.raises(TcpsfError, match="no transfer begins") as caught:
        measure(quiet, progress=lambda _share: None)
    assert caught.value.hint


@pytest.fixture(scope="module")
def made() -> tuple[Report, Mapping[str, Live]]:
    return evaluate(prepare(), measure=made_up)


def test_a_report_is_data_text_and_page(made: tuple[Report, Mapping[str, Live]]) -> None:
    report, lives = made
    jsonschema.validate(report.to_dict(), schema("evaluation"))
    told, shown = as_text(report, tables=True), page(report)
    for name in lives:
        assert name in told
        assert name in shown
    assert [figure.key for figure in report.sections[0].figures] == [
        "fig-17",
        "fig-18",
        "fig-19",
        "fig-20",
        "lossy",
    ]
    assert "Linux 6.1" in report.sections[0].text[0]
    assert "`tcp_sack` 1" in report.sections[0].text[0]
    assert [section.key for section in report.sections] == [
        "short-flows",
        "short-flows-fits",
        "conditions",
    ]
    assert report.provenance.seeds == (1, 2, 3, 4, 5)


def test_published_parameters_stand_beside_ours(made: tuple[Report, Mapping[str, Live]]) -> None:
    report, _ = made
    (table,) = report.sections[0].tables
    row = next(row for row in table.rows if row.label == "Fig. 20, kernel")
    published = [None if isinstance(cell, str) else cell.published for cell in row.cells]
    assert published == [347, 152, 390, pytest.approx(0.3), None, 30, 1460]


def test_verdicts_follow_the_transfers(made: tuple[Report, Mapping[str, Live]]) -> None:
    """A window that doubles, or with delayed acknowledgments grows by half."""
    report, _ = made
    verdicts = {
        finding.key: finding.verdict for section in report.sections for finding in section.findings
    }
    for sender in ("kernel", "ours"):
        assert verdicts[f"short-flows-lossless-{sender}"] == "holds"
        assert verdicts[f"short-flows-steady-{sender}"] == "holds"
        assert verdicts[f"fig-17-lower-{sender}"] == "holds"
        assert verdicts[f"fig-20-variance-{sender}"] == "holds"
    assert verdicts["fig-17-delayed"] == "holds"
    # These clients do wait for delayed acknowledgments whoever sends.
    assert verdicts["fig-17-kernel-counts-segments"] == "does not hold"
    assert verdicts["short-flows-doubling"] == "holds"
    assert verdicts["every-byte"] == verdicts["no-failure"] == "holds"


def test_transfers_that_do_not_complete_are_counted_and_left_out() -> None:
    def broken(experiment: Experiment, *, progress: Callable[[float], None]) -> Live:
        live = made_up(experiment, progress=progress)
        bad = pl.col("flow") % 10 == 3
        flows = live.flows.with_columns(
            completion_s=pl.when(bad).then(None).otherwise(pl.col("completion_s")),
            failure=pl.when(bad).then(pl.lit("out of patience")).otherwise(pl.lit("")),
        )
        return replace(live, flows=flows)

    report, lives = evaluate(prepare(), measure=broken)
    failed = next(
        finding for finding in report.sections[-1].findings if finding.key == "no-failure"
    )
    assert failed.verdict == "does not hold"
    live = next(iter(lives.values()))
    assert len(fits.seen(live).seconds) == live.flows["completion_s"].count() < live.flows.height


def test_finished_paths_are_kept(tmp_path: Path) -> None:
    store = LiveStore(tmp_path)
    calls: list[str] = []

    def counted(experiment: Experiment, *, progress: Callable[[float], None]) -> Live:
        calls.append(experiment.name)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return made_up(experiment, progress=progress)

    with pytest.raises(KeyboardInterrupt):
        evaluate(prepare(), measure=counted, store=store)
    there: list[int] = []
    first, _ = evaluate(prepare(), measure=counted, store=store, found=there.append)
    assert there == [3]
    assert len(calls) == 4 + len(CELLS) - 3
    second, _ = evaluate(prepare(), measure=counted, store=store)
    assert len(calls) == 4 + len(CELLS) - 3
    assert [section.to_dict() for section in first.sections] == [
        section.to_dict() for section in second.sections
    ]


@pytest.mark.parametrize(
    "words", [("--rate", "0"), ("--rate", "1e6"), ("--seed", "-1"), ("--scale", "x")]
)
def test_bad_options_are_refused(
    tcpsf: Callable[..., Answer], tmp_path: Path, words: tuple[str, ...]
) -> None:
    answer = tcpsf("reproduce", "short-flows", *words, "--out", tmp_path / "out")
    assert answer.status == 2
    assert answer.err.startswith("error: ")
    assert words[0] in answer.err
    assert not (tmp_path / "out").exists()


def test_a_folder_of_something_else_is_left_alone(
    tcpsf: Callable[..., Answer], tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text("mine")
    answer = tcpsf("reproduce", "short-flows", "live", "--out", tmp_path)
    assert answer.status == 2
    assert "contains other files" in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_the_command_measures_and_writes(
    tcpsf: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tcpsf.cli import live_report

    monkeypatch.setattr(live_report, "check", lambda: None)
    monkeypatch.setattr(live_report, "measure", made_up)
    answer = tcpsf("reproduce", "short-flows", "live", "--out", tmp_path / "out", "--json")
    assert answer.status == 0, answer.err
    assert answer.out.startswith("{")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names >= {"short-flows.html", "report.json", "provenance.json", "data"}
    flows = pl.read_parquet(tmp_path / "out" / "data" / "flows.parquet")
    assert set(flows["path"]) == {cell.name for cell in CELLS}
    again = tcpsf("reproduce", "short-flows", "live", "--out", tmp_path / "out")
    assert again.status == 2
    assert "--force" in again.err


def test_the_page_of_the_reference_names_every_cell_and_model() -> None:
    told = (REPOSITORY / "docs" / "reference" / "live-short-flows.md").read_text(encoding="utf-8")
    for host in paper.HOSTS:
        assert host.figure in told
    for model in fits.MODELS:
        assert model.label in told
    assert ADAPTIVE in paper.HOSTS
