"""Calls of a server's writes, as C programs make them. `test_preload.py` runs them with a library and without.

The standard output has the results that must be equal, one in each line. An assertion fails if the data is
another than the results say.
"""

# ruff: noqa: T201 (the test compares the output)

from __future__ import annotations

import ctypes
import errno
import os
import random
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from tempfile import TemporaryFile
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
MARK = 77
"""Value of ``errno`` before each call."""
SEQUENCES = 60
WRITES = 40
LARGEST = 200_000
IDLE_S = 10.0


class Part(ctypes.Structure):
    """``struct iovec``."""

    _fields_ = (("base", ctypes.c_void_p), ("len", ctypes.c_size_t))


class Message(ctypes.Structure):
    """``struct msghdr``."""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_len", ctypes.c_uint32),
        ("parts", ctypes.POINTER(Part)),
        ("count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_len", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class Numbered(ctypes.Structure):
    """``struct mmsghdr``."""

    _fields_ = (("message", Message), ("sent", ctypes.c_uint32))


for each in ("send", "sendto", "sendmsg", "write", "writev"):
    getattr(LIBC, each).restype = ctypes.c_ssize_t


def call(name: str, *arguments: Any) -> tuple[int, int]:
    """Call a function of the C library; return its result and ``errno``."""
    ctypes.set_errno(MARK)
    result = int(getattr(LIBC, name)(*arguments))
    return result, ctypes.get_errno()


def sized(data: bytes) -> tuple[ctypes.c_char_p, ctypes.c_size_t]:
    """Return the arguments of a buffer."""
    return ctypes.c_char_p(data), ctypes.c_size_t(len(data))


def parts(pieces: Sequence[bytes]) -> ctypes.Array[Part]:
    """Return an array of parts with this data."""
    made = [Part(ctypes.cast(ctypes.c_char_p(one), ctypes.c_void_p), len(one)) for one in pieces]
    return (Part * len(pieces))(*made)


def divided(data: bytes, draw: random.Random) -> list[bytes]:
    """Divide data at random positions; parts may be empty."""
    cuts = sorted(draw.randint(0, len(data)) for _ in range(draw.randint(0, 80)))
    return [data[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def send(fd: int, data: bytes, flags: int, _draw: random.Random) -> tuple[int, int]:
    """Write by ``send``."""
    return call("send", fd, *sized(data), flags)


def sendto(fd: int, data: bytes, flags: int, _draw: random.Random) -> tuple[int, int]:
    """Write by ``sendto`` without an address."""
    return call("sendto", fd, *sized(data), flags, None, 0)


def write(fd: int, data: bytes, _flags: int, _draw: random.Random) -> tuple[int, int]:
    """Write by ``write``."""
    return call("write", fd, *sized(data))


def writev(fd: int, data: bytes, _flags: int, draw: random.Random) -> tuple[int, int]:
    """Write by ``writev`` with parts at random positions."""
    pieces = divided(data, draw)
    return call("writev", fd, parts(pieces), len(pieces))


def sendmsg(fd: int, data: bytes, flags: int, draw: random.Random) -> tuple[int, int]:
    """Write by ``sendmsg`` with parts at random positions."""
    pieces = divided(data, draw)
    message = Message(parts=parts(pieces), count=len(pieces))
    return call("sendmsg", fd, ctypes.byref(message), flags)


def sendmmsg(fd: int, data: bytes, flags: int, draw: random.Random) -> tuple[int, int]:
    """Write by ``sendmmsg``; return the number of bytes that the messages report."""
    cuts = divided(data, draw)
    groups = [cuts[at : at + 5] for at in range(0, len(cuts), 5)]
    made = (Numbered * len(groups))()
    for one, pieces in zip(made, groups, strict=True):
        one.message = Message(parts=parts(pieces), count=len(pieces))
    result, error = call("sendmmsg", fd, made, len(groups), flags)
    if result < 0:
        return result, error
    sizes = [sum(map(len, pieces)) for pieces in groups]
    # Only the last message that was sent may be short.
    assert [one.sent for one in made[: result - 1]] == sizes[: result - 1]
    return sum(one.sent for one in made[:result]), error


WAYS: tuple[Callable[[int, bytes, int, random.Random], tuple[int, int]], ...] = (
    send,
    sendto,
    write,
    writev,
    sendmsg,
    sendmmsg,
)


class Pair:
    """An accepted connection, and a thread that reads at the other end."""

    def __init__(self, *, reads: bool = True, buffer: int | None = None) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            if buffer is not None:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
            self.client = socket.create_connection(listener.getsockname())
            self.server, _ = listener.accept()
        self.fd = self.server.fileno()
        self.found = bytearray()
        self._reader = threading.Thread(target=self._read)
        if reads:
            self._reader.start()

    def _read(self) -> None:
        with suppress(ConnectionError):
            while part := self.client.recv(1 << 16):
                self.found += part

    def received(self) -> bytes:
        """End the connection, and return the data that has arrived."""
        with suppress(OSError):
            self.server.shutdown(socket.SHUT_WR)
        if self._reader.ident is None:
            self._reader.start()
        self._reader.join()
        self.server.close()
        self.client.close()
        return bytes(self.found)


def random_sequences() -> None:
    """Write random sequences, blocking and not, with Nagle's algorithm, corks and small buffers."""
    for seed in range(SEQUENCES):
        draw = random.Random(seed)  # noqa: S311 (no secret)
        pair = Pair(buffer=draw.choice([None, None, 4608, 30_000]))
        pair.server.setblocking(True)
        wanted = bytearray()
        for _ in range(WRITES):
            configure(pair.server, draw)
            data = draw.randbytes(int(LARGEST ** draw.random()) - 1)
            way = draw.choice(WAYS)
            flags = draw.choice([0, 0, 0, socket.MSG_DONTWAIT, socket.MSG_NOSIGNAL, MSG_MORE])
            waits = os.get_blocking(pair.fd) and not flags & socket.MSG_DONTWAIT
            waits = waits or (way in (write, writev) and os.get_blocking(pair.fd))
            sent, error = way(pair.fd, data, flags, draw)
            if sent < 0:
                assert error == errno.EAGAIN, (way, errno.errorcode[error])
                assert not waits
                select.select([], [pair.fd], [], IDLE_S)
                continue
            assert error == MARK, (way, error)
            assert sent == len(data) if waits else sent <= len(data), (way, sent, len(data))
            wanted += data[:sent]
        pair.server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
        assert pair.received() == wanted, seed
    print(SEQUENCES, "random sequences")


MSG_MORE = 0x8000


def configure(server: socket.socket, draw: random.Random) -> None:
    """Change an option of a socket at random."""
    choice = draw.randrange(8)
    if choice == 0:
        server.setblocking(draw.random() < 0.5)
    elif choice == 1:
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, draw.randrange(2))
    elif choice == 2:
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, draw.randrange(2))


def full_buffers() -> None:
    """Write without a reader until the buffers are full, then read everything."""
    for way in WAYS:
        draw = random.Random(1)  # noqa: S311 (no secret)
        pair = Pair(reads=False)
        pair.server.setblocking(False)
        wanted = bytearray()
        while True:
            data = draw.randbytes(draw.randint(1, 9000))
            sent, error = way(pair.fd, data, 0, draw)
            if sent < 0:
                print(way.__name__, "until", errno.errorcode[error])
                break
            assert sent > 0
            wanted += data[:sent]
        assert pair.received() == wanted


def edge_triggered() -> None:
    """Send 3 MB by an edge-triggered event loop."""
    pair = Pair()
    pair.server.setblocking(False)
    data = random.Random(3).randbytes(3_000_000)  # noqa: S311 (no secret)
    done = 0
    with closing(select.epoll()) as events:
        events.register(pair.fd, select.EPOLLOUT | select.EPOLLET)
        while done < len(data):
            assert events.poll(IDLE_S), "no event"
            while done < len(data):
                sent, error = call("send", pair.fd, *sized(data[done : done + 70_000]), 0)
                if sent < 0:
                    assert error == errno.EAGAIN
                    break
                done += sent
    assert pair.received() == data
    print("edge-triggered", done)


def several_threads() -> None:
    """Write blocks by several threads to one connection; the data of each stays together."""
    pair = Pair()

    def blocks(letter: int) -> None:
        for size in range(2, 700):
            sent, _ = call("send", pair.fd, *sized(bytes([letter]) * size + b"\n"), 0)
            assert sent == size + 1

    threads = [threading.Thread(target=blocks, args=(ord(letter),)) for letter in "abcd"]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    lines = pair.received().splitlines()
    assert sorted(map(len, lines)) == sorted([*range(2, 700)] * 4)
    assert all(len(set(line)) == 1 for line in lines)
    print("threads", len(lines))


def forked_and_duplicated() -> None:
    """Write by a child, and by a descriptor that was duplicated."""
    pair = Pair(reads=False)
    child = os.fork()
    if child == 0:
        sent, _ = call("write", pair.fd, *sized(b"child" * 100))
        os._exit(0 if sent == 500 else 1)
    _, status = os.waitpid(child, 0)
    other = os.dup(pair.fd)
    call("write", other, *sized(b"copy" * 100))
    os.close(other)
    assert pair.received() == b"child" * 100 + b"copy" * 100
    print("child", status)


def interrupted() -> None:
    """A signal ends a blocking write after a part, and the next one before any."""
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.siginterrupt(signal.SIGALRM, True)
    pair = Pair(reads=False)
    # A first, short write leaves room in the window, so that a long one may be cut.
    for length in (8_000_000, 8_000_000, 1000):
        signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
        sent, error = call("send", pair.fd, *sized(b"x" * length), 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        print("interrupted", "part" if 0 < sent < length else sent, errno.errorcode.get(error))
    pair.received()


def uncut() -> None:
    """Make writes that no remedy cuts: corked, with more to come, behind a queue, of a client."""
    pair = Pair(reads=False)
    pair.server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    print("corked", *call("write", pair.fd, *sized(b"x" * 1000)))
    pair.server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
    print("more", *call("send", pair.fd, *sized(b"x" * 1000), MSG_MORE))
    print("client", *call("write", pair.client.fileno(), *sized(b"x" * 1000)))
    pair.server.setblocking(False)
    pair.server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    while call("write", pair.fd, *sized(b"x" * 400_000))[0] > 0:
        pass  # the receiver's window is full
    print("behind", call("write", pair.fd, *sized(b"x"))[1])
    pair.received()


def errors() -> None:
    """Print results of calls that fail, or that have nothing to send."""
    signals: list[int] = []
    signal.signal(signal.SIGPIPE, lambda number, _: signals.append(number))
    draw = random.Random(5)  # noqa: S311 (no secret)
    for way in WAYS:
        pair = Pair()
        print(way.__name__, "empty", *way(pair.fd, b"", 0, draw))
        pair.server.shutdown(socket.SHUT_WR)
        for flags in (0, socket.MSG_NOSIGNAL):
            signals.clear()
            print(way.__name__, "shut down", *way(pair.fd, b"x" * 300, flags, draw), len(signals))
        pair.received()
        print(way.__name__, "closed", *way(9999, b"x" * 300, 0, draw))
    for way in (send, write, writev):
        pair = Pair(reads=False)
        pair.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        pair.client.close()
        signals.clear()
        for _ in range(3):
            print(way.__name__, "reset", *way(pair.fd, b"x" * 300, 0, draw), len(signals))
        pair.server.close()
    bad_arguments()


def bad_arguments() -> None:
    """Print results of calls with invalid arguments, and of writes to other descriptors."""
    pair = Pair()
    nowhere, length = ctypes.c_void_p(8), ctypes.c_size_t(500)
    print("bad buffer", *call("send", pair.fd, nowhere, length, 0))
    print("bad buffer", *call("write", pair.fd, nowhere, length))
    print("too many parts", *call("writev", pair.fd, parts([b"x"] * 2000), 2000))
    print("negative count", *call("writev", pair.fd, parts([b"x"]), -1))
    print("no messages", *call("sendmmsg", pair.fd, None, 0, 0))
    print("out of band", *call("send", pair.fd, *sized(b"abc"), socket.MSG_OOB))
    print("received", len(pair.received()))
    with TemporaryFile() as file:
        print("file", *call("write", file.fileno(), *sized(b"x" * 500)))
        print("file", *call("writev", file.fileno(), parts([b"x", b"y"]), 2))
        print("file", *call("send", file.fileno(), *sized(b"x"), 0))
    one, other = socket.socketpair()
    with one, other:
        print("unix", *call("send", one.fileno(), *sized(b"x" * 500), 0), len(other.recv(1000)))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        one.connect(one.getsockname())
        print("udp", *call("send", one.fileno(), *sized(b"x" * 500), 0), len(one.recv(1000)))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
