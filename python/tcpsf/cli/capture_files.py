"""Files that `tcpsf analyze` writes besides its tables: the page, and the sizes for a scenario."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tcpsf import text
from tcpsf.captures import STANDARD_INPUT, CaptureReader, CaptureTables
from tcpsf.captures.capture_summary import CaptureSummary
from tcpsf.captures.report.capture_page import CaptureFigures, capture_page
from tcpsf.captures.report.drawn_flows import (
    MOST_FLOWS,
    DrawnFlow,
    FlowName,
    FlowPackets,
    FlowSelection,
    chosen_by_ends,
    second_pass,
    words_of,
)
from tcpsf.captures.report.flow_lengths import CLASSES, size_file
from tcpsf.cli.file_checks import put, staged_file, staged_page
from tcpsf.errors import TcpsfError


class CaptureFiles:
    """Collects what the page and the file of sizes need while captures are read."""

    def __init__(
        self,
        report: tuple[Path | None, Path | None],
        sizes: tuple[Path | None, Path | None],
        *,
        files: Sequence[Path],
        flows: Sequence[FlowName],
    ) -> None:
        self._report, self._sizes = report, sizes
        self._files, self._names = files, flows
        self._figures = CaptureFigures()
        self._selection = FlowSelection(flows)
        self._piped = str(files[0]) == STANDARD_INPUT
        self._read: tuple[CaptureReader, CaptureSummary] | None = None
        self._packets: FlowPackets | None = None

    def begin(self, reader: CaptureReader, summary: CaptureSummary) -> None:
        """Prepare to read a capture. Of standard input, packets are kept at once."""
        self._read = reader, summary
        if self._report[0] is not None and self._piped and self._names:
            chosen = chosen_by_ends(self._names)
            self._packets = FlowPackets(reader, chosen, connections=MOST_FLOWS)

    def add(self, batch: CaptureTables) -> None:
        """Add the rows of a batch."""
        if self._report[0] is None and self._sizes[0] is None:
            return
        self._figures.add(batch)
        if self._report[0] is not None:
            self._selection.add(batch)
            if self._packets is not None:
                self._packets.add(batch)

    def write(self, captures: Sequence[Mapping[str, Any]]) -> None:
        """Write the files that were asked for; ``captures`` are the summaries as plain data."""
        if self._read is not None:
            reader, summary = self._read
            put(*self._report, content=lambda: self._page(captures[0], reader, summary))
        put(*self._sizes, content=self._size_file)

    def _page(self, data: Mapping[str, Any], reader: CaptureReader, summary: CaptureSummary) -> str:
        self._selection.check(connections=data["connections"])
        return capture_page(
            "standard input" if self._piped else Path(data["file"]).name,
            data,
            self._figures,
            self._drawn(reader),
            laws=summary.laws(),
            flow_notes=list(self._notes()),
        )

    def _drawn(self, reader: CaptureReader) -> list[DrawnFlow]:
        if not self._piped:
            return second_pass(reader, self._selection)
        return [] if self._packets is None else self._packets.drawn(self._selection)

    def _notes(self) -> Iterator[str]:
        if self._piped and not self._names:
            yield (
                "Standard input can be read only once. `--flow ADDRESS:PORT` names connections to draw "
                "before it is read."
            )
        if self._names and self._selection.matched > MOST_FLOWS:
            matched = text.plain(self._selection.matched, 0)
            yield f"`--flow` names {matched} connections. The first {MOST_FLOWS} are drawn."

    def _size_file(self) -> str:
        lengths = self._figures.lengths
        classes = lengths.classes()
        if not classes:
            raise TcpsfError(
                f"cannot write `--sizes {self._sizes[1]}`: "
                f"{text.count(len(lengths), 'connection')} with data",
                hint=f"{CLASSES} classes need at least {CLASSES} connections",
            )
        names = ", ".join(str(file) for file in self._files)
        return size_file(classes, source=names)


@contextlib.contextmanager
def capture_files(
    report: Path | None,
    sizes: Path | None,
    *,
    files: Sequence[Path],
    flows: Sequence[FlowName],
    replace: bool,
) -> Iterator[CaptureFiles]:
    """Yield the collector of a page and a file of sizes, which appear at the end of the block."""
    if flows and report is None:
        raise TcpsfError(
            f"cannot draw a connection: `--flow` {words_of(flows)} without `--report`",
            hint="add `--report PAGE.html`",
        )
    if report is not None and len(files) > 1:
        raise TcpsfError(
            f"cannot write `--report {report}`: {len(files)} captures are given",
            hint="give one capture for a page",
        )
    if str(files[0]) == STANDARD_INPUT:
        chosen_by_ends(flows)
    with (
        staged_page(report, replace=replace) as page,
        staged_file("--sizes", sizes, replace=replace) as numbers,
    ):
        yield CaptureFiles((page, report), (numbers, sizes), files=files, flows=flows)
