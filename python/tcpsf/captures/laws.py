"""Loss laws of a capture: one for each direction of its data.

`loss_laws` computes them from the tables of a capture. `LossLaws` does so batch by batch, with
memory that does not grow with the capture.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from tcpsf import text
from tcpsf.captures.law import FittedLoss, LossLaw, PolicerTest, PositionClass, RunLength, SizeClass
from tcpsf.captures.loss_fit import CONFIDENCE, Clusters, SizeCounts, fit, fit_level
from tcpsf.captures.loss_sums import LossSums
from tcpsf.captures.reader import CaptureTables
from tcpsf.intervals import Ends, wilson

DIRECTIONS: tuple[Literal["originator", "responder"], ...] = ("originator", "responder")

LEAST_LOSSES = 20
"""Number of losses below which there is not enough evidence."""

LEAST_CLUSTERS = 10
"""Number of clusters with losses below which there is not enough evidence."""

WIDEST = 2.0
"""Width of the interval of an exponent from which on the exponent counts as not identifiable.

The interval then contains loss by packet, loss by byte, and more than as much again.
"""

LEAST_SPREAD = 0.1
"""Standard deviation of the logarithm of the sizes below which they count as equal."""


class LossLaws:
    """Loss laws of a capture that is read batch by batch."""

    def __init__(self) -> None:
        self._sums = [LossSums(direction) for direction in DIRECTIONS]

    def add(self, batch: CaptureTables) -> None:
        """Add rows."""
        for sums in self._sums:
            sums.add(batch)

    def laws(self) -> tuple[LossLaw, ...]:
        """Return the laws of the directions with data."""
        return tuple(_law(sums) for sums in self._sums if sums.packets.any() or sums.excluded)


def loss_laws(tables: CaptureTables) -> tuple[LossLaw, ...]:
    """Return the loss laws of the directions with data, from the complete tables of a capture."""
    laws = LossLaws()
    laws.add(tables)
    return laws.laws()


@dataclass(frozen=True, slots=True, kw_only=True)
class _BySize:
    """Loss by size: the values of `LossLaw` with these names."""

    loss: float
    loss_interval: Ends | None
    exponent: float | None = None
    exponent_interval: Ends | None = None
    exponent_reason: str
    curve: tuple[FittedLoss, ...] = ()


def _law(sums: LossSums) -> LossLaw:
    used = np.flatnonzero(sums.packets)
    packets, losses = int(sums.packets.sum()), int(sums.losses.sum())
    blocks, connections = sums.by_block.clusters(used), sums.by_connection.clusters(used)
    # With few connections, only blocks tell how losses cluster.
    kinds = [blocks, connections] if connections.lossy >= LEAST_CLUSTERS else [blocks]
    sizes = sums.bytes[used] / sums.packets[used] if used.size else np.zeros(0)
    reference = round(float(sizes[np.argmax(sums.packets[used])])) if used.size else 0
    reason = _lack(losses, blocks)
    if losses:
        counts = SizeCounts(
            sizes=np.log(sizes / reference), packets=sums.packets[used], losses=sums.losses[used]
        )
        by_size = _by_size(counts, kinds, reference, reason)
    else:
        # The loss for which no loss among so many packets has a probability of 5 %.
        ends = (0.0, 1.0 - (1.0 - CONFIDENCE) ** (1.0 / packets)) if packets else None
        by_size = _BySize(loss=0.0, loss_interval=ends, exponent_reason=reason)
    run, run_interval, independent, bursty = _runs(sums, enough=not reason)
    design = _design_effect(sums, kinds, used)
    return LossLaw(
        direction=DIRECTIONS[0] if sums.direction == DIRECTIONS[0] else DIRECTIONS[1],
        evidence="not enough" if reason else "enough",
        reason=reason or _limits(sums),
        connections=sums.connections,
        packets=packets,
        losses=losses,
        excluded=sums.excluded,
        reference_size=reference,
        loss=by_size.loss,
        loss_interval=by_size.loss_interval,
        exponent=by_size.exponent,
        exponent_interval=by_size.exponent_interval,
        exponent_reason=by_size.exponent_reason,
        mean_run=run,
        mean_run_interval=run_interval,
        independent_run=independent,
        bursty=bursty,
        run_lengths=_run_lengths(sums, independent),
        sizes=_size_classes(sums, used, design),
        positions=_positions(sums, design),
        policer=_policer(sums),
        curve=by_size.curve,
    )


def _by_size(counts: SizeCounts, kinds: list[Clusters], reference: int, lack: str) -> _BySize:
    """Fit the loss by size, or the loss alone if there is not enough evidence for an exponent."""
    fitted = None if lack else fit(counts, kinds)
    reason = lack or _indistinct(counts, fitted.exponent_interval if fitted else None)
    if fitted is None or reason:
        level, ends = fit_level(counts, kinds)
        return _BySize(
            loss=_probability(level), loss_interval=_probabilities(ends), exponent_reason=reason
        )
    return _BySize(
        loss=_probability(fitted.level),
        loss_interval=_probabilities(fitted.level_interval),
        exponent=fitted.exponent,
        exponent_interval=fitted.exponent_interval,
        exponent_reason="",
        curve=tuple(
            FittedLoss(
                bytes=reference * math.exp(size),
                loss=_probability(at),
                interval=_probabilities(ends),
            )
            for size, at, ends in fitted.curve
        ),
    )


def _lack(losses: int, blocks: Clusters) -> str:
    """Return the reason for which there is not enough evidence, or nothing."""
    if losses < LEAST_LOSSES:
        return f"{losses} losses, of {LEAST_LOSSES} that are needed"
    if blocks.lossy < LEAST_CLUSTERS:
        return f"the losses are in {blocks.lossy} blocks of 256 segments, of {LEAST_CLUSTERS} that are needed"
    return ""


def _limits(sums: LossSums) -> str:
    """Return a limit of the result, or nothing."""
    packets = float(sums.packets.sum())
    if sums.excluded > packets / 2.0:
        share = sums.excluded / (sums.excluded + packets)
        return f"{100.0 * share:.0f} % of the segments are not counted, because a loss of them is not visible"
    return ""


def _indistinct(counts: SizeCounts, interval: Ends | None) -> str:
    """Return the reason for which an exponent cannot be identified, or nothing."""
    shares = counts.packets / counts.packets.sum()
    mean = float((shares * counts.sizes).sum())
    spread = math.sqrt(float((shares * (counts.sizes - mean) ** 2).sum()))
    if spread < LEAST_SPREAD:
        return "the sizes hardly vary"
    if interval is None:
        return "the losses do not bound the exponent"
    if interval[1] - interval[0] >= WIDEST:
        return f"the interval of the exponent, {interval[0]:.1f} to {interval[1]:.1f}, is too wide"
    return ""


def _probability(level: float) -> float:
    """Return the loss 1 − exp(−exp(level))."""
    return -math.expm1(-math.exp(min(level, 700.0)))


def _probabilities(ends: Ends) -> Ends:
    return _probability(ends[0]), _probability(ends[1])


def _runs(sums: LossSums, *, enough: bool) -> tuple[float | None, Ends | None, float, bool]:
    """Return the mean run, its interval, that of independent losses, and whether it is longer.

    A run ends with a segment that arrives. Losses that another packet than the next segment
    followed, or none, do not tell whether the run would have continued.
    """
    losses = sum(sums.runs.values())
    pairs = losses - sums.runs[1]
    followed = losses - sums.interrupted
    if followed <= 0:
        return (None if not losses else 1.0), None, 1.0, False
    # Only pairs whose second segment follows at once are observed.
    expected_pairs = sums.expected_pairs * followed / losses
    expected = min(expected_pairs / followed, 1.0)
    independent = 1.0 / (1.0 - expected) if expected < 1.0 else math.inf
    share = pairs / followed
    mean = 1.0 / (1.0 - share) if share < 1.0 else math.inf
    if not enough:
        return mean, None, independent, False
    low, high = wilson(share, followed, NormalDist().inv_cdf((1.0 + CONFIDENCE) / 2.0))
    ends = 1.0 / (1.0 - low), 1.0 / (1.0 - high) if high < 1.0 else math.inf
    return mean, ends, independent, _is_above(pairs, expected_pairs)


def _is_above(pairs: int, expected: float) -> bool:
    """Return whether a number of Poisson's distribution is above its mean, one-sided at 2.5 %."""
    if pairs <= expected:
        return False
    if expected > 1000.0:
        return pairs - expected > NormalDist().inv_cdf((1.0 + CONFIDENCE) / 2.0) * math.sqrt(
            expected
        )
    below = sum(
        math.exp(number * math.log(max(expected, 1e-300)) - expected - math.lgamma(number + 1.0))
        for number in range(pairs)
    )
    return 1.0 - below < (1.0 - CONFIDENCE) / 2.0


