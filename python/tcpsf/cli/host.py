"""`tcpsf serve` and `tcpsf proxy`: run a host on a TUN device until Ctrl-C, then summarise."""

from __future__ import annotations

import contextlib
import ipaddress
import json as json_format
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from tcpsf import _core
from tcpsf.cli import verbosity
from tcpsf.cli.file_checks import put, refuse_if_taken, staged_page, writing
from tcpsf.cli.output import print_message, print_result
from tcpsf.cli.records import Writer, capturing, format_of, plain_write_errors, taken
from tcpsf.cli.signals import handling
from tcpsf.cure.policy import CurePolicy
from tcpsf.errors import TcpsfError, reason
from tcpsf.report.serve_page import ConnectionSums
from tcpsf.text import plain

SENDER = "reno+sack / full / iw=rfc6928"
"""The default sender, which most servers use today."""

SLICE_MS = 200
"""Milliseconds that the host works between two updates of the status line."""


def serve(
    *, folder: Path, addresses: Sequence[str], port: int, idle_timeout: str | None, **options: Any
) -> None:
    """Serve the files of a folder over HTTP until a signal stops the host."""
    options["settings"] = {
        "addresses": list(addresses),
        "port": port,
        "folder": str(folder),
        "upstream": None,
    }
    _run("serve", connect_timeout="10s", idle_timeout=idle_timeout or "60s", **options)


def proxy(
    *, listen: Sequence[str], upstream: str, idle_timeout: str | None, **options: Any
) -> None:
    """Relay connections to an upstream server until a signal stops the host."""
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
    policies: Sequence[str],
    alternate: str | None,
    profile: str | None,
    grace: float,
    records: Path | None,
    report: Path | None,
    pcap: Path | None,
    json: bool,
    force: bool,
    **limits: Any,
) -> None:
    variants = [*senders, *(CurePolicy.parse(each).sender for each in policies)]
    stack_settings = senders_and_profile(variants, alternate, profile, task=task)
    files = {"--records": records, "--report": report, "--pcap": pcap}
    check_files(files, printed="the addresses", replace=force)
    wanted = records is not None or report is not None
    writer_of = None if records is None else format_of(records)
    with plain_write_errors(task):
        host = _core.Host(**settings, **stack_settings, records=wanted, **limits)
        if pcap is not None:
            with writing(pcap):
                host.capture(str(pcap))
    line, sums = _StatusLine(), None if report is None else ConnectionSums()
    # From here on, a signal lets connections finish, and no rows are lost.
    stop = _StopRequests()
    with (
        staged_page(report, replace=force) as page,
        handling(stop.count),
        contextlib.ExitStack() as stack,
    ):
        writer = (
            None
            if records is None or writer_of is None
            else stack.enter_context(writer_of(records))
        )
        _announce(host, task, settings["port"], stack_settings["profile"], json=json)
        with plain_write_errors(task):
            _until_stopped(host, stop, grace, _Rows(writer, sums), line, pcap)
        line.end()
        if pcap is not None:
            with capturing(pcap, line):
                host.check_capture()
                host.finish_capture()
        stack.close()
        _sum_up(host, task, stack_settings["profile"], json=json)
        if sums is not None:
            counters = dict(host.counters())
            content = sums.page(task=task, counters=counters, duration_s=host.now_s)
            put(page, report, lambda: content)
        if writer is not None:
            writer.losses.check()


LINUX = "linux-6.18"
"""The profile of senders that count packets, if none was given."""


def senders_and_profile(
    senders: Sequence[str], alternate: str | None, profile: str | None, *, task: str
) -> dict[str, Any]:
    """Return the settings of the stack: the given senders or the default, and the profile.

    Without an explicit profile, it is that of Linux for senders that count packets, else ``None``.
    Refuse ``--alternate`` with a single sender.
    """
    usual = SENDER if profile is None else _core.sender_of_profile(profile)
    names = list(senders) or [usual]
    if profile is None:
        with plain_write_errors(task):
            profile = LINUX if any(map(_core.counts_packets, names)) else None
    verbosity.detail("senders: %s; profile: %s", "; ".join(names), profile or "none")
    if alternate is not None and len(names) < 2:
        raise TcpsfError(
            f"cannot alternate: `--alternate {alternate}` with one sender",
            hint="give `--sender` or `--policy` several times",
        )
    return {"senders": names, "alternate": alternate, "profile": profile}


def check_files(files: Mapping[str, Path | None], *, printed: str, replace: bool) -> None:
    """Refuse output files that cannot be written.

    ``files`` maps options to paths. ``printed`` says what the command prints to standard output.
    """
    for option, path in files.items():
        if path is not None:
            if str(path) == "-":
                raise TcpsfError(
                    f"cannot write `{option} -`: standard output is used for {printed}",
                    hint="give a file",
                )
            refuse_if_taken(option, path, replace=replace)


class _Rows:
    """Receivers of the rows about connections that have ended: a file, a page, or none."""

    def __init__(self, writer: Writer | None, sums: ConnectionSums | None) -> None:
        self._writer = writer
        self._sums = sums

    def take(self, host: _core.Host, line: _StatusLine) -> None:
        """Take the rows of the host."""
        if self._writer is None and self._sums is None:
            return
        found = taken(host)
        if self._sums is not None:
            self._sums.add(found)
        if self._writer is not None:
            self._writer.write(found)
            self._writer.losses.warn(line)


