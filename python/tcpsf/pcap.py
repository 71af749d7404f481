"""Captures: pcapng files that Wireshark and its relatives read, whole or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tcpsf import _core
from tcpsf.errors import OutputError, TcpsfError
from tcpsf.staging import partial_file

MAGIC = b"\n\r\r\n"
"""What every pcapng file begins with; a file without it is not ours to replace."""

LEAST_BYTES, MOST_BYTES = 80, 262_144
"""The longest headers, and the limit that Wireshark sets itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pcap:
    """The capture to write of a run: every packet with the headers it would have on a real wire.

    >>> Pcap(path=Path("run.pcapng"), snap_len=20)
    Traceback (most recent call last):
    tcpsf.errors.TcpsfError: cannot capture 20 bytes of a packet: it must be 80 to 262144
    """

    path: Path
    place: Literal["sender", "receiver", "both"] = "sender"
    """The host at which a flow's packets are seen: the one that sends its data, the one that receives them, or both.

    With both, each packet that arrives is there twice, and an analyser that does not tell
    interfaces apart takes the second for a retransmission.
    """
    snap_len: int = 128
    """How many bytes of a packet are kept. The payload is zeros."""
    replace: bool = False
    """Whether an earlier capture may be replaced."""

    def __post_init__(self) -> None:
        if not LEAST_BYTES <= self.snap_len <= MOST_BYTES:
            raise TcpsfError(
                f"cannot capture {self.snap_len} bytes of a packet: it must be {LEAST_BYTES} to {MOST_BYTES}",
                hint="128 keeps all headers, 65535 all packets whole",
            )


@contextlib.contextmanager
def captured(simulation: _core.Simulation, pcap: Pcap | None) -> Iterator[Callable[[int], bool]]:
    """Yield what advances the simulation by so many events.

    The file gets its name when the block ends without an error; a file that cannot be written is
    noticed before.
    """
    if pcap is None:
        yield lambda events: simulation.advance(max_events=events)
        return
    path = pcap.path

    def advance(events: int) -> bool:
        with plainly(path):
            return simulation.advance(max_events=events)

    with staged(path, replace=pcap.replace) as staging:
        with plainly(path):
            simulation.capture(str(staging), place=pcap.place, snap_len=pcap.snap_len)
        yield advance
        with plainly(path):
            simulation.finish_capture()


@contextlib.contextmanager
def staged(path: Path, *, replace: bool) -> Iterator[Path]:
    """Yield a file to write a capture to; it becomes ``path`` when the block ends without an error.

    A pipe is written to as it is.
    """
    with contextlib.ExitStack() as stack:
        with plainly(path):
            if not (is_pipe := path.is_fifo()):
                _refuse_if_taken(path, replace=replace)
                staging = stack.enter_context(partial_file(path))
                _refuse_if_taken(
                    path, replace=replace
                )  # another process may have finished meanwhile
        if is_pipe:
            yield path
            return
        yield staging
        with plainly(path):
            staging.replace(path)


def standard_output() -> Path:
    """Return the path of standard output, if a capture can be written there: to a program that reads it."""
    path = Path("/dev/stdout")
    if not path.is_fifo():
        raise OutputError(
            "cannot write capture `-`: standard output is not a pipe",
            hint="name a file, or send it to a program: `tcpsf sim FILE --pcap - | tshark -r -`",
        )
    return path


def _refuse_if_taken(path: Path, *, replace: bool) -> None:
    hint = "name another file"
    if not path.parent.is_dir():
        raise OutputError(
            f"cannot write capture `{path}`: `{path.parent}` is not a folder", hint=hint
        )
    if not path.exists():
        return
    if not _is_capture(path):
        raise OutputError(
            f"cannot write capture `{path}`: it exists and is something else", hint=hint
        )
    if not replace:
        raise OutputError(
            f"cannot write capture `{path}`: it is there already",
            hint=f"{hint}, or let `--force` replace it",
        )


def _is_capture(path: Path) -> bool:
    """Whether that is a file that begins as captures do, or is empty."""
    if not path.is_file():
        return False
    with plainly(path), path.open("rb") as file:
        return file.read(len(MAGIC)) in (MAGIC, b"")


@contextlib.contextmanager
def plainly(path: Path) -> Iterator[None]:
    """Turn what is said of the file into one line."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"cannot write capture `{path}`: {(error.strerror or str(error)).lower()}",
            hint="nothing was kept; name another file",
        ) from None
    except ValueError as error:
        message, hint = error.args
        raise OutputError(f"cannot write capture `{path}`: {message}", hint=hint) from None