def _run_lengths(sums: LossSums, independent: float) -> tuple[RunLength, ...]:
    """Return the runs by length. A loss with the number n of its run is in a run of n or more."""
    runs = sums.runs[1]
    share = 1.0 - 1.0 / independent
    return tuple(
        RunLength(
            length=length,
            runs=sums.runs[length] - sums.runs[length + 1],
            independent=runs * (1.0 - share) * share ** (length - 1),
        )
        for length in range(1, max(sums.runs, default=0) + 1)
    )


def _design_effect(sums: LossSums, kinds: list[Clusters], used: Any) -> float:
    """Return the variance of the share of losses, relative to that of independent losses."""
    packets, losses = float(sums.packets.sum()), float(sums.losses.sum())
    if not 0.0 < losses < packets:
        return 1.0
    share = losses / packets
    ones, means = np.ones((1, np.size(used))), np.full(np.size(used), share)
    found = [
        float(kind.meat(ones, means)[0, 0]) * kind.correction / (packets * share * (1.0 - share))
        for kind in kinds
    ]
    return max(1.0, *found)


def _share_interval(lost: float, packets: float, design: float) -> Ends:
    """Return Wilson's interval with the effective number of packets."""
    low, high = wilson(
        lost / packets, packets / design, NormalDist().inv_cdf((1.0 + CONFIDENCE) / 2.0)
    )
    return float(low), float(high)


