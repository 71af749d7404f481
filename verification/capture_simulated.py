"""Compare the causes that `tcpsf analyze` finds with what simulated senders did.

Senders of the RFCs and of Linux, with and without framing, send over links with random losses,
bursts of losses, reordering, full buffers and lost acknowledgments. Some send copies of their last
segment, at once or 10 ms later. The packets are captured at both hosts, and a capture between them is
computed. Each retransmission of a capture is compared. A copy is no retransmission: one that the
analysis lists counts against the precision of its cause. The timestamps of Linux tell a late copy from
a retransmission. Copies of the other senders are known by their time alone.

    python verification/capture_simulated.py [--worst N]

For captures at the sender, precision and recall of each cause must be 99 % at least, or only one be
wrong. Those of the other positions are stated. `--worst` prints the first N differences with the packet's evidence.
"""

# ruff: noqa: T201 (this program prints verdicts)

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal

import _capture_frames
import _simulated_truth
from _capture_frames import Frame
from _cause_counts import Pairs, matched, report

from tcpsf import (
    Buffer,
    BurstLoss,
    Link,
    PacketLoss,
    Pcap,
    Reorder,
    Scenario,
    Tcp,
    Transfers,
    captures,
    run,
)
from tcpsf.captures import SenderRules

SERVER, CLIENT = "server", "client"
DELAY_MS: Final = 10
FIRST_LINKS: Final = {
    SERVER: ("access", DELAY_MS * 1_000_000),
    CLIENT: ("up", DELAY_MS * 1_000_000),
}
"""Links of unlimited rate from a host to the point between both, and their delays."""
SIZES: Final = [1, 2, 3, 4, 5, 6, 8, 10, 14, 20, 40, 80]
"""Sizes of the transfers in full segments, less some bytes."""
ROUNDS: Final = 25

WITHOUT_PROBES: Final = "linux without TLP"
"""Senders that are not judged.

The timeout of a single segment passes at the time of a probe. So the packets do not tell whether a
sender of Linux has probes, which it has unless a setting forbids them.
"""

COPY: Final = "copy"
"""True cause of a copy of the last segment, which the sender made before it knew of a loss."""

SAME: Final = {"probe_of_new_data": "rack"}
"""Causes of the analysis that are one in the simulator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """A sender, and the causes that acknowledgments give it."""

    name: str
    profile: Literal["rfc", "linux-6.12", "linux-6.18"]
    detected: Sequence[str]
    """First of these, or another that is also right."""
    timestamps: bool | None = None
    """Whether the sender has the timestamps option; ``None`` for that of the profile."""

    @property
    def family(self) -> str:
        """Group of senders whose counts are added up."""
        if not self.has_rack:
            return "RFC"
        has_probes = "tlp" in self.name or self.name.startswith("linux")
        return "linux" if has_probes else WITHOUT_PROBES

    @property
    def has_rack(self) -> bool:
        """Whether it is a sender of Linux."""
        return self.profile.startswith("linux")


def rfc(name: str, *detected: str, timestamps: bool | None = None) -> Sender:
    """A sender by the RFCs."""
    return Sender(name=name, profile="rfc", detected=detected, timestamps=timestamps)


def linux(name: str, profile: Literal["linux-6.12", "linux-6.18"] = "linux-6.18") -> Sender:
    """A sender of Linux."""
    return Sender(name=name, profile=profile, detected=["rack"])


SENDERS: Final = (
    rfc("reno / full / iw=4", "three_duplicates"),
    rfc("reno+newreno / full / iw=4", "three_duplicates"),
    rfc("reno+newreno+lt / fs(n=4) / iw=1", "three_duplicates"),
    rfc("reno+sack / full / iw=4", "sack"),
    rfc("reno+sack / fs(n=4) / iw=1", "sack"),
    rfc("reno+sack / vs(n=4) / iw=1", "sack"),
    rfc("reno+sack+lt+er / full / iw=10", "sack", "early_retransmit"),
    rfc("reno+fack / full / iw=4", "fack", "sack"),
    rfc("reno+sack / dup-tail / iw=4", "sack", timestamps=False),
    rfc("reno+sack / dup-tail(delay=10ms) / iw=4", "sack"),
    rfc("reno+sack / dup-tail(delay=10ms) / iw=4", "sack", timestamps=False),
    rfc("reno+newreno / dup-tail(delay=10ms) / iw=4", "three_duplicates", timestamps=False),
    linux("linux"),
    linux("cubic(hystart=late)+rack+tlp+prr / full / iw=10", "linux-6.12"),
    linux("linux / tail(n=4)"),
    linux("linux / tiny-tail"),
    linux("linux / dup-tail"),
    linux("linux / dup-tail(delay=10ms)"),
    linux("cubic+rack / full / iw=10"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Losses and delays of a path, forward and back."""

    name: str
    access: Any = None
    down: Any = None
    up: Any = None
    back: Any = None
    rate: str = "20Mb/s"
    buffer: str = "200kB"
    receive_buffer: str | None = None
    reorder: Reorder | None = None

    def links(self) -> tuple[Link, ...]:
        """Links from the server to the client and back, with a point between both."""
        delay = f"{DELAY_MS}ms"
        return (
            Link(name="access", from_=SERVER, to="point", delay=delay, loss=self.access),
            Link(
                name="down",
                from_="point",
                to=CLIENT,
                rate=self.rate,
                delay=delay,
                buffer=Buffer(bytes=self.buffer),
                loss=self.down,
                reorder=self.reorder,
            ),
            Link(name="up", from_=CLIENT, to="point", delay=delay, loss=self.up),
            Link(name="back", from_="point", to=SERVER, delay=delay, loss=self.back),
        )


