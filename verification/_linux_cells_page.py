"""The page of `linux_cells`: a table of the sets, and the cells that are not equal."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from _linux_live import Setting
from _linux_simulated import Proportion, Verdict

KINDS = ("equal", "late tick", "by jitter", "varies", "different")

Row = tuple[str, Sequence[tuple[Setting, Verdict]], int]
"""Description of a set, its cells, and the number of cells that were disturbed each time."""

HEAD = """\
# Replies of the kernel, cell by cell

`verification/linux_cells.py` writes this page. A cell is a reply of Linux over
[`tcpsf link`](link.md), with a fixed round-trip time and a mask of lost packets. The same reply is
simulated with `profile = "linux-6.18"` and the sender `linux`.

- `equal`: both send the same segments in the same order, at the same times within one jiffy (4 ms)
  and the measured error of the link.
- `late tick`: a timer of the kernel expires one tick late, and the next one therefore in another
  slot of the timer wheel. A simulation that starts a tick earlier, or one or two later, is equal.
- `by jitter`: the reply depends on microseconds. RACK ignores an acknowledgment of a retransmission
  that arrives sooner than the minimum round-trip time (RFC 8985 section 6.2, step 2). Some
  simulations with random delays within the measured error are equal.
- `varies`: none of these, but when the cell is sent four more times, at least one reply of the kernel
  is as simulated.
- `different`: none of these.
- `disturbed`: the link delayed a packet by more than 1 ms too long in each of six attempts. These cells
  do not count.

The aim is an agreement of 99.5 % in every set, and of 95 % for replies of 40 segments. The kernel's
send buffer takes 32 segments at first. Then the server's program waits, and the order of segments
depends on when it runs. These replies have a line of 50 Mb/s towards the client.

Three properties of the measurement matter:

- Linux merges adjacent segments that arrive while a program reads from their socket
  (`tcp_add_backlog`), and acknowledges them together. The client therefore reads a millisecond
  after data has arrived. The simulated one reads at once. After 16 acknowledgments, Linux sends some
  of them when the program reads, so that a few cells with records vary. With 50 Mb/s segments arrive
  0.24 ms apart, and the client reads each at once, too.
- With a round-trip time of 48 to 52 ms the first timeout has 63 ticks, the limit between two levels
  of the kernel's timer wheel. The timer then expires up to seven ticks later if the processor has
  not handled its timers in the current tick. These round-trip times are left out: which of both
  happens depends on the rest of the machine. The simulator always takes the later one.
- On a busy machine many timers expire late. One late timer makes a cell `late tick`, and two in one
  reply make it `different`. The program is to run on an idle machine.
"""

MICROSECONDS = """\
Share of the replies that wait for the retransmission timeout, because RACK ignores an
acknowledgment. Tracepoints have the times at which the kernel's TCP reads its clock. Each reply is
simulated with its own minimum round-trip time and that of its first retransmission. `same` is the
share of the replies whose simulation waits if, and only if, the kernel does. Both round-trip times of
a `clear` reply are further apart than their error: 2 µs, and more if the minimum is that of the first
data, because no tracepoint has the time at which TCP reads its clock for it.
"""


def page(rows: Iterable[Row], late: float, shares: Iterable[Proportion]) -> str:
    """Write the page.

    ``late`` is the share of the kernel's timers that expire a tick late without TCP.
    """
    rows = list(rows)
    lines = [HEAD, f"Kernel: Linux {os.uname().release.partition('-')[0]}.", ""]
    lines += [
        f"Of the kernel's timers without TCP, {late:.0%} expired a tick late in this run.",
        "",
    ]
    lines += [f"| set | cells | {' | '.join(KINDS)} | disturbed | agree |"]
    lines += ["| --- |" + " ---: |" * 8]
    for what, cells, disturbed in rows:
        kinds = [verdict.kind for _, verdict in cells]
        numbers = [*(kinds.count(kind) for kind in KINDS), disturbed]
        good = 1 - kinds.count("different") / max(1, len(kinds))
        lines.append(f"| {what} | {len(kinds)} | {' | '.join(map(str, numbers))} | {good:.2%} |")
    lines += ["", "## Cells that differ", ""]
    found = [
        f"- {setting}, {verdict.reply.losses}: {reason(verdict)}"
        for _, cells, _ in rows
        for setting, verdict in cells
        if verdict.kind == "different"
    ]
    lines += [*(found or ["None."]), "", "## Cells that depend on microseconds", "", MICROSECONDS]
    lines += ["| cell | kernel | simulations | same | clear | same of these |"]
    lines += ["| --- |" + " ---: |" * 5]
    lines += [
        f"| {one.setting}, {one.losses} | {one.kernel:.0%} of {one.count} | {one.ours:.0%} "
        f"| {one.same:.0%} | {one.clear} | {one.clear_same:.0%} |"
        for one in shares
    ]
    return "\n".join(lines) + "\n"


def reason(verdict: Verdict) -> str:
    """Return how a reply of the kernel differs from the simulated one."""
    live, ours = verdict.reply.sent, verdict.ours
    pairs = list(zip(live, ours, strict=False))
    other = next(
        (one for one, two in pairs if (one.seq, one.length) != (two.seq, two.length)), None
    )
    if other is not None:
        return f"other segments from {1e3 * other.time_s:.0f} ms on"
    apart_ms = 1e3 * max(abs(one.time_s - two.time_s) for one, two in pairs)
    text = f"the same segments, up to {apart_ms:.1f} ms apart"
    if len(ours) > len(live):
        text += "; the measurement ended before the last of them"
    elif len(live) > len(ours):
        text += f"; the kernel sent {len(live) - len(ours)} more"
    return text
