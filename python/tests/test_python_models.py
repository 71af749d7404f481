"""Models written in Python: the rows of the built-in ones, facts, provenance, pickling."""

from __future__ import annotations

import functools
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest
from example_models import (
    AcceptAll,
    Bernoulli,
    Constant,
    DropTail,
    Gilbert,
    MarkAll,
    Reno,
    assert_same_rows,
    rfc,
    with_first_link,
    with_sender,
)
from polars.testing import assert_frame_equal

import tcpsf
from tcpsf import (
    Buffer,
    BurstLoss,
    PacketLoss,
    Pcap,
    Red,
    Scenario,
    Tcp,
    TcpsfError,
    _core,
    compare,
    python_models,
    replicate,
    replicates,
    run,
)
from tcpsf.python_models import PacketFacts, PythonModels, QueueFacts
from tcpsf.sim_summary import Summary
from tcpsf.store import RunKey, Store
from tcpsf.summary import SummaryFold


@pytest.mark.parametrize(
    ("model", "built_in"),
    [
        (Bernoulli, PacketLoss(probability=0.03)),
        (functools.partial(Bernoulli, 0.001), PacketLoss(probability=0.001)),
        (Gilbert, BurstLoss(probability=0.02, run=1.5)),
    ],
)
def test_a_python_loss_model_gives_the_rows_of_the_built_in_one(
    small: Scenario, model: Any, built_in: Any
) -> None:
    found = run(small, seed=5, loss={"there": model})
    assert_same_rows(found, run(with_first_link(small, loss=built_in), seed=5))
    assert found.links["dropped_loss_packets"][0] > 0


def test_a_python_queue_that_accepts_all_is_drop_tail(small: Scenario) -> None:
    found = run(small, seed=5, queue={"there": AcceptAll})
    assert_same_rows(found, run(small, seed=5))
    assert found.links["dropped_buffer_packets"][0] > 0


def test_a_python_drop_tail_gives_the_flows_of_the_built_in_one(small: Scenario) -> None:
    """Only the column that counts the drops differs: the discipline dropped the packets."""
    found = run(with_first_link(small, buffer=None), seed=5, queue={"there": DropTail})
    expected = run(small, seed=5)
    for table in ("flows", "recoveries"):
        assert_frame_equal(getattr(found, table), getattr(expected, table), check_exact=True)
    swap = {"packets": "dropped_early_packets", "bytes": "dropped_early_bytes"}
    for unit, early in swap.items():
        dropped = expected.links[f"dropped_buffer_{unit}"].to_list()
        assert found.links[early].to_list() == dropped
        assert dropped[0] > 0
    same = [name for name in found.links.columns if not name.startswith("dropped")]
    assert_frame_equal(found.links.select(same), expected.links.select(same), check_exact=True)


SENDERS = ("reno+sack / full / iw=1", "reno / fs(n=4) / iw=1", "reno+newreno / vs(n=4) / iw=2")


@pytest.mark.parametrize("sender", SENDERS)
@pytest.mark.parametrize("handshake", [False, True])
def test_a_python_reno_gives_the_rows_of_the_built_in_one(
    small: Scenario, sender: str, handshake: bool
) -> None:
    scenario = with_sender(rfc(with_first_link(small, loss=PacketLoss(probability=0.02))), sender)
    load = tuple(replace(each, handshake=handshake) for each in scenario.workload)
    scenario = replace(scenario, workload=load)
    found = run(scenario, seed=5, controllers={"web": Reno, "greedy": Reno})
    assert_same_rows(found, run(scenario, seed=5))
    assert found.recoveries.height > 20


def test_a_python_reno_reacts_to_marks_like_the_built_in_one(small: Scenario) -> None:
    red = Red(min_bytes="3kB", max_bytes="9kB", max_p=0.3)
    scenario = with_first_link(small, buffer=Buffer(bytes="15kB", red=red))
    scenario = replace(scenario, tcp=Tcp(profile="rfc", ecn=True))
    found = run(scenario, seed=5, controllers={"web": Reno, "greedy": Reno})
    assert_same_rows(found, run(scenario, seed=5))
    assert found.recoveries.filter(cause="ecn").height > 20


