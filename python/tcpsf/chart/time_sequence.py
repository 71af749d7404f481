"""Time-sequence diagrams: segments and acknowledgments of flows between senders and receivers.

Flows are side by side on one time axis, as in textbooks.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

AXIS = 54.0
"""Width of the column with the times."""
PANEL, LEFT, RIGHT = 334.0, 112.0, 262.0
"""Width of a flow's part, and the positions of the lines of its two ends in it."""
TOP, BOTTOM = 78.0, 34.0
PIXELS_PER_SECOND = 1150.0
"""Usual scale of the time axis."""
LONGEST_GAP = 172.5
"""A longer time without a packet of any flow, in pixels, is drawn as a break."""
BREAK_PIXELS = 66.0
LINE_PIXELS = 12.0
PHASES = 190.0
"""Width of the column with a flow's phases."""
TICK = 115.0
"""Usual distance of two ticks in pixels; the ticks are at 1, 2 or 5 times a power of ten."""
LOST_AT = 0.55
"""Share of the path after which a lost packet's arrow ends."""

STYLE = """
.ladder { font: 11px system-ui, sans-serif; }
.ladder text { fill: #333; } .ladder .title { font-size: 15px; font-weight: 600; }
.ladder .name { font-size: 13px; font-weight: 600; } .ladder .tick, .ladder .soft { fill: #6a6f76; }
.ladder line { stroke: #999; stroke-width: 1; } .ladder .end { stroke: #555; stroke-width: 1.5; }
.ladder .grid { stroke: #e4e6e9; } .ladder .break { fill: #f1f2f4; }
.ladder .data { stroke: #1f5fbf; stroke-width: 1.4; } .ladder .again { stroke: #b34700; stroke-width: 2.2; }
.ladder .ack { stroke: #7d8288; stroke-dasharray: 4 2; } .ladder .lost { stroke: #c22; stroke-width: 1.8; }
.ladder .cross { stroke: #c22; stroke-width: 2; } .ladder .head { fill: none; stroke-dasharray: none; }
.ladder .again-text { fill: #b34700; } .ladder .lost-text { fill: #c22; } .ladder .done { font-weight: 600; }
.ladder .sheet { fill: #fff; }
@media (prefers-color-scheme: dark) {
  .ladder .sheet { fill: #16181c; } .ladder text { fill: #ddd; } .ladder .end { stroke: #aaa; }
  .ladder .tick, .ladder .soft { fill: #a3a8ae; } .ladder .grid { stroke: #2b2f35; } .ladder .break { fill: #22262b; }
  .ladder .data { stroke: #7fb0ff; } .ladder .again { stroke: #ffa25c; } .ladder .ack { stroke: #9aa0a6; }
  .ladder .again-text { fill: #ffa25c; } .ladder .lost, .ladder .cross { stroke: #ff7b7b; }
  .ladder .lost-text { fill: #ff7b7b; }
}
"""

PHASE_STYLE = """
.ladder .phase { stroke: #1f5fbf; stroke-width: 3; } .ladder .phase.odd { stroke: #7d8288; }
@media (prefers-color-scheme: dark) {
  .ladder .phase { stroke: #7fb0ff; } .ladder .phase.odd { stroke: #9aa0a6; }
}
"""
"""Style of drawings with phases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """One packet of the flow, from its transmission to its arrival or loss."""

    sent_s: float
    ended_s: float
    lost: bool
    from_sender: bool
    seq: int
    payload: int
    ack: int | None
    again: bool
    """Whether the packet carries bytes that were sent before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """One flow of a time-sequence diagram."""

    name: str
    packets: tuple[Packet, ...]
    repairs: tuple[tuple[float, str], ...] = ()
    """Time of each loss detection in seconds, and its kind.

    The kinds are ``fast-retransmit``, ``timeout`` and ``syn-timeout``.
    """
    complete_s: float | None = None
    """Time at which all data, or all data in the drawing, were acknowledged."""
    segment_bytes: int | None = None
    """Payload of a segment, if labels show segment numbers; ``None``: sequence numbers."""
    first_seq: int = 1
    """Sequence number of the segment that has number 0; see ``segment_bytes``."""
    done: str = "complete"
    """Label at ``complete_s``."""
    phases: tuple[tuple[float, float, str], ...] = ()
    """Start and end of each phase in seconds, and its name; drawn beside the packets."""


