"""Requests to running links, over their control sockets.

Each named link has a Unix socket in the folder of the user. A socket is a file, because abstract
addresses belong to a network namespace, and the command behind a link has its own (unix(7)). A file
remains if its process is killed by SIGKILL. It is recognised and removed by the next command that
lists or makes links.
"""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tcpsf.errors import TcpsfError, reason

_SUFFIX = ".link"
_TIMEOUT_S = 5.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")

Options = Mapping[str, Mapping[str, str]]
"""Type of the options of a link by direction (`both`, `up`, `down`) and by name without dashes."""


def folder() -> Path:
    """Return the folder of the sockets, which only this user can enter. It is made if needed.

    It is in ``XDG_RUNTIME_DIR``, in ``/run/user/UID``, or in the temporary directory.
    """
    user = os.geteuid()
    run_time = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{user}"
    home = Path(run_time)
    if home.is_dir() and os.access(home, os.W_OK | os.X_OK):
        found = home / "tcpsf"
    else:
        found = Path(tempfile.gettempdir()) / f"tcpsf-{user}"
    try:
        found.mkdir(mode=0o700, exist_ok=True)
        state = found.lstat()
    except OSError as error:
        raise TcpsfError(
            f"cannot make the folder `{found}` for control sockets: {reason(error)}",
            hint="set XDG_RUNTIME_DIR to a folder of your own",
        ) from None
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != user or state.st_mode & 0o077:
        raise TcpsfError(
            f"cannot use the folder `{found}` for control sockets: others can change it",
            hint="remove it, or set XDG_RUNTIME_DIR to a folder of your own",
        )
    return found


def socket_path(name: str) -> Path:
    """Return the path of a link's socket.

    >>> socket_path("lossy").name
    'lossy.link'
    """
    if not _NAME.fullmatch(name):
        raise TcpsfError(
            f"cannot use `{name}` as the name of a link: expected up to 40 letters, digits, `_`, `.` and `-`",
            hint="e.g. `--name lossy`",
        )
    return folder() / f"{name}{_SUFFIX}"


def running() -> list[str]:
    """Return the names of this user's links, in order. Sockets of ended processes are removed."""
    found = []
    for path in sorted(folder().glob(f"*{_SUFFIX}")):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_TIMEOUT_S)
            try:
                connection.connect(str(path))
            except ConnectionRefusedError:
                path.unlink(missing_ok=True)
                continue
            except OSError:
                continue
        found.append(path.name.removesuffix(_SUFFIX))
    return found


def ask(name: str, operation: str, options: Options | None = None) -> dict[str, Any]:
    """Send a request to a link, and return its answer (``report/schema/link-control.json``).

    ``operation`` is `show`, `stats` or `set`; only `set` has options. Raises `TcpsfError` if no link
    has this name, or if the link refuses the request.
    """
    request = json.dumps({"op": operation, **(options or {})}) + "\n"
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_TIMEOUT_S)
            connection.connect(str(socket_path(name)))
            connection.sendall(request.encode())
            with connection.makefile("rb") as lines:
                line = lines.readline()
    except OSError as error:
        absent = isinstance(error, FileNotFoundError | ConnectionRefusedError)
        problem = "no such link is running" if absent else reason(error)
        names = ", ".join(f"`{each}`" for each in running())
        raise TcpsfError(
            f"cannot reach link `{name}`: {problem}",
            hint=f"running links: {names}" if names else "start it with `tcpsf link --name NAME`",
        ) from None
    if not line:
        raise TcpsfError(
            f"cannot reach link `{name}`: it ended", hint="`tcpsf link show` lists links"
        )
    answer: dict[str, Any] = json.loads(line)
    if not answer["ok"]:
        raise TcpsfError(str(answer["error"]), hint=answer["hint"])
    return answer
