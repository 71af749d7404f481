"""Options of `tcpsf link` that describe the link, for both directions and for each."""

from __future__ import annotations

import click

from tcpsf import _core
from tcpsf.cli.options import Option, together
from tcpsf.cli.quantities import (
    NONE,
    AsText,
    ByteRate,
    Bytes,
    FileName,
    JitterLaw,
    Mask,
    Parts,
    Probability,
    QueueLimit,
    Seconds,
)
from tcpsf.cli.readers import (
    read_bytes_or_packets,
    read_integer,
    read_number,
    read_probability,
    read_seconds,
)

LINE_OPTIONS = {
    "from": (
        "FILE:LINK",
        (
            "Begin with a link of a scenario, e.g. scenarios/lossy-access.toml:access-down. Other "
            "options replace its values."
        ),
    ),
    "rate": ("RATE", "Transmission rate of the link, e.g. 10mbit.  [default: unlimited]"),
    "rate-trace": (
        "FILE",
        (
            "Rate over time, instead of --rate: a file in the format of mahimahi (a line is a time in "
            "ms for 1504 bytes), or with a time and a rate a line."
        ),
    ),
    "police": (
        "RATE,BURST",
        "Drop packets that exceed a token bucket, e.g. 5mbit,15kB, before the queue.",
    ),
    "shape": (
        "RATE,BURST",
        "Delay packets that exceed a token bucket, e.g. 5mbit,15kB, in the queue.",
    ),
    "delay": ("TIME", "One-way propagation delay, e.g. 20ms."),
    "queue": (
        "LIMIT",
        (
            "Size of the queue: 150kB, 100packets, or 150kB/256B for a buffer of 256-byte chunks.  "
            "[default: 100 ms at the rate]"
        ),
    ),
    "red": (
        "MIN,MAX[,P]",
        (
            "Random early detection, e.g. 30kB,90kB,0.1 or 5packets,15packets. Marks ECN-capable "
            "packets instead of dropping them."
        ),
    ),
    "codel": (
        "TARGET,TIME",
        (
            "Controlled delay (RFC 8289), e.g. 5ms,100ms. Marks ECN-capable packets instead of "
            "dropping them."
        ),
    ),
    "fq-codel": (
        "TARGET,TIME[,N]",
        (
            "A queue with controlled delay for each flow (RFC 8290), e.g. 5ms,100ms. N is the number "
            "of queues.  [default: 1024]"
        ),
    ),
    "balanced": (
        "LT,UT,GAP",
        (
            "Balanced packet discard, e.g. 0.4,0.9,25: drop a packet if more than the share LT of "
            "--queue is in use, or UT for the connection's next GAP packets after a drop."
        ),
    ),
    "loss": ("P", "Lose each packet with this probability: 0.01 or 1%."),
    "loss-per-byte": ("P", "Loss probability of each byte; a packet is lost with 1-(1-P)^bytes."),
    "loss-linear": (
        "P@SIZE",
        "Loss probability proportional to packet size, e.g. 0.01@1500B.",
    ),
    "loss-burst": ("P,RUN", "Lose the share P of packets, in bursts of RUN packets on average."),
    "loss-gilbert": (
        "P,R[,BAD[,GOOD]]",
        (
            "Gilbert-Elliott model: with probability P a packet in the good state leads to the bad "
            "one, R leads back. Loss probabilities of the states: BAD is 1 and GOOD is 0 by default."
        ),
    ),
    "loss-mask": (
        "1,0,...",
        (
            "Lose exactly these TCP segments with data: 1 is lost, 0 is not, and no segment after "
            "the last. Masks of several connections are separated by semicolons."
        ),
    ),
    "loss-mask-all": (
        "1,0,...",
        "Lose exactly these packets, whether or not they have data: a mask of acknowledgments.",
    ),
    "loss-file": (
        "[data:]FILE",
        (
            "Lose the packets of a file, which has 0 or 1 (lost) for each packet, and begin again "
            "at its end. With data:FILE only TCP segments with data count."
        ),
    ),
    "jitter": (
        "LAW:TIME",
        (
            "Vary the delay of each packet: uniform:5ms, normal:5ms, pareto:5ms[,SHAPE], or "
            "file:FILE with a delay a line. Packets keep their order."
        ),
    ),
    "jitter-reorder": (
        "LAW:TIME",
        "Vary the delay as --jitter does, and let packets overtake each other.",
    ),
    "duplicate": ("P", "Send a packet twice with this probability."),
    "corrupt": ("P", "Flip one bit of a packet with this probability."),
    "path-mtu": (
        "SIZE",
        'Drop larger packets and send ICMP "too big"; packets without DF pass. From 68 to 65535 bytes.',
    ),
    "reorder": (
        "P,TIME",
        (
            "Delay a packet by an additional TIME with this probability, so that later packets "
            "overtake it, e.g. 0.01,5ms."
        ),
    ),
}
"""Options of one direction of a link: by name, the metavariable and the help text."""


