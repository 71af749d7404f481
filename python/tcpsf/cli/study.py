"""`tcpsf sweep`: run, inspect and merge studies."""

from __future__ import annotations

import contextlib
import json as json_format
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tcpsf import _core, text
from tcpsf.chart import page_of
from tcpsf.cli import colour
from tcpsf.cli.file_checks import refuse_if_taken
from tcpsf.cli.output import (
    MARK,
    print_message,
    print_pieces,
    print_result,
    put_json,
    results_folder,
)
from tcpsf.cli.progress import bar
from tcpsf.cli.setting import parsed
from tcpsf.errors import StudyError
from tcpsf.report import study_output as report
from tcpsf.scenario import packaged
from tcpsf.staging import write_file
from tcpsf.storage import open_storage
from tcpsf.studies.dask_pool import dask_pool
from tcpsf.studies.definition import Study
from tcpsf.studies.running import WHOLE, Shard, StudyRuns
from tcpsf.studies.study_results import StudyResults, results_of
from tcpsf.studies.study_state import state_of
from tcpsf.studies.sweep import checked_plan, sweep
from tcpsf.studies.sweep import merge as merge_stores
from tcpsf.studies.tasks import TaskExecutor

STARTER = "studies/starter.toml"
"""The file of the package's examples that `tcpsf sweep init` writes."""


def init(*, file: Path, force: bool) -> None:
    """Write the commented study."""
    refuse_if_taken("FILE", file, replace=force)
    content = packaged.folder().joinpath(STARTER).read_text(encoding="utf-8")
    write_file(file, content.replace("FILE", str(file)))
    print_message(f"wrote `{file}`; next: tcpsf sweep {file} --out results")


def run(
    *,
    file: Path,
    store: str | None,
    shard: tuple[int, int] | None,
    workers: int | None,
    dask: str | None,
    runs: int | None,
    settings: Sequence[str],
    measures: Sequence[str],
    json: bool,
    out: Path | None,
    force: bool,
) -> None:
    """Simulate the missing runs of a study, and print its results."""
    study = _study(file, settings, runs)
    where = _store(file, store)
    part = Shard(*shard) if shard else WHOLE
    with contextlib.ExitStack() as stack:
        folder = None if out is None else stack.enter_context(results_folder(out, replace=force))
        executor, at_once = stack.enter_context(_executor(dask, workers))
        with _kept(where):
            progress = stack.enter_context(bar("simulating"))
            found = sweep(
                study,
                store=where,
                shard=part,
                workers=at_once,
                executor=executor,
                progress=progress,
                found=_announce,
            )
        if part is not WHOLE and not found.is_complete:
            print_message(
                f"shard {part.part}/{part.of} is complete; {found.complete} of {found.points} points of the study are"
            )
            return
        if folder is not None:
            _write(folder, found)
    _show(found, measures, json=json)


def _announce(there: int, missing: int) -> None:
    stored = f", {there} of them already stored" if there else ""
    print_message(f"{text.count(there + missing, 'run')}{stored}")


@contextlib.contextmanager
def _kept(store: str) -> Iterator[None]:
    """Say after an interruption that finished runs are kept."""
    try:
        yield
    except KeyboardInterrupt:
        print_message(
            f"finished runs are kept in `{store}`; run the same command again to continue"
        )
        raise


@contextlib.contextmanager
def _executor(
    dask: str | None, workers: int | None
) -> Iterator[tuple[TaskExecutor | None, int | None]]:
    if dask is None:
        yield None, workers
        return
    with dask_pool(dask, workers=workers) as pool:
        yield pool, pool.workers()


def status(
    *, file: Path, store: str | None, runs: int | None, settings: Sequence[str], json: bool
) -> None:
    """Print how many runs of a study are stored."""
    study = _study(file, settings, runs)
    found = state_of(study, open_storage(_store(file, store)))
    if json:
        print_result(json_format.dumps(report.state_json(found)))
    else:
        print_result(report.state_text(found))


def show(
    *,
    file: Path,
    store: str | None,
    runs: int | None,
    settings: Sequence[str],
    measures: Sequence[str],
    json: bool,
    out: Path | None,
    force: bool,
) -> None:
    """Print the results of a study's complete points."""
    study = _study(file, settings, runs)
    storage = open_storage(_store(file, store))
    found = results_of(StudyRuns(checked_plan(study, storage), storage))
    if found.complete == 0:
        state = state_of(study, storage)
        changed = "the study, its scenario or tcpsf has changed since other runs were stored; "
        raise StudyError(
            f"cannot show study `{study.name}`: no point has all its runs in `{storage.location}`",
            hint=(changed if state.other_versions else "")
            + f"simulate with `tcpsf sweep run {file}`",
        )
    if not found.is_complete:
        print_message(
            f"note: {found.complete} of {found.points} points are complete; "
            f"`tcpsf sweep run {file}` simulates the others"
        )
    if out is not None:
        with results_folder(out, replace=force) as folder:
            _write(folder, found)
    _show(found, measures, json=json)


def merge(
    *,
    file: Path,
    sources: Sequence[str],
    store: str | None,
    runs: int | None,
    settings: Sequence[str],
) -> None:
    """Copy the runs of a study from other stores."""
    study = _study(file, settings, runs)
    where = _store(file, store)
    left = iter(sources)

    def announce(copied: int, damaged: int) -> None:
        note = f"; {text.count(damaged, 'damaged file')} not copied" if damaged else ""
        print_message(f"copied {text.count(copied, 'run')} from `{next(left)}`{note}")

    found = merge_stores(study, store=where, sources=list(sources), found=announce)
    print_message(f"{found.complete} of {found.points} points are complete")


def _show(found: StudyResults, measures: Sequence[str], *, json: bool) -> None:
    if json:
        print_pieces(report.results_json(found, measures))
    else:
        print_result(colour.results(report.results_text(found, measures)))


def _write(folder: Path, found: StudyResults) -> None:
    """Write the results as Parquet and JSON, and the plots as a page and as SVG."""
    plots = found.figures()
    for each in plots:
        (folder / f"{each.key}.svg").write_text(each.svg(), encoding="utf-8")
    if plots:
        title = found.study.title or found.study.name
        (folder / f"{found.study.name}.html").write_text(
            page_of(plots, title=title), encoding="utf-8"
        )
    found.frame.write_parquet(folder / "results.parquet")
    with (folder / "study.json").open("w", encoding="utf-8") as file:
        file.writelines(report.results_json(found))
        file.write("\n")
    put_json(folder / MARK, {"study": found.study.to_dict(), "version": _core.version})


def _study(file: Path, settings: Sequence[str], runs: int | None) -> Study:
    """Read the study, and change its settings and its number of runs."""
    changes: dict[str, Any] = {
        key: "" if value is None else value for key, value in parsed(settings).items()
    }
    return Study.from_toml(file).changed(settings=changes, runs=runs)


def _store(file: Path, store: str | None) -> str:
    """Return the location of the store: beside the study's file by default."""
    return store or str(file.with_suffix(".store"))
