"""The classes of a scenario: the network and the traffic.

`make docs` writes this file from the simulator's types in ``crates/sim/src/scenario.rs`` and
``crates/sim/src/scenario/``. Change it there.

The fields of these classes have the names of the keys in a TOML file and of the simulator's own
type. A name that is a Python keyword has a trailing underscore (``from_``). Quantities are text
with a unit (``"20ms"``). Flow sizes are integers in bytes. Probabilities are numbers from 0 to 1,
or text such as ``"1%"``. A field for a list accepts any sequence, and stores a tuple.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from tcpsf.scenario.doc import SHARE, Doc, Quantity
from tcpsf.scenario.part import ScenarioPart

Duration = Annotated[str, Quantity("duration", "20ms")]
"""Text with one of the units ns, us, ms, s, min, h."""

Rate = Annotated[str, Quantity("rate", "10Mb/s")]
"""Text with one of the units b/s, kb/s, Mb/s, Gb/s (or bit, kbit, Mbit, Gbit)."""

Size = Annotated[str, Quantity("size", "150kB")]
"""Text with one of the units B, kB, MB, GB (powers of ten), KiB, MiB (powers of two)."""

Share = Annotated[float, SHARE]
"""A probability, or a share of a whole: a number from 0 to 1, or text such as "1%"."""

Sender = Annotated[str, Quantity("sender", "reno+sack / fs(n=4) / iw=1")]
"""Name of a sender: congestion control with loss recovery / segmentation / windows."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PacketLoss(ScenarioPart):
    """Each packet is lost with the same probability, independently."""

    kind: ClassVar[str] = "packet"
    probability: Annotated[Share, Doc("Probability that a packet is lost, 0 to 1.")]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ByteLoss(ScenarioPart):
    """Each byte is corrupted with the same probability; a packet with a corrupted byte is lost.

    Bytes are independent.
    """

    kind: ClassVar[str] = "byte"
    probability: Annotated[Share, Doc("Probability that a byte is corrupted, 0 to 1.")]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LinearLoss(ScenarioPart):
    """The loss probability of a packet is proportional to its size."""

    kind: ClassVar[str] = "linear"
    probability: Annotated[Share, Doc("Loss probability of a packet of the size `at`, 0 to 1.")]
    at: Annotated[Size, Doc("Packet size, headers included, that is lost with `probability`.")]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BurstLoss(ScenarioPart):
    """Losses occur in bursts: a two-state Markov chain (Gilbert).

    Every packet is lost in one state, and no packet in the other.
    """

    kind: ClassVar[str] = "burst"
    probability: Annotated[Share, Doc("Mean share of packets that are lost, 0 to 1.")]
    run: Annotated[float, Doc("Mean number of consecutive packets that are lost, at least 1.")]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GilbertElliottLoss(ScenarioPart):
    """A two-state Markov chain with a loss probability in each state (Gilbert 1960, Elliott 1963).

    A packet is lost with the probability of the state that it finds. The state may then change,
    once per packet. The first packet finds the state of the long-term equilibrium. The manual page
    netem(8) calls the four probabilities p, r, 1-h and 1-k.
    """

    kind: ClassVar[str] = "gilbert-elliott"
    good_to_bad: Annotated[
        Share, Doc("Probability p of the change from the good to the bad state, 0 to 1.")
    ]
    bad_to_good: Annotated[
        Share, Doc("Probability r of the change from the bad to the good state, 0 to 1.")
    ]
    bad_loss: Annotated[Share, Doc("Loss probability 1-h in the bad state, 0 to 1.")] = 1.0
    good_loss: Annotated[Share, Doc("Loss probability 1-k in the good state, 0 to 1.")] = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MaskLoss(ScenarioPart):
    """An explicit list of the packets that are lost."""

    kind: ClassVar[str] = "mask"
    drops: Annotated[
        str,
        Doc(
            'One digit per data packet in order of arrival, separated by commas: `"1,0,0,1"` '
            "drops the 1st and the 4th. In a scenario's file, `file` may name a text file "
            "instead."
        ),
    ]
    all_packets: Annotated[
        bool,
        Doc("The entries of `drops` stand for all packets, acknowledgments and SYNs included."),
    ] = False
    repeat: Annotated[
        bool,
        Doc(
            "Begin again with the first entry after the last one. Otherwise no packet after the "
            "last entry is lost."
        ),
    ] = False


