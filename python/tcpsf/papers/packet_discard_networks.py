"""Networks of Cohen and Hamo's paper: Figs. 3, 5 (topologies A and B) and 21 (mixed connections).

Every connection has its own host and its own incoming link. It sends to the one node behind the
gray switch's outgoing link. This outgoing link is the ``switch`` link here; its buffer is counted
in cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tcpsf.papers import packet_discard as paper
from tcpsf.scenario import (
    Buffer,
    Discard,
    Greedy,
    Link,
    MaskLoss,
    Samples,
    Scenario,
    Tcp,
    Transfers,
)

SWITCH = "switch"
"""Name of the link that has the buffer."""
RENO = "reno / full / iw=1"
SACK = "reno+sack1 / full / iw=1"
"""Sender that section 6.1 describes: the one of Fall and Floyd 1996."""

DURATION = f"{paper.TRACE_SECONDS:g}s"
SPREAD = "100ms"
"""Connections start at random times within this duration."""
TICK, LEAST_TIMEOUT = "500ms", "1s"
"""Granularity and minimum of section 2.1's coarse timer: the minimum is two ticks."""
CLOSEST: dict[str, Any] = {"tcp.tick": "100ms", "tcp.rto_min": "200ms"}
"""Timer settings that Fig. 17 shows, as values for `Scenario.with_value`.

With 18 timeouts in 10 s, each lasts less than 0.56 s. If half of the time is spent waiting, each
lasts 0.28 s. This agrees with two ticks of 100 ms, not with two ticks of 500 ms. A tick of 100 ms
is the default of the simulator that the paper used.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """Incoming links of one rate to the gray switch, and its outgoing link."""

    key: str
    label: str
    connections: int
    incoming_mbps: float
    outgoing_mbps: float = 75.0
    delay: str = "0.3ms"
    """Propagation delay of every link."""
    cells: int = paper.BUFFER_CELLS


A = Topology(key="a", label="topology A", connections=10, incoming_mbps=75.0)
B = Topology(key="b", label="topology B", connections=5, incoming_mbps=30.0)
"""Topology B of Fig. 5."""
MIXED = Topology(
    key="mixed", label="Fig. 21", connections=2, incoming_mbps=45.0, cells=paper.MIXED_CELLS
)
"""Mixed connections of Fig. 21. The paper does not give its delays, so those of Fig. 5 are used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Discard policy of the gray switch when its buffer fills up."""

    policy: Literal["plain", "ppd", "epd", "bpd"]
    lower: float | None = None
    """EPD-threshold, or BPD's lower threshold, as a share of the buffer."""
    upper: float | None = None
    gap: int | None = None
    """BPD's recovery period in packets."""

    def buffer(self, cells: int) -> Buffer:
        """Return the switch's buffer of ``cells`` cells with this discard policy."""
        early = self.policy == "epd"
        return Buffer(
            cells=cells,
            discard=Discard(
                policy=self.policy,
                threshold=self.lower if early else None,
                lower=None if early else self.lower,
                upper=self.upper,
                gap=self.gap,
            ),
        )


PLAIN, PPD = Policy(policy="plain"), Policy(policy="ppd")


def epd(threshold: float) -> Policy:
    """Early packet discard, with partial packet discard as in the paper."""
    return Policy(policy="epd", lower=threshold)


def bpd(lower: float, *, gap: int, upper: float = paper.UPPER) -> Policy:
    """Return the policy of balanced packet discard with these thresholds."""
    return Policy(policy="bpd", lower=lower, upper=upper, gap=gap)


