"""Programs that `linux_serve.py` runs on both ends of the link."""

from __future__ import annotations

from typing import Final

SERVER: Final = """
import pathlib, socket, sys
folder = pathlib.Path(sys.argv[1])
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
listener.bind(("0.0.0.0", 9000))
listener.listen(5)
while True:
    connection, _ = listener.accept()
    with connection:
        # The cork keeps the last segment until the FIN joins it.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        name = connection.recv(65536).split()[1].decode().strip("/")
        head, end, body = (folder / name).read_bytes().partition(b"\\r\\n\\r\\n")
        connection.sendall(head + end)
        connection.sendall(body)
        connection.shutdown(socket.SHUT_WR)
        try:
            while connection.recv(65536):
                pass
        except OSError:
            pass
"""
"""Server with the kernel's TCP, which repeats responses that are in files."""

CLIENT: Final = """
import os, socket, sys, time
address, port, name, phase_ns, period_ns, rest_s, sack = sys.argv[1:8]
with open("/proc/sys/net/ipv4/tcp_sack", "w") as setting:
    setting.write(sack)
phase, period = int(phase_ns), int(period_ns)
connection = socket.socket()
time.sleep(0.02)
now = time.monotonic_ns()
until = now + 1_000_000 + (phase - now - 1_000_000) % period
time.sleep((until - now) / 1e9 - 0.0008)
while time.monotonic_ns() < until:
    pass
connection.connect((address, int(port)))
connection.sendall(f"GET /{name} HTTP/1.0\\r\\n\\r\\n".encode())
while connection.recv(65536):
    pass
connection.close()
time.sleep(float(rest_s))
"""
"""Client that connects at a phase of the kernel's ticks, and reads a response."""
