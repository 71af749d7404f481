"""Fig. 1: the packets of a transfer, with delayed acknowledgments and without loss."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tcpsf.chart import time_sequence
from tcpsf.chart.time_sequence import Flow, Packet
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Drawing, Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.evaluation.watch import Rows
from tcpsf.papers import short_flows as paper
from tcpsf.papers.short_flows_simulated import WORKLOAD, TransferPoint, network
from tcpsf.reproduce.short_flows.trials import Setting
from tcpsf.summary import RunSummary

SEGMENTS = 14
"""Segments of the response: 20 440 bytes, the text's 21 KB."""
POINT = TransferPoint(size=SEGMENTS * paper.MSS, loss=0.0)
PACKETS = 21
"""Packets that must arrive at the first attempt (section 3.3.2)."""
ABOUT = 2
"""Tolerance of "about", in packets."""
TRACED = Rows(
    table="packets",
    columns=("time_s", "packet", "event", "flow", "from", "seq", "payload_bytes", "ack"),
)


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return Fig. 1, a transfer packet by packet."""
    (transfer, *others) = network(POINT, setting.assumed, trials=1).workload
    scenario = replace(
        network(POINT, setting.assumed, trials=1),
        # The client opens the connection, and the server sends.
        workload=(replace(transfer, opener="receiver"), *others),
        trace=(WORKLOAD,),
        name="Fig. 1",
    )
    case = Case(scenario=scenario, watches=(TRACED,), once=True)
    return (
        Exhibit(
            key="fig-1",
            section="transaction",
            cases=(case,),
            build=lambda runs: _part(case, runs),
            shown={"Fig. 1": scenario},
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """The packets of one round trip of a transfer."""

    number: int
    data: int
    acks: int


def _packets(run: RunSummary) -> tuple[Packet, ...]:
    import polars as pl

    return time_sequence.packets_of(pl.DataFrame(TRACED.of(run), infer_schema_length=None))


def rounds(packets: Sequence[Packet], rtt: float) -> list[Round]:
    """Group data packets by their sending times: a gap of half a round trip starts a round."""
    data = sorted(
        (each for each in packets if each.from_sender and each.payload),
        key=lambda each: each.sent_s,
    )
    starts = [data[0].sent_s] if data else []
    starts += [
        two.sent_s for one, two in itertools.pairwise(data) if two.sent_s - one.sent_s > rtt / 2
    ]
    ends = [*starts[1:], float("inf")]
    acks = [
        each
        for each in packets
        if not each.from_sender and each.ack is not None and each.sent_s > starts[0]
    ]
    return [
        Round(
            number=number,
            data=sum(start <= each.sent_s < end for each in data),
            acks=sum(start <= each.sent_s < end for each in acks),
        )
        for number, (start, end) in enumerate(zip(starts, ends, strict=True), start=1)
    ]


def _part(case: Case, runs: Runs) -> Part:
    (run,) = runs.of(case)
    packets = tuple(each for each in _packets(run) if not _closing(each, POINT.size))
    done = max(each.ended_s for each in packets if each.from_sender and each.payload)
    flow = Flow(name="delayed ACKs, no loss", packets=packets, complete_s=done)
    found = rounds(packets, POINT.rtt)
    needed = sum(each.ended_s <= done for each in packets)
    return Part(
        drawings=(
            Drawing(
                key="fig-1-ladder",
                title="Fig. 1: a transfer without loss, packet by packet",
                source=f"{paper.SHORT}, Fig. 1",
                caption="Time runs downwards. The sender is the server.",
                svg=time_sequence.side_by_side(
                    (flow,), title="HTTP over TCP", flight_s=POINT.rtt / 2
                ),
            ),
        ),
        tables=(
            Table(
                key="fig-1",
                title="Fig. 1: segments and acknowledgments in each round trip",
                source=f"{paper.SHORT}, Fig. 1",
                caption=f"{SEGMENTS} segments from a server to the client that opened the connection, round trip 70 "
                "ms; a request would be on the third packet of the handshake. A round begins where nothing was sent "
                "for half a round trip.",
                columns=("round", "segments", "acknowledgments"),
                rows=tuple(
                    Row(
                        label=str(each.number),
                        cells=(
                            TableCell(ours=judge.exact(each.data), published=None),
                            TableCell(ours=judge.exact(each.acks), published=None),
                        ),
                    )
                    for each in found
                ),
            ),
        ),
        findings=(
            judge.finding(
                key="fig-1-first",
                claim="Fig. 1: with a window of 4 segments the sender can only send 3, in the third round",
                source=f"{paper.SHORT}, Fig. 1",
                published="3 packets",
                judged=judge.is_exactly(found[2].data, 3, within=0, unit="segments"),
            ),
            judge.finding(
                key="fig-1-packets",
                claim="About 21 packets must arrive for 21 KB (until the client has the last byte; to two packets)",
                source=f"{paper.SHORT}, section 3.3.2",
                published=f"{PACKETS} packets",
                judged=judge.is_exactly(needed, PACKETS, within=ABOUT, unit="packets"),
            ),
        ),
    )


def _closing(packet: Packet, size: int) -> bool:
    """Whether a packet belongs to the connection's close, which the figure omits."""
    if packet.from_sender:
        return packet.payload == 0 and packet.seq > 1
    return packet.ack is not None and packet.ack > size + 1
