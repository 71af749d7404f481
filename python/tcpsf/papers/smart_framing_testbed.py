"""Measurements with a Linux 2.2 kernel in the Smart Framing paper (IV-B, IV-C) and its draft (9).

Table II: 10-Kbyte files over real paths. Table III: Web objects below 10 kB over an emulated link.
The draft has Table III with the share of fast recoveries in place of that of timeouts.

`READINGS` lists the assumptions where the texts are not specific.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tcpsf.papers import smart_framing as paper
from tcpsf.scenario import BurstLoss, ByteLoss, LinearLoss, PacketLoss

FULL_SIZE = 1500
"""Bytes of a full-size packet, headers included."""

FILE_BYTES = 10_240
"""Section IV-B: "10-Kbytes"; 10 000 bytes would give the same number of full-size segments."""

OBJECT_BYTES = tuple(size for size in paper.CLASS_BYTES if size < 10_000)
"""Section IV-C: Web objects smaller than 10 kB, with the sizes of Table I."""

LIMIT_BYTES = 10_000
"""Section IV-C: size limit of Table III; the draft says "flows shorter than 10 kBytes"."""

DROPS = (0.01, 0.05, 0.10)
LATENCIES_MS = (20, 50, 100)

RTO_MIN = "200ms"
"""Minimum retransmission timeout of Linux 2.2: HZ/5."""


@dataclass(frozen=True, slots=True)
class Table2Row:
    """A row of Table II: per cent of the recoveries, for Classic and for FS-TCP-SF."""

    name: str
    classic_fast: float
    classic_timeout: float
    framed_fast: float
    framed_timeout: float


TABLE_2 = (
    Table2Row("sigcomm.cmcl.cs.cmu.edu", 24.2, 75.8, 53.2, 46.8),
    Table2Row("manchester-1.cmcl.cs.cmu.edu", 11.1, 88.9, 72.5, 27.5),
    Table2Row("ssh.workspot.net", 19.0, 81.0, 72.3, 27.7),
    Table2Row("wavelan24.cs.ucla.edu", 34.3, 65.7, 69.3, 30.7),
)

TIMES_AS_OFTEN = 4.0
"""Section IV-B: fast recovery "about four times more frequently" than with Classic TCP."""


class LinkSetting(NamedTuple):
    """Settings of the emulated link."""

    drop: float
    """Drop probability, byte-wise: see `READINGS`."""
    latency_ms: int


@dataclass(frozen=True, slots=True)
class PublishedSender:
    """One sender in one row of Table III."""

    samples: int
    """Number of flows."""
    timer_ms: float
    """Mean estimate of the retransmission timer at the end of the connection."""
    timeout_percent: float
    """Per cent of the losses that ended in a timeout."""


@dataclass(frozen=True, slots=True)
class Table3Row:
    """Published values of a row of Table III."""

    classic: PublishedSender
    framed: PublishedSender
    gain_s: float
    """Completion time of Classic minus that of TCP-SF, over flows with a loss."""


TABLE_3: Mapping[LinkSetting, Table3Row] = {
    LinkSetting(0.01, 20): Table3Row(
        PublishedSender(8093, 435, 63.2), PublishedSender(9743, 307, 17.5), 8.32
    ),
    LinkSetting(0.01, 50): Table3Row(
        PublishedSender(3222, 667, 64.7), PublishedSender(3520, 392, 15.0), 14.24
    ),
    LinkSetting(0.01, 100): Table3Row(
        PublishedSender(6009, 824, 51.3), PublishedSender(3605, 681, 13.5), -0.25
    ),
    LinkSetting(0.05, 20): Table3Row(
        PublishedSender(6999, 482, 81.4), PublishedSender(7464, 333, 27.8), 5.63
    ),
    LinkSetting(0.05, 50): Table3Row(
        PublishedSender(4994, 669, 63.9), PublishedSender(3406, 429, 20.3), 5.11
    ),
    LinkSetting(0.05, 100): Table3Row(
        PublishedSender(7058, 1206, 59.7), PublishedSender(8227, 652, 16.0), 3.48
    ),
    LinkSetting(0.10, 20): Table3Row(
        PublishedSender(5022, 477, 80.5), PublishedSender(3302, 397, 24.0), 4.23
    ),
    LinkSetting(0.10, 50): Table3Row(
        PublishedSender(2859, 725, 79.7), PublishedSender(4601, 428, 22.4), 4.63
    ),
    LinkSetting(0.10, 100): Table3Row(
        PublishedSender(1535, 1008, 69.5), PublishedSender(3011, 661, 22.3), 3.80
    ),
}


@dataclass(frozen=True, slots=True)
class DraftMeasured:
    """One sender in one row of the draft's table."""

    timer_ms: float
    fast_percent: float
    """Per cent of the losses that ended in a fast recovery."""


