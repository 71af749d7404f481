"""Programs that a preloaded library does not reach."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import struct
from collections.abc import Sequence
from pathlib import Path

from tcpsf.errors import TcpsfError

_GO = b"\xff Go buildinf:"
"""Begin of the table that every Go program has."""
_INTERPRETER = 3
"""Type of the entry that names the dynamic loader (``PT_INTERP``)."""
_HEADER = 64
_CHUNK = 1 << 20
_LONGEST_CHAIN = 4


def require_preload(command: Sequence[str]) -> None:
    """Raise `TcpsfError` if the program of a command does not load a library or does not use it.

    A command that starts other programs may still start such a one. A command that does not exist
    is not an error here.
    """
    found = shutil.which(command[0])
    if found is None:
        return
    with contextlib.suppress(OSError):
        program = _without_scripts(Path(found))
        problem = _problem(program)
        if problem is not None:
            raise TcpsfError(
                f"cannot preload a library into `{program}`: {problem}",
                hint="as root, `tcpsf cure run` without `--preload` reaches it; so does "
                "`tcpsf proxy --sender`",
            )


def _without_scripts(program: Path) -> Path:
    """Return the interpreter of a script, or the program itself."""
    for _ in range(_LONGEST_CHAIN):
        with program.open("rb") as file:
            first = file.readline(256)
        words = first.removeprefix(b"#!").split()
        if not first.startswith(b"#!") or not words:
            break
        named = os.fsdecode(words[0])
        if named.endswith("/env") and len(words) > 1:
            named = shutil.which(os.fsdecode(words[1])) or named
        program = Path(named)
    return program


def _problem(program: Path) -> str | None:
    status = program.stat()
    with program.open("rb") as file:
        header = file.read(_HEADER)
        if len(header) < _HEADER or not header.startswith(b"\x7fELF"):
            return None
        if header[4] != struct.calcsize("P") // 4:
            return "it is a program of another word size"
        if not _is_dynamic(header, program):
            return "it is a static program"
    if _contains(program, _GO):
        return "it is a Go program, which makes system calls without the C library"
    is_other = status.st_uid != os.geteuid() and bool(status.st_mode & stat.S_ISUID)
    if is_other or bool(status.st_mode & stat.S_ISGID) or _has_capabilities(program):
        return "it has privileges of its own (setuid, setgid or capabilities)"
    return None


def _is_dynamic(header: bytes, program: Path) -> bool:
    """Return whether a program names a dynamic loader. ``header`` is the ELF header."""
    is_long = header[4] == 2
    (offset,) = struct.unpack_from("=Q" if is_long else "=I", header, 32 if is_long else 28)
    size, count = struct.unpack_from("=HH", header, 54 if is_long else 42)
    with program.open("rb") as file:
        file.seek(offset)
        entries = file.read(size * count)
    kinds = (
        struct.unpack_from("=I", entries, at)[0] for at in range(0, len(entries) - 3, max(size, 1))
    )
    return _INTERPRETER in kinds


def _contains(program: Path, wanted: bytes) -> bool:
    """Return whether a file has these bytes."""
    with program.open("rb") as file:
        end = b""
        while part := file.read(_CHUNK):
            if wanted in end + part:
                return True
            end = part[-len(wanted) :]
    return False


def _has_capabilities(program: Path) -> bool:
    with contextlib.suppress(OSError):
        return bool(os.getxattr(program, "security.capability"))
    return False
