"""Run ns-2 on the Smart Framing paper's network and return its counts.

``run_ns2`` runs ns-2 once. ``python verification/ns2/run_ns2.py table`` compares Classic TCP in
ns-2 with the paper's Table I, under several timer settings. README.md in this folder describes the
properties of ns-2 on which both depend.
"""

# ruff: noqa: S603, T201 (this program runs ns-2 and prints the results)

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("web.tcl")
MASKS_SCRIPT = Path(__file__).with_name("masks.tcl")

# Table I of the journal paper (Mellia, Meo, Casetti, IEEE/ACM ToN 2005), for Classic TCP at 80 %
# load: bytes, completion time in seconds, percentage of recoveries by fast retransmit.
TABLE_1_CLASSIC: tuple[tuple[int, float, float | None], ...] = (
    (119, 0.27, None),
    (179, 0.31, None),
    (251, 0.36, None),
    (334, 0.41, None),
    (428, 0.46, None),
    (529, 0.53, None),
    (658, 0.59, None),
    (948, 0.77, None),
    (1650, 1.34, None),
    (2861, 1.38, None),
    (4706, 2.04, None),
    (8015, 2.32, None),
    (13681, 2.72, 19.5),
    (26641, 3.63, 27.5),
    (284454, 13.92, 60.3),
)
TABLE_1_BYTES: tuple[int, ...] = tuple(row[0] for row in TABLE_1_CLASSIC)

