"""Analysis of captures: connections, loss episodes and retransmissions as tables.

`analyze` reads a whole capture. A `CaptureReader` yields its rows while it is read, so that memory
does not grow with the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from tcpsf import _core
from tcpsf.errors import TcpsfError, reason

if TYPE_CHECKING:
    import polars as pl

PACKETS_BETWEEN_CHECKS = 100_000
"""Number of packets after which Ctrl-C is handled and rows are passed on."""

STANDARD_INPUT = "-"
"""Name of standard input instead of a file."""


Place: TypeAlias = Literal["auto", "sender", "receiver", "between"]
"""Position of a capture with respect to the responder, which usually sends most of the data."""

SenderRules: TypeAlias = Literal["auto", "linux", "rfc"]
"""Rules of both senders: those of Linux from 4.20 on, or of the RFCs without RACK and probes."""

PLACES = {"auto": None, "sender": "sender", "receiver": "receiver", "between": "middle"}
"""Values of `Place`, and their names in the analysis."""

SENDERS = {"auto": None, "linux": "linux", "rfc": "rfc"}
"""Values of `SenderRules`, and their names in the analysis."""


class CaptureTables(NamedTuple):
    """Rows of a capture. Times are in seconds since its first packet."""

    flows: pl.DataFrame
    """A row for each direction of a connection."""
    episodes: pl.DataFrame
    """A row for each loss episode: from the loss to the end of its recovery."""
    retransmissions: pl.DataFrame
    """A row for each retransmitted packet, with its cause and the evidence."""
    transmissions: pl.DataFrame
    """Counts of first transmissions and of those lost, by connection, block, position and size."""
    losses: pl.DataFrame
    """A row for each first transmission that was lost."""
    transfers: pl.DataFrame
    """A row for each transfer, such as one response of a server."""


class NeededColumns(NamedTuple):
    """Columns of the two wide tables that a caller needs; ``None`` for all."""

    flows: frozenset[str] | None
    """Columns of `CaptureTables.flows`."""
    transfers: frozenset[str] | None
    """Columns of `CaptureTables.transfers`."""


class WatchedTables(NamedTuple):
    """Packets of chosen connections. Times are in seconds since the first packet."""

    connections: pl.DataFrame
    """A row for each connection: number, ends of the first packet, packets that were left out."""
    packets: pl.DataFrame
    """A row for each packet; ``connection`` is a row of ``connections``.

    ``forward`` is 1 for packets from the source of the connection's first packet.
    """
    sack: pl.DataFrame
    """A row for each SACK block, with sequence numbers, and its position in the option."""


End: TypeAlias = tuple[str | None, int | None]
"""Address and port of one end of a connection; ``None`` stands for any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenConnections:
    """Connections whose packets a `CaptureReader` keeps."""

    ends: tuple[End, End]
    """Both ends, in either order."""
    interface: int | None = None
    """Interface of the capture; ``None``: any."""
    between_ns: tuple[int, int] | None = None
    """Earliest and latest time in nanoseconds since 1970; ``None``: any."""
    around: int = 0
    """Number of the packet around which packets are kept if a connection has too many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureFacts:
    """Facts about a capture as a whole."""

    counts: dict[str, int]
    """Numbers of packets by content; `unanswered` and `refused` are those without a connection."""
    start_ns: int | None
    """Time of the first packet in nanoseconds since 1970; ``None`` without a packet."""
    duration_s: float
    """Time from the first packet to the last one in seconds."""
    damage: tuple[int, str] | None
    """Place in bytes of the decompressed file, and reason, where reading ended early."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureResult:
    """A capture that was analysed completely."""

    tables: CaptureTables
    """Connections, episodes and retransmissions."""
    facts: CaptureFacts
    """Facts about the capture as a whole."""


