"""One TCP: transfers over TUN devices and an emulated link, packet by packet beside the simulator's.

Both ends are hosts of ours; masks say which data segments are lost. Control bits, sequence numbers,
lengths, acknowledgments and their order must be the simulator's exactly; times, within what the
emulator says of its own error. A time is compared for each crossing of the link since the
connection began, in the median over all packets and transfers: a single one says more about who
else was on the machine. For the same reason a transfer that differs is made twice more: where a
timer went off that should not have, it is the machine's doing once, and TCP's every time.

    python verification/one_tcp.py [--quick]
"""

# ruff: noqa: T201 (it prints what it finds)

from __future__ import annotations

import itertools
import statistics
import sys
from collections.abc import Iterator

from _live import Row, Verdicts, build, main, run_each

SENDERS = (
    "reno+sack / full / iw=1",
    "reno+sack / fs(n=4) / iw=1",
    "reno+sack / vs(n=4) / iw=1",
    "reno+newreno / full / iw=rfc6928",
    "reno+newreno / fs(n=4) / iw=rfc6928",
    "reno / vs(n=4) / iw=1",
    "tahoe / fs(n=8) / iw=1",
    "reno+sack+lt / full / iw=3",
)
SIZES = (119, 948, 1650, 4706, 8015, 26_641)
"""Of the paper's Table I."""

OF_THE_EMULATOR_S_ERROR = 3.0
"""What a packet goes through on its way besides the emulator: two kernels that pass it on, and the host that answers,
each woken by a timer or a packet as the emulator is."""


def masks(*, quick: bool) -> Iterator[str]:
    """Every way to lose among the first few data segments, and some losses further on."""
    first = 3 if quick else 4
    for lost in itertools.product("01", repeat=first):
        yield ",".join(lost)
    if not quick:
        yield from ("0,0,0,0,0,1", "0,0,0,0,0,0,0,0,1,1,1", "0,0,0,0,1,0,0,0,0,1")


def work(verdicts: Verdicts) -> None:
    """Print every verdict."""
    quick = "--quick" in sys.argv[1:]
    program = build()
    senders, sizes = (SENDERS[:3], SIZES[2:4]) if quick else (SENDERS, SIZES)
    runs, titles = [], []
    for sender, size in itertools.product(senders, sizes):
        words = [word for mask in masks(quick=quick) for word in (sender, str(size), mask)]
        # A process for so many transfers, one after the other, so that the waiting is shared.
        for start in range(0, len(words), 3 * 5):
            runs.append(["one-tcp", *words[start : start + 3 * 5]])
            titles.append(f"{sender}, {size} bytes")
    found: dict[str, list[Row]] = {}
    for number, rows, complaint in run_each(program, runs, at_once=24):
        found.setdefault(titles[number], []).extend(rows)
        if complaint:
            verdicts.say(f"{titles[number]}: {complaint}", holds=False)
    differing = [row for rows in found.values() for row in rows if row["difference"] is not None]
    repeated = [
        ["one-tcp", *[str(row["transfer"][key]) for key in ("sender", "size", "mask")] * 2]
        for row in differing
    ]
    for number, rows, _ in run_each(program, repeated, at_once=4):
        once, alike = differing[number], [row["difference"] is None for row in rows]
        print(
            f"  made again: {' '.join(repeated[number][1:4])}: {once['difference']}; then {sum(alike)} of 2 the same"
        )
        if alike == [True, True]:
            once.update(rows[0])
    for title, rows in found.items():
        same = sum(row["difference"] is None for row in rows)
        packets, again = (sum(row[name] for row in rows) for name in ("packets", "resent"))
        verdicts.say(
            f"{title}: {same} of {len(rows)} transfers, {packets} packets ({again} again), are the simulated ones",
            holds=same == len(rows) > 0,
        )
        for row in rows:
            if row["difference"] is not None:
                print(f"         mask {row['transfer']['mask']}: {row['difference']}")
    rows = [row for each in found.values() for row in each]
    late = statistics.median(row["late_median_s"] for row in rows)
    median, p99 = (
        statistics.median(row[f"error_{name}_s"] for row in rows) for name in ("median", "p99")
    )
    verdicts.say(
        f"late by {1e6 * late:.0f} µs a crossing of 50 ms, in the median (the emulator itself: {1e6 * median:.0f} µs, "
        f"99 % below {1e6 * p99:.0f} µs)",
        holds=late <= OF_THE_EMULATOR_S_ERROR * p99,
    )
    early = min(row["early_s"] for row in rows)
    verdicts.say(
        f"none before its time by more than a tick of 1 ms ({-1e6 * min(early, 0.0):.0f} µs)",
        holds=early > -1e-3,
    )


if __name__ == "__main__":
    sys.exit(main(work))
