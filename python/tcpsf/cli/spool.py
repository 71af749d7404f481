"""Storage for rows that a command needs at its end: in memory, or in a temporary file if large."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any, Self

from tcpsf.errors import OutputError, reason

IN_MEMORY = 1 << 20
"""Maximum number of bytes that are kept in memory."""


class Spool:
    """Rows of plain data, in the order in which they were added.

    The file has no name. The operating system removes it at the end of the block or of the process.
    Methods raise `OutputError` if the file cannot be written.
    """

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._file.close()

    def add(self, row: Mapping[str, Any]) -> None:
        """Append a row; rows beyond the memory limit are written to a temporary file."""
        with _plain_errors():
            self._file.write(json.dumps(row).encode() + b"\n")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with _plain_errors():
            self._file.seek(0)
        yield from map(json.loads, self._file)


@contextlib.contextmanager
def _plain_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"cannot keep rows in a temporary file: {reason(error)}",
            hint="set the environment variable `TMPDIR` to a folder with more free space",
        ) from None
