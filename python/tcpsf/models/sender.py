"""A sender and its receiver, for one train of segments in which chosen segments are lost once.

The model covers what determines the time of the last acknowledgment. It has the window in slow
start and after a loss, and the timer (RFC 6298). It detects losses by duplicate SACKs (RFC 6675:
three above a hole) or by RACK-TLP (RFC 8985). Every retransmission arrives, and every segment is
acknowledged at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

NEVER = float("inf")
REORDER_SHARE = 0.25
"""Share of a round trip that RACK waits for a reordered segment; RFC 8985 §7.1.2."""
DUPLICATES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """Method of loss detection, and its timers in seconds."""

    rack: bool
    """True: RACK-TLP; false: three duplicate acknowledgments."""
    rto: float
    probe_allowance: float = 0.2
    """Additional wait of a tail loss probe when a single segment is in flight.

    The receiver may delay the acknowledgment of a single segment.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Train:
    """The segments to send, and the window.

    The segments' costs and the window have the same unit, bytes or packets.
    """

    costs: tuple[float, ...]
    window: float
    full: float
    """Cost of a full-sized segment."""
    rtt: float


@dataclass(slots=True)
class _Play:
    train: Train
    detection: Detection
    lost: Sequence[bool]
    now: float = 0.0
    acks: list[tuple[float, int, int]] = field(default_factory=list)
    """Per acknowledgment: its time of arrival, its number, and the segment that it reports."""
    serial: int = 0
    sent_at: dict[int, float] = field(default_factory=dict)
    order: dict[int, int] = field(default_factory=dict)
    """Order of the latest transmission of each segment."""
    resent: set[int] = field(default_factory=set)
    arrived: set[int] = field(default_factory=set)
    """Segments that the receiver has, as far as the acknowledgments that arrived report them."""
    sacked: set[int] = field(default_factory=set)
    marked: set[int] = field(default_factory=set)
    """Segments marked as lost and not retransmitted yet."""
    twice: set[int] = field(default_factory=set)
    """Segments retransmitted without being marked as lost."""
    una: int = 0
    next: int = 0
    window: float = 0.0
    threshold: float = NEVER
    recover: int = -1
    """Recovery point: recovery ends when every segment below it is acknowledged."""
    fast: bool = False
    """Whether the recovery is a fast recovery, not a recovery after a timeout."""
    rescued: bool = False
    rescue_after: int = 0
    """A rescue retransmission is allowed once the acknowledged segments pass this number.

    It lies after the first retransmission of this recovery.
    """
    backoff: int = 0
    timer: float = NEVER
    probe: float = NEVER
    probed: bool = False
    reorder: float = NEVER
    newest: tuple[float, int] = (-1.0, -1)
    """RACK: transmission time and order of the most recently sent segment that was delivered."""
    times: list[float] = field(default_factory=list)


def acknowledged(train: Train, detection: Detection, lost: Sequence[bool]) -> list[float]:
    """Time at which each segment and all before it are acknowledged.

    Times are in seconds from the first transmission.
    """
    play = _Play(
        train=train,
        detection=detection,
        lost=lost,
        window=train.window,
        times=[NEVER] * len(train.costs),
    )
    _send(play)
    while play.una < len(train.costs):
        _step(play)
    return play.times


def _step(play: _Play) -> None:
    ack = play.acks[0][0] if play.acks else NEVER
    at = min(ack, play.reorder, play.probe, play.timer)
    play.now = at
    if at == ack:
        _, _, segment = heapq.heappop(play.acks)
        _on_ack(play, segment)
    elif at == play.reorder:
        play.reorder = NEVER
        _rack(play)
    elif at == play.probe:
        _on_probe(play)
    else:
        _on_timeout(play)
    _send(play)


def _transmit(play: _Play, segment: int) -> None:
    again = segment in play.sent_at
    play.serial += 1
    play.sent_at[segment], play.order[segment] = play.now, play.serial
    play.marked.discard(segment)
    if again:
        play.resent.add(segment)
    if again or not play.lost[segment]:
        heapq.heappush(play.acks, (play.now + play.train.rtt, play.serial, segment))
    if play.timer == NEVER:
        _restart(play)


def _out(play: _Play) -> list[int]:
    return [each for each in range(play.una, play.next) if each not in play.sacked]


def _pipe(play: _Play) -> float:
    """Bytes in flight, without those that are SACKed or lost.

    Outside recovery, RFC 5681 counts SACKed segments as in flight; RACK senders (Linux) do not. By
    RFC 6675 §4, SetPipe (), a retransmitted segment that is not marked as lost counts twice.
    """
    if not play.detection.rack and play.recover <= play.una:
        return sum(
            play.train.costs[each] for each in range(play.una, play.next) if each not in play.marked
        )
    return sum(
        play.train.costs[each] * (2 if each in play.twice else 1)
        for each in _out(play)
        if each not in play.marked
    )


def _send(play: _Play) -> None:
    """Send what the window allows: lost segments first, then new ones, then possibly lost ones."""
    new = False
    while (segment := _next_segment(play)) is not None:
        if _pipe(play) + play.train.costs[segment] > play.window * (1 + 1e-9):
            break
        if segment == play.next:
            play.next += 1
            new = True
        if segment not in play.marked and segment in play.sent_at:
            play.twice.add(segment)
            play.rescued |= segment + 1 == play.next
        _transmit(play, segment)
    if new:
        _arm_probe(play)


