"""True causes of the retransmissions of a simulated run.

The comments of its capture name the state of the sender, and the table of recoveries has the time of
each loss response. A retransmission at the instant at which an acknowledgment arrives was made by it,
and any other by a timer.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import polars as pl
from _capture_frames import Frame, is_before

AGAIN: Final = "; "
"""Text in the comment on every retransmitted packet, and in no other comment."""
_SYN, _ACK = 2, 16

Key = tuple[tuple[int, int], int]
"""Flow and number of a packet."""


@dataclass(slots=True)
class _Sender:
    """State of one end of a flow."""

    news_ns: int = -1
    """Time of the last arrival."""
    repaired: set[int] = field(default_factory=set)
    """Sequence numbers that were sent again in this recovery."""
    end: int | None = None
    """Sequence number after the data that was sent."""
    recover: int | None = None
    """Acknowledgment that ends this recovery."""

    responses: list[int] = field(default_factory=list)
    """Times at which fast recoveries begin, with or without a retransmission at once."""

    def begin(self, before_ns: int) -> None:
        """Begin the recoveries of earlier times."""
        while self.responses and self.responses[0] < before_ns:
            self.responses.pop(0)
            # A fast recovery may follow a timeout before the recovery from it has ended.
            if self.recover is None:
                self.repaired.clear()
            self.recover = self.end

    def sent(self, end: int) -> None:
        """Note data that ends at a sequence number."""
        if self.end is None or is_before(self.end, end):
            self.end = end

    def acknowledged(self, ack: int, now_ns: int) -> None:
        """Note an arrival. An acknowledgment of all that was sent before a recovery ends it."""
        self.news_ns = now_ns
        if self.recover is not None and not is_before(ack, self.recover):
            self.recover = None
            self.repaired.clear()


def causes(
    frames: Iterable[Frame], recoveries: pl.DataFrame, *, server: str, detected: str, has_rack: bool
) -> dict[Key, str]:
    """Return the cause of each retransmission of a capture at both hosts.

    ``server`` is the host that sends the data. ``detected`` is the cause that the acknowledgments
    give a sender of this kind.
    """
    probes = {
        (row["flow"], round(row["time_s"] * 1e9))
        for row in recoveries.filter(cause="loss-probe").to_dicts()
    }
    recovered: defaultdict[int, list[int]] = defaultdict(list)
    for row in recoveries.filter(cause="fast-retransmit").sort("time_s").to_dicts():
        recovered[row["flow"]].append(round(row["time_s"] * 1e9))
    senders: defaultdict[tuple[tuple[int, int], str], _Sender] = defaultdict(_Sender)
    flows: dict[tuple[int, int], int] = {}
    found: dict[Key, str] = {}
    for frame in frames:
        sender = senders[frame.flow, frame.host]
        for comment in frame.comments:
            if introduced := re.match(r"Flow (\d+) ", comment):
                flows[frame.flow] = int(introduced[1])
                senders[frame.flow, server].responses = recovered[flows[frame.flow]]
        # The acknowledgment that begins a recovery may end another one.
        sender.begin(frame.time_ns if frame.inbound else frame.time_ns + 1)
        if frame.inbound:
            sender.acknowledged(int.from_bytes(frame.data[28:32], "big"), frame.time_ns)
            continue
        sender.sent(frame.end)
        reasons = [comment for comment in frame.comments if AGAIN in comment]
        if not reasons:
            continue
        key = frame.flow, frame.identification
        if "SYN" in reasons[0]:
            found[key] = _of_syn(frame, reasons[0])
        else:
            is_probe = frame.host == server and (flows[frame.flow], frame.time_ns) in probes
            # The table has the sender of the data. The other end repeats only its FIN.
            is_probe |= frame.host != server and has_rack and reasons[0].startswith("Sent again;")
            found[key] = _of_data(frame, reasons[0], sender, is_probe, detected, has_rack)
    return found


def _of_syn(frame: Frame, reason: str) -> str:
    """Cause of a repeated SYN or SYN-ACK. One without a timeout answers a repeated SYN."""
    is_answer = frame.data[33] & (_SYN | _ACK) == _SYN | _ACK
    return "syn_ack_timeout" if is_answer and "timeout" in reason else "syn_timeout"


def _of_data(
    frame: Frame, reason: str, sender: _Sender, is_probe: bool, detected: str, has_rack: bool
) -> str:
    seq = frame.seq
    by_timer = sender.news_ns != frame.time_ns
    if is_probe:
        return "tail_loss_probe"
    if reason.startswith("Copy"):
        return "copy"
    was_repaired = seq in sender.repaired
    if reason.startswith("Retransmission timeout"):
        sender.repaired.clear()
        sender.recover = sender.end
    sender.repaired.add(seq)
    if reason.startswith("Retransmission timeout"):
        return "timeout"
    if has_rack and by_timer:
        return "rack_timer"
    if was_repaired:
        return "lost_retransmission"
    if reason.startswith("Fast retransmit"):
        return detected
    return "slow_start" if "after the timeout" in reason else "recovery"
