"""Settings for the advantages and costs that the Smart Framing texts list.

The texts give no settings for them. The journal lists them in sections I, III, VI and VIII, the
draft in sections 7, 8 and 10. This project chose the settings; each is the simplest that shows the
statement of the text.
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
"""Time for which a receiver delays the acknowledgment of a single segment; the draft's value."""
START_SEGMENTS = (1, 2, 3, 4, 7, 10)
"""Flow lengths for the start, in full-sized segments."""

HOPS = (1, 2, 3, 4, 5)
HOP_RATE = "64kb/s"
HOP_DELAY = "5ms"
PIPELINED_BYTES = 3 * MSS
"""Bytes sent over slow links in series."""

BIT_ERROR_RATES = (1e-6, 3e-6, 1e-5)
"""Bit error rates of a wireless line.

A full-sized packet is lost with a probability of 1.2, 3.5 and 11 %.
"""
ARRIVALS_A_SECOND = 5.0

RTO_SEGMENTS = (1, 2, 3, 4, 7, 15)
"""Flow lengths after which the timeout is shown, in full-sized segments."""
RTT_S = 0.1

TRACED = "300s"
"""Simulated time of a run in which single packets are examined."""

REQUESTED_BYTES = (119, 1650, 13681, 284454)
"""Sizes of the answers to a request: four of Table I's sizes."""
PEER_MSS = (1460, 536, 216)
"""MSS that the requester announces, in bytes."""


def _path(rate: str) -> tuple[Link, ...]:
    delay = f"{RTT_S / 2:g}s"
    return (
        Link(name="there", from_="a", to="b", rate=rate, delay=delay),
        Link(name="back", from_="b", to="a", rate=rate, delay=delay),
    )


def _flows(sizes: tuple[int, ...], *, sender: str, spacing_s: int = 20) -> tuple[Transfers, ...]:
    """Flows that start one after the other."""
    return (
        Transfers(
            name=FLOWS, from_="a", to="b", sizes=sizes, spacing=f"{spacing_s}s", sender=sender
        ),
    )


def start_scenario(*, sender: str) -> Scenario:
    """Return flows of `START_SEGMENTS` on an empty path of 100 ms; the receiver delays its ACKs."""
    return Scenario(
        name="delayed-acks-at-the-start",
        duration=f"{20 * (len(START_SEGMENTS) + 1)}s",
        link=_path("10Mb/s"),
        workload=_flows(tuple(segments * MSS for segments in START_SEGMENTS), sender=sender),
        tcp=Tcp(profile="ns2", mss=MSS, ack_every=2, ack_delay=f"{ACK_DELAY_S:g}s"),
    )


def hops_scenario(*, sender: str, hops: int) -> Scenario:
    """Return one flow of `PIPELINED_BYTES` over ``hops`` slow links.

    Each link receives a whole packet before it sends it.

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
    """Return short flows with Table I's sizes on a line with the bit error rate ``rate``."""
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
    """Return flows of `RTO_SEGMENTS` on an empty path of 100 ms.

    The retransmission timeout has a lower bound of only 1 ms.
    """
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
    """Return answers of `REQUESTED_BYTES` to a peer with an MSS of ``mss`` bytes, without loss."""
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
    """Return one flow that leaves the small-window regime, without loss, with a trace."""
    one = start_scenario(sender=sender)
    return replace(
        one,
        trace=(FLOWS,),
        workload=_flows((50 * MSS,), sender=sender),
        tcp=Tcp(profile="ns2", mss=MSS, ack_every=1),
    )
