"""Compare replies of the kernel's TCP with the simulated sender `linux`.

Each cell is a reply of a few segments over an emulated link without queue, with a fixed round-trip
time and a mask of the data segments that the link loses. The kernel's server behind `tcpsf link`
sends one reply; the simulator sends the same reply. Both must send the same segments in the same
order, and at the same times within one jiffy (4 ms with HZ 250) plus the error of the emulator.

Linux's timers expire on ticks of the kernel's clock, and long ones on every 8th or 64th tick. The
simulated reply therefore starts at the same phase of the ticks as the live one, which
`/proc/timer_list` gives.

A cell is counted apart if the two sides part after the acknowledgment of a retransmission, and the
kernel then waits for its timer. RACK ignores an acknowledgment of a retransmission that arrives
sooner than the minimum round-trip time (RFC 8985 section 6.2, step 2). On a path with a constant
delay that is decided by microseconds of the emulator's error, and both outcomes are right.

    python verification/linux_cells.py [--segments 1,2,3,4] [--rtt 22,102] [--every 1]

The default round-trip times keep timeouts away from whole ticks, where microseconds would decide
between one tick and the next.

It needs root, TUN devices and `tshark` (Debian package `tshark`), and exits with 77 without them.
"""

# ruff: noqa: S603, S607, T201 (this module runs programs and prints verdicts)

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

import tcpsf

JIFFY_S: Final = 0.004
ERROR_S: Final = 0.002
"""Allowance for the error of the emulator, in seconds, in both directions together."""
WHEEL_S: Final = 64 * JIFFY_S
"""Period after which the ticks of the timers of up to two seconds repeat."""
SEGMENT: Final = 1448
GOAL: Final = 0.995

SERVER: Final = """
import socket, sys
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
listener.bind(("0.0.0.0", 9000))
listener.listen(5)
while True:
    connection, _ = listener.accept()
    # The cork keeps the last segment until the FIN joins it.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    connection.sendall(b"x" * int(sys.argv[1]))
    connection.shutdown(socket.SHUT_WR)
    connection.recv(1)
    connection.close()
"""
CLIENT: Final = """
import os, socket, time
end = time.monotonic() + 10
while True:
    connection = socket.socket()
    try:
        connection.connect((os.environ["TCPSF_LINK_OUTSIDE"], 9000))
        break
    except OSError:
        connection.close()
        if time.monotonic() > end:
            raise
        time.sleep(0.05)
while connection.recv(65536):
    pass
connection.close()
time.sleep(0.05)
"""


@dataclass(frozen=True, slots=True)
class Cell:
    """A reply and its losses."""

    segments: int
    mask: str
    rtt_ms: float

    @property
    def size(self) -> int:
        """Bytes of the reply: the last segment is shorter."""
        return self.segments * SEGMENT - 100

    def __str__(self) -> str:
        return f"{self.segments} segments, mask {self.mask}, RTT {self.rtt_ms:g} ms"


@dataclass(frozen=True, slots=True)
class Sent:
    """A data segment that the server sent."""

    time_s: float
    """Time since the first data segment."""
    seq: int
    length: int


def live(cell: Cell, folder: Path) -> tuple[list[Sent], float]:
    """Let the kernel send the reply.

    Returns its data segments, and the phase of the first one in the kernel's ticks, in seconds.
    """
    capture, half = folder / "live.pcapng", f"{cell.rtt_ms / 2}ms"
    server = [sys.executable, str(folder / "server.py"), str(cell.size)]
    link = [sys.executable, "-m", "tcpsf", "link", "-q", "--delay", half]
    link += ["--down-loss-mask", cell.mask, "--pcap", str(capture), "--pcap-at", "outside"]
    link += ["--force", "--outside", " ".join(server), "--"]
    client = [sys.executable, str(folder / "client.py")]
    subprocess.run([*link, *client], check=True, timeout=120)
    fields = ["frame.time_epoch", "tcp.srcport", "tcp.dstport", "tcp.seq", "tcp.len", "tcp.flags"]
    options = [word for field in fields for word in ("-e", field)]
    output = subprocess.run(
        ["tshark", "-r", str(capture), "-T", "fields", *options],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ).stdout
    rows = [line.split("\t") for line in output.splitlines()]
    opened = [row for row in rows if row[1] == "9000" and int(row[5], 16) & 0x12 == 0x12]
    port = opened[-1][2]
    data = [row for row in rows if row[1] == "9000" and row[2] == port and int(row[4]) > 0]
    begin = float(data[0][0])
    sent = [Sent(float(row[0]) - begin, int(row[3]), int(row[4])) for row in data]
    return sent, phase(begin)


@functools.cache
def ticks_ahead() -> int:
    """Number by which the kernel's count of ticks exceeds its monotonic clock in jiffies.

    The kernel prints the clock before the count, so the least of several readings is right.
    """

    def reading() -> int:
        text = Path("/proc/timer_list").read_text(encoding="utf-8")
        jiffies = int(re.findall(r"^jiffies: (\d+)$", text, re.MULTILINE)[0])
        now_ns = int(re.findall(r"^now at (\d+) nsecs$", text, re.MULTILINE)[0])
        return jiffies - now_ns // round(JIFFY_S * 1e9)

    return min(reading() for _ in range(50))