def packets_of(table: pl.DataFrame, *, flow: int = 0) -> tuple[Packet, ...]:
    """Pair the rows of a traced flow: each transmission with its arrival or loss.

    A packet that is still in flight is left out.
    """
    return paired([row for row in table.iter_rows(named=True) if row["flow"] == flow])


def paired(rows: Sequence[Mapping[str, Any]]) -> tuple[Packet, ...]:
    """Pair the rows of one flow; each row maps the columns of ``packets`` to values."""
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
    return tuple(found)


def ladder(flow: Flow, *, flight_s: float, scale: float = PIXELS_PER_SECOND) -> str:
    """Return the time-sequence diagram of one flow, as SVG."""
    return side_by_side((flow,), title=flow.name, flight_s=flight_s, scale=scale)


def side_by_side(
    flows: Sequence[Flow], *, title: str, flight_s: float, scale: float = PIXELS_PER_SECOND
) -> str:
    """Draw flows beside each other on one time axis, as an SVG for light and dark pages.

    ``flight_s`` is the time that a lost packet would have been in flight, in seconds. ``scale`` is
    the number of pixels per second. A time without a packet of any flow is shortened if it is
    longer than `LONGEST_GAP` and than the longest flight, or three usual flights.
    """
    flights = (each.ended_s - each.sent_s for flow in flows for each in flow.packets)
    longest = max(LONGEST_GAP, min(1.05 * max(flights, default=0.0), 3 * flight_s) * scale)
    axis = _Axis([time for flow in flows for time in _moments(flow)], scale, longest)
    starts = list(itertools.accumulate(map(_width, flows), initial=AXIS))
    width, height = starts.pop(), axis.bottom + BOTTOM
    parts = [
        f'<rect class="sheet" width="{width:g}" height="{height:.0f}"/>',
        f'<text class="title" x="{width / 2:g}" y="22" text-anchor="middle">{escape(title)}</text>',
        *axis.drawn(width),
    ]
    for start, flow in zip(starts, flows, strict=True):
        parts.append(f'<g transform="translate({start:g} 0)">')
        parts += _panel(flow, axis, flight_s)
        parts.append("</g>")
    drawing = "\n".join(parts)
    style = STYLE + PHASE_STYLE if any(flow.phases for flow in flows) else STYLE
    label = escape(f"{title}: {', '.join(_outcome(flow, axis) for flow in flows)}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ladder" viewBox="0 0 {width:g} {height:.0f}" '
        f'width="{width:g}" role="img" aria-label="{label}">\n<style>{style}</style>\n{drawing}\n</svg>\n'
    )


def _width(flow: Flow) -> float:
    return PANEL + PHASES if flow.phases else PANEL


def _moments(flow: Flow) -> Iterator[float]:
    for packet in flow.packets:
        yield packet.sent_s
        yield packet.ended_s
    yield from (time for time, _ in flow.repairs)
    for start, end, _ in flow.phases:
        yield start
        yield end
    if flow.complete_s is not None:
        yield flow.complete_s


def _outcome(flow: Flow, axis: _Axis) -> str:
    return (
        flow.name
        if flow.complete_s is None
        else f"{flow.name} {flow.done} after {axis.shown(flow.complete_s - axis.first)}"
    )


class _Labels:
    """A column of labels with a minimum distance.

    Labels of packets that are sent at the same time would otherwise overlap.
    """

    def __init__(self) -> None:
        self._lowest = -math.inf

    def place(self, y: float) -> float:
        self._lowest = max(y, self._lowest + LINE_PIXELS)
        return self._lowest


