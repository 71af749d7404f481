"""Sensitivity of the fits to the assumptions that the text leaves open, changed one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tcpsf import stats
from tcpsf.evaluation.data import OWN, Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.plan import Runs
from tcpsf.papers.short_flows_simulated import Assumptions, TransferPoint
from tcpsf.reproduce.short_flows.sweeps import BY_NUMBER
from tcpsf.reproduce.short_flows.trials import (
    Model,
    PointTrials,
    Setting,
    Trials,
    fitted,
    off,
    off_minimum,
)

FIGURES = (7, 10, 11)
SETS = 1000
"""Resampled sets of trials for the ratio of Fig. 5; they suffice for intervals of 95 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """One assumption that differs from the paper's setting, and its value."""

    label: str
    changed: Mapping[str, Any] = field(default_factory=dict)
    """Changed fields of `Assumptions`."""
    own_timer: bool = False
    """Whether T₀ of the models is the measured timeout of each point.

    Otherwise it is the assumed timeout.
    """
    at_sender: bool = False
    """Whether the time ends when the sender knows that everything arrived."""

    def of(self, assumed: Assumptions) -> Assumptions:
        """Return the given assumptions with this variation's change."""
        return replace(assumed, **self.changed)


VARIATIONS = (
    Variation(label="default readings"),
    *(
        Variation(label=f"timeout from {1000 * rto:g} ms, T₀ as well", changed={"rto_s": rto})
        for rto in (1.0, 0.5, 0.3, 0.2)
    ),
    Variation(label="T₀ of each point: the timeout of its trials", own_timer=True),
    Variation(label="fits over all sizes", changed={"lone_segments": True}),
    Variation(label="fits over transfers of several segments", changed={"lone_segments": False}),
    *(
        Variation(
            label=f"the ACK of a single segment waits {1000 * delay:g} ms",
            changed={"delayed_ack_s": delay},
        )
        for delay in (0.05, 0.2)
    ),
    Variation(label="an ACK for each segment, b = 1", changed={"ack_every": 1}),
    Variation(
        label="an initial window of 2 segments",
        changed={"initial_window": 2, "sender": "reno / full / iw=2"},
    ),
    Variation(label="a lost SYN costs 3 s", changed={"syn_timeout_s": 3.0}),
    *(
        Variation(label=f"a clock of {1000 * tick:g} ms", changed={"tick_s": tick})
        for tick in (0.1, 0.5)
    ),
    *(Variation(label=f"links of {rate}", changed={"rate": rate}) for rate in ("10Mb/s", "1Gb/s")),
    *(
        Variation(label=f"a window of {kilo} KiB", changed={"receive_buffer": 1024 * kilo})
        for kilo in (8, 32)
    ),
    Variation(label="each ACK is an RTT sample", changed={"timed_ack": True}),
    Variation(label="a loss halves the flight size", changed={"halves_flight": True}),
    Variation(label="without Nagle's algorithm", changed={"nagle": False}),
    Variation(label="time until the sender receives the last ACK", at_sender=True),
)


def variations(assumed: Assumptions) -> tuple[Variation, ...]:
    """Return the possible variations; no timeout is below a tick of the clock."""
    return tuple(each for each in VARIATIONS if each.of(assumed).tick_s <= each.of(assumed).rto_s)


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return the exhibit of the fits under changed assumptions."""
    points = [point for number in FIGURES for point in BY_NUMBER[number].points]
    return (
        Exhibit(
            key="sensitivity",
            section="sensitivity",
            cases=tuple(
                setting.case(point, variation.of(setting.assumed))
                for variation in variations(setting.assumed)
                for point in points
            ),
            build=lambda runs: Part(tables=(_table(setting, runs),)),
        ),
    )


def _table(setting: Setting, runs: Runs) -> Table:
    return Table(
        key="sensitivity",
        title="Sensitivity to unstated assumptions",
        source=OWN,
        caption=(
            f"Each row changes one assumption of `--readings {setting.readings}`. Fits are means of "
            "|ln(model/median)|, and for (1) in Fig. 7 of |ln(model/minimum time)|. In the paper the mean "
            "of Fig. 5 is three times the median, and (14) is close to the medians."
        ),
        columns=(
            "choice",
            "Fig. 5, mean over median",
            "Fig. 7, error of (1) from the minimum time",
            "Fig. 7, (14)",
            "Fig. 7, (4)",
            "Fig. 10, (14)",
            "Fig. 11, (1)",
            "Fig. 11, (14)",
            "Fig. 11, (4)",
        ),
        rows=tuple(_row(variation, setting, runs) for variation in variations(setting.assumed)),
    )


def _row(variation: Variation, setting: Setting, runs: Runs) -> Row:
    seven, ten, eleven = (
        [_seen(variation, point, setting, runs) for point in _points(number)] for number in FIGURES
    )
    usual = next(seen for seen in eleven if seen.point == TransferPoint())
    chosen = fitted(seven)
    found = (
        _mean_over_median(usual.trials),
        off_minimum(chosen, [seen.model(1) for seen in chosen]),
        _fit(variation, seven, 14),
        _fit(variation, seven, 4),
        _fit(variation, ten, 14),
        _fit(variation, eleven, 1),
        _fit(variation, eleven, 14),
        _fit(variation, eleven, 4),
    )
    return Row(
        label=variation.label, cells=tuple(TableCell(ours=each, published=None) for each in found)
    )


def _points(number: int) -> tuple[TransferPoint, ...]:
    return BY_NUMBER[number].points


def _seen(variation: Variation, point: TransferPoint, setting: Setting, runs: Runs) -> PointTrials:
    return setting.seen(point, runs, variation.of(setting.assumed), at_sender=variation.at_sender)


def _mean_over_median(trials: Trials) -> stats.Estimate:
    rows = trials.bootstrap(
        lambda seconds: (float(seconds.mean() / np.median(seconds)),), sets=SETS
    )
    return stats.resampled(
        float(trials.seconds.mean() / trials.medians[0]), rows[:, 0].tolist(), len(trials)
    )


def _fit(
    variation: Variation, points: Sequence[PointTrials], number: Model
) -> stats.Estimate | None:
    chosen = fitted(points)
    timers = [_timer(seen.trials) if variation.own_timer else None for seen in chosen]
    return off(
        chosen, [seen.model(number, rto=rto) for seen, rto in zip(chosen, timers, strict=True)]
    )


def _timer(trials: Trials) -> float:
    """Mean timeout of the trials whose timer never expired, or of all trials if there are none."""
    calm = trials.rto_s[trials.timeouts == 0]
    return float((calm if calm.size else trials.rto_s).mean())
