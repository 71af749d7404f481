"""What the Smart Framing texts list as advantages and costs, as settings of their own.

The texts give no settings for them: the journal lists them in sections I, III, VI and VIII, the
draft in sections 7, 8 and 10. The settings here are ours, each as simple as shows what the text
says.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

from tcpsf.papers import smart_framing as paper
from tcpsf.scenario import ByteLoss, Link, Poisson, Scenario, Sizes, Tcp, Transfers

MSS = 1460
HEADER_BYTES = 40
FLOWS = "flows"

W2 = "reno+sack / full / iw=2"
"""Classic with the workaround that the texts mention: an initial window of two segments."""

ACK_DELAY_S = 0.2
"""How long a receiver waits before it acknowledges a single segment, seconds: the draft's value."""
START_SEGMENTS = (1, 2, 3, 4, 7, 10)
"""Flow lengths at which the start is shown, in full-sized segments."""

HOPS = (1, 2, 3, 4, 5)
HOP_RATE = "64kb/s"
HOP_DELAY = "5ms"
PIPELINED_BYTES = 3 * MSS
"""Slow links one behind the other, and what is sent over them."""

BIT_ERROR_RATES = (1e-6, 3e-6, 1e-5)
"""Of a wireless line: a full-sized packet is lost with a probability of 1.2, 3.5 and 11 %."""
ARRIVALS_A_SECOND = 5.0

RTO_SEGMENTS = (1, 2, 3, 4, 7, 15)
"""Flow lengths after which the timeout is shown, in full-sized segments."""
RTT_S = 0.1

TRACED = "300s"
"""Simulated time of a run whose packets are looked at one by one."""

REQUESTED_BYTES = (119, 1650, 13681, 284454)
"""What a request asks for: four of Table I's sizes."""
PEER_MSS = (1460, 536, 216)
"""The MSS that the requester announces, bytes."""


def _path(rate: str) -> tuple[Link, ...]:
    delay = f"{RTT_S / 2:g}s"
    return (
        Link(name="there", from_="a", to="b", rate=rate, delay=delay),
        Link(name="back", from_="b", to="a", rate=rate, delay=delay),
    )


def _flows(sizes: tuple[int, ...], *, sender: str, spacing_s: int = 20) -> tuple[Transfers, ...]:
    """Flows one after the other."""
    return (
        Transfers(
            name=FLOWS, from_="a", to="b", sizes=sizes, spacing=f"{spacing_s}s", sender=sender
        ),
    )


def start_scenario(*, sender: str) -> Scenario:
    """Return flows of `START_SEGMENTS` on an empty path of 100 ms, to a receiver that delays its ACKs."""
    return Scenario(
        name="delayed-acks-at-the-start",
        duration=f"{20 * (len(START_SEGMENTS) + 1)}s",
        link=_path("10Mb/s"),
        workload=_flows(tuple(segments * MSS for segments in START_SEGMENTS), sender=sender),
        tcp=Tcp(profile="ns2", mss=MSS, ack_every=2, ack_delay=f"{ACK_DELAY_S:g}s"),
    )


def hops_scenario(*, sender: str, hops: int) -> Scenario:
    """Return one flow of `PIPELINED_BYTES` over so many slow links, each of which takes a packet in before it sends it.

    >>> len(hops_scenario(sender=paper.CLASSIC.sender, hops=3).link)
    6
    """
    nodes = [f"n{number}" for number in range(hops + 1)]
    there = tuple(
        Link(name=f"there-{number}", from_=a, to=b, rate=HOP_RATE, delay=HOP_DELAY)
        for number, (a, b) in enumerate(itertools.pairwise(nodes), start=1)
    )
    back = tuple(
        replace(link, name=f"back-{n}", from_=link.to, to=link.from_)
        for n, link in enumerate(there, start=1)
    )
    return Scenario(
        name="slow-hops",
        duration="60s",
        link=(*there, *back),
        workload=(
            Transfers(
                name=FLOWS, from_=nodes[0], to=nodes[-1], sizes=(PIPELINED_BYTES,), sender=sender
            ),
        ),
        tcp=Tcp(profile="ns2", mss=MSS, ack_every=1),
    )


def bit_error_scenario(*, sender: str, rate: float, duration: str) -> Scenario:
    """Return short flows with Table I's sizes on a line that hits each bit with the probability ``rate``."""
    loss = ByteLoss(probability=-((1.0 - rate) ** 8 - 1.0))
    return Scenario(
        name="bit-errors",
        duration=duration,
        link=tuple(replace(link, loss=loss) for link in _path("10Mb/s")),
        workload=(
            Poisson(
                name=paper.WEB,
                from_="a",
                to="b",
                rate=ARRIVALS_A_SECOND,
                sizes=Sizes(classes=paper.CLASS_BYTES),
                sender=sender,
            ),
        ),
        tcp=Tcp(profile="ns2", mss=MSS, ack_every=1),
    )


def rto_scenario(*, sender: str, every_ack: bool) -> Scenario:
    """Return flows of `RTO_SEGMENTS` on an empty path of 100 ms whose timeout has no lower bound to speak of."""
    one = start_scenario(sender=sender)
    return replace(
        one,
        name="rto-convergence",
        duration=f"{20 * (len(RTO_SEGMENTS) + 1)}s",
        workload=_flows(tuple(segments * MSS for segments in RTO_SEGMENTS), sender=sender),
        tcp=Tcp(
            profile="rfc",
            mss=MSS,
            ack_every=1,
            timestamps=False,
            rto_initial="3s",
            rto_min="1ms",
            tick="1ms",
            rtt_sample="ack" if every_ack else "window",
        ),
    )


def request_scenario(*, sender: str, mss: int) -> Scenario:
    """Return answers of `REQUESTED_BYTES` to a peer that takes segments of ``mss`` bytes; nothing is lost."""
    one = start_scenario(sender=sender)
    return replace(
        one,
        name="packets-on-request",
        duration=f"{60 * (len(REQUESTED_BYTES) + 1)}s",
        workload=_flows(REQUESTED_BYTES, sender=sender, spacing_s=60),
        tcp=Tcp(profile="ns2", mss=mss, ack_every=1),
    )


def traced_scenario(*, sender: str) -> Scenario:
    """Return section IV-A's network with a trace of every packet of the short flows."""
    return replace(paper.web_scenario(sender=sender, duration=TRACED), trace=(paper.WEB,))


def one_long_flow(*, sender: str) -> Scenario:
    """Return one flow that leaves the small-window regime, without loss, traced."""
    one = start_scenario(sender=sender)
    return replace(
        one,
        trace=(FLOWS,),
        workload=_flows((50 * MSS,), sender=sender),
        tcp=Tcp(profile="ns2", mss=MSS, ack_every=1),
    )
