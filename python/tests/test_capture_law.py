"""Loss laws of captures: likelihood, simulated paths with a known law, text, schema and charts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Command

from tcpsf import (
    BurstLoss,
    ByteLoss,
    Link,
    Loss,
    PacketLoss,
    Pcap,
    Scenario,
    SenderShare,
    Tcp,
    Transfers,
    run,
)
from tcpsf.captures import CaptureReader, analyze
from tcpsf.captures.law import LossLaw, size_loss
from tcpsf.captures.law_plots import law_plots
from tcpsf.captures.law_text import law_lines
from tcpsf.captures.laws import LossLaws, loss_laws
from tcpsf.captures.loss_fit import Clusters, SizeCounts, fit, fit_level
from tcpsf.python_models import LossModel

SIZES = tuple(1448 * (number % 8) + (100, 300, 600, 1000)[number % 4] for number in range(1600))
"""Transfers of up to 7 full segments and a shorter one."""


def captured(
    folder: Path,
    *,
    loss: Loss | None,
    sizes: tuple[int, ...] = SIZES,
    seed: int = 1,
    model: Callable[[], LossModel] | None = None,
    **options: Any,
) -> Path:
    """Capture transfers over a path of 40 ms with this loss of the data's direction."""
    path = folder / "run.pcapng"
    made = Scenario(
        name="law",
        duration="2000 s",
        tcp=Tcp(profile="linux-6.18"),
        link=[
            Link(name="there", from_="a", to="b", rate="100Mbit", delay="20ms", loss=loss),
            Link(name="back", from_="b", to="a", rate="100Mbit", delay="20ms"),
        ],
        workload=[
            Transfers(
                name="data",
                from_="a",
                to="b",
                sizes=sizes,
                spacing="1s",
                senders=[SenderShare(sender="linux / full / iw=10", share=1)],
                handshake=True,
            )
        ],
    )
    models = {} if model is None else {"there": model}
    run(made, seed=seed, pcap=Pcap(path=path, replace=True, **options), loss=models)
    return path


def law_of(path: Path) -> LossLaw:
    """Law of the data, which the end sends that opens the connections."""
    (law,) = loss_laws(analyze(path).tables)
    assert law.direction == "originator"
    return law


class TestFit:
    def counts(self, exponent: float) -> SizeCounts:
        """Exact expectations of a law with 5 % loss at the reference size."""
        sizes = np.log(np.array([0.1, 0.3, 1.0]))
        packets = np.array([4000.0, 2000.0, 9000.0])
        loss = np.array([size_loss(0.05, math.exp(size), exponent) for size in sizes])
        return SizeCounts(sizes=sizes, packets=packets, losses=packets * loss)

    def independent(self, counts: SizeCounts) -> Clusters:
        """Each packet is a cluster of its own."""
        lost, sent = np.diag(counts.losses), np.diag(counts.packets)
        total = int(counts.packets.sum())
        return Clusters(losses=lost, mixed=lost, packets=sent, count=total, lossy=total)

    @pytest.mark.parametrize("exponent", [-0.5, 0.0, 0.5, 1.0, 1.5])
    def test_the_maximum_is_the_truth_for_expectations(self, exponent: float) -> None:
        counts = self.counts(exponent)
        found = fit(counts, [self.independent(counts)])
        assert found is not None
        assert found.exponent == pytest.approx(exponent, abs=1e-6)
        assert -math.expm1(-math.exp(found.level)) == pytest.approx(0.05, rel=1e-6)
        low, high = found.exponent_interval
        assert low < exponent < high

    def test_clusters_widen_the_interval(self) -> None:
        counts = self.counts(0.5)
        alone = self.independent(counts)
        # Four copies of every packet, with equal outcomes.
        fourfold = replace(
            alone, losses=4 * alone.losses, mixed=4 * alone.mixed, packets=4 * alone.packets
        )
        narrow, wide = (fit_level(counts, [each])[1] for each in (alone, fourfold))
        assert (wide[1] - wide[0]) / (narrow[1] - narrow[0]) == pytest.approx(2.0, rel=0.02)

    def test_equal_sizes_determine_no_exponent(self) -> None:
        counts = SizeCounts(sizes=np.zeros(1), packets=np.array([1000.0]), losses=np.array([50.0]))
        assert fit(counts, [self.independent(counts)]) is None

    def test_losses_of_one_size_alone_leave_one_end_open(self) -> None:
        counts = SizeCounts(
            sizes=np.log(np.array([0.99, 1.0])),
            packets=np.array([1000.0, 1000.0]),
            losses=np.array([0.0, 3.0]),
        )
        found = fit(counts, [self.independent(counts)])
        assert found is None or math.isinf(found.exponent_interval[1])


