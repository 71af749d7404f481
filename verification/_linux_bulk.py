"""A transfer of 10 MB: by the kernel over `tcpsf link`, and simulated over the same path."""

from __future__ import annotations

import bisect
import json
import math
import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import polars as pl
from _linux_capture import SYN, Packet, packets
from _linux_live import WHEEL_S, phase_s, run_link

import tcpsf

SEED: Final = 20260702
BYTES: Final = 10_000_000
SEGMENT: Final = 1448
PACKET: Final = 1500
FINE_S: Final = 0.002
"""Interval between readings of the window."""
INFINITE: Final = 1 << 30
"""The kernel's slow start threshold is at least that before it is set."""
UNLIMITED: Final = 1 << 29
"""The simulator's slow start threshold is at least that before it is set, in bytes."""
HERE: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class PathOf:
    """A path."""

    number: int
    rate_mbit: float
    rtt_ms: float
    buffer_packets: int
    lost: tuple[int, ...]
    """Numbers of the data packets that the link loses, from zero."""

    def __str__(self) -> str:
        losses = f"{len(self.lost)} losses" if self.lost else "no losses"
        return (
            f"path {self.number}: {self.rate_mbit:g} Mb/s, RTT {self.rtt_ms:g} ms, "
            f"{self.buffer_packets} packets, {losses}"
        )

    def links(self, extra_s: float = 0.0) -> list[dict[str, Any]]:
        """Return both links as in a scenario.

        ``extra_s`` adds to the round-trip time, in seconds.
        """
        half = f"{self.rtt_ms / 2 + extra_s * 500:.6f}ms"
        down: dict[str, Any] = {"name": "down", "from": "server", "to": "client", "delay": half}
        down |= {"rate": f"{self.rate_mbit}mbit", "buffer": {"packets": self.buffer_packets}}
        if self.lost:
            drops = ("01"[number in self.lost] for number in range(max(self.lost) + 1))
            down["loss"] = {"kind": "mask", "drops": ",".join(drops)}
        return [down, {"name": "up", "from": "client", "to": "server", "delay": half}]

    def first_rtt_s(self) -> float:
        """Return the round-trip time of a full packet without a queue, in seconds."""
        return self.rtt_ms / 1e3 + PACKET * 8 / self.rate_mbit / 1e6

    def scenario(
        self, extra_s: float = 0.0, start_s: float = 0.0, response_s: float = 0.0
    ) -> dict[str, Any]:
        """Return the path with the transfer, which begins at ``start_s``.

        The server writes ``response_s`` after the end of the handshake. All times are in seconds.
        """
        links = self.links(extra_s)
        if response_s > 0:
            # The simulated server writes at once. The acknowledgment that ends the handshake
            # therefore arrives later.
            rtt_s = self.rtt_ms / 1e3 + extra_s
            links[1]["changes"] = [
                {"at": _nanos(start_s + 0.9 * rtt_s), "delay": _nanos(rtt_s / 2 + response_s)},
                {"at": _nanos(start_s + 1.1 * rtt_s), "delay": _nanos(rtt_s / 2)},
            ]
        return {
            "name": f"path-{self.number}",
            "duration": f"{start_s + 300:.0f}s",
            "samples": {"every": f"{FINE_S * 1e3:g}ms", "workloads": ["bulk"]},
            "tcp": {"profile": "linux-6.18"},
            "link": links,
            "workload": [
                {"name": "bulk", "kind": "transfers", "from": "server", "to": "client"}
                | {"sizes": [BYTES], "sender": "linux", "handshake": True, "opener": "receiver"}
                | {"start": _nanos(start_s)}
            ],
        }


def _nanos(seconds: float) -> str:
    return f"{seconds * 1e9:.0f}ns"


def drawn(number: int) -> PathOf:
    """Draw a path."""
    draw = random.Random(f"{SEED} {number}")  # noqa: S311 (no secret)
    rate = round(math.exp(draw.uniform(math.log(4), math.log(60))), 1)
    rtt = round(math.exp(draw.uniform(math.log(10), math.log(200))))
    product = rate * 1e6 / 8 * rtt / 1e3 / PACKET
    buffer = max(20, round(product * draw.uniform(0.3, 2.5)))
    probability = draw.choice((0.0, 0.0, 1e-4, 1e-3))
    count = BYTES // SEGMENT
    lost = tuple(n for n in range(count) if draw.random() < probability)
    return PathOf(number, rate, rtt, buffer, lost)


