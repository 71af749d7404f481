"""`tcpsf reproduce smart-framing`: the whole evaluation, in a folder that an interrupted attempt leaves useful."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Sequence
from pathlib import Path

from tcpsf.cli.output import MARK, Workshop, put_json, say
from tcpsf.cli.progress import bar
from tcpsf.report import tidy
from tcpsf.report.evaluation import Report
from tcpsf.report.evaluation_page import page
from tcpsf.report.evaluation_text import as_text
from tcpsf.reproduce.smart_framing import evaluate, prepare
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
    with workshop.work("runs", len(evaluation.plan.runs)) as found, bar("simulating") as progress:
        report = evaluate(evaluation, store=Store(workshop.kept), workers=workers, progress=progress, found=found)
    with workshop.results() as folder:
        write(report, folder, PAGE)
    say(json_format.dumps(report.to_dict(), indent=2) if json else as_text(report))
    sys.stderr.write(f"\nThe report: {(out / PAGE).resolve().as_uri()}\n")


def write(report: Report, folder: Path, name: str) -> None:
    """Write the report in all its forms; ``name`` is the page's."""
    (folder / name).write_text(page(report), encoding="utf-8")
    put_json(folder / "report.json", report.to_dict())
    (folder / DATA).mkdir()
    for file, content in tidy.parquet_files(report):
        (folder / DATA / f"{file}.parquet").write_bytes(content)
    put_json(folder / MARK, report.provenance.to_dict())
