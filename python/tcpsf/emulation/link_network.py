"""A link around a block of Python code."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import secrets
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from tcpsf.emulation.changes import direction_of
from tcpsf.emulation.link_requests import ask, running
from tcpsf.errors import TcpsfError

LinkOption = str | float | bool | Sequence[str] | Sequence[Mapping[str, Any]] | None
"""Type of an option: a text, a number, a switch, several texts, or ``None`` for `none`.

For ``beside`` it is the options of each further link.
"""

_KINDS = {"user": 0x1000_0000, "net": 0x4000_0000, "mnt": 0x0002_0000}
"""Namespaces of a command behind the link (setns(2)). The first gives the privilege for others."""

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
    device: str
    """Network device of the link, to which a program behind it may bind a socket."""
    beside: tuple[LinkNetwork, ...]
    """The further links of the option ``beside``, in order. Commands are behind all links."""
    result: dict[str, Any] | None
    """After the block, the statistics of the run (``report/schema/link.json``)."""

    def __init__(self, names: Sequence[str], process: int, number: int = 1) -> None:
        self.name = names[0]
        ends = ask(self.name, "show")["ends"]
        self.outside, self.inside = ends["outside"], ends["inside"]
        self.outside_v6, self.inside_v6 = ends["outside_v6"], ends["inside_v6"]
        self.device = "tcpsf" if number == 1 else f"tcpsf-{number}"
        self.beside = ()
        self.result = None
        self._process = process
        self._environment = _environment(ends, number)
        if number == 1:
            further = enumerate(names[1:], 2)
            self.beside = tuple(LinkNetwork([name], process, at) for at, name in further)
            for each in self.beside:
                self._environment |= each._environment  # noqa: SLF001 (the same class)
            for each in self.beside:
                each._environment = self._environment  # noqa: SLF001

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
        environment = given.get("env")
        environment = dict(os.environ if environment is None else environment)
        environment.update(self._environment)
        return {**given, "env": environment, "preexec_fn": enter(self._process)}


def _environment(ends: Mapping[str, str | None], number: int) -> dict[str, str]:
    """Return the environment variables with the addresses of a link, as `tcpsf link` names them."""
    suffix = "" if number == 1 else f"_{number}"
    names = {"outside": "OUTSIDE", "inside": "INSIDE", "outside_v6": "OUTSIDE6"}
    names["inside_v6"] = "INSIDE6"
    found = ((f"TCPSF_LINK_{name}{suffix}", ends[key]) for key, name in names.items())
    return {name: address for name, address in found if address is not None}


def enter(process: int) -> Callable[[], None]:
    """Return a function that moves the calling process to the namespaces of another one.

    A subprocess calls it before it executes the program. With ``nat`` the mounts may differ, too:
    those of the link have another ``/etc/resolv.conf``.
    """
    libc = ctypes.CDLL(None, use_errno=True)

    def join() -> None:
        folder = Path.cwd()
        opened = [
            (os.open(f"/proc/{process}/ns/{name}", os.O_RDONLY), kind)
            for name, kind in _KINDS.items()
            if Path(f"/proc/{process}/ns/{name}").stat().st_ino
            != Path(f"/proc/self/ns/{name}").stat().st_ino
        ]
        for space, kind in opened:
            if libc.setns(space, kind) != 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number))
            os.close(space)
        # Other mounts begin with their root as the working directory.
        os.chdir(folder)

    return join


@contextlib.contextmanager
def link(**options: LinkOption) -> Iterator[LinkNetwork]:
    """Make an emulated link for a block.

    The options are those of `tcpsf link`, with underscores for dashes: ``delay="20ms"``,
    ``down_rate="10mbit"``, ``loss=0.01``, ``preset="lte"``, ``at=["10s:loss=100%"]``,
    ``offload=False``. ``beside`` has the options of each further link of the commands, such as
    ``[{"name": "lte", "preset": "lte"}]``. Without root, either ``outside`` has to name a program
    for the other end, or ``nat=True`` lets the commands reach other hosts.

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
        files, names, words = command_line(options, Path(folder))
        with subprocess.Popen(  # noqa: S603 (our own command)
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        ) as started:
            try:
                first = _first_line(started)
                if not first:
                    started.wait(timeout=_END_S)
                    raise refusal(errors)
                network = LinkNetwork(names, int(first))
                yield network
            finally:
                end(started)
        for each, file in zip((network, *network.beside), files, strict=True):
            each.result = json.loads(file.read_text(encoding="utf-8"))


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


def command_line(
    options: Mapping[str, LinkOption], folder: Path
) -> tuple[list[Path], list[str], list[str]]:
    """Return the files with the statistics and the names of all links, and the command."""
    first = {key: value for key, value in options.items() if key != "beside"}
    links = [first, *_further(options.get("beside"))]
    files = [folder / f"link-{number}.json" for number in range(1, len(links) + 1)]
    names = [
        str(each.get("name") or f"python-{os.getpid()}-{secrets.token_hex(4)}") for each in links
    ]
    for name in names:
        if name in running():
            raise TcpsfError(
                f"cannot make link `{name}`: it is running", hint="choose another name"
            )
    words = [
        _words({**each, "name": name, "json": str(file)})
        for each, name, file in zip(links, names, files, strict=True)
    ]
    begin = [sys.executable, "-m", "tcpsf", "link", "--quiet"]
    further = [f"--beside={shlex.join(each)}" for each in words[1:]]
    return files, names, [*begin, *words[0], *further, "--", *_HOLDER]


def _further(beside: LinkOption) -> list[dict[str, LinkOption]]:
    """Return the options of further links."""
    if beside is None:
        return []
    if not isinstance(beside, Sequence) or not all(isinstance(each, Mapping) for each in beside):
        raise TcpsfError(
            f"cannot make links from `beside={beside!r}`: expected options of each further link",
            hint='e.g. `beside=[{"name": "lte", "preset": "lte"}]`',
        )
    return [dict(each) for each in beside if isinstance(each, Mapping)]


def _words(options: Mapping[str, LinkOption]) -> list[str]:
    """Return the options of a link as the command line has them."""
    words: list[str] = []
    for key, value in options.items():
        option = key.rstrip("_").replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        elif value is None or isinstance(value, str | int | float):
            words.append(f"--{option}={_text(value)}")
        else:
            words += [f"--{option}={each}" for each in value]
    return words


def _text(value: LinkOption) -> str:
    """Return an option as the command line has it.

    >>> _text(None), _text(0.02), _text("20ms")
    ('none', '0.02', '20ms')
    """
    return "none" if value is None else str(value)
