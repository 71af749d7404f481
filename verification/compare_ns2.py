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
import math
import random
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from _verdicts import NOT_JUDGED, Line, report, welch
from ns2.run_ns2 import (
    TABLE_1_BYTES,
    Ns2Error,
    Transfer,
    fast_retransmit_percent,
    run_many,
    run_masks,
)

SENDER = "reno+sack1 / full / iw=1"
# ns-2's name of a sender → ours.
MASKS_SENDERS: dict[str, str] = {
    "sack1": SENDER,
    "tahoe": "tahoe / full / iw=1",
    "fack": "reno+fack / full / iw=1",
}
MSS = 1460
HEADER = 40
RATE_BITS_PER_S = 10_000_000

MASKS_TOLERANCE_S = 1e-6
GREEDY_TOLERANCE = 0.01
GREEDY_WARM_UP_S = 100.0
FAMILY_ERROR = 0.01
CANNOT_RUN = 77

# ns-2 sends whole segments only: flows of several are rounded up on both sides.
SIZES: tuple[int, ...] = tuple(
    size if size <= MSS else -(-size // MSS) * MSS for size in TABLE_1_BYTES
)
# The load follows from the mean of the paper's sizes. The mean of the rounded sizes is 1.6 %
# larger.
FLOWS_PER_S_AT_LOAD_1 = RATE_BITS_PER_S / 8 / statistics.mean(TABLE_1_BYTES)

# Sets of ten start times within the paper's first second, to the nanosecond. RTT and transmission
# time are multiples of 0.1 ms. With start times on that grid, packets of several flows would
# arrive at the same instant, and the rounding of ns-2's doubles would determine their order.
_draw = random.Random(1)  # noqa: S311 (cases, not secrets)
STARTS_S: tuple[tuple[float, ...], ...] = tuple(
    tuple(round(_draw.random(), 9) for _ in range(10)) for _ in range(5)
)

# The ns-2 settings of the comparison: the timers of 2002, and a return path without a rate, on
# which every ACK takes 50 ms. A SACK block adds 8 bytes to an ACK in ns-2, and the real length of
# the option in our simulator.
NS2_SETTINGS: dict[str, object] = {"profile": "2002", "reverse_rate": 1e15}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Counts of one run, in the same units for both simulators."""

    completion_s: tuple[float | None, ...]
    """Mean completion time of each size class, seconds."""
    web_fast_percent: float | None
    """Fast retransmits among the web flows' recoveries, percent."""
    all_fast_percent: float | None
    """Fast retransmits among the recoveries of web and greedy flows, percent."""
    greedy_recoveries: int
    greedy_timeouts: int
    offered_packets: int
    dropped_packets: int
    mean_queue_packets: float
    """Packets waiting or in transmission."""
    mean_queue_bytes: float


# ---- the two sides
# -------------------------------------------------------------------------------------------------


def counts_of_ns2(run: Mapping[str, Any]) -> Counts:
    """Convert the JSON object of web.tcl."""
    return Counts(
        completion_s=tuple(row["mean_s"] for row in run["classes"]),
        web_fast_percent=fast_retransmit_percent(run["classes"]),
        all_fast_percent=fast_retransmit_percent([*run["classes"], *run["greedy"]]),
        greedy_recoveries=sum(
            flow["fast_retransmits"] + flow["timeouts"] for flow in run["greedy"]
        ),
        greedy_timeouts=sum(flow["timeouts"] for flow in run["greedy"]),
        offered_packets=run["offered_packets"],
        dropped_packets=run["dropped_packets"],
        mean_queue_packets=run["mean_queue_packets"],
        mean_queue_bytes=run["mean_queue_bytes"],
    )


def scenario(
    *, load: float, duration_s: float, starts_s: Sequence[float] | None = None
) -> dict[str, Any]:
    """The scenario of the network that web.tcl builds with ``NS2_SETTINGS``."""
    between: dict[str, Any] = {"from": "servers", "to": "clients", "sender": SENDER}
    greedy: list[dict[str, Any]] = (
        [
            {
                "name": "greedy",
                "kind": "greedy",
                "flows": 10,
                "start": "0s",
                "spread": "1s",
                **between,
            }
        ]
        if starts_s is None
        else [
            {
                "name": f"greedy-{i}",
                "kind": "greedy",
                "flows": 1,
                "start": f"{start}s",
                "spread": "0s",
                **between,
            }
            for i, start in enumerate(starts_s)
        ]
    )
    web: list[dict[str, Any]] = (
        [
            {
                "name": "web",
                "kind": "poisson",
                "rate": load * FLOWS_PER_S_AT_LOAD_1,
                "sizes": {"classes": list(SIZES)},
                "handshake": False,
                **between,
            }
        ]
        if load > 0
        else []
    )
    return {
        "name": "compare-ns2",
        "duration": f"{duration_s:g}s",
        # web.tcl stops at the end of the duration, with flows unfinished.
        "drain": "0s",
        "link": [
            {
                "name": "bottleneck",
                "from": "servers",
                "to": "clients",
                "rate": "10Mb/s",
                "delay": "50ms",
                # ns-2 drops a packet if the waiting bytes, without the packet in transmission,
                # would reach the limit.
                "buffer": {"bytes": "149999B", "counts_in_service": False},
            },
            {"name": "return", "from": "clients", "to": "servers", "delay": "50ms"},
        ],
        "workload": [*greedy, *web],
        "tcp": {
            "profile": "ns2",
            "mss": MSS,
            "rto_initial": "3s",
            "rto_min": "1s",
            "rto_max": "64s",
            "tick": "100ms",
            "rtt_sample": "window",
            "growth": "ack",
            "ack_every": 1,
            "receive_buffer": "14600000B",
            "timestamps": False,
            "header": f"{HEADER}B",
        },
    }


def run_ours(description: Mapping[str, Any], *, seed: int) -> Counts:
    """Run our simulator once and return its counts."""
    import tcpsf

    result = tcpsf.run(tcpsf.Scenario.from_dict(dict(description)), seed=seed)
    flows = [
        (row["workload"], row["class"], row["sender_s"], row)
        for row in result.flows.select(
            "workload", "class", "sender_s", "fast_retransmits", "timeouts"
        ).to_dicts()
    ]
    web = [row for workload, _, _, row in flows if workload == "web"]
    greedy = [row for workload, _, _, row in flows if workload != "web"]
    times: dict[int, list[float]] = {}
    for workload, number, seconds, _ in flows:
        if workload == "web" and seconds is not None:
            times.setdefault(number, []).append(seconds)
    bottleneck = next(row for row in result.links.to_dicts() if row["link"] == "bottleneck")
    return Counts(
        completion_s=tuple(
            statistics.fmean(times[number]) if number in times else None
            for number in range(1, len(SIZES) + 1)
        ),
        web_fast_percent=fast_retransmit_percent(web),
        all_fast_percent=fast_retransmit_percent([*web, *greedy]),
        greedy_recoveries=sum(row["fast_retransmits"] + row["timeouts"] for row in greedy),
        greedy_timeouts=sum(row["timeouts"] for row in greedy),
        offered_packets=bottleneck["offered_packets"],
        dropped_packets=bottleneck["dropped_buffer_packets"],
        mean_queue_packets=bottleneck["mean_queue_packets"],
        mean_queue_bytes=bottleneck["mean_queue_bytes"],
    )


def run_ours_masked(*, sender: str, packets: int, lost: Sequence[int]) -> Transfer:
    """Simulate one flow alone on a link that drops the packets with the numbers ``lost``."""
    import tcpsf

    description = scenario(load=0.0, duration_s=2000.0)
    description["link"][0] |= {
        "buffer": {"packets": 10_000},
        "loss": {
            "kind": "mask",
            "drops": ",".join("1" if i in lost else "0" for i in range(max(lost) + 1)),
        },
    }
    description["workload"] = [
        {
            "name": "one",
            "kind": "transfers",
            "from": "servers",
            "to": "clients",
            "sender": sender,
            "sizes": [packets * MSS],
            "start": "0s",
            "spacing": "1s",
            "handshake": False,
        }
    ]
    flow = tcpsf.run(tcpsf.Scenario.from_dict(description), seed=1).flows.to_dicts()[0]
    return Transfer(
        completion_s=math.nan if flow["sender_s"] is None else flow["sender_s"],
        fast_retransmits=flow["fast_retransmits"],
        timeouts=flow["timeouts"],
        sent_packets=flow["segments"],
    )


def _run_ours(request: tuple[Mapping[str, Any], int]) -> Counts:
    return run_ours(request[0], seed=request[1])


# ---- single flows
# -------------------------------------------------------------------------------------------------


def mask_cases(count: int) -> list[tuple[int, tuple[int, ...]]]:
    """Flows of 1 to 40 packets and the numbers of the packets that each loses.

    The losses are independent, with a probability of 3 to 30 %. Each flow loses at least one packet.
    """
    draw = random.Random(1)  # noqa: S311 (cases, not secrets)
    cases = []
    for _ in range(count):
        packets = draw.randint(1, 40)
        share = draw.choice((0.03, 0.08, 0.15, 0.3))
        lost = tuple(i for i in range(90) if draw.random() < share)
        cases.append((packets, lost or (draw.randrange(packets),)))
    return cases


def window_cases(count: int) -> list[tuple[int, tuple[int, ...]]]:
    """Flows of 60 to 300 packets that lose 1 to 12 of 15 packets in a row."""
    draw = random.Random(2)  # noqa: S311 (cases, not secrets)
    cases = []
    for _ in range(count):
        packets, first = draw.randint(60, 300), draw.randrange(30, 60)
        lost = {draw.randrange(first, first + 15) for _ in range(draw.randint(2, 12))}
        cases.append((packets, tuple(sorted(lost))))
    return cases


def compare_masks(*, count: int, name: str) -> list[Line]:
    """Compare single flows with given losses; ``name`` is ns-2's name of the sender."""
    cases = mask_cases(count)
    if name == "fack":
        cases += window_cases(count // 4)
    theirs = run_masks(cases, sender=name)
    ours = [
        run_ours_masked(sender=MASKS_SENDERS[name], packets=packets, lost=lost)
        for packets, lost in cases
    ]
    if name != "fack":
        return _compare_transfers(name, cases, theirs, ours)
    # ns2/README.md: after a timeout, and at the end of a recovery, ns-2's Fack is not the paper's.
    same = [i for i in range(len(cases)) if not theirs[i].timeouts and not theirs[i].outside]
    other = sorted(set(range(len(cases))) - set(same))
    shipped = run_masks(cases, sender="fack-shipped")
    repaired = [i for i in same if theirs[i].fast_retransmits]
    return [
        *_compare_transfers(
            "fack",
            [cases[i] for i in same],
            [theirs[i] for i in same],
            [ours[i] for i in same],
        ),
        _mean_times("fack: the other flows, s", theirs, ours, other),
        _mean_times("fack as shipped: recovery alone, s", shipped, ours, repaired),
    ]


def _mean_times(
    what: str, theirs: Sequence[Transfer], ours: Sequence[Transfer], chosen: Sequence[int]
) -> Line:
    """Information: the mean completion times of some of the flows."""
    reference, us = (
        statistics.fmean(side[i].completion_s for i in chosen) for side in (theirs, ours)
    )
    note = f"{len(chosen)} flows"
    return Line(what=what, reference=reference, ours=us, note=note, verdict=NOT_JUDGED)


def _compare_transfers(
    name: str,
    cases: Sequence[tuple[int, tuple[int, ...]]],
    theirs: Sequence[Transfer],
    ours: Sequence[Transfer],
) -> list[Line]:
    count = len(cases)
    judged: dict[str, Callable[[Transfer], float]] = {
        "completion time, s": lambda flow: flow.completion_s,
        "fast retransmits": lambda flow: flow.fast_retransmits,
        "timeouts": lambda flow: flow.timeouts,
        "packets sent": lambda flow: flow.sent_packets,
    }
    lines = []
    for what, value in judged.items():
        other = [
            i
            for i in range(count)
            if not abs(value(theirs[i]) - value(ours[i])) < MASKS_TOLERANCE_S
        ]
        note = f"{len(other)} of {count} flows differ"
        if other:
            packets, lost = cases[other[0]]
            note += f", e.g. {packets}:{','.join(map(str, lost))}"
        lines.append(
            Line(
                what=f"{name}: {what}, mean",
                reference=statistics.fmean(map(value, theirs)),
                ours=statistics.fmean(map(value, ours)),
                note=note,
                verdict="DIFFER" if other else "agree",
            )
        )
    return lines


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
    lines = []
    for what, value in steady.items():
        pairs = [
            (value(*theirs[i : i + 2]), value(*ours[i : i + 2]))
            for i in range(0, 2 * len(starts), 2)
        ]
        ns2, us = (statistics.mean(side) for side in zip(*pairs, strict=True))
        worst = max(abs(b - a) / a for a, b in pairs)
        lines.append(
            Line(
                what=f"{what}, from {GREEDY_WARM_UP_S:g} s",
                reference=ns2,
                ours=us,
                note=f"worst of {len(starts)} starts {100 * worst:.2f} %",
                verdict="agree" if worst <= GREEDY_TOLERANCE else "DIFFER",
            )
        )
    first: dict[str, Callable[[Counts], float]] = {
        "drops": lambda counts: counts.dropped_packets,
        "timeouts": lambda counts: counts.greedy_timeouts,
    }
    for what, early_value in first.items():
        # Shown without a verdict: single packets determine the result of the ten slow starts.
        ns2, us = (
            statistics.mean(early_value(counts) for counts in side[::2]) for side in (theirs, ours)
        )
        lines.append(
            Line(
                what=f"{what}, first {GREEDY_WARM_UP_S:g} s",
                reference=ns2,
                ours=us,
                note="depends on single packets",
                verdict=NOT_JUDGED,
            )
        )
    return lines


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