@dataclass(frozen=True, slots=True)
class Sample:
    """The sender at a time."""

    time_s: float
    """Time since the first data segment was sent."""
    cwnd: int
    ssthresh: int | None
    """Slow start threshold in segments; ``None`` before it is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """A transfer."""

    samples: list[Sample]
    took_s: float
    """Time from the first SYN until the client had all data."""
    first_loss_s: float
    """Time of the first retransmission; infinite without one."""
    sent: list[tuple[float, int]]
    """Time and offset in bytes of each data segment."""
    rounds: list[float]
    """Times at which round trips begin, as HyStart counts them."""
    drops: int
    """Data packets that did not fit into the buffer."""
    extra_s: float
    """Round-trip time of the first segment beyond that of the path."""
    response_s: float
    """Time from the end of the handshake at the server until its first segment, in seconds."""
    late_s: float
    """Longest time by which the link delivered a packet late."""
    phase_s: float
    """Phase of the first segment in the kernel's ticks, in seconds below `WHEEL_S`."""

    def json(self) -> str:
        """Return the transfer as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Transfer:
        """Read a transfer."""
        values = json.loads(text)
        values["samples"] = [Sample(**sample) for sample in values["samples"]]
        values["sent"] = [(time_s, offset) for time_s, offset in values["sent"]]
        return cls(**values)

    def left_slow_start(self) -> tuple[int, int] | None:
        """Return the first and the last round trip in which slow start may have ended.

        It ended between two samples. ``None`` if a loss ended it.
        """
        before_s = 0.0
        for sample in self.samples:
            if sample.time_s >= self.first_loss_s:
                return None
            if sample.ssthresh is not None:
                return self.round_at(before_s), self.round_at(sample.time_s)
            before_s = sample.time_s
        return None

    def round_at(self, time_s: float) -> int:
        """Return the number of the round trip at a time."""
        return bisect.bisect_right(self.rounds, time_s)


def simulated(path: PathOf, kernel: Transfer) -> Transfer:
    """Simulate a transfer of the kernel, with its round-trip time, response time and phase."""
    before_s = 1.5 * (path.rtt_ms / 1e3 + kernel.extra_s) + kernel.response_s
    start_s = (kernel.phase_s - before_s) % WHEEL_S
    with TemporaryDirectory() as name:
        capture = Path(name) / "pcapng"
        result = tcpsf.run(
            tcpsf.Scenario.from_dict(path.scenario(kernel.extra_s, start_s, kernel.response_s)),
            seed=1,
            pcap=tcpsf.Pcap(path=capture, place="both"),
        )
        trace = packets(capture)
    offset = start_s + before_s
    rows = result.samples.with_columns(pl.col("quantity").cast(pl.String))
    rows = rows.pivot("quantity", index="time_s", values="value")
    samples = [
        Sample(
            time_s - offset,
            round(cwnd / SEGMENT),
            None if ssthresh >= UNLIMITED else round(ssthresh / SEGMENT),
        )
        for time_s, cwnd, ssthresh in rows.select(
            "time_s", "cwnd_bytes", "ssthresh_bytes"
        ).iter_rows()
        if time_s >= offset
    ]
    took = result.flows.row(0, named=True)["receiver_s"]
    lost = sum(one.length > 0 and one.delay_s is None for one in trace)
    return Transfer(
        samples=samples,
        took_s=took,
        drops=lost - len(path.lost),
        late_s=0.0,
        phase_s=kernel.phase_s,
        **_facts(trace, path),
    )


def live(path: PathOf) -> Transfer:
    """Let the kernel send."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        settings = {key: str(folder / key) for key in ("ready", "samples", "took")}
        (folder / "settings").write_text(
            json.dumps(settings | {"bytes": BYTES, "interval": FINE_S}), encoding="utf-8"
        )
        file = folder / "path.toml"
        file.write_text(toml(path.scenario()), encoding="utf-8")
        server, client = (
            [sys.executable, str(HERE / f"_linux_bulk_{who}.py"), str(folder / "settings")]
            for who in ("server", "client")
        )
        link = [sys.executable, "-m", "tcpsf", "link", "-q", "--no-offload"]
        link += ["--down-from", f"{file}:down", "--up-from", f"{file}:up"]
        link += ["--pcap", str(folder / "pcapng"), "--pcap-at", "both", "--pcap-bytes", "120B"]
        link += ["--json", str(folder / "link.json"), "--outside", " ".join(server), "--", *client]
        offset_s = run_link(folder, link, timeout_s=200)
        rows = json.loads((folder / "samples").read_text(encoding="utf-8"))
        took = json.loads((folder / "took").read_text(encoding="utf-8"))
        report = json.loads((folder / "link.json").read_text(encoding="utf-8"))
        trace = packets(folder / "pcapng")
    if report["down"]["missed_packets"] or report["up"]["missed_packets"]:
        sys.exit("the link missed packets")
    first_s = next(one.sent_s for one in trace if one.length > 0)
    return Transfer(
        samples=[
            Sample(time_s, cwnd, None if ssthresh >= INFINITE else ssthresh)
            for time_s, ssthresh, cwnd, _ in rows
        ],
        took_s=took,
        drops=report["down"]["dropped_buffer_packets"],
        late_s=max(report[way]["timing_error_max_s"] for way in ("down", "up")),
        phase_s=phase_s(first_s, offset_s),
        **_facts(trace, path),
    )