class _Axis:
    """Time axis from top to bottom, linear except for long silences, which are shortened."""

    def __init__(self, moments: Sequence[float], scale: float, longest: float) -> None:
        times = sorted(set(moments)) or [0.0]
        self.scale = scale
        self._tick_s, self._digits = _tick(scale)
        self.first, self.last = times[0], times[-1]
        self._times, self._places = [times[0]], [TOP]
        self.breaks: list[tuple[float, float]] = []
        for before, after in itertools.pairwise(times):
            if (after - before) * scale > longest:
                top = self.y(before)
                self.breaks.append((top, after - before))
                self._times += [before, after]
                self._places += [top, top + BREAK_PIXELS]
        self.bottom = self.y(self.last)

    def y(self, time: float) -> float:
        """Vertical position of a time; within a break, in proportion."""
        after = bisect.bisect_right(self._times, time)
        if (
            0 < after < len(self._times)
            and self._places[after] - self._places[after - 1] == BREAK_PIXELS
        ):
            start, end = self._times[after - 1], self._times[after]
            return self._places[after - 1] + (time - start) / (end - start) * BREAK_PIXELS
        known = max(after - 1, 0)
        return self._places[known] + (time - self._times[known]) * self.scale

    def shown(self, seconds: float) -> str:
        """Return a length of time with one more decimal than the labels of the ticks."""
        return f"{seconds:.{self._digits + 1}f} s"

    def drawn(self, width: float) -> Iterator[str]:
        """Yield the ticks and the marks of the breaks."""
        hidden = [(top, top + BREAK_PIXELS) for top, _ in self.breaks]
        for number in range(
            math.ceil(self.first / self._tick_s - 1e-9),
            math.floor(self.last / self._tick_s + 1e-9) + 1,
        ):
            y = self.y(number * self._tick_s)
            if not any(top < y < bottom for top, bottom in hidden):
                yield f'<line class="grid" x1="{AXIS - 6:g}" x2="{width - 8:g}" y1="{y:.1f}" y2="{y:.1f}"/>'
                label = f"{number * self._tick_s:.{self._digits}f} s"
                yield f'<text class="tick" x="{AXIS - 10:g}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
        for top, seconds in self.breaks:
            # The band is below the label of a flow that has just ended.
            band = f'y="{top + 32:.1f}" height="{BREAK_PIXELS - 40:g}"'
            yield f'<rect class="break" x="8" width="{width - 16:g}" {band}/>'
            label = f"{self.shown(seconds)} without a packet"
            yield f'<text class="soft" x="14" y="{top + BREAK_PIXELS / 2 + 16:.1f}">{label}</text>'


def _tick(scale: float) -> tuple[float, int]:
    """Distance of two ticks in seconds, and the number of decimals of their labels."""
    exponent = math.floor(math.log10(TICK / scale) + 1e-9)
    steps = (factor * 10.0**exponent for factor in (1, 2, 5, 10))
    tick = min(steps, key=lambda step: abs(math.log(step * scale / TICK)))
    return tick, max(0, -math.floor(math.log10(tick) + 1e-9))


def _panel(flow: Flow, axis: _Axis, flight_s: float) -> Iterator[str]:
    yield f'<text class="name" x="{(LEFT + RIGHT) / 2:g}" y="44" text-anchor="middle">{escape(flow.name)}</text>'
    yield f'<text class="soft" x="{LEFT:g}" y="62" text-anchor="middle">sender</text>'
    yield f'<text class="soft" x="{RIGHT:g}" y="62" text-anchor="middle">receiver</text>'
    ended = max(_moments(flow), default=axis.first)
    bottom = axis.y(ended) + 8
    for x in (LEFT, RIGHT):
        yield f'<line class="end" x1="{x:g}" x2="{x:g}" y1="{TOP - 8:g}" y2="{bottom:.1f}"/>'
    repairs = dict(flow.repairs)
    labels = {True: _Labels(), False: _Labels()}
    for packet in flow.packets:
        yield from _lost(packet, axis, flight_s) if packet.lost else _arrow(packet, axis)
        place = labels[packet.from_sender].place
        yield _label(flow, packet, place(axis.y(packet.sent_s) + 4))
        found = repairs.pop(packet.sent_s, None) if packet.again else None
        if found is not None:
            y, label = place(axis.y(packet.sent_s) + 4), found.replace("-", " ")
            yield f'<text class="again-text" x="{LEFT - 8:g}" y="{y:.1f}" text-anchor="end">{label}</text>'
    yield from _phases(flow, axis)
    if flow.complete_s is not None:
        label = f"{flow.done} after {axis.shown(flow.complete_s - axis.first)}"
        yield f'<text class="done" x="{(LEFT + RIGHT) / 2:g}" y="{bottom + 16:.1f}" text-anchor="middle">{label}</text>'


