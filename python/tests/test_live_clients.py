"""The live clients against servers of this machine's kernel, good and bad, and the live server, over loopback."""

from __future__ import annotations

import json
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tcpsf import TcpsfError
from tcpsf.live import tcp_info
from tcpsf.live.clients import Clients, Fetch, FetchPlan, content, file_name, write_files
from tcpsf.live.kernel import Record, Server, Serving, listening

Answerer = Callable[[socket.socket, int], None]
"""Answers the request for a file of this size."""


@contextmanager
def serving(answer: Answerer) -> Iterator[int]:
    """A server that reads a request and answers it so."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            last = False
            while not last:
                request = b""
                while b"\r\n\r\n" not in request:
                    more = self.request.recv(4096)
                    if not more:
                        return
                    request += more
                last = b"Connection: close" in request
                name = request.split(b" ")[1].decode()
                answer(self.request, int(name.removeprefix("/").removesuffix(".bin")))

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_: object) -> None:
            """The bad ones are meant."""

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def head(size: int) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n".encode()


def good(connection: socket.socket, size: int) -> None:
    connection.sendall(head(size) + content(size))


def fetch(
    port: int,
    sizes: list[list[int]],
    tmp_path: Path,
    *,
    fetch_timeout_s: float = 20.0,
    apart_s: float = 0.0,
) -> list[Fetch]:
    plan = FetchPlan(
        address="127.0.0.1",
        port=port,
        starts_s=[number * apart_s for number in range(len(sizes))],
        sizes=sizes,
        fetch_timeout_s=fetch_timeout_s,
        delayed_acks=False,
        progress=str(tmp_path / "progress"),
    )
    ended = sorted(Clients(plan).run(), key=lambda each: each.fetch)
    assert int((tmp_path / "progress").read_bytes()) == len(ended) == len(sizes)
    return ended


def test_every_byte_is_fetched_and_compared(tmp_path: Path) -> None:
    sizes = [[1], [119], [8015], [300_000]] * 25
    with serving(good) as port:
        ended = fetch(port, sizes, tmp_path, apart_s=0.001)
    assert [[each.received_bytes] for each in ended] == sizes
    assert all(
        each.failure == "" and each.head_bytes == len(head(each.size_bytes)) for each in ended
    )
    assert len({each.client_port for each in ended}) == len(ended)
    for each in ended:
        assert each.connect_s is not None
        assert each.first_byte_s is not None
        assert each.completion_s is not None
        assert 0 < each.connect_s <= each.first_byte_s <= each.completion_s


def test_a_connection_fetches_several_files(tmp_path: Path) -> None:
    sizes = [[119, 8015, 119], [1, 1, 1], [300_000, 5, 300_000]]
    with serving(good) as port:
        ended = fetch(port, sizes, tmp_path)
    assert [each.received_bytes for each in ended] == [sum(each) for each in sizes]
    assert [each.failure for each in ended] == ["", "", ""]
    assert ended[0].head_bytes == sum(len(head(size)) for size in sizes[0])


def flipped(connection: socket.socket, size: int) -> None:
    body = bytearray(content(size))
    body[size // 2] ^= 1
    connection.sendall(head(size) + body)


def too_long(connection: socket.socket, size: int) -> None:
    connection.sendall(head(size) + content(size) + b"!")


def short(connection: socket.socket, size: int) -> None:
    connection.sendall(head(size) + content(size)[:-1])


def other_length(connection: socket.socket, size: int) -> None:
    connection.sendall(head(size + 1) + content(size))


def missing(connection: socket.socket, _size: int) -> None:
    connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


def not_http(connection: socket.socket, _size: int) -> None:
    connection.sendall(b"220 smtp\r\n\r\n")


def endless(connection: socket.socket, _size: int) -> None:
    while True:
        connection.sendall(b"x" * 4096)


def reset(connection: socket.socket, _size: int) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def silent(connection: socket.socket, _size: int) -> None:
    connection.settimeout(5.0)
    connection.recv(1)


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (flipped, "wrong bytes"),
        (too_long, "wrong bytes"),
        (short, "closed before all was there"),
        (other_length, "a length of `5001`"),
        (missing, "answered `HTTP/1.1 404 Not Found`"),
        (not_http, "answered `220 smtp`"),
        (endless, "no end of the head"),
        (reset, "receive: Connection reset by peer"),
        (silent, "out of patience"),
    ],
)
def test_what_goes_wrong_is_told(answer: Answerer, failure: str, tmp_path: Path) -> None:
    with serving(answer) as port:
        (ended,) = fetch(port, [[5000]], tmp_path, fetch_timeout_s=1.0)
    assert ended.failure == failure
    assert ended.received_bytes < 5000 or answer in (too_long,)


def test_one_that_hangs_does_not_hold_up_the_others(tmp_path: Path) -> None:
    def hangs_at_7(connection: socket.socket, size: int) -> None:
        (silent if size == 7 else good)(connection, size)

    with serving(hangs_at_7) as port:
        began = time.monotonic()
        ended = fetch(port, [[7], *[[100]] * 50], tmp_path, fetch_timeout_s=1.0)
        assert time.monotonic() - began < 4.0
    assert [each.failure for each in ended] == ["out of patience", *[""] * 50]


def test_a_refused_connection_is_told(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        (ended,) = fetch(nobody.getsockname()[1], [[10]], tmp_path)
    assert ended.failure == "connect: Connection refused"


def test_the_program_reads_a_plan_and_writes_lines(tmp_path: Path) -> None:
    with serving(good) as port:
        plan = FetchPlan(
            address="127.0.0.1",
            port=port,
            starts_s=[0.0, 0.0],
            sizes=[[10], [2000]],
            fetch_timeout_s=5.0,
            delayed_acks=True,
            progress=str(tmp_path / "progress"),
        )
        (tmp_path / "plan").write_text(plan.to_json())
        words = [
            sys.executable,
            "-m",
            "tcpsf.live.clients",
            str(tmp_path / "plan"),
            str(tmp_path / "out"),
        ]
        subprocess.run(words, check=True)
    lines = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert [line["received_bytes"] for line in lines] == [10, 2000]


def test_files_are_what_clients_expect(tmp_path: Path) -> None:
    write_files([5, 600, 5], tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"5.bin", "600.bin"}
    assert (tmp_path / file_name(600)).read_bytes() == content(600)


FIN_WAIT = {"04", "05"}
"""FIN-WAIT-1 and FIN-WAIT-2, as ``/proc/net/tcp`` writes them."""


def wait_for_fins(port: int) -> None:
    """Wait until no connection that the server has closed lacks its client's FIN: a kernel may deliver it late."""
    until = time.monotonic() + 10.0
    waiting = f":{port:04X}"
    while time.monotonic() < until:
        sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
        if not any(
            local.endswith(waiting) and state in FIN_WAIT for _, local, _, state, *_ in sockets
        ):
            return
        time.sleep(0.01)
    pytest.fail("a client's FIN has not come within 10 s")


