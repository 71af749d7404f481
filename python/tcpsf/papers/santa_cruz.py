"""Networks of TCP Santa Cruz, C. Parsa, J. J. Garcia-Luna-Aceves, ICNP 1999.

The title is *Improving TCP Congestion Control over Internets with Heterogeneous Transmission
Media*. The module has Tables 2, 3 and 4 and the networks of section 4 that produced them.
`READINGS` lists the assumptions where the text is not specific.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tcpsf.scenario import Buffer, Greedy, Link, Samples, Scenario, Tcp

CITATION = (
    "Parsa, Garcia-Luna-Aceves: Improving TCP Congestion Control over Internets with Heterogeneous Transmission Media, "
    "ICNP 1999"
)
SHORT = "Parsa and Garcia-Luna-Aceves 1999"

PACKET, HEADER = 1000, 40
"""Section 4: bytes of a data packet, headers included, and of an acknowledgment."""
MSS = PACKET - HEADER
OPTION = 16
"""Bytes of TCP Santa Cruz's option on data packets of this project; they reduce the MSS."""
WINDOW = 64
"""Section 4: maximum window of a connection, in packets; the first ssthresh is half of it."""
DURATION = "10s"
"""Section 4: simulated time."""
TICK = "100ms"
"""Section 4: granularity of TCP's clock."""

BOTTLENECK_BPS = 1_500_000
"""Section 4.1, Fig. 7: rate of the bottleneck."""
BUFFER = 17
"""Section 4.1: buffer of a router, in packets."""
DELAY_MS = 40
"""Section 4.1: one-way propagation delay."""
SPLITS_MS = (2, 5, 10, 15, 18)
"""Delays of each access line in milliseconds; the paper does not print them.

The rest of `DELAY_MS` is the delay of the bottleneck.
"""
FORWARDING_MS = 6.9
"""Section 4.1: total time to forward a packet, so that the minimum delay is 47 ms."""

ASYMMETRIC_BPS = 2_400_000
"""Section 4.3: rate of the forward bottleneck; the paper does not print it.

Rows of Table 4 give the rate: 1.253/0.52, 0.799/0.33, 1.275/0.53.
"""
ASYMMETRIC_BUFFER = 9
"""Section 4.3: buffer of the forward path, in packets."""
REVERSE_BPS = 32_000
"""Section 4.3: rate of the return path; the paper does not print it.

The rate follows from k = 3 with acknowledgments of 40 bytes.
"""
REVERSE_BUFFERS = (9, 10)
"""Section 4.3: buffers of the return path; the paper does not print them.

One of the two gives the window of 31 packets that fills the path.
"""

READINGS = (
    (
        "A packet of `1 Kbyte` has 1000 bytes, headers included: then forwarding takes the 6.9 ms that the text gives. "
        "The option of TCP Santa Cruz makes it no longer, as in the paper's simulator."
    ),
    "Throughput counts whole packets that arrive, resent ones too: 0.97 of 1.5 Mb/s is 1.45.",
    (
        "Fig. 7 doesn't say how the 40 ms lie on its three lines. With one flow it makes no difference (2, 36 and 2 "
        "ms). With traffic on the return path it does, so Table 3 is an ensemble: access lines of 2, 5, 10, 15 and 18 "
        "ms."
    ),
    "The retransmission timer is at least two ticks, 200 ms, as in the simulator of the time (a second from 2001 on).",
    "The table's `Delay variance (msec)` is in 10⁻³ s², its `(μsec)` in 10⁻⁶ s².",
    (
        "A delay ends when the receiver can hand the data over, in order: then Reno's row of Table 2 comes out. A "
        "packet's way alone takes 6 ms less with Reno, and in Table 3 no packet could be on its way for 134 ms on "
        "average."
    ),
    "Delayed acknowledgements are off, and flows start without a handshake, as in the simulator of the time.",
    (
        "Fig. 10 doesn't say when source B starts: at a random moment of the first second here. Its data share the "
        "reverse line with A's acknowledgements, its own acknowledgements the forward queue with A's data. Its access "
        "line is like A's."
    ),
    (
        "Fig. 12 has lost its numbers. Read from Table 4 and from k = 3: 2.4 Mb/s forward with 9 packets of buffer, "
        "32 kb/s back with 9 or 10 acknowledgements, no propagation delay. Every opportunity to send is put off by up "
        "to a millisecond, so that no single coincidence decides."
    ),
    "Vegas restarts with two segments after a timeout, as ns-2's does.",
)
"""Assumptions of this project where the text is not specific, for printing with the tables."""

