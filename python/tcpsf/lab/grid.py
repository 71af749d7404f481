"""Cells of a laboratory: loss models, paths, sizes and remedies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tcpsf.cure import CurePolicy


@dataclass(frozen=True, slots=True)
class LabLoss:
    """Losses towards the client."""

    kind: str
    """``none``, ``packet``, ``burst`` or ``byte``."""
    probability: float = 0.0
    """Of a packet, or of a byte."""
    run: float = 1.0
    """Mean length of a burst in packets."""

    def __str__(self) -> str:
        if self.kind == "none":
            return "none"
        share = f"{100 * self.probability:g}%"
        if self.kind == "burst":
            return f"burst:{share},{self.run:g}"
        return share if self.kind == "packet" else f"byte:{self.probability:g}"

    def options(self) -> list[str]:
        """Return options of `tcpsf link`."""
        share = f"{self.probability:.12g}"
        return {
            "none": [],
            "packet": ["--down-loss", share],
            "burst": ["--down-loss-burst", f"{share},{self.run:g}"],
            "byte": ["--down-loss-per-byte", share],
        }[self.kind]

    def model(self) -> dict[str, Any] | None:
        """Return the loss model of a scenario's link."""
        if self.kind == "none":
            return None
        found = {"kind": self.kind, "probability": self.probability}
        return found | ({"run": self.run} if self.kind == "burst" else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class LabPath:
    """A path between the client and the server."""

    loss: LabLoss
    rtt_s: float
    rate: str | None = None
    """Rate of the link towards the client, such as ``10Mb/s``; ``None`` for no limit."""
    queue: str | None = None
    """Its queue, such as ``30kB`` or ``20packets``; ``None`` for no limit."""
    police: str | None = None
    """Rate and burst of a policer in front of it, such as ``5Mb/s,15kB``."""
    downloads: int = 0
    """Number of long downloads that share the link, without a remedy."""

    def options(self) -> list[str]:
        """Return options of `tcpsf link`."""
        options = ["--delay", f"{self.rtt_s / 2:.9f}s", *self.loss.options()]
        options += [] if self.rate is None else ["--down-rate", self.rate]
        options += [] if self.police is None else ["--down-police", self.police]
        return [*options, "--down-queue", self.queue or "none"]

    def link(self) -> dict[str, Any]:
        """Return the settings of a scenario's link towards the client."""
        found: dict[str, Any] = {"delay": f"{1e9 * self.rtt_s / 2:.0f}ns"}
        model = self.loss.model()
        found |= {} if model is None else {"loss": model}
        found |= {} if self.rate is None else {"rate": self.rate}
        if self.police is not None:
            rate, burst = self.police.split(",")
            found |= {"police": {"rate": rate.strip(), "burst": burst.strip()}}
        if self.queue is not None:
            limit = {"packets": self.packets} if self.packets else {"bytes": self.queue}
            found |= {"buffer": limit}
        return found

    @property
    def packets(self) -> int | None:
        """Number of packets of a queue that counts packets."""
        found = re.fullmatch(r"(\d+)\s*packets?", self.queue or "")
        return int(found[1]) if found else None

    def __str__(self) -> str:
        """Everything but the loss and the round-trip time; empty for a link without limits."""
        words = [self.rate, self.queue and f"queue of {self.queue}"]
        words += [self.police and f"policer of {self.police}"]
        words += [f"{self.downloads} downloads" if self.downloads else None]
        return ", ".join(filter(None, words))


@dataclass(frozen=True, slots=True)
class LabMix:
    """Sizes of responses that alternate, such as those of a workload."""

    name: str
    sizes: tuple[int, ...]
    """Bytes of each, which are equally likely."""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class LabCell:
    """A path, the size of the responses, and a remedy."""

    path: LabPath
    size: int | LabMix
    """Bytes, or several sizes."""
    policy: CurePolicy | None = None
    """``None`` for no remedy."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes in bytes that alternate."""
        return self.size.sizes if isinstance(self.size, LabMix) else (self.size,)

    @property
    def remedy(self) -> str:
        """Name of the remedy."""
        return "none" if self.policy is None else str(self.policy)
