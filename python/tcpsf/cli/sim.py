"""`tcpsf sim`: simulate a scenario in one or more runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from tcpsf.cli import scenario_file
from tcpsf.cli.file_checks import put, staged_page
from tcpsf.cli.output import MARK, print_message, print_pieces, print_result, results_folder
from tcpsf.cli.progress import bar
from tcpsf.cli.spool import Spool
from tcpsf.cli.tables import TableWriter
from tcpsf.errors import TcpsfError
from tcpsf.pcap import Pcap, standard_output
from tcpsf.report import sim_output
from tcpsf.run_report.flow_trace import trace
from tcpsf.run_report.observed import observe
from tcpsf.run_report.run_page import run_page
from tcpsf.runs import Job, Progress, checked_seed, results_of
from tcpsf.scenario import Scenario
from tcpsf.sim_summary import Summary
from tcpsf.summary import RunSummary, SummaryFold
from tcpsf.summed import SummedRuns

STANDARD = Path("-")
"""The path of a capture that stands for standard output."""


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
    report: Path | None,
    flow: int | None,
    force: bool,
) -> None:
    """Simulate the runs, print their summary, and write the results and the page."""
    capture = _capture(pcap, pcap_at, pcap_bytes, runs=runs, replace=force)
    to_stdout = pcap == STANDARD
    if to_stdout and json:
        raise TcpsfError(
            "cannot write both `--json` and `--pcap -` to standard output",
            hint="give a file for `--pcap`",
        )
    if report is None and flow is not None:
        raise TcpsfError(
            f"cannot draw a flow: `--flow {flow}` without `--report`",
            hint="add `--report PAGE.html`",
        )
    checked_seed(seed + runs - 1)
    scenario = scenario_file.read(file, settings)
    seeds = range(seed, seed + runs)
    with Spool() as links:
        found = _Found(links, with_rows=json or out is not None)
        with contextlib.ExitStack() as stack:
            folder = (
                None if out is None else stack.enter_context(results_folder(out, replace=force))
            )
            page = stack.enter_context(staged_page(report, replace=force))
            with bar("simulating") as progress:
                _simulate(scenario, seeds, workers, folder, capture, progress, found.add)
            if page is not None:
                with bar("observing the first run") as progress:
                    content = _page(found.summed, seeds, flow, report, progress)
                put(page, report, lambda: content)
            if folder is not None:
                _write(folder, found, seeds)
        if json:
            print_pieces(found.as_json(seeds))
        else:
            (print_message if to_stdout else print_result)(str(Summary(found.summed, seeds=seeds)))


class _Found:
    """The sums over all runs, and the rows of the links of each run for the JSON."""

    def __init__(self, links: Spool, *, with_rows: bool) -> None:
        self.summed = SummedRuns()
        self._links = links
        self._with_rows = with_rows

    def add(self, run: RunSummary) -> None:
        self.summed.add(run)
        if self._with_rows:
            for link in run.links:
                self._links.add({"seed": run.provenance.seed, **link})

    def as_json(self, seeds: Sequence[int]) -> Iterator[str]:
        return sim_output.as_json(self.summed, seeds=seeds, links=self._links)


def _page(
    found: SummedRuns,
    seeds: Sequence[int],
    flow: int | None,
    report: Path | None,
    progress: Callable[[Progress], None] | None,
) -> str:
    """Repeat the first run to observe it, and return the page."""

    def move(share: float) -> None:
        if progress is not None:
            progress(Progress(done=share, finished=0, runs=1))

    source = found.source
    seen = observe(source.scenario, seed=source.seed, flow=flow, progress=move)
    traced = None if seen.flow is None else trace(source.scenario, seen.flow, seed=source.seed)
    folder = None if report is None else report.absolute().parent
    return run_page(found, seen, traced, seeds=seeds, folder=folder)


def _capture(
    path: Path | None,
    place: Literal["sender", "receiver", "both"] | None,
    snap_len: int | None,
    *,
    runs: int,
    replace: bool,
) -> Pcap | None:
    """Check the options of a capture, and return its settings."""
    if path is None:
        for option, value in (("--pcap-at", place), ("--pcap-bytes", snap_len)):
            if value is not None:
                raise TcpsfError(
                    f"cannot capture: `{option} {value}` without `--pcap`", hint="add `--pcap FILE`"
                )
        return None
    if runs > 1:
        raise TcpsfError(
            f"cannot write capture `{path}`: a capture has one run, but got `--runs {runs}`",
            hint="omit `--runs`, and choose the run with `--seed`",
        )
    chosen: dict[str, Any] = {"place": place, "snap_len": snap_len}
    given = {key: value for key, value in chosen.items() if value is not None}
    if path == STANDARD:
        return Pcap(path=standard_output(), replace=True, **given)
    return Pcap(path=path, replace=replace, **given)


def _simulate(
    scenario: Scenario,
    seeds: Sequence[int],
    workers: int | None,
    folder: Path | None,
    pcap: Pcap | None,
    progress: Callable[[Progress], None] | None,
    take: Callable[[RunSummary], None],
) -> None:
    """Make the runs, and pass their summaries to ``take`` in the order of the seeds."""
    writer = None if folder is None else TableWriter(folder, scenario)

    def job(seed: int) -> Job[RunSummary]:
        fold = SummaryFold if writer is None else lambda: writer.fold(seed, SummaryFold())
        return Job(scenario=scenario, seed=seed, fold=fold, pcap=pcap)

    jobs = (job(seed) for seed in seeds)
    with contextlib.closing(
        results_of(jobs, runs=len(seeds), workers=workers, progress=progress)
    ) as results:
        for summary in results:
            take(summary)
    if writer is not None:
        writer.finish(seeds)


def _write(folder: Path, found: _Found, seeds: Sequence[int]) -> None:
    source = found.summed.source
    provenance = sim_output.members(
        version=source.version, seeds=iter(seeds), scenario=source.scenario.to_dict()
    )
    for name, pieces in ((MARK, provenance), ("summary.json", found.as_json(seeds))):
        with (folder / name).open("w", encoding="utf-8") as file:
            file.writelines(pieces)
            file.write("\n")
