"""Results on disk: whole or not at all.

Files are written to a folder beside the one asked for, which gets its name when everything is there. Whatever goes
wrong before, a full disk or Ctrl-C, takes that folder away again.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tcpsf.errors import OutputError

MARK = "provenance.json"
"""Every results folder has this file; a folder without it is not ours to replace."""


def say(text: str) -> None:
    """Print a result. It is flushed, so that what goes to standard error next comes after it."""
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except OSError as error:
        # What is still in the buffer must not be tried again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # a reader who has seen enough is no error
            raise OutputError(f"cannot write to standard output: {_reason(error)}") from None


def put_json(path: Path, data: Any) -> None:
    """Write plain data as JSON."""
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


@contextlib.contextmanager
def results_folder(target: Path, *, replace: bool) -> Iterator[Path]:
    """Yield a folder to write to; it becomes ``target`` when the block ends without an error.

    A folder that cannot be written is noticed here, before the work and not after it.
    """
    _refuse_if_taken(target, replace=replace)
    staging = target.parent / f".{target.name}.partial-{os.getpid()}"
    made = [parent for parent in target.parents if not parent.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        staging.mkdir()
        yield staging
        _publish(staging, target)
        made.clear()
    except OSError as error:
        raise OutputError(
            f"cannot write results to `{target}`: {_reason(error)}",
            hint="nothing was kept; name another folder with `--out`",
        ) from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        for parent in made:
            with contextlib.suppress(OSError):
                parent.rmdir()


class Workshop:
    """A folder for results that take long: what is finished stays there, so that the next attempt goes on from it.

    Results themselves are still whole or not at all: the mark comes last and goes first.
    """

    KEPT = ".runs"

    def __init__(self, target: Path, *, replace: bool) -> None:
        self._target = target
        if target.is_dir() and not (target / MARK).exists() and (target / self.KEPT).is_dir():
            return  # an interrupted attempt
        _refuse_if_taken(target, replace=replace)
        with self._plain_errors():
            target.mkdir(parents=True, exist_ok=True)

    @property
    def kept(self) -> Path:
        """Where finished work is kept between attempts."""
        return self._target / self.KEPT

    @contextlib.contextmanager
    def work(self, kind: str, count: int) -> Iterator[Callable[[int], None]]:
        """Do what may find the folder full or gone, or be interrupted: so many runs, paths or whatever ``kind`` says.

        Yields what is to be told how many of them were kept by an earlier attempt.
        """

        def found(there: int) -> None:
            again = f", {there} of them there already" if there else ""
            sys.stderr.write(f"{count} {kind}{again}\n")

        try:
            with self._plain_errors():
                yield found
        except KeyboardInterrupt:
            sys.stderr.write(f"finished {kind} are kept in `{self._target}`; the same command goes on from them\n")
            raise

    @contextlib.contextmanager
    def results(self) -> Iterator[Path]:
        """Yield a folder to write to, ``MARK`` included; its files replace earlier results when the block ends."""
        staging = self._target / f".partial-{os.getpid()}"
        with self._plain_errors():
            try:
                staging.mkdir()
                yield staging
                self._publish(staging)
            finally:
                shutil.rmtree(staging, ignore_errors=True)

    def _publish(self, staging: Path) -> None:
        (self._target / MARK).unlink(missing_ok=True)
        for new in sorted(staging.iterdir(), key=lambda path: path.name == MARK):
            old = self._target / new.name
            if old.is_dir():
                shutil.rmtree(old)
            new.replace(old)

    @contextlib.contextmanager
    def _plain_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(
                f"cannot write results to `{self._target}`: {_reason(error)}",
                hint="finished runs are kept; the same command goes on from them, or name another folder with `--out`",
            ) from None


def _refuse_if_taken(target: Path, *, replace: bool) -> None:
    if target.parent.exists() and not target.parent.is_dir():
        raise OutputError(
            f"cannot write results to `{target}`: `{target.parent}` is not a folder", hint="name another folder"
        )
    taken = target.exists() and (not target.is_dir() or any(target.iterdir()))
    if not taken:
        return
    if not (target / MARK).is_file():
        raise OutputError(
            f"cannot write results to `{target}`: it exists and holds something else", hint="name another folder"
        )
    if not replace:
        raise OutputError(
            f"cannot write results to `{target}`: it holds earlier results",
            hint="name another folder, or let `--force` replace them",
        )


def _publish(staging: Path, target: Path) -> None:
    """Move the finished folder to its place; a rename, so nobody sees half of it."""
    if not target.is_dir() or not any(target.iterdir()):
        staging.replace(target)
        return
    old = target.parent / f".{target.name}.old-{os.getpid()}"
    target.replace(old)
    try:
        staging.replace(target)
    except OSError:
        old.replace(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
