"""Check captures of simulated runs with Wireshark's `tshark` and `capinfos`.

The files must be well formed with correct checksums, and must contain exactly the packets of the
`packets` table. The segments that Wireshark classifies as retransmissions must be those that our
packet comments mark.

    python verification/wireshark.py
"""

# ruff: noqa: S603, T201 (this program runs other programs and prints verdicts)

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from tcpsf import Buffer, Link, PacketLoss, Pcap, Poisson, Scenario, Sizes, Tcp, run
from tcpsf.papers.smart_framing import web_scenario
from tcpsf.pcap import MOST_BYTES

AGAIN = "; "
"""Text in the comment on every retransmitted packet, and in no other comment."""

FLAGS = ("tcp.analysis.retransmission", "tcp.analysis.out_of_order")
"""Wireshark's classifications of a segment whose sequence numbers it has seen before.

Wireshark chooses between the two by a heuristic on time.
"""

FIELDS = (
    "frame.comment",
    "frame.packet_flags_direction",
    "ip.checksum.status",
    "tcp.checksum.status",
    "tcp.seq",
    "tcp.len",
    "tcp.ack",
    "_ws.malformed",
    "_ws.expert.severity",
    *FLAGS,
)
GOOD, EXPERT_ERROR = "1", str(0x00800000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A simulated run and the parameters of its capture."""

    what: str
    scenario: Scenario
    place: Literal["sender", "receiver", "both"] = "sender"
    snap_len: int = MOST_BYTES


def lossy(sender: str, *, handshake: bool = True) -> Scenario:
    """Scenario with a fast link, followed by a link that loses packets in both directions."""
    lossy = PacketLoss(probability=0.02)
    first = Link(name="first", from_="server", to="router", rate="10Mb/s", delay="5ms")
    there = Link(
        name="there",
        from_="router",
        to="client",
        rate="2Mb/s",
        delay="20ms",
        buffer=Buffer(bytes="15kB"),
        loss=lossy,
    )
    back = Link(name="back", from_="client", to="server", rate="2Mb/s", delay="20ms", loss=lossy)
    web = Poisson(
        name="web",
        from_="server",
        to="client",
        load=0.7,
        of="there",
        sizes=Sizes(classes=(500, 5000, 50_000)),
        sender=sender,
        handshake=handshake,
        opener="receiver",
    )
    return Scenario(
        name="lossy",
        duration="30s",
        drain="0s",
        trace=("web",),
        link=(first, there, back),
        workload=(web,),
        tcp=Tcp(profile="rfc"),
    )


def cases() -> Iterator[Case]:
    """Every recovery, every vantage point, full and truncated packets, the paper's scenario."""
    for sender in ("tahoe", "reno", "reno+newreno", "reno+sack", "reno+sack1", "reno+fack"):
        yield Case(
            what=f"{sender}, fixed-size framing", scenario=lossy(f"{sender} / fs(n=4) / iw=1")
        )
    yield Case(
        what="variable-size framing, seen by receivers", scenario=lossy(VARIABLE), place="receiver"
    )
    yield Case(what="variable-size framing, seen by both", scenario=lossy(VARIABLE), place="both")
    yield Case(what="headers only", scenario=lossy(VARIABLE), snap_len=80)
    yield Case(what="no handshake", scenario=lossy(VARIABLE, handshake=False))
    web = web_scenario(sender=VARIABLE, duration="20s").with_value("trace", ["web"])
    yield Case(what="the paper's web traffic", scenario=web.with_value("drain", "0s"))


VARIABLE = "reno+sack / vs(n=4) / iw=1"


def verdicts(case: Case, folder: Path) -> Iterator[tuple[str, bool]]:
    """Statements about the capture of a case, and whether each holds."""
    path = folder / "run.pcapng"
    pcap = Pcap(path=path, place=case.place, snap_len=case.snap_len, replace=True)
    result = run(case.scenario, seed=1, pcap=pcap)
    frames = dissect(path)
    yield f"{len(frames)} packets, in order of time", len(frames) > 1000 and in_order(path)
    yield (
        "no malformed packet, no error",
        not any(
            frame["_ws.malformed"] or EXPERT_ERROR in frame["_ws.expert.severity"].split("|")
            for frame in frames
        ),
    )
    statuses = [frame["ip.checksum.status"] for frame in frames]
    if case.snap_len == MOST_BYTES:
        statuses += [frame["tcp.checksum.status"] for frame in frames]
    yield "checksums right", set(statuses) == {GOOD}

    rows = result.packets
    traced = {row["name"] for row in case.scenario.to_dict()["workload"]} == set(
        case.scenario.trace
    )
    if traced:
        expected = seen(rows, case.place)
        yield (
            "the payload lengths are those of the `packets` table",
            [int(frame["tcp.len"]) for frame in frames] == [*expected["payload_bytes"]],
        )
        if case.scenario.workload[0].handshake and case.place != "both":
            numbers = [(int(frame["tcp.seq"]), int(frame["tcp.ack"])) for frame in frames]
            expected_rows = expected.select("seq", pl.col("ack").fill_null(0)).rows()
            yield (
                "the sequence and acknowledgment numbers are those of the table",
                numbers == expected_rows,
            )
        drops = rows.filter(pl.col("event").cast(pl.String).str.starts_with("dropped"))
        comments = [comment for frame in frames for comment in frame["frame.comment"].split("|")]
        found = sum("ropped at" in comment for comment in comments)
        owed = tellable(drops, expected)
        yield (
            f"comments report {owed} of {drops.height} drops, all before the last captured packet of a flow",
            found == owed,
        )
    if case.place == "sender":
        yield from retransmission_verdicts(frames)


def retransmission_verdicts(frames: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, bool]]:
    """Compare our comments on retransmissions with those of Wireshark."""
    flagged = [any(frame[flag] for flag in FLAGS) for frame in frames]
    marked = [AGAIN in frame["frame.comment"] for frame in frames]
    both = sum(a and b for a, b in zip(flagged, marked, strict=True))
    yield (
        f"{both} segments that Wireshark classifies as retransmissions have our comment",
        both == sum(flagged) > 20,
    )
    # Wireshark cannot classify a retransmission from the peer if the original was lost before
    # the vantage point.
    missed = [
        frame
        for frame, flag, again in zip(frames, flagged, marked, strict=True)
        if again and not flag
    ]
    inbound = [frame for frame in missed if int(frame["frame.packet_flags_direction"], 0) == 1]
    yield "Wireshark finds every commented one whose original it has seen", missed == inbound


