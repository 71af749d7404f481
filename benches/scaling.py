"""How our simulator's cost grows with the number of flows, and with the number of cores.

Four questions, each with a target:

* what a packet costs with 10 to 100 000 greedy flows on one bottleneck of 1 and of 10 Gb/s, round
  trip 40 ms, buffer one bandwidth-delay product, handshakes and SACK on. CPU time of the simulating
  process from ``WARM_UP_S`` on, over the data packets that the bottleneck took in meanwhile. Slow
  start and its losses lie before; what they cost is in a column of its own. The number of flows
  changes the work too: the more flows, the smaller their windows and the more of them wait for
  timeouts, so losses and events per packet stand beside the cost; and below it the cost of the same
  work with a hundredth of the line, the buffer and the 10 000 flows, which a processor's own cache
  holds.
* how much memory a flow takes: peak resident memory less that with ten flows, over the flows. The
  packets in flight, which the buffer and the line bound, are the same in both.
* whether a million short flows can be open at once: Poisson arrivals of the paper's sizes over a
  line of one second round trip that loses 1 % of the packets. That they were open is counted from
  the rows of the result.
* how much two cores do: wall time of ``replicate`` with one worker over that with two.

Flow counts, and numbers of workers, take turns. The table shows medians over the turns, ratios are
taken within each turn; the two cores are judged by their best turn, because whatever else runs on
the machine takes one of them away.

Writes ``scaling.json`` and ``scaling.svg`` beside this file.
"""

# ruff: noqa: T201 (it is a program, and prints what it finds)

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
from _plot import Curve, log_plot
from compare_ns2 import SENDER, SIZES, scenario

HERE = Path(__file__).resolve().parent

RATES_GBPS = (1, 10)
FLOWS = (10, 100, 1_000, 10_000, 100_000)
ROUND_TRIP_S = 0.04
WARM_UP_S = 5.0
# Line seconds after the warm-up at 1 Gb/s: 3.3 million packets.
MEASURED_GBPS_S = 40.0

# A line and flows so many times fewer have the same windows and losses.
SMALLER = 100
JUDGED_FLOWS = 10_000

# With fewer flows, what differs is the windows that slow start reaches, not what a flow takes.
FEWEST_FOR_MEMORY = 10_000

GROWTH_TARGET = 1.5
FLOW_TARGET_BYTES = 2_000
MILLION = 1_000_000
MILLION_TARGET_MB = 3_000
CORES_TARGET = 1.9

# A load average above this is not the program that `make bench` ran before this one: somebody else
# is at work.
BUSY_LOAD = 1.5