DIFFERENCES = (
    "Vegas is ns-2's, packet for packet, in the basic network (`verification/vegas_vs_ns2.py`): the paper's row.",
    "ns-2 2.35's own Reno gives 1.452 Mb/s, 100.2 ms and 1.93·10⁻³ s² there, as near to the paper's row as tcpsf's.",
    (
        "ns-2 2.35's own Reno gives 1.74 and 1.84 Mb/s over the asymmetric links as assumed here, like tcpsf. No "
        "reverse buffer of 4 to 50 acknowledgements brings the paper's 1.253 together with its delay."
    ),
    "Table 4 prints 23.72 and 23.73 Mb/s; 99 % of 2.4 Mb/s is 2.37.",
)
"""Reasons for the differences from the published numbers, as far as they are known."""


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A row of Table 2, 3 or 4."""

    throughput_mbps: float
    utilisation: float
    delay_ms: float
    """Mean one-way delay of the data packets."""
    variance_s2: float
    """Variance of that delay."""


@dataclass(frozen=True, slots=True)
class Sender:
    """One of the paper's senders, with its rows."""

    key: str
    label: str
    sender: str
    basic: PublishedRow
    """Row of Table 2."""
    reverse: PublishedRow
    """Row of Table 3."""
    asymmetric: PublishedRow
    """Row of Table 4, with the misprinted throughputs corrected."""


RENO = Sender(
    key="reno",
    label="Reno",
    sender="reno / full / iw=1",
    basic=PublishedRow(1.45, 0.97, 99.4, 2.06e-3),
    reverse=PublishedRow(0.823, 0.55, 134.3, 56.2e-3),
    asymmetric=PublishedRow(1.253, 0.52, 8.4, 1400e-6),
)
SANTA_CRUZ = (
    Sender(
        key="sc-1.5",
        label="SC n=1.5",
        sender="santa-cruz(n=1.5) / full / iw=2",
        basic=PublishedRow(1.42, 0.94, 55.1, 0.0041e-3),
        reverse=PublishedRow(1.213, 0.81, 54.8, 0.0034e-3),
        asymmetric=PublishedRow(1.275, 0.53, 3.5, 0.0004e-6),
    ),
    Sender(
        key="sc-3",
        label="SC n=3",
        sender="santa-cruz(n=3) / full / iw=2",
        basic=PublishedRow(1.45, 0.97, 60.6, 0.0063e-3),
        reverse=PublishedRow(1.312, 0.87, 60.6, 0.0057e-3),
        asymmetric=PublishedRow(2.372, 0.99, 4.6, 0.0003e-6),
    ),
    Sender(
        key="sc-5",
        label="SC n=5",
        sender="santa-cruz(n=5) / full / iw=2",
        basic=PublishedRow(1.47, 0.98, 79.2, 0.0073e-3),
        reverse=PublishedRow(1.390, 0.92, 73.4, 0.0080e-3),
        asymmetric=PublishedRow(2.373, 0.99, 4.8, 0.0003e-6),
    ),
)
VEGAS = Sender(
    key="vegas",
    label="Vegas (1,3)",
    sender="vegas / full / iw=1, lw=2",
    basic=PublishedRow(1.40, 0.94, 55.2, 0.0077e-3),
    reverse=PublishedRow(0.778, 0.52, 49.5, 0.0016e-3),
    asymmetric=PublishedRow(0.799, 0.33, 3.3, 0.0),
)
SENDERS = (RENO, *SANTA_CRUZ, VEGAS)
"""Senders in the order of the tables."""

SOURCE = "source"
"""Name of the workload that is measured: source A."""
CROSS = "cross"
"""Name of the workload of source B in Fig. 10."""
FORWARD, BACK = "forward", "back"
"""Names of the bottleneck, and of the line of the return path beside it."""

_TCP = Tcp(
    profile="ns2",
    mss=MSS,
    header=f"{HEADER}B",
    tick=TICK,
    rto_min="200ms",
    receive_buffer=f"{WINDOW * MSS}B",
    ssthresh_initial=f"{WINDOW // 2 * MSS}B",
)
_SAMPLES = Samples(every="50ms", workloads=(SOURCE,), links=(FORWARD,))


