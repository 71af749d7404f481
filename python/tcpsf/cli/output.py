"""Printed output, and results on disk, which are written completely or not at all.

Files are written to a temporary folder beside the requested one, which is renamed when everything
is written (`tcpsf.staging`). After an error before that, such as a full disk or Ctrl-C, the
temporary folder is removed.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tcpsf.cli import verbosity
from tcpsf.cli.colour import labels
from tcpsf.cli.streams import abandon, one_line, to_stderr
from tcpsf.errors import OutputError, reason
from tcpsf.staging import partial_folder, shared_folder

MARK = "provenance.json"
"""A file in every folder of results. A folder without it is never replaced."""


def print_result(text: str) -> None:
    """Print a result to standard output."""
    print_pieces((text,))


def print_pieces(pieces: Iterable[str]) -> None:
    """Print a result in pieces, and flush it so that later messages appear after it."""
    with plain_output():
        sys.stdout.writelines(pieces)
        sys.stdout.write("\n")
        sys.stdout.flush()


@contextlib.contextmanager
def plain_output() -> Iterator[None]:
    """Convert a failure of standard output to `OutputError`. A closed pipe is not a failure."""
    try:
        yield
    except OSError as error:
        abandon(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            raise OutputError(
                f"cannot write to standard output: {reason(error)}",
                hint="redirect standard output to a file, or do not close it",
            ) from None


def print_message(text: str, *, always: bool = False) -> None:
    """Print a message to standard error; with `--quiet` only if ``always`` is true."""
    if always or not verbosity.is_quiet():
        to_stderr(labels(text))


def print_error(message: str, hint: str | None) -> None:
    """Print an error and its hint to standard error, each on one line."""
    to_stderr(
        labels(
            f"error: {one_line(message)}" + ("" if hint is None else f"\nhint: {one_line(hint)}")
        )
    )


def put_json(path: Path, data: Any) -> None:
    """Write plain data to a file as JSON, with indentation and a final line break."""
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


@contextlib.contextmanager
def results_folder(target: Path, *, replace: bool) -> Iterator[Path]:
    """Yield a folder to write to; it becomes ``target`` when the block ends without an error.

    Raises `OutputError` at the start, before the work, if the folder cannot be written.
    """
    with _plain_errors(target, "no results are kept; choose another folder with `--out`"):
        _refuse_if_taken(target, replace=replace)
        made = [parent for parent in target.parents if not parent.exists()]
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with partial_folder(target) as staging:
                # Another process may have finished in the meantime.
                _refuse_if_taken(target, replace=replace)
                yield staging
                _publish(staging, target)
                verbosity.detail("wrote folder `%s`", target)
            made.clear()
        finally:
            for parent in made:
                with contextlib.suppress(OSError):
                    parent.rmdir()


class Workshop:
    """A folder for results that take long to compute.

    Finished runs are kept in the folder, and an interrupted command continues from them. The
    results themselves are complete or absent: `MARK` is written last and removed first.
    """

    RUNS_FOLDER = ".runs"

    def __init__(self, target: Path, *, replace: bool) -> None:
        self._target = target
        with self._plain_errors():
            if (
                target.is_dir()
                and not (target / MARK).exists()
                and (target / self.RUNS_FOLDER).is_dir()
            ):
                return  # an interrupted attempt
            _refuse_if_taken(target, replace=replace)
            target.mkdir(parents=True, exist_ok=True)

    @property
    def runs_folder(self) -> Path:
        """Folder of the finished runs that an interrupted command left."""
        return self._target / self.RUNS_FOLDER

    @contextlib.contextmanager
    def work(
        self, kind: str, count: int, *, kept: str | None = None
    ) -> Iterator[Callable[[int], None]]:
        """Report errors and an interruption of a block that does ``count`` pieces of work.

        ``kind`` names the pieces, for example ``"runs"``. They are kept in ``kept`` or, by default,
        in this folder. Yields a function to call with the number of pieces that an earlier attempt
        has finished.
        """
        from tcpsf import text  # loads the statistics, which `--help` does not need

        def found(there: int) -> None:
            again = f", {text.plain(there, 0)} of them already finished" if there else ""
            print_message(f"{text.plain(count, 0)} {kind}{again}")

        try:
            with self._plain_errors():
                self.runs_folder.mkdir(exist_ok=True)
                with shared_folder(self.runs_folder):
                    yield found
        except KeyboardInterrupt:
            print_message(
                f"finished {kind} are kept in `{kept or self._target}`; "
                "run the same command again to continue"
            )
            raise

    @contextlib.contextmanager
    def results(self) -> Iterator[Path]:
        """Yield a folder to write all files to, including ``MARK``.

        The files replace earlier results when the block ends without an error.
        """
        with self._plain_errors(), partial_folder(self._target / "results") as staging:
            yield staging
            self._publish(staging)
            verbosity.detail("wrote the results to folder `%s`", self._target)

    def _publish(self, staging: Path) -> None:
        (self._target / MARK).unlink(missing_ok=True)
        for new in sorted(staging.iterdir(), key=lambda path: path.name == MARK):
            old = self._target / new.name
            if old.is_dir():
                shutil.rmtree(old)
            new.replace(old)

    def _plain_errors(self) -> contextlib.AbstractContextManager[None]:
        hint = (
            "finished runs are kept; run the same command again to continue, "
            "or choose another folder with `--out`"
        )
        return _plain_errors(self._target, hint)


def _refuse_if_taken(target: Path, *, replace: bool) -> None:
    if target.parent.exists() and not target.parent.is_dir():
        raise OutputError(
            f"cannot write results to `{target}`: `{target.parent}` is not a folder",
            hint="choose another folder",
        )
    taken = target.exists() and (not target.is_dir() or any(target.iterdir()))
    if not taken:
        return
    if not (target / MARK).is_file():
        raise OutputError(
            f"cannot write results to `{target}`: it exists and contains other files",
            hint="choose another folder",
        )
    if not replace:
        raise OutputError(
            f"cannot write results to `{target}`: it contains earlier results",
            hint="choose another folder, or replace them with `--force`",
        )


def _publish(staging: Path, target: Path) -> None:
    """Rename the finished folder to ``target``, so that no reader sees incomplete results."""
    if not target.is_dir() or not any(target.iterdir()):
        staging.replace(target)
        return
    with partial_folder(target.parent / f"{target.name}.old") as old:
        try:
            target.replace(old / "old")
            staging.replace(target)
        except BaseException:  # also on a signal: the block's end removes the earlier results
            if not target.exists():
                (old / "old").replace(target)
            raise


@contextlib.contextmanager
def _plain_errors(target: Path, hint: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"cannot write results to `{target}`: {reason(error)}", hint=hint
        ) from None
