"""Phases of a traced transfer: each moment belongs to one of them.

Section 4.2 divides a transfer into the handshake, the first delayed acknowledgment, and data sent
in slow start between waits for the timer; (7) to (14). *Modeling TCP Latency* (2000) has the first
slow start, its loss and the rest. Both divisions are read from the packets and the responses to
losses.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tcpsf.reproduce.short_flows.trials import packed
from tcpsf.result import Batch, Provenance

if TYPE_CHECKING:
    import polars as pl

HANDSHAKE, DELAYED, TIMER = "handshake", "delayed ACK", "timer"
SLOW_START, AVOIDANCE, RECOVERY = "slow start", "congestion avoidance", "fast recovery"
PARTS = (HANDSHAKE, DELAYED, SLOW_START, AVOIDANCE, RECOVERY, TIMER)
"""Phases; each moment of a transfer belongs to one of them.

In the last three but one data are sent. ``timer`` lasts from the last segment sent or
acknowledgment received until the retransmission timer expires, ``delayed ACK`` while the receiver
holds an acknowledgment and nothing is in flight.
"""
SENDING = (SLOW_START, AVOIDANCE, RECOVERY)
FIRST = ("first slow start", "first loss", "rest")
"""Phases of *Modeling TCP Latency* between the handshake and the end, delayed ACKs left out."""
COUNTS = ("lost", "timeouts", "runs", "segments")
"""Segments lost, timeouts, runs of timeouts, and segments sent, after the handshake."""
COLUMNS = (*PARTS, *FIRST, *COUNTS)

TRACED = ("time_s", "packet", "event", "from", "seq", "payload_bytes", "ack", "cwnd_bytes")


class Traced(NamedTuple):
    """A row of the packets of a transfer, with the columns `TRACED`."""

    time_s: float
    packet: int
    event: str
    end: str
    seq: int
    payload: int
    ack: int | None
    cwnd: int


class Repair(NamedTuple):
    """A response to a loss: its time, its cause, and the congestion window before."""

    time_s: float
    cause: str
    cwnd: int


class Span(NamedTuple):
    """A part of a transfer, from one time to another in seconds, and the phase it belongs to."""

    start_s: float
    end_s: float
    phase: str

    @property
    def seconds(self) -> float:
        """Duration in seconds."""
        return self.end_s - self.start_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """Times and numbers of the phases of one transfer."""

    spans: tuple[Span, ...]
    """Consecutive parts of the transfer, from the SYN until the receiver has all data."""
    first: tuple[float, float, float]
    """Durations of `FIRST`."""
    counts: tuple[int, int, int, int]
    """Values of `COUNTS`."""

    def durations(self) -> tuple[float, ...]:
        """Return the duration of each of `PARTS`, in seconds."""
        return tuple(
            math.fsum(span.seconds for span in self.spans if span.phase == part) for part in PARTS
        )

    def merged(self) -> tuple[Span, ...]:
        """Return the spans with neighbours of the same phase as one."""
        return tuple(
            Span(group[0].start_s, group[-1].end_s, phase)
            for phase, each in itertools.groupby(self.spans, key=lambda span: span.phase)
            if (group := list(each))
        )


def phases_of(
    rows: Sequence[Traced], repairs: Sequence[Repair], *, size: int, mss: int
) -> Phases | None:
    """Divide a transfer of ``size`` bytes into phases; ``None`` if the receiver lacks data.

    The window threshold follows from the windows at losses: half in whole segments, at least two.
    """
    done = _done(rows, size)
    sends = [row for row in rows if row.end == "sender" and row.event == "sent" and row.payload]
    if done is None:
        return None
    first = sends[0].time_s
    during_data = [
        each for each in repairs if first <= each.time_s < done and each.cause != "syn-timeout"
    ]
    acks = [
        (row.time_s, row.ack)
        for row in rows
        if row.end == "receiver" and row.event == "arrived" and row.ack is not None
    ]
    activity = sorted([row.time_s for row in sends] + [at for at, _ in acks])
    waits = [
        (max(at for at in activity if at < each.time_s), each.time_s)
        for each in during_data
        if each.cause == "timeout"
    ]
    spans = [
        Span(rows[0].time_s, first, HANDSHAKE),
        *_spans(rows, during_data, waits, first=first, done=done, mss=mss),
    ]
    return Phases(
        spans=tuple(spans),
        first=_first(spans, during_data, waits, acks, first=first, done=done),
        counts=(
            sum(
                row.payload > 0
                and row.end == "sender"
                and row.event.startswith("dropped")
                and row.time_s < done
                for row in rows
            ),
            len(waits),
            sum(
                not number or _advanced(acks, waits[number - 1][1], wait[1])
                for number, wait in enumerate(waits)
            ),
            sum(row.time_s < done for row in sends),
        ),
    )


def _done(rows: Sequence[Traced], size: int) -> float | None:
    """Time at which the receiver has all data; retransmissions have the original boundaries."""
    came: dict[int, int] = {}
    for row in rows:
        if row.end == "sender" and row.event == "arrived" and row.payload:
            came[row.seq] = row.payload
            if sum(came.values()) >= size:
                return row.time_s
    return None


Acks = Sequence[tuple[float, int]]
"""Times at which acknowledgments arrive, and their numbers."""


def _advanced(acks: Acks, start: float, end: float) -> bool:
    """Whether an acknowledgment of new data arrives after ``start`` and before ``end``."""
    known = max((ack for at, ack in acks if at <= start), default=0)
    return any(ack > known for at, ack in acks if start < at < end)


def _spans(
    rows: Sequence[Traced],
    repairs: Sequence[Repair],
    waits: Sequence[tuple[float, float]],
    *,
    first: float,
    done: float,
    mss: int,
) -> Iterator[Span]:
    holds = set(_holds(rows))
    threshold, recovering = math.inf, -1
    left, highest = list(repairs), 0
    shown = [row for row in rows if row.time_s <= done]
    for row, following in itertools.pairwise(shown):
        start, end = row.time_s, following.time_s
        while left and left[0].time_s <= start:
            repair = left.pop(0)
            threshold = max(repair.cwnd // 2 // mss, 2) * mss
            recovering = highest if repair.cause == "fast-retransmit" else -1
        if row.end == "receiver" and row.event == "arrived" and row.ack is not None:
            highest = max(highest, row.ack)
        if start < first or end == start:
            continue
        if any(begin <= start and end <= expiry for begin, expiry in waits):
            phase = TIMER
        elif (start, end) in holds:
            phase = DELAYED
        elif highest == recovering:
            # Reno's fast recovery ends with the first acknowledgment of new data.
            phase = RECOVERY
        else:
            phase = SLOW_START if row.cwnd < threshold else AVOIDANCE
        yield Span(start, end, phase)


def _holds(rows: Sequence[Traced]) -> Iterator[tuple[float, float]]:
    """Yield the times in which the receiver holds an acknowledgment and nothing is in flight."""
    in_flight, held = 0, False
    for row, following in itertools.pairwise(rows):
        in_flight += 1 if row.event == "sent" else -1
        if row.end == "receiver" and row.event == "sent":
            held = False
        elif row.end == "sender" and row.event == "arrived" and row.payload:
            held = True
        acknowledges = following.end == "receiver" and following.event == "sent"
        if held and not in_flight and acknowledges and following.time_s > row.time_s:
            yield row.time_s, following.time_s


def _first(
    spans: Sequence[Span],
    repairs: Sequence[Repair],
    waits: Sequence[tuple[float, float]],
    acks: Acks,
    *,
    first: float,
    done: float,
) -> tuple[float, float, float]:
    """Durations of the first slow start, of the first loss and of the rest.

    The loss begins with the wait for the timer, or with the fast retransmit. It ends with the last
    timeout before an acknowledgment of new data, or, without a timeout, with this acknowledgment.
    """
    begin = end = done
    if repairs:
        at = repairs[0].time_s
        begin = next((start for start, expiry in waits if expiry == at), at)
        known = max((ack for time, ack in acks if time <= at), default=0)
        repaired = min((time for time, ack in acks if time > at and ack > known), default=done)
        expiries = [expiry for _, expiry in waits if at <= expiry < repaired]
        end = min(max(expiries, default=repaired), done)

    def lasted(start: float, past: float) -> float:
        return math.fsum(
            span.seconds
            for span in spans
            if start <= span.start_s and span.end_s <= past and span.phase != DELAYED
        )

    return lasted(first, begin), lasted(begin, end), lasted(end, done)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseWatch:
    """Phases of every transfer, and the packets of the first one that has each phase."""

    size: int
    mss: int
    rtt: float

    @property
    def name(self) -> str:
        """Key of the data in `RunSummary.watched`."""
        return "phases"

    @property
    def version(self) -> str:
        """Text that identifies what the data depend on, apart from the run."""
        return f"1 {self.size} {self.mss} {self.rtt}"

    def fold(self) -> _PhaseFold:
        """Return a new fold, which collects the data of one run."""
        return _PhaseFold(self)


class _PhaseFold:
    def __init__(self, of: PhaseWatch) -> None:
        self._of = of
        self._packets: list[pl.DataFrame] = []
        self._repairs: dict[int, list[Repair]] = {}

    def add(self, batch: Batch) -> None:
        """Add rows."""
        import polars as pl

        texts = ("event", "from")
        columns = [pl.col(name).cast(pl.String) if name in texts else name for name in TRACED]
        self._packets.append(batch.packets.select("flow", *columns))
        named = batch.recoveries.select(
            "flow", "time_s", pl.col("cause").cast(pl.String), "cwnd_bytes"
        )
        for flow, *repair in named.rows():
            self._repairs.setdefault(flow, []).append(Repair(*repair))

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> dict[str, Any]:  # noqa: ARG002 (a fold's)
        """Return the columns, packed, and the transfer to draw."""
        import polars as pl

        rows_of_trials: list[tuple[float, ...]] = []
        drawn: dict[str, Any] | None = None
        packets = pl.concat(self._packets).partition_by(
            "flow", as_dict=True, include_key=False, maintain_order=True
        )
        for (flow,), frame in sorted(packets.items()):
            rows = [Traced(*row) for row in frame.rows()]
            repairs = self._repairs.get(flow, [])
            found = phases_of(rows, repairs, size=self._of.size, mss=self._of.mss)
            if found is None:
                continue
            rows_of_trials.append((*found.durations(), *found.first, *found.counts))
            if drawn is None and self._has_each(found):
                drawn = _drawn(rows, repairs, found, size=self._of.size) | {
                    "trial": len(rows_of_trials) - 1
                }
        columns = (
            np.asarray(rows_of_trials, dtype=np.float64)
            .reshape(len(rows_of_trials), len(COLUMNS))
            .T
        )
        return {
            "columns": {
                name: packed(column) for name, column in zip(COLUMNS, columns, strict=True)
            },
            "drawn": drawn,
        }

    def _has_each(self, found: Phases) -> bool:
        parts = dict(zip(PARTS, found.durations(), strict=True))
        needed = (DELAYED, SLOW_START, AVOIDANCE, TIMER)
        return (
            parts[HANDSHAKE] < 2 * self._of.rtt
            and all(parts[name] > 0 for name in needed)
            and all(found.first)
        )


def _drawn(
    rows: Sequence[Traced], repairs: Sequence[Repair], found: Phases, *, size: int
) -> dict[str, Any]:
    """Return the packets of a transfer without those of its close; times begin at its SYN."""
    start, done = rows[0].time_s, found.spans[-1].end_s
    closing = {
        row.packet
        for row in rows
        if row.event == "sent"
        and (
            row.time_s >= done
            or (row.end == "sender" and not row.payload and row.seq > 1)
            or (row.end == "receiver" and row.ack is not None and row.ack > size + 1)
        )
    }
    return {
        "rows": [[row.time_s - start, *row[1:]] for row in rows if row.packet not in closing],
        "repairs": [[each.time_s - start, each.cause] for each in repairs if each.time_s < done],
        "phases": [
            [span.start_s - start, span.end_s - start, span.phase] for span in found.merged()
        ],
    }
