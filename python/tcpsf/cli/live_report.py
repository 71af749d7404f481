"""Reports that are measured on live kernels.

They are `tcpsf reproduce smart-framing table-2`, `table-3` and `short-flows live`.
"""

from __future__ import annotations

import json as json_format
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from tcpsf.cli import colour
from tcpsf.cli.output import Workshop, print_message, print_result
from tcpsf.cli.paper_report import DATA, write
from tcpsf.cli.progress import bar
from tcpsf.evaluation.data import Report
from tcpsf.evaluation.live_experiments import ReportProgress
from tcpsf.live.cell import check, measure
from tcpsf.live.experiment import Acks, Through
from tcpsf.live.experiment_result import Live, LiveStore
from tcpsf.papers import smart_framing_testbed as published
from tcpsf.report.evaluation_text import as_text
from tcpsf.reproduce.short_flows import transfers as short
from tcpsf.reproduce.smart_framing.testbed import evaluate, prepare
from tcpsf.reproduce.smart_framing.testbed_read import Which

FLOWS = "flows"
"""Name of the file with all fetches."""

Found = Callable[[int], None]
"""Type of a function that receives the number of paths that an earlier attempt finished."""
Made = tuple[Report, Mapping[str, Live]]
"""A report, and the measured paths that it is based on."""


def tables(
    which: Which,
    *,
    full: bool,
    acks: Acks,
    rate: float | None,
    seed: int,
    json: bool,
    out: Path | None,
    force: bool,
    loss: published.Law = "proportional",
    through: Through = "server",
    objects: int | None = None,
    show: bool = True,
) -> None:
    """Measure a table of the Smart Framing paper, print its report, and write it.

    With ``None``, ``rate``, ``objects`` and ``out`` get defaults that depend on ``through``; see
    `prepare` for the first two.
    """
    wanted = prepare(
        which,
        scale=_scale(full=full),
        law=loss,
        acks=acks,
        through=through,
        objects=objects,
        rate=rate,
        seed=seed,
    )
    name = which if through == "server" else f"{which}-{through}"
    out = Path(f"tcpsf-{name}") if out is None else out

    def make(store: LiveStore, progress: ReportProgress | None, found: Found) -> Made:
        report, cells = evaluate(
            wanted, measure=measure, store=store, progress=progress, found=found
        )
        return report, {name: cell.live for name, cell in cells.items()}

    _make(
        make, paths=len(wanted.experiments), name=name, json=json, out=out, force=force, show=show
    )


def short_flows(
    *, full: bool, rate: float, seed: int, json: bool, out: Path, force: bool, show: bool = True
) -> None:
    """Measure the short-flow paper's transfers, print their report, and write it."""
    wanted = short.prepare(scale=_scale(full=full), rate=rate, seed=seed)

    def make(store: LiveStore, progress: ReportProgress | None, found: Found) -> Made:
        return short.evaluate(wanted, measure=measure, store=store, progress=progress, found=found)

    _make(
        make,
        paths=len(wanted.experiments),
        name="short-flows",
        json=json,
        out=out,
        force=force,
        show=show,
    )


def _scale(*, full: bool) -> Literal["full", "quick"]:
    return "full" if full else "quick"


def _make(
    make: Callable[[LiveStore, ReportProgress | None, Found], Made],
    *,
    paths: int,
    name: str,
    json: bool,
    out: Path,
    force: bool,
    show: bool,
) -> None:
    check()
    workshop = Workshop(out, replace=force)
    with workshop.work("paths", paths) as found, bar("measuring") as progress:
        report, lives = make(LiveStore(workshop.runs_folder), progress, found)
    page = f"{name}.html"
    with workshop.results() as folder:
        write(report, folder, page)
        _write_flows(lives, folder / DATA)
    if not show:
        return
    print_result(
        json_format.dumps(report.to_dict(), indent=2)
        if json
        else colour.results(as_text(report, tables=True))
    )
    print_message(f"\nThe report: {(out / page).resolve().as_uri()}")


def _write_flows(lives: Mapping[str, Live], folder: Path) -> None:
    """Write one row for each fetch of every path."""
    import polars as pl

    flows = pl.concat(live.flows.with_columns(path=pl.lit(path)) for path, live in lives.items())
    flows.write_parquet(folder / f"{FLOWS}.parquet")
