"""Single files that commands write."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tcpsf.cli.output import reason
from tcpsf.errors import OutputError


def refuse_if_taken(option: str, path: Path, *, replace: bool) -> None:
    """Refuse a file that cannot be written, or that is there already. An empty one is nobody's work."""
    with writing(path):
        if not path.parent.is_dir():
            raise OutputError(
                f"cannot write `{path}`: `{path.parent}` is not a folder", hint="name another file"
            )
        if not path.exists():
            return
        is_file = path.is_file()
        if not is_file or (path.stat().st_size and not replace):
            raise OutputError(
                f"cannot write `{path}`: it is there already",
                hint=f"name another file with `{option}`, or let `--force` replace it",
            )


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system says of a file into one line."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"cannot write `{path}`: {reason(error)}", hint="name another file"
        ) from None
