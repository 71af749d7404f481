"""The Smart Framing paper's network on both sides of the comparison with ns-2."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ns2.run_ns2 import TABLE_1_BYTES, Transfer, fast_retransmit_percent

SENDER = "reno+sack1 / full / iw=1"
MSS = 1460
HEADER = 40
RATE_BITS_PER_S = 10_000_000
CANNOT_RUN = 77
# ns-2 sends whole segments only: flows of several are rounded up on both sides.
SIZES: tuple[int, ...] = tuple(
    size if size <= MSS else -(-size // MSS) * MSS for size in TABLE_1_BYTES
)
# The load follows from the mean of the paper's sizes. The mean of the rounded sizes is 1.6 %
# larger.
FLOWS_PER_S_AT_LOAD_1 = RATE_BITS_PER_S / 8 / statistics.mean(TABLE_1_BYTES)
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
        "workload": _workloads(load, starts_s),
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


def _workloads(load: float, starts_s: Sequence[float] | None) -> list[dict[str, Any]]:
    """Ten greedy flows, and Poisson web flows if ``load`` is above 0."""
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
    return [*greedy, *web]


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
