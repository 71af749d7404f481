"""`tcpsf serve` and `tcpsf proxy`: a host on a TUN device until Ctrl-C, then a summary."""

from __future__ import annotations

import contextlib
import ipaddress
import json as json_format
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol, Self

from tcpsf import _core
from tcpsf.cli.files import refuse_if_taken, writing
from tcpsf.cli.output import reason, say, talk
from tcpsf.cli.signals import handling
from tcpsf.errors import OutputError, TcpsfError
from tcpsf.staging import partial_file

if TYPE_CHECKING:
    import polars as pl

SENDER = "reno+sack / full / iw=rfc6928"
"""What most servers do today."""

SLICE_MS = 200
"""How long the host works between two looks at the terminal."""


def serve(*, folder: Path, addresses: Sequence[str], port: int, idle_timeout: str | None, **options: Any) -> None:
    """Serve files until Ctrl-C."""
    options["settings"] = {"addresses": list(addresses), "port": port, "folder": str(folder), "upstream": None}
    _run("serve", connect_timeout="10s", idle_timeout=idle_timeout or "60s", **options)


def proxy(*, listen: Sequence[str], upstream: str, idle_timeout: str | None, **options: Any) -> None:
    """Relay until Ctrl-C."""
    addresses, port = _listening(listen)
    options["settings"] = {
        "addresses": addresses,
        "port": port,
        "folder": None,
        "upstream": _resolved(upstream),
    }
    _run("proxy", idle_timeout=idle_timeout or "10min", **options)


def _run(
    task: str,
    *,
    settings: dict[str, Any],
    senders: Sequence[str],
    alternate: str | None,
    grace: float,
    records: Path | None,
    pcap: Path | None,
    json: bool,
    force: bool,
    **limits: Any,
) -> None:
    names = list(senders) or [SENDER]
    if alternate is not None and len(names) < 2:
        raise TcpsfError(f"cannot alternate: `--alternate {alternate}` with one sender", hint="name several `--sender`")
    for option, path in (("--records", records), ("--pcap", pcap)):
        if path is not None:
            if str(path) == "-":
                raise TcpsfError(f"cannot write `{option} -`: standard output has the addresses", hint="name a file")
            refuse_if_taken(option, path, replace=force)
    format_of = None if records is None else _format(records)
    with _plainly(task):
        host = _core.Host(**settings, senders=names, alternate=alternate, records=format_of is not None, **limits)
        if pcap is not None:
            with writing(pcap):
                host.capture(str(pcap))
    line = _StatusLine()
    # A signal that comes from here on ends the host in an orderly way, and nothing is lost.
    asked = _Asked()
    with handling(asked.hear), contextlib.ExitStack() as stack:
        writer = None if records is None or format_of is None else stack.enter_context(format_of(records))
        _announce(host, task, settings["port"], json=json)
        with _plainly(task):
            _until_stopped(host, asked, grace, writer, line, pcap)
        line.end()
        if pcap is not None:
            with _capturing(pcap, line):
                host.check_capture()
                host.finish_capture()
        stack.close()
        _sum_up(host, task, json=json)
        if writer is not None:
            writer.losses.check()


class _Asked:
    """Counts the signals that ask the host to end."""

    def __init__(self) -> None:
        self.times = 0

    def hear(self, _number: int, _frame: FrameType | None) -> None:
        """Take a signal."""
        # No exception: between taking rows from the host and keeping them, it would lose them.
        self.times += 1


def _until_stopped(
    host: _core.Host, asked: _Asked, grace: float, writer: _Writer | None, line: _StatusLine, pcap: Path | None
) -> None:
    """Run the host, and on a signal let it finish; on another one, or when that takes too long, reset."""

    def take() -> None:
        if writer is not None:
            writer.take(host)
            writer.losses.warn(line)

    def work() -> None:
        host.run(milliseconds=SLICE_MS)
        take()
        if pcap is not None:
            with _capturing(pcap, line):
                host.check_capture()
        line.show(host)

    while not asked.times:
        work()
    host.stop()
    end = host.now_s + grace
    while asked.times == 1 and not host.is_stopped and host.now_s < end:
        work()
    host.abort()
    take()


