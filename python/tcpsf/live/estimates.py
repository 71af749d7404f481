"""Estimates from the flows of an experiment, live or simulated, with 95 % intervals.

A frame has one row per flow, with the columns of `COLUMNS`. The path has no queue and random loss,
so that flows are independent and each flow is one observation. Shares have Wilson's intervals, with
an effective number of observations from the variance among flows (`stats.share`). Senders have
different flows, so that differences are between independent estimates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tcpsf import stats

if TYPE_CHECKING:
    import polars as pl

COLUMNS = {
    "variant": "the sender's name",
    "size_bytes": "size of the file",
    "completion_s": "time from the client's connect() to the last byte; empty if incomplete",
    "idle_s": "part of `completion_s` without an active request",
    "server_s": "time at the server from the SYN until both ends have closed; empty for the kernel",
    "fast_retransmits": "number of fast recoveries of the sender",
    "timeouts": "number of retransmission timeouts of the sender, with each step of the back-off",
    "rto_s": "retransmission timeout at the end of the connection; empty if unknown",
}
"""Columns that the functions of this module read."""


def of(flows: pl.DataFrame, sender: str) -> pl.DataFrame:
    """Return the flows of one sender."""
    import polars as pl

    return flows.filter(pl.col("variant").cast(pl.String) == sender)


def recoveries(flows: pl.DataFrame) -> int:
    """Return the number of detected losses: fast recoveries and timeouts."""
    return int((flows["fast_retransmits"] + flows["timeouts"]).sum())


def fast_percent(flows: pl.DataFrame) -> stats.Estimate | None:
    """Percentage of fast recoveries among all recoveries."""
    return _share(flows, "fast_retransmits")


def timeout_percent(flows: pl.DataFrame) -> stats.Estimate | None:
    """Percentage of timeouts among all recoveries."""
    return _share(flows, "timeouts")


def _share(flows: pl.DataFrame, column: str) -> stats.Estimate | None:
    every = flows["fast_retransmits"].cast(int) + flows["timeouts"].cast(int)
    found = stats.share(flows[column].cast(float).to_list(), every.cast(float).to_list())
    return None if found is None else found.scaled(100.0)


def timer_ms(flows: pl.DataFrame) -> stats.Estimate | None:
    """Mean retransmission timeout at the end of connections, in milliseconds."""
    found = stats.mean(flows["rto_s"].drop_nulls().to_list(), possible=stats.POSITIVE)
    return None if found is None else found.scaled(1e3)


def completion_s(flows: pl.DataFrame) -> stats.Estimate | None:
    """Mean completion time of the flows that completed, in seconds."""
    return stats.mean(flows["completion_s"].drop_nulls().to_list(), possible=stats.POSITIVE)


def busy_s(flows: pl.DataFrame) -> stats.Estimate | None:
    """Mean completion time of completed flows at the client without idle times, in seconds."""
    return stats.mean(
        (flows["completion_s"] - flows["idle_s"]).drop_nulls().to_list(), possible=stats.POSITIVE
    )


def server_s(flows: pl.DataFrame) -> stats.Estimate | None:
    """Mean completion time at the server in seconds, idle times included.

    It is the time from the SYN until both ends have closed.
    """
    return stats.mean(flows["server_s"].drop_nulls().to_list(), possible=stats.POSITIVE)


def shorter_than(flows: pl.DataFrame, size_bytes: int) -> pl.DataFrame:
    """Return the flows that carried less than ``size_bytes`` bytes of files."""
    import polars as pl

    return flows.filter(pl.col("size_bytes") < size_bytes)


def from_size(flows: pl.DataFrame, size_bytes: int) -> pl.DataFrame:
    """Return the flows that carried at least ``size_bytes`` bytes of files."""
    import polars as pl

    return flows.filter(pl.col("size_bytes") >= size_bytes)


def with_a_loss(flows: pl.DataFrame) -> pl.DataFrame:
    """Return the flows in which the sender detected a loss."""
    import polars as pl

    return flows.filter(pl.col("fast_retransmits") + pl.col("timeouts") > 0)


def saved_s(
    classic: pl.DataFrame,
    framed: pl.DataFrame,
    read: Callable[[pl.DataFrame], stats.Estimate | None] = busy_s,
) -> stats.Estimate | None:
    """ΔCT_loss of Table III: mean time of Classic minus that of the framed sender, in seconds.

    Only flows with a detected loss count. ``read`` estimates the time: `server_s` as in the paper,
    or `busy_s` at the client.
    """
    return stats.apart(read(with_a_loss(classic)), read(with_a_loss(framed)))
