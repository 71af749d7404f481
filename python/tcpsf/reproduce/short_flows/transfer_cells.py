"""Paths and senders of the live measurement of Figs. 17 to 20 of the short-flow paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tcpsf.live.experiment import Acks
from tcpsf.papers import short_flows as paper

Sender = Literal["kernel", "ours"]

SENDERS: tuple[Sender, ...] = ("kernel", "ours")
SHOWN: dict[Sender, str] = {"kernel": "kernel", "ours": "tcpsf"}
"""Names of the senders in reports."""

LOSSY = paper.Host(
    figure="lossy", name="this project", transfers=0, rtt_ms=100, rto_ms=0, loss=0.03, window_kb=32
)
"""An additional path of this project with a noticeable loss rate."""
PATHS = (*paper.HOSTS, LOSSY)
ADAPTIVE = paper.HOSTS[0]
"""Path on which the paper suspects delayed acknowledgments of the receiver.

It is also measured with other acknowledgment policies.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathAndSender:
    """Transfers from one sender over one path."""

    host: paper.Host
    sender: Sender
    acks: Acks = "kernel"

    @property
    def name(self) -> str:
        """Name of the cell.

        >>> PathAndSender(host=paper.HOSTS[0], sender="ours", acks="delayed").name
        'Fig. 17, tcpsf, delayed ACKs'
        """
        return f"{self.host.figure}, {SHOWN[self.sender]}" + (
            ", delayed ACKs" if self.acks == "delayed" else ""
        )


CELLS = (
    *(PathAndSender(host=host, sender=sender) for host in PATHS for sender in SENDERS),
    *(PathAndSender(host=ADAPTIVE, sender=sender, acks="delayed") for sender in SENDERS),
)