def test_marks_of_a_python_queue_reach_the_sender(small: Scenario) -> None:
    plain = run(rfc(small), seed=5, queue={"there": MarkAll})
    assert plain.links["delivered_packets"][0] == 0, "not ECN-capable: dropped instead"
    ecn = replace(small, tcp=Tcp(profile="rfc", ecn=True))
    marked = run(ecn, seed=5, queue={"there": MarkAll})
    assert marked.links["marked_packets"][0] > 1000
    assert marked.recoveries.filter(cause="ecn").height > 100


def test_a_controller_decides_on_the_window(small: Scenario) -> None:
    found = run(rfc(with_first_link(small, buffer=None)), seed=5, controllers={"greedy": Constant})
    greedy = found.flows.filter(workload="greedy")
    assert greedy["timeouts"].sum() == 0
    # Four segments of 1460 bytes in flight, with and without the queue of the other flows.
    assert found.recoveries.filter(workload="greedy").height == 0


class Facts:
    """Keeps the facts of its packets, for the test below."""

    seen: ClassVar[list[PacketFacts]] = []

    def loses(self, packet: PacketFacts) -> bool:
        self.seen.append(packet)
        return False


class QueueSeen:
    seen: ClassVar[list[QueueFacts]] = []

    def decide(self, packet: QueueFacts) -> str:
        self.seen.append(packet)
        return "accept"


def test_the_facts_of_packets_are_those_of_the_trace(small: Scenario) -> None:
    Facts.seen, QueueSeen.seen = [], []
    traced = replace(small, trace=("web", "greedy"), duration="3s")
    found = run(traced, seed=5, loss={"back": Facts}, queue={"there": QueueSeen})
    assert {fact.link for fact in Facts.seen} == {"back"}
    assert not any(fact.is_forward or fact.has_data for fact in Facts.seen)
    of_flow = found.flows.rows_by_key(["workload", "flow"], named=True)
    numbers: dict[str, list[int]] = {}
    for workload, flow in sorted(of_flow):
        numbers.setdefault(workload, []).append(flow)
    sent = found.packets.filter(event="sent")
    rows = [
        (round(row["time_s"] * 1e9), row["flow"], row["packet"], row["payload_bytes"] > 0)
        for row in sent.filter(pl.col("from") == "sender").iter_rows(named=True)
    ]
    facts = [
        (each.time_ns, numbers[each.workload][each.flow_index], each.packet, each.has_data)
        for each in QueueSeen.seen
        if each.flow_index < len(numbers[each.workload])
    ]
    assert len(facts) > 300
    assert facts == rows[: len(facts)]
    first = QueueSeen.seen[0]
    assert (first.queue_bytes, first.queue_packets, first.fits) == (0, 0, True)
    assert (first.capacity_bytes, first.capacity_packets) == (15_000, None)
    assert first.idle_s == pytest.approx(first.time_s)
    busy = next(each for each in QueueSeen.seen if each.queue_packets > 1)
    assert busy.idle_s == 0
    assert all(0 <= each.draw < 1 for each in [*Facts.seen, *QueueSeen.seen])


def test_a_capture_names_the_cause_of_a_drop(small: Scenario, tmp_path: Path) -> None:
    path = tmp_path / "run.pcapng"
    unlimited = with_first_link(small, buffer=None)
    pcap = Pcap(path=path, place="both")
    run(unlimited, pcap=pcap, queue={"there": DropTail}, loss={"there": Bernoulli})
    content = path.read_bytes()
    assert content.count(b"on link `there`: early drop by a custom discipline") > 10
    assert content.count(b"on link `there`: custom loss model") > 10


def test_every_run_has_a_new_model(small: Scenario) -> None:
    together = replicate(small, seeds=[1, 2], workers=1, loss={"there": Gilbert})
    assert_same_rows(together[1], run(small, seed=2, loss={"there": Gilbert}))
    several = list(replicates(small, num_replicates=3, workers=2, loss={"there": Gilbert}))
    for seed, result in enumerate(several, start=1):
        assert_same_rows(result, run(small, seed=seed, loss={"there": Gilbert}))


