"""Selection of the connections whose packets a page draws, and their packets.

The selection is known when the capture has been read once, so that a second pass over the file
keeps the packets. Standard input can be read only once: its connections are then chosen by their
ends before reading.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tcpsf.captures.reader import (
    CaptureReader,
    CaptureTables,
    ChosenConnections,
    End,
    WatchedTables,
)
from tcpsf.errors import TcpsfError

if TYPE_CHECKING:
    import polars as pl

USUAL_FLOWS = 4
"""Number of connections that are drawn if none is chosen."""
MOST_FLOWS = 16
"""Maximum number of chosen connections that are drawn."""
MOST_PACKETS = 1_000_000
"""Maximum number of packets that are kept of all drawn connections together."""

FlowName: TypeAlias = "int | tuple[End, End]"
"""Number of a connection, or its ends. An end may lack its address and port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnFlow:
    """A connection with its packets."""

    data: Mapping[str, Any]
    """Row of the table ``flows`` of the direction whose data is drawn."""
    reply: Mapping[str, Any]
    """Row of the other direction."""
    packets: pl.DataFrame
    """Packets; ``data`` is true for those of the drawn direction."""
    sack: pl.DataFrame
    """SACK blocks that the receiver of the data sent."""
    episodes: pl.DataFrame
    """Rows of the table ``episodes`` of the drawn direction."""
    retransmissions: pl.DataFrame
    """Rows of the table ``retransmissions`` of the drawn direction."""
    left_out: int
    """Number of packets that were not kept."""


class FlowSelection:
    """Selects connections while a capture is read. Memory depends on those that are alive.

    Without names, these are the connections with the longest loss episodes. Episodes of data come
    before those of a SYN or of a FIN alone, of which a plot shows little. With names, they are all
    connections with these names, in the same order.
    """

    def __init__(self, names: Sequence[FlowName] = ()) -> None:
        self._names = names
        self._most = MOST_FLOWS if names else USUAL_FLOWS
        self._open: pl.DataFrame | None = None
        self._found: list[dict[str, Any]] = []
        self.matched = 0
        """Number of connections with the given names, or with loss episodes."""

    def add(self, batch: CaptureTables) -> None:
        """Consider the connections of a batch that have ended."""
        import polars as pl

        worst = batch.episodes.select(
            "flow",
            "direction",
            "delay_s",
            "repaired_frame",
            pl.col("cause").str.starts_with("syn_").alias("of_syn"),
        )
        known = worst if self._open is None else pl.concat([self._open, worst])
        known = known.sort("of_syn", "delay_s", descending=[False, True])
        known = known.unique(["flow", "direction"], keep="first", maintain_order=True)
        self._open = known.join(batch.flows, on="flow", how="anti")
        of_data = ~pl.col("of_syn") & (pl.col("unique_bytes") > 0)
        rows = batch.flows.join(known, on=["flow", "direction"], how="left").with_columns(
            rank=pl.when(of_data).then(0).when(pl.col("delay_s").is_not_null()).then(1).otherwise(2)
        )
        rows = rows.filter(self._is_wanted()).sort(
            ["rank", "delay_s", "unique_bytes"],
            descending=[False, True, True],
            nulls_last=True,
            maintain_order=True,
        )
        rows = rows.unique("flow", keep="first", maintain_order=True)
        self.matched += len(rows)
        for row in rows.head(self._most).iter_rows(named=True):
            self._found.append(self._described(row, batch.flows))
        self._found.sort(key=lambda each: each["order"])
        del self._found[self._most :]

    def check(self, *, connections: int) -> None:
        """Raise `TcpsfError` if there are names, and none of the connections has one."""
        if self._names and not self.matched:
            most = f"connections 0 to {connections - 1}" if connections else "no connection"
            raise TcpsfError(
                f"cannot draw {words_of(self._names)}: the capture has no such connection",
                hint=f"it has {most}; the table of the longest episodes lists some",
            )

    def _is_wanted(self) -> pl.Expr:
        import polars as pl

        if not self._names:
            return pl.col("delay_s").is_not_null()
        return pl.any_horizontal(*map(_is_named, self._names))

    def _described(self, row: dict[str, Any], flows: pl.DataFrame) -> dict[str, Any]:
        """Add the rows of both directions, the one that is drawn first."""
        one, other = (
            flows.filter(flow=row["flow"], direction=name).row(0, named=True)
            for name in ("originator", "responder")
        )
        wanted = one if row["direction"] == "originator" else other
        if not wanted["unique_bytes"]:  # a SYN or a FIN was lost in the direction without data
            wanted = one if one["unique_bytes"] else other
        return {
            "data": wanted,
            "reply": other if wanted is one else one,
            "order": (row["rank"], -(row["delay_s"] or 0.0), row["flow"]),
            "around": row["repaired_frame"] or 0,
        }

    def chosen(self, start_ns: int) -> list[ChosenConnections]:
        """Return the connections for a second pass, given the time of the first packet."""
        return [
            ChosenConnections(
                ends=_ends(each["data"]),
                interface=each["data"]["interface"],
                between_ns=_between(each["data"], start_ns),
                around=each["around"],
            )
            for each in self._found
        ]

    def drawn(
        self, watched: WatchedTables, episodes: pl.DataFrame, retransmissions: pl.DataFrame
    ) -> Iterator[DrawnFlow]:
        """Yield the selected connections with their packets."""
        import polars as pl

        numbers = watched.connections.with_row_index("connection")
        for each in self._found:
            data, reply = each["data"], each["reply"]
            own = numbers.filter(pl.col("flow") == data["flow"])
            if own.is_empty():
                continue
            row = own.row(0, named=True)
            forward = (row["source"], row["source_port"]) == (data["source"], data["source_port"])
            sent = pl.col("forward") == int(forward)
            yield DrawnFlow(
                data=data,
                reply=reply,
                packets=watched.packets.filter(connection=row["connection"]).with_columns(
                    data=sent
                ),
                sack=watched.sack.filter(~sent, connection=row["connection"]),
                episodes=episodes.filter(flow=data["flow"], direction=data["direction"]),
                retransmissions=retransmissions.filter(
                    flow=data["flow"], direction=data["direction"]
                ),
                left_out=row["left_out"],
            )


