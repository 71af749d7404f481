"""`tcpsf sim`: one scenario, one or more runs."""

from __future__ import annotations

import contextlib
import json as json_format
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tcpsf.cli.output import MARK, results_folder, say
from tcpsf.cli.progress import bar
from tcpsf.cli.tables import TableWriter
from tcpsf.errors import ScenarioError, TcpsfError
from tcpsf.report import sim as report
from tcpsf.runs import Job, Progress, run_jobs
from tcpsf.scenario import Scenario
from tcpsf.summary import RunSummary, SummaryFold


def command(
    *,
    file: Path,
    seed: int,
    runs: int,
    workers: int | None,
    changes: Sequence[str],
    json: bool,
    out: Path | None,
    force: bool,
) -> None:
    """Simulate, print, and if asked write."""
    scenario = Scenario.from_toml(file)
    for change in changes:
        scenario = changed(scenario, change)
    with contextlib.ExitStack() as stack:
        folder = None if out is None else stack.enter_context(results_folder(out, replace=force))
        with bar("simulating") as progress:
            summaries = _simulate(file, scenario, range(seed, seed + runs), workers, folder, progress)
        data = report.as_dict(summaries)
        if folder is not None:
            _write(folder, data)
    say(json_format.dumps(data, indent=2) if json else report.as_text(summaries))


def changed(scenario: Scenario, change: str) -> Scenario:
    """Apply one ``--set``. The value is read as TOML, and as text where that makes no sense of it.

    An empty value takes the key away.
    """
    path, equals, text = change.partition("=")
    if not equals or not path:
        raise TcpsfError(f"cannot make sense of `--set {change}`", hint="write it as `--set workload.web.load=0.5`")
    try:
        return scenario.with_value(path.strip(), _value(text.strip()))
    except ScenarioError as error:
        raise ScenarioError(f"cannot apply `--set {change}`: {error}", hint=error.hint) from None


def _value(text: str) -> object:
    if not text:
        return None
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _simulate(
    file: Path,
    scenario: Scenario,
    seeds: Sequence[int],
    workers: int | None,
    folder: Path | None,
    progress: Callable[[Progress], None] | None,
) -> list[RunSummary]:
    writer = None if folder is None else TableWriter(folder)

    def job(seed: int) -> Job[RunSummary]:
        fold = SummaryFold if writer is None else lambda: writer.fold(seed, SummaryFold())
        return Job(scenario=scenario, seed=seed, fold=fold)

    try:
        summaries = run_jobs([job(seed) for seed in seeds], workers=workers, progress=progress)
    except ScenarioError as error:
        raise ScenarioError(f"cannot simulate `{file}`: {error}", hint=error.hint) from None
    if writer is not None:
        writer.finish(seeds)
    return summaries


def _write(folder: Path, data: dict[str, Any]) -> None:
    provenance = {key: data[key] for key in ("version", "seeds", "scenario")}
    for name, content in ((MARK, provenance), ("summary.json", data)):
        (folder / name).write_text(json_format.dumps(content, indent=2) + "\n", encoding="utf-8")
