"""Compare the congestion window of the kernel's CUBIC over time with the simulated one.

Each path is drawn by a seed: its rate, round-trip time, buffer, and the data packets that it loses.
The kernel sends 10 MB over `tcpsf link` with this path, and the simulator over the same scenario.
The window is read from `TCP_INFO` every 10 ms.

- Before the first loss, the windows are within one segment.
- After it, they are within 5 %.
- The completion times are within 2 %.
- HyStart ends slow start in the same round trip.

A sample is compared with the windows of the other side within one jiffy (4 ms) before and after it,
because the window of a fast path grows by several segments in a millisecond. The simulated path has
the round-trip time of the first live segment, which is about 0.1 ms longer than nominal. The
simulated transfer starts at the same phase of the kernel's ticks, and its server responds as late,
because clocks of timestamps and of CUBIC count milliseconds and jiffies.

The kernel sends each transfer twice, and is also compared with itself by the same bounds. Where a
full buffer drops one packet more or less, or a loss occurs some milliseconds later, two transfers
of the kernel differ as well.

The program fails if a bound holds on significantly fewer paths than between the kernel and itself
(sign test over the paths on which only one of them holds).

A transfer is repeated up to three times if the link delivered a packet more than 2 ms late. The
outcome does not matter for that decision. The least disturbed repetition counts.

    python verification/linux_cubic.py [--paths 100] [--first 0] [--page PAGE.md]

It needs root and TUN devices, and exits with 77 without them.
"""

# ruff: noqa: T201 (this module prints verdicts)

from __future__ import annotations

import argparse
import bisect
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from _linux_bulk import FINE_S, PathOf, Transfer, drawn, live, simulated
from _linux_cubic_page import page
from _verdicts import judged as judged_statements
from linux_cells import missing

EVERY_S: Final = 0.010
"""Interval between the samples that are compared."""
SHIFT_S: Final = 0.004
DISTURBED_S: Final = 0.002
ATTEMPTS: Final = 3
DEFAULT_PATHS: Final = 20
SIGNIFICANT: Final = 0.05
CRITERIA: Final = ("before", "after", "time", "round")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Comparison of two transfers over a path."""

    before: int
    """Largest difference before the first loss, in segments."""
    worst: float
    """Largest relative difference after it."""
    beyond: int
    """Number of the samples after it that are more than 5 % apart."""
    coarse: int
    """Number of these samples that are more than one segment apart, too."""
    count: int
    """Number of the samples after it."""
    took: float
    """Relative difference of the completion times."""
    rounds: tuple[tuple[int, int] | None, tuple[int, int] | None]
    """Round trips in which slow start may have ended before a loss."""
    same_s: float
    """Time until which both sent the same segments at the same times, within a jiffy."""
    drops: tuple[int, int]
    """Packets that did not fit into the buffer."""

    def same_round(self) -> bool:
        """Whether slow start ended in the same round trip, or with a loss on both sides."""
        one, other = self.rounds
        if one is None or other is None:
            return one is other
        return one[0] <= other[1] and other[0] <= one[1]

    def holds(self, criterion: str) -> bool:
        """Whether a bound holds."""
        return {
            "before": self.before <= 1,
            "after": self.beyond == 0,
            "time": abs(self.took) <= 0.02,
            "round": self.same_round(),
        }[criterion]

    def all_hold(self) -> bool:
        """Whether every bound holds."""
        return all(self.holds(criterion) for criterion in CRITERIA)

    def __str__(self) -> str:
        ended = " / ".join("a loss" if one is None else str(one[1]) for one in self.rounds)
        return (
            f"{self.before} segments before a loss, {self.worst:.1%} after it "
            f"({self.beyond} of {self.count} samples beyond 5 %, {self.coarse} of them by more than "
            f"one segment), time {self.took:+.2%}, "
            f"slow start ends in round {ended}, {self.drops[0]} / {self.drops[1]} drops, "
            f"same packets until {self.same_s:.2f} s"
        )


def compared(path: PathOf, kernel: Transfer, other: Transfer) -> Comparison:
    """Compare two transfers. The samples are those of ``kernel``."""
    loss_s = min(kernel.first_loss_s, other.first_loss_s)
    times = [sample.time_s for sample in other.samples]
    before, worst, beyond, coarse, count = 0, 0.0, 0, 0, 0
    due_s = 0.0
    for sample in kernel.samples[:-1]:
        if sample.time_s < due_s:
            continue
        due_s = sample.time_s + EVERY_S - FINE_S / 2
        first = bisect.bisect_left(times, sample.time_s - SHIFT_S - FINE_S)
        last = bisect.bisect_right(times, sample.time_s + SHIFT_S + FINE_S)
        near = [one.cwnd for one in other.samples[first:last]]
        if not near:
            continue
        gap = max(0, min(near) - sample.cwnd, sample.cwnd - max(near))
        if sample.time_s < loss_s - SHIFT_S:
            before = max(before, gap)
        elif sample.time_s > loss_s + 2 * path.rtt_ms / 1e3:
            count += 1
            worst = max(worst, gap / sample.cwnd)
            beyond += gap > 0.05 * sample.cwnd
            coarse += gap > max(1.0, 0.05 * sample.cwnd)
    return Comparison(
        before=before,
        worst=worst,
        beyond=beyond,
        coarse=coarse,
        count=count,
        took=other.took_s / kernel.took_s - 1,
        rounds=(kernel.left_slow_start(), other.left_slow_start()),
        same_s=same_until(kernel, other),
        drops=(kernel.drops, other.drops),
    )


def same_until(one: Transfer, other: Transfer) -> float:
    """Return the time of the first segment that differs, or of the last one."""
    for first, second in zip(one.sent, other.sent, strict=False):
        if first[1] != second[1] or abs(first[0] - second[0]) > SHIFT_S:
            return first[0]
    return one.sent[-1][0]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Comparisons of the kernel with the simulation, and with itself."""

    path: PathOf
    ours: Comparison
    kernel: Comparison
    late_s: float
    """Longest time by which the link delivered a packet late."""

    def __str__(self) -> str:
        word = "holds" if self.ours.all_hold() else "FAILS"
        wrong = ", ".join(one for one in CRITERIA if not self.ours.holds(one))
        return (
            f"{word} {self.path}{f' [{wrong}]' if wrong else ''}\n"
            f"    simulated:    {self.ours}\n    kernel again: {self.kernel}\n"
            f"    the link was at most {self.late_s * 1e3:.1f} ms late"
        )


