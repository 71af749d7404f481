"""Section III-A on Limited Transmit: its timing, shown with flows whose losses are fixed.

Nothing in these scenarios is random: a mask names the packet that is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

from tcpsf.papers.smart_framing import CLASSIC, FIXED_SIZE, VARIABLE_SIZE
from tcpsf.scenario import Link, MaskLoss, Scenario, Tcp, Transfers

MSS = 1460
DELAY_S = 0.05
"""Propagation delay in each direction, seconds."""
RATE = "10Mb/s"
FLOW = "one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Position of the segment that a flow loses, and the length of the flow."""

    key: str
    label: str
    segments: int
    """Length of the flow in full-sized segments."""
    full_mask: str
    """Mask of the data packet that is lost if segments are full-sized."""
    framed_mask: str
    """Mask for segments of a quarter size: the data of ``full_mask``, or their first quarter."""


LOSSES = (
    Loss(
        key="long",
        label="the second window's first segment, flow of 12 segments",
        segments=12,
        full_mask="0,1",
        framed_mask="0,0,0,0,1",
    ),
    Loss(
        key="short",
        label="the second window's first segment, flow of 4 segments",
        segments=4,
        full_mask="0,1",
        framed_mask="0,0,0,0,1",
    ),
)
"""Losses by key: in ``long``, enough data follow for a fast retransmit by Limited Transmit.

In ``short``, too few data follow.
"""

LIMITED_TRANSMIT = "reno+sack+lt / full / iw=1"
SENDERS = {
    "classic": ("Classic", CLASSIC.sender),
    "lt": ("Limited Transmit", LIMITED_TRANSMIT),
    "vs": ("VS-TCP-SF", VARIABLE_SIZE.sender),
    "fs": ("FS-TCP-SF", FIXED_SIZE.sender),
}
"""Label and sender by key."""


def scenario(loss: Loss, sender: str) -> Scenario:
    """Return one flow on a path of 100 ms that loses the packet that ``loss`` names."""
    full = " full " in sender
    mask = loss.full_mask if full else loss.framed_mask
    return Scenario(
        name=f"limited-transmit-{loss.key}",
        duration="30s",
        trace=(FLOW,),
        link=(
            Link(
                name="there",
                from_="a",
                to="b",
                rate=RATE,
                delay=f"{DELAY_S:g}s",
                loss=MaskLoss(drops=mask),
            ),
            Link(name="back", from_="b", to="a", rate=RATE, delay=f"{DELAY_S:g}s"),
        ),
        workload=(
            Transfers(name=FLOW, from_="a", to="b", sizes=(loss.segments * MSS,), sender=sender),
        ),
        tcp=Tcp(profile="ns2", mss=MSS),
    )
