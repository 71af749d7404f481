"""Server of `linux_cubic`: sends a file on port 9000 and samples its congestion window.

    python _linux_bulk_server.py SETTINGS

It runs at the outside end of `tcpsf link`. SETTINGS is a JSON file with `bytes` to send, `interval`
(seconds between samples), `ready` (a file that it makes when it accepts connections) and `samples`
(the file for the samples). A sample has the time since the connection was accepted in seconds, the
state of congestion control, the slow start threshold and the congestion window in segments, and the
number of retransmissions.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
from pathlib import Path

_INFO_BYTES = 104


def main() -> None:
    """Send the data once."""
    settings = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    listener = socket.create_server(("0.0.0.0", 9000))  # noqa: S104
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    Path(settings["ready"]).touch()
    connection, _ = listener.accept()
    begin = time.monotonic()
    writer = threading.Thread(target=send, args=(connection, settings["bytes"]), daemon=True)
    writer.start()
    samples = []
    number = 0
    while True:
        raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
        if raw[0] in (7, 0):  # closed
            break
        threshold, window = struct.unpack_from("=II", raw, 76)
        (again,) = struct.unpack_from("=I", raw, 100)
        samples.append((time.monotonic() - begin, raw[1], threshold, window, again))
        number += 1
        time.sleep(max(0.0, begin + number * settings["interval"] - time.monotonic()))
        if not writer.is_alive() and struct.unpack_from("=I", raw, 24)[0] == 0:
            break
    Path(settings["samples"]).write_text(json.dumps(samples), encoding="utf-8")
    connection.recv(1)


def send(connection: socket.socket, count: int) -> None:
    """Write the data, and close this direction."""
    connection.sendall(bytes(count))
    connection.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main()
