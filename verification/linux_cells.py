"""Compare replies of the kernel's TCP with the simulated sender `linux`, cell by cell.

A cell is a reply of up to 40 segments over `tcpsf link`, with a fixed round-trip time and a mask of
the packets that the link loses. Both sides must send the same segments in the same order, and at the
same times within one jiffy (4 ms with HZ 250) plus the measured error of the emulator's delays in
this cell.

The link has no rate, except for replies of 40 segments. They arrive one after the other, so that the
client can read each at once, as the simulated one does. It reads the others a millisecond after
data has arrived, because the kernel merges segments that arrive while a program reads.

Linux's timers expire on ticks of the kernel's clock, and long ones on every 8th or 64th tick. The
simulated reply therefore starts at the same phase of the ticks as the live one, which
`/proc/timer_list` gives.

A timer of the kernel sometimes expires one tick late, also without TCP. That may move the next one
to another slot of the timer wheel. A reply counts as `late tick` if it equals a simulation that
starts one tick earlier, or one or two ticks later.

Some replies depend on microseconds. RACK ignores an acknowledgment of a retransmission that arrives
sooner than the minimum round-trip time (RFC 8985 section 6.2, step 2). If both sides differ, the
simulation is repeated with random delays up to the measured error. The kernel's reply then counts
as equal `by jitter` if some of these simulations equal it. Some of these cells are also repeated
while tracepoints record when the kernel's TCP reads its clock. A simulation with the measured
round-trip times must then wait for the timeout where the kernel does.

A cell is repeated if the link delayed one of its packets by more than 1 ms too long. The outcome
does not matter for that decision.

A cell that is different is sent four more times. It counts as `varies` if the kernel then also
sends what the simulation sends: the kernel's replies differ from each other, by something that the
setting of the cell does not determine.

    python verification/linux_cells.py [--all] [--sets first,acks] [--page PAGE.md]

It needs root, TUN devices and the kernel's tracing file system, and exits with 77 without them.
"""

# ruff: noqa: T201 (this module prints verdicts)

from __future__ import annotations

import argparse
import itertools
import os
import random
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from _kernel_trace import TRACING, has_tracepoint
from _linux_cells_page import page
from _linux_live import Losses, Setting, replies
from _linux_simulated import Proportion, Verdict, judged, likewise, proportion
from _linux_ticks import late_share

GOAL: Final = 0.995
LIKEWISE: Final = 0.98
"""Least share of the clear replies whose simulation decides like the kernel."""
DISTURBED_S: Final = 0.001
ROUNDS: Final = 6
REPEATS: Final = 80
AGAIN: Final = 4
"""Further replies of a cell that is different."""
BATCH: Final = 300
"""Connections on one link."""
RTTS_MS: Final = (5, 20, 60, 100, 200)
"""Round-trip times. With 48 to 52 ms the first timeout has 63 ticks. That is the limit between two
levels of the timer wheel: the timer expires up to seven ticks later if the processor has not handled
its timers in the current tick, and this depends on what else it does."""
SEED: Final = 20260701
BUFFER_GOAL: Final = 0.95
"""Aim for replies that exceed the first send buffer of the kernel.

Their segments depend on the time at which the server's program runs.
"""
BUFFER_RATE_MBIT: Final = 50.0
"""Rate for these replies. Segments then arrive 0.24 ms apart, and the client reads each at once, as
the simulated one does."""


@dataclass(frozen=True, slots=True)
class Part:
    """A set of cells with one setting, apart from the round-trip time."""

    name: str
    what: str
    losses: tuple[Losses, ...]
    settings: tuple[Setting, ...]
    goal: float = GOAL
    """Share of the cells that must not be different."""
    every_s: float | None = None
    """Time between connections in seconds, for long replies: the server writes one at a time."""
    verdicts: list[tuple[Setting, Verdict]] = field(default_factory=list)
    disturbed: list[tuple[Setting, Losses]] = field(default_factory=list)
    """Cells that were disturbed each time."""


def masks(segments: int) -> list[str]:
    """Every mask of first transmissions."""
    return [",".join(bits) for bits in itertools.product("01", repeat=segments)]


