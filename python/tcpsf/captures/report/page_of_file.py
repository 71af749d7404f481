"""The page of a capture file, written from Python."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from tcpsf.captures.capture_summary import CaptureSummary
from tcpsf.captures.reader import STANDARD_INPUT, CaptureReader, Place, SenderRules
from tcpsf.captures.report.capture_page import CaptureFigures, capture_page
from tcpsf.captures.report.drawn_flows import FlowName, FlowSelection, second_pass
from tcpsf.errors import TcpsfError
from tcpsf.staging import write_file


def report(
    capture: str | PathLike[str],
    target: str | PathLike[str],
    *,
    flows: Sequence[FlowName] = (),
    vantage: Place = "auto",
    sender: SenderRules = "auto",
) -> Path:
    """Write the page of a capture file, as `tcpsf analyze --report` does, and return its path.

    ``flows`` are numbers of the table ``flows``, or both ends of connections as pairs of address and
    port, of which each may be ``None``. Without them, the page draws the connections with the longest
    loss episodes. ``vantage`` and ``sender`` are those of `tcpsf.captures.analyze`. A page that exists
    is replaced. Raises `TcpsfError` if the file cannot be read or
    is not a capture, and `OutputError` if the page cannot be written.
    """
    if str(capture) == STANDARD_INPUT:
        raise TcpsfError(
            "cannot write the page of standard input: it can be read only once",
            hint="write it to a file, or use `tcpsf analyze - --report PAGE.html`",
        )
    reader = CaptureReader(capture, vantage=vantage, sender=sender)
    summary, figures, selection = CaptureSummary(), CaptureFigures(), FlowSelection(flows)
    for batch in reader.batches():
        summary.add(batch)
        figures.add(batch)
        selection.add(batch)
    stated = {"vantage": vantage, "sender": sender}
    data = {"stated": stated, **summary.to_dict(reader.facts())}
    selection.check(connections=data["connections"])
    drawn = second_pass(reader, selection)
    path = Path(target)
    write_file(path, capture_page(Path(capture).name, data, figures, drawn, laws=summary.laws()))
    return path
