"""Set-ups of a replay: a bounded number of paths and senders that stand for all transfers.

Transfers whose connections have the same kind of sender, the same options, the same segment size, the
same delay of acknowledgments and about the same round-trip time share a set-up. Each of them keeps its
own size.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean
from typing import Any, Literal, NamedTuple, TypeAlias

from tcpsf.advice.law_variants import LawVariant, scaled
from tcpsf.advice.population import Population
from tcpsf.advice.receivers import initial_rtt_s
from tcpsf.advice.remedy_list import COUNTED, RFC_WINDOW, Remedy
from tcpsf.scenario import Link, Scenario, Tcp, Transfers

MOST_GROUPS = 12
"""Largest number of combinations of all that the transfers of a set-up have in common."""

MOST_SETUPS = 48
"""Largest number of set-ups."""

NEAR = 1.1
"""Ratio of round-trip times up to which transfers share a set-up, if that makes few enough."""

SPACING_S = 1.0013711
"""Time in seconds between the starts of transfers.

It is no multiple of a tick, so that the phases of timers vary.
"""

BURST_PARTS = 8
"""Number of parts of a set-up for losses in bursts, each with regular starts of its own.

The transfers of a set-up share the state of the link. The starts of all parts together are irregular.
Their mean interval is that of the capture, or a round-trip time. A burst has therefore mostly ended
when a lost packet is repaired a round trip later.
"""

PART_RATIO = 0.0371
"""Relative difference between the intervals of two parts."""

SHORTEST_S = 1e-4
"""Shortest interval in seconds, which bounds the number of simultaneous transfers."""

RATE = "10Gb/s"
"""Rate of links without a limit. Packets that leave together then do not arrive at the same
instant."""

FREE = 2.0
"""Least ratio of the interval between transfers to the time that a link of limited rate needs for
one. The queue of a transfer has therefore ended when the next one starts."""

DRAIN = "600s"
"""Time for which a run continues to complete its transfers."""

Profile: TypeAlias = Literal["linux-6.18", "rfc"]

LINUX: Profile = "linux-6.18"
"""Profile of senders with RACK-TLP, and of all receivers."""


class Control(NamedTuple):
    """Congestion control and loss recovery of a sender, with its profile."""

    name: str
    """First part of the sender's name."""
    profile: Profile
    rto_min_s: float | None
    """Minimum timeout in seconds, if it is not that of the profile."""

    @property
    def most_window(self) -> int:
        """Largest initial window in segments."""
        return COUNTED if self.profile == LINUX else RFC_WINDOW


class _Group(NamedTuple):
    """Properties that all transfers of a set-up have in common."""

    control: Control
    sack: bool
    timestamps: bool
    mss: int
    window: int
    loss_factor: float
    doublings: int
    """Binary logarithm of the rate in bits per second, rounded; 0 without a limit."""
    ack_delay_s: float
    """Delay of the receiver's acknowledgments in seconds; 0 for that of Linux."""
    initial_rtt_s: float
    """Round-trip time in seconds from which the timers begin; 0 for that of the path."""