# The fastest simulator known to us, on a machine of this kind: packets per CPU second by number of
# greedy flows, its TCP without handshake and SACK. Quoted from this project's own measurements, not
# measured by this program.
HTSIM = {10: 2.3e6, 10_000: 3.7e5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One number of flows at one rate, over all turns."""

    rate_gbps: float
    flows: int
    ns_per_packet: tuple[float, ...]
    """CPU nanoseconds for a data packet through the bottleneck, each turn."""
    warm_up_ns_per_packet: float
    """The same before `WARM_UP_S`, start-up included."""
    events_per_packet: float
    dropped_percent: float
    utilisation: float
    peak_mb: float

    @property
    def median_ns(self) -> float:
        """The cost that the table shows."""
        return statistics.median(self.ns_per_packet)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What was asked for, and what came out."""

    what: str
    found: float
    limit: float
    unit: str = ""
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether it came out as asked for."""
        return self.found >= self.limit if self.at_least else self.found <= self.limit

    def line(self) -> str:
        """For the end of the program."""
        sign = "≥" if self.at_least else "≤"
        return f"  {self.what:58} {self.found:10.4g} {sign} {self.limit:g}{self.unit}: {word(self.met)}"


# ---- greedy flows
# ----------------------------------------------------------------------------------------------------


def greedy(*, rate_gbps: float, flows: int, share: float) -> dict[str, Any]:
    """The scenario: ``flows`` senders that start within a second and never end, ``share`` of the usual packets long."""
    description = scenario(load=0.0, duration_s=WARM_UP_S + share * MEASURED_GBPS_S / rate_gbps)
    product_bytes = round(rate_gbps * 1e9 / 8 * ROUND_TRIP_S)
    there, back = description["link"]
    there |= {"rate": f"{1000 * rate_gbps:g}Mb/s", "delay": f"{ROUND_TRIP_S / 2}s"}
    there |= {"buffer": {"bytes": f"{product_bytes}B"}}
    back |= {"delay": f"{ROUND_TRIP_S / 2}s"}
    description["workload"][0] |= {"flows": flows, "handshake": True}
    # No sender ever waits for its receiver: the line and the buffer hold less.
    description["tcp"]["receive_buffer"] = f"{2 * product_bytes}B"
    return description


def measure_greedy(*, turns: int, share: float) -> list[Cell]:
    """Every rate with every number of flows, and what is smaller, ``turns`` times; says what it is at."""
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
    """Memory that the flows beyond ten took, each."""
    return 1024**2 * (cell.peak_mb - ten.peak_mb) / (cell.flows - ten.flows)


def growth(cell: Cell, other: Cell) -> float:
    """How many times a packet costs what it costs there: the median over the turns."""
    return statistics.median(
        here / there for here, there in zip(cell.ns_per_packet, other.ns_per_packet, strict=True)
    )


def print_greedy(cells: Sequence[Cell]) -> list[Target]:
    """The table, and its targets."""
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
            f"  the work of {many.flows} flows, done for {small.flows} of them on {1000 * small.rate_gbps:g} Mb/s:"
            f" {small.median_ns:.0f} ns, × {growth(small, ten):.2f}; memory: × {growth(many, small):.2f}"
            f" (dropped {small.dropped_percent:.2f} %, events/packet {small.events_per_packet:.2f})"
        )
        targets += [
            Target(
                what=f"{rate} Gb/s: a packet with 10 000 flows, × ten",
                found=growth(many, ten),
                limit=GROWTH_TARGET,
            ),
            *(
                Target(
                    what=f"{rate} Gb/s: memory a flow, {cell.flows} flows",
                    found=bytes_per_flow(cell, ten),
                    limit=FLOW_TARGET_BYTES,
                    unit=" B",
                )
                for cell in (of[rate, flows] for flows in FLOWS if flows >= FEWEST_FOR_MEMORY)
            ),
            *(
                Target(
                    what=f"{rate} Gb/s: packets/s, {flows} flows, beside htsim's (quoted)",
                    found=1e9 / of[rate, flows].median_ns,
                    limit=quoted,
                    at_least=True,
                )
                for flows, quoted in HTSIM.items()
            ),
        ]
    return targets


# ---- a million short flows
# -------------------------------------------------------------------------------------------


def million() -> dict[str, Any]:
    """The scenario: 320 000 flows a second that take some four seconds each, for eight seconds."""
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
    """One run, printed and judged."""
    found = our_counts(million(), "open")
    print(
        f"\nshort flows: {found['started_flows']} started, at most {found['most_open']} open at once"
        f" (at {found['most_open_at_s']:g} s), {found['through_packets']} packets,"
        f" {found['cpu_s']:.0f} s of CPU, peak {found['peak_mb']:.0f} MB with their rows read in"
    )
    return found, [
        Target(
            what="short flows open at once", found=found["most_open"], limit=MILLION, at_least=True
        ),
        Target(
            what="peak memory with them",
            found=found["peak_mb"],
            limit=MILLION_TARGET_MB,
            unit=" MB",
        ),
    ]


# ---- two cores
# -------------------------------------------------------------------------------------------------------


class _Drop:
    """A fold that keeps nothing."""

    def add(self, batch: object) -> None:
        """Take rows."""

    def finish(self, *, links: object, provenance: object) -> None:
        """Return nothing."""


def measure_cores(*, turns: int, share: float) -> tuple[dict[str, Any], list[Target]]:
    """The paper's scenario at 80 % load, eight seeds, with one worker and with two."""
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
        what="two cores, × one (best turn)", found=max(ratios), limit=CORES_TARGET, at_least=True
    )
    return {"ratios": ratios}, [target]


# ---- the program
# -----------------------------------------------------------------------------------------------------


def draw(cells: Sequence[Cell], *, where: str) -> str:
    """The cost of a packet against the number of flows, as SVG."""
    curves = [
        Curve(
            label=f"tcpsf, {rate} Gb/s",
            points=tuple((cell.flows, cell.median_ns) for cell in cells if cell.rate_gbps == rate),
        )
        for rate in RATES_GBPS
    ]
    curves.append(
        Curve(
            label="htsim, as quoted",
            points=tuple((flows, 1e9 / speed) for flows, speed in HTSIM.items()),
            quoted=True,
        )
    )
    return log_plot(
        curves,
        title="CPU time of a packet through the bottleneck",
        across="greedy flows",
        up="nanoseconds a packet",
        foot=where,
    )


def _where(*, busy: bool) -> str:
    return f"{_machine()}, {dt.datetime.now(tz=dt.UTC):%Y-%m-%d}{', busy: provisional' if busy else ''}"


def _machine() -> str:
    """What kind of machine this is, without its name."""
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
    """Say how far it is, where somebody looks on."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write the table, the numbers and the plot; status 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument(
        "--share", type=float, default=1.0, help="simulated time, as a share of what is usual"
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