DRAFT_TABLE: Mapping[LinkSetting, tuple[DraftMeasured, DraftMeasured]] = {
    LinkSetting(0.01, 20): (DraftMeasured(435, 36.8), DraftMeasured(307, 82.5)),
    LinkSetting(0.01, 50): (DraftMeasured(667, 35.3), DraftMeasured(392, 85.0)),
    LinkSetting(0.01, 100): (DraftMeasured(824, 48.7), DraftMeasured(681, 86.5)),
    LinkSetting(0.05, 20): (DraftMeasured(482, 18.6), DraftMeasured(333, 72.2)),
    LinkSetting(0.05, 50): (DraftMeasured(669, 36.1), DraftMeasured(429, 79.7)),
    LinkSetting(0.05, 100): (DraftMeasured(1206, 40.3), DraftMeasured(652, 84.0)),
    LinkSetting(0.10, 20): (DraftMeasured(477, 19.5), DraftMeasured(397, 76.0)),
    LinkSetting(0.10, 50): (DraftMeasured(725, 20.3), DraftMeasured(428, 87.6)),
    LinkSetting(0.10, 100): (DraftMeasured(1008, 30.5), DraftMeasured(661, 87.7)),
}
"""Section 9 of the draft, Classic and TCP-SF.

By the journal, TCP-SF in the last two rows would have 77.6 and 77.7.
"""

SOURCE_2 = f"{paper.CITATION}, Table II"
SOURCE_3 = f"{paper.CITATION}, Table III"
SOURCE_DRAFT = (
    "Mellia, Meo, Casetti: TCP Smart-Framing, draft-mellia-tsvwg-tcp-smartframing-00, section 9"
)


Law = Literal["proportional", "per-byte"]
"""Dependence of the probability of a loss on the size of the packet."""

LAWS: tuple[Law, ...] = ("proportional", "per-byte")


def loss(drop: float, law: Law) -> LinearLoss | ByteLoss:
    """Return the loss of the emulated link: ``drop`` for a full-size packet, by either law.

    >>> loss(0.05, "proportional")
    LinearLoss(probability=0.05, at='1500B')
    >>> f"{1 - (1 - loss(0.05, 'per-byte').probability) ** 1500:.3f}"
    '0.050'
    """
    if law == "proportional":
        return LinearLoss(probability=drop, at=f"{FULL_SIZE}B")
    return ByteLoss(probability=1.0 - (1.0 - drop) ** (1.0 / FULL_SIZE))


@dataclass(frozen=True, slots=True)
class PathOfOurs:
    """A path that replaces those of Table II, whose hosts no longer exist.

    This project chose the numbers.
    """

    key: str
    latency_ms: int
    loss: PacketLoss | BurstLoss


PATHS = (
    PathOfOurs("2 % at random, 50 ms", 50, PacketLoss(probability=0.02)),
    PathOfOurs("2 % at random, 150 ms", 150, PacketLoss(probability=0.02)),
    PathOfOurs("2 % in runs of 1.5, 150 ms", 150, BurstLoss(probability=0.02, run=1.5)),
    PathOfOurs("5 % at random, 100 ms", 100, PacketLoss(probability=0.05)),
)
"""Paths that replace those of Table II.

The round-trip time from Italy to the U.S. was about 150 ms then. A router drops packets of any
size, and often several in a row.
"""