@contextlib.contextmanager
def _capturing(path: Path, line: _StatusLine) -> Iterator[None]:
    """Say in one line that the capture has stopped, when its file cannot be written; the host goes on."""
    try:
        yield
    except OSError as error:
        line.end()
        talk(f"warning: cannot write `{path}`: {reason(error)}. The capture has stopped; its file is incomplete.")


def _announce(host: _core.Host, task: str, port: int, *, json: bool) -> None:
    urls = [_url(address, port, scheme="http" if task == "serve" else "tcp") for address in host.addresses]
    if json:
        begun = {"event": "listening", "urls": urls, "addresses": host.addresses, "port": port, "device": host.device}
        say(json_format.dumps(begun))
    else:
        say("\n".join(urls))
        talk(f"Serving on device {host.device}. Press Ctrl-C to stop.")


def _url(address: str, port: int, *, scheme: str) -> str:
    host = f"[{address}]" if ":" in address else address
    default = scheme == "http" and port == 80
    return f"{scheme}://{host}" + ("" if default else f":{port}") + ("/" if scheme == "http" else "")


def _sum_up(host: _core.Host, task: str, *, json: bool) -> None:
    counters = dict(host.counters())
    if json:
        say(json_format.dumps({"event": "summary", "task": task, "duration_s": round(host.now_s, 3), **counters}))
        return
    width = max(len(name) for name in counters)
    shown = {name: count for name, count in counters.items() if count}
    say("\n".join(f"{name.replace('_', ' '):<{width}} {count:>14,}" for name, count in shown.items()))


class _StatusLine:
    """Counters in one line on standard error, where somebody watches."""

    def __init__(self) -> None:
        self._watched = sys.stderr.isatty()
        self._shown = False

    def show(self, host: _core.Host) -> None:
        if not self._watched:
            return
        counters = dict(host.counters())
        names = ("open_connections", "closed_connections", "sent_packets", "fast_retransmits", "timeouts")
        text = "  ".join(f"{name.replace('_', ' ')} {counters[name]:,}" for name in names)
        with contextlib.suppress(OSError):  # the terminal may be gone
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
        self._shown = True

    def end(self) -> None:
        if self._shown:
            with contextlib.suppress(OSError):
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()


class _Losses:
    """Rows that could not be written; the host goes on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lost = 0
        self._kept = 0
        self._reason: str | None = None
        self._warned = False

    def note(self, error: OSError, *, lost: int) -> None:
        """Count rows as lost."""
        self._lost += lost
        self._reason = reason(error)

    def keep(self, rows: int) -> None:
        """Count rows as written."""
        self._kept += rows

    def warn(self, line: _StatusLine) -> None:
        """Say once, in one line, that rows are being lost."""
        if self._reason is not None and not self._warned:
            self._warned = True
            line.end()
            talk(f"warning: cannot write `{self._path}`: {self._reason}. Serving goes on; records are lost.")

    def check(self) -> None:
        """Fail if rows have been lost."""
        if self._reason is not None:
            total = self._lost + self._kept
            raise OutputError(
                f"{self._lost:,} of {total:,} records are lost: cannot write `{self._path}`: {self._reason}",
                hint="name a file on a disk with room",
            )


class _Writer(Protocol):
    """Writes the rows of connections. What cannot be written is lost, and counted."""

    losses: _Losses

    def take(self, host: _core.Host) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...


class _Lines:
    """JSON lines, written as connections end. When the disk is full, the file still ends with a whole line."""

    def __init__(self, path: Path) -> None:
        self.losses = _Losses(path)
        self._end = 0
        with writing(path):
            self._file = path.open("wb", buffering=0)

    def __enter__(self) -> Self:
        return self

    def take(self, host: _core.Host) -> None:
        frame = _taken(host)
        if frame is None:
            return
        content = frame.write_ndjson().encode()
        written, failure = 0, None
        try:
            while written < len(content):
                written += self._file.write(content[written:])
        except OSError as error:
            failure = error
        whole = content.rfind(b"\n", 0, written) + 1
        self._end += whole
        rows = content.count(b"\n", 0, whole)
        self.losses.keep(rows)
        if failure is not None:
            self.losses.note(failure, lost=frame.height - rows)
            with contextlib.suppress(OSError):
                self._file.truncate(self._end)
                self._file.seek(self._end)

    def __exit__(self, *_error: object) -> None:
        try:
            self._file.close()
        except OSError as error:  # of a file system that writes late
            self.losses.note(error, lost=0)


class _Parquet:
    """Parquet, written whole at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.losses = _Losses(path)
        self._frames: list[pl.DataFrame] = []
        self._stack = contextlib.ExitStack()
        # A place that cannot be written is noticed before the work.
        with writing(path):
            self._staging = self._stack.enter_context(partial_file(path))

    def __enter__(self) -> Self:
        return self

    def take(self, host: _core.Host) -> None:
        frame = _taken(host, even_empty=not self._frames)
        if frame is not None:
            self._frames.append(frame)

    def __exit__(self, *_error: object) -> None:
        import io

        import polars as pl

        content = io.BytesIO()  # Polars' own writing to files does not always say why it failed
        if self._frames:
            pl.concat(self._frames).write_parquet(content)
        rows = sum(frame.height for frame in self._frames)
        try:
            with self._stack:
                self._staging.write_bytes(content.getvalue())
                self._staging.replace(self._path)
        except OSError as error:
            self.losses.note(error, lost=rows)