def _facts(trace: Sequence[Packet], path: PathOf) -> dict[str, Any]:
    """Return what a capture shows. Times count from the first data segment."""
    first = next(one for one in trace if one.length > 0)
    opened = next(one for one in trace if one.source == first.destination and not one.flags & SYN)
    data = [one for one in trace if one.length > 0]
    sent = [(one.sent_s - first.sent_s, (one.seq - first.seq) % 2**32) for one in data]
    acks = sorted(
        (one.sent_s + one.delay_s - first.sent_s, (one.ack - first.seq) % 2**32)
        for one in trace
        if one.source == first.destination and one.delay_s is not None
    )
    acks = [(time_s, ack) for time_s, ack in acks if 0 < ack <= BYTES + 1]
    highest, again = -1, math.inf
    for time_s, offset in sent:
        if offset <= highest:
            again = time_s
            break
        highest = offset
    return {
        "sent": sent,
        "first_loss_s": again,
        "rounds": _rounds(sent, acks),
        "extra_s": acks[0][0] - path.first_rtt_s(),
        "response_s": max(0.0, first.sent_s - opened.sent_s - (opened.delay_s or 0.0)),
    }


def _rounds(sent: Iterable[tuple[float, int]], acks: Iterable[tuple[float, int]]) -> list[float]:
    """Return the times at which an acknowledgment exceeds what was sent when its round began."""
    found: list[float] = []
    end = nxt = 0
    # Data that answers an acknowledgment may have the same time.
    events = sorted([(at, 0, ack) for at, ack in acks] + [(at, 1, offset) for at, offset in sent])
    for time_s, is_data, value in events:
        if is_data:
            nxt = max(nxt, value + SEGMENT)
        elif value > end:
            found.append(time_s)
            end = nxt
    return found


def toml(table: dict[str, Any]) -> str:
    """Write a scenario as TOML."""

    def value(of: Any) -> str:
        if isinstance(of, dict):
            return "{" + ", ".join(f"{key} = {value(one)}" for key, one in of.items()) + "}"
        return json.dumps(of)

    lists = {key: of for key, of in table.items() if isinstance(of, list)}
    lines = [f"{key} = {value(of)}" for key, of in table.items() if key not in lists]
    for key, tables in lists.items():
        for one in tables:
            lines += [f"[[{key}]]", *(f"{name} = {value(of)}" for name, of in one.items())]
    return "\n".join(lines) + "\n"