class FlowPackets:
    """Collects the packets of chosen connections, and their episodes, while reading.

    ``connections`` is the number of connections, or the greatest one that is possible.
    """

    def __init__(
        self, reader: CaptureReader, chosen: Sequence[ChosenConnections], *, connections: int
    ) -> None:
        self._reader = reader
        reader.watch(chosen, most=MOST_PACKETS // connections)
        self._episodes: list[pl.DataFrame] = []
        self._retransmissions: list[pl.DataFrame] = []

    def add(self, batch: CaptureTables) -> None:
        """Keep the episodes and retransmissions of the chosen connections."""
        import polars as pl

        own = pl.col("flow").is_in(self._reader.watched_flows())
        self._episodes.append(batch.episodes.filter(own))
        self._retransmissions.append(batch.retransmissions.filter(own))

    def drawn(self, selection: FlowSelection) -> list[DrawnFlow]:
        """Return the selected connections with their packets; there was at least one batch."""
        import polars as pl

        rows = pl.concat(self._episodes), pl.concat(self._retransmissions)
        return list(selection.drawn(self._reader.watched(), *rows))


def second_pass(reader: CaptureReader, selection: FlowSelection) -> list[DrawnFlow]:
    """Read a capture again that was read completely, and return the selected connections."""
    chosen = selection.chosen(reader.facts().start_ns or 0)
    if not chosen:
        return []
    again = reader.again()
    packets = FlowPackets(again, chosen, connections=len(chosen))
    for batch in again.batches():
        packets.add(batch)
    return packets.drawn(selection)


def chosen_by_ends(names: Sequence[FlowName]) -> list[ChosenConnections]:
    """Return the connections of standard input. Raises `TcpsfError` for a number."""
    found = []
    for name in names:
        if isinstance(name, int):
            raise TcpsfError(
                f"`--flow {name}`: the numbers of connections are not known before standard input "
                "is read",
                hint="give the ends of the connection, such as 10.0.0.1:443-10.0.0.2:51000, or a file",
            )
        found.append(ChosenConnections(ends=name))
    return found


def words_of(names: Sequence[FlowName]) -> str:
    """Return the names of connections as `--flow` takes them.

    >>> words_of([12, (("10.0.0.1", 443), (None, None))])
    '`12`, `10.0.0.1:443`'
    """

    def end(address: str | None, port: int | None) -> str:
        shown = "" if address is None else f"[{address}]" if ":" in address else address
        return shown if port is None else f"{shown}:{port}"

    def name(each: FlowName) -> str:
        if isinstance(each, int):
            return str(each)
        return "-".join(end(*part) for part in each if part != (None, None))

    return ", ".join(f"`{name(each)}`" for each in names)


def _is_named(name: FlowName) -> pl.Expr:
    import polars as pl

    if isinstance(name, int):
        return pl.col("flow") == name
    one, other = name
    return (_is_end(one, "source") & _is_end(other, "destination")) | (
        _is_end(other, "source") & _is_end(one, "destination")
    )


def _is_end(end: End, column: str) -> pl.Expr:
    import polars as pl

    address, port = end
    found = pl.lit(value=True)
    if address is not None:
        found = found & (pl.col(column) == address)
    return found if port is None else found & (pl.col(f"{column}_port") == port)


def _ends(row: Mapping[str, Any]) -> tuple[End, End]:
    return (row["source"], row["source_port"]), (row["destination"], row["destination_port"])


def _between(row: Mapping[str, Any], start_ns: int) -> tuple[int, int]:
    """Times of the connection, with the error of times in seconds."""
    first = start_ns + round(row["start_s"] * 1e9)
    return max(first - 1000, 0), first + round(row["duration_s"] * 1e9) + 1000
