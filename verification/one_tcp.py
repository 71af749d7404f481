"""Compare transfers over TUN devices and an emulated link with simulated ones, packet by packet.

Both ends run our TCP endpoint, and masks define which data segments are lost. Control bits,
sequence numbers, lengths, acknowledgments and their order must equal the simulated ones. Times must
agree within a bound that follows from the emulator's measured error.

The lag of a packet behind the simulated one is divided by the number of link crossings since the
start of the connection. The verdict uses the median over all packets and transfers, because a
single lag depends on the load of the machine. For the same reason a transfer that differs is
repeated twice. A timeout that the load of the machine caused does not repeat; a fault of the TCP
implementation does.

    python verification/one_tcp.py [--quick]
"""

# ruff: noqa: T201 (this program prints its verdicts)

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
"""Sizes of transfers in bytes, from the Smart Framing paper's Table I."""

OF_THE_EMULATOR_S_ERROR = 3.0
"""Largest accepted lag per crossing, as a multiple of the 99th percentile of the emulator's error.

Besides the emulator, a packet passes two kernels that forward it and the host that answers. Each of
them, like the emulator, is woken by a timer or a packet.
"""


def masks(*, quick: bool) -> Iterator[str]:
    """Every pattern of losses among the first data segments, and some patterns of later losses."""
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
        # One process runs five transfers in sequence; several processes run concurrently, so that
        # the waiting times overlap.
        for start in range(0, len(words), 3 * 5):
            runs.append(["one-tcp", *words[start : start + 3 * 5]])
            titles.append(f"{sender}, {size} bytes")
    found: dict[str, list[Row]] = {}
    for number, rows, complaint in run_each(program, runs, at_once=24):
        found.setdefault(titles[number], []).extend(rows)
        if complaint:
            verdicts.report(f"{titles[number]}: {complaint}", holds=False)
    differing = [row for rows in found.values() for row in rows if row["difference"] is not None]
    repeated = [
        ["one-tcp", *[str(row["transfer"][key]) for key in ("sender", "size", "mask")] * 2]
        for row in differing
    ]
    for number, rows, _ in run_each(program, repeated, at_once=4):
        once, alike = differing[number], [row["difference"] is None for row in rows]
        print(
            f"  repeated: {' '.join(repeated[number][1:4])}: {once['difference']}; then {sum(alike)} of 2 equal"
        )
        if alike == [True, True]:
            once.update(rows[0])
    for title, rows in found.items():
        same = sum(row["difference"] is None for row in rows)
        packets, again = (sum(row[name] for row in rows) for name in ("packets", "resent"))
        verdicts.report(
            f"{title}: {same} of {len(rows)} transfers equal the simulated ones, {packets} packets ({again} retransmitted)",
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
    verdicts.report(
        f"median lag per crossing of 50 ms: {1e6 * late:.0f} µs (error of the emulator alone: median "
        f"{1e6 * median:.0f} µs, p99 {1e6 * p99:.0f} µs)",
        holds=late <= OF_THE_EMULATOR_S_ERROR * p99,
    )
    early = min(row["early_s"] for row in rows)
    verdicts.report(
        f"no packet early by more than a tick of 1 ms ({-1e6 * min(early, 0.0):.0f} µs)",
        holds=early > -1e-3,
    )


if __name__ == "__main__":
    sys.exit(main(work))
