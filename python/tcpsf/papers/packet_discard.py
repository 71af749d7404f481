"""Balanced packet discard for improving TCP performance in ATM networks, R. Cohen, Y. Hamo.

Computer Communications 24. The module has the numbers of the text and of its one table; the
figures' curves are drawn, not printed. `READINGS` lists the assumptions where the text is not
specific. The networks are in ``packet_discard_networks``.
"""

from __future__ import annotations

from dataclasses import dataclass

CITATION = "Cohen, Hamo: Balanced packet discard for improving TCP performance in ATM networks, Comput. Commun. 24, 2001"
SHORT = "Cohen and Hamo 2001"

SEGMENT, HEADER = 536, 40
"""Section 3: payload of a segment, and size of its TCP and IP headers, in bytes."""
CELL, CELL_PAYLOAD, CELLS = 53, 48, 13
"""Bytes of an ATM cell, bytes of its payload, and cells of a full segment.

The cells of a segment include AAL5's trailer. The text prints 12.
"""
WINDOW = "65535B"
"""Section 3: maximum window of 64 KB, the largest that a header can state without scaling."""
BUFFER_CELLS, MIXED_CELLS = 1200, 400
"""Sections 3 and 6.2: size of the gray switch's buffer in cells."""

THRESHOLDS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Figs. 6 to 9 and 12 to 14: EPD-threshold and lower threshold, as shares of the buffer.

The paper does not print these steps; this project chose them.
"""
UPPER = 0.9
"""Section 5, Figs. 15 and 16, and section 6.2: the upper threshold, as a share of the buffer."""
GAPS = (5, 10, 15, 20, 25, 35)
"""Fig. 12: recovery periods, in packets."""
GAP = 25
"""Figs. 13, 15 and 16: recovery period, in packets."""
LOWER = 0.4
"""Figs. 15 and 16, and section 6.2: the lower threshold, as a share of the buffer."""
MIXED_GAP = 20
"""Section 6.2: recovery period, in packets."""
TRACE_EPD = 0.9
"""Fig. 17: the EPD-threshold with which the congestion window is drawn."""
TRACE_BUFFER = 0.5
"""Fig. 18: the threshold of EPD and the lower threshold of BPD."""

EPD_BEST, BPD_BEST = 0.741, 0.932
"""Section 5: highest effective throughput in topology B, as a share of the link's capacity.

The capacity is the payload that the outgoing link can carry.
"""
IMPROVEMENT = 25.0
"""Abstract, sections 5 and 7: BPD's throughput exceeds EPD's by more than this, in per cent."""
EPD_ACTIVE, BPD_ACTIVE = 0.49, 0.92
"""Section 5, Fig. 13: share of time in which the connections of topology B are active."""
EPD_IDLE = 0.49
"""Section 3, Fig. 9: share of time in which the connections of topology B are idle with EPD.

The sum of this share and of `EPD_ACTIVE` is 0.98, not 1.
"""
THREE_IDLE = 0.8
"""Section 3: maximum throughput of topology B with three of five connections idle: 60/75."""
TIMEOUTS = 18
"""Section 5, Fig. 17: number of timeouts of an EPD connection in `TRACE_SECONDS`."""
TRACE_SECONDS = 10.0
BEST_THRESHOLD = 0.7
"""Section 3: the throughput of topology A decreases above this EPD-threshold."""
SPACING = (25, 26)
"""Section 5, Figs. 15 and 16: segments from one loss to the next.

The recovery period is 25 packets.
"""
SACK_TIMEOUTS = (50, 2)
"""Section 6.2, after Bruyeron and Hemon: number of timeouts without and with SACK.

The numbers are from the scenario of Bruyeron and Hemon.
"""


@dataclass(frozen=True, slots=True)
class PublishedConnection:
    """Published values of one connection of Fig. 20."""

    version: str
    timeouts: int
    throughput: float
    """Share of the capacity of its own incoming link of 45 Mb/s: see `READINGS`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """A pair of connections in Fig. 20."""

    key: str
    label: str
    balanced: bool
    """Whether the switch uses BPD."""
    connections: tuple[PublishedConnection, PublishedConnection]
    fairness: float
    overall: float
    """Share of the capacity of the outgoing link of 75 Mb/s."""


FIGURE_20 = (
    Mixed(
        key="reno",
        label="Reno and Reno",
        balanced=False,
        connections=(
            PublishedConnection("Reno", 24, 0.454),
            PublishedConnection("Reno", 22, 0.517),
        ),
        fairness=0.995,
        overall=0.584,
    ),
    Mixed(
        key="sack",
        label="SACK and Reno",
        balanced=False,
        connections=(PublishedConnection("SACK", 3, 0.910), PublishedConnection("Reno", 34, 0.193)),
        fairness=0.702,
        overall=0.662,
    ),
    Mixed(
        key="reno-bpd",
        label="Reno and Reno, BPD",
        balanced=True,
        connections=(
            PublishedConnection("Reno", 0, 0.8122),
            PublishedConnection("Reno", 0, 0.8216),
        ),
        fairness=0.999,
        overall=0.98,
    ),
    Mixed(
        key="sack-bpd",
        label="SACK and Reno, BPD",
        balanced=True,
        connections=(
            PublishedConnection("SACK", 0, 0.8109),
            PublishedConnection("Reno", 0, 0.8228),
        ),
        fairness=0.999,
        overall=0.98,
    ),
)
"""Fig. 20, which is a table."""

READINGS = (
    (
        "Effective throughput is payload that arrived in order, each byte once, as a share of the payload that the "
        "outgoing link can carry in full segments: 75 Mb/s × 48/53 × 536/(13·48) = 58.3 Mb/s. Of the bare 75 Mb/s no "
        "more than 0.78 could be payload, so the printed 0.932 and 0.98 are such shares."
    ),
    (
        "Fig. 20's column of throughputs is of each connection's own link: the two printed values add up to the "
        "overall one times 75/45 in all four pairs (0.454 + 0.517 = 0.971 = 0.583 · 75/45)."
    ),
    "A segment is 13 cells: 576 bytes and AAL5's trailer of 8 do not fit into the 12 that the text prints.",
    (
        "Each incoming link has one connection, all leave through one outgoing link to one node; ways back have the "
        "same rates and delays and lose nothing. The figures' other switches, of which nothing is said, are left out."
    ),
    (
        "Runs last 10 s and begin with the connections, as Fig. 17's counting of timeouts suggests; each starts at a "
        "random moment of the first 100 ms."
    ),
    (
        "The timer of the text has a tick of 500 ms, and so a timeout of a second at the least. Its Fig. 17, with 18 "
        "timeouts in 10 s, cannot have had that one: see the section on unstated assumptions."
    ),
    "Receivers acknowledge every segment; the largest window is 65 535 bytes.",
    (
        "A connection is not active from the last segment that it sent or acknowledgment that it got until its timer "
        "expires."
    ),
    "The upper threshold of Figs. 12 to 14 and 18 is that of Figs. 15 and 16, 90 %.",
)
"""Assumptions of this project where the text is not specific."""


def capacity(rate: float) -> float:
    """Payload that a line of ``rate`` carries in full segments, in the unit of ``rate``.

    >>> round(capacity(75.0), 2), round(capacity(45.0), 2)
    (58.35, 35.01)
    """
    return rate * CELL_PAYLOAD / CELL * SEGMENT / (CELLS * CELL_PAYLOAD)
