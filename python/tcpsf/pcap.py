"""Captures of simulated packets: pcapng files for Wireshark, written completely or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal

from tcpsf import _core
from tcpsf.errors import OutputError, TcpsfError, reason
from tcpsf.staging import partial_file

MAGIC = b"\n\r\r\n"
"""First bytes of every pcapng file. A file without them is never replaced."""

LEAST_BYTES, MOST_BYTES = 80, 262_144
"""Limits of `Pcap.snap_len`: the maximum length of all headers, and Wireshark's own limit."""

PLACES = ("sender", "receiver", "both")
"""Vantage points of a capture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pcap:
    """A capture of a run: every packet, with the headers that it would have on a real wire.

    Raises `TcpsfError` for another vantage point or a number of bytes out of range.

    >>> Pcap(path=Path("run.pcapng"), snap_len=20)
    Traceback (most recent call last):
    tcpsf.errors.TcpsfError: cannot capture 20 bytes of a packet: expected 80 to 262144
    """

    path: str | PathLike[str]
    """Path of the pcapng file, or of a named pipe."""
    place: Literal["sender", "receiver", "both"] = "sender"
    """Vantage point: the sender of a flow's data, its receiver, or both.

    With both, each packet that arrives appears twice. An analyser that does not distinguish
    interfaces takes the second one for a retransmission.
    """
    snap_len: int = 128
    """Bytes of a packet that are written, from 80 to 262144. The payload is zeros."""
    replace: bool = False
    """Whether the capture may replace an earlier one."""

    def __post_init__(self) -> None:
        if self.place not in PLACES:
            raise TcpsfError(
                f"cannot capture at `{self.place}`: expected `sender`, `receiver` or `both`",
                hint="the packets at the sender of the data are usual",
            )
        if not LEAST_BYTES <= self.snap_len <= MOST_BYTES:
            raise TcpsfError(
                f"cannot capture {self.snap_len} bytes of a packet: "
                f"expected {LEAST_BYTES} to {MOST_BYTES}",
                hint="128 bytes contain all headers, 65535 bytes the longest packet",
            )


@contextlib.contextmanager
def captured(simulation: _core.Simulation, pcap: Pcap | None) -> Iterator[Callable[[int], bool]]:
    """Yield a function that advances the simulation by a number of events.

    The temporary file is renamed to ``pcap.path`` when the block ends without an error. Raises
    `OutputError` at the start if the file cannot be written.
    """
    if pcap is None:
        yield lambda events: simulation.advance(max_events=events)
        return
    path = Path(pcap.path)

    def advance(events: int) -> bool:
        try:
            return simulation.advance(max_events=events)
        except OSError:
            if simulation.model_failed:
                raise
            with plain_write_errors(path):
                raise

    with staged(path, replace=pcap.replace) as staging:
        with plain_write_errors(path):
            simulation.capture(str(staging), place=pcap.place, snap_len=int(pcap.snap_len))
        yield advance
        with plain_write_errors(path):
            simulation.finish_capture()


@contextlib.contextmanager
def staged(path: Path, *, replace: bool) -> Iterator[Path]:
    """Yield a file to write a capture to; it becomes ``path`` when the block ends without an error.

    If ``path`` is a pipe, yield it without a temporary file.
    """
    with contextlib.ExitStack() as stack:
        with plain_write_errors(path):
            if not (is_pipe := path.is_fifo()):
                _refuse_if_taken(path, replace=replace)
                staging = stack.enter_context(partial_file(path))
                # Another process may have finished in the meantime.
                _refuse_if_taken(path, replace=replace)
        if is_pipe:
            yield path
            return
        yield staging
        with plain_write_errors(path):
            staging.replace(path)


def standard_output() -> Path:
    """Return the path of standard output. Raises `OutputError` unless it is a pipe."""
    path = Path("/dev/stdout")
    if not path.is_fifo():
        raise OutputError(
            "cannot write capture `-`: standard output is not a pipe",
            hint="give a file, or pipe it to a program: `tcpsf sim FILE --pcap - | tshark -r -`",
        )
    return path


def _refuse_if_taken(path: Path, *, replace: bool) -> None:
    hint = "choose another file"
    if not path.parent.is_dir():
        raise OutputError(
            f"cannot write capture `{path}`: `{path.parent}` is not a folder", hint=hint
        )
    if not path.exists():
        return
    if not _is_capture(path):
        raise OutputError(
            f"cannot write capture `{path}`: it exists and is not a capture", hint=hint
        )
    if not replace:
        raise OutputError(
            f"cannot write capture `{path}`: it already exists",
            hint=f"{hint}, or replace it with `--force`",
        )


def _is_capture(path: Path) -> bool:
    """Return whether the path is a pcapng file or an empty file."""
    if not path.is_file():
        return False
    with plain_write_errors(path), path.open("rb") as file:
        return file.read(len(MAGIC)) in (MAGIC, b"")


@contextlib.contextmanager
def plain_write_errors(path: Path) -> Iterator[None]:
    """Convert errors about the capture's file to `OutputError`."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"cannot write capture `{path}`: {reason(error)}",
            hint="no capture is kept; choose another file",
        ) from None
    except ValueError as error:
        message, hint = error.args
        raise OutputError(f"cannot write capture `{path}`: {message}", hint=hint) from None
