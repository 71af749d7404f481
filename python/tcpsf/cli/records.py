"""Files that `serve`, `proxy` and `fetch` write while they run: rows and captures.

A row describes a connection or request that has ended.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from tcpsf import _core, text
from tcpsf.cli.file_checks import writing
from tcpsf.cli.output import print_message
from tcpsf.errors import OutputError, TcpsfError, reason
from tcpsf.staging import partial_file

if TYPE_CHECKING:
    import polars as pl


HINTS = {
    "sender `": "for example `reno+sack / fs(n=4) / iw=1`",
    "is not an IP address": "e.g. 100.127.9.2, or give none to get a free one",
}
"""Hints for errors of the host that have none, by a part of the error."""


class Source(Protocol):
    """A host that provides rows about connections or requests that have ended."""

    def take_records(self) -> _core.Table:
        """Return the rows of connections that have ended since the last call."""
        ...


class StatusLine(Protocol):
    """A status line, which has to be ended before other output is printed."""

    def end(self) -> None:
        """End the status line with a line break, so that other output begins on a new line."""
        ...


class Losses:
    """Counter of rows that could not be written. The host continues without them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lost = 0
        self._written = 0
        self._reason: str | None = None
        self._warned = False

    def note(self, error: OSError, *, lost: int) -> None:
        """Count rows that could not be written because of an error."""
        self._lost += lost
        self._reason = reason(error)

    def keep(self, rows: int) -> None:
        """Count rows that were written."""
        self._written += rows

    def warn(self, line: StatusLine) -> None:
        """Print a warning if rows have been lost, but only once."""
        if self._reason is not None and not self._warned:
            self._warned = True
            line.end()
            print_message(
                f"warning: cannot write `{self._path}`: {self._reason}. Records are being lost."
            )

    def check(self) -> None:
        """Raise `OutputError` if rows have been lost."""
        if self._reason is not None:
            total = self._lost + self._written
            raise OutputError(
                f"{text.plain(self._lost, 0)} of {text.count(total, 'record')} are lost: "
                f"cannot write `{self._path}`: {self._reason}",
                hint="choose a file on a disk with free space",
            )


class Writer(Protocol):
    """A writer of rows. Rows that cannot be written are lost, and counted in ``losses``."""

    losses: Losses

    def write(self, frame: pl.DataFrame) -> None:
        """Write the rows of a frame, or count them as lost if that fails."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...


class _Lines:
    """Writes JSON lines when connections end.

    If the disk is full, the file still ends with a complete line.
    """

    def __init__(self, path: Path) -> None:
        self.losses = Losses(path)
        self._end = 0
        with writing(path):
            self._file = path.open("wb", buffering=0)

    def __enter__(self) -> Self:
        return self

    def write(self, frame: pl.DataFrame) -> None:
        content = frame.write_ndjson().encode()
        written, failure = 0, None
        try:
            while written < len(content):
                written += self._file.write(content[written:])
        except OSError as error:
            failure = error
        whole = content.rfind(b"\n", 0, written) + 1
        self._end += whole
        rows = content.count(b"\n", 0, whole)
        self.losses.keep(rows)
        if failure is not None:
            self.losses.note(failure, lost=frame.height - rows)
            with contextlib.suppress(OSError):
                self._file.truncate(self._end)
                self._file.seek(self._end)

    def __exit__(self, *_error: object) -> None:
        try:
            self._file.close()
        except OSError as error:  # some file systems report write errors only here
            self.losses.note(error, lost=0)


class _Parquet:
    """Writes one Parquet file at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.losses = Losses(path)
        self._frames: list[pl.DataFrame] = []
        self._stack = contextlib.ExitStack()
        # A file that cannot be written is an error before the work begins.
        with writing(path):
            self._staging = self._stack.enter_context(partial_file(path))

    def __enter__(self) -> Self:
        return self

    def write(self, frame: pl.DataFrame) -> None:
        if frame.height or not self._frames:
            self._frames.append(frame)

    def __exit__(self, *_error: object) -> None:
        import io

        import polars as pl

        # When Polars itself writes to a file, its errors do not always contain the reason.
        content = io.BytesIO()
        if self._frames:
            pl.concat(self._frames).write_parquet(content)
        rows = sum(frame.height for frame in self._frames)
        try:
            with self._stack:
                self._staging.write_bytes(content.getvalue())
                self._staging.replace(self._path)
        except OSError as error:
            self.losses.note(error, lost=rows)


def format_of(path: Path) -> Callable[[Path], Writer]:
    """Return the writer for the suffix of the file name."""
    if path.suffix == ".parquet":
        return _Parquet
    if path.suffix == ".jsonl":
        return _Lines
    raise TcpsfError(
        f"cannot write records `{path}`: unknown format `{path.suffix}`",
        hint="the file name must end in `.parquet` or `.jsonl`",
    )


def taken(source: Source) -> pl.DataFrame:
    """Return the rows of a host since the last call, with text in place of categories."""
    import polars as pl

    # Each batch has its own categories, so that batches could not be concatenated.
    return pl.DataFrame(source.take_records()).with_columns(
        pl.selectors.categorical().cast(pl.String)
    )


@contextlib.contextmanager
def capturing(path: Path, line: StatusLine) -> Iterator[None]:
    """Print a warning if the capture's file cannot be written. The host continues without it."""
    try:
        yield
    except OSError as error:
        line.end()
        print_message(
            f"warning: cannot write `{path}`: {reason(error)}. "
            "The capture has stopped; its file is incomplete.",
            always=True,
        )


@contextlib.contextmanager
def plain_write_errors(task: str) -> Iterator[None]:
    """Convert errors of the host to `TcpsfError`."""
    try:
        yield
    except (ValueError, RuntimeError) as error:
        if len(error.args) != 2:
            raise
        message, hint = error.args
        shown = message if message.startswith("cannot") else f"cannot {task}: {message}"
        if hint is None:
            hint = next((each for part, each in HINTS.items() if part in message), None)
        raise TcpsfError(shown, hint=hint) from None
