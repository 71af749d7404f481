"""Compare our simulator with ns-2 on the Smart Framing paper's network, for Sack1, Tahoe and FACK.

The comparison has three parts. Each line has a verdict, and the exit status is 1 if any line fails.

* Single flows on a link that drops given packets, the same packets on both sides. Nothing is
  random, and there is no competing traffic. For every flow, the completion time must agree to a
  microsecond, and recoveries and packets sent must be equal. The senders are Sack1 and Tahoe. The
  duplicate ACKs that Tahoe's own retransmissions cause must not start another recovery. With FACK,
  whose timeouts in ns-2 are not the paper's, only flows without a timeout are compared.
* Ten greedy flows alone, with the same start times in both simulators. After the first 100 s the
  flows lose packets synchronously, and nothing is random. Drops, recoveries and mean queue must
  agree within 1 %.
* Ten greedy flows and Poisson web flows at loads 0.2 to 0.9, with independent runs on both sides.
  Each line is a Welch test of the means over the runs. The error probability of 1 % holds for all
  lines together (Bonferroni). If the test could not have detected a difference of 25 %, the verdict
  is "too few runs", and the program fails.

``ns2/README.md`` describes the settings that make both networks equal.
"""

# ruff: noqa: T201 (this program prints its verdicts)

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from _ns2_masks import MASKS_SENDERS, compare_masks
from _ns2_network import CANNOT_RUN, NS2_SETTINGS, SIZES, Counts, counts_of_ns2, run_ours, scenario
from _verdicts import NOT_JUDGED, Line, report, welch
from ns2.run_ns2 import Ns2Error, run_many

GREEDY_TOLERANCE = 0.01
GREEDY_WARM_UP_S = 100.0
FAMILY_ERROR = 0.01

# Sets of ten start times within the paper's first second, to the nanosecond. RTT and transmission
# time are multiples of 0.1 ms. With start times on that grid, packets of several flows would
# arrive at the same instant, and the rounding of ns-2's doubles would determine their order.
_draw = random.Random(1)  # noqa: S311 (cases, not secrets)
STARTS_S: tuple[tuple[float, ...], ...] = tuple(
    tuple(round(_draw.random(), 9) for _ in range(10)) for _ in range(5)
)


def _run_ours(request: tuple[Mapping[str, Any], int]) -> Counts:
    return run_ours(request[0], seed=request[1])


# ---- greedy flows alone
# -------------------------------------------------------------------------------------------------


def compare_greedy(*, duration_s: float, start_sets: int) -> list[Line]:
    """Compare ten greedy flows alone, by means over the sets of start times."""
    starts = STARTS_S[:start_sets]
    spans = (GREEDY_WARM_UP_S, duration_s)
    requests = [
        {"load": 0.0, "duration_s": span, "seed": 1, "starts_s": chosen, **NS2_SETTINGS}
        for chosen in starts
        for span in spans
    ]
    theirs = [counts_of_ns2(run) for run in run_many(requests)]
    descriptions = [
        (scenario(load=0.0, duration_s=span, starts_s=chosen), 1)
        for chosen in starts
        for span in spans
    ]
    with ProcessPoolExecutor() as pool:
        ours = list(pool.map(_run_ours, descriptions))

    return [
        *_steady_lines(theirs, ours, duration_s),
        *_first_lines(theirs[::2], ours[::2]),
    ]


def _steady_lines(
    theirs: Sequence[Counts], ours: Sequence[Counts], duration_s: float
) -> Iterator[Line]:
    """Compare the time after the warm-up.

    Each set of start times has two runs on each side: one that ends with the warm-up, and a whole
    one.
    """
    steady: dict[str, Callable[[Counts, Counts], float]] = {
        "drops": lambda early, late: late.dropped_packets - early.dropped_packets,
        "recoveries": lambda early, late: late.greedy_recoveries - early.greedy_recoveries,
        "mean queue, packets": lambda early, late: _mean_since(
            early.mean_queue_packets, late.mean_queue_packets, duration_s
        ),
        "mean queue, bytes": lambda early, late: _mean_since(
            early.mean_queue_bytes, late.mean_queue_bytes, duration_s
        ),
    }
    for what, value in steady.items():
        pairs = [
            (value(*theirs[i : i + 2]), value(*ours[i : i + 2])) for i in range(0, len(theirs), 2)
        ]
        ns2, us = (statistics.mean(side) for side in zip(*pairs, strict=True))
        worst = max(abs(b - a) / a for a, b in pairs)
        yield Line(
            what=f"{what}, from {GREEDY_WARM_UP_S:g} s",
            reference=ns2,
            ours=us,
            note=f"worst of {len(pairs)} starts {100 * worst:.2f} %",
            verdict="agree" if worst <= GREEDY_TOLERANCE else "DIFFER",
        )


