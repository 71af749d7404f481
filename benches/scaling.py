"""Measure how the cost of our simulator grows with the number of flows and of cores.

Four quantities are measured, each with a target.

* Cost of a packet: with 10 to 100 000 greedy flows on one bottleneck of 1 and of 10 Gb/s, a round
  trip of 40 ms, a buffer of one bandwidth-delay product, handshakes and SACK. The cost is the CPU
  time of the simulating process after ``WARM_UP_S``, divided by the data packets that the bottleneck
  accepted in that time. The cost of the slow start before is in a separate column.

  The number of flows also changes the work: with more flows, windows are smaller and more flows wait
  for timeouts. The table therefore has losses and events per packet. The line below the table has
  the cost of the same windows and losses with a hundredth of the rate, the buffer and the 10 000
  flows, which fit into a processor's own cache.

* Memory of a flow: peak resident memory beyond that with ten flows, divided by the flows. The number
  of packets in flight, which buffer and link limit, is equal in both runs.

* A million simultaneous short flows: Poisson arrivals of the paper's sizes over a link with a round
  trip of one second that drops 1 % of the packets. The open flows are counted from the rows of the
  result.

* Two cores: wall time of ``replicate`` with one worker, divided by that with two.

Measurements with different numbers of flows or workers alternate. The table shows medians over the
turns, and ratios are computed within each turn. The verdict on the two cores uses their best turn,
because another program on the machine would occupy one of them.

The program writes ``scaling.json`` and ``scaling.svg`` to this folder.
"""

# ruff: noqa: T201 (this program prints measurements)

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "verification"))

from _measure import ProcessError, our_counts, word
from _ns2_network import SENDER, SIZES, scenario

from tcpsf.chart import Axis, plot

HERE = Path(__file__).resolve().parent

RATES_GBPS = (1, 10)
FLOWS = (10, 100, 1_000, 10_000, 100_000)
ROUND_TRIP_S = 0.04
WARM_UP_S = 5.0
# Simulated seconds after the warm-up at 1 Gb/s: 3.3 million packets.
MEASURED_GBPS_S = 40.0

# With rate, buffer and number of flows divided by this factor, windows and losses stay equal.
SMALLER = 100
JUDGED_FLOWS = 10_000

# With fewer flows, the windows that slow start reaches determine the difference in memory.
FEWEST_FOR_MEMORY = 10_000

GROWTH_TARGET = 1.5
FLOW_TARGET_BYTES = 2_000
MILLION = 1_000_000
MILLION_TARGET_MB = 3_000
CORES_TARGET = 1.9

# A load average above this value means that other programs are running. The program that `make
# bench` ran before this one does not exceed it.
BUSY_LOAD = 1.5