def _next_segment(play: _Play) -> int | None:
    """Next segment to send by RFC 6675 §4, NextSeg ().

    Its rules 3 and 4 apply to fast recovery without RACK.
    """
    if play.marked:
        return min(play.marked)
    if play.next < len(play.train.costs):
        return play.next
    if play.detection.rack or not play.fast or play.recover <= play.una:
        return None
    out = [each for each in _out(play) if each not in play.resent]
    highest = max(play.sacked, default=-1)
    below = [each for each in out if each < highest]
    if below:
        return below[0]
    if play.una <= play.rescue_after or play.rescued:
        return None
    return out[-1] if out and out[-1] + 1 == play.next else None


def _restart(play: _Play) -> None:
    """Restart the timer; RFC 6298 §5.3."""
    play.timer = play.now + play.detection.rto * 2.0**play.backoff if _out(play) else NEVER


def _arm_probe(play: _Play) -> None:
    """Arm the tail loss probe after new data or an ACK; RFC 8985 §7.2.

    This is done outside recovery, for one probe at a time.
    """
    out = _out(play)
    if not play.detection.rack or not out or play.recover > play.una or play.probed or play.sacked:
        play.probe = NEVER
        return
    allowance = play.detection.probe_allowance if len(out) == 1 else 0.0
    wait = 2.0 * play.train.rtt + allowance
    play.probe = min(play.now + wait, play.timer)


def _on_ack(play: _Play, segment: int) -> None:
    if segment < play.una:
        return
    play.arrived.add(segment)
    play.sacked.add(segment)
    play.marked.discard(segment)
    play.newest = max(play.newest, (play.sent_at[segment], play.order[segment]))
    before = play.una
    while play.una in play.arrived:
        play.sacked.discard(play.una)
        play.marked.discard(play.una)
        play.times[play.una] = play.now
        play.una += 1
    if play.una > before:
        play.backoff = 0
        if play.window < play.threshold:
            play.window += min(sum(play.train.costs[before : play.una]), play.train.full)
        elif not (play.fast and play.recover > before):
            play.window += play.train.full**2 / play.window
        if play.una >= play.recover:
            play.recover = -1
            play.probed = False
        _restart(play)
    if play.detection.rack:
        _rack(play)
    else:
        _duplicates(play)
    _arm_probe(play)


def _duplicates(play: _Play) -> None:
    """Mark segments as lost that have three SACKed segments above them; RFC 6675."""
    found = [
        each
        for each in _out(play)
        if each not in play.resent and each not in play.marked and _above(play, each) >= DUPLICATES
    ]
    _lose(play, found)


def _above(play: _Play, segment: int) -> int:
    return sum(each > segment for each in play.sacked)


def _rack(play: _Play) -> None:
    """Mark segments as lost by RACK; RFC 8985 §6.2.

    A segment is lost if it was sent before a delivered one, and at least a round trip and the
    reordering window ago.
    """
    if play.newest[1] < 0:
        return
    window = (
        0.0
        if len(play.sacked) >= DUPLICATES or play.recover > play.una
        else REORDER_SHARE * play.train.rtt
    )
    found = []
    play.reorder = NEVER
    for each in _out(play):
        if each in play.marked or (play.sent_at[each], play.order[each]) >= play.newest:
            continue
        due = play.sent_at[each] + play.train.rtt + window
        if due <= play.now * (1 + 1e-12):
            found.append(each)
        else:
            play.reorder = min(play.reorder, due)
    _lose(play, found)


def _lose(play: _Play, found: Sequence[int]) -> None:
    """Mark segments as lost, and retransmit the first of all marked segments at once.

    The window is halved once per recovery.
    """
    if not found:
        return
    if play.recover <= play.una:
        flight = sum(play.train.costs[each] for each in range(play.una, play.next))
        play.threshold = max(flight / 2.0, 2.0 * play.train.full)
        play.window = play.threshold
        play.recover, play.fast, play.rescued = play.next, True, False
        play.rescue_after = play.una + 1
    play.marked.update(found)
    _transmit(play, min(play.marked))


def _on_probe(play: _Play) -> None:
    """Send a new segment as the probe, or else the last one again; RFC 8985 §7.3.

    Afterwards only the retransmission timer is armed.
    """
    play.probe, play.probed = NEVER, True
    if play.next < len(play.train.costs):
        play.next += 1
        _transmit(play, play.next - 1)
    else:
        _transmit(play, _out(play)[-1])
    _restart(play)


def _on_timeout(play: _Play) -> None:
    """Mark every segment that is not SACKed as lost after a timeout; RFC 6298 §5.4 to §5.6.

    The SACK information is kept (RFC 6675 §5.1).
    """
    flight = sum(play.train.costs[each] for each in range(play.una, play.next))
    play.threshold = max(flight / 2.0, 2.0 * play.train.full)
    play.window = play.train.full
    play.recover, play.fast = play.next, False
    play.backoff += 1
    play.reorder = play.probe = NEVER
    play.marked.update(_out(play))
    play.twice.clear()
    _transmit(play, play.una)
    _restart(play)
