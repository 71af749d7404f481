"""What is read from the flows of an experiment, live or simulated, each value with its 95 % interval.

A frame has a row a flow, with the columns of `COLUMNS`. The path has no queue and loses at random,
so flows are independent and each is one observation. Shares have Wilson's intervals, of as many
observations as the scatter among flows amounts to (`stats.share`); senders have flows of their own,
so a difference is one of independent estimates.
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
    "completion_s": "from the client's connect() until it has the last byte; empty if it never had",
    "idle_s": "of this, the time in which no request was under way",
    "server_s": "from the client's SYN until both ends had closed, at the server; empty for the kernel",
    "fast_retransmits": "times the sender entered fast recovery",
    "timeouts": "times its retransmission timer expired, each step of the back-off counted",
    "rto_s": "its timer at the end of the connection; empty where that is not known",
}
"""What the functions here read."""


def of(flows: pl.DataFrame, sender: str) -> pl.DataFrame:
    """The flows of one sender."""
    import polars as pl

    return flows.filter(pl.col("variant").cast(pl.String) == sender)


def recoveries(flows: pl.DataFrame) -> int:
    """Losses noticed, by whatever means."""
    return int((flows["fast_retransmits"] + flows["timeouts"]).sum())


def fast_percent(flows: pl.DataFrame) -> stats.Estimate | None:
    """Fast recoveries among the recoveries, in per cent."""
    return _share(flows, "fast_retransmits")


def timeout_percent(flows: pl.DataFrame) -> stats.Estimate | None:
    """Expiries of the timer among the recoveries, in per cent."""
    return _share(flows, "timeouts")


def _share(flows: pl.DataFrame, column: str) -> stats.Estimate | None:
    every = flows["fast_retransmits"].cast(int) + flows["timeouts"].cast(int)
    found = stats.share(flows[column].cast(float).to_list(), every.cast(float).to_list())
    return None if found is None else found.scaled(100.0)


def timer_ms(flows: pl.DataFrame) -> stats.Estimate | None:
    """Mean of the retransmission timer at the end, in milliseconds."""
    found = stats.mean(flows["rto_s"].drop_nulls().to_list(), possible=stats.POSITIVE)
    return None if found is None else found.scaled(1e3)


def completion_s(flows: pl.DataFrame) -> stats.Estimate | None:
    """Mean completion time of the flows that completed, in seconds."""
    return stats.mean(flows["completion_s"].drop_nulls().to_list(), possible=stats.POSITIVE)


def busy_s(flows: pl.DataFrame) -> stats.Estimate | None:
    """Mean completion time at the client without idle times, in seconds, of the flows that completed."""
    return stats.mean(
        (flows["completion_s"] - flows["idle_s"]).drop_nulls().to_list(), possible=stats.POSITIVE
    )


def server_s(flows: pl.DataFrame) -> stats.Estimate | None:
    """Mean completion time at the server in seconds, from the SYN until both ends had closed, idle times included."""
    return stats.mean(flows["server_s"].drop_nulls().to_list(), possible=stats.POSITIVE)


def shorter_than(flows: pl.DataFrame, size_bytes: int) -> pl.DataFrame:
    """The flows that carried less than so many bytes of files."""
    import polars as pl

    return flows.filter(pl.col("size_bytes") < size_bytes)


def from_size(flows: pl.DataFrame, size_bytes: int) -> pl.DataFrame:
    """The flows that carried so many bytes of files or more."""
    import polars as pl

    return flows.filter(pl.col("size_bytes") >= size_bytes)


def with_a_loss(flows: pl.DataFrame) -> pl.DataFrame:
    """The flows in which a loss was noticed."""
    import polars as pl

    return flows.filter(pl.col("fast_retransmits") + pl.col("timeouts") > 0)


def saved_s(
    classic: pl.DataFrame,
    framed: pl.DataFrame,
    read: Callable[[pl.DataFrame], stats.Estimate | None] = busy_s,
) -> stats.Estimate | None:
    """Table III's ΔCT_loss: Classic's mean time less the other's, over flows in which a loss was noticed.

    ``read`` is the time: `server_s` as the paper has it, or `busy_s`, the client's.
    """
    return stats.apart(read(with_a_loss(classic)), read(with_a_loss(framed)))