# Packets per CPU second of htsim, by number of greedy flows, on a similar machine. htsim is the
# fastest simulator known to us; its TCP has neither handshake nor SACK. The values are from earlier
# measurements of this project. This program does not measure them.
HTSIM = {10: 2.3e6, 10_000: 3.7e5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Measurements with one number of flows at one rate, over all turns."""

    rate_gbps: float
    flows: int
    ns_per_packet: tuple[float, ...]
    """CPU nanoseconds per data packet through the bottleneck after `WARM_UP_S`, for each turn."""
    warm_up_ns_per_packet: float
    """CPU nanoseconds per data packet before `WARM_UP_S`, start-up of the process included."""
    events_per_packet: float
    dropped_percent: float
    utilisation: float
    peak_mb: float

    @property
    def median_ns(self) -> float:
        """Median over the turns of the nanoseconds per packet; the table shows it."""
        return statistics.median(self.ns_per_packet)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A target: a measured quantity and its limit."""

    what: str
    found: float
    limit: float
    unit: str = ""
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the measured value is within the limit."""
        return self.found >= self.limit if self.at_least else self.found <= self.limit

    def line(self) -> str:
        """The line with the verdict, for the end of the output."""
        sign = "≥" if self.at_least else "≤"
        return f"  {self.what:58} {self.found:10.4g} {sign} {self.limit:g}{self.unit}: {word(self.met)}"


# ---- greedy flows
# -------------------------------------------------------------------------------------------------


def greedy(*, rate_gbps: float, flows: int, share: float) -> dict[str, Any]:
    """The scenario with ``flows`` greedy senders, which start within one second.

    ``share`` is the simulated time after the warm-up, relative to `MEASURED_GBPS_S`.
    """
    description = scenario(load=0.0, duration_s=WARM_UP_S + share * MEASURED_GBPS_S / rate_gbps)
    product_bytes = round(rate_gbps * 1e9 / 8 * ROUND_TRIP_S)
    there, back = description["link"]
    there |= {"rate": f"{1000 * rate_gbps:g}Mb/s", "delay": f"{ROUND_TRIP_S / 2}s"}
    there |= {"buffer": {"bytes": f"{product_bytes}B"}}
    back |= {"delay": f"{ROUND_TRIP_S / 2}s"}
    description["workload"][0] |= {"flows": flows, "handshake": True}
    # The receive buffer never limits a sender, because link and buffer contain less.
    description["tcp"]["receive_buffer"] = f"{2 * product_bytes}B"
    return description


def measure_greedy(*, turns: int, share: float) -> list[Cell]:
    """Measure each rate with each number of flows, and the reduced networks, ``turns`` times."""
    wanted = [(float(rate), flows) for rate in RATES_GBPS for flows in FLOWS]
    wanted += [(rate / SMALLER, JUDGED_FLOWS // SMALLER) for rate in RATES_GBPS]
    found: dict[tuple[float, int], list[dict[str, Any]]] = {key: [] for key in wanted}
    for turn in range(turns):
        for (rate, flows), runs in found.items():
            description = greedy(rate_gbps=rate, flows=flows, share=share)
            runs.append(our_counts(description, "steady", str(WARM_UP_S)))
            _progress(f"turn {turn + 1} of {turns}: {rate:g} Gb/s, {flows} flows")
    _progress("")
    return [_cell(rate, flows, runs) for (rate, flows), runs in found.items()]


def _cell(rate: float, flows: int, runs: Sequence[Mapping[str, Any]]) -> Cell:
    last = runs[-1]
    return Cell(
        rate_gbps=rate,
        flows=flows,
        ns_per_packet=tuple(1e9 * run["cpu_s"] / run["through_packets"] for run in runs),
        warm_up_ns_per_packet=statistics.median(
            1e9 * run["cpu_s_before"] / run["through_packets_before"] for run in runs
        ),
        events_per_packet=last["events"] / last["through_packets"],
        dropped_percent=100 * last["dropped_packets"] / last["offered_packets"],
        utilisation=last["busy_s"] / last["simulated_s"],
        peak_mb=statistics.median(run["peak_mb"] for run in runs),
    )


def bytes_per_flow(cell: Cell, ten: Cell) -> float:
    """Memory of each flow beyond the first ten, in bytes."""
    return 1024**2 * (cell.peak_mb - ten.peak_mb) / (cell.flows - ten.flows)


def growth(cell: Cell, other: Cell) -> float:
    """Cost of a packet in ``cell`` divided by that in ``other``: the median over the turns."""
    return statistics.median(
        here / there for here, there in zip(cell.ns_per_packet, other.ns_per_packet, strict=True)
    )


def print_greedy(cells: Sequence[Cell]) -> list[Target]:
    """Print the table and return its targets."""
    of = {(cell.rate_gbps, cell.flows): cell for cell in cells}
    targets = []
    for rate in RATES_GBPS:
        ten = of[rate, 10]
        print(
            f"\n{rate} Gb/s, round trip {1000 * ROUND_TRIP_S:g} ms, buffer {rate * 125 * ROUND_TRIP_S:g} MB"
        )
        print(
            "    flows  ns/packet  packets/s  × ten flows  events/packet  dropped %   busy  warm-up ns  B/flow"
        )
        for flows in FLOWS:
            cell = of[rate, flows]
            memory = (
                f"{bytes_per_flow(cell, ten):7.0f}" if flows >= FEWEST_FOR_MEMORY else "      –"
            )
            print(
                f"  {flows:7} {cell.median_ns:10.0f} {1e9 / cell.median_ns:10.3g} {growth(cell, ten):12.2f}"
                f" {cell.events_per_packet:14.2f} {cell.dropped_percent:10.2f} {cell.utilisation:6.3f}"
                f" {cell.warm_up_ns_per_packet:11.0f} {memory}"
            )
        many = of[rate, JUDGED_FLOWS]
        small = of[rate / SMALLER, JUDGED_FLOWS // SMALLER]
        print(
            f"  windows of {many.flows} flows with {small.flows} flows on {1000 * small.rate_gbps:g} Mb/s:"
            f" {small.median_ns:.0f} ns, work × {growth(small, ten):.2f}; memory × {growth(many, small):.2f}"
            f" (dropped {small.dropped_percent:.2f} %, events/packet {small.events_per_packet:.2f})"
        )
        targets += [
            Target(
                what=f"{rate} Gb/s: cost of a packet, 10 000 flows ÷ 10 flows",
                found=growth(many, ten),
                limit=GROWTH_TARGET,
            ),
            *(
                Target(
                    what=f"{rate} Gb/s: memory per flow, {cell.flows} flows",
                    found=bytes_per_flow(cell, ten),
                    limit=FLOW_TARGET_BYTES,
                    unit=" B",
                )
                for cell in (of[rate, flows] for flows in FLOWS if flows >= FEWEST_FOR_MEMORY)
            ),
            *(
                Target(
                    what=f"{rate} Gb/s: packets/s, {flows} flows, against htsim (quoted)",
                    found=1e9 / of[rate, flows].median_ns,
                    limit=quoted,
                    at_least=True,
                )
                for flows, quoted in HTSIM.items()
            ),
        ]
    return targets


# ---- a million short flows
# -------------------------------------------------------------------------------------------------


def million() -> dict[str, Any]:
    """The scenario with 320 000 flows per second, of some four seconds each, for eight seconds."""
    description = scenario(load=0.0, duration_s=8.0)
    there, back = description["link"]
    there |= {"rate": "100Gb/s", "delay": "500ms", "buffer": {"bytes": "500MB"}}
    there["loss"] = {"kind": "packet", "probability": 0.01}
    back |= {"delay": "500ms"}
    description["workload"] = [
        {
            "name": "web",
            "kind": "poisson",
            "from": "servers",
            "to": "clients",
            "sender": SENDER,
            "rate": 320_000.0,
            "sizes": {"classes": list(SIZES)},
            "handshake": True,
        }
    ]
    return description


def measure_million() -> tuple[dict[str, Any], list[Target]]:
    """Simulate a million short flows once, print the result and return it with its targets."""
    found = our_counts(million(), "open")
    print(
        f"\nshort flows: {found['started_flows']} started, maximum {found['most_open']} open at once"
        f" (at {found['most_open_at_s']:g} s), {found['through_packets']} packets,"
        f" {found['cpu_s']:.0f} s of CPU time, peak memory {found['peak_mb']:.0f} MB, rows included"
    )
    return found, [
        Target(
            what="short flows open at once", found=found["most_open"], limit=MILLION, at_least=True
        ),
        Target(
            what="peak memory with a million short flows",
            found=found["peak_mb"],
            limit=MILLION_TARGET_MB,
            unit=" MB",
        ),
    ]


# ---- two cores
# -------------------------------------------------------------------------------------------------


class _Drop:
    """A fold that discards all rows."""

    def add(self, batch: object) -> None:
        """Discard rows."""

    def finish(self, *, links: object, provenance: object) -> None:
        """Return nothing."""


def measure_cores(*, turns: int, share: float) -> tuple[dict[str, Any], list[Target]]:
    """Measure the paper's scenario at 80 % load and eight seeds, with one worker and with two."""
    import tcpsf

    described = tcpsf.Scenario.from_dict(scenario(load=0.8, duration_s=share * 4000.0))
    ratios = []
    print("\ntwo cores: eight runs at 80 % load     one worker s  two workers s   ratio")
    for turn in range(1, turns + 1):
        walls = []
        for workers in (1, 2):
            start = time.perf_counter()
            tcpsf.replicate(described, seeds=range(1, 9), workers=workers, reduce=_Drop)
            walls.append(time.perf_counter() - start)
        ratios.append(walls[0] / walls[1])
        print(f"  turn {turn:<32} {walls[0]:14.2f} {walls[1]:14.2f} {ratios[-1]:7.2f}", flush=True)
    target = Target(
        what="speed-up with two cores (best turn)",
        found=max(ratios),
        limit=CORES_TARGET,
        at_least=True,
    )
    return {"ratios": ratios}, [target]


# ---- the program
# -------------------------------------------------------------------------------------------------


def draw(cells: Sequence[Cell], *, where: str) -> str:
    """Plot the cost of a packet against the number of flows, as SVG."""
    rows: list[dict[str, str | float]] = [
        {"x": cell.flows, "y": cell.median_ns, "series": f"tcpsf, {rate} Gb/s"}
        for rate in RATES_GBPS
        for cell in cells
        if cell.rate_gbps == rate
    ]
    rows += [
        {"x": flows, "y": 1e9 / speed, "series": "htsim, as quoted"}
        for flows, speed in HTSIM.items()
    ]
    drawing = plot(
        rows,
        x_axis=Axis(label="greedy flows", scale="log"),
        y_axis=Axis(label="CPU time of a packet", unit="ns", scale="log"),
        title="CPU time of a packet through the bottleneck",
        notes=[where],
    )
    return drawing.svg(theme="auto")


def _where(*, busy: bool) -> str:
    return f"{_machine()}, {dt.datetime.now(tz=dt.UTC):%Y-%m-%d}{', busy: provisional' if busy else ''}"


def _machine() -> str:
    """Processor model and number of cores of this machine, without its host name."""
    model = platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(
            (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")),
            model,
        )
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} cores"


def _progress(text: str) -> None:
    """Print the progress if standard error is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the table, the numbers and the plot; status 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument(
        "--share", type=float, default=1.0, help="simulated time, relative to the default"
    )
    parser.add_argument(
        "--out", type=Path, default=HERE, help="folder for scaling.json and scaling.svg"
    )
    given = parser.parse_args(arguments)
    where = _where(busy=os.getloadavg()[0] > BUSY_LOAD)
    print(where)
    try:
        cells = measure_greedy(turns=given.turns, share=given.share)
        targets = print_greedy(cells)
        short, short_targets = measure_million()
        cores, cores_targets = measure_cores(turns=given.turns, share=given.share)
    except ProcessError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    targets += short_targets + cores_targets
    print()
    for target in targets:
        print(target.line())
    given.out.mkdir(parents=True, exist_ok=True)
    numbers = {
        "machine": where,
        "turns": given.turns,
        "greedy": [asdict(cell) for cell in cells],
        "short": short,
        "cores": cores,
        "targets": [asdict(target) | {"met": target.met} for target in targets],
    }
    (given.out / "scaling.json").write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
    (given.out / "scaling.svg").write_text(draw(cells, where=where), encoding="utf-8")
    return 0 if all(target.met for target in targets) else 1


if __name__ == "__main__":
    sys.exit(main())
