"""Temporary files and folders for results: one writer at a time, and removed after a failure.

A result ``NAME`` is first written to ``.NAME.partial`` in the same folder. The writer holds a lock
on it (``flock``), which the kernel releases when the process ends for any reason. A partial file or
folder without a lock is therefore the leftover of a killed process, and the next writer of ``NAME``
removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tcpsf.errors import OutputError, reason


@contextlib.contextmanager
def partial_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder beside ``target``.

    The caller renames it. If it does not, the folder is removed at the end of the block.
    """
    with _claimed(target, _made_folder) as (path, _lock):
        for leftover in path.iterdir():
            _remove(leftover)
        yield path


@contextlib.contextmanager
def partial_file(target: Path) -> Iterator[Path]:
    """Yield an empty file beside ``target``.

    The caller renames it. If it does not, the file is removed at the end of the block.
    """
    with _claimed(target, _made_file) as (path, lock):
        os.ftruncate(lock, 0)
        yield path


def write_file(target: Path, content: str | bytes) -> None:
    """Write a file, which appears complete or not at all. Raises `OutputError` if this fails."""
    try:
        with partial_file(target) as partial:
            partial.write_bytes(content.encode() if isinstance(content, str) else content)
            partial.replace(target)
    except OSError as error:
        raise OutputError(
            f"cannot write `{target}`: {reason(error)}",
            hint="choose another file",
        ) from None


@contextlib.contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Yield a new folder in the system's temporary folder; it is removed at the block's end.

    Also removes folders with the same prefix that killed processes of this user have left.
    """
    _remove_leftovers(prefix)
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix))
        lock = _opened_folder(path)
        if lock is not None and _locked(lock) and _is(path, lock):
            break
        if lock is not None:  # another process removed it as a leftover before it was locked
            os.close(lock)
    try:
        yield path
    finally:
        _release(lock, path)


@contextlib.contextmanager
def shared_folder(folder: Path) -> Iterator[None]:
    """Share a folder of finished runs with other processes.

    If no other process uses the folder, remove the partial files that `tcpsf.finished.write` left
    when a process was killed.
    """
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if _locked(lock):
            for leftover in folder.glob("*.partial"):
                leftover.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the file system may not support locks
            fcntl.flock(lock, fcntl.LOCK_SH)
        yield
    finally:
        os.close(lock)


@contextlib.contextmanager
def exclusive_file(path: Path) -> Iterator[bool]:
    """Lock a file for this process and remove it at the end; yield whether the lock is free."""
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        free = _locked(lock)
        if not free or _is(path, lock):
            break
        os.close(lock)  # its earlier owner has removed it in the meantime
    try:
        yield free
    finally:
        if free:
            path.unlink(missing_ok=True)
        os.close(lock)


@contextlib.contextmanager
def _claimed(target: Path, made: Callable[[Path], int | None]) -> Iterator[tuple[Path, int]]:
    """Yield the partial file or folder of ``target``, and the descriptor of its lock.

    It is removed at the end of the block unless it was renamed.
    """
    path = target.parent / f".{target.name}.partial"
    lock = None
    try:
        lock = _claim(path, target, made)
        yield path, lock
    finally:
        if lock is None:  # a signal arrived after it was created and before it was locked
            _remove_unused(path)
        else:
            _release(lock, path)


def _claim(path: Path, target: Path, made: Callable[[Path], int | None]) -> int:
    while True:
        lock = made(path)
        if lock is None:
            continue
        try:
            free = _locked(lock)
            ours = free and _is(path, lock)
        except BaseException:
            os.close(lock)
            raise
        if ours:
            return lock
        os.close(lock)
        if not free:
            raise _busy(target)
        # Its earlier owner has renamed or removed it in the meantime, so that the loop continues.


def _made_folder(path: Path) -> int | None:
    path.mkdir(exist_ok=True)
    return _opened_folder(path)


def _made_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)


def _opened_folder(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None


def _locked(lock: int) -> bool:
    """Lock a descriptor. Return ``False`` if another process has the lock."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # the file system does not support locks: assume that there is no other writer
        return True
    return True


def _is(path: Path, lock: int) -> bool:
    """Return whether the path still names the locked file or folder."""
    try:
        found, locked = path.lstat(), os.fstat(lock)
    except FileNotFoundError:
        return False
    return (found.st_dev, found.st_ino) == (locked.st_dev, locked.st_ino)


def _release(lock: int, path: Path) -> None:
    """Remove the file or folder unless it was renamed, and release the lock."""
    try:
        if _is(path, lock):
            _remove(path)
    finally:
        os.close(lock)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def _remove_leftovers(prefix: str) -> None:
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            found = path.lstat()
            if found.st_uid == os.getuid() and stat.S_ISDIR(found.st_mode):
                _remove_unused(path)


def _remove_unused(path: Path) -> None:
    """Remove a file or folder that no process has locked."""
    with contextlib.suppress(OSError):
        lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            if _locked(lock) and _is(path, lock):
                _remove(path)
        finally:
            os.close(lock)


def _busy(target: Path) -> OutputError:
    return OutputError(
        f"cannot write `{target}`: another tcpsf process is writing it",
        hint="wait until it ends, or choose another path",
    )