def _format(path: Path) -> Callable[[Path], _Writer]:
    if path.suffix == ".parquet":
        return _Parquet
    if path.suffix == ".jsonl":
        return _Lines
    raise TcpsfError(f"cannot write records `{path}`: no format ends in `{path.suffix}`", hint="`.parquet` or `.jsonl`")


def _taken(host: _core.Host, *, even_empty: bool = False) -> pl.DataFrame | None:
    import polars as pl

    table = host.take_records()
    if table.num_rows == 0 and not even_empty:
        return None
    # Each batch has categories of its own.
    return pl.DataFrame(table).with_columns(pl.selectors.categorical().cast(pl.String))


def _listening(texts: Sequence[str]) -> tuple[list[str], int]:
    """Split `IP`, `IP:PORT`, `[IP]:PORT` and `:PORT` into addresses and the one port."""
    addresses, ports = [], set()
    for text in texts:
        address, port = _split(text)
        if address:
            try:
                addresses.append(str(ipaddress.ip_address(address)))
            except ValueError:
                raise TcpsfError(
                    f"cannot listen at `{text}`: `{address}` is not an IP address", hint="e.g. `--listen 100.64.1.2:80`"
                ) from None
        ports.add(80 if port is None else port)
    if len(ports) > 1:
        raise TcpsfError(
            f"cannot listen at several ports: {', '.join(map(str, sorted(ports)))}", hint="run a proxy for each"
        )
    return addresses, ports.pop() if ports else 80


def _split(text: str) -> tuple[str, int | None]:
    if text.startswith("["):
        address, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    elif text.count(":") == 1:
        address, _, port = text.partition(":")
    else:
        address, port = text, ""
    if not port:
        return address, None
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536:
        raise TcpsfError(f"cannot make sense of `{text}`: port {port} is out of range", hint="ports are 1 to 65535")
    return address, int(port)


def _resolved(text: str) -> list[str]:
    """Find the addresses of an upstream."""
    name, port = _split(text)
    if port is None or not name:
        raise TcpsfError(
            f"cannot relay to `{text}`: it names no {'port' if name else 'host'}",
            hint="e.g. `--upstream 127.0.0.1:8080`",
        )
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise TcpsfError(
            f"cannot relay to `{text}`: {(error.strerror or str(error)).lower()}", hint="an address always works"
        ) from None
    hosts = [str(place[0]) for _, _, _, _, place in found]
    return [f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host in hosts]


@contextlib.contextmanager
def _plainly(task: str) -> Iterator[None]:
    """Turn what the host says into one line."""
    try:
        yield
    except (ValueError, RuntimeError) as error:
        if len(error.args) != 2:
            raise
        message, hint = error.args
        text = message if message.startswith("cannot") else f"cannot {task}: {message}"
        raise TcpsfError(text, hint=hint) from None
