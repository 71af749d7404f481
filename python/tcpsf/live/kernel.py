"""A file server with the kernel's TCP, at the outer end of a link or behind a proxy.

It records the kernel's data about each connection. The command is
``tcpsf link --outside "python -m tcpsf.live.kernel SERVING"``, where SERVING is a file with
`Serving` as JSON. The server sets the initial window of the route to the clients. It disables the
kernel's cache of earlier connections (``tcp_no_metrics_save``). Then it serves files over HTTP/1.1
on concurrent connections, until SIGTERM. Without an initial window it needs no link: the upstream
of `tcpsf proxy` is such a server at 127.0.0.1.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import select
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tcpsf.errors import TcpsfError, reason
from tcpsf.finished import write
from tcpsf.live import tcp_info
from tcpsf.live.clients import FAILED, OUTSIDE, file_name, raise_file_limit
from tcpsf.live.network import set_initial_window

INSIDE = "TCPSF_LINK_INSIDE"
"""Environment variable with the address of the link's inner end."""
SYSCTLS = (
    "tcp_no_metrics_save",
    "tcp_slow_start_after_idle",
    "tcp_sack",
    "tcp_timestamps",
    "tcp_early_retrans",
    "tcp_recovery",
    "tcp_frto",
    "tcp_rto_min_us",
)
"""Settings that affect the kernel's sender; some kernels do not have all of them."""
SEND_BUFFER = 262_144
"""Bytes. The kernel's buffer holds a whole file, so that only its TCP determines the timing."""
LONGEST_REQUEST = 16_384
LOOKED_EVERY_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Settings of the file server that uses the kernel's TCP."""

    folder: str
    port: int
    most: int
    """Maximum number of concurrent connections."""
    variant: str
    """Name of the sender in the records."""
    congestion: str
    initial_window: int | None
    """Initial window in segments on the route to a link's clients; ``None`` for the default."""
    records: str
    """File for the records, with a line of JSON for each connection."""
    settings_path: str
    """File for the kernel's version and settings."""
    ready: str
    """File that the server creates when it accepts connections."""
    address: str = ""
    """Address of the server; empty for all addresses."""


@dataclass(slots=True, kw_only=True)
class Record:
    """Record of a connection, with the columns of `live.result.DOCUMENTED`."""

    client_port: int
    variant: str
    segments: int = 0
    retransmitted_segments: int = 0
    fast_retransmits: int | None = None
    """Unknown: the kernel counts them only for all connections together."""
    timeouts: int | None = None
    syn_timeouts: int = 0
    srtt_s: float = 0.0
    rto_first_s: float = 0.0
    rto_s: float = 0.0
    ending: str = "open"


class _Connection:
    """A connection of a client."""

    __slots__ = ("first", "last", "received", "record", "rest", "socket")

    def __init__(self, one: socket.socket, port: int, variant: str) -> None:
        self.socket = one
        self.first = tcp_info.read(one)
        self.received = bytearray()
        """Received bytes of a request."""
        self.rest = memoryview(b"")
        """Rest of the response that the kernel has not accepted."""
        self.last = False
        """Whether this is the last response on the connection."""
        self.record = Record(
            client_port=port,
            variant=variant,
            rto_first_s=self.first.rto_s,
            # On a new connection, retransmissions of the SYN-ACK have been counted.
            syn_timeouts=self.first.retransmitted_segments,
        )


