"""Analysis of captures: what repaired each loss, what it cost, and the law of the losses.

>>> from tcpsf.captures import analyze
>>> analyze("server.pcap").tables.episodes  # doctest: +SKIP

`tcpsf.captures.laws` fits the law of the losses, and `tcpsf.captures.report` writes a page.
"""

from tcpsf.captures.reader import (
    PLACES,
    SENDERS,
    STANDARD_INPUT,
    CaptureFacts,
    CaptureReader,
    CaptureResult,
    CaptureTables,
    ChosenConnections,
    End,
    Place,
    SenderRules,
    WatchedTables,
    analyze,
)

__all__ = [
    "PLACES",
    "SENDERS",
    "STANDARD_INPUT",
    "CaptureFacts",
    "CaptureReader",
    "CaptureResult",
    "CaptureTables",
    "ChosenConnections",
    "End",
    "Place",
    "SenderRules",
    "WatchedTables",
    "analyze",
]