def own_tcp(sender: str) -> Tcp | None:
    """Return TCP settings with room for ``sender``'s option, so that packets have 1000 bytes.

    The result is ``None`` for senders without an option.

    >>> own_tcp(RENO.sender), own_tcp(SANTA_CRUZ[0].sender).mss
    (None, 976)
    """
    return Tcp(mss=MSS + OPTION) if sender.startswith("santa-cruz") else None


def _pair(
    name: str, back: str, a: str, b: str, *, rate: str, delay: str, buffer: int | None = None
) -> tuple[Link, Link]:
    held = None if buffer is None else Buffer(packets=buffer)
    return (
        Link(name=name, from_=a, to=b, rate=rate, delay=delay, buffer=held),
        Link(name=back, from_=b, to=a, rate=rate, delay=delay, buffer=held),
    )


def basic(
    *,
    sender: str,
    flows: int = 1,
    spread: str = "0s",
    access_ms: int = SPLITS_MS[0],
    duration: str = DURATION,
) -> Scenario:
    """Return Fig. 7's network: an access line, the bottleneck and another access line.

    Each line is the same in both directions. ``access_ms`` is the delay of each access line. The
    rest of 40 ms is the delay of the bottleneck.

    >>> [link.rate for link in basic(sender=VEGAS.sender).link]
    ['10Mb/s', '10Mb/s', '1.5Mb/s', '1.5Mb/s', '10Mb/s', '10Mb/s']
    """
    access, middle = f"{access_ms}ms", f"{DELAY_MS - 2 * access_ms}ms"
    return Scenario(
        name="santa-cruz-basic",
        duration=duration,
        link=(
            *_pair("access", "access-back", "a", "router-1", rate="10Mb/s", delay=access),
            *_pair(
                FORWARD,
                BACK,
                "router-1",
                "router-2",
                rate="1.5Mb/s",
                delay=middle,
                buffer=BUFFER,
            ),
            *_pair("last", "last-back", "router-2", "receiver", rate="10Mb/s", delay=access),
        ),
        workload=(
            Greedy(
                name=SOURCE,
                from_="a",
                to="receiver",
                flows=flows,
                spread=spread,
                sender=sender,
                tcp=own_tcp(sender),
            ),
        ),
        tcp=_TCP,
        samples=_SAMPLES,
        trace=(SOURCE,),
    )


def reverse(*, sender: str, access_ms: int = SPLITS_MS[0], duration: str = DURATION) -> Scenario:
    """Return Fig. 10's network: the basic one with a Reno source on the return path.

    This source is behind router 2 and sends to router 1.
    """
    network = basic(sender=sender, access_ms=access_ms, duration=duration)
    line = _pair(
        "b-access", "b-access-back", "b", "router-2", rate="10Mb/s", delay=f"{access_ms}ms"
    )
    cross = Greedy(name=CROSS, from_="b", to="router-1", flows=1, spread="1s", sender=RENO.sender)
    return replace(
        network,
        name="santa-cruz-reverse",
        link=(*network.link, *line),
        workload=(*network.workload, cross),
    )


def asymmetric(
    *, sender: str, reverse_buffer: int = REVERSE_BUFFERS[-1], duration: str = DURATION
) -> Scenario:
    """Return Fig. 12's network, as Table 4 suggests: one forward line, and a slow line back."""
    return Scenario(
        name="santa-cruz-asymmetric",
        duration=duration,
        link=(
            Link(
                name=FORWARD,
                from_="a",
                to="receiver",
                rate="2.4Mb/s",
                buffer=Buffer(packets=ASYMMETRIC_BUFFER),
            ),
            Link(
                name=BACK,
                from_="receiver",
                to="a",
                rate="32kb/s",
                buffer=Buffer(packets=reverse_buffer),
            ),
        ),
        workload=(
            Greedy(
                name=SOURCE, from_="a", to="receiver", flows=1, sender=sender, tcp=own_tcp(sender)
            ),
        ),
        tcp=replace(_TCP, send_jitter="1ms"),
        samples=_SAMPLES,
        trace=(SOURCE,),
    )
