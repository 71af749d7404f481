"""What is read from the flows of an experiment, live or simulated, each value with its 95 % interval.

A frame has a row a flow, with the columns of `COLUMNS`. The path has no queue and loses at random, so flows are
independent and each is one observation. Shares have Wilson's intervals, of as many observations as the scatter among
flows amounts to (`stats.share`); senders have flows of their own, so a difference is one of independent estimates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcpsf import stats

if TYPE_CHECKING:
    import polars as pl

COLUMNS = {
    "variant": "the sender's name",
    "size_bytes": "size of the file",
    "completion_s": "from the client's connect() until it has the last byte; empty if it never had",
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


def with_a_loss(flows: pl.DataFrame) -> pl.DataFrame:
    """The flows in which a loss was noticed."""
    import polars as pl

    return flows.filter(pl.col("fast_retransmits") + pl.col("timeouts") > 0)


def saved_s(classic: pl.DataFrame, framed: pl.DataFrame) -> stats.Estimate | None:
    """Table III's ΔCT_loss: Classic's mean completion time less the other's, over flows in which a loss was noticed."""
    return stats.apart(completion_s(with_a_loss(classic)), completion_s(with_a_loss(framed)))
