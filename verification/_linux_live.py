"""Replies of the kernel's TCP over `tcpsf link`, many connections on one link.

Each batch has its own network namespace, so that the kernel's settings and its cache of metrics
are those of the batch. Each connection has a loss mask of its own in both directions.
"""

# ruff: noqa: S603 (this module runs programs)

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import _kernel_clock
import _kernel_trace
import _round_trips
from _linux_capture import ACK, SYN, Packet, packets
from _round_trips import RoundTrips, round_trips

JIFFY_S: Final = 0.004
WHEEL_S: Final = 4096 * JIFFY_S
"""Period after which the ticks of the kernel's timers of up to 126 s repeat."""
SEGMENT: Final = 1448
SHORT: Final = 100
"""Bytes by which the last segment is shorter, so that it can be told apart."""
HERE: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Everything but the losses."""

    rtt_ms: float
    sack: bool = True
    initial_window: int = 10
    quick: bool = True
    """Whether the client acknowledges quickly at first."""
    records: int | None = None
    """Bytes of the records that the server writes with `MSG_EOR`."""
    rate_mbit: float | None = None
    """Rate towards the client in Mbit/s.

    With a rate, segments arrive one after the other, and the client reads each at once.
    """

    def __str__(self) -> str:
        words = [f"RTT {self.rtt_ms:g} ms"]
        words += [] if self.sack else ["no SACK"]
        words += [] if self.initial_window == 10 else [f"iw {self.initial_window}"]
        words += [] if self.quick else ["delayed ACKs"]
        words += [] if self.records is None else [f"records of {self.records} bytes"]
        words += [] if self.rate_mbit is None else [f"{self.rate_mbit:g} Mb/s"]
        return ", ".join(words)


@dataclass(frozen=True, slots=True, order=True)
class Losses:
    """A reply and its losses: masks of data segments, and of all packets of the client."""

    segments: int
    data: str
    acks: str = "0"

    def compared(self, sent: Sequence[Sent], done_s: float) -> list[Sent]:
        """Return the segments to compare. ``done_s`` is the time at which all data had arrived.

        With lost acknowledgments, what follows depends on when the client closes its socket: its
        FIN repeats the last acknowledgment.
        """
        return [one for one in sent if "1" not in self.acks or one.time_s < done_s]

    def __str__(self) -> str:
        acks = "" if "1" not in self.acks else f", ACKs {self.acks.replace(',', '')}"
        return f"{self.segments} segments, mask {self.data.replace(',', '')}{acks}"


@dataclass(frozen=True, slots=True)
class Sent:
    """A data segment that the server sent."""

    time_s: float
    """Time since the first data segment."""
    seq: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A reply of the kernel."""

    losses: Losses
    port: int
    """Port of the client."""
    sent: list[Sent]
    phase_s: float
    """Phase of the first segment in the kernel's ticks, in seconds below `WHEEL_S`."""
    down_s: float
    """Median delay of the server's packets in seconds, without the time on a line with a rate."""
    up_s: float
    """Median delay of the client's packets in seconds, with the client's time to answer a SYN."""
    error_s: float
    """Largest deviation of a packet's delay from these medians, in seconds."""
    nominal_error_s: float
    """Largest deviation of a packet's delay from half the round-trip time, in seconds."""
    round_trips: RoundTrips | None = None
    """Round-trip times before and after the first retransmission, if they were recorded."""


