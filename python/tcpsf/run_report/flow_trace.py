"""Packets of one flow: its ladder diagram, and the repair of its first loss in words."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpsf import python_models, text
from tcpsf.chart.time_sequence import Flow, Packet, paired, side_by_side
from tcpsf.errors import TcpsfError
from tcpsf.result import to_frame
from tcpsf.staging import write_file

if TYPE_CHECKING:
    import polars as pl

    from tcpsf.python_models import PythonModels
    from tcpsf.scenario import Scenario

EVENTS = 4096
"""Number of events between two checks whether the flow is complete."""
MOST_ROWS = 20_000
"""Maximum number of packet rows of the flow that are kept."""
MOST_ARROWS = 90
"""Maximum number of packets in a diagram."""
BEFORE = 8
"""Number of packets in front of the lost one, in the diagram of a long flow."""
FLIGHT = 57.5
"""Height of a packet's arrow in pixels, if consecutive packets are far enough apart."""
APART = 9.0
"""Distance in pixels of consecutive packets, in the median."""
STRETCHED = 2.5
"""Maximum ratio of an arrow's height to `FLIGHT`."""

LOST = {
    "dropped-buffer": "dropped, because the buffer is full",
    "dropped-early": "dropped early by the buffer's discipline",
    "dropped-loss": "lost on the link",
}
REPAIRS = {
    "timeout": "a retransmission timeout",
    "fast-retransmit": "a fast retransmit",
    "syn-timeout": "the timeout of the SYN",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRepair:
    """A lost packet of the sender, and the response that sent it again."""

    lost: Packet
    """The packet: times in seconds, sequence number and payload in bytes."""
    how: str
    """Event of the loss, as in the table ``packets``."""
    cause: str
    """Cause of the response, as in the table ``recoveries``."""
    time_s: float
    """Time of the response in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowTrace:
    """Packets of one flow of a run; a notebook shows the ladder diagram.

    `RunResult.ladder` makes it.
    """

    row: Mapping[str, Any]
    """Row of the table ``flows``."""
    rows: Sequence[Mapping[str, Any]] = field(repr=False)
    """Rows of the table ``packets`` of the flow."""
    recoveries: Sequence[Mapping[str, Any]] = field(repr=False)
    """Rows of the table ``recoveries`` of the flow."""

    @property
    def title(self) -> str:
        """Number, workload and sender of the flow."""
        row = self.row
        return f"Flow {row['flow']} of {row['workload']}, {row['variant']}"

    def repair(self) -> LossRepair | None:
        """Return the first loss that a timeout repaired, or else a fast retransmit; or ``None``."""
        found = self._repairs()
        causes = [each.cause for each in found]
        for cause in ("timeout", "fast-retransmit", "syn-timeout"):
            if cause in causes:
                return found[causes.index(cause)]
        return None

    def sentence(self) -> str:
        """Describe the flow, and what repaired its loss and when."""
        row, found = self.row, self.repair()
        sent = text.count(row["segments"], "segment")
        size = row["size_bytes"]
        whole = (
            f"The flow sends {sent}"
            if size is None
            else (f"The flow sends {text.plain(size, 0)} bytes in {sent}")
        )
        whole += f" from {row['start_s']:.3f} s."
        if row["sender_s"] is not None:
            whole += f" It is complete after {row['sender_s']:.3f} s."
        if found is None:
            losses = sum(packet.lost for packet in paired(self.rows))
            drawn = (
                "None of its packets is lost."
                if not losses
                else (
                    f"{text.count(losses, 'packet')} of it are lost, and none of them is repaired by a "
                    "timeout or a fast retransmit."
                )
            )
            return f"{whole} {drawn}"
        packet = found.lost
        name = (
            "The SYN"
            if not packet.payload
            else (f"The segment with the bytes {packet.seq} to {packet.seq + packet.payload - 1}")
        )
        after = found.time_s - packet.sent_s
        return (
            f"{whole} {name}, sent at {packet.sent_s:.3f} s, is {LOST[found.how]}. "
            f"{REPAIRS[found.cause].capitalize()} repairs the loss at {found.time_s:.3f} s, "
            f"{after:.3f} s after the segment was sent."
        )

    def svg(self) -> str:
        """Return the ladder diagram as an SVG document, for light and dark pages.

        Of a long flow, it shows up to `MOST_ARROWS` packets around the loss.
        """
        packets = self.shown()
        flight = _flight_s(packets)
        whole = len(packets) == len(paired(self.rows))
        row = self.row
        done = whole and row["sender_s"] is not None
        flow = Flow(
            name=row["variant"],
            packets=packets,
            repairs=tuple((each["time_s"], each["cause"]) for each in self.recoveries),
            complete_s=row["start_s"] + row["sender_s"] if done else None,
        )
        if not whole:
            first, last = packets[0].sent_s, packets[-1].ended_s
            flow = replace(
                flow, repairs=tuple(each for each in flow.repairs if first <= each[0] <= last)
            )
        title = f"Flow {row['flow']}"
        return side_by_side((flow,), title=title, flight_s=flight, scale=_scale(packets, flight))

    def shown(self) -> tuple[Packet, ...]:
        """Return the packets of the diagram."""
        packets = paired(self.rows)
        if len(packets) <= MOST_ARROWS:
            return packets
        found = self.repair()
        first = 0 if found is None else max(packets.index(found.lost) - BEFORE, 0)
        return packets[first : first + MOST_ARROWS]

    @property
    def total(self) -> int:
        """Number of the flow's packets that are known."""
        return len(paired(self.rows))

    def save(self, path: str | Path) -> Path:
        """Write the diagram as ``.svg``. Raises `OutputError` if the file cannot be written."""
        target = Path(path)
        if target.suffix.lower() != ".svg":
            raise TcpsfError(
                f"cannot save a ladder diagram as `{target}`: unknown extension `{target.suffix}`",
                hint="use .svg",
            )
        write_file(target, self.svg())
        return target

    def _repr_html_(self) -> str:
        return f"<div><p>{self.sentence()}</p>{self.svg()}</div>"

    def _repairs(self) -> list[LossRepair]:
        """Match each response to the packet whose loss it repairs, in order of time."""
        ends = {row["packet"]: row["event"] for row in self.rows if row["event"] in LOST}
        sent = [row["packet"] for row in self.rows if row["event"] == "sent"]
        known = {row["packet"] for row in self.rows if row["event"] != "sent"}
        packets = paired(self.rows)
        numbers = [number for number in sent if number in known]
        found = []
        for response in self.recoveries:
            time_s, cause = response["time_s"], response["cause"]
            again = [p for p in packets if p.from_sender and p.sent_s >= time_s - 1e-9]
            if not again or cause not in REPAIRS:
                continue
            before = [
                (packet, number)
                for packet, number in zip(packets, numbers, strict=True)
                if packet.from_sender
                and packet.lost
                and packet.sent_s < time_s - 1e-9
                and packet.seq <= again[0].seq < packet.seq + max(packet.payload, 1)
            ]
            if before:
                packet, number = before[-1]
                found.append(LossRepair(lost=packet, how=ends[number], cause=cause, time_s=time_s))
        return found


def trace(
    scenario: Scenario,
    row: Mapping[str, Any],
    *,
    seed: int,
    models: PythonModels | None = None,
) -> FlowTrace:
    """Repeat a run until a flow is complete, and keep the flow's packets.

    ``row`` is the flow's row of the table ``flows``, and ``models`` are the run's Python models.
    """
    import polars as pl

    watched = replace(scenario, samples=None, trace=(row["workload"],))
    simulation = python_models.simulation(watched.to_json(), seed=seed, models=models)
    last = row["start_s"] + max(row["sender_s"] or 0.0, row["receiver_s"] or 0.0)
    end = float("inf") if row["sender_s"] is None else last + row["rto_s"]
    kept: dict[str, list[dict[str, Any]]] = {"packets": [], "recoveries": []}

    def take() -> None:
        tables = {
            "packets": simulation.take_packets(),
            "recoveries": simulation.take_recoveries(),
        }
        for name, table in tables.items():
            own: pl.DataFrame = to_frame(table).filter(pl.col("flow") == row["flow"])
            kept[name] += own.to_dicts()
        simulation.take_flows()

    while simulation.advance(max_events=EVENTS):
        take()
        if simulation.now_s > end or len(kept["packets"]) > MOST_ROWS:
            break
    take()
    return FlowTrace(row=row, rows=kept["packets"], recoveries=kept["recoveries"])


def _flight_s(packets: Sequence[Packet]) -> float:
    """Usual time from the transmission of a packet to its arrival."""
    times = [packet.ended_s - packet.sent_s for packet in packets if not packet.lost]
    return statistics.median(times) if times else 0.05


def _scale(packets: Sequence[Packet], flight_s: float) -> float:
    """Return the pixels per second with which arrows and labels are apart."""
    times = sorted({packet.sent_s for packet in packets} | {packet.ended_s for packet in packets})
    gaps = [after - before for before, after in itertools.pairwise(times)]
    close = [gap for gap in gaps if gap <= 3 * flight_s]
    if not close or flight_s <= 0:
        return FLIGHT / (flight_s or 0.05)
    usual = FLIGHT / flight_s
    return min(max(usual, APART / statistics.median(close)), STRETCHED * usual)
