"""Transfers of a capture that are replayed: their sizes, paths and senders.

A transfer is data that a sender has without an interruption, such as a response. All transfers in
one direction are replayed, with and without losses, so that percentiles are those of all transfers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from tcpsf.advice.receivers import ack_delay_s
from tcpsf.captures import CaptureFacts, CaptureResult
from tcpsf.errors import TcpsfError

if TYPE_CHECKING:
    import polars as pl

Direction: TypeAlias = Literal["originator", "responder"]
"""End of a connection that sends the data: the one that opened it, or the other."""

MOST_SEGMENTS = 1000
"""Longest transfer that is replayed, in segments. Remedies for the tail hardly change others."""

FEWEST = 20
"""Smallest number of transfers that are replayed."""

LEAST_ANSWERED = 0.5
"""Smallest share of transfers whose acknowledgment the capture has, else it is one-sided."""

PROBE_CAUSES = ("rack", "rack_timer", "tail_loss_probe", "probe_of_new_data")
"""Causes of retransmissions that only senders with RACK-TLP have (RFC 8985)."""

PROBES_EXPECTED = 5
"""Losses at the tail without a probe after which a sender of unknown kind counts as one without."""

HEADER_BYTES = 40
TIMESTAMP_BYTES = 12
"""Bytes of the headers of IPv4 and TCP, and of the timestamps option (RFC 7323)."""

LEAST_OF_RTT = 0.1
"""Least share of a measured round-trip time that is not the transmission of one packet."""

UNLIMITED_BPS = 1e9
"""Rate in bits per second from which a path counts as one without a limit."""

LEAST_RTO_S = 0.2
"""Minimum timeout in seconds of a sender without RACK-TLP, if the capture shows none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Transfers of one direction, and facts about the losses among them."""

    direction: Direction
    """End that sends the data."""
    port: int | None
    """Port of the end that did not open the connections, if only this one was selected."""
    transfers: pl.DataFrame
    """A row per transfer. ``window`` is that of its first flight in segments, ``rate_bps`` the rate
    of the slowest link (null if it is not known to be limited), ``lossy`` whether data was sent
    again. In transfers that start every ``interval_s``, as many packets leave for an address as in the
    capture, or one in ``rtt_s``. ``ack_delay_s`` is the delay of the receiver's acknowledgments, or
    zero for that of Linux, and ``srtt_s`` the sender's smoothed round-trip time at the beginning. The
    others are ``flow``, ``bytes``, ``segments``, ``completion_s``, ``kind``, ``sack``, ``timestamps``,
    ``mss`` and ``loss_factor``."""
    left_out: dict[str, int]
    """Transfers that are not replayed, by the reason."""
    initial_window: int
    """Initial window of the senders in segments."""
    tail_probes: bool
    """Whether senders of unknown kind have RACK-TLP."""
    rto_min_s: float
    """Minimum timeout in seconds of senders without RACK-TLP."""
    lost_time_s: float
    """Time in seconds that losses cost in this direction."""
    damage: tuple[int, str] | None = None
    """Position in the file at which reading ended early, and the reason."""
    losses_differ: bool = False
    """Whether losses differ between addresses, so that ``loss_factor`` is not 1."""

    @property
    def reading(self) -> str | None:
        """Sentence about the end of the file that was not read, if it is damaged."""
        return None if self.damage is None else f"Reading {_ended(self.damage)}."

    @property
    def lossy(self) -> int:
        """Number of transfers with a retransmission."""
        return int(self.transfers["lossy"].sum())


def population(
    name: str, found: CaptureResult, *, direction: Direction | None = None, port: int | None = None
) -> Population:
    """Select the transfers of a capture, which messages call ``name``.

    The default direction is the one in which losses cost more time. ``port`` is that of the end
    which did not open the connections. Raises `TcpsfError` if the capture has too little data.
    """
    import polars as pl

    _check_packets(name, found.facts)
    flows = found.tables.flows
    responder = pl.col("direction") == "responder"
    service = pl.when(responder).then("source_port").otherwise("destination_port")
    if port is not None:
        flows = flows.filter(service == port)
        if flows.is_empty():
            known = sorted(found.tables.flows.select(service.alias("port"))["port"].unique())
            raise TcpsfError(
                f"cannot advise on `{name}`: it has no connection to port {port}",
                hint=f"ports: {', '.join(map(str, known[:10]))}" if known else "omit `--port`",
            )
    chosen, lost_time_s = _direction(flows, found.tables.episodes, direction)
    flows = flows.filter(direction=chosen)
    rows = found.tables.transfers.join(_flow_facts(flows), on=["flow", "direction"])
    rows = ack_delay_s(rows.with_columns(_rate_bps())).with_columns(_rtt_s())
    _check(name, rows, chosen)
    initial = _initial_window(rows)
    events = found.tables.retransmissions.filter(direction=chosen).join(
        flows.select("flow", "kind"), on="flow"
    )
    kept, left_out = _kept(rows)
    if kept.height < FEWEST:
        raise TcpsfError(
            f"cannot advise on `{name}`: {kept.height} of its transfers can be replayed, and at "
            f"least {FEWEST} are needed",
            hint="capture for a longer time, from before the first connection",
        )
    transfers = _columns(kept, initial, _packets_for_data(flows))
    return Population(
        direction=chosen,
        port=port,
        transfers=transfers,
        left_out={reason: count for reason, count in left_out.items() if count},
        initial_window=initial,
        tail_probes=_has_probes(events, found.tables.episodes.filter(direction=chosen)),
        rto_min_s=_rto_min_s(events),
        lost_time_s=lost_time_s,
        damage=found.facts.damage,
    )


def _columns(rows: pl.DataFrame, initial: int, packets: float) -> pl.DataFrame:
    """Return the columns of the transfers, with the initial window in segments.

    One of ``packets`` packets has data.
    """
    import polars as pl

    return rows.select(
        "flow",
        "bytes",
        "segments",
        # What was sent at once is the window, if an acknowledgment was needed to go on.
        pl.when(pl.col("first_segments") < pl.col("segments"))
        .then("first_segments")
        .otherwise(pl.max_horizontal("first_segments", pl.lit(initial)))
        .alias("window"),
        "rtt_s",
        "rate_bps",
        "ack_delay_s",
        "srtt_s",
        _interval_s(packets),
        "completion_s",
        "kind",
        "sack",
        "timestamps",
        "mss",
        (pl.col("retransmitted_packets") > 0).alias("lossy"),
        pl.lit(1.0).alias("loss_factor"),
    )


def _direction(
    flows: pl.DataFrame, episodes: pl.DataFrame, wanted: Direction | None
) -> tuple[Direction, float]:
    """Return the direction to replay, and the time in seconds that its losses cost."""
    needed = episodes.filter(episodes["spurious"] < episodes["retransmissions"])
    needed = needed.filter(~needed["cause"].is_in(["syn_timeout", "syn_ack_timeout"]))
    needed = needed.join(flows.select("flow", "direction"), on=["flow", "direction"], how="semi")
    directions: tuple[Direction, Direction] = ("responder", "originator")
    costs = {each: float(needed.filter(direction=each)["delay_s"].sum()) for each in directions}
    # Without a loss, it is the direction with more data.
    sizes = {each: int(flows.filter(direction=each)["unique_bytes"].sum()) for each in directions}
    chosen = (
        max(directions, key=lambda each: (costs[each], sizes[each])) if wanted is None else wanted
    )
    return chosen, costs[chosen]


def _flow_facts(flows: pl.DataFrame) -> pl.DataFrame:
    """Return the facts about each connection that its transfers need."""
    import polars as pl

    # Between the capture and the sender, and between the capture and the receiver.
    handshake = pl.col("syn_rtt_s") + pl.col("ack_rtt_s")
    return flows.select(
        "flow",
        "direction",
        "destination",
        "kind",
        pl.coalesce(pl.col("lag_s") + pl.col("rtt_min_s"), handshake).alias("flow_rtt_s"),
        pl.min_horizontal(pl.col("lag_s") + pl.col("rtt_min_s"), handshake).alias("shortest_s"),
        "lag_s",
        (pl.col("sack_permitted") > 0).alias("sack"),
        (pl.col("timestamps") > 0).alias("timestamps"),
        pl.col("mss_bytes").alias("mss"),
        (pl.col("syns") > 0).alias("from_start"),
    )


def _packets_for_data(flows: pl.DataFrame) -> float:
    """Return the number of packets, with acknowledgments and SYNs, for each packet with data."""
    return float(flows["packets"].sum()) / max(1.0, float(flows["data_packets"].sum()))


def _rtt_s() -> pl.Expr:
    """Return the round-trip time of a transfer without the queue that it causes itself.

    The minimum during the transfer contains the queue of other traffic, and the transmission of one
    packet on the slowest link, which the replay adds. That of a single segment may also contain a
    delayed acknowledgment. Then it is the minimum of the connection. With a receiver that delays, all
    acknowledgments of the connection may be delayed, but not that of the handshake, whose packets are
    short.
    """
    import polars as pl

    own = pl.when(pl.col("segments") > 1).then(pl.col("lag_s") + pl.col("rtt_min_s"))
    packet_s = 8.0 * _packet_bytes() / pl.col("rate_bps").fill_null(math.inf)
    shortest = pl.when(pl.col("ack_delay_s") > 0).then(pl.col("shortest_s") + packet_s)
    rtt = pl.coalesce(pl.min_horizontal(shortest, own), "flow_rtt_s")
    return pl.max_horizontal(rtt - packet_s, LEAST_OF_RTT * rtt).alias("rtt_s")


def _packet_bytes() -> pl.Expr:
    """Return the size of a packet with a full segment in bytes."""
    import polars as pl

    return pl.col("mss") + HEADER_BYTES + TIMESTAMP_BYTES * pl.col("timestamps")


def _rate_bps() -> pl.Expr:
    """Return the median rate of the transfers to the same address, headers included.

    It is null if it is not limited.
    """
    import polars as pl

    payload = pl.col("rate_bps").median().over("destination")
    rate = payload * _packet_bytes() / pl.col("mss")
    return pl.when(rate < UNLIMITED_BPS).then(rate).alias("rate_bps")


def _interval_s(packets: float) -> pl.Expr:
    """Return the mean time between transfers to the same address, but at most a round trip.

    Of ``packets`` packets, one has data. The replay has only those, so the interval is shorter.
    """
    import polars as pl

    start_s = pl.col("start_s")
    others = pl.len().over("destination") - 1
    span_s = start_s.max().over("destination") - start_s.min().over("destination")
    mean_s = pl.when(others > 0).then(span_s / others / packets)
    return pl.min_horizontal(mean_s, pl.col("rtt_s")).alias("interval_s")


def _check_packets(name: str, facts: CaptureFacts) -> None:
    """Raise an error if the capture has no TCP packet."""
    counts = facts.counts
    if counts["tcp"]:
        return
    what = "TCP packet" if counts["packets"] else "packet"
    ended = "" if facts.damage is None else f", and reading {_ended(facts.damage)}"
    raise TcpsfError(
        f"cannot advise on `{name}`: it has no {what}{ended}",
        hint="check the interface and the filter of the capture, and that it was written completely",
    )


def _ended(damage: tuple[int, str]) -> str:
    """Return the words about a place in a file at which reading ended."""
    return f"ended at byte {damage[0]}: {damage[1]}"


def _check(name: str, rows: pl.DataFrame, direction: Direction) -> None:
    """Raise an error if the capture has no data, or none that was answered or lost."""
    rows = rows.filter(rows["bytes"] > 0)
    if rows.is_empty():
        raise TcpsfError(
            f"cannot advise on `{name}`: it has no TCP connection with data of the {direction}",
            hint="capture the packets of a server while it responds; `tcpsf analyze` lists what "
            "a capture has",
        )
    if rows["completion_s"].is_not_null().mean() < LEAST_ANSWERED:  # type: ignore[operator]
        raise TcpsfError(
            f"cannot advise on `{name}`: most of its data has no acknowledgment, as in a capture "
            "of one direction",
            hint="capture both directions of the connections",
        )
    if not (rows["retransmitted_packets"] > 0).any():
        raise TcpsfError(
            f"cannot advise on `{name}`: nothing was retransmitted in {rows.height} transfers, so "
            "that no remedy for losses would change them",
            hint="capture for a longer time, or at a place that sees the retransmissions",
        )


def _initial_window(rows: pl.DataFrame) -> int:
    """Estimate the initial window in segments: the most that first transfers often sent at once.

    It is the 90th percentile of those that an acknowledgment had to continue, or the 99th of all if
    that is more. If all were sent at once, the window is ten (RFC 6928) at least.
    """
    first = rows.filter((rows["number"] == 0) & rows["from_start"])
    limited = first.filter(first["first_segments"] < first["segments"])["first_segments"]
    at_once = int(first["first_segments"].quantile(0.99, "higher") or 1)
    if limited.is_empty():
        return max(10, at_once)
    return max(int(limited.quantile(0.9, "higher") or 1), at_once)


def _kept(rows: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the transfers that can be replayed, and the numbers of others by the reason."""
    import polars as pl

    left_out = {}
    for reason, good in (
        ("without data", pl.col("bytes") > 0),
        ("not acknowledged completely", pl.col("completion_s").is_not_null()),
        ("without a round-trip time", pl.col("rtt_s") > 0),
        (f"longer than {MOST_SEGMENTS} segments", pl.col("segments") <= MOST_SEGMENTS),
    ):
        before = rows.height
        rows = rows.filter(good)
        left_out[reason] = before - rows.height
    return rows, left_out


def _has_probes(events: pl.DataFrame, episodes: pl.DataFrame) -> bool:
    """Whether senders of unknown kind have RACK-TLP, by their retransmissions."""
    unknown = events.filter(kind="unknown")
    if unknown["cause"].is_in(PROBE_CAUSES).any():
        return True
    tails = episodes.filter(episodes["following"] == 0).join(unknown, on="flow", how="semi")
    return tails.filter(cause="timeout").height < PROBES_EXPECTED


def _rto_min_s(events: pl.DataFrame) -> float:
    """Estimate the minimum timeout in seconds: the shortest wait for a timer without back-off."""
    waits = events.filter(
        events["kind"].is_in(["other", "unknown", "linux-old"])
        & (events["cause"] == "timeout")
        & (events["backoff"] == 0)
    )["waited_s"]
    shortest = waits.quantile(0.05, "higher") if waits.len() else None
    return LEAST_RTO_S if shortest is None else min(max(float(shortest), 0.01), 3.0)