def network(
    topology: Topology,
    policy: Policy,
    *,
    senders: Sequence[str] | None = None,
    duration: str = DURATION,
    spread: str = SPREAD,
    segment: int = paper.SEGMENT,
    delay: str | None = None,
    sampled: Sequence[str] = (),
    every: str = "2ms",
) -> Scenario:
    """Return the network with one greedy connection on each incoming link.

    The senders are Reno unless ``senders`` says otherwise. ``sampled`` names the objects that are
    recorded over time: connections (``connection-1``) and the `SWITCH`.

    >>> scenario = network(B, PPD)
    >>> len(scenario.link), len(scenario.workload), scenario.tcp.mss
    (12, 5, 536)
    """
    delay = topology.delay if delay is None else delay
    numbers = range(1, topology.connections + 1)
    workloads = tuple(
        Greedy(
            name=connection(number),
            from_=f"host-{number}",
            to="sink",
            flows=1,
            spread=spread,
            sender=RENO if senders is None else senders[number - 1],
        )
        for number in numbers
    )
    flows = tuple(name for name in sampled if name != SWITCH)
    lines = (SWITCH,) if SWITCH in sampled else ()
    return Scenario(
        name=f"packet-discard-{topology.key}",
        duration=duration,
        link=(
            *_outgoing(topology, policy, delay),
            *(link for number in numbers for link in _incoming(topology, number, delay)),
        ),
        workload=workloads,
        tcp=Tcp(
            profile="ns2",
            mss=segment,
            header=f"{paper.HEADER}B",
            ack_every=1,
            tick=TICK,
            rto_min=LEAST_TIMEOUT,
            receive_buffer=paper.WINDOW,
        ),
        samples=Samples(every=every, workloads=flows, links=lines) if sampled else None,
    )


def _outgoing(topology: Topology, policy: Policy, delay: str) -> tuple[Link, Link]:
    """Return the link that leaves the gray switch, and its return path."""
    rate = f"{topology.outgoing_mbps:g}Mb/s"
    buffer = policy.buffer(topology.cells)
    return (
        Link(name=SWITCH, from_=SWITCH, to="sink", rate=rate, delay=delay, buffer=buffer),
        Link(name="back", from_="sink", to=SWITCH, rate=rate, delay=delay, cells="aal5"),
    )


def _incoming(topology: Topology, number: int, delay: str) -> tuple[Link, Link]:
    """Return the link of a connection's host to the gray switch, and its return path."""
    host, rate = f"host-{number}", f"{topology.incoming_mbps:g}Mb/s"
    return (
        Link(name=f"in-{number}", from_=host, to=SWITCH, rate=rate, delay=delay, cells="aal5"),
        Link(name=f"back-{number}", from_=SWITCH, to=host, rate=rate, delay=delay, cells="aal5"),
    )


def connection(number: int) -> str:
    """Return the name of a connection; numbers start at 1."""
    return f"connection-{number}"


def closest(scenario: Scenario) -> Scenario:
    """Return the scenario with the timer settings that Fig. 17 shows.

    >>> closest(network(A, PPD)).tcp.tick
    '100ms'
    """
    tcp = replace(scenario.tcp, tick=CLOSEST["tcp.tick"], rto_min=CLOSEST["tcp.rto_min"])
    return replace(scenario, tcp=tcp)


ROUND_TRIPS_MS = (10, 20, 40, 70, 100, 150, 200, 300, 400, 500, 700, 1000, 1400, 2000, 3000)
"""Fig. 3: round-trip propagation delays, in milliseconds.

This project chose the steps. The text mentions several hundred connections.
"""
SHARING = 20
"""Number of connections of each round-trip time, which share a line."""
LINE_MBPS = 20.0


