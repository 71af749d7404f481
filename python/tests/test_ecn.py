"""Random early detection and ECN as a user sees them: tables, report, sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from conftest import REPOSITORY

from tcpsf import Scenario, replicate, run
from tcpsf.scenario import Buffer, Red
from tcpsf.summary import SummaryFold

EXAMPLE = REPOSITORY / "scenarios" / "red-ecn.toml"


@pytest.fixture(scope="module")
def example() -> Scenario:
    return Scenario.from_toml_text(EXAMPLE.read_text(encoding="utf-8")).with_value(
        "duration", "40s"
    )


def test_a_buffer_takes_thresholds_of_either_kind(example: Scenario) -> None:
    buffer = example.link[0].buffer
    assert buffer == Buffer(bytes="150kB", red=Red(min_bytes="30kB", max_bytes="90kB", gentle=True))
    packets = example.with_value(
        "link.bottleneck.buffer.red", {"min_packets": 20, "max_packets": 60}
    )
    assert run(packets, seed=1).links["marked_packets"].to_list()[0] > 0


def test_a_mark_is_no_loss_and_no_recovery(example: Scenario) -> None:
    result = run(example.with_value("trace", ["greedy"]), seed=1)
    marks = result.recoveries["cause"].cast(str).to_list().count("ecn")
    losses = sum(row["fast_retransmits"] + row["timeouts"] for row in result.flows.to_dicts())
    assert marks > 100
    bottleneck = result.links.row(0, named=True)
    assert bottleneck["marked_packets"] >= marks
    lost = sum(bottleneck[f"dropped_{why}_packets"] for why in ("buffer", "early", "loss"))
    assert (
        bottleneck["offered_packets"]
        == bottleneck["delivered_packets"] + bottleneck["held_packets"] + lost
    )
    assert "marked" in set(result.packets["event"].cast(str))
    [summary] = replicate(example, seeds=[1], reduce=SummaryFold)
    total = sum(group.recoveries for group in summary.groups.values())
    assert total == losses


def test_marks_have_a_column_of_their_own_where_there_are_any(tcpsf: Callable[..., Any]) -> None:
    shown = tcpsf("sim", EXAMPLE, "--set", "duration=20s").out
    assert "marked, %" in shown
    assert (
        "marked, %"
        not in tcpsf("sim", EXAMPLE, "--set", "duration=20s", "--set", "tcp.ecn=false").out
    )


def test_thresholds_in_disorder_are_refused(tcpsf: Callable[..., Any]) -> None:
    answer = tcpsf("sim", EXAMPLE, "--set", "link.bottleneck.buffer.red.max_bytes=20kB")
    assert answer.status == 2
    assert (
        "link[0].buffer.red.max_bytes: RED between averages of 30000 and 20000 is impossible"
        in answer.err
    )
