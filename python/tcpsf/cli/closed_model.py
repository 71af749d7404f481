"""`tcpsf model`: the values of a closed-form model as text, JSON or a page."""

from __future__ import annotations

import json as json_format
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tcpsf.cli import colour
from tcpsf.cli.output import MARK, print_message, print_result, put_json, results_folder
from tcpsf.errors import TcpsfError
from tcpsf.evaluation.data import Report
from tcpsf.report import model_sheets
from tcpsf.report.chains import SOURCE
from tcpsf.report.chains import as_text as chains_as_text
from tcpsf.report.evaluation_page import page
from tcpsf.report.evaluation_text import as_findings
from tcpsf.report.sheet import Sheet, as_text
from tcpsf.report.sheet import report as make_report

PAGE = "model.html"


def show(
    make: Callable[..., Sheet],
    *,
    json: bool,
    out: Path | None,
    force: bool,
    line: str,
    **arguments: Any,
) -> None:
    """Compute the values, print them and, with ``out``, write the page."""
    sheet = make(**arguments)
    if out is not None:
        report = make_report(
            [sheet.section()], title=sheet.title, subtitle=sheet.source, command=line
        )
        _write(report, out, sheet.to_dict(), force=force)
    print_result(json_format.dumps(sheet.to_dict(), indent=2) if json else as_text(sheet))
    _report_page(out)


CHAIN_LOSS = 0.05
"""Default loss probability of `--chain`."""


def chains(
    *,
    loss: tuple[float, ...],
    chosen: bool,
    net: bool,
    json: bool,
    out: Path | None,
    force: bool,
    line: str,
    **arguments: Any,
) -> None:
    """Print the Markov chains of the small-window region; with ``out``, write a page with them.

    ``chosen`` says whether ``loss`` was given on the command line.
    """
    if chosen and len(loss) != 1:
        raise TcpsfError(
            f"`--loss {','.join(f'{each:g}' for each in loss)}`: cannot show the chains for "
            f"{len(loss)} loss probabilities",
            hint="give one probability with `--chain`: `--loss 0.05`",
        )
    if net:
        raise TcpsfError(
            "`--net`: cannot be used with `--chain`",
            hint="omit `--net`: headers do not change the states of a chain",
        )
    found = model_sheets.small_window_chains(loss=loss[0] if chosen else CHAIN_LOSS, **arguments)
    if out is not None:
        section = found.section()
        report = make_report(
            [section], title="TCP Smart Framing: chains", subtitle=SOURCE, command=line
        )
        _write(report, out, found.to_dict(), force=force)
    print_result(json_format.dumps(found.to_dict(), indent=2) if json else chains_as_text(found))
    _report_page(out)


def best_framing(*, sender: str, rto: float, rto_min: float, **arguments: Any) -> Sheet:
    """Compute the sheet of the model from the command's options."""
    from tcpsf.models import best_framing as bf

    rack = sender == "linux"
    detection = bf.linux(rtt=arguments["rtt"], rto_min=rto_min) if rack else bf.duplicates(rto=rto)
    objective, most = arguments.pop("objective"), arguments.pop("most_segments")
    arguments["window_counts"] = arguments["window_counts"] or ("packets" if rack else "bytes")
    case = bf.ReplyCase(sender=detection, **arguments)
    return model_sheets.best_framing(case, objective=objective, most_segments=most)


def report(*, json: bool, out: Path, force: bool, line: str) -> None:
    """Write the page of all closed-form models, and print its findings."""
    from tcpsf.reproduce.closed_models import model_report

    found = model_report(command=line)
    data = {
        "schema": "tcpsf.model-report/2",
        "conclusion": found.conclusion.to_dict(),
        "findings": [
            finding.to_dict() for section in found.sections for finding in section.findings
        ],
        "figures": [figure.to_dict() for section in found.sections for figure in section.figures],
    }
    _write(found, out, data, force=force)
    print_result(json_format.dumps(data, indent=2) if json else colour.results(as_findings(found)))
    _report_page(out)


def _write(report: Report, out: Path, data: dict[str, Any], *, force: bool) -> None:
    with results_folder(out, replace=force) as folder:
        (folder / PAGE).write_text(page(report), encoding="utf-8")
        put_json(folder / "model.json", data)
        provenance = {"version": report.provenance.version, "command": report.provenance.command}
        put_json(folder / MARK, provenance)


def _report_page(out: Path | None) -> None:
    if out is not None:
        print_message(f"\nThe page: {(out / PAGE).resolve().as_uri()}")