class _StopRequests:
    """Counter of the signals that request the host to stop."""

    def __init__(self) -> None:
        self.signals = 0

    def count(self, _number: int, _frame: FrameType | None) -> None:
        """Count a signal."""
        # An exception here could lose rows that have been taken from the host and not yet written.
        self.signals += 1


def _until_stopped(
    host: _core.Host,
    stop: _StopRequests,
    grace: float,
    rows: _Rows,
    line: _StatusLine,
    pcap: Path | None,
) -> None:
    """Run the host until a signal, then let open connections finish.

    Reset the connections on a second signal, or after ``grace`` seconds.
    """

    def work() -> None:
        host.run(milliseconds=SLICE_MS)
        rows.take(host, line)
        if pcap is not None:
            with capturing(pcap, line):
                host.check_capture()
        line.show(host)

    while not stop.signals:
        work()
    verbosity.detail("signal received; open connections have %g s to finish", grace)
    host.stop()
    end = host.now_s + grace
    while stop.signals == 1 and not host.is_stopped and host.now_s < end:
        work()
    verbosity.detail("stopped after %.3f s", host.now_s)
    host.abort()
    rows.take(host, line)


def _announce(host: _core.Host, task: str, port: int, profile: str | None, *, json: bool) -> None:
    urls = [
        _url(address, port, scheme="http" if task == "serve" else "tcp")
        for address in host.addresses
    ]
    verbosity.detail(
        "device %s, addresses %s, port %d", host.device, ", ".join(host.addresses), port
    )
    if json:
        begun = {
            "event": "listening",
            "urls": urls,
            "addresses": host.addresses,
            "port": port,
            "device": host.device,
            "profile": profile,
        }
        print_result(json_format.dumps(begun))
    else:
        print_result("\n".join(urls))
        print_message(f"Serving on device {host.device}. Press Ctrl-C to stop.")


def _url(address: str, port: int, *, scheme: str) -> str:
    host = f"[{address}]" if ":" in address else address
    default = scheme == "http" and port == 80
    return (
        f"{scheme}://{host}" + ("" if default else f":{port}") + ("/" if scheme == "http" else "")
    )


def _sum_up(host: _core.Host, task: str, profile: str | None, *, json: bool) -> None:
    counters = dict(host.counters())
    if json:
        summary = {"event": "summary", "task": task, "profile": profile}
        duration = {"duration_s": round(host.now_s, 3)}
        print_result(json_format.dumps(summary | duration | counters))
        return
    width = max(len(name) for name in counters)
    shown = {name: count for name, count in counters.items() if count}
    print_result(
        "\n".join(
            f"{name.replace('_', ' '):<{width}} {plain(count, 0):>14}"
            for name, count in shown.items()
        )
    )


class _StatusLine:
    """Counters in one line on standard error, if this is a terminal and without `--quiet`."""

    def __init__(self) -> None:
        self._watched = sys.stderr.isatty() and not verbosity.is_quiet()
        self._shown = False

    def show(self, host: _core.Host) -> None:
        if not self._watched:
            return
        counters = dict(host.counters())
        names = (
            "open_connections",
            "closed_connections",
            "sent_packets",
            "fast_retransmits",
            "timeouts",
        )
        shown = "  ".join(f"{name.replace('_', ' ')} {plain(counters[name], 0)}" for name in names)
        with contextlib.suppress(OSError):  # the terminal may have been closed
            sys.stderr.write(f"\r\x1b[K{shown}")
            sys.stderr.flush()
        self._shown = True

    def end(self) -> None:
        if self._shown:
            with contextlib.suppress(OSError):
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()


def _listening(texts: Sequence[str]) -> tuple[list[str], int]:
    """Split `IP`, `IP:PORT`, `[IP]:PORT` and `:PORT` into addresses and their common port."""
    addresses, ports = [], set()
    for text in texts:
        address, port = _split(text)
        if address:
            try:
                addresses.append(str(ipaddress.ip_address(address)))
            except ValueError:
                raise TcpsfError(
                    f"cannot listen at `{text}`: `{address}` is not an IP address",
                    hint="e.g. `--listen 100.64.1.2:80`",
                ) from None
        ports.add(80 if port is None else port)
    if len(ports) > 1:
        raise TcpsfError(
            f"cannot listen at several ports: {', '.join(map(str, sorted(ports)))}",
            hint="run one proxy for each port",
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
        raise TcpsfError(
            f"cannot use `{text}`: port {port} is out of range",
            hint="ports are 1 to 65535",
        )
    return address, int(port)


def _resolved(text: str) -> list[str]:
    """Resolve the upstream's name to addresses with the port."""
    name, port = _split(text)
    if port is None or not name:
        raise TcpsfError(
            f"cannot relay to `{text}`: the {'port' if name else 'host'} is missing",
            hint="e.g. `--upstream 127.0.0.1:8080`",
        )
    return addresses_of(name, port, operation=f"relay to `{text}`")


def addresses_of(name: str, port: int, *, operation: str) -> list[str]:
    """Resolve a host name, and return each address with the port.

    ``operation`` is the beginning of the error message, without "cannot".
    """
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise TcpsfError(
            f"cannot {operation}: {reason(error)}",
            hint="an IP address instead of a name always works",
        ) from None
    hosts = [str(place[0]) for _, _, _, _, place in found]
    return [f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host in hosts]
