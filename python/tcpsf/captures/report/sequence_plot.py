"""Time-sequence plots of the connections of a capture.

The vertical axis has the bytes of the data from the first one on, the horizontal axis the time since
the first packet of the connection. Both directions have one sequence: positions of segments and of
acknowledgments are distances from each other modulo 2³², in the order of the capture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tcpsf import text
from tcpsf.captures.capture_summary import CAUSES
from tcpsf.captures.report.drawn_flows import DrawnFlow
from tcpsf.chart import Axis, Curve, Panel, Plot

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Integers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]

FIN, SYN, RST, ACK = 1, 2, 4, 16
"""Control bits of the TCP header (RFC 9293 §3.1)."""
LARGEST_SCALE = 14
"""Largest shift of the window scale (RFC 7323 §2.3)."""
LISTED = 5
"""Maximum number of episodes that are described below a plot."""
ABOVE = 0.3
"""Part of the vertical axis above the data for the advertised window, as a share of the data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sequence:
    """Packets of one connection in positions of its data."""

    sent_s: np.ndarray
    first: Integers
    last: Integers
    """Positions of the first byte of each segment, and after its last. SYN and FIN count."""
    frames: Integers
    acked_s: np.ndarray
    acked: Integers
    window: Integers
    """Positions of the acknowledgments, and of the ends of the advertised window."""
    blocks_s: np.ndarray
    blocks: Integers
    blocks_end: Integers
    duplicate: np.ndarray
    """SACK blocks: positions, and whether a block reports a duplicate (RFC 2883)."""


def sequence_plot(flow: DrawnFlow, *, key: str) -> Plot:
    """Return the time-sequence plot of a connection; ``key`` is the name of the chart."""
    found = _sequence(flow)
    curves = tuple(_curves(found, flow))
    low, high = _ends(found)
    data, reply = flow.data, flow.reply
    notes = list(_episodes(flow))
    if flow.left_out:
        shown, left_out = text.plain(len(flow.packets), 0), text.plain(flow.left_out, 0)
        notes.append(
            f"The plot has {shown} packets of the connection, and not {left_out} others. Its positions "
            "count from its first segment."
        )
    if len(found.window) and found.window.max() > high:
        notes.append("The advertised window ends above the axis at times.")
    panel = Panel(
        key=key,
        title="",
        x=Axis(label="time", unit="s"),
        y=Axis(label="bytes of data", follows=True, low=low, high=high),
        curves=curves,
    )
    return Plot(
        panels=(panel,),
        title=f"Connection {data['flow']}: {_address(data)} to {_address(reply)}",
        caption=_caption(flow),
        notes=tuple(notes),
        key=key,
    )


def _episodes(flow: DrawnFlow) -> Iterator[str]:
    """Yield sentences about the longest episodes, on the time axis of the plot."""
    rows = flow.episodes.sort("delay_s", descending=True, maintain_order=True)
    for row in rows.head(LISTED).iter_rows(named=True):
        lost, repaired = (row[key] - flow.data["start_s"] for key in ("lost_s", "repaired_s"))
        after = text.count(row["following"], "segment")
        needless = row["spurious"] >= row["retransmissions"]
        yield (
            f"Sent at {text.seconds(lost)} s, sent again at {text.seconds(repaired)} s by "
            f"{CAUSES[row['cause']]} (packet {row['repaired_frame']}), {after} after it; "
            + ("nothing was lost." if needless else f"delay {text.seconds(row['delay_s'])} s.")
        )
    if len(rows) > LISTED:
        yield f"{text.count(len(rows) - LISTED, 'shorter episode is', 'shorter episodes are')} not listed."


def _address(row: Mapping[str, Any]) -> str:
    address = row["source"]
    return f"{f'[{address}]' if ':' in address else address}:{row['source_port']}"


def _caption(flow: DrawnFlow) -> str:
    data = flow.data
    where = {
        "sender": "at the sender of the data",
        "receiver": "at the receiver of the data",
        "middle": "between both ends",
        "unknown": "at an unknown place",
    }[data["vantage"]]
    rtt = "" if data["rtt_min_s"] is None else f", least round-trip time {_ms(data['rtt_min_s'])}"
    again = (
        text.plain(data["retransmitted_packets"], 0) if data["retransmitted_packets"] else "none"
    )
    needless = int((flow.retransmissions["spurious"] != "no").sum())
    needless_part = f" ({text.plain(needless, 0)} without need)" if needless else ""
    return (
        f"{text.count(data['data_packets'], 'segment')} with {text.plain(data['unique_bytes'], 0)} bytes, "
        f"of which {again} sent again{needless_part}{rtt}. The capture was made {where}, and the connection began at "
        f"{text.seconds(data['start_s'])} s."
    )


def _ms(seconds: float) -> str:
    return f"{text.plain(1000 * seconds, 1)} ms"