class _Member(NamedTuple):
    """A transfer of a group."""

    rtt_s: float
    bytes: int
    interval_s: float
    rate_bps: float
    """Zero without a limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySetup:
    """A path and a sender, with the transfers for which they stand."""

    control: Control
    """Sender without framing and window."""
    sack: bool
    timestamps: bool
    mss_bytes: int
    window: int
    """Window in segments with which the transfers begin."""
    loss_factor: float
    """Factor by which losses exceed those of the law."""
    rtt_s: float
    """Round-trip time in seconds: the mean."""
    rate_bps: float | None
    """Rate of the slowest link in bits per second: the geometric mean. ``None`` without a limit."""
    interval_s: float
    """Time in seconds between transfers whose losses in bursts belong together."""
    ack_delay_s: float | None
    """Delay in seconds of acknowledgments of lone segments; ``None`` for the receiver of Linux."""
    initial_rtt_s: float | None
    """Round-trip time in seconds from which the timers begin; ``None`` for that of the path."""
    sizes: tuple[int, ...]
    """Bytes of each transfer in ascending order."""

    @property
    def segments(self) -> float:
        """Mean number of full-sized segments of a transfer."""
        return sum(-(-size // self.mss_bytes) for size in self.sizes) / len(self.sizes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        sizes = self.sizes
        return {
            "sender": self.control.name,
            "profile": self.control.profile,
            "rto_min_s": self.control.rto_min_s,
            "sack": self.sack,
            "timestamps": self.timestamps,
            "mss_bytes": self.mss_bytes,
            "window_segments": self.window,
            "loss_factor": self.loss_factor,
            "rtt_s": self.rtt_s,
            "rate_bps": self.rate_bps,
            "interval_s": self.interval_s,
            "ack_delay_s": self.ack_delay_s,
            "initial_rtt_s": self.initial_rtt_s,
            "transfers": len(sizes),
            "size_min_bytes": sizes[0],
            "size_median_bytes": sizes[len(sizes) // 2],
            "size_max_bytes": sizes[-1],
        }


def setups(found: Population, *, sender: str | None = None) -> tuple[ReplaySetup, ...]:
    """Return the set-ups of a population, in the order of their numbers of transfers.

    ``sender`` is the control of all senders, instead of the inferred ones.
    """
    grouped: defaultdict[_Group, list[_Member]] = defaultdict(list)
    for row in found.transfers.iter_rows(named=True):
        control = _control(row["kind"], row["sack"], found, sender)
        window = min(_window(row["window"], found.initial_window), control.most_window)
        options = row["sack"], row["timestamps"], row["mss"]
        rate_bps = row["rate_bps"] or 0.0
        doublings = round(math.log2(rate_bps)) if rate_bps else 0
        delay_s = row["ack_delay_s"]
        is_later = delay_s and control.profile == LINUX and row["srtt_s"] is not None
        timers = initial_rtt_s(row["rtt_s"], delay_s, row["srtt_s"]) if is_later else 0.0
        group = _Group(control, *options, window, row["loss_factor"], doublings, delay_s, timers)
        member = _Member(row["rtt_s"], row["bytes"], row["interval_s"], rate_bps)
        grouped[group].append(member)
    made = [
        ReplaySetup(
            control=group.control,
            sack=group.sack,
            timestamps=group.timestamps,
            mss_bytes=group.mss,
            window=group.window,
            loss_factor=group.loss_factor,
            rtt_s=fmean(each.rtt_s for each in near),
            rate_bps=_rate_bps(near),
            interval_s=fmean(each.interval_s for each in near),
            ack_delay_s=group.ack_delay_s or None,
            initial_rtt_s=group.initial_rtt_s or None,
            sizes=tuple(sorted(each.bytes for each in near)),
        )
        for group, members, most in _shares(_merged(grouped))
        for near in _by_rtt(members, most)
    ]
    return tuple(sorted(made, key=lambda each: -len(each.sizes)))


def _window(window: int, initial: int) -> int:
    """Return the class of a window in segments: the initial one, times a power of two."""
    doublings = math.floor(math.log2(window / initial))
    return max(1, initial << doublings if doublings >= 0 else initial >> -doublings)


def _rate_bps(members: Sequence[_Member]) -> float | None:
    """Return the rate for some transfers. Those without a limit are not among others, or few."""
    rates = [each.rate_bps for each in members if each.rate_bps]
    return geometric_mean(rates) if 2 * len(rates) > len(members) else None


def _control(kind: str, sack: bool, found: Population, sender: str | None) -> Control:
    """Return the sender that replays one of this kind."""
    if sender is not None:
        counts = sender.startswith("linux") or "+rack" in sender
        return Control(sender, LINUX if counts else "rfc", None if counts else found.rto_min_s)
    if kind in ("linux", "linux-middle") or (kind == "unknown" and found.tail_probes):
        return Control("linux", LINUX, None)
    if not sack:
        return Control("reno+newreno", "rfc", found.rto_min_s)
    return Control("reno+fack" if kind == "linux-old" else "reno+sack", "rfc", found.rto_min_s)


def _merged(grouped: dict[_Group, list[_Member]]) -> dict[_Group, list[_Member]]:
    """Join the rarest groups with the one that has the most in common with them."""
    order = sorted(grouped, key=lambda group: (-len(grouped[group]), group))
    kept = {group: grouped[group] for group in order[:MOST_GROUPS]}
    for group in order[MOST_GROUPS:]:
        nearest = max(
            kept,
            key=lambda other: (
                other.control == group.control,
                other.sack == group.sack,
                -abs(other.ack_delay_s - group.ack_delay_s),
                -abs(other.loss_factor - group.loss_factor),
                -abs(other.window - group.window),
                -abs(other.doublings - group.doublings),
                -abs(other.mss - group.mss),
            ),
        )
        kept[nearest] = kept[nearest] + grouped[group]
    return kept


def _shares(
    groups: dict[_Group, list[_Member]],
) -> Iterator[tuple[_Group, list[_Member], int]]:
    """Yield each group with the number of set-ups that it may have."""
    total = sum(map(len, groups.values()))
    for group, members in groups.items():
        yield group, members, 1 + (MOST_SETUPS - len(groups)) * len(members) // total


def _by_rtt(members: list[_Member], most: int) -> list[list[_Member]]:
    """Divide transfers by their round-trip times into at most ``most`` parts."""
    members = sorted(members)
    ratio = NEAR
    while True:
        parts: list[list[_Member]] = []
        for member in members:
            if not parts or member.rtt_s > parts[-1][0].rtt_s * ratio:
                parts.append([])
            parts[-1].append(member)
        if len(parts) <= most:
            return parts
        ratio **= 1.5


def drawn(parts: Sequence[ReplaySetup], transfers: int, seed: int) -> list[tuple[int, ...]]:
    """Draw the sizes of a run for each set-up: ``transfers`` in all, in proportion to the capture.

    This is systematic sampling (Cochran, Sampling Techniques, chapter 8): equal steps through the
    ordered list of all transfers, from a random begin.
    """
    total = sum(len(part.sizes) for part in parts)
    begin = random.Random(f"{seed}").random()  # noqa: S311 (no secret)
    places = [int((number + begin) * total / transfers) for number in range(transfers)]
    found, before = [], 0
    for part in parts:
        first = bisect_left(places, before)
        after = before + len(part.sizes)
        last = bisect_left(places, after)
        sizes = [part.sizes[place - before] for place in places[first:last]]
        # Consecutive transfers have different sizes, as in the capture.
        random.Random(f"{seed} {before}").shuffle(sizes)  # noqa: S311
        found.append(tuple(sizes))
        before = after
    return found


def scenario(
    parts: Sequence[ReplaySetup],
    sizes: Sequence[Sequence[int]],
    *,
    law: LawVariant,
    remedy: Remedy,
    initial_window: int,
) -> Scenario:
    """Return the scenario of a run: a path of its own for each set-up that has transfers.

    Data has the losses of the law. Acknowledgments have none.
    """
    bursts = any(loss.kind == "burst" for loss in law.losses)
    longest_s = 0.0
    links: list[Link] = []
    workloads: list[Transfers] = []
    for number, (part, listed) in enumerate(zip(parts, sizes, strict=True)):
        if not listed:
            continue
        links += _links(number, part, law)
        sender = remedy.sender(
            part.control.name, part.window, initial_window, part.control.most_window
        )
        for at, (chosen, spacing_s) in enumerate(_starts(part, listed, bursts=bursts)):
            longest_s = max(longest_s, (len(chosen) + 1) * spacing_s)
            workloads.append(
                Transfers(
                    name=f"setup-{number}-{at}",
                    from_=f"server-{number}",
                    to=f"client-{number}",
                    sizes=chosen,
                    spacing=_nanos(spacing_s),
                    sender=sender,
                    tcp=_tcp(part),
                )
            )
    return Scenario(
        name=f"{remedy.name}, {law.name}",
        duration=_nanos(longest_s),
        drain=DRAIN,
        link=tuple(links),
        workload=tuple(workloads),
    )


def _starts(
    part: ReplaySetup, sizes: Sequence[int], *, bursts: bool
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield the transfers that start at regular times, with their interval in seconds."""
    needed_s = FREE * max(sizes) * 8 / part.rate_bps if part.rate_bps else 0.0
    if not bursts:
        yield tuple(sizes), max(SPACING_S, needed_s)
        return
    mean_s = max(part.interval_s, SHORTEST_S, needed_s)
    for at in range(BURST_PARTS):
        chosen = tuple(sizes[at::BURST_PARTS])
        if chosen:
            yield chosen, mean_s * BURST_PARTS * (1.0 + PART_RATIO * (at - BURST_PARTS / 2))


