"""Charts of a loss law: loss against size, lengths of runs, and loss by position."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tcpsf.capture_law import LossLaw
from tcpsf.chart import Axis, Plot, plot

PLACES = 60
"""Number of sizes at which the fitted law is drawn."""

OBSERVED, FITTED, INDEPENDENT = "observed", "fitted law", "independent losses"

KEYS = {OBSERVED: "fs", FITTED: "vs", INDEPENDENT: "plain"}
"""Colours of the series."""

LOSS = Axis(label="lost first transmissions", unit="%", low=0.0)


def law_plots(law: LossLaw) -> tuple[Plot, ...]:
    """Return the charts of a law that has losses: by size, runs, by position. Otherwise none."""
    if not law.losses:
        return ()
    return loss_by_size(law), run_length_plot(law), loss_by_position(law)


def loss_by_size(law: LossLaw) -> Plot:
    """Return the loss against the size of the IP packet, with the fitted law if there is one."""
    rows = [_share_row(each.bytes, each.lost, each.packets, each.interval) for each in law.sizes]
    note = f"Size cannot explain the loss: {law.exponent_reason}." if law.exponent is None else ""
    return plot(
        [*rows, *_curve(law)],
        x_axis=Axis(label="size of the IP packet", unit="bytes", low=0.0),
        y_axis=LOSS,
        style={OBSERVED: "point", FITTED: "line"},
        keys=KEYS,
        title=f"Loss by size, {law.direction}",
        caption="Share of first transmissions that were lost, with 95 % intervals.",
        notes=[note] if note else [],
        key=f"loss-by-size-{law.direction}",
    )


def _curve(law: LossLaw) -> Iterator[dict[str, Any]]:
    """Yield the fitted law with the band of its exponents, by which it turns at its reference."""
    if law.exponent is None or law.exponent_interval is None:
        return
    low, high = law.sizes[0].bytes, law.sizes[-1].bytes
    for step in range(PLACES + 1):
        size = low * (high / low) ** (step / PLACES)
        ends = sorted(law.loss_at(size, exponent=end) for end in law.exponent_interval)
        yield {
            "x": size,
            "y": 100.0 * law.loss_at(size),
            "low": 100.0 * ends[0],
            "high": 100.0 * ends[1],
            "series": FITTED,
        }


def run_length_plot(law: LossLaw) -> Plot:
    """Return the number of runs by length, beside that of independent losses."""
    rows = [
        {"x": str(each.length), "y": count, "series": series}
        for each in law.run_lengths
        for series, count in ((OBSERVED, float(each.runs)), (INDEPENDENT, each.independent))
    ]
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
        _share_row(math.sqrt(each.first * (each.last)), each.lost, each.packets, each.interval)
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
        key=f"loss-by-position-{law.direction}",
    )


def _share_row(x: float, lost: int, packets: int, interval: tuple[float, float]) -> dict[str, Any]:
    """Return a row with a share and its interval as percentages."""
    low, high = interval
    return {
        "x": x,
        "y": 100.0 * lost / packets,
        "low": 100.0 * low,
        "high": 100.0 * high,
        "series": OBSERVED,
    }
