"""Files in a folder or at a remote location, which are written completely or not at all.

A location is a path, or a URL that `fsspec` knows, such as ``s3://bucket/folder``. The library
`fsspec` is needed for URLs only (``pip install tcpsf[remote]``).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from tcpsf.errors import OutputError, TcpsfError, reason
from tcpsf.finished import write
from tcpsf.staging import exclusive_file, shared_folder


class Storage(Protocol):
    """Files by their names. A name can contain folders: ``runs/a.parquet``."""

    @property
    def location(self) -> str:
        """The path or URL."""

    def names(self, folder: str) -> set[str]:
        """Return the names of the files in a folder, without the folder."""

    def exists(self, name: str) -> bool:
        """Return whether a file exists."""

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or ``None`` if it does not exist."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file. Readers see its earlier content or the complete new one."""

    def shared(self, *folders: str) -> contextlib.AbstractContextManager[None]:
        """Use these folders while other processes may use them too."""

    def claimed(self, name: str, what: str) -> contextlib.AbstractContextManager[None]:
        """Hold a name that only one process can hold; ``what`` describes it in the error."""


def open_storage(location: str | Path) -> Storage:
    """Return the files at a path or URL. The folder of a path is created at the first write.

    Raises `TcpsfError` if `fsspec` is needed and missing, or does not know the protocol.

    >>> open_storage("results/store").location
    'results/store'
    """
    text = str(location)
    if text.startswith("file://"):
        return LocalFiles(Path(text.removeprefix("file://")))
    return RemoteFiles(text) if "://" in text else LocalFiles(Path(location))


class LocalFiles:
    """Files below a folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def location(self) -> str:
        """The path of the folder."""
        return str(self._folder)

    def names(self, folder: str) -> set[str]:
        """Return the names of the files in a folder, without the folder."""
        with self._reading(folder), os.scandir(self._folder / folder) as entries:
            return {entry.name for entry in entries if not entry.name.endswith(".partial")}
        return set()

    def exists(self, name: str) -> bool:
        """Return whether a file exists."""
        return (self._folder / name).exists()

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or ``None`` if it does not exist."""
        with self._reading(name):
            return (self._folder / name).read_bytes()
        return None

    @contextlib.contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """End the block if the file or folder does not exist. Raises `TcpsfError` otherwise."""
        try:
            yield
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise TcpsfError(
                f"cannot read `{self._folder / name}`: {reason(error)}",
                hint="check the access rights",
            ) from None

    def write(self, name: str, content: bytes) -> None:
        """Write a file. Raises `OutputError` if this fails."""
        path = self._folder / name
        try:
            try:
                write(path, content)
            except FileNotFoundError:
                path.parent.mkdir(parents=True, exist_ok=True)
                write(path, content)
        except OSError as error:
            raise _not_written(str(path), error.strerror or str(error)) from None

    @contextlib.contextmanager
    def shared(self, *folders: str) -> Iterator[None]:
        """Use these folders while other processes may use them too.

        Creates them, and removes partial files of killed processes (`staging.shared_folder`).
        Raises `OutputError` if a folder cannot be created.
        """
        with contextlib.ExitStack() as stack:
            for folder in folders:
                path = self._folder / folder
                try:
                    path.mkdir(parents=True, exist_ok=True)
                    stack.enter_context(shared_folder(path))
                except OSError as error:
                    raise _not_written(str(path), error.strerror or str(error)) from None
            yield

    @contextlib.contextmanager
    def claimed(self, name: str, what: str) -> Iterator[None]:
        """Hold a name that only one process can hold. The system releases it after a kill.

        Raises `OutputError` if another process holds it.
        """
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with exclusive_file(path) as held:
            if not held:
                raise OutputError(
                    f"cannot use `{self.location}`: another tcpsf process is {what}",
                    hint="wait until it ends, or divide the work with `--shard`",
                )
            yield


class MemoryFiles:
    """Files in memory, for a worker that returns them."""

    location = "memory"

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}

    def names(self, folder: str) -> set[str]:
        """Return the names of the files in a folder, without the folder."""
        named = (name.rpartition("/") for name in self.contents)
        return {name for path, _, name in named if path == folder}

    def exists(self, name: str) -> bool:
        """Return whether a file exists."""
        return name in self.contents

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or ``None`` if it does not exist."""
        return self.contents.get(name)

    def write(self, name: str, content: bytes) -> None:
        """Write a file."""
        self.contents[name] = content

    def shared(self, *folders: str) -> contextlib.AbstractContextManager[None]:  # noqa: ARG002
        """Do nothing, because no other process can use the files."""
        return contextlib.nullcontext()

    def claimed(self, name: str, what: str) -> contextlib.AbstractContextManager[None]:  # noqa: ARG002
        """Do nothing, because no other process can use the files."""
        return contextlib.nullcontext()


class RemoteFiles:
    """Files at a URL, through `fsspec`."""

    def __init__(self, url: str) -> None:
        self.location = url.rstrip("/")
        self._files, self._root = _file_system(url)

    def names(self, folder: str) -> set[str]:
        """Return the names of the files in a folder, without the folder."""
        self._files.invalidate_cache()
        with self._errors("read", folder):
            try:
                found: list[str] = self._files.ls(f"{self._root}/{folder}", detail=False)
            except FileNotFoundError:
                return set()
        return {path.rstrip("/").rpartition("/")[2] for path in found}

    def exists(self, name: str) -> bool:
        """Return whether a file exists."""
        self._files.invalidate_cache()
        with self._errors("read", name):
            return bool(self._files.exists(f"{self._root}/{name}"))

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or ``None`` if it does not exist."""
        with self._errors("read", name):
            try:
                content: bytes = self._files.cat_file(f"{self._root}/{name}")
            except FileNotFoundError:
                return None
        return content

    def write(self, name: str, content: bytes) -> None:
        """Write a file in one operation of the file system. Raises `OutputError` if it fails."""
        path = f"{self._root}/{name}"
        with self._errors("write", name):
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._files.pipe_file(path, content)

    def shared(self, *folders: str) -> contextlib.AbstractContextManager[None]:  # noqa: ARG002
        """Do nothing, because a write is one operation and leaves no partial file."""
        return contextlib.nullcontext()

    def claimed(self, name: str, what: str) -> contextlib.AbstractContextManager[None]:  # noqa: ARG002
        """Do nothing: a remote location has no locks. Two processes make the same files."""
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def _errors(self, operation: str, name: str) -> Iterator[None]:
        """Report every error of the file system, whose libraries have their own classes."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 (each library has its own error classes)
            reason = " ".join(str(error).split()) or type(error).__name__
            raise OutputError(
                f"cannot {operation} `{self.location}/{name}`: {reason}",
                hint="check the address and the access rights; finished runs are kept",
            ) from None


def _file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    try:
        import fsspec
    except ModuleNotFoundError:
        raise TcpsfError(
            f"cannot open `{url}`: the library `fsspec` is not installed",
            hint="pip install tcpsf[remote]",
        ) from None
    try:
        files, path = fsspec.core.url_to_fs(url)
    except Exception as error:  # noqa: BLE001 (each library has its own error classes)
        raise TcpsfError(
            f"cannot open `{url}`: {' '.join(str(error).split())}",
            hint="give a path, or a URL such as `s3://bucket/folder` whose library is installed",
        ) from None
    return files, path.rstrip("/")


def _not_written(path: str, reason: str) -> OutputError:
    return OutputError(
        f"cannot write `{path}`: {reason.lower()}",
        hint="finished runs are kept; choose another store, or mend this one and run again",
    )
