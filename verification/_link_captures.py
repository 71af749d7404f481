"""A live `tcpsf link` with datagrams, its captures, and the same link in virtual time."""

# ruff: noqa: S603 (this module runs programs)

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from _live import REPOSITORY, CannotRunError
from numpy.typing import NDArray

KEPT: Final = 80
"""Stored bytes of each packet."""
HEADERS: Final = 28
"""Bytes of the IPv4 and UDP headers. The next four bytes are the number of a datagram."""
RECORD: Final = np.dtype(
    [("time", "<u8"), ("size", "<u4"), ("kept", "<u4"), ("data", "u1", (KEPT,))]
)
"""A packet: time in nanoseconds, length in bytes, stored bytes and the first of them."""

Packets = NDArray[Any]
Integers = NDArray[np.int64]

SENDER: Final = """
import os, socket, sys, time
count, rate, sizes = int(sys.argv[1]), int(sys.argv[2]), [int(size) for size in sys.argv[3].split(",")]
host = os.environ["TCPSF_LINK_OUTSIDE"]
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    udp.connect((host, 9))
    tails = [bytes(size - 32) for size in sizes]
    start = time.monotonic()
    for first in range(0, count, 16):
        while first > (time.monotonic() - start) * rate:
            time.sleep(0.0002)
        for number in range(first, min(first + 16, count)):
            try:
                udp.send(number.to_bytes(4, "big") + tails[number % len(tails)])
            except ConnectionRefusedError:
                pass
"""
"""Sends datagrams whose IP packets have these sizes in turn, with a number in each."""


@dataclass(frozen=True, slots=True)
class LinkRun:
    """Results of a live link, and of the same link in virtual time."""

    arrivals: Packets
    """Packets at the near end, in the order of the link. Times are since the first of them."""
    numbers: Integers
    """Number of the datagram of each arrival; -1 for packets of the kernel."""
    deliveries: Packets
    """Packets that the live link delivered at the far end, in order."""
    simulated: Packets
    """Deliveries in virtual time, with the times at which they are due."""
    up: dict[str, Any]
    """Statistics of the live link."""

    @property
    def same(self) -> bool:
        """Whether both delivered the same packets in the same order, with the same bytes."""
        live, simulated = self.deliveries, self.simulated
        return len(live) == len(simulated) and all(
            bool(np.array_equal(live[name], simulated[name])) for name in ("size", "data")
        )

    @property
    def lateness_ns(self) -> Integers:
        """Time from the due time to the delivery of each packet, if `same`."""
        return whole(self.deliveries["time"]) - whole(self.simulated["time"])

    @property
    def sent(self) -> NDArray[np.bool_]:
        """True for arrivals that are datagrams of the sender."""
        return self.numbers >= 0

    @property
    def copies(self) -> Integers:
        """Number of deliveries of each arrival, for packets whose bytes stay as they are."""
        found = numbers(self.deliveries)
        counts = np.bincount(found[found >= 0], minlength=int(self.numbers.max()) + 1)
        return np.where(self.sent, counts[np.maximum(self.numbers, 0)], 1)

    @property
    def lost(self) -> NDArray[np.bool_]:
        """True for datagrams of the sender that were lost, in the order of arrival."""
        return np.asarray(self.copies[self.sent] == 0)

    def delays_ns(self, deliveries: Packets) -> Integers:
        """Return the delay of each delivered datagram, in the order of `deliveries`."""
        found = numbers(deliveries)
        begin = np.zeros(int(self.numbers.max()) + 1, dtype=np.int64)
        begin[self.numbers[self.sent]] = whole(self.arrivals["time"][self.sent])
        return whole(deliveries["time"])[found >= 0] - begin[found[found >= 0]]


def whole(values: Packets) -> Integers:
    """Return integers with a sign."""
    return values.astype(np.int64)


def build() -> Path:
    """Build the link in virtual time, and return the path of the program."""
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        message = "it needs root and /dev/net/tun"
        raise CannotRunError(message)
    example = ["--example", "decide", "--message-format", "json"]
    command = ["cargo", "build", "--locked", "--release", "-p", "emulator", *example]
    try:
        output = subprocess.run(
            command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True
        ).stdout
    except FileNotFoundError:
        message = "no `cargo` on the PATH"
        raise CannotRunError(message) from None
    messages = (json.loads(line) for line in output.splitlines())
    return next(Path(message["executable"]) for message in messages if message.get("executable"))


