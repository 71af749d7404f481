"""`tcpsf demo` and `tcpsf reproduce smart-framing table-1`."""

from __future__ import annotations

import json as json_format
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tcpsf.cli.output import MARK, print_message, print_result, put_json, results_folder
from tcpsf.cli.paper_report import write
from tcpsf.cli.progress import bar
from tcpsf.cli.setting import parsed
from tcpsf.papers import smart_framing as paper
from tcpsf.report import ladder
from tcpsf.reproduce.smart_framing import demo as demo_report
from tcpsf.reproduce.smart_framing import table_1_page
from tcpsf.reproduce.smart_framing.demo import Demo
from tcpsf.reproduce.smart_framing.table_1 import Table1
from tcpsf.reproduce.smart_framing.table_1 import table_1 as make_table_1
from tcpsf.reproduce.smart_framing.table_1_text import as_text

PAGE = "table-1.html"
DEMO_PAGE = "demo.html"


def demo(*, seed: int, workers: int | None, out: Path) -> None:
    """Simulate one lost segment and Table I in two readings, print them and write their page."""
    began = time.monotonic()
    command = f"tcpsf demo --seed {seed}"
    with results_folder(out, replace=True) as folder:
        with bar("simulating") as progress:
            text, closest = (
                make_table_1(
                    scale="demo", seed=seed, changes=changes, workers=workers, progress=progress
                )
                for changes in ({}, paper.CLOSEST)
            )
        made = Demo(flows=ladder.first_losses(), text=text, closest=closest)
        write(demo_report.as_report(made, command=command), folder, DEMO_PAGE)
    print_result(demo_report.as_text(made))
    page = (out / DEMO_PAGE).resolve().as_uri()
    print_message(f"\nElapsed time: {time.monotonic() - began:.0f} s. The page: {page}")


def table_1(
    *,
    full: bool,
    readings: Literal["text", "closest"],
    seed: int,
    workers: int | None,
    settings: Sequence[str],
    json: bool,
    out: Path | None,
    force: bool,
) -> None:
    """Make the table, print it and, with ``out``, write it."""
    scale: Literal["full", "quick"] = "full" if full else "quick"
    changes = {**(paper.CLOSEST if readings == "closest" else {}), **parsed(settings)}

    def make() -> Table1:
        with bar("simulating") as progress:
            return make_table_1(
                scale=scale, seed=seed, changes=changes, workers=workers, progress=progress
            )

    if out is None:
        result = make()
    else:
        with results_folder(out, replace=force) as folder:
            result = make()
            _write(result, folder)
    print_result(json_format.dumps(result.to_dict(), indent=2) if json else as_text(result))
    if out is not None:
        print_message(f"\nThe page: {_address(out)}")


def _write(result: Table1, folder: Path) -> None:
    (folder / PAGE).write_text(table_1_page.as_html(result), encoding="utf-8")
    put_json(folder / "table-1.json", result.to_dict())
    provenance = {key: source.to_dict() for key, source in result.provenance.items()}
    put_json(folder / MARK, {"seeds": list(result.seeds), "variants": provenance})


def _address(out: Path) -> str:
    return (out / PAGE).resolve().as_uri()
