"""Framing and its alternatives for the end of a write, with the sender of Linux."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tcpsf import Pcap, Scenario, ScenarioError, compare, run
from tcpsf.comparison import with_sender

RTT_S = 0.05
SEGMENT = 1448
FULL = "linux / full / iw=10"
REMEDIES = (
    "linux / rto-min(ms=20)",
    "linux / tiny-tail",
    "linux / tail(n=4)",
    "linux / dup-tail(delay=5ms)",
    "linux / dup-tail",
    "linux / tail(n=4)+dup-tail+rto-min(ms=20)",
)


def reply(drops: str, *, size: int = 3 * SEGMENT, sender: str = FULL) -> Scenario:
    """Return a reply over a path without queue. The link drops the data packets of a mask."""
    half = f"{RTT_S / 2}s"
    return Scenario.from_dict(
        {
            "name": "reply",
            "duration": "20s",
            "tcp": {"profile": "linux-6.18", "ack_every": 1},
            "link": [
                {"name": "down", "from": "server", "to": "client", "delay": half}
                | {"loss": {"kind": "mask", "drops": drops}},
                {"name": "up", "from": "client", "to": "server", "delay": half},
            ],
            "workload": [
                {"name": "one", "kind": "transfers", "from": "server", "to": "client"}
                | {"sizes": [size], "sender": sender, "handshake": True, "opener": "receiver"}
            ],
            "trace": ["one"],
        }
    )


def completion_s(scenario: Scenario) -> float:
    """Return the time at which the receiver has the reply, since the start of the flow."""
    return float(run(scenario, seed=1).flows["receiver_s"][0])


def delay_s(scenario: Scenario) -> float:
    """Return the additional completion time by the losses of the mask."""
    without = scenario.with_value("link.down.loss", {"kind": "mask", "drops": "0"})
    return completion_s(scenario) - completion_s(without)


def test_every_remedy_repairs_the_last_segment_sooner() -> None:
    lost = reply("0,0,1")
    found = compare(lost, senders=[FULL, *REMEDIES], seeds=[1])
    mean = next(
        each for each in found.entries if (each.name, each.measure.key) == ("one", "mean_s")
    )
    saved = [difference.absolute.value for difference in mean.differences[1:] if difference]
    assert len(saved) == len(REMEDIES)
    # The order of theory: the probe of one segment after two round trips and 20 ms, a quarter of a
    # round trip after the report of the last byte, the third report, a copy, which needs none.
    assert all(time < -0.05 for time in saved)
    assert saved[0] > saved[1] > saved[2] > saved[3] > saved[4]


@pytest.mark.parametrize(
    ("sender", "least_s", "most_s"),
    [
        # The timer restarts with the second acknowledgment: SRTT + 200 ms, at a tick of the wheel.
        (FULL, 0.25 + RTT_S, 0.28 + RTT_S),
        # Two round trips and 20 ms.
        ("linux / rto-min(ms=20)", 0.12 + RTT_S, 0.13 + RTT_S),
        # RTT / 4 and 2 ms after the report of the last byte.
        ("linux / tiny-tail", 1.25 * RTT_S, 1.25 * RTT_S + 0.01),
        # The first of four pieces: the third report, one round trip.
        ("linux / tail(n=4)", RTT_S, RTT_S + 0.001),
        ("linux / dup-tail(delay=5ms)", 0.005, 0.009),
        ("linux / dup-tail", 0.0, 0.001),
    ],
)
def test_delay_by_the_loss_of_the_last_full_segment(
    sender: str, least_s: float, most_s: float
) -> None:
    assert least_s - 1e-9 <= delay_s(reply("0,0,1", sender=sender)) <= most_s + 1e-9


def test_a_remedy_moves_the_risk_to_what_is_now_last() -> None:
    assert delay_s(reply("0,0,0,1", sender="linux / tiny-tail")) > 0.25
    assert delay_s(reply("0,0,0,0,0,1", sender="linux / tail(n=4)")) > 0.25
    assert delay_s(reply("0,0,1,1", sender="linux / dup-tail")) > 0.25


def test_a_copy_is_visible_and_is_no_retransmission(tmp_path: Path) -> None:
    scenario = reply("0", sender="linux / dup-tail")
    result = run(scenario, seed=1)
    flow = result.flows.row(0, named=True)
    assert (flow["segments"], flow["sent_bytes"]) == (4, 4 * SEGMENT)
    assert (flow["retransmitted_segments"], flow["timeouts"], flow["fast_retransmits"]) == (0, 0, 0)
    assert result.recoveries["cause"].cast(pl.String).to_list() == ["tail-copy"]
    sent = result.packets.filter(
        (pl.col("event").cast(pl.String) == "sent") & (pl.col("payload_bytes") > 0)
    )
    assert sent["seq"].to_list() == [1, 1 + SEGMENT, 1 + 2 * SEGMENT, 1 + 2 * SEGMENT]
    capture = tmp_path / "copies.pcapng"
    run(scenario, seed=1, pcap=Pcap(path=capture))
    assert b"Copy of the end of a write (dup-tail)" in capture.read_bytes()


@pytest.mark.parametrize("sender", ["reno+sack / full / iw=4", "reno+newreno / full / iw=4"])
@pytest.mark.parametrize(
    ("remedy", "drops", "most_s"),
    [
        ("tail(n=4)", "0,0,1", RTT_S + 0.001),
        ("dup-tail", "0,0,1", 0.001),
        ("rto-min(ms=20)", "0,0,1", 0.21),
    ],
)
def test_senders_that_count_bytes_have_the_remedies(
    sender: str, remedy: str, drops: str, most_s: float
) -> None:
    lost = reply(drops, sender=sender)
    remedied = with_sender(lost, sender.replace("full", remedy), ["one"])
    assert delay_s(remedied) <= most_s < delay_s(lost)


def test_a_wrong_name_is_refused() -> None:
    with pytest.raises(ScenarioError, match="not a whole number from 2 to 64"):
        reply("0", sender="linux / tail(n=1)")
    with pytest.raises(ScenarioError, match="cannot be combined with an ACK window"):
        reply("0", sender="santa-cruz / dup-tail / iw=1")
