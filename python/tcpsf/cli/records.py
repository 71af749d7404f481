"""What hosts on a TUN device write while they run: rows of what has ended, captures, and errors in one line."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from tcpsf import _core
from tcpsf.cli.files import writing
from tcpsf.cli.output import reason, talk
from tcpsf.errors import OutputError, TcpsfError
from tcpsf.staging import partial_file

if TYPE_CHECKING:
    import polars as pl


class Source(Protocol):
    """A host that keeps rows of what has ended."""

    def take_records(self) -> _core.Table:
        """Return the rows since the last call."""
        ...


class Line(Protocol):
    """A status line, which ends before something else is printed."""

    def end(self) -> None:
        """End it."""
        ...


class Losses:
    """Rows that could not be written; the host goes on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lost = 0
        self._kept = 0
        self._reason: str | None = None
        self._warned = False

    def note(self, error: OSError, *, lost: int) -> None:
        """Count rows as lost."""
        self._lost += lost
        self._reason = reason(error)

    def keep(self, rows: int) -> None:
        """Count rows as written."""
        self._kept += rows

    def warn(self, line: Line) -> None:
        """Say once, in one line, that rows are being lost."""
        if self._reason is not None and not self._warned:
            self._warned = True
            line.end()
            talk(f"warning: cannot write `{self._path}`: {self._reason}. Records are being lost.")

    def check(self) -> None:
        """Fail if rows have been lost."""
        if self._reason is not None:
            total = self._lost + self._kept
            raise OutputError(
                f"{self._lost:,} of {total:,} records are lost: cannot write `{self._path}`: {self._reason}",
                hint="name a file on a disk with room",
            )


class Writer(Protocol):
    """Writes the rows of connections. What cannot be written is lost, and counted."""

    losses: Losses

    def write(self, frame: pl.DataFrame) -> None:
        """Write rows."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...


class _Lines:
    """JSON lines, written as connections end. When the disk is full, the file still ends with a whole line."""

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
        except OSError as error:  # of a file system that writes late
            self.losses.note(error, lost=0)


class _Parquet:
    """Parquet, written whole at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.losses = Losses(path)
        self._frames: list[pl.DataFrame] = []
        self._stack = contextlib.ExitStack()
        # A place that cannot be written is noticed before the work.
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

        content = io.BytesIO()  # Polars' own writing to files does not always say why it failed
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
    """Return the writer of the format that the name ends in."""
    if path.suffix == ".parquet":
        return _Parquet
    if path.suffix == ".jsonl":
        return _Lines
    raise TcpsfError(
        f"cannot write records `{path}`: no format ends in `{path.suffix}`",
        hint="`.parquet` or `.jsonl`",
    )


def taken(source: Source) -> pl.DataFrame:
    """Take the rows since the last call."""
    import polars as pl

    # Each batch has categories of its own.
    return pl.DataFrame(source.take_records()).with_columns(
        pl.selectors.categorical().cast(pl.String)
    )


@contextlib.contextmanager
def capturing(path: Path, line: Line) -> Iterator[None]:
    """Say in one line that the capture has stopped, when its file cannot be written; the host goes on."""
    try:
        yield
    except OSError as error:
        line.end()
        talk(
            f"warning: cannot write `{path}`: {reason(error)}. The capture has stopped; its file is incomplete."
        )


@contextlib.contextmanager
def plainly(task: str) -> Iterator[None]:
    """Turn what the host says into one line."""
    try:
        yield
    except (ValueError, RuntimeError) as error:
        if len(error.args) != 2:
            raise
        message, hint = error.args
        text = message if message.startswith("cannot") else f"cannot {task}: {message}"
        raise TcpsfError(text, hint=hint) from None