def undisturbed(path: PathOf) -> Transfer:
    """Let the kernel send, again if the link was disturbed."""
    found: list[Transfer] = []
    for _ in range(ATTEMPTS):
        found.append(live(path))
        if found[-1].late_s <= DISTURBED_S:
            break
    return min(found, key=lambda transfer: transfer.late_s)


def measured(path: PathOf, folder: Path | None) -> list[Transfer]:
    """Return two transfers of the kernel, from ``folder`` if they are there."""
    transfers = []
    for name in ("a", "b"):
        file = None if folder is None else folder / f"{path.number}{name}.json"
        if file is not None and file.exists():
            transfers.append(Transfer.from_json(file.read_text(encoding="utf-8")))
            continue
        transfers.append(undisturbed(path))
        if file is not None:
            file.write_text(transfers[-1].json(), encoding="utf-8")
    return transfers


def judged(path: PathOf, folder: Path | None) -> Verdict:
    """Compare the transfers over a path."""
    one, other = measured(path, folder)
    ours = simulated(path, one)
    late_s = max(one.late_s, other.late_s)
    return Verdict(path, compared(path, one, ours), compared(path, one, other), late_s)


def worse(verdicts: Sequence[Verdict], criterion: str) -> bool:
    """Whether a bound holds on significantly fewer paths than between the kernel and itself."""
    pairs = [(one.ours.holds(criterion), one.kernel.holds(criterion)) for one in verdicts]
    lost = sum(not ours and kernel for ours, kernel in pairs)
    apart = sum(ours != kernel for ours, kernel in pairs)
    by_chance = sum(math.comb(apart, count) for count in range(lost, apart + 1)) / 2**apart
    return lost > 0 and by_chance < SIGNIFICANT


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the paths and print a verdict for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--paths", type=int, default=DEFAULT_PATHS)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder that keeps the kernel's transfers")
    parser.add_argument("--page", type=Path, help="write the table as Markdown")
    options = parser.parse_args(arguments)
    reason = missing()
    if reason is not None:
        print(f"cannot run: {reason}")
        return 77
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
    verdicts = []
    for number in range(options.first, options.first + options.paths):
        verdicts.append(judged(drawn(number), options.keep))
        print(verdicts[-1], flush=True)
    good = sum(verdict.ours.all_hold() for verdict in verdicts)
    again = sum(verdict.kernel.all_hold() for verdict in verdicts)
    print(f"simulated: {good} of {len(verdicts)} paths hold, kernel again: {again}")
    if options.page is not None:
        options.page.write_text(page(verdicts), encoding="utf-8")
    bounds = [
        (f"bound `{name}` as often as the kernel", not worse(verdicts, name)) for name in CRITERIA
    ]
    return 1 if judged_statements(bounds) or not verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
