"""`tcpsf sim`: one scenario, one or more runs."""

from __future__ import annotations

import contextlib
import json as json_format
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from tcpsf.cli.output import MARK, put_json, results_folder, say, talk
from tcpsf.cli.progress import bar
from tcpsf.cli.setting import changed, parsed
from tcpsf.cli.tables import TableWriter
from tcpsf.errors import ScenarioError, TcpsfError
from tcpsf.pcap import Pcap, standard_output
from tcpsf.report import sim as report
from tcpsf.runs import Job, Progress, checked_seed, results_of
from tcpsf.scenario import Scenario
from tcpsf.summary import RunSummary, SummaryFold

STANDARD = Path("-")
"""Standard input for a scenario, standard output for a capture."""


def command(
    *,
    file: Path,
    seed: int,
    runs: int,
    workers: int | None,
    settings: Sequence[str],
    json: bool,
    out: Path | None,
    pcap: Path | None,
    pcap_at: Literal["sender", "receiver", "both"] | None,
    pcap_bytes: int | None,
    force: bool,
) -> None:
    """Simulate, print, and if asked write."""
    capture = _capture(pcap, pcap_at, pcap_bytes, runs=runs, replace=force)
    to_stdout = pcap == STANDARD
    if to_stdout and json:
        raise TcpsfError(
            "cannot write `--json` and `--pcap -` both to standard output", hint="name a file for `--pcap`"
        )
    checked_seed(seed + runs - 1)
    scenario = _scenario(file)
    for path, value in parsed(settings).items():
        scenario = changed(scenario, path, value)
    with contextlib.ExitStack() as stack:
        folder = None if out is None else stack.enter_context(results_folder(out, replace=force))
        with bar("simulating") as progress:
            summaries = _simulate(file, scenario, range(seed, seed + runs), workers, folder, capture, progress)
        data = report.as_dict(summaries)
        if folder is not None:
            _write(folder, data)
    (talk if to_stdout else say)(json_format.dumps(data, indent=2) if json else report.as_text(summaries))


def _scenario(file: Path) -> Scenario:
    """Read the scenario from a file or from standard input."""
    if file != STANDARD:
        return Scenario.from_toml(file)
    try:
        return Scenario.from_toml_text(sys.stdin.buffer.read().decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ScenarioError("cannot read scenario `-`: it is not text in UTF-8") from None
    except ScenarioError as error:
        raise ScenarioError(f"cannot read scenario `-`: {error}", hint=error.hint) from None


def _capture(
    path: Path | None,
    place: Literal["sender", "receiver", "both"] | None,
    snap_len: int | None,
    *,
    runs: int,
    replace: bool,
) -> Pcap | None:
    """Make sense of the options about a capture."""
    if path is None:
        for option, value in (("--pcap-at", place), ("--pcap-bytes", snap_len)):
            if value is not None:
                raise TcpsfError(f"cannot capture: `{option} {value}` without `--pcap`", hint="add `--pcap FILE`")
        return None
    if runs > 1:
        raise TcpsfError(
            f"cannot write capture `{path}`: one file, but `--runs {runs}`",
            hint="leave `--runs` out; `--seed` says which run",
        )
    chosen: dict[str, Any] = {"place": place, "snap_len": snap_len}
    given = {key: value for key, value in chosen.items() if value is not None}
    if path == STANDARD:
        return Pcap(path=standard_output(), replace=True, **given)
    return Pcap(path=path, replace=replace, **given)


def _simulate(
    file: Path,
    scenario: Scenario,
    seeds: Sequence[int],
    workers: int | None,
    folder: Path | None,
    pcap: Pcap | None,
    progress: Callable[[Progress], None] | None,
) -> list[RunSummary]:
    writer = None if folder is None else TableWriter(folder, scenario)

    def job(seed: int) -> Job[RunSummary]:
        fold = SummaryFold if writer is None else lambda: writer.fold(seed, SummaryFold())
        return Job(scenario=scenario, seed=seed, fold=fold, pcap=pcap)

    jobs = (job(seed) for seed in seeds)
    try:
        with contextlib.closing(results_of(jobs, runs=len(seeds), workers=workers, progress=progress)) as results:
            summaries = list(results)
    except ScenarioError as error:
        raise ScenarioError(f"cannot simulate `{file}`: {error}", hint=error.hint) from None
    if writer is not None:
        writer.finish(seeds)
    return summaries


def _write(folder: Path, data: dict[str, Any]) -> None:
    provenance = {key: data[key] for key in ("version", "seeds", "scenario")}
    for name, content in ((MARK, provenance), ("summary.json", data)):
        put_json(folder / name, content)
