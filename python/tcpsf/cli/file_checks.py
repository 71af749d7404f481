"""Checks of single files that commands write."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tcpsf.cli.output import reason
from tcpsf.errors import OutputError


def refuse_if_taken(option: str, path: Path, *, replace: bool) -> None:
    """Refuse a file that cannot be written, or that exists and is not empty."""
    with writing(path):
        if not path.parent.is_dir():
            raise OutputError(
                f"cannot write `{path}`: `{path.parent}` is not a folder",
                hint="choose another file",
            )
        if not path.exists():
            return
        is_file = path.is_file()
        if not is_file or (path.stat().st_size and not replace):
            raise OutputError(
                f"cannot write `{path}`: it already exists",
                hint=f"choose another file with `{option}`, or replace it with `--force`",
            )


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert an `OSError` about a file to `OutputError`."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"cannot write `{path}`: {reason(error)}", hint="choose another file"
        ) from None