def parts(*, everything: bool) -> list[Part]:
    """Sets of cells."""
    draw = random.Random(SEED)  # noqa: S311 (no secret)
    short = [Losses(n, mask) for n in range(1, 6) for mask in masks(n)]
    long = [Losses(n, mask) for n in range(6, 9) for mask in masks(n)]
    first = tuple(short + (long if everything else draw.sample(long, 90)))
    count = 400 if everything else 120

    def bits(length: int, share: float) -> str:
        return ",".join("01"[draw.random() < share] for _ in range(length))

    def again() -> Losses:
        segments = draw.randint(1, 8)
        return Losses(segments, bits(segments + draw.randint(1, 6), 0.45))

    def acks() -> Losses:
        segments = draw.randint(1, 8)
        return Losses(segments, bits(segments, 0.3), "0,0," + bits(segments + 4, 0.35))

    def every(**values: object) -> tuple[Setting, ...]:
        return tuple(Setting(rtt_ms=rtt, **values) for rtt in RTTS_MS)  # type: ignore[arg-type]

    def beyond(segments: int) -> Iterator[Losses]:
        """Masks with single losses, and with bursts of three packets on average."""
        for number in range(count // 2):
            if number % 2:
                bad, drops = False, ""
                for _ in range(segments + 20):
                    bad = draw.random() < (2 / 3 if bad else 0.02)
                    drops += "01"[bad]
                yield Losses(segments, ",".join(drops))
            else:
                yield Losses(segments, bits(segments + 20, 0.04))

    resent = tuple(sorted({again() for _ in range(count)}))
    acked = tuple(sorted({acks() for _ in range(count)}))
    windows = tuple(sorted({*beyond(10), *beyond(20)}))
    buffers = tuple(sorted(set(beyond(40))))
    return [
        Part("first", "lost first transmissions", first, every()),
        Part("again", "lost retransmissions", resent, every()),
        Part("acks", "lost acknowledgments", acked, every()),
        Part("no-sack", "without SACK", first, every(sack=False)),
        Part("no-sack-again", "without SACK, lost retransmissions", resent, every(sack=False)),
        Part("iw2", "initial window of 2", first, every(initial_window=2)),
        Part("delayed", "delayed acknowledgments", first, every(quick=False)),
        Part("records", "records of 400 bytes (MSG_EOR)", first, every(records=400)),
        Part("long", "replies of 10 and 20 segments", windows, every(), every_s=0.1),
        Part(
            "buffer",
            "replies of 40 segments",
            buffers,
            every(rate_mbit=BUFFER_RATE_MBIT),
            BUFFER_GOAL,
        ),
    ]


def run(
    part: Part, settings: Sequence[Setting], pool: ProcessPoolExecutor, server: str = "server"
) -> None:
    """Run a set with a server of `replies`, and repeat the cells that were disturbed."""
    for setting in settings:
        wanted = list(part.losses)
        for _ in range(ROUNDS):
            kept = []
            for begin in range(0, len(wanted), BATCH):
                batch = wanted[begin : begin + BATCH]
                every_s = part.every_s or spacing_s(setting)
                kept += replies(setting, batch, every_s, server=server)
            good = [reply for reply in kept if reply.nominal_error_s <= DISTURBED_S]
            judge = pool.map(judged, good, itertools.repeat(setting), chunksize=16)
            part.verdicts.extend((setting, verdict) for verdict in judge)
            for reply in good:
                if reply.losses in wanted:
                    wanted.remove(reply.losses)
            if not wanted:
                break
        part.disturbed.extend((setting, losses) for losses in wanted)
        if wanted:
            print(f"{len(wanted)} cells of `{part.name}`, {setting}, were disturbed each time")
    for setting in settings:
        mark_varying(part, setting, server)


def mark_varying(part: Part, setting: Setting, server: str) -> None:
    """Send the cells that are different again, and mark those whose replies vary."""
    of_setting = enumerate(part.verdicts)
    places = {
        verdict.reply.losses: place
        for place, (at, verdict) in of_setting
        if at == setting and verdict.kind == "different"
    }
    if not places:
        return
    wanted = [losses for losses in places for _ in range(AGAIN)]
    every_s = part.every_s or spacing_s(setting)
    for reply in replies(setting, wanted, every_s, server=server):
        place = places[reply.losses]
        first = part.verdicts[place][1]
        undisturbed = reply.nominal_error_s <= DISTURBED_S
        if first.kind == "different" and undisturbed and judged(reply, setting).kind != "different":
            part.verdicts[place] = (setting, replace(first, kind="varies"))


def spacing_s(setting: Setting) -> float:
    """Time between connections in seconds. On a line with a rate they must not meet."""
    if setting.rate_mbit is not None:
        return 0.3 + 8 * setting.rtt_ms / 1e3
    return 0.02 if setting.rtt_ms > 10 else 0.015


def show(setting: Setting, verdict: Verdict) -> None:
    """Print a reply that is not equal to the simulated one."""
    reply = verdict.reply
    share = "" if verdict.share is None else f", {verdict.share:.0%} of the simulations"
    print(f"{verdict.kind:9} {setting}, {reply.losses}{share}", flush=True)
    for side, sent in (("live", reply.sent), ("ours", verdict.ours)):
        print(f"    {side:4}", *(f"{1e3 * one.time_s:.1f}:{one.seq}+{one.length}" for one in sent))


def missing() -> str | None:
    """Return what this machine lacks, if anything."""
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        return "it needs root and /dev/net/tun"
    if not has_tracepoint("tcp/tcp_probe"):
        return f"it needs the tracing file system at {TRACING}"
    version = os.uname().release.split(".")
    return None if (int(version[0]), int(version[1])) >= (6, 12) else "the kernel is below 6.12"


def verdict_of(part: Part) -> bool:
    """Print the cells of a set that are not equal, and the verdict."""
    for setting, verdict in part.verdicts:
        if verdict.kind in ("by jitter", "varies", "different"):
            show(setting, verdict)
    kinds = [verdict.kind for _, verdict in part.verdicts]
    different = kinds.count("different")
    holds = bool(kinds) and different <= (1 - part.goal) * len(kinds)
    print(
        f"{'holds' if holds else 'FAILS'} {part.what}: {len(kinds)} cells, "
        f"{kinds.count('equal')} equal, {kinds.count('late tick')} after a late tick, "
        f"{kinds.count('by jitter')} by jitter, {kinds.count('varies')} vary, {different} different",
        flush=True,
    )
    return holds


def proportions() -> Iterator[Proportion]:
    """Repeat cells that depend on microseconds."""
    for rtt, mask in itertools.product((20, 60), ("1,0,0,0,1", "0,1,0,1", "1,1,1,1", "1,1")):
        setting = Setting(rtt_ms=rtt)
        wanted = [Losses(len(mask.split(",")), mask)] * REPEATS
        good = [
            reply
            for reply in replies(setting, wanted, 0.0317, tapped=True)
            if reply.nominal_error_s <= DISTURBED_S
        ]
        if good:
            found = proportion(good, setting)
            print(
                f"{setting}, {found.losses}: "
                f"{found.kernel:.0%} of {found.count} replies of the kernel wait for the timeout, "
                f"and {found.ours:.0%} of the simulations; {found.same:.0%} decide likewise, and "
                f"{found.clear_same:.0%} of the {found.clear} clear ones",
                flush=True,
            )
            yield found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sets and print a line for each cell that is not equal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--all", action="store_true", help="every mask of 6 to 8 segments")
    parser.add_argument("--sets", help="names of sets, separated by commas")
    parser.add_argument("--rtt", help="only these round-trip times, in ms")
    parser.add_argument("--page", type=Path, help="write the table as Markdown")
    options = parser.parse_args(arguments)
    reason = missing()
    if reason is not None:
        print(f"cannot run: {reason}")
        return 77
    late = late_share()
    print(f"{late:.0%} of the kernel's timers without TCP expire a tick late")
    chosen = parts(everything=options.all)
    if options.sets:
        chosen = [part for part in chosen if part.name in options.sets.split(",")]
    rtts = [float(word) for word in options.rtt.split(",")] if options.rtt else RTTS_MS
    failed = 0
    with ProcessPoolExecutor(2) as pool:
        for part in chosen:
            run(part, [one for one in part.settings if one.rtt_ms in rtts], pool)
            failed += not verdict_of(part)
    shares = [] if options.sets else list(proportions())
    if not options.sets:
        same = likewise(shares)
        failed += same < LIKEWISE
        print(
            f"{'holds' if same >= LIKEWISE else 'FAILS'} replies that depend on microseconds: "
            f"{same:.1%} of {sum(one.clear for one in shares)} clear ones as simulated"
        )
    if options.page is not None:
        rows = [(part.what, part.verdicts, len(part.disturbed)) for part in chosen]
        options.page.write_text(page(rows, late, shares), encoding="utf-8")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
