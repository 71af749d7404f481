"""Differences of the loss between the addresses to which a capture has data.

The loss law holds for all connections together. Some clients may lose more than others. The number of
losses to each address is therefore compared with that of the law. If they vary more than by chance,
each address has a factor, by which its losses exceed those of the law:

    f = (k + 1/v) / (e + 1/v)

for k losses where the law expects e. The variance v of the factors is estimated by moments. This is
the mean of a gamma distribution after k losses (empirical Bayes). Transfers are divided into classes
of similar factors.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tcpsf.captures import CaptureTables
from tcpsf.captures.law import LossLaw

if TYPE_CHECKING:
    import polars as pl

CHANCE = 3.0
"""Standard deviations by which losses must vary more than by chance."""

ENDS = (0.5, 1.5, 4.0)
"""Factors at which the classes of losses end."""


def loss_factors(tables: CaptureTables, law: LossLaw) -> pl.DataFrame | None:
    """Return the factor of each connection: columns ``flow`` and ``loss_factor``.

    ``None`` if the losses do not differ between addresses beyond chance.
    """
    import polars as pl

    ends = tables.flows.filter(direction=law.direction).select("flow", "destination")
    counts = tables.transmissions.filter(direction=law.direction).join(ends, on="flow")
    by_address = (
        counts.group_by("destination")
        .agg(
            pl.col("lost").cast(pl.Int64).sum().alias("losses"),
            (pl.col("packets").cast(pl.Int64).sum() * law.share).alias("expected"),
        )
        .filter(pl.col("expected") > 0)
        .sort("destination")
    )
    variance = _variance(by_address["losses"].to_list(), by_address["expected"].to_list(), law)
    if variance is None:
        return None
    shape = 1.0 / variance
    factor = (pl.col("losses") + shape) / (pl.col("expected") + shape)
    factors = by_address.select("destination", factor.alias("loss_factor"))
    return ends.join(factors, on="destination", how="left").select(
        "flow", pl.col("loss_factor").fill_null(1.0)
    )


def _variance(losses: list[int], expected: list[float], law: LossLaw) -> float | None:
    """Estimate the variance of the factors; ``None`` if it is not beyond chance.

    The variance of a number of losses is e with independent losses, and e (2 r − 1) in bursts of r
    packets on average.
    """
    if len(losses) < 2 or not any(losses):
        return None
    inflation = 2.0 * law.mean_run - 1.0 if law.bursty and law.mean_run is not None else 1.0
    inflation *= 1.0 - law.share
    squares = sum((k - e) ** 2 / (e * inflation) for k, e in zip(losses, expected, strict=True))
    freedom = len(losses) - 1
    # Variance of the sum for Poisson numbers, whose fourth moment is 3 e² + e.
    error = math.sqrt(2.0 * freedom + sum(1.0 / e for e in expected))
    if squares - freedom <= CHANCE * error:
        return None
    beyond = sum((k - e) ** 2 - e * inflation for k, e in zip(losses, expected, strict=True)) / sum(
        e * e for e in expected
    )
    return beyond if beyond > 0.0 else None


def with_classes(transfers: pl.DataFrame, factors: pl.DataFrame | None) -> pl.DataFrame:
    """Set the column ``loss_factor``: the mean factor of the class of each transfer."""
    import polars as pl

    if factors is None:
        return transfers
    rest = transfers.drop("loss_factor")
    joined = rest.join(factors, on="flow", how="left", maintain_order="left").with_columns(
        pl.col("loss_factor").fill_null(1.0)
    )
    number = pl.sum_horizontal(*((pl.col("loss_factor") > end).cast(pl.Int8) for end in ENDS))
    return joined.with_columns(pl.col("loss_factor").mean().over(number))