class Server:
    """A server of files with one thread and one epoll, without blocking."""

    def __init__(self, serving: Serving) -> None:
        self._folder = Path(serving.folder)
        self._variant = serving.variant
        self._poll = select.epoll()
        self._open: dict[int, _Connection] = {}
        self._records: list[Record] = []
        self._ending = False
        self._socket = listening(
            serving.port, congestion=serving.congestion, address=serving.address
        )
        self._poll.register(self._socket.fileno(), select.EPOLLIN)

    def end(self, *_signal: object) -> None:
        """Make `run` return after the current events."""
        self._ending = True

    def run(self) -> list[Record]:
        """Serve until `end`, and return the records of all connections."""
        while not self._ending:
            self._poll_once(LOOKED_EVERY_S)
        self._poll_once(0.0)  # process FINs that have arrived
        for each in list(self._open.values()):
            self._close(each, "open")
        self._socket.close()
        self._poll.close()
        return self._records

    def _poll_once(self, timeout_s: float) -> None:
        """Process the events of all connections once."""
        for handle, _ in self._poll.poll(timeout_s, len(self._open) + 1):
            if handle == self._socket.fileno():
                self._accept()
            else:
                self._serve(self._open[handle])

    def _accept(self) -> None:
        while True:
            try:
                one, (_, port, *_) = self._socket.accept()
            except BlockingIOError:
                return
            one.setblocking(False)
            self._open[one.fileno()] = _Connection(one, port, self._variant)
            self._poll.register(one.fileno(), select.EPOLLIN)

    def _serve(self, connection: _Connection) -> None:
        try:
            if connection.rest:
                self._send(connection)
                return
            received = connection.socket.recv(4096)
        except BlockingIOError:
            return
        except OSError as error:
            self._close(connection, "reset" if error.errno == errno.ECONNRESET else "failed")
            return
        connection.received += received
        if not received or len(connection.received) > LONGEST_REQUEST:
            self._close(connection, "finished" if connection.last else "closed early")
        elif b"\r\n\r\n" in connection.received:
            self._answer(connection)

    def _answer(self, connection: _Connection) -> None:
        request = bytes(connection.received)
        connection.received.clear()
        connection.last = b"\r\nConnection: close\r\n" in request
        words = request.split(b"\r\n", 1)[0].split(b" ")
        try:
            size = int(words[1].removeprefix(b"/").removesuffix(b".bin"))
            body = (self._folder / file_name(size)).read_bytes()
            status = "200 OK"
        except (IndexError, ValueError, OSError):
            body, status = b"", "404 Not Found"
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nContent-Type: application/octet-stream\r\n\r\n"
        connection.rest = memoryview(head.encode() + body)
        self._send(connection)

    def _send(self, connection: _Connection) -> None:
        try:
            sent = connection.socket.send(connection.rest)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._close(connection, "reset")
            return
        connection.rest = connection.rest[sent:]
        if connection.last and not connection.rest:
            with contextlib.suppress(OSError):  # the client may have reset the connection
                connection.socket.shutdown(socket.SHUT_WR)
        wanted = select.EPOLLOUT if connection.rest else select.EPOLLIN
        self._poll.modify(connection.socket.fileno(), wanted)

    def _close(self, connection: _Connection, ending: str) -> None:
        info, record, first = tcp_info.read(connection.socket), connection.record, connection.first
        record.segments = info.segments
        record.retransmitted_segments = info.retransmitted_segments - first.retransmitted_segments
        if info.timeouts is not None and first.timeouts is not None:
            record.timeouts = info.timeouts - first.timeouts
        record.srtt_s, record.rto_s = info.srtt_s, info.rto_s
        record.ending = ending
        self._records.append(record)
        self._poll.unregister(connection.socket.fileno())
        del self._open[connection.socket.fileno()]
        connection.socket.close()


def listening(port: int, *, congestion: str, address: str = "") -> socket.socket:
    """Make a listening socket with one of the kernel's congestion controls.

    An empty ``address`` stands for all addresses. Raises `TcpsfError` if the kernel does not have
    the congestion control.
    """
    one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
    except OSError as error:
        one.close()
        raise TcpsfError(
            f"cannot send with the kernel's `{congestion}`: {reason(error)}",
            hint="`sysctl net.ipv4.tcp_available_congestion_control` lists those of this kernel",
        ) from None
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.setblocking(False)
    one.bind((address, port))
    one.listen(4096)
    return one


def settings() -> dict[str, Any]:
    """Return the kernel's version and its TCP settings."""
    folder = Path("/proc/sys/net/ipv4")
    found = {
        name: (folder / name).read_text(encoding="ascii").strip()
        for name in SYSCTLS
        if (folder / name).exists()
    }
    return {"kernel": platform.release(), "settings": found}


def main(arguments: Sequence[str]) -> int:
    """Serve files with the kernel's TCP until SIGTERM."""
    serving = Serving(**json.loads(Path(arguments[0]).read_text(encoding="utf-8")))
    try:
        Path("/proc/sys/net/ipv4/tcp_no_metrics_save").write_text("1", encoding="ascii")
        if serving.initial_window is not None:
            set_initial_window(os.environ[OUTSIDE], os.environ[INSIDE], serving.initial_window)
        raise_file_limit(serving.most)
        server = Server(serving)
    except TcpsfError as error:
        sys.stderr.write(f"error: {error}\nhint: {error.hint}\n")
        write(Path(serving.ready), FAILED.encode())
        return 1
    signal.signal(signal.SIGTERM, server.end)
    Path(serving.settings_path).write_text(json.dumps(settings()), encoding="utf-8")
    write(Path(serving.ready), b"")  # an atomic write, so that readers never see a partial word
    records = server.run()
    with Path(serving.records).open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(asdict(each)) + "\n" for each in records)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
