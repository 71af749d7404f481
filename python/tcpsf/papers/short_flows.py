"""Modeling the Performance of Short TCP Connections, N. Cardwell, S. Savage, T. Anderson, 1998.

Section 6: transfers from a Linux 2.0 host to four others over the Internet, Figs. 17 to 20. The
closed models are in `models.short_flows`, the simulations of its section 5 in
`short_flows_simulated`.

`READINGS` lists the assumptions where the text is not specific.
"""

from __future__ import annotations

from dataclasses import dataclass

CITATION = "Cardwell, Savage, Anderson: Modeling the Performance of Short TCP Connections, 1998"
SHORT = "Cardwell et al. 1998"
SHORT_SOURCE = f"{SHORT}, section 6"

CLOSE, FAIR = 0.2, 0.35
"""Limits of mean |ln ratio| for a close fit and for a fair fit.

The ratio is the measured or simulated time divided by the model's. The text has words only.
"""

SIZES = range(1, 128_001)
"""Bytes of a transfer, uniformly distributed."""
INITIAL_WINDOW = 2
"""Initial window in segments: w of the models in Figs. 17 to 20."""
ACK_EVERY = 2.0
"""Segments per acknowledgment: b of the models there, so that r = 1 + 1/b = 1.5."""
MSS = 1460
KB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One figure: a destination, and the values measured on the path to it."""

    figure: str
    name: str
    transfers: int
    rtt_ms: int
    """Mean value; the next three fields are also mean values."""
    rto_ms: int
    loss: float
    window_kb: int
    """Window that the receiver advertised."""

    @property
    def key(self) -> str:
        """Key of the figure in the report.

        >>> HOSTS[0].key
        'fig-17'
        """
        return self.figure.lower().replace(". ", "-")


HOSTS = (
    Host(
        figure="Fig. 17",
        name="www.cs.princeton.edu",
        transfers=354,
        rtt_ms=119,
        rto_ms=206,
        loss=0.0006,
        window_kb=64,
    ),
    Host(
        figure="Fig. 18",
        name="www.ucdavis.edu",
        transfers=403,
        rtt_ms=55,
        rto_ms=203,
        loss=0.0002,
        window_kb=32,
    ),
    Host(
        figure="Fig. 19",
        name="www.utexas.edu",
        transfers=394,
        rtt_ms=64,
        rto_ms=150,
        loss=0.0004,
        window_kb=33,
    ),
    Host(
        figure="Fig. 20",
        name="www.vt.edu",
        transfers=347,
        rtt_ms=152,
        rto_ms=390,
        loss=0.003,
        window_kb=30,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A row of Table 1: values sampled on a path."""

    name: str
    ping_ms: int
    """Round-trip time of a ping of 1400 bytes."""
    sustained_kb: int
    """Rate of a transfer of 1 MB, in KB/s."""


TABLE_1 = (
    Sample(name="www.cs.princeton.edu", ping_ms=108, sustained_kb=200),
    Sample(name="www.ucdavis.edu", ping_ms=50, sustained_kb=470),
    Sample(name="www.utexas.edu", ping_ms=62, sustained_kb=350),
    Sample(name="www.vt.edu", ping_ms=109, sustained_kb=200),
)
"""Rows of Table 1 in the order of `HOSTS`."""

READINGS = (
    (
        "The path has the published round trip, half of it each way, and loses each packet with the published rate, "
        "independently and both ways. It has no rate limit: the paper's carried 200 to 470 kB/s, and the models assume "
        "that this does not matter."
    ),
    (
        "The paper's host opens a connection to a discard service and sends. Here a client opens it and asks, the "
        "server sends, and the client's time until it has the last byte is taken. Both are a round trip for the "
        "handshake and one for each window of data: in the paper's the last is up with the acknowledgment of the last "
        "byte."
    ),
    (
        "The kernel sends with Reno, an initial window of two segments (`initcwnd` of the route) and without what it "
        "learnt of earlier connections (`tcp_no_metrics_save`). It has SACK, timestamps, RACK and tail loss probes; "
        "its window grows by the segments acknowledged, not by the acknowledgments; its RTO is the round trip plus "
        "200 ms at the least. No connection pauses, so slow start after an idle time does not come in."
    ),
    "tcpsf beside it, `reno+sack / full / iw=2`, grows its window by the acknowledgments; its least RTO is 200 ms.",
    (
        "The clients' kernel acknowledges every segment in the first part of a connection and every second one later: "
        "the adaptive policy that the paper suspects of the host of Fig. 17. For that path it is also measured with "
        "acknowledgments delayed from the first segment on (`TCP_QUICKACK` off; by 40 ms at the least)."
    ),
    "`SO_RCVBUF` has the published size of the receiver's window; what the kernel makes of it is in the table.",
    (
        "The models use the mean round trip and timer that the sender reports at the end of each connection, the share "
        "of the server's packets that the emulator dropped, the window and the segment size that the clients saw. With "
        "two segments at first nobody waits for a delayed acknowledgment, so that term is 0; a transfer's size counts "
        "the answer's head."
    ),
    (
        "A fit is the mean of |ln(time/model)| over the transfers, all of them, lost SYNs included: 0.2 is off by a "
        "fifth. Up to 0.2 goes as close, up to 0.35 as reasonable, above as poor. Where much is lost it is taken of "
        "the medians by size."
    ),
    "The fifth path is not in the paper: 100 ms, 3 % loss, 32 KB, where the models come apart.",
)
"""Assumptions of this project where the text is not specific."""
