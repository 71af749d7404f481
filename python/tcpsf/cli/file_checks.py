"""Checks of single files that commands write."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from tcpsf.cli import verbosity
from tcpsf.errors import OutputError, TcpsfError, reason
from tcpsf.staging import partial_file


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
def staged_file(option: str, path: Path | None, *, replace: bool) -> Iterator[Path | None]:
    """Yield the file to write to, which is renamed to ``path`` at the end of the block.

    After an error it is removed. If ``path`` is ``None``, a pipe or a device, yield it without a
    temporary file.
    """
    if path is None or (path.exists() and not path.is_file() and not path.is_dir()):
        yield path
        return
    refuse_if_taken(option, path, replace=replace)
    with contextlib.ExitStack() as stack:
        with writing(path):
            staging = stack.enter_context(partial_file(path))
        yield staging
        with writing(path):
            staging.replace(path)


@contextlib.contextmanager
def staged_page(path: Path | None, *, replace: bool) -> Iterator[Path | None]:
    """Yield the file to write a page to, as `staged_file` does for `--report`."""
    if str(path) == "-":
        raise TcpsfError(
            "cannot write `--report -`: a page is a file of its own",
            hint="e.g. `--report page.html`",
        )
    with staged_file("--report", path, replace=replace) as staging:
        yield staging
    if path is not None:
        verbosity.detail("wrote page `%s`", path)


def put(staging: Path | None, path: Path | None, content: Callable[[], str]) -> None:
    """Write text to the file that `staged_file` yielded for ``path``, unless it is ``None``."""
    if staging is not None and path is not None:
        made = content()
        with writing(path):
            staging.write_text(made, encoding="utf-8")


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert an `OSError` about a file to `OutputError`."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"cannot write `{path}`: {reason(error)}", hint="choose another file"
        ) from None
