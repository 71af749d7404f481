"""The page of `linux_cubic`: how many paths hold each bound, and a table of the paths."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linux_cubic import Comparison, Verdict

HEAD = """\
# Window of a bulk transfer, compared with the kernel

`verification/linux_cubic.py` writes this page. Linux sends 10 MB over [`tcpsf link`](link.md) with a
random rate, round-trip time, buffer and losses. The same transfer is simulated with
`profile = "linux-6.18"` and the sender `linux`. The window is read from `TCP_INFO` every 10 ms, and
compared with the windows of the other side within one jiffy (4 ms).

The kernel sends each transfer twice, so that it can be compared with itself. The kernel's own
agreement limits what a simulation can reach:

- A buffer that is full at a microsecond drops another packet, and the rest of the transfer has other
  losses.
- A window that differs by one segment moves a later loss by some milliseconds. During the reduction
  the windows then differ by more than 5 %, although both are right.
- One segment is more than 5 % of a window below 20.

The simulated path has the round-trip time of the first live segment, and the simulated server
responds as late as the live one. The client measures the round-trip time with timestamps in
milliseconds. A fraction of a millisecond may therefore decide with which segment its receive buffer
grows, and its quick acknowledgments return. This can move the end of slow start by a round trip.

A transfer is repeated if the link delivered a packet more than 2 ms late.
"""

BOUNDS = (
    ("before", "before the first loss, within one segment"),
    ("after", "after it, every sample within 5 %"),
    ("time", "completion time within 2 %"),
    ("round", "slow start ends in the same round trip"),
)


def page(verdicts: Sequence[Verdict]) -> str:
    """Write the page."""
    both = [(verdict.ours, verdict.kernel) for verdict in verdicts]
    total = len(verdicts)
    lines = [HEAD, f"Kernel: Linux {os.uname().release.partition('-')[0]}.", ""]
    lines += [f"| bound, on {total} paths | simulated | kernel again |", "| --- | ---: | ---: |"]
    lines += [
        f"| {words} | {sum(one.holds(name) for one, _ in both)} "
        f"| {sum(other.holds(name) for _, other in both)} |"
        for name, words in BOUNDS
    ]
    held = [sum(one.all_hold() for one in side) for side in zip(*both, strict=True)]
    shares = [_share(side) for side in zip(*both, strict=True)]
    coarse = [_share(side, coarse=True) for side in zip(*both, strict=True)]
    lines += [
        f"| all four | {held[0]} | {held[1]} |",
        f"| samples after the first loss within 5 % | {shares[0]:.2%} | {shares[1]:.2%} |",
        f"| the same, or within one segment | {coarse[0]:.2%} | {coarse[1]:.2%} |",
        "",
        "## Paths",
        "",
        "Each cell has the simulation and the second transfer of the kernel, both compared with the",
        "first. The last column is the time until which they sent the same packets, of the whole",
        "time.",
        "",
        "| path | segments before | beyond 5 % after | time | round | same packets, s |",
        "| --- | ---: | ---: | ---: | --- | ---: |",
    ]
    lines += [_row(verdict) for verdict in verdicts]
    return "\n".join(lines) + "\n"


def _share(comparisons: Sequence[Comparison], *, coarse: bool = False) -> float:
    """Return the share of the samples that are within 5 %, or within one segment."""
    count = sum(one.count for one in comparisons)
    return 1 - sum(one.coarse if coarse else one.beyond for one in comparisons) / max(1, count)


def _row(verdict: Verdict) -> str:
    path, both = verdict.path, (verdict.ours, verdict.kernel)

    def cells(texts: Sequence[str]) -> str:
        return " / ".join(texts)

    link = f"{path.rate_mbit:g} Mb/s, {path.rtt_ms:g} ms, {path.buffer_packets} packets"
    return " | ".join(
        (
            f"| {path.number}: {link}, {len(path.lost)} losses",
            cells([str(one.before) for one in both]),
            cells([f"{one.beyond / max(1, one.count):.1%}" for one in both]),
            cells([f"{one.took:+.2%}" for one in both]),
            cells(["same" if one.same_round() else "other" for one in both]),
            cells([f"{one.same_s:.2f}" for one in both]) + " |",
        )
    )
