"""Drop chosen segments of one window of the simulator's Reno sender and see whether it times out.

The first packet of every transfer is lost. After the timeout the sender has a window of one segment
and a slow start threshold of two segments. From then on it is in congestion avoidance, and its
window grows by one segment in each round trip. When the window has just become W segments, the
losses are chosen among these W segments. A mask on the link drops exactly the chosen segments. The
bandwidth is so high that never more than one window is in flight.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import polars as pl

from tcpsf import Link, Scenario, Tcp, Transfers, _core, run
from tcpsf.result import to_frame

Rule = Literal["cwnd", "flight"]
HALVING = {"cwnd": "window", "flight": "flight"}
MSS = 1000
LEAST = 2
"""Smallest window in congestion avoidance, in segments."""
SPARE = 60
"""Segments after the last window, so that the end of the data has no effect on the recovery."""


@dataclass(frozen=True, slots=True)
class Place:
    """Position of a window of a given size in a transfer that loses only its first packet."""

    window: int
    first: int
    """Number of the window's first segment, from 0."""


def places(rule: Rule, most: int) -> dict[int, Place]:
    """Find the first segment of each window from `LEAST` to ``most`` segments."""
    segments = most * most
    scenario = _scenario(rule, segments, "1")
    sent = run(Scenario.from_dict(scenario), seed=1).packets.filter(
        (pl.col("event") == "sent") & (pl.col("from") == "sender")
    )
    found: dict[int, Place] = {}
    number = -1
    for packet, following in zip(sent.rows(named=True), [*sent["time_s"][1:], None], strict=True):
        number = max(number, packet["seq"] // MSS)
        window = packet["cwnd_bytes"] // MSS
        if window >= LEAST and window not in found and packet["time_s"] != following:
            found[window] = Place(window, number - window + 1)
    return {window: found[window] for window in range(LEAST, most + 1)}


def recovers(rule: Rule, place: Place, patterns: Sequence[Sequence[int]]) -> list[bool]:
    """Whether the sender repairs each pattern of losses in this window without a timeout."""
    text = json.dumps(_scenario(rule, place.first + 2 * place.window + SPARE, "MASK", trace=False))

    def one(lost: Sequence[int]) -> bool:
        # The first packet is lost and sent again, so segment n is data packet n + 1 on the link.
        gone = {0, *(place.first + each + 1 for each in lost)}
        mask = ",".join("1" if number in gone else "0" for number in range(max(gone) + 1))
        simulation = _core.Simulation(text.replace("MASK", mask), seed=1)
        while simulation.advance(max_events=100_000):
            pass
        flow = to_frame(simulation.take_flows()).row(0, named=True)
        if flow["sender_s"] is None or flow["retransmitted_segments"] < 1 + len(lost):
            raise AssertionError(
                f"window {place.window}, losses {tuple(lost)}: not lost as planned"
            )
        return bool(flow["timeouts"] == 1)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(one, patterns))


def _scenario(rule: Rule, segments: int, mask: str, *, trace: bool = True) -> dict[str, object]:
    there = Link(name="there", from_="a", to="b", rate="1Gb/s", delay="50ms")
    back = Link(name="back", from_="b", to="a", rate="1Gb/s", delay="50ms")
    flow = Transfers(
        name="flow", from_="a", to="b", sizes=(segments * MSS,), sender="reno / full / iw=1"
    )
    scenario = Scenario(
        name="window",
        duration="1000s",
        link=(there, back),
        workload=(flow,),
        tcp=Tcp(profile="ns2", mss=MSS, tick="1ms", rto_initial="1s", halving=HALVING[rule]),  # type: ignore[arg-type]
        trace=("flow",) if trace else (),
    ).to_dict()
    scenario["link"][0]["loss"] = {"kind": "mask", "drops": mask}
    return scenario
