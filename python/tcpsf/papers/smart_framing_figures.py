"""Settings of the Smart Framing paper beside Table I: Figs. 2 to 7 and 14, and section VII.

The figures' curves are drawn and not printed. The only published numbers here are therefore those
of the text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tcpsf.papers import smart_framing as paper
from tcpsf.scenario import Buffer, Greedy, Link, Poisson, Scenario, SenderShare, Transfers

LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Loads of Figs. 2 and 5."""

CHUNKS = (1, 64, 128, 256, 512, 1024, 1500)
"""Fig. 14, section VI: units in which the buffer's memory is allocated, in bytes."""

SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Fig. 7: share of the short flows that use framing.

The text gives the range from none to all. This project chose the steps.
"""

ACCESS_NODES = 10
ACCESS_RATE = "1.5Mb/s"
ACCESS_DELAY = "1ms"
"""Section VI: delay of the links from the access nodes to the bottleneck."""

GREEDY_FLOWS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One of Fig. 6's senders."""

    key: str
    label: str
    sender: str
    framing: str | None
    """Key of the framing with which the sender is combined."""


PROPOSALS = (
    Proposal(key="lt", label="LT", sender="reno+sack+lt / full / iw=1", framing=None),
    Proposal(key="w2", label="W2", sender="reno+sack / full / iw=2", framing=None),
    Proposal(key="lt-vs", label="LT + VS", sender="reno+sack+lt / vs(n=4) / iw=1", framing="vs"),
    Proposal(key="lt-fs", label="LT + FS", sender="reno+sack+lt / fs(n=4) / iw=1", framing="fs"),
    Proposal(key="w2-vs", label="W2 + VS", sender="reno+sack / vs(n=4) / iw=2", framing="vs"),
    Proposal(key="w2-fs", label="W2 + FS", sender="reno+sack / fs(n=4) / iw=2", framing="fs"),
)
"""Limited Transmit and an initial window of two segments, alone and with framing.

The loss window stays at one segment.
"""

RELATED = (
    Proposal(key="lt-w2", label="LT + W2", sender="reno+sack+lt / full / iw=2", framing=None),
    Proposal(
        key="lt-w2-vs", label="LT + W2 + VS", sender="reno+sack+lt / vs(n=4) / iw=2", framing="vs"
    ),
    Proposal(
        key="lt-w2-fs", label="LT + W2 + FS", sender="reno+sack+lt / fs(n=4) / iw=2", framing="fs"
    ),
    Proposal(key="lt-w3", label="LT + W3", sender="reno+sack+lt / full / iw=3", framing=None),
    Proposal(key="er", label="ER", sender="reno+sack+er / full / iw=1", framing=None),
    Proposal(key="abc", label="ABC, L = 2", sender="reno+sack+abc / full / iw=1", framing=None),
)
"""Section III-A's proposals that Fig. 6 leaves out.

They are combinations, Early Retransmit [17] and byte counting [18].
"""


@dataclass(frozen=True, slots=True)
class Overhead:
    """Overhead of one sender, section VII."""

    segments: int
    """Segments sent in the small-window regime without loss."""
    percent: float
    """Per cent of bandwidth for protocol headers, over the sizes of Table I; MSS 1460, no loss."""


OVERHEAD = {
    "classic": Overhead(7, 5.6),
    "vs": Overhead(12, 6.5),
    "fs": Overhead(28, 8.0),
}
"""Overheads of section VII, by the variant's key.

The per cents result from two headers per data segment: its own and that of its ACK.
"""

HEADER_BYTES = 40
"""Section VII: IP and TCP headers of a packet."""

READINGS = (
    "Fig. 6: the larger initial window holds for the first window of a flow; after a timeout it is one segment again.",
    "Fig. 7: the greedy flows are Classic Reno at every share; each short flow draws its sender by the share.",
    (
        "Fig. 14, bottom: the paper gives no buffer for the access links; here they have no limit, so packets are lost "
        "at the bottleneck alone. Each access node has a greedy flow and a tenth of the short flows, and its links "
        "back have the same rate and delay."
    ),
    "Fig. 14: memory is handed out in chunks in the bottleneck's buffer, not in that of the way back.",
)
"""Assumptions of this project where the text is not specific."""


def friendliness_scenario(
    *, framed: str, share: float, duration: str = paper.FULL_DURATION
) -> Scenario:
    """Return Fig. 7's network: a share of the short flows uses the sender ``framed``.

    ``share`` is from 0 to 1. All other flows use Reno.
    """
    classic = reno(paper.CLASSIC.sender)
    scenario = paper.web_scenario(sender=classic, greedy_sender=classic, duration=duration)
    if share == 0.0:
        return scenario
    if share == 1.0:
        return scenario.with_value("workload.web.sender", framed)
    mix = (SenderShare(sender=classic, share=1.0 - share), SenderShare(sender=framed, share=share))
    workload = tuple(
        replace(each, sender=None, senders=mix) if isinstance(each, Poisson) else each
        for each in scenario.workload
    )
    return replace(scenario, workload=workload)


