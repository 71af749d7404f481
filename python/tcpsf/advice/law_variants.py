"""Loss laws of a replay: the fitted one, and the ends of its intervals.

A conclusion that holds for the fitted law alone may be one of chance. It is therefore drawn again
for each end of the intervals of the loss, of the exponent and of the mean run.

A law with an exponent b between 0 and 1 becomes two losses in series: of packets, with the share
1 − b of the logarithm of the survival at the reference size, and of bytes, with the share b. Its loss
at the reference size, and the derivative there, are those of the law.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from tcpsf.captures.law import LossLaw, size_loss
from tcpsf.scenario import BurstLoss, ByteLoss, PacketLoss

LONGEST_RUN = 20.0
"""Longest mean run that is replayed, where the interval has no end."""

MOST_LOSS = 0.3
"""Largest loss of a packet of the reference size that is replayed."""

LONGER = 1.1
"""Ratio to the run of independent losses from which a mean run is replayed as bursts."""


ScenarioLosses: TypeAlias = tuple[PacketLoss | ByteLoss | BurstLoss, ...]
"""Losses in series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LawVariant:
    """A loss law of a replay."""

    name: str
    """``fitted``, or the end of an interval that it stands for."""
    losses: ScenarioLosses
    """Losses in series; at least one."""


def scaled(losses: ScenarioLosses, factor: float) -> ScenarioLosses:
    """Return losses that are ``factor`` times as frequent, up to `MOST_LOSS`."""
    return tuple(
        replace(
            loss,
            # A chain of bursts can lose half of the packets at least.
            probability=min(-math.expm1(math.log1p(-loss.probability) * factor), MOST_LOSS),
        )
        for loss in losses
    )


def variants(law: LossLaw) -> tuple[LawVariant, ...]:
    """Return the fitted law, and then a law for each end of its intervals.

    Without enough evidence, only the fitted law is returned.
    """
    run = law.mean_run if law.bursty else None
    found = [LawVariant(name="fitted", losses=_losses(law, law.loss, law.exponent or 0.0, run))]
    known = set(found[0].losses)
    ends = _ends(law, run) if law.evidence == "enough" else ()
    for name, losses in ends:
        if set(losses) != known:
            found.append(LawVariant(name=name, losses=losses))
    return tuple(found)


def _ends(law: LossLaw, run: float | None) -> Iterator[tuple[str, ScenarioLosses]]:
    """Yield the losses at the ends of the intervals."""
    exponent = law.exponent or 0.0
    if law.loss_interval is not None:
        low, high = law.loss_interval
        yield "lowest loss", _losses(law, low, exponent, run)
        yield "highest loss", _losses(law, high, exponent, run)
    if run is None:
        for name, end in zip(
            ("lowest", "highest"), law.exponent_interval or (0.0, 1.0), strict=True
        ):
            bytewise = min(max(end, 0.0), 1.0)
            yield f"{name} exponent", _losses(law, _refitted(law, bytewise), bytewise, run)
    if law.mean_run_interval is not None:
        shortest, longest = law.mean_run_interval
        for name, end in (("shortest runs", shortest), ("longest runs", longest)):
            if end > law.independent_run * LONGER or run is not None:
                yield name, _losses(law, law.loss, exponent, min(end, LONGEST_RUN))


def _refitted(law: LossLaw, exponent: float) -> float:
    """Return the loss at the reference size with which another exponent gives as many losses."""
    lost = sum(each.lost for each in law.sizes)
    low, high = 0.0, MOST_LOSS
    for _ in range(60):
        middle = (low + high) / 2.0
        expected = sum(
            each.packets * size_loss(middle, each.bytes / law.reference_size, exponent)
            for each in law.sizes
        )
        low, high = (middle, high) if expected < lost else (low, middle)
    return high if lost else law.loss


def _losses(law: LossLaw, loss: float, exponent: float, run: float | None) -> ScenarioLosses:
    """Return losses in series of a law with these parameters.

    Losses in bursts do not depend on the size of a packet.
    """
    loss = min(max(loss, 1e-9), MOST_LOSS)
    if run is not None:
        run = max(run, 1.0)
        # The chain of a burst cannot lose more than run / (1 + run).
        return (BurstLoss(probability=min(loss, run / (1.0 + run)), run=run),)
    bytewise = min(max(exponent, 0.0), 1.0)
    hazard = -math.log1p(-loss)
    found: list[PacketLoss | ByteLoss | BurstLoss] = []
    if bytewise < 1.0:
        found.append(PacketLoss(probability=-math.expm1(-hazard * (1.0 - bytewise))))
    if bytewise > 0.0:
        whole = -math.expm1(-hazard * bytewise)
        found.append(ByteLoss(probability=size_loss(whole, 1.0 / law.reference_size, 1.0)))
    return tuple(found)