class CaptureReader:
    """A capture that is analysed in steps.

    ``vantage`` and ``sender`` state the position of the capture and the rules of the senders. With
    ``auto`` they are inferred for each connection. ``explain`` is the number of a packet, from 1,
    that `explanation` describes. Raises `TcpsfError` if the file cannot be read or is not a capture,
    or for another word.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        vantage: Place = "auto",
        sender: SenderRules = "auto",
        explain: int | None = None,
    ) -> None:
        standard_input = str(path) == STANDARD_INPUT
        self._path, self._vantage, self._sender = path, vantage, sender
        stated = {
            "vantage": _known("vantage", vantage, PLACES),
            "sender": _known("sender", sender, SENDERS),
        }
        try:
            self._analysis = _core.CaptureAnalysis(
                None if standard_input else str(Path(path)), explain=explain, **stated
            )
        except OSError as error:
            raise TcpsfError(
                f"cannot read capture `{path}`: {reason(error)}",
                hint="give a pcap or pcapng file, which may be compressed with gzip or zstd",
            ) from None
        except ValueError as error:
            raise TcpsfError(
                f"cannot read capture `{path}`: {error}",
                hint="give a pcap or pcapng file, which may be compressed with gzip or zstd",
            ) from None

    def again(self) -> CaptureReader:
        """Return a reader of the same file from its beginning, with the same statements.

        Raises `TcpsfError` for standard input, which can be read only once.
        """
        if str(self._path) == STANDARD_INPUT:
            raise TcpsfError(
                "cannot read standard input again", hint="write the capture to a file first"
            )
        return CaptureReader(self._path, vantage=self._vantage, sender=self._sender)

    def batches(self, *, needed: NeededColumns | None = None) -> Iterator[CaptureTables]:
        """Yield the rows of connections and episodes as they end.

        ``needed`` has the columns of the wide tables that the caller needs; ``None`` for all.
        """
        columns = needed or NeededColumns(flows=None, transfers=None)
        more = True
        while more:
            more = self._analysis.advance(packets=PACKETS_BETWEEN_CHECKS)
            flows = self._analysis.take_flows(columns.flows)
            episodes, retransmissions = self._analysis.take_episodes()
            transmissions, losses = self._analysis.take_outcomes()
            transfers = self._analysis.take_transfers(columns.transfers)
            tables = (flows, episodes, retransmissions, transmissions, losses, transfers)
            yield CaptureTables(*map(_frame, tables))

    def watch(self, chosen: Sequence[ChosenConnections], *, most: int) -> None:
        """Keep the packets of connections from now on: at most ``most`` of each.

        The packets of 16 connections are kept. Raises `TcpsfError` if an address is none.
        """
        wanted = [(*each.ends, each.interface, each.between_ns, each.around) for each in chosen]
        try:
            self._analysis.watch(wanted, limit=most)
        except ValueError as error:
            raise TcpsfError(f"{error}", hint="give an IPv4 or IPv6 address") from None

    def watched_flows(self) -> list[int]:
        """Return the numbers of the connections whose packets are kept."""
        return self._analysis.watched_flows()

    def watched(self) -> WatchedTables:
        """Return the packets that `watch` has kept so far."""
        return WatchedTables(*map(_frame, self._analysis.watched()))

    def explanation(self) -> dict[str, Any] | None:
        """Return facts about the packet ``explain``, once it has been read; ``None`` before."""
        return self._analysis.explanation()

    def facts(self) -> CaptureFacts:
        """Return the facts about the part that has been read."""
        start_ns, duration_s = self._analysis.times or (None, 0.0)
        return CaptureFacts(
            counts=self._analysis.counts(),
            start_ns=start_ns,
            duration_s=duration_s,
            damage=self._analysis.damage,
        )


def _frame(table: _core.Table) -> pl.DataFrame:
    """Return a table of the analysis, with text instead of categories.

    Each batch has its own categories, so that batches could not be concatenated.
    """
    import polars as pl

    return pl.DataFrame(table).with_columns(pl.selectors.categorical().cast(pl.String))


def _known(name: str, word: str, words: dict[str, str | None]) -> str | None:
    """Return the name of a word in the analysis. Raises `TcpsfError` for another word."""
    if word not in words:
        listed = ", ".join(f"`{known}`" for known in words)
        raise TcpsfError(f"{name} `{word}`: expected one of {listed}", hint="choose one of them")
    return words[word]


def analyze(
    path: str | PathLike[str], *, vantage: Place = "auto", sender: SenderRules = "auto"
) -> CaptureResult:
    """Analyse a capture: a pcap or pcapng file, possibly compressed, or `-` for standard input.

    ``vantage`` and ``sender`` state the position of the capture and the rules of the senders, in
    place of what the packets show. Returns all rows. A damaged file is read up to the damage, which
    `CaptureFacts.damage` states. Raises `TcpsfError` if the file cannot be read or is not a capture.
    """
    import polars as pl

    reader = CaptureReader(path, vantage=vantage, sender=sender)
    flows, episodes, retransmissions, transmissions, losses, transfers = zip(
        *reader.batches(), strict=True
    )
    tables = CaptureTables(
        flows=pl.concat(flows).sort("flow", maintain_order=True),
        episodes=pl.concat(episodes).sort("lost_s", maintain_order=True),
        retransmissions=pl.concat(retransmissions).sort("frame"),
        transmissions=pl.concat(transmissions).sort("flow", maintain_order=True),
        losses=pl.concat(losses).sort("at_s", maintain_order=True),
        transfers=pl.concat(transfers).sort("start_s", maintain_order=True),
    )
    return CaptureResult(tables=tables, facts=reader.facts())