Loss = PacketLoss | ByteLoss | LinearLoss | BurstLoss | GilbertElliottLoss | MaskLoss


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Jitter(ScenarioPart):
    """Keys of every kind of jitter."""

    reorder: Annotated[bool, Doc("Let packets overtake packets that left the link earlier.")] = (
        False
    )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class UniformJitter(_Jitter):
    """The additional delay is uniform between -by and by."""

    kind: ClassVar[str] = "uniform"
    by: Annotated[Duration, Doc("The maximum of the additional delay.")]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NormalJitter(_Jitter):
    """The additional delay has a normal distribution with mean zero."""

    kind: ClassVar[str] = "normal"
    deviation: Annotated[Duration, Doc("Standard deviation of the additional delay.")]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ParetoJitter(_Jitter):
    """The additional delay has a Pareto distribution that begins at zero (Lomax)."""

    kind: ClassVar[str] = "pareto"
    mean: Annotated[Duration, Doc("Mean of the additional delay.")]
    shape: Annotated[
        float,
        Doc("Shape of the distribution, above 1 and at most 1000: the tail falls with this power."),
    ] = 3.0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SampledJitter(_Jitter):
    """The additional delay is one of a list of delays, each with the same probability."""

    kind: ClassVar[str] = "samples"
    delays: Annotated[
        str,
        Doc(
            "Delays with a unit and possibly a sign, separated by commas or line breaks: "
            '`"0.2ms,-1ms,5ms"`. In a scenario\'s file, `file` may name a text file instead.'
        ),
    ]


Jitter = UniformJitter | NormalJitter | ParetoJitter | SampledJitter


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Workload(ScenarioPart):
    """Keys of every kind of workload."""

    name: Annotated[str, Doc("Name of the workload in results.")]
    from_: Annotated[str, Doc("Node that sends the data.")]
    to: Annotated[str, Doc("Node that receives the data.")]
    sender: Annotated[Sender | None, Doc("TCP variant of the workload's flows.")] = None
    senders: Annotated[
        Sequence[SenderShare] | None, Doc("Several senders with shares, instead of `sender`.")
    ] = None
    handshake: Annotated[
        bool,
        Doc(
            "Connections open with SYNs and close with FINs. Without it, they start in the "
            "established state and without an RTT sample."
        ),
    ] = False
    opener: Annotated[
        Literal["sender", "receiver"], Doc("With a handshake: the end that opens the connection.")
    ] = "sender"
    tcp: Annotated[Tcp | None, Doc("Values that differ from the scenario's `[tcp]` table.")] = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Greedy(_Workload):
    """Flows that always have data to send and never end."""

    kind: ClassVar[str] = "greedy"
    flows: Annotated[int, Doc("Number of flows.")]
    start: Annotated[Duration, Doc("Earliest start time of a flow.")] = "0s"
    spread: Annotated[
        Duration, Doc("Each flow starts at a uniform random time within this time after `start`.")
    ] = "0s"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Poisson(_Workload):
    """Flows that arrive as a Poisson process, with independent random sizes."""

    kind: ClassVar[str] = "poisson"
    sizes: Annotated[Sizes, Doc("Distribution of the flow sizes.")]
    load: Annotated[
        float | None,
        Doc(
            "Offered load of the link `of`: arrivals per second × mean size / rate of the link, "
            "payload only. The rate of a `rate_trace` is its mean."
        ),
    ] = None
    of: Annotated[str | None, Doc("Link that `load` refers to.")] = None
    rate: Annotated[float | None, Doc("Arrivals per second, instead of `load` and `of`.")] = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Transfers(_Workload):
    """An explicit list of flows."""

    kind: ClassVar[str] = "transfers"
    sizes: Annotated[Sequence[int], Doc("Size of each flow in bytes.")]
    start: Annotated[Duration, Doc("Start time of the first flow.")] = "0s"
    spacing: Annotated[Duration, Doc("Time between the starts of consecutive flows.")] = "0s"
    records: Annotated[
        Sequence[int] | None,
        Doc(
            "Lengths of the records that the application writes, in bytes, again and again. No "
            "segment has parts of two records (`MSG_EOR`). Only for senders that count packets.",
            absent="a flow is one write",
        ),
    ] = None


