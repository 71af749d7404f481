"""Time-sequence diagrams: what is drawn, and that times mean the same in each part."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from tcpsf import run
from tcpsf.chart.time_sequence import (
    AXIS,
    PANEL,
    PHASES,
    Flow,
    Packet,
    ladder,
    packets_of,
    side_by_side,
)
from tcpsf.papers import smart_framing_mechanisms as mechanisms
from tcpsf.report.ladder import (
    drawn,
    first_loss_scenario,
    first_losses,
    flow_of,
    limited_transmits,
)

SVG = "{http://www.w3.org/2000/svg}"
FRAMED = "reno+sack / fs(n=4) / iw=1"


def parsed(drawing: str) -> ET.Element:
    return ET.fromstring(drawing)  # noqa: S314 (we have just drawn it)


def texts(element: ET.Element) -> list[str]:
    return [text.text or "" for text in element.iter(f"{SVG}text")]


def sent(at: float, *, seq: int = 1) -> Packet:
    return Packet(
        sent_s=at,
        ended_s=at + 0.05,
        lost=False,
        from_sender=True,
        seq=seq,
        payload=100,
        ack=1,
        again=False,
    )


def test_packets_pair_a_sending_with_its_end() -> None:
    result = run(first_loss_scenario(FRAMED), seed=1)
    packets = packets_of(result.packets)
    assert [packet.seq for packet in packets if packet.lost] == [1]
    assert [(packet.seq, packet.payload) for packet in packets if packet.again] == [(1, 365)]
    data = [packet for packet in packets if packet.from_sender and not packet.lost]
    assert sum(packet.payload for packet in data) == 4380
    assert all(packet.sent_s < packet.ended_s for packet in packets if not packet.lost)
    flow = flow_of(result, name="x")
    assert flow.packets == packets
    assert [cause for _, cause in flow.repairs] == ["fast-retransmit"]
    assert flow.complete_s == pytest.approx(result.flows["sender_s"][0])
    assert flow_of(result, name="x", flow=7) == Flow(name="x", packets=())


def test_the_three_senders_side_by_side() -> None:
    drawing = parsed(drawn(first_losses()))
    panels = drawing.findall(f"{SVG}g")
    assert [texts(panel)[0] for panel in panels] == ["Classic", "FS-TCP-SF", "VS-TCP-SF"]
    assert ["timeout" in texts(panel) for panel in panels] == [True, False, False]
    assert ["fast retransmit" in texts(panel) for panel in panels] == [False, True, True]
    for panel in panels:
        assert sum(path.get("class") == "cross" for path in panel.iter(f"{SVG}path")) == 1
        assert texts(panel)[-1].startswith("complete after ")
    assert sum("without a packet" in text for text in texts(drawing)) == 1
    width = float(drawing.get("width", "0"))
    assert float(panels[-1].get("transform", "").removeprefix("translate(").split()[0]) < width
    assert "prefers-color-scheme: dark" in drawn(first_losses())


def test_a_moment_has_one_height_in_every_part() -> None:
    flows = [
        Flow(name=name, packets=(sent(0.0), sent(at)))
        for name, at in (("a", 0.1), ("b", 0.13), ("c", 0.1))
    ]
    drawing = parsed(side_by_side(flows, title="x", flight_s=0.05))
    tops = [
        [
            float(line.get("y1", "nan"))
            for line in panel.iter(f"{SVG}line")
            if line.get("class") == "data"
        ]
        for panel in drawing.findall(f"{SVG}g")
    ]
    assert tops[0] == tops[2]
    assert tops[0][0] == tops[1][0]
    assert tops[0][1] < tops[1][1]


def test_only_a_silence_of_all_is_cut_short() -> None:
    early, late = (Flow(name="x", packets=(sent(0.0), sent(at))) for at in (0.05, 2.0))
    between = Flow(name="y", packets=tuple(sent(0.1 * n) for n in range(20)))
    gaps = [
        [
            text
            for text in texts(parsed(side_by_side(flows, title="x", flight_s=0.05)))
            if "without" in text
        ]
        for flows in ((early, late), (late, between))
    ]
    assert gaps == [["1.90 s without a packet"], []]


def test_labels_keep_their_distance() -> None:
    drawing = parsed(
        ladder(
            Flow(name="burst", packets=tuple(sent(0.0, seq=n) for n in range(1, 9))), flight_s=0.05
        )
    )
    places = [
        float(text.get("y", "nan"))
        for text in drawing.iter(f"{SVG}text")
        if "(100)" in (text.text or "")
    ]
    assert len(places) == 8
    assert all(b - a >= 12 for a, b in itertools.pairwise(places))


def test_phases_are_beside_the_packets() -> None:
    plain = Flow(name="x", packets=(sent(0.0), sent(0.1)))
    phases = ((0.0, 0.1, "first & only"), (0.1, 0.15, "second"))
    with_phases = replace(plain, phases=phases)
    drawing = parsed(side_by_side((with_phases, plain), title="x", flight_s=0.05))
    marks = [line for line in drawing.iter(f"{SVG}line") if "phase" in (line.get("class") or "")]
    ends = [float(mark.get(name, "nan")) for mark in marks for name in ("y1", "y2")]
    assert ends[0] < ends[1] == ends[2] < ends[3]
    assert {"first & only, 0.10 s", "second, 0.05 s"} <= set(texts(drawing))
    second = drawing.findall(f"{SVG}g")[1].get("transform")
    assert second == f"translate({AXIS + PANEL + PHASES:g} 0)"
    assert "phase" not in ladder(plain, flight_s=0.05)


def test_names_are_text_and_nothing_is_drawn_of_nothing() -> None:
    drawing = ladder(Flow(name="<script>&", packets=()), flight_s=0.05)
    assert "<script>" not in drawing
    assert texts(parsed(drawing))[0] == "<script>&"


def test_limited_transmit_resends_later_than_framing() -> None:
    """Journal, section III-A: at least one more round trip before fast retransmit."""
    classic, limited, *framed = limited_transmits()
    found = [
        next(at for at, cause in flow.repairs if cause == "fast-retransmit")
        for flow in (limited, *framed)
    ]
    assert all(found[0] - at > 2 * mechanisms.DELAY_S for at in found[1:])
    assert [cause for _, cause in classic.repairs] == ["timeout"]
