"""Results on disk: whole or not at all.

Files are written to a folder beside the one asked for, which gets its name when everything is there
(`tcpsf.staging`). Whatever goes wrong before, a full disk or Ctrl-C, takes that folder away again.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from tcpsf.errors import OutputError
from tcpsf.staging import partial_folder, shared_folder

MARK = "provenance.json"
"""Every results folder has this file; a folder without it is not ours to replace."""


BREAKS = {"Cc", "Zl", "Zp"}
"""Unicode's categories of control characters, line separators and paragraph separators."""


def fill_standard_streams() -> None:
    """Give the program the standard streams that its caller has closed.

    A file that is opened later would take their numbers, and what is printed would go there.
    Writing to a standard output that was closed fails, as it does for other programs; what goes to
    a closed standard error is lost.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(
                os.open(os.devnull, flags), True
            )  # the lowest number that is free: this one
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def say(text: str) -> None:
    """Print a result."""
    say_all((text,))


def say_all(pieces: Iterable[str]) -> None:
    """Print a result that comes in pieces. It is flushed, so that what goes to standard error next comes after it."""
    with plain_output():
        sys.stdout.writelines(pieces)
        sys.stdout.write("\n")
        sys.stdout.flush()


@contextlib.contextmanager
def plain_output() -> Iterator[None]:
    """Turn a failure of standard output into one line. A reader who has seen enough is no failure."""
    try:
        yield
    except OSError as error:
        _abandon(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            raise OutputError(
                f"cannot write to standard output: {reason(error)}",
                hint="redirect it to a file, or leave it open",
            ) from None


def talk(text: str) -> None:
    """Print a line for the person at the terminal. If it cannot be printed, the work goes on without it."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except OSError:
        _abandon(sys.stderr)


def _abandon(stream: TextIO) -> None:
    """Keep what is still in a stream's buffer from being tried again at exit."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def one_line(text: str) -> str:
    r"""Return a message without line breaks and control characters, which names of files may have.

    >>> one_line("a\nb\u2028c")
    'a\\nb\\u2028c'
    """
    return "".join(
        repr(each)[1:-1] if unicodedata.category(each) in BREAKS else each for each in text
    )


def put_json(path: Path, data: Any) -> None:
    """Write plain data as JSON."""
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


@contextlib.contextmanager
def results_folder(target: Path, *, replace: bool) -> Iterator[Path]:
    """Yield a folder to write to; it becomes ``target`` when the block ends without an error.

    A folder that cannot be written is noticed here, before the work and not after it.
    """
    with _plain_errors(target, "nothing was kept; name another folder with `--out`"):
        _refuse_if_taken(target, replace=replace)
        made = [parent for parent in target.parents if not parent.exists()]
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with partial_folder(target) as staging:
                _refuse_if_taken(
                    target, replace=replace
                )  # another process may have finished meanwhile
                yield staging
                _publish(staging, target)
            made.clear()
        finally:
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
        with self._plain_errors():
            if target.is_dir() and not (target / MARK).exists() and (target / self.KEPT).is_dir():
                return  # an interrupted attempt
            _refuse_if_taken(target, replace=replace)
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
            talk(f"{count} {kind}{again}")

        try:
            with self._plain_errors():
                self.kept.mkdir(exist_ok=True)
                with shared_folder(self.kept):
                    yield found
        except KeyboardInterrupt:
            talk(
                f"finished {kind} are kept in `{self._target}`; the same command goes on from them"
            )
            raise

    @contextlib.contextmanager
    def results(self) -> Iterator[Path]:
        """Yield a folder to write to, ``MARK`` included; its files replace earlier results when the block ends."""
        with self._plain_errors(), partial_folder(self._target / "results") as staging:
            yield staging
            self._publish(staging)

    def _publish(self, staging: Path) -> None:
        (self._target / MARK).unlink(missing_ok=True)
        for new in sorted(staging.iterdir(), key=lambda path: path.name == MARK):
            old = self._target / new.name
            if old.is_dir():
                shutil.rmtree(old)
            new.replace(old)

    def _plain_errors(self) -> contextlib.AbstractContextManager[None]:
        hint = "finished runs are kept; the same command goes on from them, or name another folder with `--out`"
        return _plain_errors(self._target, hint)


def _refuse_if_taken(target: Path, *, replace: bool) -> None:
    if target.parent.exists() and not target.parent.is_dir():
        raise OutputError(
            f"cannot write results to `{target}`: `{target.parent}` is not a folder",
            hint="name another folder",
        )
    taken = target.exists() and (not target.is_dir() or any(target.iterdir()))
    if not taken:
        return
    if not (target / MARK).is_file():
        raise OutputError(
            f"cannot write results to `{target}`: it exists and holds something else",
            hint="name another folder",
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
    with partial_folder(target.parent / f"{target.name}.old") as old:
        try:
            target.replace(old / "old")
            staging.replace(target)
        except BaseException:  # a signal, too: the earlier results are removed with the block
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


def reason(error: OSError) -> str:
    """Say in the system's words why something failed."""
    return (error.strerror or str(error)).lower()
