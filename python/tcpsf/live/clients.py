"""Clients with the kernel's TCP: concurrent HTTP fetches, with a comparison of every byte.

``python -m tcpsf.live.clients PLAN OUT`` reads a plan (`FetchPlan` as JSON), makes its fetches and
writes a line of JSON for each fetch to OUT. Each fetch binds its own port, which identifies the
server's record of the same connection.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import heapq
import itertools
import json
import os
import random
import resource
import select
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tcpsf.live import tcp_info

FIRST_PORT = 10_000
MOST = 65_536 - FIRST_PORT
"""Maximum number of fetches in one run, each with its own port."""

LONGEST_HEAD = 16_384
"""Maximum length of a response's header in bytes."""

PROGRESS_EVERY_S = 0.2
AT_ONCE = 256
"""Number of files whose content is kept in memory; other content is generated again."""

FAILED = "failed"
READY_S = 20.0
"""Maximum time in seconds until a server behind the link is ready."""
OUTSIDE = "TCPSF_LINK_OUTSIDE"
"""Environment variable with the address of the link's outer end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchPlan:
    """The fetches of a run, with their times and settings."""

    address: str
    """Address of the server; empty for the link's outer end."""
    port: int
    starts_s: Sequence[float | None]
    """Start time of each connection in seconds, from the beginning of the run, in ascending order.

    ``None`` if another connection opens it.
    """
    sizes: Sequence[Sequence[int]]
    """Sizes in bytes of the files that each connection fetches one after the other.

    The name of a file contains its size.
    """
    fetch_timeout_s: float
    """Time limit of a connection in seconds."""
    delayed_acks: bool
    """Whether the kernel delays acknowledgments from the start (``TCP_QUICKACK`` off)."""
    progress: str
    """File with the current number of ended connections."""
    parsing_s: Sequence[float] = ()
    """Time in seconds for parsing each connection's first file; empty for no parsing time."""
    opens: Sequence[Sequence[int]] = ()
    """Numbers of the connections that each one opens after parsing its first file; or empty."""
    linger_s: float | None = None
    """Idle time in seconds after which a client closes its connection.

    ``None``: the last request asks the server to close the connection.
    """
    receive_buffer: int | None = None
    """``SO_RCVBUF``, which limits the advertised window; ``None`` for the kernel's default."""
    ready: str | None = None
    """File that the server creates when it accepts connections.

    It contains `FAILED` if the server cannot.
    """

    @classmethod
    def from_json(cls, text: str) -> FetchPlan:
        """Return the plan that `to_json` has converted."""
        return cls(**json.loads(text))

    def to_json(self) -> str:
        """Return the plan as text that `from_json` reads."""
        return json.dumps(asdict(self))


@dataclass(slots=True, kw_only=True)
class Fetch:
    """Result of one connection.

    Times are in seconds from the start of the connection, except ``start_s``, which is from the
    start of the run.
    """

    fetch: int
    client_port: int
    size_bytes: int
    """Total size of its files."""
    objects: int
    """Number of its files."""
    start_s: float
    connect_s: float | None = None
    """Time until the connection is established."""
    first_byte_s: float | None = None
    completion_s: float | None = None
    """Time until all files have been received and are correct."""
    idle_s: float = 0.0
    """Part of ``completion_s`` without an active request."""
    received_bytes: int = 0
    """Received bytes of the files that are correct."""
    head_bytes: int = 0
    """Received bytes of the responses' headers."""
    window_bytes: int | None = None
    """Advertised window at the end; ``None`` if the kernel does not report it."""
    segment_bytes: int | None = None
    """Payload of the server's full-sized segments, as estimated by the kernel."""
    failure: str = ""
    """Short reason if the fetch is incomplete, otherwise empty."""


@functools.lru_cache(maxsize=AT_ONCE)
def content(size: int) -> bytes:
    """Return the content of the file of a size: random bytes, so that a misplaced byte differs.

    >>> len(content(428)), content(428) == content(429)[:428]
    (428, False)
    """
    return random.Random(size).randbytes(size)  # noqa: S311  not for secrets


