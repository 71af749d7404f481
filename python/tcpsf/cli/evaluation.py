"""`tcpsf reproduce smart-framing`: the whole evaluation, in a folder that an interrupted attempt leaves useful."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Sequence
from pathlib import Path

from tcpsf.cli.output import MARK, Workshop, say
from tcpsf.cli.progress import bar
from tcpsf.report import tidy
from tcpsf.report.evaluation import Report
from tcpsf.report.evaluation_page import page
from tcpsf.report.evaluation_text import as_text
from tcpsf.reproduce.smart_framing import Evaluation, evaluate, prepare
from tcpsf.reproduce.smart_framing.exhibit import Readings
from tcpsf.reproduce.store import Store

PAGE = "smart-framing.html"
DATA = "data"
"""The folder of the Parquet files."""


def command(
    *,
    full: bool,
    only: Sequence[str],
    readings: Readings,
    seed: int,
    workers: int | None,
    json: bool,
    out: Path,
    force: bool,
) -> None:
    """Make the report, print what it finds and write it."""
    evaluation = prepare(scale="full" if full else "quick", readings=readings, seed=seed, only=only)
    workshop = Workshop(out, replace=force)
    with workshop.work():
        report = _make(evaluation, Store(workshop.kept), workers, out)
    with workshop.results() as folder:
        write(report, folder)
    say(json_format.dumps(report.to_dict(), indent=2) if json else as_text(report))
    sys.stderr.write(f"\nThe report: {(out / PAGE).resolve().as_uri()}\n")


def _make(evaluation: Evaluation, store: Store, workers: int | None, out: Path) -> Report:
    runs = len(evaluation.plan.runs)

    def found(there: int) -> None:
        again = f", {there} of them there already" if there else ""
        sys.stderr.write(f"{runs} runs{again}\n")

    try:
        with bar("simulating") as progress:
            return evaluate(evaluation, store=store, workers=workers, progress=progress, found=found)
    except KeyboardInterrupt:
        sys.stderr.write(f"finished runs are kept in `{out}`; the same command goes on from them\n")
        raise


def write(report: Report, folder: Path) -> None:
    """Write the report in all its forms."""
    (folder / PAGE).write_text(page(report), encoding="utf-8")
    (folder / "report.json").write_text(json_format.dumps(report.to_dict(), indent=2) + "\n", encoding="utf-8")
    (folder / DATA).mkdir()
    for name, content in tidy.parquet_files(report):
        (folder / DATA / f"{name}.parquet").write_bytes(content)
    (folder / MARK).write_text(json_format.dumps(report.provenance.to_dict(), indent=2) + "\n", encoding="utf-8")