def test_the_provenance_names_the_models_and_repeats_the_run(small: Scenario) -> None:
    loss = functools.partial(Bernoulli, probability=0.02)
    result = run(small, seed=3, loss={"there": loss}, controllers={"web": Constant})
    source = result.provenance
    assert source.to_dict()["python_models"] == {
        "loss": {"there": "example_models.Bernoulli(probability=0.02)"},
        "controllers": {"web": "example_models.Constant"},
    }
    assert_same_rows(run(**source.arguments()), result)
    assert "loss of `there` by example_models.Bernoulli" in repr(result)
    assert "Python models: loss of `there`" in str(result.summary())
    plain = run(small, seed=3)
    assert "python_models" not in plain.provenance.to_dict()
    assert plain.provenance != source
    with pytest.raises(TcpsfError, match="the Python models of the run with seed 3 differ"):
        Summary.of([plain, result])


def test_charts_repeat_the_run_with_its_models(small: Scenario) -> None:
    result = run(small, seed=3, loss={"there": Bernoulli})
    assert "lost on the link" in result.plot_losses().svg()
    assert result.ladder().repair() is not None


def test_results_with_importable_models_can_be_pickled(small: Scenario) -> None:
    result = run(small, seed=3, loss={"there": functools.partial(Bernoulli, 0.02)})
    again = pickle.loads(pickle.dumps(result))  # noqa: S301 (its own)
    assert_same_rows(again, result)
    assert_same_rows(run(**again.provenance.arguments()), result)


def test_models_that_cannot_be_imported_cannot_be_pickled(small: Scenario) -> None:
    class Local(Bernoulli):
        pass

    result = run(small, loss={"there": Local})
    with pytest.raises(TcpsfError, match=r'cannot pickle `loss\["there"\]`, which is ') as raised:
        pickle.dumps(result)
    assert "Local" in str(raised.value)
    assert raised.value.hint is not None
    assert "top level of a module" in raised.value.hint


def test_a_store_refuses_runs_with_models(small: Scenario, tmp_path: Path) -> None:
    result = run(small, loss={"there": Bernoulli})
    fold = SummaryFold()
    fold.add(result)
    summary = fold.finish(links=result.links, provenance=result.provenance)
    with pytest.raises(TcpsfError, match="cannot store a run with Python models: loss of `there`"):
        Store(tmp_path).save(RunKey("0a1b", 1), summary)
    assert list(tmp_path.iterdir()) == []


def test_comparisons_take_controllers_and_models(small: Scenario) -> None:
    reno = with_sender(rfc(small), SENDERS[0])
    found = compare(
        reno, senders=[Reno, Constant], seeds=[1, 2], loss={"there": Bernoulli}, workers=1
    )
    assert found.senders == ("example_models.Reno", "example_models.Constant")
    assert found.models == PythonModels(loss={"there": Bernoulli})
    assert "Python models: loss of `there` by example_models.Bernoulli" in str(found)
    same = compare(reno, senders=[Reno], seeds=[1, 2], workers=1)
    assert same.senders == ("as in the scenario", "example_models.Reno")
    assert all(
        entry.differences[1] is None or entry.differences[1].absolute.value == 0
        for entry in same.entries
    )


def test_an_empty_mapping_is_no_model(small: Scenario) -> None:
    result = run(small, loss={}, queue={}, controllers={})
    assert not result.provenance.models
    assert_same_rows(result, run(small))


@pytest.mark.parametrize(
    "name", ["PacketFacts", "QueueFacts", "ControllerStart", "AckFacts", "ReductionFacts"]
)
def test_the_documented_facts_are_those_of_the_extension(name: str) -> None:
    documented = vars(getattr(python_models, name))["__annotations__"]
    actual = {each for each in vars(getattr(_core, name)) if not each.startswith("__")}
    assert set(documented) == actual


def test_names_are_qualified() -> None:
    assert python_models.name_of(Bernoulli) == "example_models.Bernoulli"
    assert python_models.name_of(functools.partial(Bernoulli, 0.5)).endswith("Bernoulli(0.5)")
    assert tcpsf.LossModel is python_models.LossModel
