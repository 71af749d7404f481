"""The exhibits of advantages and costs: what is kept of traced packets, and what has no chance in it."""

from __future__ import annotations

import pytest

from tcpsf import run
from tcpsf.evaluation.plan import Case, make, plan
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_advantages as settings
from tcpsf.papers import smart_framing_mechanisms as mechanisms
from tcpsf.reproduce.smart_framing.packet_sizes import PacketSizes

SIZES = PacketSizes(workload=mechanisms.FLOW, full=settings.MSS)


@pytest.mark.parametrize("sender", [sender for _, sender in mechanisms.SENDERS.values()])
def test_every_packet_is_counted_once(sender: str) -> None:
    (long, _) = mechanisms.LOSSES
    case = Case(scenario=mechanisms.scenario(long, sender), watches=(SIZES,))
    (one,) = make(plan([case], seeds=[1]), workers=1).of(case)
    fate, (totals,) = SIZES.of(one), one.groups.values()
    assert fate.packets == totals.segments
    assert fate.burst_bytes == totals.sent_bytes
    assert 1 < fate.bursts < fate.packets
    assert fate.full_dropped + fate.small_dropped == 1
    assert (fate.small_packets == 0) == (" full " in sender)


def test_a_framed_start_does_not_wait_for_a_delayed_ack() -> None:
    """Journal, section I; draft, section 7."""

    def two_segments(sender: str) -> float:
        flows = run(settings.start_scenario(sender=sender), seed=1).flows
        times: list[float] = flows["receiver_s"].to_list()
        return times[settings.START_SEGMENTS.index(2)]

    classic, framed = two_segments(paper.CLASSIC.sender), two_segments(paper.FIXED_SIZE.sender)
    assert classic - framed == pytest.approx(settings.ACK_DELAY_S, abs=0.01)


def test_hops_are_a_chain() -> None:
    scenario = settings.hops_scenario(sender=paper.CLASSIC.sender, hops=4)
    assert len(scenario.link) == 8
    flows = run(scenario, seed=1).flows
    # One packet after the other takes each link's 1500 bytes / 64 kb/s and 5 ms.
    assert flows["receiver_s"][0] > 4 * (1500 * 8 / 64e3 + 0.005)
