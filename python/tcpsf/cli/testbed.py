"""`tcpsf reproduce smart-framing table-2` and `table-3`: what is measured on live kernels."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from tcpsf.cli.evaluation import DATA, write
from tcpsf.cli.output import Workshop, say
from tcpsf.cli.progress import bar
from tcpsf.live.cell import check, measure
from tcpsf.live.experiment import Acks
from tcpsf.live.result import LiveStore
from tcpsf.papers import smart_framing_testbed as published
from tcpsf.report.evaluation_text import as_text
from tcpsf.reproduce.smart_framing.testbed import Cell, Which, evaluate, prepare

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
    with workshop.work("paths", len(wanted.experiments)) as found, bar("measuring") as progress:
        store = LiveStore(workshop.kept)
        report, cells = evaluate(wanted, measure=measure, store=store, progress=progress, found=found)
    name = f"{which}.html"
    with workshop.results() as folder:
        write(report, folder, name)
        _write_flows(cells, folder / DATA)
    say(json_format.dumps(report.to_dict(), indent=2) if json else as_text(report, tables=True))
    sys.stderr.write(f"\nThe report: {(out / name).resolve().as_uri()}\n")


def _write_flows(cells: Mapping[str, Cell], folder: Path) -> None:
    """Write every fetch."""
    import polars as pl

    flows = pl.concat(cell.live.flows.with_columns(path=pl.lit(path)) for path, cell in cells.items())
    flows.write_parquet(folder / f"{FLOWS}.parquet")