def replies(
    setting: Setting,
    wanted: Sequence[Losses],
    every_s: float,
    *,
    tapped: bool = False,
    server: str = "server",
) -> list[Reply]:
    """Let a server send replies, one every ``every_s`` seconds, on one link.

    ``server`` is `server` for the kernel's TCP, and `served` for that of `tcpsf serve`. With
    ``tapped``, the times of the kernel's segments are recorded at the server.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        of_server = {"segment": SEGMENT, "short": SHORT, "records": setting.records}
        of_server["initial_window"] = (
            None if setting.initial_window == 10 else setting.initial_window
        )
        client: dict[str, Any] = {"replies": [one.segments for one in wanted], "every": every_s}
        client |= {"quick": setting.quick, "linger": 4 * setting.rtt_ms / 1e3 + 0.1}
        client |= {"sack": setting.sack, "asks": server == "served"}
        if setting.rate_mbit is not None:
            client["at_once"] = of_server["at_once"] = True
        write_settings(folder, of_server, client, tapped=tapped)
        link = _link(setting, wanted, folder, server)
        timeout_s = 600 + every_s * len(wanted)
        if not tapped:
            offset_s = run_link(folder, link, sack=setting.sack, timeout_s=timeout_s)
            return _read(folder / "pcapng", setting, wanted, offset_s)
        with _kernel_trace.tracing(_kernel_clock.POINTS) as trace:
            offset_s = run_link(folder, link, sack=setting.sack, timeout_s=timeout_s)
            lines = (trace / "trace").read_text(encoding="utf-8").splitlines()
        times = _round_trips.read(folder / "tap", _kernel_clock.read(lines))
        return [
            replace(one, round_trips=round_trips(times[one.port]) if one.port in times else None)
            for one in _read(folder / "pcapng", setting, wanted, offset_s)
        ]


def write_settings(
    folder: Path, server: dict[str, Any], client: dict[str, Any], *, tapped: bool = False
) -> None:
    """Write the settings of `_linux_server` and `_linux_client`, named `server` and `client`."""
    common: dict[str, Any] = {name: str(folder / name) for name in ("ready", "done")}
    common["tap"] = str(folder / "tap") if tapped else None
    common["at_once"] = False
    client = {"sack": True, "asks": False} | client
    for file, settings in (("server", server), ("client", client)):
        (folder / file).write_text(json.dumps(common | settings), encoding="utf-8")


def run_link(folder: Path, link: Sequence[str], *, sack: bool = True, timeout_s: float) -> float:
    """Run a link in a network namespace of its own.

    Returns the time in seconds by which the wall clock exceeds the monotonic clock.
    """
    file = folder / "link"
    file.write_text(json.dumps(link), encoding="utf-8")
    command = [sys.executable, str(HERE / "_linux_live.py"), str(file), str(int(sack))]
    before_s = time.time() - time.monotonic()
    subprocess.run(command, check=True, timeout=timeout_s)
    return (before_s + time.time() - time.monotonic()) / 2


def phase_s(wall_s: float, offset_s: float) -> float:
    """Return the phase of a wall-clock time in the kernel's ticks, in seconds below `WHEEL_S`.

    ``offset_s`` is that of `run_link`.
    """
    return (wall_s - offset_s + ticks_ahead() * JIFFY_S) % WHEEL_S


def _link(setting: Setting, wanted: Sequence[Losses], folder: Path, server: str) -> list[str]:
    outside, client = (
        [sys.executable, str(HERE / f"_linux_{program}.py"), str(folder / settings)]
        for program, settings in ((server, "server"), ("client", "client"))
    )
    # The third packet of a client that asks is its request.
    acks = [one.acks.replace("0,0,", "0,0,0,", server == "served") for one in wanted]
    link = [sys.executable, "-m", "tcpsf", "link", "-q", "--delay", f"{setting.rtt_ms / 2}ms"]
    # A mask more, which no connection uses, makes a list even of a single mask.
    if setting.rate_mbit is not None:
        link += ["--down-rate", f"{setting.rate_mbit:g}mbit", "--down-queue", "none"]
    link += ["--down-loss-mask", ";".join([*(one.data for one in wanted), "0"])]
    link += ["--up-loss-mask-all", ";".join([*acks, "0"])]
    link += ["--no-offload", "--pcap", str(folder / "pcapng"), "--pcap-at", "both"]
    link += ["--pcap-bytes", "120B", "--outside", " ".join(outside), "--", *client]
    return link


def _read(
    capture: Path, setting: Setting, wanted: Sequence[Losses], offset_s: float
) -> list[Reply]:
    """Read the replies. The n-th connection whose server sends something has the n-th mask."""
    by_ports: dict[tuple[int, ...], list[Packet]] = {}
    for packet in packets(capture):
        ports = tuple(sorted((packet.source[1], packet.destination[1])))
        by_ports.setdefault(ports, []).append(packet)
    flows = list(by_ports.values())
    data = [
        [one for one in flow if one.length > 0 and one.source == _server(flow)] for flow in flows
    ]
    order = sorted((i for i, sent in enumerate(data) if sent), key=lambda i: data[i][0].sent_s)
    found = []
    for number, index in enumerate(order[: len(wanted)]):
        flow, sent = flows[index], data[index]
        losses = Losses(wanted[index].segments, wanted[number].data, wanted[index].acks)
        begin = sent[0].sent_s
        first = next(one.seq for one in flow if one.flags & SYN and one.source == sent[0].source)
        delays = _delays(flow, sent[0].source, setting.rate_mbit)
        medians = {side: statistics.median(each) for side, each in delays.items()}
        half = setting.rtt_ms / 2e3
        found.append(
            Reply(
                losses=losses,
                port=sent[0].destination[1],
                sent=losses.compared(
                    [
                        Sent(one.sent_s - begin, (one.seq - first) % 2**32, one.length)
                        for one in sent
                    ],
                    _done_s(sent) - begin,
                ),
                phase_s=phase_s(begin, offset_s),
                down_s=medians["down"],
                up_s=medians["up"] + _turnaround_s(flow),
                error_s=max(abs(one - medians[side]) for side in delays for one in delays[side]),
                nominal_error_s=max(abs(one - half) for each in delays.values() for one in each),
            )
        )
    return found


def _server(flow: Sequence[Packet]) -> tuple[str, int]:
    """Return the address of the end that accepted the connection."""
    return next(one.source for one in flow if one.flags & SYN and one.flags & ACK)


def _delays(
    flow: Sequence[Packet], server: tuple[str, int], rate_mbit: float | None
) -> dict[str, list[float]]:
    """Return the delays of both directions in seconds.

    With a rate, those of the server's packets are without the time in the queue and on the line. A
    packet that is lost takes its time, too.
    """
    found: dict[str, list[float]] = {"down": [], "up": []}
    free_s = 0.0
    for one in flow:
        left_s = one.sent_s
        if one.source == server and rate_mbit is not None:
            free_s = left_s = max(free_s, left_s) + one.size * 8 / rate_mbit / 1e6
        if one.delay_s is not None:
            delay_s = one.sent_s + one.delay_s - left_s
            found["down" if one.source == server else "up"].append(delay_s)
    return found


def _done_s(sent: Sequence[Packet]) -> float:
    """Time at which the last of the data arrived first."""
    arrived: dict[int, float] = {}
    for one in sent:
        if one.delay_s is not None:
            arrived.setdefault(one.seq, one.sent_s + one.delay_s)
    return max(arrived.values())


def _turnaround_s(flow: Sequence[Packet]) -> float:
    """Time that the client took to answer the SYN of the server, in seconds."""
    answered = next(one for one in flow if one.flags & SYN and one.flags & ACK)
    arrived = answered.sent_s + (answered.delay_s or 0.0)
    return min(
        one.sent_s - arrived
        for one in flow
        if one.source == answered.destination and one.sent_s > arrived
    )


_TICKS: list[int] = []


def ticks_ahead() -> int:
    """Number by which the kernel's count of ticks exceeds its monotonic clock in jiffies.

    The kernel prints the clock before the count, so the least of several readings is right.
    """

    def reading() -> int:
        text = Path("/proc/timer_list").read_text(encoding="utf-8")
        jiffies = int(re.findall(r"^jiffies: (\d+)$", text, re.MULTILINE)[0])
        now_ns = int(re.findall(r"^now at (\d+) nsecs$", text, re.MULTILINE)[0])
        return jiffies - now_ns // round(JIFFY_S * 1e9)

    if not _TICKS:
        _TICKS.append(min(reading() for _ in range(50)))
    return _TICKS[0]


def main(link: Path, sack: str) -> None:
    """Run a link in a new network namespace."""
    from tcpsf.live.network import die_with_parent, enter

    die_with_parent()
    enter()
    for name, value in (("tcp_sack", sack), ("tcp_no_metrics_save", "1")):
        Path(f"/proc/sys/net/ipv4/{name}").write_text(value, encoding="ascii")
    command = json.loads(link.read_text(encoding="utf-8"))
    os.execv(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