def reno(sender: str) -> str:
    """Return ``sender`` without selective acknowledgments.

    >>> reno("reno+sack / fs(n=4) / iw=1")
    'reno / fs(n=4) / iw=1'
    """
    return sender.replace("reno+sack", "reno")


def chunk_scenario(*, sender: str, chunk: int, duration: str = paper.FULL_DURATION) -> Scenario:
    """Return the network of Fig. 14, top: the sources are at the bottleneck.

    The bottleneck's buffer is allocated in chunks of ``chunk`` bytes.
    """
    return _in_chunks(paper.web_scenario(sender=sender, duration=duration), chunk)


def access_scenario(*, sender: str, chunk: int, duration: str = paper.FULL_DURATION) -> Scenario:
    """Return the network of Fig. 14, bottom: the sources are spread over access nodes.

    >>> scenario = access_scenario(sender=paper.CLASSIC.sender, chunk=64)
    >>> len(scenario.link), len(scenario.workload)
    (22, 20)
    """
    one = paper.web_scenario(sender=sender, duration=duration)
    bottleneck, back = one.link
    greedy, web = one.workload
    if not isinstance(greedy, Greedy) or not isinstance(web, Poisson) or web.load is None:
        raise TypeError("the paper's network is one of greedy and of Poisson flows with a load")
    links = [replace(bottleneck, from_="router"), replace(back, to="router")]
    workloads: list[Greedy | Poisson] = []
    for number in range(1, ACCESS_NODES + 1):
        node = f"servers-{number}"
        links += [
            Link(
                name=f"access-{number}",
                from_=node,
                to="router",
                rate=ACCESS_RATE,
                delay=ACCESS_DELAY,
            ),
            Link(
                name=f"access-back-{number}",
                from_="router",
                to=node,
                rate=ACCESS_RATE,
                delay=ACCESS_DELAY,
            ),
        ]
        workloads += [
            replace(
                greedy,
                name=f"{paper.GREEDY}-{number}",
                from_=node,
                flows=GREEDY_FLOWS // ACCESS_NODES,
            ),
            replace(web, name=f"{paper.WEB}-{number}", from_=node, load=web.load / ACCESS_NODES),
        ]
    spread = replace(one, name="smart-framing-access", link=tuple(links), workload=tuple(workloads))
    return _in_chunks(spread, chunk)


def _in_chunks(scenario: Scenario, chunk: int) -> Scenario:
    """Allocate the bottleneck's memory in chunks; a chunk of one byte is a buffer in bytes."""
    if chunk == 1:
        return scenario
    links = tuple(
        replace(link, buffer=Buffer(bytes=link.buffer.bytes, chunk=f"{chunk}B"))
        if link.name == paper.BOTTLENECK and link.buffer is not None
        else link
        for link in scenario.link
    )
    return replace(scenario, link=links)


def closest(scenario: Scenario) -> Scenario:
    """Apply the assumptions of `smart_framing.CLOSEST` to a scenario of this paper.

    The first timeout becomes 6 s, and the load includes headers.

    >>> closest(paper.web_scenario(sender=paper.CLASSIC.sender)).workload[1].load
    0.75
    """
    share = paper.CLOSEST["workload.web.load"] / paper.LOAD
    workload = tuple(
        replace(each, load=round(each.load * share, 9))
        if isinstance(each, Poisson) and each.load is not None
        else each
        for each in scenario.workload
    )
    tcp = replace(scenario.tcp, rto_initial=paper.CLOSEST["tcp.rto_initial"])
    return replace(scenario, workload=workload, tcp=tcp)


def lossless_scenario(*, sender: str, sizes: tuple[int, ...] = paper.CLASS_BYTES) -> Scenario:
    """Return section VII's setting: flows one after the other on a line without loss."""
    scenario = paper.web_scenario(sender=sender)
    spacing = 60
    return replace(
        scenario,
        name="smart-framing-overhead",
        duration=f"{spacing * (len(sizes) + 1)}s",
        link=tuple(replace(link, buffer=None) for link in scenario.link),
        workload=(
            Transfers(
                name=paper.WEB,
                from_="servers",
                to="clients",
                sizes=sizes,
                spacing=f"{spacing}s",
                sender=sender,
            ),
        ),
    )
