"""HTTP server of the kernel's TCP: ``GET /N`` is answered with N bytes.

    python -m tcpsf.lab.server [PORT...]

It runs at the outside end of `tcpsf link`, and ends with its parent. Header and body of a response are
one write. It uses CUBIC, as the simulated sender does.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys

from tcpsf.live.network import die_with_parent

LARGEST = 100_000_000


def header(size: int) -> bytes:
    """Return the header of a response with a body of ``size`` bytes."""
    return f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of a connection."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split()[1].decode(errors="replace").lstrip("/")
            size = int(path) if path.isdecimal() and len(path) < 10 else -1
            if not 0 <= size <= LARGEST:
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            else:
                writer.write(header(size) + b"x" * size)
            await writer.drain()
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, IndexError):
        writer.close()


async def _serve(ports: list[int]) -> None:
    address = os.environ.get("TCPSF_LINK_OUTSIDE", "127.0.0.1")
    servers = []
    for port in ports:
        listener = socket.create_server((address, port), backlog=1024)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        servers.append(await asyncio.start_server(_answer, sock=listener))
    await asyncio.gather(*(each.serve_forever() for each in servers))


if __name__ == "__main__":
    die_with_parent()
    asyncio.run(_serve([int(each) for each in sys.argv[1:]] or [80]))
