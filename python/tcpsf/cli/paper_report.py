"""`tcpsf reproduce PAPER`: a whole evaluation in a folder.

An interrupted command leaves its finished runs in the folder, or in the store of `--store`, and the
next one continues from them.
"""

from __future__ import annotations

import contextlib
import json as json_format
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from tcpsf.cli import colour
from tcpsf.cli.output import MARK, Workshop, print_message, print_result, put_json
from tcpsf.cli.progress import bar
from tcpsf.evaluation.data import Report
from tcpsf.evaluation.evaluate import Evaluation, evaluate
from tcpsf.report import tidy
from tcpsf.report.evaluation_page import page
from tcpsf.report.evaluation_text import as_text
from tcpsf.reproduce import packet_discard as packet_discard_paper
from tcpsf.reproduce import santa_cruz as santa_cruz_paper
from tcpsf.reproduce import short_flows as short_flows_paper
from tcpsf.reproduce import smart_framing as smart_framing_papers
from tcpsf.reproduce.smart_framing.exhibit_parts import Readings
from tcpsf.runs import checked_seed
from tcpsf.storage import Storage, open_storage
from tcpsf.store import RUNS, Store

DATA = "data"
"""Name of the folder with the Parquet files."""


def smart_framing(
    *, full: bool, only: Sequence[str], readings: Readings, seed: int, **where: Any
) -> None:
    """Make the folder of the Smart Framing papers' report."""
    wanted = smart_framing_papers.prepare(
        scale=_scale(full), readings=readings, seed=seed, only=only
    )
    _command(wanted, "smart-framing.html", **where)


def santa_cruz(*, full: bool, only: Sequence[str], seed: int, **where: Any) -> None:
    """Make the folder of the Santa Cruz paper's report."""
    _command(
        santa_cruz_paper.prepare(scale=_scale(full), seed=seed, only=only),
        "santa-cruz.html",
        **where,
    )


def packet_discard(
    *, full: bool, only: Sequence[str], readings: Readings, seed: int, **where: Any
) -> None:
    """Make the folder of the report on the Balanced Packet Discard paper."""
    wanted = packet_discard_paper.prepare(
        scale=_scale(full), readings=readings, seed=seed, only=only
    )
    _command(wanted, "packet-discard.html", **where)


def short_flows(
    *, full: bool, only: Sequence[str], readings: Readings, seed: int, **where: Any
) -> None:
    """Make the short-flow paper's report on its simulations."""
    wanted = short_flows_paper.prepare(scale=_scale(full), readings=readings, seed=seed, only=only)
    _command(wanted, "short-flows.html", **where)


def _scale(full: bool) -> Literal["quick", "full"]:
    return "full" if full else "quick"


def _command(
    wanted: Evaluation,
    name: str,
    *,
    workers: int | None,
    json: bool,
    out: Path,
    store: str | None,
    force: bool,
) -> None:
    """Make the report, print its findings and write it; ``name`` is the file name of the page."""
    storage = None if store is None else open_storage(store)
    report = made(wanted, name, workers=workers, out=out, storage=storage, force=force)
    print_result(
        json_format.dumps(report.to_dict(), indent=2) if json else colour.results(as_text(report))
    )
    print_message(f"\nThe report: {(out / name).resolve().as_uri()}")


def made(
    wanted: Evaluation,
    name: str,
    *,
    workers: int | None,
    out: Path,
    storage: Storage | None,
    force: bool,
) -> Report:
    """Make the report, write it to ``out`` and return it; ``name`` is the page's file name.

    The runs are kept in ``storage``; ``None`` stands for the folder of the report.
    """
    for seed in wanted.plan.seeds:
        checked_seed(seed)
    workshop = Workshop(out, replace=force)
    kept = None if storage is None else storage.location
    with (
        workshop.work("runs", len(wanted.plan.runs), kept=kept) as found,
        _store(storage, workshop) as store,
        bar("simulating") as progress,
    ):
        report = evaluate(wanted, store=store, workers=workers, progress=progress, found=found)
    with workshop.results() as folder:
        write(report, folder, name)
    return report


@contextlib.contextmanager
def _store(storage: Storage | None, workshop: Workshop) -> Iterator[Store]:
    """Yield the store of the runs. In ``storage`` it is the one that studies use."""
    if storage is None:
        yield Store(workshop.runs_folder)
        return
    with storage.shared(RUNS):
        yield Store(storage, folder=RUNS)


def write(report: Report, folder: Path, name: str) -> None:
    """Write the report as page, JSON and Parquet; ``name`` is the file name of the page."""
    (folder / name).write_text(page(report), encoding="utf-8")
    put_json(folder / "report.json", report.to_dict())
    (folder / DATA).mkdir()
    for file, content in tidy.parquet_files(report):
        (folder / DATA / f"{file}.parquet").write_bytes(content)
    put_json(folder / MARK, report.provenance.to_dict())
