"""Compare the congestion window of the kernel's CUBIC over time with the simulated one.

Each path is drawn by a seed: its rate, round-trip time, buffer, and the data packets that it loses.
The kernel sends 10 MB over `tcpsf link` with this path, and the simulator over the same scenario.
The window is read from `TCP_INFO` every 10 ms.

- Before the first loss, the windows are within one segment.
- After it, they are within 5 %.
- The completion times are within 2 %.
- HyStart ends slow start in the same round trip.

A sample is compared with the windows of the simulation within one jiffy (4 ms) before and after it,
because the window of a fast path grows by several segments in a millisecond.

    python verification/linux_cubic.py [--paths 100] [--first 0]

It needs root and TUN devices, and exits with 77 without them.
"""

# ruff: noqa: S603, T201 (this module runs programs and prints verdicts)

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import polars as pl
from linux_cells import missing

import tcpsf

SEED: Final = 20260702
BYTES: Final = 10_000_000
SEGMENT: Final = 1448
PACKET: Final = 1500
INTERVAL_S: Final = 0.010
SHIFT_S: Final = 0.004
FINE_S: Final = 0.001
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

    def links(self) -> list[dict[str, Any]]:
        """Return both links as in a scenario."""
        half = f"{self.rtt_ms / 2}ms"
        down: dict[str, Any] = {"name": "down", "from": "server", "to": "client", "delay": half}
        down |= {"rate": f"{self.rate_mbit}mbit", "buffer": {"packets": self.buffer_packets}}
        if self.lost:
            drops = ("01"[number in self.lost] for number in range(max(self.lost) + 1))
            down["loss"] = {"kind": "mask", "drops": ",".join(drops)}
        return [down, {"name": "up", "from": "client", "to": "server", "delay": half}]


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
    cwnd: int
    ssthresh: int | None
    """Slow start threshold in segments; ``None`` before it is set."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """A transfer."""

    samples: list[Sample]
    took_s: float
    """Time from the first SYN until the client had all data."""
    first_loss_s: float
    """Time of the first sample with a retransmission; infinite without one."""


def scenario(path: PathOf) -> dict[str, Any]:
    """Return the path with the transfer."""
    return {
        "name": f"path-{path.number}",
        "duration": "300s",
        "samples": {"every": f"{FINE_S * 1e3:g}ms", "workloads": ["bulk"]},
        "tcp": {"profile": "linux-6.18"},
        "link": path.links(),
        "workload": [
            {"name": "bulk", "kind": "transfers", "from": "server", "to": "client"}
            | {"sizes": [BYTES], "sender": "linux", "handshake": True, "opener": "receiver"}
        ],
    }


def simulated(path: PathOf) -> Transfer:
    """Simulate the transfer."""
    result = tcpsf.run(tcpsf.Scenario.from_dict(scenario(path)), seed=1)
    flow = result.flows.row(0, named=True)
    offset = 1.5 * path.rtt_ms / 1e3
    losses = result.recoveries["time_s"].to_list()
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
    ]
    first = min(losses, default=math.inf) - offset
    return Transfer(samples, flow["receiver_s"], first)


def live(path: PathOf) -> Transfer:
    """Let the kernel send."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        settings = {key: str(folder / key) for key in ("ready", "samples", "took")}
        (folder / "settings").write_text(
            json.dumps(settings | {"bytes": BYTES, "interval": INTERVAL_S}), encoding="utf-8"
        )
        file = folder / "path.toml"
        file.write_text(toml(scenario(path)), encoding="utf-8")
        server, client = (
            [sys.executable, str(HERE / f"_linux_bulk_{who}.py"), str(folder / "settings")]
            for who in ("server", "client")
        )
        link = [sys.executable, "-m", "tcpsf", "link", "-q", "--no-offload"]
        link += ["--down-from", f"{file}:down", "--up-from", f"{file}:up"]
        link += ["--json", str(folder / "link.json"), "--outside", " ".join(server), "--", *client]
        (folder / "link").write_text(json.dumps(link), encoding="utf-8")
        command = [sys.executable, str(HERE / "_linux_live.py"), str(folder / "link"), "1"]
        subprocess.run(command, check=True, timeout=200)
        rows = json.loads((folder / "samples").read_text(encoding="utf-8"))
        took = json.loads((folder / "took").read_text(encoding="utf-8"))
    samples = [
        Sample(time_s, cwnd, None if ssthresh >= INFINITE else ssthresh)
        for time_s, _, ssthresh, cwnd, _ in rows
    ]
    again = (time_s for time_s, _, _, _, count in rows if count)
    return Transfer(samples, took, next(again, math.inf))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Comparison of a path."""

    path: PathOf
    before: float
    """Largest difference before the first loss, in segments."""
    after: float
    """Share of the samples after the first loss that are more than 5 % apart."""
    worst: float
    took: float
    """Relative difference of the completion times."""
    rounds: tuple[int | None, int | None]
    """Round trip in which slow start ends before a loss, in the kernel and in the simulation."""

    @property
    def holds(self) -> bool:
        """Whether every bound holds."""
        same_round = self.rounds[0] == self.rounds[1]
        return self.before <= 1 and self.after == 0 and abs(self.took) <= 0.02 and same_round

    def __str__(self) -> str:
        return (
            f"{'holds' if self.holds else 'FAILS'} {self.path}: {self.before:.0f} segments before, "
            f"{self.worst:.1%} after ({self.after:.1%} of samples beyond 5 %), "
            f"time {self.took:+.2%}, slow start ends in round {self.rounds[0]} / {self.rounds[1]}"
        )


def compared(path: PathOf) -> tuple[Comparison, Transfer, Transfer]:
    """Compare both sides of a path."""
    kernel, ours = live(path), simulated(path)
    loss = min(kernel.first_loss_s, ours.first_loss_s)
    before = worst = 0.0
    beyond = count = 0
    for sample in kernel.samples[:-1]:
        near = [
            one.cwnd for one in ours.samples if abs(one.time_s - sample.time_s) <= SHIFT_S + FINE_S
        ]
        if not near:
            continue
        gap = max(0, min(near) - sample.cwnd, sample.cwnd - max(near))
        if sample.time_s < loss - SHIFT_S:
            before = max(before, gap)
        elif sample.time_s > loss + 2 * path.rtt_ms / 1e3:
            count += 1
            share = gap / sample.cwnd
            worst = max(worst, share)
            beyond += share > 0.05
    comparison = Comparison(
        path=path,
        before=before,
        after=beyond / count if count else 0.0,
        worst=worst,
        took=ours.took_s / kernel.took_s - 1,
        rounds=(ended(kernel, path), ended(ours, path)),
    )
    return comparison, kernel, ours


def ended(transfer: Transfer, path: PathOf) -> int | None:
    """Return the round trip in which slow start ends before a loss."""
    for sample in transfer.samples:
        if sample.time_s > transfer.first_loss_s:
            return None
        if sample.ssthresh is not None:
            return int((sample.time_s + SHIFT_S) / (path.rtt_ms / 1e3))
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the paths and print a verdict for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--paths", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--dump", type=Path, help="write the samples of each path to this folder")
    options = parser.parse_args(arguments)
    reason = missing()
    if reason is not None:
        print(f"cannot run: {reason}")
        return 77
    failed = 0
    paths = [drawn(number) for number in range(options.first, options.first + options.paths)]
    with ThreadPoolExecutor(2) as pool:
        for comparison, kernel, ours in pool.map(compared, paths):
            print(comparison, flush=True)
            failed += not comparison.holds
            if options.dump is not None:
                for side, transfer in (("kernel", kernel), ("ours", ours)):
                    rows = [(one.time_s, one.cwnd, one.ssthresh) for one in transfer.samples]
                    file = options.dump / f"{comparison.path.number}-{side}.json"
                    file.write_text(json.dumps(rows), encoding="utf-8")
    print(f"{len(paths) - failed} of {len(paths)} paths hold")
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