def run_link(
    decide: Path,
    folder: Path,
    options: dict[str, str],
    *,
    count: int,
    rate: int,
    sizes: Sequence[int] = (80,),
    seed: int,
) -> LinkRun:
    """Send datagrams over a live link, and offer the captured ones to a link in virtual time.

    `options` are those of the direction up, by name. `sizes` are lengths of IP packets in bytes, in turn.
    `rate` is in packets per second.
    """
    capture, statistics = folder / "link.pcapng", folder / "link.json"
    words = [word for name, value in options.items() for word in (f"--up-{name}", value)]
    files = ["--pcap", capture, "--pcap-at", "both", "--pcap-bytes", KEPT, "--json", statistics]
    link = [sys.executable, "-m", "tcpsf", "link", "-q", "--force", "--seed", seed, *words, *files]
    sender = [sys.executable, "-c", SENDER, count, rate, ",".join(map(str, sizes))]
    subprocess.run([str(word) for word in (*link, "--", *sender)], check=True)
    found = json.loads(statistics.read_text(encoding="utf-8"))
    arrivals, deliveries = captured(capture)
    capture.unlink()
    start = int(arrivals["time"][0])
    for packets in (arrivals, deliveries):
        packets["time"] -= start
    settings = json.dumps({"up": options, "seed": seed})
    simulated = np.frombuffer(
        subprocess.run(
            [str(decide), settings], input=arrivals.tobytes(), stdout=subprocess.PIPE, check=True
        ).stdout,
        dtype=RECORD,
    )
    return LinkRun(
        arrivals=arrivals,
        numbers=numbers(arrivals),
        deliveries=deliveries,
        simulated=simulated,
        up=found["up"],
    )


def captured(file: Path) -> tuple[Packets, Packets]:
    """Return the packets in the direction up that arrived and those that were delivered."""
    content = file.read_bytes()
    interfaces = 0
    places: list[int] = []
    at = 0
    blocks = struct.Struct("<II")
    while at < len(content):
        kind, size = blocks.unpack_from(content, at)
        if kind == 6:
            places.append(at)
        interfaces += kind == 1
        at += size
    if interfaces != 2:
        message = f"expected a capture at both ends, got {interfaces} interfaces"
        raise ValueError(message)
    data = np.frombuffer(content + bytes(KEPT), dtype=np.uint8)
    starts = np.array(places, dtype=np.int64)
    heads = data[starts[:, None] + np.arange(28)].view("<u4")
    interface, high, low, kept, size = (heads[:, column] for column in range(2, 7))
    packets = np.zeros(len(starts), dtype=RECORD)
    packets["time"] = (high.astype(np.uint64) << np.uint64(32)) + low
    packets["size"], packets["kept"] = size, kept
    rows = data[starts[:, None] + 28 + np.arange(KEPT)]
    packets["data"] = np.where(np.arange(KEPT) < kept[:, None], rows, 0)
    # The inside end is the first interface. A packet of the other direction is outbound outside.
    flags = outbound(content, places)
    return packets[(interface == 0) & flags], packets[(interface == 1) & ~flags]


def outbound(content: bytes, places: Sequence[int]) -> NDArray[np.bool_]:
    """Return which packets the near end sent, by the flags of each block."""
    found = np.zeros(len(places), dtype=np.bool_)
    for row, at in enumerate(places):
        (kept,) = struct.unpack_from("<I", content, at + 20)
        option = at + 28 + (kept + 3) // 4 * 4
        while True:
            code, length = struct.unpack_from("<HH", content, option)
            if code == 2:
                found[row] = content[option + 4] & 3 == 2
            if code in {0, 2}:
                break
            option += 4 + (length + 3) // 4 * 4
    return found


def numbers(packets: Packets) -> Integers:
    """Return the number in each datagram of the sender; -1 for other packets."""
    data = packets["data"]
    ours = (data[:, 0] == 0x45) & (data[:, 9] == 17) & (data[:, 22] == 0) & (data[:, 23] == 9)
    read = data[:, HEADERS : HEADERS + 4].astype(np.int64) @ np.array([1 << 24, 1 << 16, 1 << 8, 1])
    return np.where(ours, read, -1)
