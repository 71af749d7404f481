"""Models written in Python that several tests use, and changes of a scenario for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polars.testing import assert_frame_equal

from tcpsf import CongestionController, RunResult, Scenario, Tcp
from tcpsf.python_models import (
    AckFacts,
    ControllerStart,
    PacketFacts,
    QueueFacts,
    ReductionFacts,
)

TABLES = ("flows", "recoveries", "samples", "packets", "links")


class Bernoulli:
    def __init__(self, probability: float = 0.03) -> None:
        self.probability = probability

    def loses(self, packet: PacketFacts) -> bool:
        return packet.draw < self.probability


class Gilbert:
    """The burst model of `BurstLoss`: p = 0.02, runs of 1.5 packets."""

    def __init__(self) -> None:
        self.next = 0.02

    def loses(self, packet: PacketFacts) -> bool:
        lost = packet.draw < self.next
        self.next = 1 - 1 / 1.5 if lost else 0.02 / 0.98 / 1.5
        return lost


class AcceptAll:
    def decide(self, _packet: QueueFacts) -> str:
        return "accept"


class DropTail:
    """A limit of 15 kB, for a link whose own buffer is unlimited."""

    def decide(self, packet: QueueFacts) -> str:
        return "accept" if packet.queue_bytes + packet.size_bytes <= 15_000 else "drop"


class MarkAll:
    def decide(self, _packet: QueueFacts) -> str:
        return "mark"


class Reno(CongestionController):
    """RFC 5681 with byte counting, and RFC 3168 for marks."""

    def __init__(self, start: ControllerStart) -> None:
        super().__init__(start)
        self.earned = 0

    def on_ack(self, ack: AckFacts) -> None:
        if ack.app_limited:
            return
        if ack.least_cwnd is not None:
            self.cwnd = max(self.cwnd, ack.least_cwnd)
            return
        covered = min(ack.step_bytes, ack.acked_bytes)
        if self.cwnd < self.ssthresh:
            self.cwnd += covered
        else:
            self.earned += covered * ack.per_rtt_bytes
            whole, self.earned = divmod(self.earned, int(self.cwnd))
            self.cwnd += whole

    def halve(self, loss: ReductionFacts) -> None:
        self.ssthresh = max(loss.flight // 2, 2 * loss.smss)
        self.earned = 0

    def on_loss(self, loss: ReductionFacts) -> None:
        self.halve(loss)
        self.cwnd = self.ssthresh

    def on_mark(self, loss: ReductionFacts) -> bool:
        before = self.cwnd
        self.halve(loss)
        self.cwnd = min(max(loss.flight // 2, loss.smss), before)
        return before <= loss.smss

    def on_timeout(self, loss: ReductionFacts) -> None:
        if not loss.already_reduced:
            self.halve(loss)
        self.cwnd = loss.loss_window

    def set_cwnd(self, size_bytes: int) -> None:
        self.cwnd = size_bytes
        self.earned = 0


class Constant(CongestionController):
    """A window of four segments."""

    def __init__(self, start: ControllerStart) -> None:
        super().__init__(start)
        self.cwnd = 4 * start.smss

    def on_ack(self, ack: AckFacts) -> None:
        pass

    def on_loss(self, loss: ReductionFacts) -> None:
        pass

    def on_timeout(self, loss: ReductionFacts) -> None:
        pass

    def set_cwnd(self, size_bytes: int) -> None:
        pass


def rfc(scenario: Scenario) -> Scenario:
    return replace(scenario, tcp=Tcp(profile="rfc"))


def with_first_link(scenario: Scenario, **changes: Any) -> Scenario:
    first, *others = scenario.link
    return replace(scenario, link=(replace(first, **changes), *others))


def with_sender(scenario: Scenario, sender: str) -> Scenario:
    load = tuple(replace(each, sender=sender) for each in scenario.workload)
    return replace(scenario, workload=load)


def assert_same_rows(found: RunResult, expected: RunResult) -> None:
    for table in TABLES:
        assert_frame_equal(getattr(found, table), getattr(expected, table), check_exact=True)
    assert found.flows.write_csv() == expected.flows.write_csv()
