"""Compare the causes that `tcpsf analyze` finds with what the kernel did.

The kernel's TCP sends replies over `tcpsf link` with random losses. The tracepoint
`tcp_retransmit_skb` names with its stack or its context what retransmitted, and `tcp_cong_state_set`
the state of the congestion control. The same packets are captured at the sender, at the receiver, and
in the middle of two links. The times of the trace name the packets of a retransmission in the capture
at the sender, and their headers name them in the other captures.

    python verification/capture_kernel.py

It needs root and the kernel's tracing file system. For captures at the sender, precision and recall
of each cause must be 99 % at least, or only one be wrong. Those of the other positions are stated.
"""

# ruff: noqa: S603, T201 (this program runs programs and prints verdicts)

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from _capture_frames import Frame, frames, repeated
from _cause_counts import Pairs, matched, report
from _kernel_trace import DETECTED, REPAIR, TRACING, has_tracepoint, kernel_causes, tracing
from _linux_live import write_settings
from _linux_server import MOST, PORT

from tcpsf import captures

HERE: Final = Path(__file__).parent
RETRANSMISSION: Final = "tcp/tcp_retransmit_skb"
POINTS: Final = (RETRANSMISSION, "tcp/tcp_cong_state_set")
LONGEST_S: Final = 0.005
"""Longest time between a retransmission in the trace and its last packet in the capture."""
UNCERTAIN: Final = "uncertain"
"""True cause of packets that no retransmission in the trace can be assigned to."""