def _sequence(flow: DrawnFlow) -> _Sequence:
    """Compute the positions of a connection's packets."""
    import numpy as np
    import polars as pl

    acks = pl.col("flags") & ACK > 0
    sends = (pl.col("payload_bytes") > 0) | (pl.col("flags") & (SYN | FIN) > 0)
    packets = flow.packets.filter(
        (pl.col("data") & sends & (pl.col("flags") & RST == 0)) | (~pl.col("data") & acks)
    )
    is_data = packets["data"].to_numpy()
    numbers = packets.select(pl.when("data").then("seq").otherwise("ack"))["seq"].to_numpy()
    positions = _unwrapped(numbers)
    flags = packets["flags"].to_numpy().astype(np.int64)
    syn = (flags & SYN > 0).astype(np.int64)
    fin = (flags & FIN > 0).astype(np.int64)
    payload = packets["payload_bytes"].to_numpy().astype(np.int64)
    positions -= _origin(is_data, positions + syn, positions)
    times = packets["at_s"].to_numpy() - flow.data["start_s"]
    drawn = is_data
    replies = ~is_data & (flags & RST == 0)
    scale = _window_scale(flow)
    window = packets["window"].to_numpy().astype(np.int64) << np.where(syn > 0, 0, scale)
    acked = positions[replies]
    sack = _blocks(flow.sack, packets.filter(~pl.col("data")), positions[~is_data])
    return _Sequence(
        sent_s=times[drawn],
        first=positions[drawn],
        last=(positions + syn + payload + fin)[drawn],
        frames=packets["frame"].to_numpy().astype(np.int64)[drawn],
        acked_s=times[replies],
        acked=np.maximum.accumulate(acked) if len(acked) else acked,
        window=(positions + window)[replies],
        blocks_s=sack["at_s"].to_numpy() - flow.data["start_s"],
        blocks=sack["from"].to_numpy(),
        blocks_end=sack["to"].to_numpy(),
        duplicate=((sack["place"] == 0) & (sack["to"] <= sack["position"])).to_numpy(),
    )


def _unwrapped(numbers: np.ndarray) -> Integers:
    """Return sequence numbers without wrapping: each is the nearest to the one before it."""
    import numpy as np

    if not len(numbers):
        return np.zeros(0, np.int64)
    steps = np.diff(numbers.astype(np.uint32)).astype(np.uint32).view(np.int32)
    found: Integers = np.concatenate(([0], np.cumsum(steps.astype(np.int64))))
    return found


def _origin(is_data: np.ndarray, first: Integers, positions: Integers) -> int:
    """Position of the first byte of data: that of the first segment, or of the first reply."""
    if is_data.any():
        return int(first[is_data.argmax()])
    return int(positions[0]) if len(positions) else 0


def _window_scale(flow: DrawnFlow) -> int:
    """Shift of the window (RFC 7323 §2.2): it applies if both ends have announced one."""
    own, other = flow.reply["window_scale"], flow.data["window_scale"]
    return 0 if own is None or other is None else min(int(own), LARGEST_SCALE)


def _blocks(sack: pl.DataFrame, replies: pl.DataFrame, positions: Integers) -> pl.DataFrame:
    """SACK blocks with their positions: distances from the acknowledgment of their packet."""
    import polars as pl

    acks = replies.select("frame").with_columns(pl.Series("position", positions, pl.Int64))
    joined = sack.join(acks, on="frame", how="inner")
    ack = joined["ack"].to_numpy()
    return joined.with_columns(
        pl.Series(name, joined["position"].to_numpy() + _distance(ack, joined[edge].to_numpy()))
        for name, edge in (("from", "start"), ("to", "end"))
    )


def _distance(one: np.ndarray, other: np.ndarray) -> Integers:
    """Distance of sequence numbers (RFC 9293 §3.4)."""
    import numpy as np

    found: Integers = (
        (other.astype(np.uint32) - one.astype(np.uint32)).view(np.int32).astype(np.int64)
    )
    return found


def _ends(found: _Sequence) -> tuple[float, float]:
    """Ends of the vertical axis: all data, and a part of the window above it."""
    low, high = 0.0, 1.0
    if len(found.first):
        low, high = float(min(found.first.min(), 0)), float(found.last.max())
    if len(found.window):
        high = min(max(high, float(found.window.max())), high + ABOVE * (high - low))
    return low, max(high + 0.04 * (high - low), low + 1.0)


def _curves(found: _Sequence, flow: DrawnFlow) -> Iterator[Curve]:
    """Yield the curves, those that cover others last."""
    yield _spans("sequence:segments", "segments", found.sent_s, found.first, found.last)
    yield Curve(
        key="sequence:acknowledged",
        label="acknowledged",
        style="step",
        x=found.acked_s,
        y=found.acked,
    )
    yield Curve(
        key="sequence:window",
        label="end of the advertised window",
        style="step",
        x=found.acked_s,
        y=found.window,
    )
    for duplicate, key, label in (
        (False, "sequence:sack", "SACK blocks"),
        (True, "sequence:dsack", "duplicates reported (DSACK)"),
    ):
        own = found.duplicate == duplicate
        if own.any():
            yield _spans(key, label, found.blocks_s[own], found.blocks[own], found.blocks_end[own])
    yield from _repairs(found, flow.retransmissions)


def _repairs(found: _Sequence, retransmissions: pl.DataFrame) -> Iterator[Curve]:
    """Yield the segments that were sent again, a curve for each cause."""
    import numpy as np

    present = retransmissions["cause"].unique().to_list()
    for cause in (cause for cause in CAUSES if cause in present):
        frames = retransmissions.filter(cause=cause)["frame"].to_numpy().astype(np.int64)
        own = np.isin(found.frames, frames)
        if own.any():
            yield _spans(
                f"repair:{cause}",
                f"sent again: {CAUSES[cause]}",
                found.sent_s[own],
                found.first[own],
                found.last[own],
                style="bold-span",
            )


def _spans(
    key: str, label: str, x: np.ndarray, low: Integers, high: Integers, *, style: str = "span"
) -> Curve:
    return Curve(
        key=key,
        label=label,
        style="bold-span" if style == "bold-span" else "span",
        x=x,
        y=low,
        low=low,
        high=high,
    )