_CHECKED = {
    "RATE": AsText(ByteRate(), also=(NONE,)),
    "TIME": AsText(Seconds(), also=(NONE,)),
    "P": AsText(Probability(), also=(NONE,)),
}
_SEVERAL_PARTS: dict[str, QueueLimit | Mask | Parts | FileName | JitterLaw] = {
    "queue": QueueLimit(),
    "red": Parts(
        "MIN,MAX[,P]",
        read_bytes_or_packets,
        read_bytes_or_packets,
        read_probability,
        optional=1,
        example="`30kB,90kB,0.1` or `5packets,15packets`",
    ),
    "codel": Parts("TARGET,TIME", read_seconds, read_seconds, example="`5ms,100ms`"),
    "fq-codel": Parts(
        "TARGET,TIME[,N]",
        read_seconds,
        read_seconds,
        read_integer,
        optional=1,
        example="`5ms,100ms` or `5ms,100ms,1024`",
    ),
    "balanced": Parts(
        "LT,UT,GAP", read_probability, read_probability, read_integer, example="`0.4,0.9,25`"
    ),
    "loss-linear": Parts(
        "P@SIZE", read_probability, _core.bytes, example="`0.01@1500B`", separator="@"
    ),
    "loss-burst": Parts("P,RUN", read_probability, read_number, example="`0.01,3`"),
    "loss-gilbert": Parts(
        "P,R[,BAD[,GOOD]]",
        read_probability,
        read_probability,
        read_probability,
        read_probability,
        optional=2,
        example="`0.01,0.3` or `0.01,0.3,0.8,0.001`",
    ),
    "loss-mask": Mask(),
    "loss-mask-all": Mask(),
    "rate-trace": FileName(example="`trace.txt`"),
    "police": Parts("RATE,BURST", _core.bits_per_second, _core.bytes, example="`5mbit,15kB`"),
    "shape": Parts("RATE,BURST", _core.bits_per_second, _core.bytes, example="`5mbit,15kB`"),
    "loss-file": FileName("data:", example="`losses.txt` or `data:losses.txt`"),
    "jitter": JitterLaw(),
    "jitter-reorder": JitterLaw(),
    "reorder": Parts("P,TIME", read_probability, read_seconds, example="`0.01,5ms`"),
}
_TYPES = {
    "path-mtu": AsText(Bytes(least=68, most=65_535), also=(NONE,), converted=True),
    **{name: AsText(kind, also=(NONE,)) for name, kind in _SEVERAL_PARTS.items()},
}
"""Types by metavariable and by name. The emulator checks rules about several parts."""

_TOWARDS = {"down": "towards COMMAND", "up": "from COMMAND outwards"}


def _three(name: str, metavar: str, text: str) -> Option:
    """Make three options: one for both directions, and a hidden one for each direction."""
    kind = _TYPES.get(name, _CHECKED.get(metavar))
    return together(
        click.option(f"--{name}", type=kind, metavar=metavar, help=text),
        *(
            click.option(
                f"--{direction}-{name}",
                type=kind,
                metavar=metavar,
                hidden=True,
                help=f"--{name} {towards}.",
            )
            for direction, towards in _TOWARDS.items()
        ),
    )


SETTABLE = tuple(name for name in LINE_OPTIONS if name != "from")
"""Options of a link that can change while it runs."""

line_options = together(*(_three(name, *details) for name, details in LINE_OPTIONS.items()))
settable_options = together(*(_three(name, *LINE_OPTIONS[name]) for name in SETTABLE))
"""Decorator that adds the options of both directions, and hidden ones of each direction."""