def dissect(path: Path) -> list[dict[str, str]]:
    """The values of `FIELDS` for each packet of a capture, by `tshark`."""
    command = [
        "tshark",
        "-n",
        "-r",
        str(path),
        "-T",
        "fields",
        "-E",
        "separator=/t",
        "-E",
        "aggregator=|",
    ]
    for option in (
        "tcp.check_checksum:TRUE",
        "ip.check_checksum:TRUE",
        "tcp.try_heuristic_first:FALSE",
    ):
        command += ["-o", option]
    for field in FIELDS:
        command += ["-e", field]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in lines]


def in_order(path: Path) -> bool:
    """Whether `capinfos` finds the packets in order of time."""
    command = ["capinfos", "-o", "-T", "-r", str(path)]
    return "True" in subprocess.run(command, check=True, capture_output=True, text=True).stdout


def seen(rows: pl.DataFrame, place: str) -> pl.DataFrame:
    """The rows of the `packets` table that a capture at this vantage point contains."""
    at = {"sender": ["sender"], "receiver": ["receiver"], "both": ["sender", "receiver"]}[place]
    other = {"sender": "receiver", "receiver": "sender"}
    event, end = pl.col("event").cast(pl.String), pl.col("from").cast(pl.String)
    leaving = (event == "sent") & end.is_in(at)
    return rows.filter(leaving | (event == "arrived") & end.is_in([other[here] for here in at]))


def tellable(drops: pl.DataFrame, shown: pl.DataFrame) -> int:
    """Count the drops that comments of a capture can report.

    A drop can be reported if the capture has the packet or a later one of the same flow and sender.
    """
    last = shown.group_by("flow", "from").agg(pl.col("packet").max().alias("last"))
    return drops.join(last, on=["flow", "from"]).filter(pl.col("packet") <= pl.col("last")).height


def main() -> int:
    """Print every verdict."""
    missing = [name for name in ("tshark", "capinfos") if shutil.which(name) is None]
    if missing:
        print(f"cannot run: {' and '.join(missing)} not installed (Debian: tshark)")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases():
            print(f"\n{case.what}")
            for expected_rows, holds in verdicts(case, Path(folder)):
                failed += not holds
                print(f"  {'holds' if holds else 'FAILS':6} {expected_rows}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