def _first_lines(theirs: Sequence[Counts], ours: Sequence[Counts]) -> Iterator[Line]:
    """Show the warm-up without a verdict: single packets determine the ten slow starts."""
    first: dict[str, Callable[[Counts], float]] = {
        "drops": lambda counts: counts.dropped_packets,
        "timeouts": lambda counts: counts.greedy_timeouts,
    }
    for what, early_value in first.items():
        ns2, us = (
            statistics.mean(early_value(counts) for counts in side) for side in (theirs, ours)
        )
        yield Line(
            what=f"{what}, first {GREEDY_WARM_UP_S:g} s",
            reference=ns2,
            ours=us,
            note="depends on single packets",
            verdict=NOT_JUDGED,
        )


def _mean_since(early: float, late: float, duration_s: float) -> float:
    """Time average over [warm-up, end], from the averages over [0, warm-up] and [0, end]."""
    return (late * duration_s - early * GREEDY_WARM_UP_S) / (duration_s - GREEDY_WARM_UP_S)


# ---- web flows
# -------------------------------------------------------------------------------------------------


def compare_web(*, loads: Sequence[float], runs: int, duration_s: float) -> list[Line]:
    """Compare each class's completion time, %FR, drops and mean queue at every load."""
    theirs = [
        counts_of_ns2(run)
        for run in run_many(
            [
                {"load": load, "duration_s": duration_s, "seed": seed, **NS2_SETTINGS}
                for load in loads
                for seed in range(1, runs + 1)
            ]
        )
    ]
    with ProcessPoolExecutor() as pool:
        ours = list(
            pool.map(
                _run_ours,
                [
                    (scenario(load=load, duration_s=duration_s), seed)
                    for load in loads
                    for seed in range(1, runs + 1)
                ],
            )
        )
    quantities: list[tuple[str, Callable[[Counts], float | None]]] = [
        *(
            (f"class {i + 1:2d} ({size} B), s", lambda counts, i=i: counts.completion_s[i])
            for i, size in enumerate(SIZES)
        ),
        ("%FR, web", lambda counts: counts.web_fast_percent),
        ("%FR, web and greedy", lambda counts: counts.all_fast_percent),
        (
            "packets dropped, %",
            lambda counts: 100 * counts.dropped_packets / counts.offered_packets,
        ),
        ("mean queue, bytes", lambda counts: counts.mean_queue_bytes),
    ]
    error = FAMILY_ERROR / (len(quantities) * len(loads))
    lines = []
    for at, load in enumerate(loads):
        part = slice(at * runs, (at + 1) * runs)
        for what, value in quantities:
            lines.append(
                welch(
                    f"load {load:g}, {what}",
                    [value(counts) for counts in theirs[part]],
                    [value(counts) for counts in ours[part]],
                    error=error,
                )
            )
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen parts, print their lines and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--quick", action="store_true", help="two loads and shorter runs: about a minute"
    )
    parser.add_argument("--only", choices=("masks", "greedy", "web"), help="one part")
    given = parser.parse_args(arguments)
    quick, only = bool(given.quick), given.only
    lines: list[Line] = []
    try:
        if only in (None, "masks"):
            count = 200 if quick else 2000
            part = [
                line for name in MASKS_SENDERS for line in compare_masks(count=count, name=name)
            ]
            report("Single flows with given losses", part, reference="ns-2")
            lines += part
        if only in (None, "greedy"):
            part = compare_greedy(
                duration_s=600.0 if quick else 2000.0, start_sets=2 if quick else len(STARTS_S)
            )
            report("Ten greedy flows alone", part, reference="ns-2")
            lines += part
        if only in (None, "web"):
            loads = (0.5, 0.8) if quick else tuple(n / 10 for n in range(2, 10))
            part = compare_web(
                loads=loads, runs=8 if quick else 16, duration_s=400.0 if quick else 1000.0
            )
            report("Ten greedy flows and web flows", part, reference="ns-2")
            lines += part
    except (Ns2Error, ImportError) as error:
        print(f"could not run: {error}", file=sys.stderr)
        return CANNOT_RUN
    judged = [line for line in lines if line.verdict != NOT_JUDGED]
    failed = sum(line.failed for line in judged)
    print(f"\n{len(judged) - failed} passed, {failed} failed")
    return 1 if failed or not judged else 0


if __name__ == "__main__":
    sys.exit(main())