@contextmanager
def kernel_serving(folder: Path) -> Iterator[tuple[int, list[Record]]]:
    """The server of the live measurements; its records are there when the block is over."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nowhere = dict.fromkeys(("records", "settings_path", "ready"), "")
    serving = Serving(
        folder=str(folder),
        port=port,
        most=100,
        variant="kernel",
        congestion="reno",
        initial_window=2,
        **nowhere,
    )
    server = Server(serving)
    records: list[Record] = []
    thread = threading.Thread(target=lambda: records.extend(server.run()))
    thread.start()
    try:
        yield port, records
    finally:
        server.end()
        thread.join()


def test_the_kernel_serves_and_tells(tmp_path: Path) -> None:
    sizes = [[1], [8015], [300_000, 5, 8015], [2_000_000]] * 10
    write_files([size for each in sizes for size in each], tmp_path)
    with kernel_serving(tmp_path) as (port, records):
        ended = fetch(port, sizes, tmp_path)
        wait_for_fins(port)
    assert [each.failure for each in ended] == [""] * len(sizes)
    assert [each.received_bytes for each in ended] == [sum(each) for each in sizes]
    assert {each.client_port for each in ended} == {each.client_port for each in records}
    assert {each.ending for each in records} == {"finished"}
    assert all(
        each.segments > 0 and each.srtt_s > 0 and each.rto_s >= each.srtt_s for each in records
    )
    assert all(each.segment_bytes for each in ended)


def test_a_browser_opens_connections_and_closes_them(tmp_path: Path) -> None:
    """The page is parsed before what it embeds is asked for, on its own connection and on the one that it opens."""
    sizes = [[8015, 119, 1], [300_000, 5]]
    write_files([size for each in sizes for size in each], tmp_path)
    with kernel_serving(tmp_path) as (port, records):
        plan = FetchPlan(
            address="127.0.0.1",
            port=port,
            starts_s=[0.1, None],
            sizes=sizes,
            parsing_s=[0.2, 0.0],
            opens=[[1], []],
            linger_s=0.15,
            fetch_timeout_s=20.0,
            delayed_acks=False,
            progress=str(tmp_path / "progress"),
        )
        began = time.monotonic()
        page, other = sorted(Clients(plan).run(), key=lambda each: each.fetch)
        took = time.monotonic() - began
    assert [each.failure for each in (page, other)] == ["", ""]
    assert [each.received_bytes for each in (page, other)] == [sum(each) for each in sizes]
    assert [each.objects for each in (page, other)] == [3, 2]
    assert page.completion_s is not None
    assert other.completion_s is not None
    assert 0.2 <= page.idle_s <= page.completion_s
    assert other.idle_s == 0.0
    assert other.start_s >= page.start_s + 0.2
    assert took >= other.start_s + other.completion_s + 0.15
    # The client's FIN comes first.
    assert [each.ending for each in records] == ["closed early", "closed early"]


def test_what_a_missing_page_would_open_is_not_begun(tmp_path: Path) -> None:
    with serving(missing) as port:
        plan = FetchPlan(
            address="127.0.0.1",
            port=port,
            starts_s=[0.0, None, None],
            sizes=[[10, 1], [2], [3]],
            parsing_s=[0.1, 0.0, 0.0],
            opens=[[1, 2], [], []],
            linger_s=0.1,
            fetch_timeout_s=5.0,
            delayed_acks=False,
            progress=str(tmp_path / "progress"),
        )
        ended = sorted(Clients(plan).run(), key=lambda each: each.fetch)
    never = "not begun: its page did not come"
    assert [each.failure for each in ended] == ["answered `HTTP/1.1 404 Not Found`", never, never]
    assert [each.client_port for each in ended][1:] == [0, 0]


def test_a_server_may_close_before_the_browser_does(tmp_path: Path) -> None:
    def once(connection: socket.socket, size: int) -> None:
        good(connection, size)
        connection.shutdown(socket.SHUT_WR)

    with serving(once) as port:
        plan = FetchPlan(
            address="127.0.0.1",
            port=port,
            starts_s=[0.0, 0.0],
            sizes=[[10], [10, 20]],
            parsing_s=[0.1, 0.1],
            linger_s=0.5,
            fetch_timeout_s=5.0,
            delayed_acks=False,
            progress=str(tmp_path / "progress"),
        )
        whole, cut = sorted(Clients(plan).run(), key=lambda each: each.fetch)
    assert (whole.failure, whole.received_bytes) == ("", 10)
    assert (cut.failure, cut.received_bytes) == ("closed before all was there", 10)


def test_the_kernel_answers_what_is_not_there(tmp_path: Path) -> None:
    with kernel_serving(tmp_path) as (port, records):
        (ended,) = fetch(port, [[7]], tmp_path)
        with socket.create_connection(("127.0.0.1", port)) as one:
            one.sendall(b"GET /../../etc/passwd HTTP/1.1\r\n\r\n")
            assert one.recv(4096).startswith(b"HTTP/1.1 404 ")
            one.sendall(b"x" * 20_000)
            assert one.recv(4096) == b""
    assert ended.failure == "answered `HTTP/1.1 404 Not Found`"
    assert sorted(each.ending for each in records) == ["closed early", "finished"]


def test_a_congestion_control_must_be_there() -> None:
    with pytest.raises(TcpsfError, match="`vegan`"):
        listening(0, congestion="vegan")


def test_a_socket_tells_of_its_tcp() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as one,
    ):
        other, _ = server.accept()
        with other:
            other.sendall(bytes(3000))
            assert len(one.recv(3000, socket.MSG_WAITALL)) == 3000
            sent, received = tcp_info.read(other), tcp_info.read(one)
    assert sent.segments >= 1
    assert sent.retransmitted_segments == 0
    assert sent.timeouts in (0, None)
    assert 0 < sent.srtt_s < 1
    assert sent.rto_s > sent.srtt_s
    assert received.received_segment_bytes > 0
    assert received.window_bytes is None or received.window_bytes > 3000


def test_clients_wait_for_the_server(tmp_path: Path) -> None:
    with serving(good) as port:
        plan = FetchPlan(
            address="127.0.0.1",
            port=port,
            starts_s=[0.0],
            sizes=[[10]],
            fetch_timeout_s=5.0,
            delayed_acks=False,
            progress=str(tmp_path / "progress"),
            receive_buffer=4096,
            ready=str(tmp_path / "ready"),
        )
        (tmp_path / "plan").write_text(plan.to_json())
        words = [
            sys.executable,
            "-m",
            "tcpsf.live.clients",
            str(tmp_path / "plan"),
            str(tmp_path / "out"),
        ]
        with subprocess.Popen(words) as clients:
            with pytest.raises(subprocess.TimeoutExpired):
                clients.wait(1.0)
            (tmp_path / "ready").touch()
            assert clients.wait(20.0) == 0
    assert json.loads((tmp_path / "out").read_text())["received_bytes"] == 10
