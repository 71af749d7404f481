"""Compare the speed of our simulator with ns-3's on the Smart Framing paper's network at 80 % load.

The method is that of speed_vs_ns2.py: packets through the bottleneck per second of CPU time of a new
process, in alternating measurements. Connections are opened and closed on both sides, because ns-3
requires handshakes. The program for ns-3 is ns3/web.cc, without tracing. README.md describes its
optimisations.

Before the measurements, the program compares the simulations themselves. It prints utilisation,
loss, and the time from the start of a flow to the arrival of its last byte. The program fails if
utilisation differs by more than 5 %, loss by more than 20 %, or the mean completion time by more
than 25 %. README.md, "ns-3", has the measured differences.
"""

# ruff: noqa: T201 (this program prints measurements)

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "verification"))

from _measure import ProcessError, Work, measure, our_counts, our_work, simulate, take_turns, word
from _ns2_network import CANNOT_RUN, FLOWS_PER_S_AT_LOAD_1, SIZES, scenario
from _ns3 import PACKAGES, Ns3, Ns3Error, build

TARGET = 100.0
LOAD = 0.8
TIME_TOLERANCE = 0.25
LOSS_TOLERANCE = 0.2
UTILISATION_TOLERANCE = 0.05


# With SACK, ns-3 sends new data on the first two duplicate ACKs, as Limited Transmit does. Its
# attribute LimitedTransmit is for connections without SACK only. Without Limited Transmit on our
# side, completion times differ by a third.
SENDER = "reno+sack+lt / full / iw=1"


def our_scenario(*, load: float, duration_s: float) -> dict[str, Any]:
    """The network of compare_ns2.py with a sender like ns-3's, and with handshakes and closes."""
    description = scenario(load=load, duration_s=duration_s)
    for workload in description["workload"]:
        workload |= {"handshake": True, "sender": SENDER}
    return description


def _is_near(ratio: float, tolerance: float) -> bool:
    return abs(math.log(ratio)) <= math.log1p(tolerance)


def same_work(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """Print the results of both simulators and return whether they are within the tolerances."""
    their_loss, our_loss = (
        100 * side["dropped_packets"] / side["offered_packets"] for side in (theirs, ours)
    )
    print(f"\n  {'':34} {'ns-3':>9} {'ours':>9}")
    their_use, our_use = theirs["utilisation"], ours["busy_s"] / ours["simulated_s"]
    print(f"  {'utilisation':34} {their_use:9.4f} {our_use:9.4f}")
    print(f"  {'packets dropped, %':34} {their_loss:9.2f} {our_loss:9.2f}")
    pairs = [
        (row["mean_s"], mine)
        for row, mine in zip(theirs["classes"], ours["completion_s"], strict=True)
    ]
    for size, (their_s, our_s) in zip(SIZES, pairs, strict=True):
        print(f"  {f'mean completion, {size} B, s':34} {their_s:9.3f} {our_s:9.3f}")
    ratio = statistics.geometric_mean(their_s / our_s for their_s, our_s in pairs)
    print(f"  {'completion time, ns-3 ÷ ours':34} {ratio:9.2f}  (geometric mean over the classes)")
    same = (
        _is_near(ratio, TIME_TOLERANCE)
        and _is_near(their_loss / our_loss, LOSS_TOLERANCE)
        and _is_near(their_use / our_use, UTILISATION_TOLERANCE)
    )
    print(f"  within the tolerances: {'yes' if same else 'NO'}")
    return same


def compare(ns3: Ns3, *, load: float, duration_s: float, turns: int) -> tuple[list[float], bool]:
    """Measure both simulators alternately and print the results.

    Returns the ratios, and whether the simulations are within the tolerances.
    """
    options = {
        "load": load,
        "duration": duration_s,
        "flowsAtLoad1": repr(FLOWS_PER_S_AT_LOAD_1),
        "sizes": ",".join(map(str, SIZES)),
    }
    description = our_scenario(load=load, duration_s=duration_s)
    print(
        f"\nload {load:g}, {duration_s:g} s simulated, ten greedy flows{' and web flows' if load else ' alone'}"
    )
    their_counts = ns3.run(**options)
    counts = our_counts(description, "completion" if load else "links")
    same = not load or same_work(their_counts, counts)
    ours = our_work(description, counts)
    theirs = Work(arguments=ns3.command(**options), packets=their_counts["through_packets"])
    found = take_turns(peer="ns-3", theirs=theirs, ours=ours, turns=turns)
    start_up = measure(simulate(), text=json.dumps(our_scenario(load=load, duration_s=0.001))).cpu_s
    print(f"  our start-up is {start_up:.2f} s of the CPU time")
    return list(found.ratios), same


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both blocks; status 1 if the target at 80 % load is missed or the simulations differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--duration", type=float, default=4000.0, help="simulated seconds (the paper's 4000)"
    )
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument(
        "--package", choices=PACKAGES, help="package of ns-3 (default: Debian's if installed)"
    )
    given = parser.parse_args(arguments)
    try:
        ns3 = build(given.package)
        print(f"ns-3 {ns3.version} ({ns3.package})")
        ratios, same = compare(ns3, load=LOAD, duration_s=given.duration, turns=given.turns)
        compare(ns3, load=0.0, duration_s=given.duration, turns=given.turns)
    except Ns3Error as error:
        print(f"could not run: {error}", file=sys.stderr)
        return CANNOT_RUN
    except ProcessError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    ratio = statistics.median(ratios)
    print(
        f"\nat load {LOAD:g}: {ratio:.1f} times ns-3 (target {TARGET:g}): {word(ratio >= TARGET)}"
    )
    return 0 if ratio >= TARGET and same else 1


if __name__ == "__main__":
    sys.exit(main())