class TestSimulatedPaths:
    @pytest.mark.parametrize(
        ("loss", "exponent", "other", "kind"),
        [
            (PacketLoss(probability=0.03), 0.0, 1.0, PacketLoss),
            (ByteLoss(probability=2e-5), 1.0, 0.0, ByteLoss),
        ],
    )
    def test_dependence_on_size(
        self, tmp_path: Path, loss: Loss, exponent: float, other: float, kind: type
    ) -> None:
        law = law_of(captured(tmp_path, loss=loss))
        assert (law.evidence, law.connections, law.packets) == ("enough", 1600, 7200)
        assert law.reference_size == 1500
        assert law.exponent_interval is not None
        assert law.exponent_interval[0] <= exponent <= law.exponent_interval[1]
        assert not law.exponent_interval[0] <= other <= law.exponent_interval[1]
        assert law.loss_interval is not None
        assert law.loss_interval[0] <= size_loss(0.03, 1.0, 0.0) <= law.loss_interval[1]
        assert not law.bursty
        assert law.curve[0].bytes == pytest.approx(152.0)
        last = law.curve[-1]
        assert (last.bytes, last.loss) == pytest.approx((1500.0, law.loss))
        assert last.interval == pytest.approx(law.loss_interval, rel=0.02)
        assert law.curve[3].loss == pytest.approx(law.loss_at(law.curve[3].bytes))
        back = law.to_scenario_loss()
        assert isinstance(back, kind)
        assert law.is_expressible
        assert law.policer.verdict == "not enough"

    def test_bursts(self, tmp_path: Path) -> None:
        loss = BurstLoss(probability=0.03, run=3.0)
        law = law_of(captured(tmp_path, loss=loss, sizes=(60 * 1448,) * 120))
        assert law.bursty
        assert law.mean_run_interval is not None
        assert law.mean_run_interval[0] <= 3.0 <= law.mean_run_interval[1]
        assert sum(each.length * each.runs for each in law.run_lengths) == law.losses
        back = law.to_scenario_loss()
        assert isinstance(back, BurstLoss)
        assert (back.probability, back.run) == (law.share, law.mean_run)
        assert isinstance(law.to_scenario_loss(exponent=0), PacketLoss)
        assert law.dependence == "unknown"
        assert law.exponent_reason == "the sizes hardly vary"

    @pytest.mark.parametrize("bursty", [False, True])
    def test_a_law_is_a_model_of_the_simulator(self, tmp_path: Path, bursty: bool) -> None:
        truth = replace(
            law_of(captured(tmp_path, loss=PacketLoss(probability=0.03))),
            loss=0.04,
            exponent=0.5,
            bursty=bursty,
            mean_run=2.0,
        )
        sizes = tuple(1448 * 20 + (100, 300, 700)[number % 3] for number in range(400))
        law = law_of(captured(tmp_path, loss=None, model=truth.to_model(), sizes=sizes))
        assert law.loss_interval is not None
        assert law.loss_interval[0] <= 0.04 <= law.loss_interval[1]
        assert law.mean_run_interval is not None
        assert law.bursty == bursty
        expected = 2.0 if bursty else 1.0 / 0.96
        assert law.mean_run_interval[0] <= expected <= law.mean_run_interval[1]

    def test_a_capture_at_the_receiver_counts_only_what_it_can_show(self, tmp_path: Path) -> None:
        loss = PacketLoss(probability=0.03)
        law = law_of(captured(tmp_path, loss=loss, place="receiver"))
        # The last segment of a transfer is followed by none.
        assert law.packets + law.excluded <= 7200
        assert law.excluded >= 1500
        assert law.loss_interval is not None
        assert law.loss_interval[0] <= 0.03 <= law.loss_interval[1]

    def test_without_losses(self, tmp_path: Path) -> None:
        law = law_of(captured(tmp_path, loss=None, sizes=SIZES[:100]))
        assert (law.evidence, law.losses, law.loss, law.exponent) == ("not enough", 0, 0.0, None)
        assert law.loss_interval == pytest.approx((0.0, 1.0 - 0.05 ** (1.0 / law.packets)))
        assert law.to_scenario_loss() == PacketLoss(probability=0.0)
        assert law_plots(law) == ()
        assert list(law_lines([law.to_dict()])) == []

    def test_batches_give_the_same_law(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = captured(tmp_path, loss=PacketLoss(probability=0.03), sizes=(600 * 1448,) * 12)
        whole = law_of(path)
        monkeypatch.setattr("tcpsf.captures.reader.PACKETS_BETWEEN_CHECKS", 500)
        laws = LossLaws()
        for batch in CaptureReader(path).batches():
            laws.add(batch)
        (law,) = laws.laws()
        assert law.loss_interval == pytest.approx(whole.loss_interval)
        assert replace(law, loss_interval=None) == replace(whole, loss_interval=None)


class TestPresentation:
    def test_text(self, tcpsf: Command, tmp_path: Path) -> None:
        path = captured(tmp_path, loss=ByteLoss(probability=2e-5))
        text = tcpsf("analyze", path).out
        assert "Loss law of the originator's data: " in text
        assert ": each byte is lost with the same probability" in text
        assert "Policer: not tested" in text

    def test_text_of_little_evidence(self, tmp_path: Path) -> None:
        law = law_of(captured(tmp_path, loss=PacketLoss(probability=0.03), sizes=SIZES[:40]))
        (empty, text) = law_lines([law.to_dict()])
        assert empty == ""
        assert f"Not enough evidence for more: {law.losses} losses, of 20 that are needed." in text

    def test_charts(self, tmp_path: Path) -> None:
        law = law_of(captured(tmp_path, loss=PacketLoss(probability=0.03)))
        charts = law_plots(law)
        assert [chart.title for chart in charts] == [
            "Loss by size, originator",
            "Runs of losses, originator",
            "Loss by position, originator",
        ]
        assert all(chart.svg().startswith("<svg") for chart in charts)

    def test_infinite_numbers_are_null(self, tmp_path: Path) -> None:
        law = law_of(captured(tmp_path, loss=PacketLoss(probability=0.03)))
        endless = replace(law, mean_run=math.inf, mean_run_interval=(1.0, math.inf))
        data = json.loads(json.dumps(endless.to_dict(), allow_nan=False))
        assert (data["mean_run"], data["mean_run_interval"]) == (None, [1.0, None])


def test_loss_by_size() -> None:
    assert size_loss(0.1, 1.0, 0.7) == pytest.approx(0.1)
    assert size_loss(0.1, 0.5, 1.0) == pytest.approx(1.0 - 0.9**0.5)
    assert size_loss(1.0, 0.5, 1.0) == 1.0
