"""Simulated captures whose loss law is known, for `loss_law.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from tcpsf import (
    Buffer,
    BurstLoss,
    ByteLoss,
    Link,
    Loss,
    PacketLoss,
    Pcap,
    Scenario,
    SenderShare,
    Tcp,
    Transfers,
    run,
)
from tcpsf.captures.law import size_loss
from tcpsf.python_models import LossModel, PacketFacts, QueueDiscipline, QueueFacts

Place: TypeAlias = Literal["sender", "receiver"]

FULL: Final = 1500
"""Size of a full IP packet in bytes."""

LOSS: Final = 0.03
"""Loss of a full packet."""

SIZES: Final = tuple(
    1448 * (number % 8) + (100, 300, 600, 1000)[number % 4] for number in range(1600)
)
"""Sizes of the transfers in bytes: up to 7 full segments, and a shorter last one."""

MEDIUM: Final = (60 * 1448,) * 120
"""Sizes of transfers in which few bursts reach the end, so that few repairs are lost in them."""


class PowerLoss:
    """Loss with the exponent ½: between loss by packet and loss by byte."""

    def loses(self, packet: PacketFacts) -> bool:
        """Return whether the packet is lost."""
        return packet.draw < size_loss(LOSS, packet.size_bytes / FULL, 0.5)


class TokenBucket:
    """A policer of 5 Mb/s with a bucket of 60 kB."""

    RATE_BPS: Final = 5e6
    BUCKET: Final = 60_000.0

    def __init__(self) -> None:
        self.tokens = self.BUCKET
        self.at = 0.0

    def decide(self, packet: QueueFacts) -> str:
        """Drop a packet without tokens."""
        gained = (packet.time_s - self.at) * self.RATE_BPS / 8.0
        self.tokens, self.at = min(self.tokens + gained, self.BUCKET), packet.time_s
        if self.tokens < packet.size_bytes:
            return "drop"
        self.tokens -= packet.size_bytes
        return "accept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """A law, and the path that has it."""

    name: str
    exponent: float | None
    """Exponent; ``None`` if the law has none."""
    loss: Loss | None = None
    model: Callable[[], LossModel] | None = None
    queue: Callable[[], QueueDiscipline] | None = None
    sizes: Sequence[int] = SIZES
    mean_run: float = 1.0 / (1.0 - LOSS)
    """Mean run of consecutive losses."""
    policed: bool = False


SHORT: Final = (
    Law(name="loss by packet", exponent=0.0, loss=PacketLoss(probability=LOSS)),
    Law(name="exponent ½", exponent=0.5, model=PowerLoss),
    Law(
        name="loss by byte",
        exponent=1.0,
        loss=ByteLoss(probability=1.0 - (1.0 - LOSS) ** (1.0 / FULL)),
    ),
    Law(
        name="bursts of 3",
        exponent=0.0,
        loss=BurstLoss(probability=LOSS, run=3.0),
        sizes=MEDIUM,
        mean_run=3.0,
    ),
)
"""Laws of many short transfers."""

LONG: Final = (
    Law(name="policer", exponent=None, queue=TokenBucket, policed=True),
    Law(name="random losses", exponent=0.0, loss=PacketLoss(probability=0.01)),
    Law(name="full queue", exponent=None),
)
"""Paths of one long transfer, of which the first has a policer."""


def capture_short(law: Law, *, seed: int, path: Path, place: Place = "sender") -> None:
    """Capture many short transfers over a path with a law."""
    _capture(
        law, Pcap(path=path, place=place, replace=True), seed=seed, sizes=law.sizes, rate="100Mbit"
    )


def capture_long(law: Law, *, seed: int, path: Path) -> None:
    """Capture one transfer of 20 MB. Without a model, the bottleneck has a queue of 25 kB."""
    is_random = law.loss is not None or law.queue is not None
    rate = "100Mbit" if is_random else "5Mbit"
    _capture(law, Pcap(path=path, replace=True), seed=seed, sizes=[20_000_000], rate=rate)


def _capture(law: Law, pcap: Pcap, *, seed: int, sizes: Sequence[int], rate: str) -> None:
    buffer = Buffer(bytes="25kB") if rate == "5Mbit" else None
    there = Link(
        name="there", from_="a", to="b", rate=rate, delay="20ms", loss=law.loss, buffer=buffer
    )
    made = Scenario(
        name=law.name,
        duration="2000 s",
        tcp=Tcp(profile="linux-6.18"),
        link=[there, Link(name="back", from_="b", to="a", rate="100Mbit", delay="20ms")],
        workload=[
            Transfers(
                name="data",
                from_="a",
                to="b",
                sizes=sizes,
                spacing="1s",
                senders=[SenderShare(sender="linux / full / iw=10", share=1)],
                handshake=True,
            )
        ],
    )
    loss = {} if law.model is None else {"there": law.model}
    queue = {} if law.queue is None else {"there": law.queue}
    run(made, seed=seed, pcap=pcap, loss=loss, queue=queue)
