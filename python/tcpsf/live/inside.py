"""The first process in the network of an experiment, which starts the servers and the clients.

``python -m tcpsf.live.inside FOLDER`` reads the files that `live.cell` wrote to FOLDER, and writes
the records there. With ``--check`` instead of FOLDER, it only checks whether the network can be
made.
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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

from tcpsf.errors import TcpsfError
from tcpsf.live.network import die_with_parent, enter, turn_loopback_on

READY_S = 20.0
"""Maximum time in seconds until the server accepts connections."""
GRACE_S = 10.0
"""Maximum time in seconds for a process to end after SIGTERM."""

COMMANDS = "commands.json"
FAILED = 3
"""Exit status after an error, which is on standard error as JSON."""


def main(arguments: Sequence[str]) -> int:
    """Run the commands of the experiment that a folder describes."""
    signal.signal(signal.SIGTERM, _leave)
    die_with_parent()
    with contextlib.suppress(OSError):  # an unprivileged user is not allowed to
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
    commands = json.loads((folder / COMMANDS).read_text(encoding="utf-8"))
    with contextlib.ExitStack() as upstream:
        if commands["upstream"] is not None:
            turn_loopback_on()
            upstream.enter_context(_server(commands["upstream"], folder, signal.SIGTERM))
        if commands["server"] is None:  # the link runs the server
            _fetch(commands["link"], folder)
            return
        with _server(commands["server"], folder, signal.SIGINT):
            _fetch(commands["link"], folder)


@contextlib.contextmanager
def _server(commands: Mapping[str, Any], folder: Path, farewell: signal.Signals) -> Iterator[None]:
    """Run a server during the block, and end it by the signal ``farewell``.

    Raises `TcpsfError` if the server does not start, or does not end with status 0.
    """
    what, log = commands["what"], folder / commands["log"]
    with _process(commands["command"], log) as server:
        _wait_for(commands["address"], commands["port"], server, what, log)
        yield
        server.send_signal(farewell)
        try:
            if server.wait(GRACE_S) != 0:
                raise _failure(what, log)
        except subprocess.TimeoutExpired:
            raise TcpsfError(f"{what} did not end within {GRACE_S:g} s") from None


def _fetch(command: Sequence[str], folder: Path) -> None:
    with _process(command, folder / "link") as link:
        if link.wait() != 0:
            raise _failure("the clients behind `tcpsf link`", folder / "link")


@contextlib.contextmanager
def _process(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process during the block, with its output in ``log.out`` and ``log.err``."""
    with _file(log, "out") as out, _file(log, "err") as err:
        process = subprocess.Popen(  # noqa: S603  what `live.cell` wrote
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**os.environ, "NO_COLOR": "1"},  # `_failure` reads the errors
            preexec_fn=die_with_parent,
        )
        try:
            yield process
        except SystemExit:
            process.kill()  # its remaining output is not needed
            raise
        finally:
            end(process)


def _file(log: Path, kind: str) -> IO[bytes]:
    return log.with_suffix(f".{kind}").open("wb")


def end(process: subprocess.Popen[Any]) -> None:
    """End a process with SIGTERM, and after `GRACE_S` seconds with SIGKILL."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(
    address: str, port: int, server: subprocess.Popen[bytes], what: str, log: Path
) -> None:
    """Wait until a server accepts connections."""
    until = time.monotonic() + READY_S
    while time.monotonic() < until:
        if server.poll() is not None:
            raise _failure(what, log)
        try:
            socket.create_connection((address, port), timeout=1.0).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TcpsfError(f"{what} does not answer at {address} within {READY_S:g} s")


def _failure(what: str, log: Path) -> TcpsfError:
    lines = (
        log.with_suffix(".err").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    )
    message = next(
        (line.removeprefix("error: ") for line in lines if line.startswith("error: ")),
        (lines or ["nothing"])[-1],
    )
    hint = next((line.removeprefix("hint: ") for line in lines if line.startswith("hint: ")), None)
    return TcpsfError(f"{what} failed: {message}", hint=hint)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
