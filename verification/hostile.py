"""Attack a file server with hostile peers: speed of a genuine client, memory use, correct bytes.

The server is `host` on a TUN device, over IPv4 and IPv6. The genuine client is the kernel's TCP,
and the hostile peers send from the same machine. The measured slowdown therefore includes the CPU
time of the hostile peers, so that the ratios of a server on a separate machine are better.

A second kind of peer holds connections with few packets. The server then has the limits of `tcpsf
serve`, and three results are judged:

* the client's speed, in pairs of measurements without and with the hostile peers;
* the peak of the process's resident memory, peers included, above its value before the attack;
* the memory that remains after the peers have reset their connections, or have fallen silent.

    python verification/hostile.py [--quick]
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from _live import Row, Verdicts, build, main, run_each

ATTACKS = {
    "syn-flood": 20_000,
    "resets": 20_000,
    "injection": 20_000,
    "garbage": 10_000,
    "sack-lies": 10_000,
    "optimistic-acks": 2_000,
    "zero-windows": 10_000,
    "shrinking-windows": 5_000,
    "scattered": 10_000,
    "overlaps": 500,
    "wraps": 20_000,
    "too-big": 10_000,
    "unreachable": 10_000,
    "fragments": 20_000,
}
"""Hostile packets per second. In attacks that request data, each packet causes many answers."""

HOLDERS = {
    "window-edge": "one byte at the edge of each window",
    "unread-lists": "directory listings of 10,000 names that the peer does not read",
    "trickling-bodies": "request bodies sent one byte at a time",
    "endless-trailers": "trailers without an end",
    "late-bytes": "one byte of progress shortly before the user timeout",
}
"""Attacks that hold connections, and the behaviour of their peers."""

HELD = 300 << 20
"""Largest accepted growth of resident memory during an attack that holds connections, in bytes."""

LEFT = 128 * 16_384
"""Largest accepted size of the buffers after such an attack, in bytes.

The client's connections in TIME-WAIT occupy these buffers.
"""

LEFT_RESIDENT = 64 << 20
"""Largest accepted growth of resident memory after such an attack, in bytes.

The tables for 16 384 connections and as many in TIME-WAIT remain allocated.
"""

SPEED = 0.5
"""Smallest accepted speed of the client during an attack, as a share of its speed without one."""


def work(verdicts: Verdicts) -> None:
    """Print every verdict."""
    quick = "--quick" in sys.argv[1:]
    seconds = "1" if quick else "6"
    # A transfer crosses the end of the sequence space only by chance, so "wraps" needs many
    # transfers, also in a quick run.
    calmly = {
        attack: rate // 4 if quick and attack != "wraps" else rate
        for attack, rate in ATTACKS.items()
    }
    runs = [
        ["hostile", ip, seconds, str(rate), attack]
        for attack, rate in calmly.items()
        for ip in ("4", "6")
    ]
    program = build()
    work_on_holders(verdicts, program, ["1", "3", "14"] if quick else ["3", "4", "16"])
    # One run at a time, because the runs measure speed.
    for number, rows, complaint in run_each(program, runs, at_once=1):
        ip, attack = runs[number][1], runs[number][4]
        name = f"{attack} over IPv{ip}"
        if complaint or not rows:
            verdicts.report(f"{name}: {complaint or 'no result'}", holds=False)
        for row in rows:
            ratio = row["attacked_files"] / max(1, row["quiet_files"])
            verdicts.report(
                f"{name}, {row['hostile_packets']:,} packets: speed ratio {ratio:.2f}, {row['quiet_files']:,} files "
                f"in {seconds} s without the attack, {row['lost_files']} lost",
                holds=ratio >= SPEED and row["lost_files"] == 0,
            )
            megabytes = row["grown_bytes"] / 1e6
            verdicts.report(
                f"  at most {row['most_connections']:,} connections, {row['most_buffered_bytes'] / 1e6:.1f} MB in "
                f"buffers; the process grew by {megabytes:.0f} MB",
                holds=row["most_buffered_bytes"] <= row["allowed_buffered_bytes"]
                and row["grown_bytes"] <= 2 * row["allowed_buffered_bytes"] + (32 << 20),
            )
            if attack in ("overlaps", "wraps", "too-big", "unreachable"):
                verdicts.report(
                    f"  {row['right']:,} transfers right to the last byte, {row['wrong']} wrong",
                    holds=row["right"] > 0 and row["wrong"] == 0,
                )
            if attack == "syn-flood":
                verdicts.report(f"  {row['cookies_sent']:,} cookies", holds=row["cookies_sent"] > 0)


def work_on_holders(verdicts: Verdicts, program: Path, turns: list[str]) -> None:
    """Print the verdicts on the attacks that hold connections.

    ``turns`` has the number of pairs of measurements, then the seconds of both measurements of a
    pair.
    """
    runs = [["hold", ip, *turns, name] for name in HOLDERS for ip in ("4", "6")]
    for number, rows, complaint in run_each(program, runs, at_once=1):
        _, ip, *_, name = runs[number]
        what = f"{name} over IPv{ip}"
        if complaint or not rows:
            verdicts.report(f"{what}: {complaint or 'no result'}", holds=False)
        for row in rows:
            judge_holders(verdicts, f"{what}, {HOLDERS[name]}", row)


def judge_holders(verdicts: Verdicts, what: str, row: Row) -> None:
    """Print the verdicts on one run of an attack that holds connections."""
    ratios = sorted(
        (pair["attacked_files"] / pair["attacked_seconds"])
        / (max(1, pair["quiet_files"]) / pair["quiet_seconds"])
        for pair in row["pairs"]
    )
    middle = statistics.median(ratios)
    verdicts.report(
        f"{what}: speed {middle:.2f} (pairs {', '.join(f'{ratio:.2f}' for ratio in ratios)}), {row['lost_files']} lost",
        holds=middle >= SPEED and row["lost_files"] == 0,
    )
    verdicts.report(
        f"  at most {row['most_connections']:,} connections, {row['most_buffered_bytes'] / (1 << 20):.0f} MiB in "
        f"buffers; resident memory {row['grown_bytes'] / (1 << 20):.0f} MiB above idle",
        holds=row["most_connections"] >= row["wanted_connections"]
        and row["most_buffered_bytes"] <= row["allowed_buffered_bytes"]
        and row["grown_bytes"] < HELD,
    )
    for when, left in (("resets", row["after_resets"]), ("silence", row["after_silence"])):
        if left is not None:
            verdicts.report(
                f"  {left['seconds']:.1f} s after {when} {left['connections']} connections, "
                f"{(left['buffered_bytes'] + left['server_bytes']) / 1e3:.0f} kB in buffers, "
                f"{left['grown_bytes'] / (1 << 20):.0f} MiB resident above idle",
                holds=left["connections"] == 0
                and left["server_bytes"] == 0
                and left["buffered_bytes"] <= LEFT
                and left["grown_bytes"] <= LEFT_RESIDENT,
            )


if __name__ == "__main__":
    sys.exit(main(work))
