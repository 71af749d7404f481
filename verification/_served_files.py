"""Files whose HTTP response by `tcpsf serve` has a given length."""

from __future__ import annotations

import socket
from pathlib import Path

from _live import CannotRunError


def fit(file: Path, server: tuple[str, int], total: int) -> bytes:
    """Make a file whose response has ``total`` bytes, headers included, and return the response.

    Raises `CannotRunError` if no length of the file gives such a response.
    """
    size = 1
    for _ in range(4):
        file.write_bytes(b"x" * size)
        with socket.create_connection(server) as connection:
            connection.sendall(f"GET /{file.name} HTTP/1.0\r\n\r\n".encode())
            response = b"".join(iter(lambda: connection.recv(65536), b""))
        if len(response) == total:
            return response
        size += total - len(response)
    message = f"no file gives a response of {total} bytes"
    raise CannotRunError(message)
