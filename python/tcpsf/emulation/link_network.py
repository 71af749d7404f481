"""A link around a block of Python code."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from tcpsf.emulation.changes import direction_of
from tcpsf.emulation.link_requests import ask, running
from tcpsf.errors import TcpsfError

LinkOption = str | float | bool | Sequence[str] | None
"""Type of an option: a text, a number, a switch, several texts, or ``None`` for `none`."""

_CLONE_NEWNET, _CLONE_NEWUSER = 0x4000_0000, 0x1000_0000
_END_S = 30.0
_HOLDER = ("sh", "-c", "echo $$ && exec cat")
"""The command behind the link. It prints its process and ends when its input does."""


class LinkNetwork:
    """Both ends of an emulated link that is running, which `link` makes."""

    name: str
    """Name of the link, for `tcpsf link set`."""
    outside: str
    """Address of the outside: programs in the caller's network namespace are reached at it."""
    inside: str
    """Address of the commands behind the link."""
    outside_v6: str | None
    """IPv6 address of the outside, or `None` without IPv6."""
    inside_v6: str | None
    """IPv6 address of the commands, or `None` without IPv6."""
    result: dict[str, Any] | None
    """After the block, the statistics of the run (``report/schema/link.json``)."""

    def __init__(self, name: str, process: int) -> None:
        self.name = name
        ends = ask(name, "show")["ends"]
        self.outside, self.inside = ends["outside"], ends["inside"]
        self.outside_v6, self.inside_v6 = ends["outside_v6"], ends["inside_v6"]
        self.result = None
        self._process = process

    def run(
        self, command: Sequence[str | os.PathLike[str]], **arguments: Any
    ) -> subprocess.CompletedProcess[Any]:
        """Run a command behind the link until it ends.

        ``arguments`` are those of `subprocess.run`, except ``preexec_fn``.
        """
        return subprocess.run(command, **self.arguments(arguments))  # noqa: S603

    def popen(
        self, command: Sequence[str | os.PathLike[str]], **arguments: Any
    ) -> subprocess.Popen[Any]:
        """Start a command behind the link.

        ``arguments`` are those of `subprocess.Popen`, except ``preexec_fn``. The command should end
        before the block does: afterwards it has no network.
        """
        return subprocess.Popen(command, **self.arguments(arguments))  # noqa: S603

    def set(self, **options: LinkOption) -> dict[str, Any]:
        """Change options of the link, such as ``loss=0.02`` or ``up_rate="1mbit"``.

        `None` removes an option. Returns the options in force (``report/schema/link-control.json``).
        Raises `TcpsfError` if the link cannot make the change.
        """
        changes: dict[str, dict[str, str]] = {}
        for key, value in options.items():
            direction, name = direction_of(key.replace("_", "-"))
            changes.setdefault(direction, {})[name] = _text(value)
        return ask(self.name, "set", changes)

    def stats(self) -> dict[str, Any]:
        """Return the statistics up to now (``report/schema/link-control.json``)."""
        return ask(self.name, "stats")

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a subprocess that starts behind the link."""
        ends = {
            "TCPSF_LINK_OUTSIDE": self.outside,
            "TCPSF_LINK_INSIDE": self.inside,
            "TCPSF_LINK_OUTSIDE6": self.outside_v6,
            "TCPSF_LINK_INSIDE6": self.inside_v6,
        }
        environment = given.get("env")
        environment = dict(os.environ if environment is None else environment)
        environment.update({key: value for key, value in ends.items() if value is not None})
        return {**given, "env": environment, "preexec_fn": enter(self._process)}


def enter(process: int) -> Callable[[], None]:
    """Return a function that moves the calling process to the network of another one.

    A subprocess calls it before it executes the program. A user without root first joins the user
    namespace of the link (setns(2)).
    """
    libc = ctypes.CDLL(None, use_errno=True)

    def join() -> None:
        spaces = [("net", _CLONE_NEWNET)]
        own = Path("/proc/self/ns/user").stat().st_ino
        if Path(f"/proc/{process}/ns/user").stat().st_ino != own:
            spaces.insert(0, ("user", _CLONE_NEWUSER))
        opened = [
            (os.open(f"/proc/{process}/ns/{name}", os.O_RDONLY), kind) for name, kind in spaces
        ]
        for space, kind in opened:
            if libc.setns(space, kind) != 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number))
            os.close(space)

    return join


@contextlib.contextmanager
def link(**options: LinkOption) -> Iterator[LinkNetwork]:
    """Make an emulated link for a block.

    The options are those of `tcpsf link`, with underscores for dashes: ``delay="20ms"``,
    ``down_rate="10mbit"``, ``loss=0.01``, ``preset="lte"``, ``at=["10s:loss=100%"]``,
    ``offload=False``. Without root, ``outside`` has to name a program for the other end.

    Yields a `LinkNetwork`. After the block it has the statistics. Raises
    `TcpsfError` if an option is invalid or the system refuses. If this process is
    killed, the link ends too.

        with tcpsf.link(delay="20ms", rate="10mbit") as net:
            net.run(["curl", f"http://{net.outside}:8000/"], check=True)
            net.set(loss=0.02)
    """
    with (
        tempfile.TemporaryDirectory(prefix="tcpsf-link-") as folder,
        _plain_files(folder) as errors,
    ):
        file = Path(folder) / "link.json"
        name, words = command_line(options, file)
        with subprocess.Popen(  # noqa: S603 (our own command)
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        ) as started:
            try:
                first = _first_line(started)
                if not first:
                    started.wait(timeout=_END_S)
                    raise refusal(errors)
                network = LinkNetwork(name, int(first))
                yield network
            finally:
                end(started)
        network.result = json.loads(file.read_text(encoding="utf-8"))


def _first_line(started: subprocess.Popen[bytes]) -> bytes:
    return started.stdout.readline() if started.stdout is not None else b""


def end(started: subprocess.Popen[bytes]) -> None:
    """End a link: its command ends with its input."""
    if started.stdin is not None:
        started.stdin.close()
    try:
        started.wait(timeout=_END_S)
    except subprocess.TimeoutExpired:
        started.kill()


@contextlib.contextmanager
def _plain_files(folder: str) -> Iterator[IO[bytes]]:
    """Yield the file for the errors of the link."""
    with (Path(folder) / "errors").open("w+b") as errors:
        yield errors


def refusal(errors: IO[bytes]) -> TcpsfError:
    """Return the error that a link printed before it ended."""
    errors.seek(0)
    lines = errors.read().decode(errors="replace").splitlines()
    found = {key: text for key, _, text in (line.partition(": ") for line in lines)}
    message = found.get("error", "the emulator ended without a message")
    if not message.startswith(("cannot", "`")):
        message = f"cannot make the link: {message}"
    return TcpsfError(message, hint=found.get("hint"))


def command_line(options: Mapping[str, LinkOption], file: Path) -> tuple[str, list[str]]:
    """Return the name of a link and the command that makes it, with its statistics in ``file``."""
    name = str(options.get("name") or f"python-{os.getpid()}-{secrets.token_hex(4)}")
    if name in running():
        raise TcpsfError(f"cannot make link `{name}`: it is running", hint="choose another name")
    words = [sys.executable, "-m", "tcpsf", "link", "--quiet"]
    for key, value in {**options, "name": name, "json": str(file)}.items():
        option = key.rstrip("_").replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        elif value is None or isinstance(value, str | int | float):
            words.append(f"--{option}={_text(value)}")
        else:
            words += [f"--{option}={each}" for each in value]
    return name, [*words, "--", *_HOLDER]


def _text(value: LinkOption) -> str:
    """Return an option as the command line has it.

    >>> _text(None), _text(0.02), _text("20ms")
    ('none', '0.02', '20ms')
    """
    return "none" if value is None else str(value)