def _phases(flow: Flow, axis: _Axis) -> Iterator[str]:
    place = _Labels().place
    for number, (start, end, name) in enumerate(flow.phases):
        top, bottom = axis.y(start), axis.y(end)
        kind = "phase odd" if number % 2 else "phase"
        yield f'<line class="{kind}" x1="{PANEL:g}" x2="{PANEL:g}" y1="{top:.1f}" y2="{bottom:.1f}"/>'
        label = f"{name}, {axis.shown(end - start)}"
        y = place((top + bottom) / 2 + 4)
        yield f'<text x="{PANEL + 8:g}" y="{y:.1f}">{escape(label)}</text>'


def _arrow(packet: Packet, axis: _Axis) -> Iterator[str]:
    start, end = (LEFT, RIGHT) if packet.from_sender else (RIGHT, LEFT)
    top, bottom = axis.y(packet.sent_s), axis.y(packet.ended_s)
    kind = "ack" if not packet.from_sender else "again" if packet.again else "data"
    yield f'<line class="{kind}" x1="{start:g}" y1="{top:.1f}" x2="{end:g}" y2="{bottom:.1f}"/>'
    # Two strokes, 25 degrees to either side of the arrow.
    back = math.atan2(top - bottom, start - end)
    tips = [(8 * math.cos(back + turn), 8 * math.sin(back + turn)) for turn in (-0.43, 0.43)]
    head = " ".join(f"M{end:g} {bottom:.1f} l{dx:.1f} {dy:.1f}" for dx, dy in tips)
    yield f'<path class="{kind} head" d="{head}"/>'


def _lost(packet: Packet, axis: _Axis, flight_s: float) -> Iterator[str]:
    side = 1 if packet.from_sender else -1
    start = LEFT if packet.from_sender else RIGHT
    top = axis.y(packet.sent_s)
    x, y = start + side * (RIGHT - LEFT) * LOST_AT, top + LOST_AT * flight_s * axis.scale
    yield f'<line class="lost" x1="{start:g}" y1="{top:.1f}" x2="{x:g}" y2="{y:.1f}"/>'
    yield f'<path class="cross" d="M{x - 5:g} {y - 5:.1f} l10 10 M{x + 5:g} {y - 5:.1f} l-10 10"/>'


def _label(flow: Flow, packet: Packet, y: float) -> str:
    if not packet.from_sender:
        label = "SYN" if packet.ack is None else f"ack {_number(flow, packet.ack)}"
        return f'<text x="{RIGHT + 8:g}" y="{y:.1f}">{label}</text>'
    kind = ' class="lost-text"' if packet.lost else ' class="again-text"' if packet.again else ""
    label = f"{packet.seq}:{packet.seq + packet.payload} ({packet.payload})"
    if packet.payload == 0 and packet.seq == 0:
        label = "SYN"
    elif flow.segment_bytes is not None:
        label = _number(flow, packet.seq)
    return f'<text{kind} x="{LEFT - 8:g}" y="{y:.1f}" text-anchor="end">{label}</text>'


def _number(flow: Flow, seq: int | None) -> str:
    """A sequence number, or the number of the segment that begins with it."""
    if flow.segment_bytes is None or seq is None:
        return f"{seq}"
    return f"{(seq - flow.first_seq) // flow.segment_bytes}"