CLASSES: Final = {
    "probe_of_new_data": DETECTED,
    "sack": DETECTED,
    "fack": DETECTED,
    "three_duplicates": DETECTED,
    "early_retransmit": DETECTED,
    "lost_retransmission": REPAIR,
}
"""Causes of the analysis that the kernel's trace does not tell apart, and the class of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossyPath:
    """A path and its traffic."""

    rtt_ms: float
    loss: str
    segments: Sequence[int]
    seed: int

    def __str__(self) -> str:
        return f"RTT {self.rtt_ms:g} ms, loss {self.loss}"


TIMES: Final = 3
"""Number of runs of each path."""

PATHS: Final = tuple(
    LossyPath(rtt_ms=rtt, loss=loss, segments=[1, 2, 3, 4, 6, 10, 20, 40] * 12, seed=seed)
    for seed, (rtt, loss) in enumerate(
        [(20.0, "0.03"), (60.0, "0.03"), (150.0, "0.05"), (40.0, "0.1"), (60.0, "0.2")] * TIMES,
        start=1,
    )
)


def main() -> int:
    """Run all paths, and print precision and recall at each position."""
    if os.geteuid() != 0 or not has_tracepoint("tcp/tcp_retransmit_skb"):
        print(f"needs root and the tracing file system at {TRACING}")
        return 77
    pairs: defaultdict[str, Pairs] = defaultdict(Counter)
    unseen: Counter[str] = Counter()
    unassigned: Counter[str] = Counter()
    for path in PATHS:
        with TemporaryDirectory() as name:
            folder = Path(name)
            record(path, folder)
            for place, rows, invisible in compared(folder):
                pairs[place].update(
                    (row["true"], row["ours"]) for row in rows if row["true"] != UNCERTAIN
                )
                unassigned[place] += sum(row["true"] == UNCERTAIN for row in rows)
                unseen[place] += invisible
    failed = 0
    for place, counts in pairs.items():
        failed += report(f"Capture at the {place}", counts, judged=place == "sender")
        print(f"  {unseen[place]} more whose loss left no trace in the capture")
        print(f"  {unassigned[place]} more whose packets in the trace are uncertain")
    return 1 if failed else 0


def record(path: LossyPath, folder: Path) -> None:
    """Write the captures of a path and the trace of the kernel to a folder."""
    with tracing(POINTS, stack=RETRANSMISSION) as trace:
        transfer(path, folder)
        (folder / "trace").write_text((trace / "trace").read_text(encoding="utf-8"))


def compared(folder: Path) -> Iterator[tuple[str, list[dict[str, Any]], int]]:
    """Yield each position with its retransmissions, and the number of those without a trace."""
    near, far = list(frames(folder / "near")), list(frames(folder / "far"))
    trace = (folder / "trace").read_text(encoding="utf-8")
    truth = {
        identity(frame): cause or UNCERTAIN for frame, cause in named(kernel_causes(trace), near)
    }
    for place, file, seen in (
        ("sender", "near", near),
        ("middle", "far", [frame for frame in far if frame.host == "outside"]),
        ("receiver", "far", [frame for frame in far if frame.host == "inside"]),
    ):
        tables = captures.analyze(folder / file).tables
        sent = [frame for frame in seen if PORT < frame.ports[0] <= PORT + MOST]
        keyed = ((frame, truth.get(identity(frame))) for frame in sent if not frame.is_syn)
        rows = (
            {**row, "cause": CLASSES.get(row["cause"], row["cause"])}
            for row in retransmitted(tables)
        )
        yield place, *matched(seen, keyed, rows)


def retransmitted(tables: captures.CaptureTables) -> Iterator[dict[str, Any]]:
    """Yield the rows of retransmissions with the direction of the replies."""
    yield from tables.retransmissions.filter(direction="responder").to_dicts()


def identity(frame: Frame) -> tuple[tuple[int, int], int, bytes]:
    """Flow, identification and TCP header without the checksum: equal at all positions."""
    header = frame.data[20 : 20 + 4 * (frame.data[32] >> 4)]
    return frame.flow, frame.identification, header[:16] + header[18:]


def named(
    causes: dict[tuple[int, int], list[tuple[float, str]]], near: Sequence[Frame]
) -> Iterator[tuple[Frame, str | None]]:
    """Yield the repeated packets of the capture at the sender with the cause in the trace.

    One retransmission may be several consecutive packets. The cause is `None` if it is not certain
    which packets a retransmission is.
    """
    again = set(repeated(near))
    sent: defaultdict[tuple[int, int], list[Frame]] = defaultdict(list)
    for frame in near:
        if frame.number in again and not frame.is_syn:
            sent[frame.ports].append(frame)
    for connection, packets in sent.items():
        events = causes.get(connection, [])
        while packets:
            # The packets of a burst leave together, and so do its retransmissions in the trace.
            burst = first_burst(packets, [frame.time_ns / 1e9 for frame in packets])
            until = burst[-1].time_ns / 1e9
            told = [cause for time_s, cause in events if time_s <= until]
            packets, events = packets[len(burst) :], events[len(told) :]
            followed = sum(one.end == other.seq for one, other in pairwise(burst))
            if not told or len(burst) - len(told) not in (0, followed):
                yield from ((frame, None) for frame in burst)
                continue
            at = 0
            yield burst[0], told[0]
            for before, frame in pairwise(burst):
                if len(burst) > len(told) and before.end == frame.seq:
                    # A further packet of the same retransmission.
                    yield frame, REPAIR if told[at] == DETECTED else told[at]
                else:
                    at += 1
                    yield frame, told[at]


def first_burst(packets: Sequence[Frame], times_s: Sequence[float]) -> list[Frame]:
    """Return the first packets up to a gap of time."""
    gaps = (later - earlier > LONGEST_S for earlier, later in pairwise(times_s))
    return list(packets[: next((n for n, gap in enumerate(gaps, start=1) if gap), len(packets))])


def transfer(path: LossyPath, folder: Path) -> None:
    """Let the kernel send the replies over two links, and capture the packets at three places."""
    server = {"segment": 1448, "short": 100, "records": None, "initial_window": None}
    client = {"replies": list(path.segments), "every": 0.25, "quick": True, "linger": 2.0}
    write_settings(folder, server, client)
    python = shlex.quote(sys.executable)
    programs = [f"{python} {HERE}/_linux_{who}.py {folder}/{who}" for who in ("server", "client")]
    common = f"--delay {path.rtt_ms / 4}ms --loss {path.loss} --no-offload --pcap-bytes 120B"
    link = f"{python} -m tcpsf link -q {common} --seed"
    # The client asks the server beyond both links.
    inner = f"{link} {2 * path.seed} --pcap {folder}/far --pcap-at both --"
    inner += f" env TCPSF_LINK_OUTSIDE=$TCPSF_LINK_OUTSIDE {programs[1]}"
    outer = shlex.split(f"{link} {2 * path.seed + 1} --pcap {folder}/near --pcap-at outside")
    outer += ["--outside", programs[0], "--", "sh", "-c", f"exec {inner}"]
    subprocess.run(outer, check=True, timeout=300)


if __name__ == "__main__":
    sys.exit(main())