def _links(number: int, part: ReplaySetup, law: LawVariant) -> Iterator[Link]:
    """Yield the links of a set-up: one for each loss, the first with its rate, and one back."""
    half = _nanos(part.rtt_s / 2)
    nodes = [f"server-{number}", *(f"loss-{number}-{at}" for at in range(1, len(law.losses)))]
    nodes.append(f"client-{number}")
    for at, loss in enumerate(scaled(law.losses, part.loss_factor)):
        yield Link(
            name=f"data-{number}-{at}",
            from_=nodes[at],
            to=nodes[at + 1],
            rate=RATE if at or part.rate_bps is None else f"{round(part.rate_bps)}b/s",
            delay="0s" if at else half,
            loss=loss,
        )
    yield Link(name=f"acks-{number}", from_=nodes[-1], to=nodes[0], rate=RATE, delay=half)


def _tcp(part: ReplaySetup) -> Tcp:
    rto_min = part.control.rto_min_s
    return Tcp(
        profile=part.control.profile,
        receiver=None if part.ack_delay_s is not None else LINUX,
        # RFC 5681 §4.2: every second segment is acknowledged at once.
        ack_every=None if part.ack_delay_s is None else 2,
        ack_delay=None if part.ack_delay_s is None else _nanos(part.ack_delay_s),
        mss=part.mss_bytes,
        rtt_initial=_nanos(part.initial_rtt_s or part.rtt_s),
        rto_min=None if rto_min is None else _nanos(rto_min),
        sack=part.sack,
        timestamps=part.timestamps,
    )


def _nanos(seconds: float) -> str:
    return f"{round(seconds * 1e9)}ns"


def counted(parts: Sequence[ReplaySetup]) -> Counter[str]:
    """Count the transfers by the sender that replays them."""
    found: Counter[str] = Counter()
    for part in parts:
        found[part.control.name] += len(part.sizes)
    return found
