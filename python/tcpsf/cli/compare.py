"""`tcpsf compare`: simulate a scenario with several senders, and test the differences."""

from __future__ import annotations

import contextlib
import json as plain_json
from collections.abc import Sequence
from pathlib import Path

from tcpsf.cli import colour, scenario_file
from tcpsf.cli.output import MARK, print_result, put_json, results_folder
from tcpsf.cli.progress import bar
from tcpsf.compared import Comparison
from tcpsf.comparison import compare
from tcpsf.report import comparison_output as report
from tcpsf.runs import checked_seed


def command(
    *,
    file: Path,
    senders: Sequence[str],
    workloads: Sequence[str],
    seed: int,
    runs: int,
    workers: int | None,
    settings: Sequence[str],
    json: bool,
    out: Path | None,
    force: bool,
) -> None:
    """Simulate the runs, print the comparison and, with ``out``, write it."""
    checked_seed(seed + runs - 1)
    scenario = scenario_file.read(file, settings)
    with contextlib.ExitStack() as stack:
        folder = None if out is None else stack.enter_context(results_folder(out, replace=force))
        with scenario_file.simulating(file), bar("simulating") as progress:
            found = compare(
                scenario,
                senders=senders,
                workloads=workloads or None,
                seeds=range(seed, seed + runs),
                workers=workers,
                progress=progress,
            )
        if folder is not None:
            _write(folder, found)
    print_result(
        plain_json.dumps(report.as_json(found), indent=2) if json else colour.results(str(found))
    )


def _write(folder: Path, found: Comparison) -> None:
    """Write the comparison as Parquet and JSON, with its provenance."""
    found.to_frame().write_parquet(folder / "comparison.parquet")
    put_json(folder / "comparison.json", report.as_json(found))
    provenance = {
        "version": found.version,
        "seeds": list(found.seeds),
        "senders": list(found.senders),
        "workloads": list(found.workloads),
        "scenario": found.scenario.to_dict(),
    }
    put_json(folder / MARK, provenance)
