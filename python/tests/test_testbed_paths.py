"""Paths, senders and options of the measurements for Tables II and III."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Answer
from test_testbed import CLASSIC, FS, TINY, proxied_flows

from tcpsf import TcpsfError
from tcpsf.live.experiment import Experiment, Kernel
from tcpsf.papers import smart_framing_testbed as testbed
from tcpsf.reproduce.smart_framing.testbed import evaluate, prepare, setting_name
from tcpsf.runs import run
from tcpsf.scenario import BurstLoss, PacketLoss


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


def test_objects_take_the_place_of_sessions() -> None:
    wanted = prepare("table-3", scale=TINY, through="proxy", objects=2, rate=50.0)
    assert wanted.command.endswith("--through proxy --objects 2 --per-second 50")
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

    monkeypatch.setattr("tcpsf.cli.live_report.prepare", prepared)
    monkeypatch.setattr("tcpsf.cli.live_report._make", made)
    answer = tcpsf("reproduce", "smart-framing", "table-3", *words)
    assert answer.status == 0, answer.err
    assert (told["name"], told["out"], told["paths"]) == (name, Path(f"tcpsf-{name}"), 9)
    assert told["wanted"].rate == rate
    assert (told["wanted"].experiments[0].browsing is None) == (not words)
