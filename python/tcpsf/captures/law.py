"""The loss law of a path: the loss of a packet by its size, and the runs of losses.

The probability that a packet of L bytes is lost is

    P(L) = 1 − (1 − p)^((L / R)^b)

with the loss p of a packet of R bytes, the reference size. The exponent b is 0 if each packet is lost
with the same probability, and 1 if each byte is. It decides whether smaller segments lose less. Sizes
are those of IP packets, headers included, as in the losses of a scenario's link.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tcpsf.intervals import Ends

if TYPE_CHECKING:
    from tcpsf.python_models import LossModel, PacketFacts
    from tcpsf.scenario import BurstLoss, ByteLoss, PacketLoss

Dependence: TypeAlias = Literal["packet", "byte", "between", "undecided", "unknown"]
"""How loss depends on size.

- `packet`: the interval of the exponent contains 0 and not 1;
- `byte`: it contains 1 and not 0;
- `between`: it contains neither;
- `undecided`: it contains both;
- `unknown`: the exponent cannot be identified.
"""

ScenarioLoss: TypeAlias = "PacketLoss | ByteLoss | BurstLoss"
"""Losses of a scenario's link that a law can become."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeClass:
    """First transmissions of about the same size."""

    bytes: float
    """Mean size of their IP packets in bytes."""
    packets: int
    """First transmissions whose outcome is known."""
    lost: int
    """Number of these that were lost."""
    interval: Ends
    """95 % interval of the share that is lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedLoss:
    """A point of the fitted law."""

    bytes: float
    """Size of the IP packet in bytes."""
    loss: float
    """Loss probability."""
    interval: Ends
    """95 % interval of the loss probability at this size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionClass:
    """First transmissions at about the same place in their connections."""

    first: int
    """First place, counted from 1 in segments."""
    last: int
    """Last place."""
    packets: int
    """First transmissions whose outcome is known."""
    lost: int
    """Number of these that were lost."""
    interval: Ends
    """95 % interval of the share that is lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLength:
    """Runs of losses with the same length."""

    length: int
    """Number of consecutive first transmissions that were lost."""
    runs: int
    """Number of these runs."""
    independent: float
    """Expected number if losses were independent, for the same number of runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicerTest:
    """Test whether losses are those of a token bucket (Flach et al., SIGCOMM 2016).

    A policer drops packets that find no tokens, at a constant rate and without a queue.
    """

    verdict: Literal["found", "not found", "not enough"]
    """Result: `found` if at least half of the tested connections have the losses of a policer."""
    tested: int
    """Connections with enough losses for the test."""
    matching: int
    """Connections whose losses agree with a token bucket."""
    rate_bps: float | None
    """Median rate of the matching token buckets in bits of IP packets per second."""
    reason: str
    """Evidence, as a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossLaw:
    """Losses of the data in one direction, over all connections of a capture.

    Intervals have a confidence of 95 %. They allow for losses that cluster in connections and in
    bursts.
    """

    direction: Literal["originator", "responder"]
    """End that sends the data: the one that opened the connection, or the other."""
    evidence: Literal["enough", "not enough"]
    """Whether there are enough losses for `loss` and `mean_run`."""
    reason: str
    """Reason for which the evidence is not enough, or limits of the result. Empty without one."""
    connections: int
    """Connections with data in this direction."""
    packets: int
    """First transmissions whose outcome is known."""
    losses: int
    """First transmissions that were lost."""
    excluded: int
    """First transmissions that are not counted, because the capture could not show their loss."""
    reference_size: int
    """Size R in bytes of an IP packet: the most frequent one."""
    loss: float
    """Loss p of a packet of the reference size; the share of all packets without an exponent."""
    loss_interval: Ends | None
    """Interval of `loss`; ``None`` without enough evidence."""
    exponent: float | None
    """Exponent b; ``None`` if it cannot be identified."""
    exponent_interval: Ends | None
    """Interval of the exponent; ``None`` if it cannot be identified."""
    exponent_reason: str
    """Reason for which the exponent cannot be identified. Empty if it can."""
    mean_run: float | None
    """Mean number of consecutive first transmissions that are lost; ``None`` without losses.

    It is 1 / (1 − q), where q is the share of losses among the successors of a lost packet.
    """
    mean_run_interval: Ends | None
    """Interval of the mean run; ``None`` without enough evidence. Its upper end may be infinite."""
    independent_run: float
    """Mean run if losses were independent: 1 / (1 − share)."""
    bursty: bool
    """Whether runs are longer than those of independent losses, beyond chance."""
    run_lengths: tuple[RunLength, ...]
    """Runs by their length, in ascending order."""
    sizes: tuple[SizeClass, ...]
    """Losses by size, in ascending order."""
    positions: tuple[PositionClass, ...]
    """Losses by the position of the segment in its connection, in ascending order."""
    policer: PolicerTest
    """Test for a policer."""
    curve: tuple[FittedLoss, ...] = ()
    """Fitted law over the range of sizes, in ascending order; empty without an exponent."""

    @property
    def share(self) -> float:
        """Share of first transmissions that were lost, over all sizes. Zero without packets."""
        return self.losses / self.packets if self.packets else 0.0

    @property
    def dependence(self) -> Dependence:
        """How loss depends on size, by the interval of the exponent."""
        if self.exponent_interval is None:
            return "unknown"
        low, high = self.exponent_interval
        packet, byte = low <= 0.0 <= high, low <= 1.0 <= high
        if packet and byte:
            return "undecided"
        if packet:
            return "packet"
        return "byte" if byte else "between"

    def loss_at(self, size_bytes: float, *, exponent: float | None = None) -> float:
        """Return the loss probability of an IP packet of this size.

        ``exponent`` replaces the fitted one. Without both, loss does not depend on size.
        """
        chosen = self.exponent if exponent is None else exponent
        return size_loss(self.loss, size_bytes / self.reference_size, chosen or 0.0)

    def to_scenario_loss(self, *, exponent: Literal[0, 1] | None = None) -> ScenarioLoss:
        """Return the loss of a scenario's link that is nearest to this law.

        A link has losses by packet, by byte, or in bursts whatever the size. ``exponent`` selects
        loss by packet or by byte, with the same loss at the reference size. Without it, losses in
        bursts become `BurstLoss`, and others the kind whose exponent is nearer. An exponent that
        cannot be identified counts as 0. `is_expressible` says whether this is within the intervals.
        """
        from tcpsf.scenario import BurstLoss, ByteLoss, PacketLoss

        if exponent is None and self.bursty and self.mean_run is not None:
            longest_loss = self.mean_run / (1.0 + self.mean_run)
            return BurstLoss(probability=min(self.share, longest_loss), run=self.mean_run)
        nearer = 0 if (self.exponent or 0.0) < 0.5 else 1
        if (nearer if exponent is None else exponent) == 0:
            return PacketLoss(probability=self.loss)
        return ByteLoss(probability=size_loss(self.loss, 1.0 / self.reference_size, 1.0))

    @property
    def is_expressible(self) -> bool:
        """Whether `to_scenario_loss` agrees with the intervals, and no policer was found."""
        if self.policer.verdict == "found":
            return False
        if self.bursty:
            return self.dependence not in ("byte", "between")
        return self.dependence != "between"

    def to_model(self) -> Callable[[], LossModel]:
        """Return the law as a loss model in Python, which `tcpsf.run` takes for a link.

        It has the exponent and the runs of the law, which no loss of a scenario has together.
        """
        run = self.mean_run if self.bursty and self.mean_run is not None else None
        return functools.partial(LawLoss, law=self, run=run)

    def to_dict(self) -> dict[str, Any]:
        """Return the law as plain data for JSON. Infinite numbers are ``None``."""
        data = asdict(self)
        data |= {"share": self.share, "dependence": self.dependence}
        for run in ("mean_run", "independent_run"):
            data[run] = _finite(data[run])
        if self.mean_run_interval is not None:
            data["mean_run_interval"] = [_finite(end) for end in self.mean_run_interval]
        return data


class LawLoss:
    """Loss model in Python with the loss by size of a law, and runs of a mean length.

    After a loss the next packet is lost with probability 1 − 1/run, whatever its size. After a packet
    that passed, it is lost with p / (run (1 − p)), where p is the loss of its size. Without runs,
    losses are independent.
    """

    def __init__(self, *, law: LossLaw, run: float | None) -> None:
        self._law = law
        self._run = run
        self._lost: bool | None = None

    def loses(self, packet: PacketFacts) -> bool:
        """Return whether the packet is lost."""
        chance = self._law.loss_at(packet.size_bytes)
        if self._run is not None and self._lost is not None:
            after_pass = chance / (self._run * max(1.0 - chance, 1e-9))
            chance = 1.0 - 1.0 / self._run if self._lost else after_pass
        self._lost = packet.draw < chance
        return self._lost


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def size_loss(loss: float, relative_size: float, exponent: float) -> float:
    """Return 1 − (1 − loss)^(relative_size^exponent), accurate for small losses."""
    if loss >= 1.0:
        return 1.0
    return -math.expm1(math.log1p(-loss) * math.pow(relative_size, exponent))
