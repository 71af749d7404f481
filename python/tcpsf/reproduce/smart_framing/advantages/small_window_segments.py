"""Segments of a long flow in the small-window regime without loss."""

from __future__ import annotations

from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_advantages as settings
from tcpsf.runs import run


def small_window_payloads(variant: paper.Variant) -> list[int]:
    """Payload of each segment that one long flow sends in the small-window regime.

    The window is below 4 MSS, and there is no loss.
    """
    import polars as pl

    packets = run(settings.one_long_flow(sender=variant.sender), seed=1).packets
    data = packets.filter((pl.col("event") == "sent") & (pl.col("payload_bytes") > 0))
    small: list[int] = data.filter(pl.col("cwnd_bytes") < 4 * settings.MSS)[
        "payload_bytes"
    ].to_list()
    return small