def phase(epoch_s: float) -> float:
    """Phase of a time of the realtime clock in the kernel's ticks, in seconds below `WHEEL_S`."""
    monotonic_s = epoch_s - (time.time() - time.monotonic())
    return (monotonic_s + ticks_ahead() * JIFFY_S) % WHEEL_S


def simulated(cell: Cell, phase_s: float) -> list[Sent]:
    """Simulate the reply. Its first data segment has the given phase in the ticks."""
    first_data = 1.5 * cell.rtt_ms / 1e3
    start = (phase_s - first_data) % WHEEL_S
    half = f"{cell.rtt_ms / 2}ms"
    scenario = tcpsf.Scenario.from_dict(
        {
            "name": "one",
            "duration": "200s",
            "trace": ["one"],
            "tcp": {"profile": "linux-6.18", "ack_every": 1},
            "link": [
                {"name": "down", "from": "server", "to": "client", "delay": half}
                | {"loss": {"kind": "mask", "drops": cell.mask}},
                {"name": "up", "from": "client", "to": "server", "delay": half},
            ],
            "workload": [
                {"name": "one", "kind": "transfers", "from": "server", "to": "client"}
                | {"sizes": [cell.size], "start": f"{start * 1e9:.0f}ns", "spacing": "1s"}
                | {"sender": "linux", "handshake": True, "opener": "receiver"}
            ],
        }
    )
    packets = tcpsf.run(scenario, seed=1).packets
    data = packets.filter(
        (pl.col("from").cast(pl.String) == "sender")
        & (pl.col("event").cast(pl.String) == "sent")
        & (pl.col("payload_bytes") > 0)
    )
    rows = list(data.select("time_s", "seq", "payload_bytes").iter_rows())
    return [Sent(time_s - rows[0][0], seq, length) for time_s, seq, length in rows]


def verdict(kernel: Sequence[Sent], ours: Sequence[Sent]) -> tuple[str, float]:
    """Compare both sides.

    Returns "equal", "no sample" or "different", and the largest difference of a time in seconds up
    to the point where they part.
    """
    worst = 0.0
    for index, (a, b) in enumerate(zip(kernel, ours, strict=False)):
        late = a.time_s - b.time_s
        if (a.seq, a.length) == (b.seq, b.length) and abs(late) <= JIFFY_S + ERROR_S:
            worst = max(worst, abs(late))
            continue
        earlier = {(sent.seq, sent.length) for sent in ours[: index - 1]}
        follows_resent = index > 0 and (ours[index - 1].seq, ours[index - 1].length) in earlier
        waits = late > JIFFY_S + ERROR_S
        return ("no sample" if follows_resent and waits else "different"), worst
    return ("equal" if len(kernel) == len(ours) else "different"), worst


def cells(segments: Sequence[int], rtts: Sequence[float], every: int) -> Iterator[Cell]:
    """Every mask of first transmissions, and one of each ``every`` cells."""
    number = 0
    for count, rtt in itertools.product(segments, rtts):
        for mask in itertools.product("01", repeat=count):
            if number % every == 0:
                yield Cell(count, ",".join(mask), rtt)
            number += 1


def missing() -> str | None:
    """Return what this machine lacks, if anything."""
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        return "it needs root and /dev/net/tun"
    if shutil.which("tshark") is None:
        return "`tshark` is not installed (Debian: tshark)"
    version = os.uname().release.split(".")
    return None if (int(version[0]), int(version[1])) >= (6, 12) else "the kernel is below 6.12"


def main() -> int:
    """Run the cells and print a line for each that is not equal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--segments", default="1,2,3,4")
    parser.add_argument("--rtt", default="22,102", help="round-trip times in ms")
    parser.add_argument("--every", type=int, default=1, help="run one of each N cells")
    options = parser.parse_args()
    reason = missing()
    if reason is not None:
        print(f"cannot run: {reason}")
        return 77
    segments = [int(word) for word in options.segments.split(",")]
    rtts = [float(word) for word in options.rtt.split(",")]
    count = {"equal": 0, "no sample": 0, "different": 0}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "server.py").write_text(SERVER, encoding="utf-8")
        (folder / "client.py").write_text(CLIENT, encoding="utf-8")
        for cell in cells(segments, rtts, options.every):
            kernel, phase_s = live(cell, folder)
            ours = simulated(cell, phase_s)
            result, worst = verdict(kernel, ours)
            count[result] += 1
            print(f"{result:9} {cell}: up to {worst * 1e3:.1f} ms apart", flush=True)
            if result == "different":
                for side, sent in (("kernel", kernel), ("ours", ours)):
                    shown = [(round(one.time_s * 1e3, 1), one.seq, one.length) for one in sent]
                    print(f"    {side:6} {json.dumps(shown)}")
    total = sum(count.values())
    print(f"{count['equal']} of {total} cells equal, {count['no sample']} more up to a")
    print(f"retransmission that gives RACK no sample, {count['different']} different")
    return 0 if total and count["different"] <= (1 - GOAL) * total else 1


if __name__ == "__main__":
    sys.exit(main())
