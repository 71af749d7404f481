"""Connections that a policy is applied to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tcpsf.cure.cgroups import ControlGroup
from tcpsf.cure.peers import PeerPrefix


@dataclass(frozen=True, slots=True, kw_only=True)
class CureTarget:
    """Connections that a policy is applied to."""

    ports: Sequence[int] = ()
    """Local ports; all if there is none."""
    group: ControlGroup | None = None
    """Control group of the sockets; all if there is none."""
    peers: Sequence[PeerPrefix] = ()
    """Prefixes of the peers' addresses; all if there is none."""
    devices: Sequence[str] = ()
    """Names of devices; all but loopback if there is none."""
    most_bytes: int | None = None
    """Largest size of a response in bytes, for copies and cuts; ``None`` for any.

    A program compares it with the data that is not acknowledged at the end of a write.
    """

    def __str__(self) -> str:
        words = [f"port {', '.join(map(str, self.ports))}"] if self.ports else []
        words += [] if self.group is None else [f"control group {self.group.folder}"]
        selected = " in ".join(words) or "all connections"
        selected += f" with {', '.join(map(str, self.peers))}" if self.peers else ""
        return selected if self.most_bytes is None else f"{selected} up to {self.most_bytes} bytes"
