"""HTTP server of the kernel's TCP for `cure_live`, with CUBIC.

    python _kernel_http.py FOLDER

It runs at the outside end of `tcpsf link`. Header and body of a response are one write.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path

PORT = 80


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of a connection."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            body = (Path(sys.argv[1]) / head.split()[1].decode().lstrip("/")).read_bytes()
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    """Serve until the link ends the program."""
    listener = socket.create_server((os.environ["TCPSF_LINK_OUTSIDE"], PORT), backlog=512)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    server = await asyncio.start_server(answer, sock=listener)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
