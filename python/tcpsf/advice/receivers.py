"""Delays of acknowledgments at the receivers of a capture, by address.

A receiver may delay the acknowledgment of a lone segment (RFC 1122 §4.2.3.2, RFC 5681 §4.2). A
transfer of one segment then completes later than a round trip. The receiver of the replay, that of
Linux, acknowledges the first segments of a connection at once. An address with a longer delay is
therefore replayed with it.

The delay also raises the sender's estimate of the round-trip time, from one transfer of a connection to
the next, and with it the timers that repair a loss. Each transfer of the replay has a connection of its
own. It therefore begins with the round-trip time that gives the same timer.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

LEAST_DELAY_S = 0.06
"""Shortest delay in seconds that is replayed: Linux itself waits for 40 ms (`TCP_DELACK_MIN`)."""

MOST_DELAY_S = 0.5
"""Longest delay that a receiver may have, in seconds (RFC 5681 §4.2)."""

LONE_SEGMENTS = 20
"""Smallest number of lone segments that tell the delay of an address."""

QUARTILES_APART = 0.2
"""Largest difference between the quartiles of the delays, as a share of their median."""

GRAIN_S = 0.01
"""Unit in seconds to which a delay is rounded, so that addresses with the same timer are alike."""

LEAST_RTO_S = 0.2
"""Minimum timeout of Linux in seconds (`TCP_RTO_MIN`), which is also the allowance of its tail loss
probe for a delayed acknowledgment."""

INITIAL_RTT_GRAIN_S = 0.01
"""Unit in seconds of the round-trip time from which timers begin, so that set-ups are few."""

ROUNDING_S = 1e-3
"""Largest error in seconds of the times for `_timer_s`."""

MOST_SAMPLES = 200
"""Number of round-trip times after which an estimate has reached them."""


def ack_delay_s(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the column ``ack_delay_s`` to transfers: the delay of their receiver, or zero.

    The delay of a lone segment is its completion time less the shortest round-trip time of its
    connection, with that of the handshake. The median over an address counts, if its quartiles are
    close. A loss repeats few segments, and a queue of other traffic has no constant length.
    """
    import polars as pl

    lone = rows.filter(
        (pl.col("segments") == 1)
        & pl.col("completion_s").is_not_null()
        & pl.col("shortest_s").is_not_null()
    ).with_columns((pl.col("completion_s") - pl.col("shortest_s")).alias("delay_s"))
    delay = pl.col("delay_s")
    apart = delay.quantile(0.75) - delay.quantile(0.25)
    accepted = (
        lone.group_by("destination")
        .agg(
            delay.median().alias("median_s"),
            apart.alias("apart_s"),
            pl.len().alias("count"),
        )
        .filter(
            (pl.col("count") >= LONE_SEGMENTS)
            & pl.col("median_s").is_between(LEAST_DELAY_S, MOST_DELAY_S)
            & (pl.col("apart_s") <= QUARTILES_APART * pl.col("median_s"))
        )
        .select(
            "destination",
            ((pl.col("median_s") / GRAIN_S).round() * GRAIN_S).alias("ack_delay_s"),
        )
    )
    return rows.join(accepted, on="destination", how="left", maintain_order="left").with_columns(
        pl.col("ack_delay_s").fill_null(0.0)
    )


def initial_rtt_s(rtt_s: float, delay_s: float, srtt_s: float) -> float:
    """Return the first round-trip time that gives a sender of Linux the timer of a later transfer.

    The sender measured ``rtt_s`` in the handshake. Since then, delayed acknowledgments have raised its
    smoothed round-trip time to ``srtt_s``. After a first round-trip time R, the timeout is R + max(2 R,
    200 ms), and that of a tail loss probe 2 R + 200 ms; the shorter one repairs a lone segment. All
    times are in seconds, and the result is a multiple of `INITIAL_RTT_GRAIN_S`.
    """
    timer_s = _timer_s(*(round(1e3 * each) for each in (rtt_s, delay_s, srtt_s)))
    above_s = timer_s - LEAST_RTO_S
    first_s = max(min(timer_s / 3, above_s), above_s / 2)
    return round(first_s / INITIAL_RTT_GRAIN_S) * INITIAL_RTT_GRAIN_S


@cache
def _timer_s(rtt_ms: int, delay_ms: int, srtt_ms: int) -> float:
    """Return the time in seconds after which Linux repairs a lone segment.

    It follows the estimates of Linux (`tcp_rtt_estimator`) over the samples that raise the smoothed
    round-trip time to ``srtt_ms``. The mean deviation has its factor of four.
    """
    rtt_s, delay_s, srtt_s = rtt_ms / 1e3, delay_ms / 1e3, srtt_ms / 1e3
    smoothed, deviation = rtt_s, 2 * rtt_s
    variation = max(deviation, LEAST_RTO_S)
    for _ in range(MOST_SAMPLES):
        if smoothed > srtt_s - ROUNDING_S:
            break
        error = rtt_s + delay_s - smoothed
        smoothed += error / 8
        deviation += error - deviation / 4
        latest = max(deviation, LEAST_RTO_S)
        variation = latest if latest > variation else variation - (variation - latest) / 4
    return min(smoothed + variation, 2 * smoothed + LEAST_RTO_S)