Workload = Greedy | Poisson | Transfers


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Samples(ScenarioPart):
    """Quantities that are recorded over time."""

    every: Annotated[Duration, Doc("Sampling interval.")]
    workloads: Annotated[
        Sequence[str],
        Doc("Workloads for which cwnd, ssthresh and flight of each flow are sampled."),
    ] = ()
    links: Annotated[Sequence[str], Doc("Links for which the queue is sampled.")] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Link(ScenarioPart):
    """A link in one direction: a buffer, a rate, a delay and, optionally, loss."""

    name: Annotated[str, Doc("Name of the link in results and in other tables.")]
    from_: Annotated[str, Doc("Node at the start of the link. Nodes are defined by links.")]
    to: Annotated[str, Doc("Node at the end of the link.")]
    rate: Annotated[
        Rate | None,
        Doc("Transmission rate in bits per second, headers included.", absent="unlimited"),
    ] = None
    rate_trace: Annotated[
        RateTrace | None, Doc("Course of the rate over time, instead of `rate`.")
    ] = None
    police: Annotated[
        TokenBucket | None,
        Doc(
            "Token bucket in front of the buffer, which drops the packets that exceed it.",
            absent="none",
        ),
    ] = None
    shape: Annotated[
        TokenBucket | None,
        Doc(
            "Token bucket behind the buffer, which delays the packets that exceed it.",
            absent="none",
        ),
    ] = None
    delay: Annotated[Duration, Doc("Propagation delay.")] = "0s"
    changes: Annotated[Sequence[LinkChange], Doc("Changes of the link during the run.")] = ()
    jitter: Annotated[
        Jitter | None, Doc("Random variation of the delay of every packet.", absent="none")
    ] = None
    reorder: Annotated[
        Reorder | None,
        Doc(
            "Additional delay of some packets. A link in front of a port can have neither this "
            "key nor `jitter` or `changes`."
        ),
    ] = None
    cells: Annotated[
        Literal["aal5"] | None,
        Doc(
            "Send packets as AAL5 frames, in cells of 53 bytes with 48 bytes of payload each. "
            "Sizes in results remain those of the packets.",
            absent="packets",
        ),
    ] = None
    buffer: Annotated[Buffer | None, Doc("Buffer in front of the link.", absent="unlimited")] = None
    loss: Annotated[
        Loss | None, Doc("Loss on the link, in addition to drops at the buffer.", absent="none")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RateTrace(ScenarioPart):
    """Course of a link's rate, from a trace.

    A trace with one column has mahimahi's format: each line is a time in milliseconds, at which the
    link can deliver 1504 bytes, 4 of them for the header of each packet. The times do not decrease,
    and the trace repeats from the last one. Several packets may share an opportunity, and a packet
    may continue in the next. Bytes for which no packet waits are lost. With two columns, a line is
    a time and the rate from then on, such as `2.5s 10mbit`; the rate `0` is an outage. The first
    time is `0s`. A last line such as `10s repeat` begins again. Otherwise the last rate remains.
    """

    text: Annotated[
        str, Doc("Text of the trace. In a scenario's file, `file` may name a text file instead.")
    ]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TokenBucket(ScenarioPart):
    """A token bucket (RFC 2697) with one burst: it is full at first, and fills at `rate`.

    As `police` it drops packets for which it has not enough tokens, before the buffer. As `shape`
    it delays them behind the buffer. A policer drops every packet that is longer than the burst.
    """

    rate: Annotated[Rate, Doc("Rate at which tokens are added.")]
    burst: Annotated[Size, Doc("Size of the bucket, below 4 GB.")]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LinkChange(ScenarioPart):
    """A change of a link, for example by a change of route. Keys that are absent stay as they are.

    No packet is dropped by a change. Packets in the queue are sent at the new rate, after the one
    in transmission. Packets that leave the link after the change have the new delay. If it is
    shorter, they can overtake earlier ones. CoDel can neither be added nor removed.
    """

    at: Annotated[Duration, Doc("Time of the change. Changes are listed in the order of time.")]
    delay: Annotated[Duration | None, Doc("The new propagation delay.")] = None
    rate: Annotated[Rate | None, Doc("The new transmission rate.")] = None
    buffer: Annotated[Buffer | None, Doc("The new buffer.")] = None
    loss: Annotated[
        Loss | None, Doc("The new loss. A packet loss of probability 0 ends losses.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Buffer(ScenarioPart):
    """The buffer in front of a link: a queue of packets, or a port of ATM cells.

    The capacity of a queue is counted in bytes, in packets or in chunks of bytes. A port shares its
    buffer between the cells of all circuits, sends cells in their order of arrival, and discards
    some (`discard`). The cells of a frame arrive at the rate of the link in front of the port.
    Behind the port, frames are reassembled. A frame without its last cell is lost together with the
    next frame of its circuit.
    """

    bytes: Annotated[Size | None, Doc("Capacity of the buffer in bytes.")] = None
    packets: Annotated[
        int | None, Doc("Capacity of the buffer in packets, instead of `bytes`.")
    ] = None
    cells: Annotated[
        int | None,
        Doc("Capacity of a port in cells of 53 bytes, including the cell in transmission."),
    ] = None
    chunk: Annotated[
        Size | None,
        Doc(
            "With `bytes`: memory is allocated in chunks of this size, so that a packet occupies "
            "whole chunks."
        ),
    ] = None
    counts_in_service: Annotated[
        bool,
        Doc(
            "Whether the packet in transmission occupies the buffer. In ns-2 it does not count "
            "towards the queue limit."
        ),
    ] = True
    red: Annotated[
        Red | None,
        Doc(
            "Random early detection: drops or marks packets before the buffer is full.",
            absent="drop-tail",
        ),
    ] = None
    balanced: Annotated[
        Balanced | None,
        Doc(
            "Balanced packet discard instead of `red`: a higher threshold for a flow after a drop.",
            absent="drop-tail",
        ),
    ] = None
    codel: Annotated[
        CoDel | None,
        Doc(
            "Controlled delay instead of `red`: drops packets at the head of the queue when delay "
            "persists.",
            absent="drop-tail",
        ),
    ] = None
    fq_codel: Annotated[
        FqCoDel | None,
        Doc("A queue with controlled delay for each flow, instead of `red`.", absent="drop-tail"),
    ] = None
    discard: Annotated[
        Discard | None, Doc("With `cells`: the discard policy.", absent='`{ policy = "plain" }`')
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Red(ScenarioPart):
    """Random early detection (Floyd and Jacobson 1993).

    The probability that a packet is selected grows with the average queue. A selected packet is
    dropped, or marked if it is ECN-capable (RFC 3168). Above an upper limit, every packet is
    dropped. The thresholds and the average are in bytes or in packets. With bytes, the probability
    is also proportional to the packet's size.
    """

    min_bytes: Annotated[
        Size | None, Doc("`min_th`: below this average queue, no packet is selected.")
    ] = None
    max_bytes: Annotated[
        Size | None,
        Doc("`max_th`: from this average on, every packet is dropped, unless `gentle`."),
    ] = None
    min_packets: Annotated[int | None, Doc("`min_th` in packets instead of bytes.")] = None
    max_packets: Annotated[int | None, Doc("`max_th` in packets.")] = None
    max_p: Annotated[
        Share,
        Doc(
            "Probability at `max_th`, before the correction by the count since the last selected "
            "packet; above 0, at most 1."
        ),
    ] = 0.1
    w_q: Annotated[
        Share, Doc("Weight of an arrival in the moving average; above 0, at most 1.")
    ] = 0.002
    gentle: Annotated[
        bool,
        Doc(
            "The probability grows further from `max_p` at `max_th` to 1 at twice `max_th`. Every "
            "packet is dropped only above that."
        ),
    ] = False
    spare_short: Annotated[
        bool,
        Doc(
            "Accept a packet that finds at most one packet in the queue, for any average. This "
            "rule is from ns-2, not from the paper."
        ),
    ] = False
    mean_packet: Annotated[
        Size,
        Doc(
            "Mean packet size. With thresholds in bytes, a packet of this size has the computed "
            "probability. It also determines how the average decays while the link is idle."
        ),
    ] = "1500B"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Balanced(ScenarioPart):
    """Balanced packet discard (Cohen and Hamo 2001) on a queue of packets.

    A packet is dropped if it finds more than the share `lower` of the buffer in use. After a drop,
    the next `gap` packets of the same flow are dropped only if more than `upper` is in use. The
    unit is that of the buffer.
    """

    lower: Annotated[Share, Doc("Threshold for most packets, as a share of the buffer, 0 to 1.")]
    upper: Annotated[
        Share, Doc("Threshold for the packets of a flow after a drop, 0 to 1; at least `lower`.")
    ]
    gap: Annotated[int, Doc("Number of packets after a drop for which `upper` applies.")]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CoDel(ScenarioPart):
    """Controlled delay (RFC 8289): drops packets at the head of the queue when delay persists.

    If the queueing delay of packets exceeds `target` during a whole `interval`, the next packet is
    dropped. Further drops follow at intervals of `interval` divided by the square root of the
    number of drops, until a packet's delay is below `target`.
    """

    target: Annotated[Duration, Doc("Acceptable queueing delay; below `interval`.")] = "5ms"
    interval: Annotated[
        Duration, Doc("Time for which the delay may exceed `target` before the first drop.")
    ] = "100ms"
    ecn: Annotated[bool, Doc("Mark ECN-capable packets instead of dropping them.")] = True


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FqCoDel(ScenarioPart):
    """Flow queueing with controlled delay (RFC 8290): a queue for each flow, with CoDel.

    Flows are divided among `flows` queues by a hash. The queues take turns by deficit round-robin,
    and queues of new flows come first. If the buffer is full, the first packet of the queue with
    the most bytes is dropped.
    """

    target: Annotated[Duration, Doc("Acceptable queueing delay of a queue; below `interval`.")] = (
        "5ms"
    )
    interval: Annotated[
        Duration, Doc("Time for which the delay may exceed `target` before the first drop.")
    ] = "100ms"
    ecn: Annotated[bool, Doc("Mark ECN-capable packets instead of dropping them.")] = True
    flows: Annotated[int, Doc("Number of queues, 1 to 65536.")] = 1024
    quantum: Annotated[Size, Doc("Bytes that a queue may send in a turn.")] = "1514B"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Discard(ScenarioPart):
    """Discard policy of a port of ATM cells.

    With `"plain"`, a port drops each cell for which the buffer has no room. `"ppd"` (partial packet
    discard) also drops the following cells of the packet, except the last one. `"epd"` (early
    packet discard) also drops packets whose first cell finds more than `threshold` in use. `"bpd"`
    (balanced packet discard; Cohen and Hamo 2001, section 4) does the same with the threshold
    `lower`. After a loss, the next `gap` packets of the same circuit have the threshold `upper`.
    """

    policy: Annotated[Literal["plain", "ppd", "epd", "bpd"], Doc("The discard policy.")]
    threshold: Annotated[
        Share | None, Doc("With `epd`: threshold as a share of the buffer, 0 to 1.")
    ] = None
    lower: Annotated[
        Share | None,
        Doc("With `bpd`: threshold for most packets, as a share of the buffer, 0 to 1."),
    ] = None
    upper: Annotated[
        Share | None,
        Doc("With `bpd`: threshold for the packets of a circuit after a loss, 0 to 1."),
    ] = None
    gap: Annotated[
        int | None, Doc("With `bpd`: number of packets after a loss for which `upper` applies.")
    ] = None
    circuit: Annotated[
        Literal["flow", "workload"],
        Doc(
            "Traffic that shares a virtual circuit in each direction: one flow, or all flows of a "
            "workload."
        ),
    ] = "flow"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Reorder(ScenarioPart):
    """Additional delay of some packets, so that later packets overtake them.

    Each packet is delayed with the same probability, independently.
    """

    probability: Annotated[Share, Doc("Probability that a packet is delayed, 0 to 1.")]
    by: Annotated[Duration, Doc("The additional delay.")]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Route(ScenarioPart):
    """A fixed path of links for packets from one node to another."""

    from_: Annotated[str, Doc("The sending node.")]
    to: Annotated[str, Doc("The receiving node.")]
    via: Annotated[
        Sequence[str],
        Doc("Names of links in order. Each link starts at the node where the previous one ends."),
    ]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SenderShare(ScenarioPart):
    """One of several senders of a workload, with its share of the flows."""

    sender: Annotated[Sender, Doc("The sender.")]
    share: Annotated[float, Doc("Weight of the sender: flows select senders in this proportion.")]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Tcp(ScenarioPart):
    """Parameters of TCP. Absent parameters have the values of the profile."""

    profile: Annotated[
        Literal["ns2", "bsd", "rfc", "linux-6.12", "linux-6.18"] | None,
        Doc("Set of default values for absent parameters.", absent='`"rfc"`'),
    ] = None
    mss: Annotated[
        int | None, Doc("Maximum segment size: payload bytes of a full-sized segment.")
    ] = None
    rto_initial: Annotated[
        Duration | None, Doc("Retransmission timeout before the first RTT sample.")
    ] = None
    rto_min: Annotated[Duration | None, Doc("Minimum retransmission timeout.")] = None
    rto_max: Annotated[
        Duration | None, Doc("Maximum retransmission timeout, back-off included.")
    ] = None
    tick: Annotated[
        Duration | None, Doc("Granularity of the clock for RTT samples and timers.")
    ] = None
    rtt_sample: Annotated[
        Literal["window", "ack"] | None,
        Doc(
            "`window`: one RTT sample at a time; `ack`: an RTT sample from every acknowledgment "
            "of a segment that was not retransmitted."
        ),
    ] = None
    growth: Annotated[
        Literal["ack", "bytes"] | None,
        Doc(
            "Growth of the window per ACK in slow start: one segment (`ack`), or the acknowledged "
            "bytes up to one segment (`bytes`)."
        ),
    ] = None
    halving: Annotated[
        Literal["flight", "window"] | None,
        Doc(
            "Quantity that a loss halves: the data in flight (`flight`, RFC 5681), or the window "
            "at each timeout (`window`)."
        ),
    ] = None
    ssthresh_initial: Annotated[
        Size | None,
        Doc("Initial slow start threshold: slow start ends there if there is no loss before."),
    ] = None
    rtt_initial: Annotated[
        Duration | None,
        Doc(
            "Round-trip time that the sender knows when a flow starts, as on a connection that "
            "has been used before. Only without a handshake, which measures it."
        ),
    ] = None
    receiver: Annotated[
        Literal["ns2", "bsd", "rfc", "linux-6.12", "linux-6.18"] | None,
        Doc(
            "Profile of the receiving host, which determines its acknowledgments and its window. "
            "It replaces `profile` in `ack_every`, `ack_delay`, `receive_buffer` and the rules of "
            "Linux.",
            absent="that of `profile`",
        ),
    ] = None
    ack_every: Annotated[
        int | None,
        Doc(
            "Delayed ACKs: number of segments per acknowledgment; 1 acknowledges each segment. A "
            "receiver of a Linux profile has rules of its own. With `ack_every` or `ack_delay` it "
            "follows RFC 5681 instead."
        ),
    ] = None
    ack_delay: Annotated[Duration | None, Doc("Maximum delay of an ACK.")] = None
    receive_buffer: Annotated[
        Size | None,
        Doc(
            "Size of the receiver's buffer, which limits the advertised window. A receiver of "
            "Linux counts the memory of packets, and its window begins with 64 kB."
        ),
    ] = None
    send_memory: Annotated[
        Literal["unlimited", "linux"] | None,
        Doc(
            "Memory for data that the application has written and that is not acknowledged: "
            "`unlimited`, or `linux` for the limit that grows with the window. Only with a sender "
            "that counts packets."
        ),
    ] = None
    nagle: Annotated[
        bool | None,
        Doc("Nagle's algorithm: at most one segment below the current segment size in flight."),
    ] = None
    timestamps: Annotated[bool | None, Doc("Timestamps option (RFC 7323).")] = None
    interactive: Annotated[
        bool | None,
        Doc(
            "A receiver of Linux does not acknowledge the first segments at once, as after an "
            "exchange of requests and replies, or with `TCP_QUICKACK` = 0."
        ),
    ] = None
    sack: Annotated[
        bool | None,
        Doc(
            "Selective acknowledgments (RFC 2018), if the sender uses them. Without them a sender "
            "of Linux recovers as NewReno."
        ),
    ] = None
    ecn: Annotated[
        bool | None,
        Doc(
            "Explicit congestion notification (RFC 3168). Without a handshake, both ends count as "
            "ECN-capable."
        ),
    ] = None
    header: Annotated[Size | None, Doc("IP and TCP header bytes of every packet.")] = None
    send_jitter: Annotated[
        Duration | None,
        Doc(
            "Maximum of a uniform random delay before each transmission, which avoids phase "
            "effects. The order of packets does not change."
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sizes(ScenarioPart):
    """Distribution of flow sizes in bytes: exactly one of the keys, and `weights` with `classes`.

    TOML also accepts `{ file = "sizes.txt" }`. A file with one size per line gives classes, and a
    file with two columns (size, cumulative probability) gives a CDF. The path is relative to the
    TOML file. The numbers of the file become part of the scenario.
    """

    classes: Annotated[
        Sequence[int] | None, Doc("Sizes in bytes, equally likely. Results are reported by class.")
    ] = None
    weights: Annotated[
        Sequence[float] | None, Doc("With `classes`: relative weights.", absent="equal")
    ] = None
    fixed: Annotated[int | None, Doc("One size in bytes for every flow.")] = None
    exponential: Annotated[
        float | None, Doc("Exponential distribution with this mean in bytes.")
    ] = None
    pareto: Annotated[Pareto | None, Doc("Pareto distribution.")] = None
    lognormal: Annotated[LogNormal | None, Doc("Log-normal distribution.")] = None
    cdf: Annotated[
        Sequence[tuple[int, float]] | None,
        Doc("Points (bytes, cumulative probability), with linear interpolation between them."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Pareto(ScenarioPart):
    """Flow sizes with a power-law tail."""

    mean: Annotated[float, Doc("Mean size in bytes.")]
    shape: Annotated[float, Doc("Tail exponent, above 1; below 2 the variance is infinite.")]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LogNormal(ScenarioPart):
    """Flow sizes whose logarithm is normal."""

    median: Annotated[float, Doc("Median size in bytes.")]
    sigma: Annotated[float, Doc("Standard deviation of the size's natural logarithm.")]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ScenarioKeys(ScenarioPart):
    """A network, its traffic and the duration."""

    name: Annotated[str, Doc("A label for the results, such as `first`.")]
    duration: Annotated[Duration, Doc("Simulated time.")]
    warm_up: Annotated[
        Duration,
        Doc(
            "Flows that start before this time are simulated but not recorded. Link statistics "
            "start at this time."
        ),
    ] = "0s"
    drain: Annotated[
        Duration | None,
        Doc(
            "Maximum time that the run continues after `duration`, until every finite flow that "
            "started before is complete. During this time Poisson flows still arrive, but do not "
            "count. Flows that are then incomplete are recorded without a completion time.",
            absent="1000s with a Poisson workload, else 0s",
        ),
    ] = None
    link: Annotated[Sequence[Link], Doc("Links of the network. Their ends define the nodes.")]
    route: Annotated[
        Sequence[Route],
        Doc("Fixed paths.", absent="fewest hops; ties go to the links listed first"),
    ] = ()
    workload: Annotated[Sequence[Workload], Doc("Traffic of the network.")]
    tcp: Annotated[Tcp, Doc("Parameters of TCP for all workloads.")] = field(default_factory=Tcp)
    samples: Annotated[
        Samples | None, Doc("Quantities that are recorded over time.", absent="nothing")
    ] = None
    trace: Annotated[
        Sequence[str], Doc("Workloads of which every packet is recorded.", absent="none")
    ] = ()
