"""Receivers that delay acknowledgments, in the replay of `tcpsf advise`."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources

import jsonschema
import polars as pl
import pytest
from test_advise import captured

from tcpsf import Link, MaskLoss, PacketLoss, Scenario, Sizes, Tcp, Transfers, run
from tcpsf.advice import Advice, advise_on, receivers, remedy
from tcpsf.advice.receivers import ack_delay_s, initial_rtt_s
from tcpsf.captures import CaptureResult, analyze

DELAY_S = 0.15


@pytest.fixture(scope="module")
def delaying(tmp_path_factory: pytest.TempPathFactory) -> CaptureResult:
    """Responses of one segment, all of whose acknowledgments the client delays.

    In a simulated connection the FIN, which is acknowledged at once, follows the segment. The times are
    therefore those of the simulator and the delay.
    """
    folder = tmp_path_factory.mktemp("delaying")
    found = analyze(captured(folder, PacketLoss(probability=0.05), Sizes(classes=[400, 1200])))
    late = pl.col("completion_s") + DELAY_S
    tables = found.tables._replace(transfers=found.tables.transfers.with_columns(completion_s=late))
    return replace(found, tables=tables)


def advised(found: CaptureResult) -> Advice:
    return advise_on(found, name="server", remedies=[remedy("dup-tail")], runs=4)


def test_the_delay_of_the_capture_is_replayed(delaying: CaptureResult) -> None:
    found = advised(delaying)
    (part,) = found.setups
    assert part.ack_delay_s == DELAY_S
    assert part.rtt_s == pytest.approx(0.04, rel=0.01)
    assert all(check.agrees for check in found.checks)
    assert found.answer == "remedy"
    assert "they delay acknowledgments of lone segments by 150 ms" in str(found)
    schema = json.loads((resources.files("tcpsf.report") / "schema/advise.json").read_text("utf-8"))
    jsonschema.validate({"schema": "tcpsf.advise/1", **found.to_dict()}, schema)


def test_without_the_delay_the_replay_differs(
    delaying: CaptureResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receivers, "LONE_SEGMENTS", 10**9)
    found = advised(delaying)
    assert [part.ack_delay_s for part in found.setups] == [None]
    assert not found.is_replay_like_capture
    assert "they delay" not in str(found)


def transfers(delays_ms: list[float], segments: int = 1) -> pl.DataFrame:
    """Transfers to one address over 40 ms, with these delays of their acknowledgments."""
    times = [0.04 + delay / 1e3 for delay in delays_ms]
    values = {"destination": "192.0.2.1", "segments": segments, "shortest_s": 0.04}
    return pl.DataFrame({"completion_s": times}).with_columns(
        **{name: pl.lit(value) for name, value in values.items()}
    )


@pytest.mark.parametrize(
    ("delays_ms", "expected_s"),
    [
        ([200.0] * 20, 0.2),
        # One in ten is lost, and repaired later.
        ([98.0] * 9 + [102.0] * 9 + [500.0] * 2, 0.1),
        # Too few, too short, and longer than RFC 5681 permits.
        ([200.0] * 19, 0.0),
        ([40.0] * 100, 0.0),
        ([600.0] * 100, 0.0),
        # A coarse timer of 200 ms, whose phase varies.
        ([10.0 * step for step in range(21)], 0.0),
    ],
)
def test_a_delay_counts_if_it_is_constant(delays_ms: list[float], expected_s: float) -> None:
    found = ack_delay_s(transfers(delays_ms))["ack_delay_s"].unique().to_list()
    assert found == [pytest.approx(expected_s)]


def test_longer_transfers_tell_no_delay_but_have_it() -> None:
    other = transfers([0.0] * 50).with_columns(destination=pl.lit("192.0.2.2"))
    longer = transfers([0.0] * 50, segments=2)
    found = ack_delay_s(pl.concat([longer, other, transfers([200.0] * 30)]))
    by_address = found.group_by("destination").agg(pl.col("ack_delay_s").unique())
    assert dict(by_address.iter_rows()) == {"192.0.2.1": [0.2], "192.0.2.2": [0.0]}


@pytest.mark.parametrize("rtt_s", [0.02, 0.04, 0.1, 0.3])
def test_a_first_transfer_begins_with_the_round_trip_time_of_the_path(rtt_s: float) -> None:
    assert initial_rtt_s(rtt_s, 0.2, rtt_s) == pytest.approx(rtt_s, abs=0.006)


# Median times after which Linux 6.18 sent a lone segment again, by its smoothed round-trip time: the
# handshake took 40 ms, and each acknowledgment 240 ms (a receiver of `tcpsf serve --profile rfc`).
@pytest.mark.parametrize(
    ("srtt_ms", "waited_ms"), [(65, 346), (87, 388), (106, 436), (138, 489), (162, 543), (180, 575)]
)
def test_a_later_transfer_begins_with_the_timer_of_its_sender(srtt_ms: int, waited_ms: int) -> None:
    first_s = initial_rtt_s(0.04, 0.2, srtt_ms / 1e3)
    ends = ("server", "client"), ("client", "server")
    links = [
        Link(
            name=one,
            from_=one,
            to=other,
            delay="20ms",
            loss=MaskLoss(drops="1") if at == 0 else None,
        )
        for at, (one, other) in enumerate(ends)
    ]
    one = Transfers(name="one", from_="server", to="client", sizes=[1000], sender="linux")
    tcp = Tcp(profile="linux-6.18", rtt_initial=f"{first_s}s")
    made = Scenario(name="lost", duration="10s", tcp=tcp, link=links, workload=[one])
    repaired_s = run(made, seed=1).flows["receiver_s"][0] - 0.02
    assert repaired_s == pytest.approx(waited_ms / 1e3, rel=0.06)
