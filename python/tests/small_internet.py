"""Servers for tests of the network outside: `python small_internet.py dns|web ADDRESS…`. Prints `ready`."""

from __future__ import annotations

import http.server
import socket
import socketserver
import struct
import sys
import threading
from ipaddress import ip_address

HOSTS = {"server.example": ("198.51.100.7", "2001:db8:1::7"), "large.example": ("198.51.100.7",)}
"""Addresses by name. The answer for `large.example` is truncated over UDP (RFC 1035 §4.2.1)."""

ANSWER_TYPES = {4: 1, 6: 28}
"""Types of resource records by IP version: A (RFC 1035 §3.4.1) and AAAA (RFC 3596 §2.1)."""


def answer(query: bytes, *, over_tcp: bool) -> bytes:
    """Return the response to a query with one question."""
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode())
        at += 1 + query[at]
    name, kind = ".".join(labels).lower(), int.from_bytes(query[at + 1 : at + 3])
    question = query[12 : at + 5]
    found = [ip_address(text).packed for text in HOSTS.get(name, ())]
    found = [packed for packed in found if ANSWER_TYPES[4 if len(packed) == 4 else 6] == kind]
    truncated = name == "large.example" and not over_tcp
    # Response, recursion desired and available; code 3 if there is no such name.
    flags = 0x8180 | (0x0200 if truncated else 0) | (0 if name in HOSTS else 3)
    records = b"".join(
        b"\xc0\x0c"
        + kind.to_bytes(2)
        + b"\0\1"
        + (60).to_bytes(4)
        + len(packed).to_bytes(2)
        + packed
        for packed in ([] if truncated else found)
    )
    count = 0 if truncated else len(found)
    head = query[:2] + flags.to_bytes(2) + b"\0\1" + count.to_bytes(2) + b"\0\0\0\0"
    return head + question + records


class Datagram(socketserver.BaseRequestHandler):
    """A query in a datagram."""

    def handle(self) -> None:
        query, reply = self.request
        reply.sendto(answer(query, over_tcp=False), self.client_address)


class Segment(socketserver.StreamRequestHandler):
    """Queries over a connection."""

    def handle(self) -> None:
        while length := int.from_bytes(self.rfile.read(2)):
            response = answer(self.rfile.read(length), over_tcp=True)
            self.wfile.write(len(response).to_bytes(2) + response)


class Page(http.server.BaseHTTPRequestHandler):
    """A page with the address of the client."""

    def do_GET(self) -> None:
        body = f"{self.client_address[0]}\n".encode() + bytes(200_000)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


class Echo(socketserver.BaseRequestHandler):
    """A datagram back to its sender, with the sender's address."""

    def handle(self) -> None:
        data, reply = self.request
        reply.sendto(data + b" " + self.client_address[0].encode(), self.client_address)


class Mirror(socketserver.BaseRequestHandler):
    """All data back, and the number of bytes after its end. Counts connections that are reset."""

    resets = 0

    def handle(self) -> None:
        total = 0
        try:
            while data := self.request.recv(65536):
                total += len(data)
                self.request.sendall(data)
        except ConnectionResetError:
            Mirror.resets += 1
            return
        self.request.sendall(f" {total} bytes, {Mirror.resets} resets".encode())


class Reset(socketserver.BaseRequestHandler):
    """A reset after the first byte (`SO_LINGER`)."""

    def handle(self) -> None:
        self.request.recv(1)
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.request.close()


def serving(server: type[socketserver.BaseServer], at: tuple[str, int], handler: type) -> None:
    """Run a server in a thread."""
    family = socket.AF_INET6 if ":" in at[0] else socket.AF_INET
    server = type(
        server.__name__,
        (server,),
        {"address_family": family, "allow_reuse_address": True, "request_queue_size": 256},
    )
    threading.Thread(target=server(at, handler).serve_forever).start()


def main(kind: str, *addresses: str) -> None:
    """Start the servers."""
    for address in addresses:
        if kind == "dns":
            serving(socketserver.ThreadingUDPServer, (address, 53), Datagram)
            serving(socketserver.ThreadingTCPServer, (address, 53), Segment)
        else:
            serving(http.server.ThreadingHTTPServer, (address, 80), Page)
            serving(socketserver.ThreadingUDPServer, (address, 7), Echo)
            serving(socketserver.ThreadingTCPServer, (address, 7), Mirror)
            serving(socketserver.ThreadingTCPServer, (address, 9), Reset)
    sys.stdout.write("ready\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
