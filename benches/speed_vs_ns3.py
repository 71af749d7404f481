"""Our simulator's speed beside ns-3's, in one run, on the Smart Framing paper's network at 80 % load.

Counted and timed as in speed_vs_ns2.py: packets through the bottleneck per second of CPU time of a
fresh process, in turns, the ratio within each turn. ns-3 can't do without handshakes, so both sides
open and close connections here. ns3/web.cc is C++ against ns-3's libraries, with nothing traced;
README.md says what was done to make it fast.

Before the turns: that both simulate the same thing. Utilisation, loss and the time from a flow's
start to the arrival of its last byte are printed side by side. A utilisation that is off by more
than a twentieth fails the program, and so do loss by more than a fifth and a mean completion time
by more than a quarter (README.md, "Where it is not ours", has what was seen): a comparison of speed
at unlike work would mean nothing.
"""

# ruff: noqa: T201 (it is a program, and prints what it finds)

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
from _ns3 import PACKAGES, Ns3, Ns3Error, build
from compare_ns2 import CANNOT_RUN, FLOWS_PER_S_AT_LOAD_1, SIZES, scenario

TARGET = 100.0
LOAD = 0.8
TIME_TOLERANCE = 0.25
LOSS_TOLERANCE = 0.2
UTILISATION_TOLERANCE = 0.05


# As ns-3's: SACK, and Limited Transmit, without which completion times are a third apart.
SENDER = "reno+sack+lt / full / iw=1"


def our_scenario(*, load: float, duration_s: float) -> dict[str, Any]:
    """The network of compare_ns2.py, with ns-3's kind of sender, and a handshake and a close for every flow."""
    description = scenario(load=load, duration_s=duration_s)
    for workload in description["workload"]:
        workload |= {"handshake": True, "sender": SENDER}
    return description


def _is_near(ratio: float, tolerance: float) -> bool:
    return abs(math.log(ratio)) <= math.log1p(tolerance)


def same_work(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """Print both sides of a run and say whether they are near enough."""
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
    print(f"  the same work: {'yes' if same else 'NO'}")
    return same


def compare(ns3: Ns3, *, load: float, duration_s: float, turns: int) -> tuple[list[float], bool]:
    """Time both in turns, print what came out, and return the ratios and whether the work was the same."""
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
    """Run both blocks; status 1 if the target at 80 % load is missed or the work was not the same."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--duration", type=float, default=4000.0, help="simulated seconds (the paper's 4000)"
    )
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument(
        "--package", choices=PACKAGES, help="whose ns-3 (default: Debian's if it is installed)"
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
        f"\nat load {LOAD:g}: {ratio:.1f} times ns-3 (asked for {TARGET:g}): {word(ratio >= TARGET)}"
    )
    return 0 if ratio >= TARGET and same else 1


if __name__ == "__main__":
    sys.exit(main())