# Settings of the table command: name → options of web.tcl.
SETTINGS: dict[str, dict[str, object]] = {
    "2.35 as shipped (IW 2, LT)": {"profile": "today", "iw": 2, "limited_transmit": 1},
    "2.35, IW 1, no LT": {"profile": "today"},
    "2002": {"profile": "2002"},
    "2002, whole windows": {"profile": "2002", "precise_halving": 0},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """Result of one flow."""

    completion_s: float
    fast_retransmits: int
    timeouts: int
    sent_packets: int
    outside: bool = False
    """Whether ns-2's Fack stayed in a recovery that is over for the paper."""


class Ns2Error(RuntimeError):
    """ns-2 is not installed, or a run failed."""


def run_ns2(
    *,
    load: float,
    duration_s: float,
    seed: int,
    starts_s: Sequence[float] | None = None,
    **options: object,
) -> dict[str, Any]:
    """Simulate the paper's network once and return web.tcl's JSON object.

    ``load`` is the short flows' mean payload rate divided by the bottleneck's rate. ``duration_s``
    is the simulated time in seconds. ``starts_s`` has the start time of each greedy flow in seconds;
    without it, the times are drawn from the first second. ``options`` are further keys of web.tcl,
    for example ``tick=0.1``, ``rto_min=1``, ``reverse_rate=1e15``, ``warm_up=100``, ``monitor=0``.
    """
    arguments = command(load=load, duration_s=duration_s, seed=seed, starts_s=starts_s, **options)
    return _parse(subprocess.run(arguments, capture_output=True, text=True, check=False))


def command(
    *,
    load: float,
    duration_s: float,
    seed: int,
    starts_s: Sequence[float] | None = None,
    **options: object,
) -> list[str]:
    """The command line that ``run_ns2`` runs."""
    arguments: dict[str, object] = {"load": load, "duration": duration_s, "seed": seed, **options}
    if starts_s is not None:
        arguments |= {
            "starts": ",".join(repr(start) for start in starts_s),
            "greedy": len(starts_s),
        }
    return [_program(), str(SCRIPT), *(f"{key}={value}" for key, value in arguments.items())]


def run_masks(
    flows: Sequence[tuple[int, Sequence[int]]], *, sender: str = "sack1", at_once: int = 40
) -> list[Transfer]:
    """Simulate flows, each alone on its link.

    Each flow is given by its number of packets and the numbers of the packets that its link drops;
    packets are numbered from 0 in the order in which the link carries them. ``sender`` is ``sack1``,
    ``tahoe``, ``vegas``, ``fack`` or ``fack-shipped``. ns-2 does not count the fast retransmits of
    ``vegas``, and counts the timeouts of ``fack-shipped`` as fast retransmits. One process simulates
    ``at_once`` flows, because ns-2 computes all routes first, in time that grows with the square of
    the number of nodes.
    """
    transfers: list[Transfer] = []
    for first in range(0, len(flows), at_once):
        part = flows[first : first + at_once]
        words = [f"{packets}:{','.join(map(str, lost))}" for packets, lost in part]
        done = subprocess.run(
            [_program(), str(MASKS_SCRIPT), sender, *words],
            capture_output=True,
            text=True,
            check=False,
        )
        rows = {int(row[0]): row[1:] for row in map(str.split, done.stdout.splitlines())}
        if done.returncode != 0 or len(rows) != len(part):
            raise Ns2Error(
                f"run ns-2: {len(rows)} of {len(part)} flows ended, exit status {done.returncode}"
            )
        transfers += [
            Transfer(
                completion_s=float(rows[i][0]),
                fast_retransmits=int(rows[i][1]),
                timeouts=int(rows[i][2]),
                sent_packets=int(rows[i][3]),
                outside=rows[i][4:] == ["1"],
            )
            for i in range(len(part))
        ]
    return transfers


def run_many(
    requests: Sequence[Mapping[str, Any]], *, workers: int | None = None
) -> list[dict[str, Any]]:
    """Run ns-2 once for each mapping of ``run_ns2``'s arguments, and return the results in order.

    ``workers`` is the number of concurrent runs, by default the number of cores.
    """
    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        return list(pool.map(lambda request: run_ns2(**request), requests))


def fast_retransmit_percent(flows: Sequence[Mapping[str, Any]]) -> float | None:
    """Share of fast retransmits among the recoveries, in percent; None without a recovery."""
    fast = sum(int(flow["fast_retransmits"]) for flow in flows)
    timeouts = sum(int(flow["timeouts"]) for flow in flows)
    return 100 * fast / (fast + timeouts) if fast + timeouts else None


def _program() -> str:
    ns = shutil.which("ns")
    if ns is None:
        raise Ns2Error("run ns-2: no program `ns` on the path\nhint: apt-get install ns2")
    return ns


def _parse(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    if done.returncode != 0 or not done.stdout.startswith("{"):
        output = (done.stderr or done.stdout).strip().splitlines()
        raise Ns2Error(
            f"run ns-2: exit status {done.returncode}: {output[0] if output else 'nothing said'}"
        )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _table(loads: Sequence[float], runs: int, duration_s: float) -> None:
    columns = [(load, name) for load in loads for name in SETTINGS]
    requests = [
        {"load": load, "duration_s": duration_s, "seed": seed, **SETTINGS[name]}
        for load, name in columns
        for seed in range(1, runs + 1)
    ]
    results = run_many(requests)
    of = {column: results[i * runs : (i + 1) * runs] for i, column in enumerate(columns)}

    print(
        f"Classic TCP in ns-2: {runs} runs of {duration_s:g} s each; ± is the standard error over the runs."
    )
    for load in loads:
        _table_at(load, {name: of[load, name] for name in SETTINGS})


def _table_at(load: float, of: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    print(f"\n| load {load:g} | paper, load 0.8 | " + " | ".join(of) + " |")
    print("| --- " * (len(of) + 2) + "|")
    for row, (size, paper, _) in enumerate(TABLE_1_CLASSIC):
        cells = [_cell([run["classes"][row]["mean_s"] for run in of[name]], 3) for name in of]
        print(f"| {size} B, s | {paper} | " + " | ".join(cells) + " |")
    for row, (size, _, percent) in enumerate(TABLE_1_CLASSIC):
        if percent is not None:
            cells = [
                _cell([fast_retransmit_percent([run["classes"][row]]) for run in of[name]], 1)
                for name in of
            ]
            print(f"| {size} B, %FR | {percent} | " + " | ".join(cells) + " |")
    for label, flows in (("web", ("classes",)), ("web and greedy", ("classes", "greedy"))):
        cells = [
            _cell(
                [
                    fast_retransmit_percent([f for part in flows for f in run[part]])
                    for run in of[name]
                ],
                1,
            )
            for name in of
        ]
        print(f"| overall %FR, {label} | < 25 | " + " | ".join(cells) + " |")
    cells = [
        _cell([100 * run["dropped_packets"] / run["offered_packets"] for run in of[name]], 2)
        for name in of
    ]
    print("| packets dropped, % | | " + " | ".join(cells) + " |")
    ratios = [
        [
            statistics.mean(run["classes"][row]["mean_s"] for run in of[name]) / paper
            for row, (_, paper, _) in enumerate(TABLE_1_CLASSIC)
        ]
        for name in of
    ]
    print(
        "| time, ns-2 ÷ paper | | "
        + " | ".join(f"{min(r):.2f}–{max(r):.2f}" for r in ratios)
        + " |"
    )


def _cell(values: Sequence[float | None], digits: int) -> str:
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return "–"
    error = statistics.stdev(known) / len(known) ** 0.5
    return f"{statistics.mean(known):.{digits}f} ± {error:.{digits}f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line: ``run`` prints the JSON of one run, ``table`` the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="one run, as JSON")
    run.add_argument("--load", type=float, default=0.8)
    run.add_argument("--duration", type=float, default=1000.0, help="simulated seconds")
    run.add_argument("--seed", type=int, default=1)
    run.add_argument("option", nargs="*", help="an option of web.tcl, as key=value")
    table = commands.add_parser("table", help="comparison of ns-2 with the paper's Table I")
    table.add_argument("--loads", type=float, nargs="+", default=[0.5, 0.8])
    table.add_argument("--runs", type=int, default=8)
    table.add_argument("--duration", type=float, default=1000.0, help="simulated seconds")
    given = parser.parse_args(arguments)
    try:
        if given.command == "table":
            _table(given.loads, given.runs, given.duration)
        else:
            options = dict(option.split("=", 1) for option in given.option)
            print(
                json.dumps(
                    run_ns2(load=given.load, duration_s=given.duration, seed=given.seed, **options)
                )
            )
    except Ns2Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