def _size_classes(sums: LossSums, used: Any, design: float) -> tuple[SizeClass, ...]:
    return tuple(
        SizeClass(
            bytes=float(sums.bytes[index] / sums.packets[index]),
            packets=int(sums.packets[index]),
            lost=int(sums.losses[index]),
            interval=_share_interval(sums.losses[index], sums.packets[index], design),
        )
        for index in np.asarray(used).tolist()
    )


def _positions(sums: LossSums, design: float) -> tuple[PositionClass, ...]:
    return tuple(
        PositionClass(
            first=first,
            last=2 * first - 1,
            packets=sums.positions[first],
            lost=sums.lost_positions[first],
            interval=_share_interval(sums.lost_positions[first], sums.positions[first], design),
        )
        for first in sorted(sums.positions)
        if sums.positions[first]
    )


def _policer(sums: LossSums) -> PolicerTest:
    tested = sums.policing.total() - sums.policing["untested"]
    matching = sums.policing["found"]
    # A distribution is one of nanoseconds, whose quantiles are in seconds.
    rate = sums.policer_rates.quantile(0.5)
    if not tested:
        reason = "no connection at the sender has the 15 losses that the test needs"
        verdict: Literal["found", "not found", "not enough"] = "not enough"
    elif 2 * matching >= tested:
        reason = f"the losses of {matching} of {tested} connections agree with a token bucket"
        verdict = "found"
    else:
        counted = [
            f"{REFUTATIONS[key]} in {count}"
            for key, count in sums.policing.most_common()
            if key in REFUTATIONS
        ]
        reason = f"of {text.count(tested, 'tested connection')}, {', '.join(counted)}"
        verdict = "not found"
    return PolicerTest(
        verdict=verdict,
        tested=tested,
        matching=matching,
        rate_bps=rate and rate * 1e9,
        reason=reason,
    )


REFUTATIONS = {
    "more_tokens_at_loss": "losses find as many tokens as other packets",
    "tokens_at_loss": "losses find tokens in the bucket",
    "no_tokens_at_pass": "packets pass without tokens",
    "full_queue": "round-trip times rise before losses",
}
"""Results of the test, except `found`, and their words."""