def timer_scenario(*, tick: str, least: str, duration: str = "60s") -> Scenario:
    """Return 300 connections over lines with round-trip times from 10 ms to 3 s, for Fig. 3.

    >>> scenario = timer_scenario(tick="500ms", least="1s")
    >>> sum(workload.flows for workload in scenario.workload if isinstance(workload, Greedy))
    300
    """
    links: list[Link] = []
    workloads = []
    for trip in ROUND_TRIPS_MS:
        here, there, delay, rate = (
            f"from-{trip}",
            f"to-{trip}",
            f"{trip / 2:g}ms",
            f"{LINE_MBPS:g}Mb/s",
        )
        links += [
            Link(
                name=f"line-{trip}",
                from_=here,
                to=there,
                rate=rate,
                delay=delay,
                buffer=Buffer(packets=200),
            ),
            Link(name=f"back-{trip}", from_=there, to=here, rate=rate, delay=delay),
        ]
        workloads.append(
            Greedy(
                name=f"rtt-{trip}", from_=here, to=there, flows=SHARING, spread="10s", sender=RENO
            )
        )
    return Scenario(
        name="packet-discard-timers",
        duration=duration,
        warm_up="20s",
        link=tuple(links),
        workload=tuple(workloads),
        tcp=Tcp(
            profile="ns2",
            mss=paper.SEGMENT,
            header=f"{paper.HEADER}B",
            ack_every=1,
            tick=tick,
            rto_min=least,
        ),
    )


WINDOW = "window"
"""Workload of `window_scenario`, and prefix of the lines' names in `spacing_scenario`."""
LINE_DELAY_S = 0.05
LINE_RATE = "400kb/s"
"""Rate of the line; it is low, so that the segments of a window are apart in a drawing."""


def window_scenario(window: int, lost: Sequence[int], *, sender: str = RENO) -> Scenario:
    """Return one flow that loses the segments ``lost`` of its first window of ``window`` segments.

    The scenario is for section 2.2. The flow's slow start ends at ``window``. Segment ``window`` -
    1 of the flow, counted from 0, is therefore segment 0 of the first window of that size. No other
    packet is lost.

    >>> scenario = window_scenario(8, (1, 4))
    >>> scenario.link[0].loss.drops
    '0,0,0,0,0,0,0,0,1,0,0,1'
    """
    mask = ["0"] * (window + max(lost))
    for place in lost:
        mask[window - 1 + place] = "1"
    delay = f"{LINE_DELAY_S:g}s"
    loss = MaskLoss(drops=",".join(mask))
    return Scenario(
        name="losses from one window",
        duration="20s",
        trace=(WINDOW,),
        link=(
            Link(name="there", from_="a", to="b", rate=LINE_RATE, delay=delay, loss=loss),
            Link(name="back", from_="b", to="a", rate=LINE_RATE, delay=delay),
        ),
        workload=(
            Transfers(
                name=WINDOW, from_="a", to="b", sizes=(paper.SEGMENT * 6 * window,), sender=sender
            ),
        ),
        tcp=_reno_tcp(ssthresh_initial=f"{paper.SEGMENT * window}B"),
    )


def spacing_scenario(masks: Sequence[Sequence[bool]], *, sender: str = RENO) -> Scenario:
    """Return one flow per mask, each on its own line.

    The line loses the data packets that the mask names.

    >>> len(spacing_scenario([(False, True), (True,)]).workload)
    2
    """
    links: list[Link] = []
    flows = []
    for number, mask in enumerate(masks):
        here, there = f"from-{number}", f"to-{number}"
        loss = MaskLoss(drops=",".join("1" if lost else "0" for lost in mask))
        links += [
            Link(
                name=f"line-{number}", from_=here, to=there, rate="10Mb/s", delay="30ms", loss=loss
            ),
            Link(name=f"back-{number}", from_=there, to=here, rate="10Mb/s", delay="30ms"),
        ]
        size = paper.SEGMENT * len(mask)
        flows.append(
            Transfers(name=f"{WINDOW}-{number}", from_=here, to=there, sizes=(size,), sender=sender)
        )
    return Scenario(
        name="losses at distances",
        duration="2000s",
        link=tuple(links),
        workload=tuple(flows),
        tcp=_reno_tcp(),
    )


def _reno_tcp(**values: Any) -> Tcp:
    return Tcp(
        profile="ns2",
        mss=paper.SEGMENT,
        header=f"{paper.HEADER}B",
        ack_every=1,
        tick=TICK,
        rto_min=LEAST_TIMEOUT,
        receive_buffer=paper.WINDOW,
        **values,
    )