READINGS = (
    (
        "Byte-wise drop probability p: a packet of 1500 bytes is lost with p, a shorter one in proportion to its size "
        "(`--law per-byte`: each byte is hit independently, with p for 1500 bytes)."
    ),
    "Latency is an extra delay one way, from the server to the clients, where the paper's emulator stood.",
    "The link has no rate limit and no queue: what is lost, the emulator lost. The other way is clean.",
    (
        "The sender has a least RTO of 200 ms, as Linux 2.2 had, but RFC 6298's estimate: that kernel multiplied it by "
        "1 + 1/4 + 2^(1 − cwnd), by up to 2.25 in a window of one segment. Its first RTO of 3 s would matter to SYNs "
        "alone, since the handshake is timed; here it is RFC 6298's second."
    ),
    (
        "Clients acknowledge as their own kernel does; Linux does so at once in the first part of a connection "
        "(`--acks delayed`: as clients did in 2001, though the delay is 40 ms here and was up to 200 ms then)."
    ),
    "TCP-SF is FS-TCP-SF, which the authors had implemented; VS-TCP-SF beside it is not in the paper.",
    (
        "Objects have the sizes of Table I below 10 kB, equally likely, and a response header. Each has a connection "
        "of its own (`--objects`: several). Senders take turns, connection by connection, so all meet the same."
    ),
    (
        "%FR and %RTO are shares of the recoveries: fast recoveries entered, and expiries of the timer, each back-off "
        "counted. SYNs are not in them."
    ),
    "RT is the timer at the end of the connection.",
    (
        "Completion time at the server is the paper's: from the client's SYN until the end. The paper takes the last "
        "FIN or RST sent or received, and ours ends when both ends have closed, which an acknowledged FIN shows. "
        "Completion time at the client is from connect() until it has the last byte, without the time in which no "
        "request was under way."
    ),
)
"""Assumptions of this project where the texts are not specific."""

_PROXY = (
    "Fig. 8: browsers, the emulated path, a proxy that has the senders, and a server behind it. The server is this "
    "machine's kernel at 127.0.0.1: nothing is lost between it and the proxy, and it answers at once. The paper's "
    "servers were anywhere. The proxy passes bytes on and keeps no objects; the paper's was a Web proxy."
)
_TURNS = (
    "Senders take turns, connection by connection, so all meet the same. The paper's proxy had its sender switched "
    "every five minutes. Here the two connections of one session can have different senders."
)
_FLOWS = (
    "A flow is a connection, and its length is the bytes of all its objects: the draft speaks of flows shorter than "
    "10 kB. Flows without payload do not count, as in the paper."
)

READINGS_SESSIONS = (
    *READINGS[:6],
    _PROXY,
    (
        "A session is one page: it and what it embeds have the sizes of all 15 groups of Table I, equally likely. The "
        "number of embedded objects (5.64 in the mean) and the time for which the page is parsed (0.13 s in the mean) "
        "are those of 3GPP2 C.R1002-0; the paper gives none. That a user reads a page and asks for another one over "
        "the same connections is left out."
    ),
    (
        "A browser has two persistent connections at the most (RFC 2616 §8.1.4). The page comes on the first; embedded "
        "objects go to both in turn, so that each connection carries the same, whoever sends. Each object is asked for "
        "as soon as the one before has come. The browser closes a connection a second after its last byte."
    ),
    _TURNS,
    _FLOWS,
    *READINGS[7:],
)
"""Assumptions where the senders are those of a proxy and its clients are browsers."""

READINGS_PROXY = (
    *READINGS[:6],
    _PROXY,
    (
        "Objects have the sizes of all 15 groups of Table I, equally likely, and a response header. Each connection "
        "carries as many as `--objects` says, and the server closes it."
    ),
    _TURNS,
    _FLOWS,
    *READINGS[7:],
)
"""Assumptions where the senders are those of a proxy, without sessions."""

READINGS_2 = (*READINGS[1:6], READINGS[7])
"""Assumptions that apply to Table II: it has one file size, and no timers or times."""
