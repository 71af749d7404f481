"""Figs. 1, 2, 4 and 19: time-sequence diagrams of simulated flows.

They show which losses from one window are repaired, and by which mechanism.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tcpsf.chart import time_sequence
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Drawing
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case
from tcpsf.evaluation.ranges import Verdict
from tcpsf.evaluation.watch import Rows
from tcpsf.models import packet_discard as model
from tcpsf.papers import packet_discard as paper
from tcpsf.papers import packet_discard_networks as networks
from tcpsf.summary import RunSummary

PACKETS = Rows(
    table="packets",
    columns=("time_s", "packet", "event", "from", "seq", "payload_bytes", "ack"),
)
REPAIRS = Rows(table="recoveries", columns=("time_s", "cause"))
SENDERS = {"Reno": networks.RENO, "SACK": networks.SACK}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """One of the paper's time-sequence diagrams."""

    key: str
    figure: str
    title: str
    caption: str
    window: int
    lost: tuple[int, ...]
    """Positions of the losses in the window, from 0."""
    claim: str
    source: str
    expected: Mapping[str, tuple[str, ...]]
    """By sender: the mechanisms that detect the losses, in order."""


FAST, TIMEOUT = "fast-retransmit", "timeout"

LADDERS = (
    Ladder(
        key="fig-1",
        figure="Fig. 1",
        title="Fast retransmit and fast recovery",
        caption="One segment of a window of 8 is lost. The paper's window is not stated.",
        window=8,
        lost=(0,),
        claim="One loss from a window of 8 is repaired by fast retransmit",
        source="section 2.1, Fig. 1",
        expected={"Reno": (FAST,)},
    ),
    Ladder(
        key="fig-2",
        figure="Fig. 2",
        title="Two losses from a window of 8",
        caption="Segments 1 and 4 are lost; which two the paper loses is not stated.",
        window=8,
        lost=(1, 4),
        claim="Of two losses from a window of 8 the first is repaired by fast retransmit, the second needs the timer",
        source="section 2.1, Fig. 2",
        expected={"Reno": (FAST, TIMEOUT)},
    ),
    Ladder(
        key="fig-4",
        figure="Fig. 4",
        title="Three losses from a window of 24",
        caption="Segments 0, 21 and 22 are lost: the first two are 3W/4 + 3 = 21 apart.",
        window=24,
        lost=(0, 21, 22),
        claim="Three losses from a window of 24, the first two 21 apart, are each repaired by fast retransmit",
        source="section 2.2, (3), Fig. 4",
        expected={"Reno": (FAST, FAST, FAST)},
    ),
    Ladder(
        key="fig-19",
        figure="Fig. 19",
        title="The same losses with Reno and with SACK",
        caption="Segments 1 and 4 of a window of 8 are lost, as in Fig. 2.",
        window=8,
        lost=(1, 4),
        claim="SACK repairs two losses from a window of 8 without a timeout; under the same conditions Reno "
        "needs one",
        source="section 6.1, Fig. 19",
        expected={"Reno": (FAST, TIMEOUT), "SACK": (FAST,)},
    ),
)


def exhibits() -> tuple[Exhibit, ...]:
    """Return one exhibit per time-sequence diagram: Figs. 1, 2, 4 and 19."""
    return tuple(_exhibit(each) for each in LADDERS)


def _exhibit(drawn: Ladder) -> Exhibit:
    cases = {
        name: Case(
            scenario=networks.window_scenario(drawn.window, drawn.lost, sender=SENDERS[name]),
            watches=(PACKETS, REPAIRS),
            once=True,
        )
        for name in drawn.expected
    }
    return Exhibit(
        key=drawn.key,
        section="spacing" if set(drawn.expected) == {"Reno"} else "mixed",
        cases=tuple(cases.values()),
        build=lambda runs: _part(drawn, {name: runs.of(case)[0] for name, case in cases.items()}),
        shown={drawn.figure: next(iter(cases.values())).scenario},
    )


def _part(drawn: Ladder, runs: Mapping[str, RunSummary]) -> Part:
    flows = [flow(name, drawn.window, run) for name, run in runs.items()]
    svg = time_sequence.side_by_side(flows, title=drawn.title, flight_s=networks.LINE_DELAY_S)
    drawing = Drawing(
        key=drawn.key,
        title=f"{drawn.figure}: {drawn.title[0].lower()}{drawn.title[1:]}",
        source=f"{paper.SHORT}, {drawn.figure}",
        caption=f"{drawn.caption} Segments are numbered from the first of the window.",
        svg=svg,
    )
    return Part(drawings=(drawing,), findings=(_claim(drawn, runs),))


def flow(name: str, window: int, run: RunSummary) -> time_sequence.Flow:
    """Extract the window with the losses, up to the acknowledgment of the whole window."""
    first = 1 + (window - 1) * paper.SEGMENT
    past = first + window * paper.SEGMENT
    packets = [each for each in time_sequence.paired(PACKETS.of(run)) if _within(each, first)]
    arrivals = [
        each.ended_s for each in packets if not each.from_sender and (each.ack or 0) >= past
    ]
    end = min(arrivals)
    return time_sequence.Flow(
        name=name,
        packets=tuple(each for each in packets if each.ended_s <= end),
        repairs=tuple((row["time_s"], row["cause"]) for row in REPAIRS.of(run)),
        complete_s=end,
        segment_bytes=paper.SEGMENT,
        first_seq=first,
        done="window acknowledged",
    )


def _within(packet: time_sequence.Packet, first: int) -> bool:
    return packet.seq >= first if packet.from_sender else (packet.ack or 0) >= first


def _claim(drawn: Ladder, runs: Mapping[str, RunSummary]) -> Finding:
    found = {name: tuple(row["cause"] for row in REPAIRS.of(run)) for name, run in runs.items()}
    responses = "; ".join(
        f"{name}: {', '.join(causes).replace('-', ' ')}" for name, causes in found.items()
    )
    verdict: Verdict = "holds" if found == dict(drawn.expected) else "does not hold"
    needs = bool(model.recovers(drawn.window, list(drawn.lost)))
    wording = (
        f"Responses to the losses, in order: {responses}. Nothing in them is random. "
        f"Equations (1) to (3): Reno needs {'no' if needs else 'a'} timeout."
    )
    count = sum(causes.count(TIMEOUT) for causes in found.values())
    return judge.finding(
        key=f"{drawn.key}-repaired",
        claim=drawn.claim,
        source=drawn.source,
        published=f"drawn in {drawn.figure}",
        judged=judge.by_value(count, verdict, responses, wording),
    )
