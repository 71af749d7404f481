"""Charts of a loss law: loss against size, lengths of runs, and loss by position."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from tcpsf import text
from tcpsf.captures.law import LossLaw
from tcpsf.chart import Axis, Plot, plot

MOST_RUNS = 12
"""Length from which on runs have one pair of bars."""

OBSERVED, FITTED, INDEPENDENT = "observed", "fitted law", "independent losses"

KEYS = {OBSERVED: "fs", FITTED: "vs", INDEPENDENT: "plain"}
"""Colours of the series."""

LOSS = Axis(label="lost first transmissions", unit="%", low=0.0)

FEW = 0.01
"""Share of the packets below which the interval of a class of sizes does not extend the axis."""


def law_plots(law: LossLaw) -> tuple[Plot, ...]:
    """Return the charts of a law that has losses: by size, runs, by position. Otherwise none."""
    if not law.losses:
        return ()
    return loss_by_size(law), run_length_plot(law), loss_by_position(law)


def loss_by_size(law: LossLaw) -> Plot:
    """Return the loss against the size of the IP packet, with the fitted law if there is one."""
    rows = [
        _percentages(each.bytes, each.lost / each.packets, each.interval, OBSERVED)
        for each in law.sizes
    ]
    fitted = [_percentages(each.bytes, each.loss, each.interval, FITTED) for each in law.curve]
    high = _highest_loss(law)
    above = sum(row["y"] > high for row in rows)
    notes = []
    if law.exponent is None:
        notes.append(f"Size cannot explain the loss: {law.exponent_reason}.")
    if above:
        notes.append(f"{text.count(above, 'class', 'classes')} with few packets above the axis.")
    return plot(
        [*rows, *fitted],
        x_axis=Axis(label="size of the IP packet", unit="bytes", low=0.0),
        y_axis=replace(LOSS, high=high),
        style={OBSERVED: "point", FITTED: "line"},
        keys=KEYS,
        title=f"Loss by size, {law.direction}",
        caption="Share of first transmissions that were lost, with 95 % intervals.",
        notes=notes,
        key=f"loss-by-size-{law.direction}",
    )


def _highest_loss(law: LossLaw) -> float:
    """Return the end of the axis in percent: it contains the intervals of frequent sizes."""
    frequent = [each for each in law.sizes if each.packets >= FEW * law.packets]
    ends = [each.interval[1] for each in frequent] + [each.loss for each in law.curve]
    return 105.0 * max(ends, default=1.0)


def run_length_plot(law: LossLaw) -> Plot:
    """Return the number of runs by length, beside that of independent losses."""
    longest = law.run_lengths[-1].length if law.run_lengths else 0
    last = longest if longest <= MOST_RUNS else MOST_RUNS
    rows = []
    for length in range(1, last + 1):
        chosen = [
            each
            for each in law.run_lengths
            if each.length == length or (length == last and each.length > last)
        ]
        name = f"{length} or more" if length == last < longest else str(length)
        runs = float(sum(each.runs for each in chosen))
        rows.append({"x": name, "y": runs, "series": OBSERVED})
        expected = sum(each.independent for each in chosen)
        rows.append({"x": name, "y": expected, "series": INDEPENDENT})
    return plot(
        rows,
        x_axis=Axis(label="consecutive losses", scale="category"),
        y_axis=Axis(label="runs", low=0.0),
        style="bar",
        keys=KEYS,
        title=f"Runs of losses, {law.direction}",
        caption="Runs of first transmissions that were lost.",
        key=f"loss-runs-{law.direction}",
    )


def loss_by_position(law: LossLaw) -> Plot:
    """Return the loss by the position of the segment in its connection."""
    rows = [
        _percentages(
            math.sqrt(each.first * each.last), each.lost / each.packets, each.interval, OBSERVED
        )
        for each in law.positions
    ]
    return plot(
        rows,
        x_axis=Axis(label="segment of the connection", scale="log"),
        y_axis=LOSS,
        style="point",
        keys=KEYS,
        title=f"Loss by position, {law.direction}",
        caption="Share of first transmissions that were lost, with 95 % intervals.",
        notes=["A point stands for segments n to 2n − 1, and is at their geometric mean."],
        key=f"loss-by-position-{law.direction}",
    )


def _percentages(
    x: float, share: float, interval: tuple[float, float], series: str
) -> dict[str, Any]:
    """Return a row with a share and its interval as percentages."""
    low, high = (100.0 * end for end in interval)
    return {"x": x, "y": 100.0 * share, "low": low, "high": high, "series": series}
