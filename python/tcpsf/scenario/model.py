"""The scenario: a network, what is sent through it, and for how long.

A scenario is data. The same words are the keys of a TOML file, the fields of these classes and the
fields of the simulator's own type; where a word belongs to Python it gets a trailing underscore
(``from_``). Quantities are text with a unit (``"20ms"``), flow sizes are whole bytes, probabilities
are numbers from 0 to 1 or text such as ``"1%"``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from tcpsf.scenario.doc import Doc, Duration, Rate, Sender, Share, Size


@dataclass(frozen=True, slots=True, kw_only=True)
class Red:
    """Random early detection (Floyd and Jacobson 1993): the longer the average queue, the more packets are chosen.

    A packet that is chosen is dropped, or marked if it is ECN-capable (RFC 3168), until the average
    is so long that every packet is dropped. Thresholds are in bytes or in packets, and so is the
    average. In bytes a packet's chance grows with its size.
    """

    min_bytes: Annotated[Size | None, Doc("`min_th`: below this average no packet is chosen.")] = (
        None
    )
    max_bytes: Annotated[
        Size | None, Doc("`max_th`: from this average on every packet is dropped.")
    ] = None
    min_packets: Annotated[int | None, Doc("`min_th` in packets, in place of bytes.")] = None
    max_packets: Annotated[int | None, Doc("`max_th` in packets.")] = None
    max_p: Annotated[
        Share, Doc("Probability, before counting, that is reached at `max_th`; above 0, at most 1.")
    ] = 0.1
    w_q: Annotated[
        Share, Doc("Weight of an arrival in the moving average; above 0, at most 1.")
    ] = 0.002
    gentle: Annotated[
        bool,
        Doc(
            "From `max_th` to its double the probability goes on to 1; only beyond is every packet dropped."
        ),
    ] = False
    spare_short: Annotated[
        bool,
        Doc(
            "A packet that finds at most one packet passes, whatever the average: ns-2's rule, not the paper's."
        ),
    ] = False
    mean_packet: Annotated[
        Size,
        Doc(
            "Mean packet size: has the computed chance with thresholds in bytes; paces the average on an idle line."
        ),
    ] = "1500B"


@dataclass(frozen=True, slots=True, kw_only=True)
class Balanced:
    """Balanced packet discard (Cohen and Hamo 2001) on a queue of packets: who has just lost one is spared for a while.

    A packet that finds more than `lower` of the buffer taken is dropped. After a loss, the next
    `gap` packets of that flow are dropped only where more than `upper` is taken. In the unit in
    which the buffer is counted.
    """

    lower: Annotated[Share, Doc("The threshold for everybody, a share of the buffer, 0 to 1.")]
    upper: Annotated[
        Share, Doc("The threshold for flows that have just lost a packet; at least `lower`.")
    ]
    gap: Annotated[int, Doc("For how many packets they have it.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoDel:
    """Controlled delay (RFC 8289): packets that have waited too long for too long are dropped as they leave the queue.

    Where packets have waited for more than `target` throughout an `interval`, the next is dropped,
    and more of them in a rhythm that quickens with the square root of their number, until one has
    waited for less.
    """

    target: Annotated[Duration, Doc("How long packets may wait; below `interval`.")] = "5ms"
    interval: Annotated[Duration, Doc("For how long they may wait longer.")] = "100ms"
    ecn: Annotated[
        bool, Doc("Packets that are ECN-capable are marked instead of being dropped.")
    ] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Discard:
    """What a port drops: cells, partial packets, early packets, or one packet at a time.

    `"plain"`: each cell for which there is no room. `"ppd"`: and what follows it of its packet, but
    for the last cell. `"epd"`: and packets whose first cell finds more than `threshold` taken.
    `"bpd"` (Cohen and Hamo 2001, section 4): the same with `lower`, and with `upper` for the next
    `gap` packets of a circuit that has lost one.
    """

    policy: Annotated[Literal["plain", "ppd", "epd", "bpd"], Doc("Which rule.")]
    threshold: Annotated[Share | None, Doc("With `epd`: a share of the buffer, 0 to 1.")] = None
    lower: Annotated[
        Share | None, Doc("With `bpd`: the threshold for everybody, a share of the buffer, 0 to 1.")
    ] = None
    upper: Annotated[
        Share | None, Doc("With `bpd`: that for circuits that have just lost a packet.")
    ] = None
    gap: Annotated[int | None, Doc("With `bpd`: for how many packets they have it.")] = None
    circuit: Annotated[
        Literal["flow", "workload"],
        Doc("What makes a virtual circuit, in each direction: a flow, or all flows of a workload."),
    ] = "flow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """Where packets wait for the line: a queue counted in bytes, in packets or in chunks of bytes; or a port of cells.

    A port shares its buffer between the cells of all circuits, sends them as they come, and
    discards some (`discard`). Frames come in a cell at a time, as fast as the link before it sends.
    Behind it they are put together again; one that lost its last cell takes the next of its circuit
    with it.
    """

    bytes: Annotated[Size | None, Doc("The buffer's capacity in bytes.")] = None
    packets: Annotated[
        int | None, Doc("The buffer's capacity in packets, in place of `bytes`.")
    ] = None
    cells: Annotated[
        int | None, Doc("The capacity of a port in cells of 53 bytes, the one being sent included.")
    ] = None
    chunk: Annotated[
        Size | None,
        Doc(
            "With `bytes`: memory is handed out in pieces of this size, so a packet takes whole pieces."
        ),
    ] = None
    counts_in_service: Annotated[
        bool,
        Doc(
            "Whether the packet being transmitted still occupies the buffer (ns-2's queue limit does not count it)."
        ),
    ] = True
    red: Annotated[
        Red | None, Doc("What is dropped or marked although there is room.", absent="drop-tail")
    ] = None
    balanced: Annotated[
        Balanced | None,
        Doc("In place of `red`: who has just lost a packet is spared.", absent="drop-tail"),
    ] = None
    codel: Annotated[
        CoDel | None,
        Doc(
            "In place of `red`: what has waited too long is dropped as it leaves.",
            absent="drop-tail",
        ),
    ] = None
    discard: Annotated[
        Discard | None, Doc("With `cells`: which packets suffer.", absent='`{ policy = "plain" }`')
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketLoss:
    """Each packet is lost with the same probability, independently."""

    kind: ClassVar[str] = "packet"
    probability: Annotated[Share, Doc("Probability that a packet is lost, 0 to 1.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteLoss:
    """Each byte is hit with the same probability, independently; a packet with a hit byte is lost."""

    kind: ClassVar[str] = "byte"
    probability: Annotated[Share, Doc("Probability that a byte is hit, 0 to 1.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearLoss:
    """A packet's loss probability grows in proportion to its size."""

    kind: ClassVar[str] = "linear"
    probability: Annotated[Share, Doc("Loss probability of a packet of the size `at`, 0 to 1.")]
    at: Annotated[Size, Doc("The packet size, headers included, that is lost with `probability`.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstLoss:
    """Losses come in runs: a two-state chain, everything is lost in one state and nothing in the other."""

    kind: ClassVar[str] = "burst"
    probability: Annotated[
        Share, Doc("Mean loss: the share of packets lost in the long run, 0 to 1.")
    ]
    run: Annotated[float, Doc("Mean number of packets lost in a row, at least 1.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskLoss:
    """An explicit list says which data packets are lost; acknowledgements pass."""

    kind: ClassVar[str] = "mask"
    drops: Annotated[
        str,
        Doc(
            'One digit a data packet, in order of arrival, separated by commas: `"1,0,0,1"` drops the 1st and the 4th.'
        ),
    ]


Loss = PacketLoss | ByteLoss | LinearLoss | BurstLoss | MaskLoss


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayChange:
    """Another path: what leaves the line from then on has another delay, and if it is shorter, overtakes."""

    at: Annotated[Duration, Doc("From when on. Changes stand in order of time.")]
    delay: Annotated[Duration, Doc("The new propagation delay.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reorder:
    """Some packets fall behind, so that others overtake them; each with the same probability, independently."""

    probability: Annotated[Share, Doc("Probability that a packet that arrives is late, 0 to 1.")]
    by: Annotated[Duration, Doc("By how much.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A line in one direction: a buffer, then a rate, then a delay; then, perhaps, loss."""

    name: Annotated[str, Doc("What results and other tables call it.")]
    from_: Annotated[str, Doc("The node it starts at. Nodes exist by being named here.")]
    to: Annotated[str, Doc("The node it ends at.")]
    rate: Annotated[
        Rate | None, Doc("Bits per second, headers included.", absent="infinitely fast")
    ] = None
    delay: Annotated[Duration, Doc("Propagation delay.")] = "0s"
    delay_changes: Annotated[tuple[DelayChange, ...], Doc("When it becomes another.")] = ()
    reorder: Annotated[
        Reorder | None,
        Doc("Which packets others overtake. Neither this nor `delay_changes` in front of a port."),
    ] = None
    cells: Annotated[
        Literal["aal5"] | None,
        Doc(
            "The line sends packets as AAL5 frames, in cells of 53 bytes for 48 each; sizes stay the packets' own.",
            absent="packets",
        ),
    ] = None
    buffer: Annotated[Buffer | None, Doc("The queue in front of the line.", absent="unlimited")] = (
        None
    )
    loss: Annotated[
        Loss | None, Doc("Loss on the line, apart from a full buffer.", absent="none")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The links that packets from one node to another take."""

    from_: Annotated[str, Doc("The node that sends.")]
    to: Annotated[str, Doc("The node that receives.")]
    via: Annotated[
        tuple[str, ...],
        Doc("Names of links, in order, each starting where the one before it ends."),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tcp:
    """TCP's parameters. Those that are absent come from the profile."""

    profile: Annotated[
        Literal["ns2", "bsd", "rfc"] | None,
        Doc("Where values that are not given come from.", absent='`"rfc"`'),
    ] = None
    mss: Annotated[int | None, Doc("Maximum segment size: payload bytes of a full segment.")] = None
    rto_initial: Annotated[
        Duration | None, Doc("Retransmission timeout before the first RTT sample.")
    ] = None
    rto_min: Annotated[Duration | None, Doc("Lower bound of the retransmission timeout.")] = None
    rto_max: Annotated[
        Duration | None, Doc("Upper bound of the retransmission timeout, back-off included.")
    ] = None
    tick: Annotated[
        Duration | None, Doc("Granularity of the clock that measures RTTs and runs timers.")
    ] = None
    rtt_sample: Annotated[
        Literal["window", "ack"] | None,
        Doc(
            "`window`: one segment is timed at a time; `ack`: every acknowledgement of a segment sent once counts."
        ),
    ] = None
    growth: Annotated[
        Literal["ack", "bytes"] | None,
        Doc(
            "What an ACK adds in slow start: a segment (`ack`), or what it acknowledges, a segment at most (`bytes`)."
        ),
    ] = None
    halving: Annotated[
        Literal["flight", "window"] | None,
        Doc(
            "What a loss halves: the data in flight (`flight`, RFC 5681), or the window at each expiry (`window`)."
        ),
    ] = None
    ssthresh_initial: Annotated[
        Size | None,
        Doc(
            "The slow start threshold of a new flow, where slow start ends if nothing is lost before."
        ),
    ] = None
    ack_every: Annotated[
        int | None, Doc("Delayed ACKs: acknowledge every so many segments; 1 acknowledges each.")
    ] = None
    ack_delay: Annotated[Duration | None, Doc("The longest an ACK is delayed.")] = None
    receive_buffer: Annotated[
        Size | None, Doc("The receiver's buffer, hence the largest advertised window.")
    ] = None
    nagle: Annotated[
        bool | None,
        Doc("Nagle's algorithm: at most one segment below the current segment size in flight."),
    ] = None
    timestamps: Annotated[bool | None, Doc("The timestamps option (RFC 7323).")] = None
    ecn: Annotated[
        bool | None,
        Doc(
            "Explicit congestion notification (RFC 3168); without a handshake it is taken as agreed on."
        ),
    ] = None
    header: Annotated[
        Size | None,
        Doc("IP and TCP header bytes of every packet."),
    ] = None
    send_jitter: Annotated[
        Duration | None,
        Doc("Each transmission waits for a uniform time below this, order kept: no phase effects."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderShare:
    """One of several senders that a workload's flows draw from."""

    sender: Annotated[Sender, Doc("The sender.")]
    share: Annotated[float, Doc("Its weight: flows choose it in this proportion.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pareto:
    """Flow sizes with a power-law tail."""

    mean: Annotated[float, Doc("Mean size in bytes.")]
    shape: Annotated[float, Doc("Tail exponent, above 1; below 2 the variance is infinite.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogNormal:
    """Flow sizes whose logarithm is normal."""

    median: Annotated[float, Doc("Median size in bytes.")]
    sigma: Annotated[float, Doc("Standard deviation of the size's natural logarithm.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How many bytes each flow sends: exactly one of the distributions.

    In TOML also ``{ file = "sizes.txt" }``: one size a line gives classes, two columns (size,
    cumulative probability) give a CDF. The path is relative to the TOML file, and the numbers
    become part of the scenario.
    """

    classes: Annotated[
        tuple[int, ...] | None,
        Doc("Sizes in bytes, equally likely; results are reported by class."),
    ] = None
    weights: Annotated[
        tuple[float, ...] | None, Doc("With `classes`: how likely each is.", absent="equal")
    ] = None
    fixed: Annotated[int | None, Doc("Every flow has this many bytes.")] = None
    exponential: Annotated[float | None, Doc("Exponential with this mean in bytes.")] = None
    pareto: Annotated[Pareto | None, Doc("Pareto.")] = None
    lognormal: Annotated[LogNormal | None, Doc("Log-normal.")] = None
    cdf: Annotated[
        tuple[tuple[int, float], ...] | None,
        Doc("Points (bytes, cumulative probability), joined by straight lines."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Workload:
    """What every kind of workload has."""

    name: Annotated[str, Doc("What results call it.")]
    from_: Annotated[str, Doc("The node that sends the data.")]
    to: Annotated[str, Doc("The node that receives it.")]
    sender: Annotated[Sender | None, Doc("How its flows send.")] = None
    senders: Annotated[
        tuple[SenderShare, ...] | None, Doc("A mix of senders, in place of `sender`.")
    ] = None
    handshake: Annotated[
        bool,
        Doc("Open with SYNs and close with FINs, or start established and without an RTT sample."),
    ] = False
    opener: Annotated[
        Literal["sender", "receiver"], Doc("With a handshake: which end opens the connection.")
    ] = "sender"
    tcp: Annotated[Tcp | None, Doc("Values that differ from the scenario's `[tcp]` table.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Greedy(_Workload):
    """Flows that always have data to send and never end."""

    kind: ClassVar[str] = "greedy"
    flows: Annotated[int, Doc("How many.")]
    start: Annotated[Duration, Doc("When the first may start.")] = "0s"
    spread: Annotated[
        Duration, Doc("Each starts at a uniform moment within this time after `start`.")
    ] = "0s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Poisson(_Workload):
    """Flows that arrive independently of one another, each with a size of its own."""

    kind: ClassVar[str] = "poisson"
    sizes: Annotated[Sizes, Doc("How many bytes each flow sends.")]
    load: Annotated[
        float | None,
        Doc(
            "Offered load of the link `of`: arrivals per second × mean size / its rate, payload only."
        ),
    ] = None
    of: Annotated[str | None, Doc("The link that `load` refers to.")] = None
    rate: Annotated[float | None, Doc("Arrivals per second, in place of `load` and `of`.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfers(_Workload):
    """Flows listed one by one."""

    kind: ClassVar[str] = "transfers"
    sizes: Annotated[tuple[int, ...], Doc("The size of each flow in bytes.")]
    start: Annotated[Duration, Doc("When the first starts.")] = "0s"
    spacing: Annotated[Duration, Doc("From one start to the next.")] = "0s"


Workload = Greedy | Poisson | Transfers


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """What to record over time."""

    every: Annotated[Duration, Doc("The sampling interval.")]
    workloads: Annotated[
        tuple[str, ...], Doc("Workloads whose flows' cwnd, ssthresh and flight are sampled.")
    ] = ()
    links: Annotated[tuple[str, ...], Doc("Links whose queue is sampled.")] = ()
