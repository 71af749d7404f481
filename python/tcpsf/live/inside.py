"""The first process of an experiment's network: starts the servers, then the clients behind the emulated path.

``python -m tcpsf.live.inside FOLDER`` finds in FOLDER what `live.cell` put there and leaves the
records there; ``--check`` in place of FOLDER only looks whether there can be such a network.
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
    with contextlib.ExitStack() as upstream:
        if told["upstream"] is not None:
            turn_loopback_on()
            upstream.enter_context(_server(told["upstream"], folder, signal.SIGTERM))
        if told["server"] is None:  # the link runs it
            _fetch(told["link"], folder)
            return
        with _server(told["server"], folder, signal.SIGINT):
            _fetch(told["link"], folder)


@contextlib.contextmanager
def _server(told: Mapping[str, Any], folder: Path, farewell: signal.Signals) -> Iterator[None]:
    """Run a server that takes connections in the block, and end it by a signal; it must end well."""
    what, log = told["what"], folder / told["log"]
    with _process(told["command"], log) as server:
        _wait_for(told["address"], told["port"], server, what, log)
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


def _wait_for(
    address: str, port: int, server: subprocess.Popen[bytes], what: str, log: Path
) -> None:
    """Wait until a server takes connections."""
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
    said = next(
        (line.removeprefix("error: ") for line in lines if line.startswith("error: ")),
        (lines or ["nothing"])[-1],
    )
    hint = next((line.removeprefix("hint: ") for line in lines if line.startswith("hint: ")), None)
    return TcpsfError(f"{what} failed: {said}", hint=hint)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
