"""`tcpsf analyze`: loss episodes of captures, with their causes and costs."""

from __future__ import annotations

import contextlib
import json as json_format
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpsf import __version__
from tcpsf.captures import STANDARD_INPUT, CaptureReader, CaptureTables, Place, SenderRules
from tcpsf.captures.capture_summary import NEEDED, CaptureSummary, summary_lines
from tcpsf.cli.file_checks import writing
from tcpsf.cli.output import MARK, print_result, put_json, results_folder
from tcpsf.errors import TcpsfError

if TYPE_CHECKING:
    from tcpsf.captures.report.drawn_flows import FlowName
    from tcpsf.cli.capture_files import CaptureFiles

SCHEMA = "tcpsf.analyze/1"


def command(
    *,
    files: Sequence[Path],
    frame: int | None,
    report: Path | None,
    flows: Sequence[FlowName],
    sizes: Path | None,
    vantage: Place,
    sender: SenderRules,
    out: Path | None,
    json: bool,
    force: bool,
) -> None:
    """Analyse each file, and print the summaries or the explanation."""
    _check(files, frame, report, sizes)
    if frame is not None:
        print_result("\n".join(_explained(files[0], frame, vantage, sender)))
        return
    with contextlib.ExitStack() as stack:
        folder = None
        if out is not None:
            folder = stack.enter_context(results_folder(out, replace=force))
        page = None
        if report is not None or sizes is not None or flows:
            from tcpsf.cli.capture_files import capture_files

            page = stack.enter_context(
                capture_files(report, sizes, files=files, flows=flows, replace=force)
            )
        captures = [
            {"file": str(file), **_analysed(file, number, folder, page, vantage, sender)}
            for number, file in enumerate(files)
        ]
        if page is not None:
            page.write(captures)
        result = {"schema": SCHEMA, "version": __version__, "captures": captures}
        if folder is not None:
            _join(folder)
            put_json(folder / MARK, result)
    if json:
        print_result(json_format.dumps(result))
        return
    texts = ("\n".join(summary_lines(capture["file"], capture)) for capture in captures)
    print_result("\n\n".join(texts))


def _check(
    files: Sequence[Path], frame: int | None, report: Path | None, sizes: Path | None
) -> None:
    """Refuse what one call cannot do."""
    if frame is not None and (report is not None or sizes is not None):
        other = "--sizes" if report is None else "--report"
        raise TcpsfError(
            f"`--explain {frame}` and `{other}` were both given",
            hint="`--explain` prints the evidence for one packet and writes nothing",
        )
    if frame is not None and len(files) > 1:
        raise TcpsfError(
            f"`--explain {frame}`: {len(files)} captures are given",
            hint="give the capture with this packet alone",
        )
    if sum(str(file) == STANDARD_INPUT for file in files) > 1:
        raise TcpsfError("standard input `-` is given twice", hint="give it once")


def _analysed(
    file: Path,
    number: int,
    folder: Path | None,
    page: CaptureFiles | None,
    vantage: Place,
    sender: SenderRules,
) -> dict[str, Any]:
    """Analyse one capture, and write its rows below ``folder``."""
    summary = CaptureSummary()
    reader = CaptureReader(file, vantage=vantage, sender=sender)
    if page is not None:
        page.begin(reader, summary)
    needed = NEEDED if page is None and folder is None else None
    for part, batch in enumerate(reader.batches(needed=needed)):
        summary.add(batch)
        if page is not None:
            page.add(batch)
        if folder is not None:
            _write(folder, batch, number, part)
    stated = {"vantage": vantage, "sender": sender}
    return {"stated": stated, **summary.to_dict(reader.facts())}


def _write(folder: Path, batch: CaptureTables, number: int, part: int) -> None:
    """Write the rows of a batch to files of their own."""
    import polars as pl

    for table, frame in batch._asdict().items():
        if part and frame.is_empty():
            continue
        path = folder / f"{table}-{number:06}-{part:09}.part"
        with writing(path):
            frame.insert_column(0, pl.lit(number, pl.UInt32).alias("capture")).write_parquet(path)


def _join(folder: Path) -> None:
    """Join the files of the batches to one file for each table, without holding them in memory."""
    import polars as pl

    for table in CaptureTables._fields:
        parts = sorted(folder.glob(f"{table}-*.part"))
        path = folder / f"{table}.parquet"
        with writing(path):
            pl.scan_parquet(parts).sink_parquet(path, maintain_order=True)
            for part in parts:
                part.unlink()


def _explained(file: Path, frame: int, vantage: Place, sender: SenderRules) -> Iterator[str]:
    """Yield the explanation of one packet."""
    from tcpsf.captures.explanation import explanation, packet_explanation

    reader = CaptureReader(file, vantage=vantage, sender=sender, explain=frame)
    for batch in reader.batches():
        found = batch.retransmissions.filter(frame=frame)
        if not found.is_empty():
            yield from explanation(found.row(0, named=True))
            return
    packets = reader.facts().counts["packets"]
    if frame > packets:
        raise TcpsfError(
            f"`--explain {frame}`: the capture has {packets} packets",
            hint="packets are counted from 1, as in Wireshark",
        )
    packet = reader.explanation()
    if packet is not None:
        yield from packet_explanation(frame, packet)
