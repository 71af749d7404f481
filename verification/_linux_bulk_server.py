"""Server of `linux_cubic`: sends a file on port 9000 and samples its congestion window.

    python _linux_bulk_server.py SETTINGS

It runs at the outside end of `tcpsf link`. SETTINGS is a JSON file with `bytes` to send, `interval`
(seconds between samples), `ready` (a file that it makes when it accepts connections) and `samples`
(the file for the samples). A sample has the time since the connection was accepted in seconds, the
slow start threshold and the congestion window in segments, and the number of retransmissions.

The send buffer holds all data, so that the transfer does not wait for this program to run.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time
from pathlib import Path

from _linux_client import run_first

_INFO_BYTES = 104
_SNDBUFFORCE = 32
"""`SO_SNDBUFFORCE`, which sets a send buffer above the limit of the system."""
_FIN_WAIT_1 = 4
"""State of the connection until all data and the FIN are acknowledged."""


def main() -> None:
    """Send the data once."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    run_first()
    listener = socket.create_server(("0.0.0.0", 9000))  # noqa: S104
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    listener.setsockopt(socket.SOL_SOCKET, _SNDBUFFORCE, 2 * settings["bytes"])
    data = bytes(settings["bytes"])
    Path(settings["ready"]).touch()
    connection, _ = listener.accept()
    begin = time.monotonic()
    connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)
    samples = []
    while True:
        now = time.monotonic() - begin
        raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
        threshold, window = struct.unpack_from("=II", raw, 76)
        (again,) = struct.unpack_from("=I", raw, 100)
        samples.append((now, threshold, window, again))
        if raw[0] != _FIN_WAIT_1:
            break
        time.sleep(max(0.0, begin + len(samples) * settings["interval"] - time.monotonic()))
    Path(settings["samples"]).write_text(json.dumps(samples), encoding="utf-8")
    connection.recv(1)


if __name__ == "__main__":
    main()