def packet(probability: float) -> PacketLoss:
    """Independent losses."""
    return PacketLoss(probability=probability)


NETWORKS: Final = (
    Network(name="3 % after the capture", down=packet(0.03)),
    Network(name="10 % on both halves", access=packet(0.05), down=packet(0.05), up=packet(0.02)),
    Network(name="bursts of 3", down=BurstLoss(probability=0.05, run=3.0)),
    Network(name="a quarter of the ACKs", down=packet(0.03), up=packet(0.12), back=packet(0.12)),
    Network(name="reordering", down=packet(0.02), reorder=Reorder(probability=0.02, by="8ms")),
    Network(name="a full buffer", rate="2Mb/s", buffer="15kB"),
    Network(name="a small window", down=packet(0.05), receive_buffer="8kB"),
)


def main() -> int:
    """Run every sender over every network, and print precision and recall at each position."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--worst", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    pairs: defaultdict[tuple[str, str], Pairs] = defaultdict(Counter)
    unseen: Counter[tuple[str, str]] = Counter()
    copies: Counter[tuple[str, str]] = Counter()
    shown = arguments.worst
    for sender in SENDERS:
        for network in NETWORKS:
            case = f"{sender.name}, {network.name}"
            if arguments.only not in case:
                continue
            for place, rows, invisible, copied in compared(sender, network, arguments.seed):
                group = sender.family, place
                copies[group] += copied
                pairs[group].update((row["true"], row["ours"]) for row in rows)
                unseen[group] += invisible
                for row in rows:
                    if shown and row["true"] != row["ours"]:
                        shown -= 1
                        print(case, place, row)
    failed = 0
    for (family, place), counts in sorted(pairs.items()):
        title = f"{family} senders, capture at the {place}"
        failed += report(title, counts, judged=place == "sender" and family != WITHOUT_PROBES)
        if unseen[family, place]:
            print(f"  {unseen[family, place]} more whose loss left no trace in the capture")
        if copies[family, place]:
            print(
                f"  {copies[family, place]} copies of the last segment, which are not to be listed"
            )
    return 1 if failed or not pairs else 0


def compared(
    sender: Sender, network: Network, seed: int
) -> Iterator[tuple[str, list[dict[str, Any]], int, int]]:
    """Yield positions with retransmissions, the number of those without a trace, and copies."""
    with TemporaryDirectory() as name:
        both, middle = Path(name) / "both", Path(name) / "middle"
        pcap = Pcap(path=both, place="both")
        result = run(scenario(sender, network), seed=seed, pcap=pcap)
        frames = list(_capture_frames.frames(both))
        truth = _simulated_truth.causes(
            frames,
            result.recoveries,
            server=SERVER,
            detected=sender.detected[0],
            has_rack=sender.has_rack,
        )
        passing = _capture_frames.between(frames, FIRST_LINKS)
        _capture_frames.write(middle, passing)
        # The window of a SYN tells the version of Linux, but not with a small buffer.
        stated: SenderRules = "linux" if sender.has_rack and network.receive_buffer else "auto"
        at_ends, in_between = retransmissions(both, stated), retransmissions(middle, stated)
    copied = {key for key, cause in truth.items() if cause == COPY}
    truth = {key: cause for key, cause in truth.items() if cause != COPY}
    positions = [("middle", passing, passing, in_between)]
    for host in (SERVER, CLIENT):
        seen = [frame for frame in frames if frame.host == host]
        for place, outbound in (("sender", True), ("receiver", False)):
            own = [frame for frame in seen if frame.inbound != outbound]
            positions.append((place, seen, own, at_ends))
    for place, seen, own, rows in positions:
        copies = sum((frame.flow, frame.identification) in copied for frame in own)
        yield place, *matched(seen, judged(own, truth, sender, rows), rows), copies


def retransmissions(capture: Path, sender: SenderRules) -> list[dict[str, Any]]:
    """Return the retransmissions that the analysis finds."""
    rows = captures.analyze(capture, sender=sender).tables.retransmissions.to_dicts()
    return [{**row, "cause": SAME.get(row["cause"], row["cause"])} for row in rows]


def scenario(sender: Sender, network: Network) -> Scenario:
    """Transfers of all sizes, one after the other."""
    sizes = [1448 * segments - 200 for segments in SIZES] * ROUNDS
    transfers = Transfers(
        name="pages",
        from_=SERVER,
        to=CLIENT,
        sizes=tuple(sizes),
        spacing="0.3s",
        sender=sender.name,
        handshake=True,
        opener="receiver",
    )
    return Scenario(
        name="losses",
        duration="2000s",
        link=network.links(),
        workload=(transfers,),
        tcp=Tcp(
            profile=sender.profile,
            receive_buffer=network.receive_buffer,
            timestamps=sender.timestamps,
        ),
    )


def judged(
    frames: Sequence[Frame],
    truth: dict[_simulated_truth.Key, str],
    sender: Sender,
    rows: Sequence[dict[str, Any]],
) -> Iterator[tuple[Frame, str | None]]:
    """Yield packets with their true causes. Of several rules that are fulfilled, ours is right."""
    ours = {row["frame"]: row["cause"] for row in rows}
    for frame in frames:
        true = truth.get((frame.flow, frame.identification))
        cause = ours.get(frame.number)
        yield frame, cause if true == sender.detected[0] and cause in sender.detected else true


if __name__ == "__main__":
    sys.exit(main())
