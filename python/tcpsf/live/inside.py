"""The first process of an experiment's network: starts the server, then the clients behind the emulated path.

``python -m tcpsf.live.inside FOLDER`` finds in FOLDER what `live.cell` put there and leaves the records there;
``--check`` in place of FOLDER only looks whether there can be such a network.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

from tcpsf.errors import TcpsfError
from tcpsf.live.network import die_with_parent, enter

READY_S = 20.0
"""How long the server may take to answer."""
GRACE_S = 10.0
"""How long a process may take to end when asked to."""

COMMANDS = "commands.json"
FAILED = 3
"""Exit status where an error has been told on standard error, as JSON."""


def main(arguments: Sequence[str]) -> int:
    """Run the experiment in a folder."""
    signal.signal(signal.SIGTERM, _leave)
    die_with_parent()
    with contextlib.suppress(OSError):  # a user cannot
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        enter()
        if arguments[0] != "--check":
            _run(Path(arguments[0]))
    except TcpsfError as error:
        sys.stderr.write(json.dumps({"error": str(error), "hint": error.hint}))
        return FAILED
    return 0


def _leave(_number: int, _frame: object) -> NoReturn:
    sys.exit(128 + signal.SIGTERM)


def _run(folder: Path) -> None:
    told = json.loads((folder / COMMANDS).read_text(encoding="utf-8"))
    if told["serve"] is None:  # the link runs the server
        _fetch(told["link"], folder)
        return
    with _process(told["serve"], folder / "serve") as server:
        _wait_for(told["address"], told["port"], server, folder)
        _fetch(told["link"], folder)
        server.send_signal(signal.SIGINT)
        try:
            if server.wait(GRACE_S) != 0:
                raise _failure("`tcpsf serve`", folder / "serve")
        except subprocess.TimeoutExpired:
            raise TcpsfError(f"`tcpsf serve` did not end within {GRACE_S:g} s") from None


def _fetch(command: Sequence[str], folder: Path) -> None:
    with _process(command, folder / "link") as link:
        if link.wait() != 0:
            raise _failure("the clients behind `tcpsf link`", folder / "link")


@contextlib.contextmanager
def _process(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process with its output in ``log.out`` and ``log.err``; it has ended when the block has."""
    with _file(log, "out") as out, _file(log, "err") as err:
        process = subprocess.Popen(  # noqa: S603  what `live.cell` wrote
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=die_with_parent
        )
        try:
            yield process
        except SystemExit:
            process.kill()  # nobody waits for what it would still write
            raise
        finally:
            end(process)


def _file(log: Path, kind: str) -> IO[bytes]:
    return log.with_suffix(f".{kind}").open("wb")


def end(process: subprocess.Popen[Any]) -> None:
    """End a process: by asking, then by force."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(address: str, port: int, server: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait until the server takes connections."""
    until = time.monotonic() + READY_S
    while time.monotonic() < until:
        if server.poll() is not None:
            raise _failure("`tcpsf serve`", folder / "serve")
        try:
            socket.create_connection((address, port), timeout=1.0).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TcpsfError(f"`tcpsf serve` does not answer at {address} within {READY_S:g} s")


def _failure(what: str, log: Path) -> TcpsfError:
    lines = log.with_suffix(".err").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    said = next(
        (line.removeprefix("error: ") for line in lines if line.startswith("error: ")), (lines or ["nothing"])[-1]
    )
    hint = next((line.removeprefix("hint: ") for line in lines if line.startswith("hint: ")), None)
    return TcpsfError(f"{what} failed: {said}", hint=hint)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
