"""Compare the speed of our simulator with ns-2's on the Smart Framing paper's network at 80 % load.

Speed is the number of packets that leave the bottleneck's buffer, per second of CPU time (user and
system). Data packets are counted; ACKs, which cost both sides as much again, are not. Each
measurement is a new process that simulates the scenario once, start-up and set-up included.

Measurements of both simulators alternate, so that other load on the machine affects both. The ratio
is computed within each turn. ns-2 runs without its queue monitor, although our simulator always
counts. The number of packets comes from a separate run of each, which is not timed.

At 80 % load, ns-2 spends most of its time in Tcl, which starts and ends 43 flows per second. The
second block has greedy flows only and measures ns-2's event loop. verification/ns2/README.md
describes the optimisations of the Tcl script.

Our simulator runs in a Python process, which creates the row of every flow and discards it.
"""

# ruff: noqa: T201 (this program prints measurements)

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "verification"))

from _measure import (
    ProcessError,
    Turns,
    Work,
    measure,
    our_counts,
    our_work,
    simulate,
    take_turns,
    word,
)
from _ns2_network import CANNOT_RUN, NS2_SETTINGS, scenario
from ns2.run_ns2 import Ns2Error, command, run_ns2

TARGET = 30.0
PEAK_TARGET_MB = 100.0
LOAD = 0.8


def compare(*, load: float, duration_s: float, turns: int) -> Turns:
    """Measure both simulators alternately and print the results."""
    options: dict[str, Any] = {"load": load, "duration_s": duration_s, "seed": 1, **NS2_SETTINGS}
    theirs = Work(
        arguments=command(**options, monitor=0), packets=int(run_ns2(**options)["through_packets"])
    )
    description = scenario(load=load, duration_s=duration_s)
    ours = our_work(description, our_counts(description, "links"))
    start_up = measure(simulate(), text=json.dumps(scenario(load=load, duration_s=0.001))).cpu_s

    print(
        f"\nload {load:g}, {duration_s:g} s simulated, ten greedy flows{' and web flows' if load else ' alone'}"
    )
    found = take_turns(peer="ns-2", theirs=theirs, ours=ours, turns=turns)
    print(f"  our start-up is {start_up:.2f} s of the CPU time")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both blocks; status 1 if a target at 80 % load is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--duration", type=float, default=4000.0, help="simulated seconds (the paper's 4000)"
    )
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args(arguments)
    try:
        found = compare(load=LOAD, duration_s=given.duration, turns=given.turns)
        compare(load=0.0, duration_s=given.duration, turns=given.turns)
    except Ns2Error as error:
        print(f"could not run: {error}", file=sys.stderr)
        return CANNOT_RUN
    except ProcessError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    ratio = statistics.median(found.ratios)
    fast, small = ratio >= TARGET, found.peak_mb < PEAK_TARGET_MB
    print(f"\nat load {LOAD:g}: {ratio:.1f} times ns-2 (target {TARGET:g}): {word(fast)}")
    print(
        f"peak memory: {found.peak_mb:.0f} MB (target less than {PEAK_TARGET_MB:g}): {word(small)}"
    )
    return 0 if fast and small else 1


if __name__ == "__main__":
    sys.exit(main())