def file_name(size: int) -> str:
    """Return the name of the file of a size."""
    return f"{size}.bin"


def write_files(sizes: Sequence[int], folder: Path) -> None:
    """Write one file of each size to the server's folder."""
    for size in set(sizes):
        (folder / file_name(size)).write_bytes(content(size))


class _Connection:
    """State of an active fetch."""

    __slots__ = ("begun", "deadline", "fetch", "files", "head", "idle_from", "place", "socket")

    def __init__(
        self, fetch: Fetch, begun: float, deadline: float, one: socket.socket, files: Sequence[int]
    ) -> None:
        self.fetch = fetch
        self.begun = begun
        self.deadline = deadline
        self.socket = one
        self.files = deque(files)
        """Sizes of the incomplete files, of which the first one is being fetched."""
        self.head: bytearray | None = bytearray()
        """Received bytes of the response's header; ``None`` when it is complete."""
        self.place = 0
        """Number of received bytes of the file."""
        self.idle_from = 0.0
        """Start of the idle time before the next request."""


class Clients:
    """The clients of a plan, with one thread and one epoll, without blocking."""

    def __init__(self, plan: FetchPlan) -> None:
        self._plan = plan
        self._address = plan.address or os.environ[OUTSIDE]
        self._poll = select.epoll()
        self._open: dict[int, _Connection] = {}
        self._by_start: deque[_Connection] = deque()
        """Connections in the order of their deadlines, as all have the same time limit."""
        self._ended: list[Fetch] = []
        self._buffer = bytearray(65_536)
        self._ports = iter(range(FIRST_PORT, FIRST_PORT + MOST))
        self._began = 0.0
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        """Heap of future actions by time, and in order of insertion for the same time."""
        self._noted = itertools.count()

    def run(self) -> list[Fetch]:
        """Make all fetches, and return them in the order of their ends."""
        plan = self._plan
        progress = os.open(plan.progress, os.O_WRONLY | os.O_CREAT, 0o600)
        self._began = time.monotonic()
        starts = deque(
            (self._began + start_s, number)
            for number, start_s in enumerate(plan.starts_s)
            if start_s is not None
        )
        reported_s = 0.0
        try:
            while starts or self._open or self._later:
                now = time.monotonic()
                while starts and starts[0][0] <= now:
                    self._start(starts.popleft()[1])
                while self._later and self._later[0][0] <= now:
                    heapq.heappop(self._later)[2]()
                self._give_up(now)
                if now - reported_s > PROGRESS_EVERY_S:
                    reported_s = now
                    os.pwrite(progress, b"%-20d" % len(self._ended), 0)
                due = [each[0][0] for each in (starts, self._later) if each]
                for handle, events in self._poll.poll(
                    max(0.0, min([PROGRESS_EVERY_S, *(at - now for at in due)]))
                ):
                    self._serve(self._open[handle], events)
            os.pwrite(progress, b"%-20d" % len(self._ended), 0)
        finally:
            os.close(progress)
            self._poll.close()
            for each in self._open.values():
                each.socket.close()
        return self._ended

    def _do_later(self, pause_s: float, do: Callable[[], None]) -> None:
        heapq.heappush(self._later, (time.monotonic() + pause_s, next(self._noted), do))

    def _fetch(self, number: int, now: float) -> Fetch:
        sizes = self._plan.sizes[number]
        return Fetch(
            fetch=number,
            client_port=0,
            size_bytes=sum(sizes),
            objects=len(sizes),
            start_s=now - self._began,
        )

    def _start(self, number: int) -> None:
        plan = self._plan
        now = time.monotonic()
        fetch = self._fetch(number, now)
        one = socket.socket(
            socket.AF_INET6 if ":" in self._address else socket.AF_INET, socket.SOCK_STREAM
        )
        one.setblocking(False)
        try:
            fetch.client_port = self._bind(one)
        except OSError as error:
            one.close()
            fetch.failure = f"bind: {error.strerror}"
            self._note_end(fetch, opened=False)
            return
        if plan.receive_buffer is not None:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, plan.receive_buffer)
        one.connect_ex(
            (self._address, plan.port)
        )  # the socket becomes writable when the result is known
        connection = _Connection(fetch, now, now + plan.fetch_timeout_s, one, plan.sizes[number])
        self._open[one.fileno()] = connection
        self._by_start.append(connection)
        self._poll.register(one.fileno(), select.EPOLLOUT)

    def _bind(self, one: socket.socket) -> int:
        """Bind the next free port."""
        while True:
            port = next(self._ports, None)
            if port is None:
                raise OSError(errno.EADDRINUSE, "no free port")
            try:
                one.bind(("", port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            else:
                return port

    def _serve(self, connection: _Connection, events: int) -> None:
        fetch = connection.fetch
        if fetch.connect_s is None:
            refused = connection.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if refused:
                self._end(connection, f"connect: {os.strerror(refused)}")
                return
            if events & select.EPOLLOUT:
                self._send_request(connection)
            return
        try:
            count = connection.socket.recv_into(self._buffer)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(
                connection, "" if fetch.completion_s is not None else f"receive: {error.strerror}"
            )
            return
        if count == 0:
            self._end(
                connection, "" if fetch.completion_s is not None else "closed before all was there"
            )
            return
        failure = self._take(connection, memoryview(self._buffer)[:count])
        if failure:
            self._end(connection, failure)

    def _send_request(self, connection: _Connection) -> None:
        fetch = connection.fetch
        fetch.connect_s = time.monotonic() - connection.begun
        if self._plan.delayed_acks:
            connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        failure = self._request(connection)
        if failure:
            self._end(connection, failure)
            return
        self._poll.modify(connection.socket.fileno(), select.EPOLLIN)

    def _request(self, connection: _Connection) -> str:
        """Request the next file. Return the error, or an empty text."""
        lines = [f"GET /{file_name(connection.files[0])} HTTP/1.1", f"Host: {self._address}"]
        if len(connection.files) == 1 and self._plan.linger_s is None:
            lines.append("Connection: close")
        try:
            connection.socket.send(
                "\r\n".join([*lines, "", ""]).encode()
            )  # the send buffer is empty and holds the whole request
        except OSError as error:
            return f"send: {error.strerror}"
        return ""

    def _take(self, connection: _Connection, chunk: memoryview) -> str:
        """Compare received bytes with the expected ones. Return the error, or an empty text."""
        fetch = connection.fetch
        if fetch.first_byte_s is None:
            fetch.first_byte_s = time.monotonic() - connection.begun
        if connection.head is not None:
            if not connection.files:
                return "wrong bytes"  # bytes after the last response
            connection.head += chunk
            end = connection.head.find(b"\r\n\r\n")
            if end < 0:
                return "no end of the head" if len(connection.head) > LONGEST_HEAD else ""
            failure = _wrong_head(bytes(connection.head[:end]), connection.files[0])
            if failure:
                return failure
            fetch.head_bytes += end + 4
            chunk = memoryview(bytes(connection.head[end + 4 :]))
            connection.head = None
        place = connection.place
        if chunk != content(connection.files[0])[place : place + len(chunk)]:
            return "wrong bytes"
        fetch.received_bytes += len(chunk)
        connection.place += len(chunk)
        if connection.place < connection.files[0]:
            return ""
        connection.files.popleft()
        connection.head, connection.place = bytearray(), 0
        parsing_s = 0.0
        if len(connection.files) + 1 == fetch.objects:
            parsing_s = self._plan.parsing_s[fetch.fetch] if self._plan.parsing_s else 0.0
            for other in self._opens(fetch.fetch):
                self._do_later(parsing_s, functools.partial(self._start, other))
        if connection.files:
            if parsing_s == 0.0:
                return self._request(connection)
            connection.idle_from = time.monotonic()
            self._do_later(parsing_s, functools.partial(self._go_on, connection))
            return ""
        fetch.completion_s = time.monotonic() - connection.begun
        seen = tcp_info.read(connection.socket)
        fetch.window_bytes, fetch.segment_bytes = seen.window_bytes, seen.received_segment_bytes
        if self._plan.linger_s is not None:
            self._do_later(self._plan.linger_s, functools.partial(self._close, connection))
        return ""

    def _opens(self, number: int) -> Sequence[int]:
        return self._plan.opens[number] if self._plan.opens else ()

    def _go_on(self, connection: _Connection) -> None:
        """Send the request after an idle time."""
        if connection.socket.fileno() < 0:
            return  # it has ended in the meantime
        connection.fetch.idle_s += time.monotonic() - connection.idle_from
        failure = self._request(connection)
        if failure:
            self._end(connection, failure)

    def _close(self, connection: _Connection) -> None:
        """Send a FIN. The connection ends when the server's FIN arrives."""
        if connection.socket.fileno() >= 0:
            with contextlib.suppress(OSError):  # the server may have reset the connection
                connection.socket.shutdown(socket.SHUT_WR)

    def _give_up(self, now: float) -> None:
        while self._by_start and self._by_start[0].deadline <= now:
            connection = self._by_start.popleft()
            if connection.socket.fileno() >= 0:
                self._end(
                    connection,
                    "" if connection.fetch.completion_s is not None else "out of patience",
                )
        while self._by_start and self._by_start[0].socket.fileno() < 0:
            self._by_start.popleft()

    def _end(self, connection: _Connection, failure: str) -> None:
        connection.fetch.failure = failure
        self._poll.unregister(connection.socket.fileno())
        del self._open[connection.socket.fileno()]
        connection.socket.close()
        self._note_end(connection.fetch, opened=len(connection.files) < connection.fetch.objects)

    def _note_end(self, fetch: Fetch, *, opened: bool) -> None:
        """Record the result of a connection.

        Without ``opened``, its first file is missing, and the connections that depend on this file
        are recorded as failed.
        """
        self._ended.append(fetch)
        if not opened:
            for other in self._opens(fetch.fetch):
                never = self._fetch(other, time.monotonic())
                never.failure = "not begun: its page did not come"
                self._note_end(never, opened=False)


def _wrong_head(head: bytes, size: int) -> str:
    lines = head.split(b"\r\n")
    status = lines[0].split(b" ", 2)
    if len(status) < 2 or not status[0].startswith(b"HTTP/1.") or status[1] != b"200":
        return f"answered `{lines[0].decode('latin-1')}`"
    fields = dict(line.lower().split(b":", 1) for line in lines[1:] if b":" in line)
    length = fields.get(b"content-length", b"").strip()
    return "" if length == str(size).encode() else f"a length of `{length.decode('latin-1')}`"


def raise_file_limit(sockets: int) -> None:
    """Raise the limit of open files for ``sockets`` sockets, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = sockets + 64
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(
            resource.RLIMIT_NOFILE,
            (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard),
        )


def _is_ready(file: Path) -> bool:
    """Wait for the server's file, and return whether the server accepts connections."""
    until = time.monotonic() + READY_S
    while not file.exists():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return file.read_text(encoding="ascii") != FAILED


def main(arguments: Sequence[str]) -> int:
    """Make the fetches of a plan and write a row for each of them."""
    plan = FetchPlan.from_json(Path(arguments[0]).read_text(encoding="utf-8"))
    raise_file_limit(len(plan.sizes))
    if plan.ready is not None and not _is_ready(Path(plan.ready)):
        sys.stderr.write(f"error: the server did not accept connections within {READY_S:g} s\n")
        return 1
    ended = Clients(plan).run()
    with Path(arguments[1]).open("w", encoding="utf-8") as out:
        out.writelines(
            json.dumps(asdict(each)) + "\n" for each in sorted(ended, key=lambda each: each.fetch)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
