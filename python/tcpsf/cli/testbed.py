"""`tcpsf reproduce smart-framing table-2` and `table-3`: what is measured on live kernels."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from tcpsf.cli.evaluation import DATA
from tcpsf.cli.output import MARK, Workshop, say
from tcpsf.cli.progress import bar
from tcpsf.live.cell import check, measure
from tcpsf.live.experiment import Acks
from tcpsf.live.result import LiveStore
from tcpsf.papers import smart_framing_testbed as published
from tcpsf.report import tidy
from tcpsf.report.evaluation import Report
from tcpsf.report.evaluation_page import page
from tcpsf.report.evaluation_text import as_text
from tcpsf.reproduce.smart_framing.testbed import Cell, Testbed, Which, evaluate, prepare

FLOWS = "flows"
"""The file of all fetches."""


def command(
    which: Which,
    *,
    full: bool,
    loss: published.Law,
    acks: Acks,
    objects: int,
    rate: float,
    seed: int,
    json: bool,
    out: Path,
    force: bool,
) -> None:
    """Measure, print what was found, and write it."""
    scale: Literal["full", "quick"] = "full" if full else "quick"
    wanted = prepare(which, scale=scale, law=loss, acks=acks, objects=objects, rate=rate, seed=seed)
    check()
    workshop = Workshop(out, replace=force)
    with workshop.work():
        report, cells = _make(wanted, LiveStore(workshop.kept), out)
    name = f"{which}.html"
    with workshop.results() as folder:
        write(report, cells, folder, name)
    say(json_format.dumps(report.to_dict(), indent=2) if json else as_text(report, tables=True))
    sys.stderr.write(f"\nThe report: {(out / name).resolve().as_uri()}\n")


def _make(wanted: Testbed, store: LiveStore, out: Path) -> tuple[Report, Mapping[str, Cell]]:
    paths = len(wanted.experiments)

    def found(there: int) -> None:
        again = f", {there} of them there already" if there else ""
        sys.stderr.write(f"{paths} paths{again}\n")

    try:
        with bar("measuring") as progress:
            return evaluate(wanted, measure=measure, store=store, progress=progress, found=found)
    except KeyboardInterrupt:
        sys.stderr.write(f"finished paths are kept in `{out}`; the same command goes on from them\n")
        raise


def write(report: Report, cells: Mapping[str, Cell], folder: Path, name: str) -> None:
    """Write the report in all its forms, and every fetch."""
    import polars as pl

    (folder / name).write_text(page(report), encoding="utf-8")
    (folder / "report.json").write_text(json_format.dumps(report.to_dict(), indent=2) + "\n", encoding="utf-8")
    (folder / DATA).mkdir()
    for file, content in tidy.parquet_files(report):
        (folder / DATA / f"{file}.parquet").write_bytes(content)
    flows = pl.concat(cell.live.flows.with_columns(path=pl.lit(path)) for path, cell in cells.items())
    flows.write_parquet(folder / DATA / f"{FLOWS}.parquet")
    (folder / MARK).write_text(json_format.dumps(report.provenance.to_dict(), indent=2) + "\n", encoding="utf-8")
