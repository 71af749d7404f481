"""`tcpsf reproduce all`: the reports of all papers in one folder, and an index page."""

from __future__ import annotations

import json as json_format
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tcpsf import __version__
from tcpsf.cli.output import MARK, Workshop, print_message, print_result, put_json
from tcpsf.cli.paper_report import made, write
from tcpsf.errors import TcpsfError
from tcpsf.report import index as report_index
from tcpsf.report.index import (
    Index,
    ListedPaper,
    ListedReport,
    as_text,
    entries,
    summed,
    verdict_summary,
)
from tcpsf.reproduce import catalogue
from tcpsf.reproduce.catalogue import CataloguedReport
from tcpsf.storage import open_storage

PAGE = "index.html"
PROXIED = "-proxy"
"""Suffix of the key of a report that is measured through a proxy."""
NOT_SELECTED = "it is measured on live kernels, which needs the option `--live`"

Make = Callable[[Path], None]
"""Type of a function that writes a report to a folder."""


def command(
    *,
    full: bool,
    live: bool,
    only: Sequence[str],
    seed: int,
    workers: int | None,
    json: bool,
    out: Path,
    store: str | None,
    force: bool,
) -> None:
    """Make every report, one after the other, and the index.

    Runs that an earlier command finished are not simulated again.
    """
    storage = None if store is None else open_storage(store)
    papers, parts = catalogue.papers(only), catalogue.parts(only)
    began = time.monotonic()
    listed = []
    workshop = Workshop(out, replace=force)
    with workshop.work("reports", len(parts)) as found:
        found(sum((out / part.key / MARK).is_file() for part in parts))
        for part in parts:
            how = {"full": full, "seed": seed, "workers": workers, "storage": storage}
            listed.append(_listed(part, out, live=live, **how))
            print_message(f"{part.key}: {_line(listed[-1])}")
    index = Index(
        version=__version__,
        command=_command(full=full, live=live, only=only, seed=seed),
        scale="full" if full else "quick",
        papers=tuple(
            ListedPaper(
                key=paper.key,
                title=paper.title,
                citations=paper.citations,
                parts=tuple(each for each in listed if each.paper == paper.key),
            )
            for paper in papers
        ),
        seconds=round(time.monotonic() - began, 1),
    )
    with workshop.results() as folder:
        (folder / PAGE).write_text(report_index.page(index), encoding="utf-8")
        put_json(folder / "index.json", index.to_dict())
        put_json(folder / MARK, {"version": __version__, "command": index.command})
    print_result(json_format.dumps(index.to_dict(), indent=2) if json else as_text(index))
    print_message(f"\nThe index: {(out / PAGE).resolve().as_uri()}")


def _command(*, full: bool, live: bool, only: Sequence[str], seed: int) -> str:
    words = ["tcpsf reproduce all", "--full" if full else "--quick", f"--seed {seed}"]
    words += ["--live"] if live else []
    words += [f"--only {','.join(only)}"] if only else []
    return " ".join(words)


def _line(listed: ListedReport) -> str:
    if listed.status == "not run":
        return f"not run: {listed.reason}"
    return f"{verdict_summary(listed.verdicts)}; {listed.seconds:.0f} s"


def _listed(part: CataloguedReport, out: Path, *, live: bool, **how: Any) -> ListedReport:
    """Make a report in its folder below ``out``, and return its entry in the index."""
    began = time.monotonic()
    folder = out / part.key
    reason = ""
    page = f"{part.key}.html"
    if part.kind == "live":
        reason = _measured(part, folder, **how) if live else NOT_SELECTED
        # The command chooses the page's name.
        page = "" if reason else next(folder.glob("*.html")).name
    else:
        (_simulated if part.kind == "simulated" else _closed)(part, folder, page, **how)
    words = f"tcpsf {part.words}" + (
        "" if part.kind == "closed" else f" --{'full' if how['full'] else 'quick'}"
    )
    found = (
        ()
        if reason
        else entries(json_format.loads((folder / "report.json").read_bytes()), f"{part.key}/{page}")
    )
    return ListedReport(
        key=part.key,
        paper=part.paper,
        kind=part.kind,
        what=part.what,
        command=words,
        status="not run" if reason else "made",
        reason=reason,
        page="" if reason else f"{part.key}/{page}",
        entries=found,
        verdicts=summed([entry.verdicts for entry in found]),
        seconds=None if reason else round(time.monotonic() - began, 1),
    )


def _simulated(
    part: CataloguedReport, folder: Path, page: str, *, full: bool, seed: int, **options: Any
) -> None:
    wanted = catalogue.prepare(part.paper, scale="full" if full else "quick", seed=seed)
    made(wanted, page, out=folder, force=True, **options)


def _closed(part: CataloguedReport, folder: Path, page: str, **_how: Any) -> None:
    from tcpsf.reproduce.closed_models import model_section

    workshop = Workshop(folder, replace=True)
    with workshop.results() as staging:
        write(model_section(part.section or "", command=f"tcpsf {part.words}"), staging, page)


def _measured(part: CataloguedReport, folder: Path, *, full: bool, seed: int, **_how: Any) -> str:
    """Measure on live kernels. Return the reason if this is not possible, otherwise ``""``."""
    from tcpsf.cli import live_report
    from tcpsf.reproduce.short_flows.transfers import RATE as TRANSFER_RATE

    common: dict[str, Any] = {
        "full": full, "seed": seed, "json": False, "out": folder, "force": True, "show": False,
    }  # fmt: skip
    try:
        if part.key == "short-flows-live":
            live_report.short_flows(rate=TRANSFER_RATE, **common)
        else:
            which: Any = part.key.removesuffix(PROXIED)
            through: Any = "proxy" if part.key.endswith(PROXIED) else "server"
            live_report.tables(which, through=through, acks="kernel", rate=None, **common)
    except TcpsfError as error:
        return str(error)
    return ""
