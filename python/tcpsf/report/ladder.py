"""Time-sequence diagrams: the segments and acknowledgements of one flow between its sender and its receiver.

``python -m tcpsf.report.ladder FOLDER`` draws those of the concept page from simulated runs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from tcpsf.papers.smart_framing import VARIANTS
from tcpsf.runs import run
from tcpsf.scenario import Link, MaskLoss, Scenario, Tcp, Transfers

if TYPE_CHECKING:
    import polars as pl

WIDTH = 640.0
LEFT, RIGHT = 150.0, 490.0
TOP = 58.0
PIXELS_PER_SECOND = 2300.0
LONGEST_GAP_S = 0.15
"""A longer silence is drawn as a break with its length beside it."""
BREAK_PIXELS = 54.0
LINE_PIXELS = 12.0

STYLE = """
.ladder { font: 11px system-ui, sans-serif; }
.ladder text { fill: #333; } .ladder .title { font-size: 14px; font-weight: 600; }
.ladder line { stroke: #999; stroke-width: 1; } .ladder .end { stroke: #555; stroke-width: 1.5; }
.ladder .data { stroke: #1f5fbf; stroke-width: 1.4; } .ladder .again { stroke: #c2540a; stroke-width: 2.2; }
.ladder .ack { stroke: #888; stroke-dasharray: 4 2; } .ladder .lost { stroke: #c22; stroke-width: 1.8; }
.ladder .cross { stroke: #c22; stroke-width: 2; } .ladder .gap { fill: #c2540a; font-weight: 600; }
.ladder .again-text { fill: #c2540a; } .ladder .lost-text { fill: #c22; }
.ladder .sheet { fill: #fff; }
@media (prefers-color-scheme: dark) {
  .ladder .sheet { fill: #16181c; } .ladder text { fill: #ddd; } .ladder .end { stroke: #aaa; }
  .ladder .data { stroke: #7fb0ff; } .ladder .again { stroke: #ffa25c; } .ladder .gap { fill: #ffa25c; }
  .ladder .again-text { fill: #ffa25c; } .ladder .lost, .ladder .cross { stroke: #ff7b7b; }
  .ladder .lost-text { fill: #ff7b7b; }
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """One packet of the flow, from its sending to its end."""

    sent_s: float
    ended_s: float
    lost: bool
    from_sender: bool
    seq: int
    payload: int
    ack: int | None
    again: bool
    """Whether it carries bytes that were sent before."""


def packets_of(table: pl.DataFrame, *, flow: int = 0) -> list[Packet]:
    """Pair the rows of a traced flow: each sending with its arrival or loss. A packet still on its way is left out."""
    rows = [row for row in table.iter_rows(named=True) if row["flow"] == flow]
    ends = {row["packet"]: row for row in rows if row["event"] != "sent"}
    found: list[Packet] = []
    highest = 1
    for row in rows:
        end = ends.get(row["packet"])
        if row["event"] != "sent" or end is None:
            continue
        from_sender, seq, payload = row["from"] == "sender", row["seq"], row["payload_bytes"]
        found.append(
            Packet(
                sent_s=row["time_s"],
                ended_s=end["time_s"],
                lost=end["event"] != "arrived",
                from_sender=from_sender,
                seq=seq,
                payload=payload,
                ack=row["ack"],
                again=from_sender and payload > 0 and seq < highest,
            )
        )
        if from_sender:
            highest = max(highest, seq + payload)
    return found


def ladder(packets: Sequence[Packet], *, title: str, flight_s: float) -> str:
    """Draw the packets as an SVG. ``flight_s`` is the time to the place where a lost packet's arrow ends."""
    moments = sorted({time for packet in packets for time in (packet.sent_s, packet.ended_s)})
    axis = _Axis(moments)
    parts = [
        f'<rect class="sheet" width="{WIDTH:g}" height="{axis.bottom + 24:.0f}"/>',
        f'<text class="title" x="{WIDTH / 2:g}" y="20" text-anchor="middle">{escape(title)}</text>',
        f'<text x="{LEFT:g}" y="42" text-anchor="middle">sender</text>',
        f'<text x="{RIGHT:g}" y="42" text-anchor="middle">receiver</text>',
        *(f'<line class="end" x1="{x:g}" x2="{x:g}" y1="{TOP - 8:g}" y2="{axis.bottom:.1f}"/>' for x in (LEFT, RIGHT)),
    ]
    labels = {True: _Labels(), False: _Labels()}
    for packet in packets:
        parts += _lost(packet, axis, flight_s) if packet.lost else _arrow(packet, axis)
        parts.append(_label(packet, labels[packet.from_sender].place(axis.y(packet.sent_s) + 4)))
    for y, seconds in axis.breaks:
        parts.append(
            f'<text class="gap" x="{LEFT - 10:g}" y="{y + 4:.1f}" text-anchor="end">{seconds:.2f} s later</text>'
        )
        for x in (LEFT, RIGHT):
            parts.append(f'<rect class="sheet" x="{x - 4:g}" y="{y - 5:.1f}" width="8" height="10"/>')
    drawing = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ladder" viewBox="0 0 {WIDTH:g} {axis.bottom + 24:.0f}" '
        f'width="{WIDTH:g}" role="img" aria-label="{escape(title)}">\n<style>{STYLE}</style>\n{drawing}\n</svg>\n'
    )


class _Labels:
    """A column of labels that keep a line's distance: packets that leave at once would write over each other."""

    def __init__(self) -> None:
        self._lowest = -math.inf

    def place(self, y: float) -> float:
        self._lowest = max(y, self._lowest + LINE_PIXELS)
        return self._lowest


class _Axis:
    """Time from top to bottom, with long silences cut short."""

    def __init__(self, moments: Sequence[float]) -> None:
        self.breaks: list[tuple[float, float]] = []
        self._places: dict[float, float] = {}
        y, last = TOP, moments[0] if moments else 0.0
        for moment in moments:
            silence = moment - last
            if silence > LONGEST_GAP_S:
                self.breaks.append((y + BREAK_PIXELS / 2, silence))
                y += BREAK_PIXELS
            else:
                y += silence * PIXELS_PER_SECOND
            self._places[moment] = y
            last = moment
        self.bottom = y + 14

    def y(self, moment: float) -> float:
        return self._places[moment]


def _arrow(packet: Packet, axis: _Axis) -> Iterator[str]:
    start, end = (LEFT, RIGHT) if packet.from_sender else (RIGHT, LEFT)
    top, bottom = axis.y(packet.sent_s), axis.y(packet.ended_s)
    kind = "ack" if not packet.from_sender else "again" if packet.again else "data"
    yield f'<line class="{kind}" x1="{start:g}" y1="{top:.1f}" x2="{end:g}" y2="{bottom:.1f}"/>'
    side = 1 if packet.from_sender else -1
    head = f"M{end:g} {bottom:.1f} l{-side * 9:g} -5.5 M{end:g} {bottom:.1f} l{-side * 9.5:g} 1.5"
    yield f'<path class="{kind}" fill="none" style="stroke-dasharray:none" d="{head}"/>'


def _lost(packet: Packet, axis: _Axis, flight_s: float) -> Iterator[str]:
    side = 1 if packet.from_sender else -1
    start = LEFT if packet.from_sender else RIGHT
    x, y = start + side * (RIGHT - LEFT) * 0.55, axis.y(packet.sent_s) + 0.55 * flight_s * PIXELS_PER_SECOND
    yield f'<line class="lost" x1="{start:g}" y1="{axis.y(packet.sent_s):.1f}" x2="{x:g}" y2="{y:.1f}"/>'
    yield f'<path class="cross" d="M{x - 5:g} {y - 5:.1f} l10 10 M{x + 5:g} {y - 5:.1f} l-10 10"/>'


def _label(packet: Packet, y: float) -> str:
    if not packet.from_sender:
        return f'<text x="{RIGHT + 8:g}" y="{y:.1f}">ack {packet.ack}</text>'
    kind = ' class="lost-text"' if packet.lost else ' class="again-text"' if packet.again else ""
    told = f"{packet.seq}:{packet.seq + packet.payload} ({packet.payload})"
    return f'<text{kind} x="{LEFT - 8:g}" y="{y:.1f}" text-anchor="end">{told}</text>'


DELAY_S = 0.05


def first_loss_scenario(sender: str) -> Scenario:
    """One flow of three full segments whose first data segment is lost; slow enough to tell segments apart."""
    return Scenario(
        name="first segment lost",
        duration="10s",
        trace=("one",),
        link=(
            Link(
                name="there",
                from_="a",
                to="b",
                rate="500kb/s",
                delay=f"{DELAY_S:g}s",
                loss=MaskLoss(drops="1"),
            ),
            Link(name="back", from_="b", to="a", rate="500kb/s", delay=f"{DELAY_S:g}s"),
        ),
        workload=(Transfers(name="one", from_="a", to="b", sizes=(4380,), sender=sender),),
        tcp=Tcp(profile="ns2"),
    )


def draw_first_losses(folder: Path) -> list[Path]:
    """Write one diagram for each of the paper's senders and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for variant in VARIANTS:
        result = run(first_loss_scenario(variant.sender), seed=1)
        seconds = result.flows["sender_s"][0]
        title = f"{variant.label}: first segment lost, complete after {seconds:.2f} s"
        drawing = ladder(packets_of(result.packets), title=title, flight_s=DELAY_S)
        path = folder / f"{variant.key}-first-loss.svg"
        path.write_text(drawing, encoding="utf-8")
        written.append(path)
    return written


def main() -> None:
    """Draw the diagrams of the concept page into the folder given."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tcpsf.report.ladder FOLDER")
    draw_first_losses(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
