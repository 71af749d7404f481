"""A file server among hostile peers, over IPv4 and IPv6: a good client's speed with and without them, memory, bytes.

The server is `host` on a TUN device, the good client the kernel's TCP on the same machine, and the
others send from the same machine too: what they cost the server and what they cost the processor is
not told apart, so the true ratios are better than these.

Some peers hold connections with few packets. The server then has the limits of `tcpsf serve`, and
three things are judged: the good client's speed in pairs of turns, without them and among them; the
resident memory of the whole process at its peak, theirs included, above that before they came; and
what is left when they have reset their connections, and when they have only fallen silent.

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
"""Hostile packets a second. Where peers are sent what they asked for, each draws many others."""

HOLDERS = {
    "window-edge": "one byte at the edge of each window",
    "unread-lists": "lists of 10,000 names that nobody reads",
    "trickling-bodies": "bodies that come a byte at a time",
    "endless-trailers": "trailers that never end",
    "late-bytes": "a byte taken shortly before the peer is given up",
}
"""What those do that hold connections."""

HELD = 300 << 20
"""Bytes of resident memory, at most, that they cost."""

LEFT = 128 * 16_384
"""Bytes, at most, in the buffers when they are gone: what the good client's connections in TIME-WAIT keep."""

LEFT_RESIDENT = 64 << 20
"""Bytes of resident memory, at most, when they are gone: tables for 16 384 connections and as many in TIME-WAIT."""

SPEED = 0.5
"""Of the good client's own, at least."""


def work(verdicts: Verdicts) -> None:
    """Print every verdict."""
    quick = "--quick" in sys.argv[1:]
    seconds = "1" if quick else "6"
    # Whether a transfer crosses the end of the sequence space is a matter of luck: that takes many
    # tries.
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
    # One at a time: speed is measured.
    for number, rows, complaint in run_each(program, runs, at_once=1):
        ip, attack = runs[number][1], runs[number][4]
        name = f"{attack} over IPv{ip}"
        if complaint or not rows:
            verdicts.say(f"{name}: {complaint or 'no result'}", holds=False)
        for row in rows:
            ratio = row["attacked_files"] / max(1, row["quiet_files"])
            verdicts.say(
                f"{name}, {row['hostile_packets']:,} packets: speed {ratio:.2f} of {row['quiet_files']:,} files "
                f"in {seconds} s, {row['lost_files']} lost",
                holds=ratio >= SPEED and row["lost_files"] == 0,
            )
            megabytes = row["grown_bytes"] / 1e6
            verdicts.say(
                f"  at most {row['most_connections']:,} connections, {row['most_buffered_bytes'] / 1e6:.1f} MB in "
                f"buffers; the process grew by {megabytes:.0f} MB",
                holds=row["most_buffered_bytes"] <= row["allowed_buffered_bytes"]
                and row["grown_bytes"] <= 2 * row["allowed_buffered_bytes"] + (32 << 20),
            )
            if attack in ("overlaps", "wraps", "too-big", "unreachable"):
                verdicts.say(
                    f"  {row['right']:,} transfers right to the last byte, {row['wrong']} wrong",
                    holds=row["right"] > 0 and row["wrong"] == 0,
                )
            if attack == "syn-flood":
                verdicts.say(f"  {row['cookies_sent']:,} cookies", holds=row["cookies_sent"] > 0)


def work_on_holders(verdicts: Verdicts, program: Path, turns: list[str]) -> None:
    """Print the verdicts on those that hold connections. `turns`: pairs, and the seconds of both turns of a pair."""
    runs = [["hold", ip, *turns, name] for name in HOLDERS for ip in ("4", "6")]
    for number, rows, complaint in run_each(program, runs, at_once=1):
        _, ip, *_, name = runs[number]
        what = f"{name} over IPv{ip}"
        if complaint or not rows:
            verdicts.say(f"{what}: {complaint or 'no result'}", holds=False)
        for row in rows:
            judge_holders(verdicts, f"{what}, {HOLDERS[name]}", row)


def judge_holders(verdicts: Verdicts, what: str, row: Row) -> None:
    """Print the verdicts on one run."""
    ratios = sorted(
        (pair["attacked_files"] / pair["attacked_seconds"])
        / (max(1, pair["quiet_files"]) / pair["quiet_seconds"])
        for pair in row["pairs"]
    )
    middle = statistics.median(ratios)
    verdicts.say(
        f"{what}: speed {middle:.2f} (pairs {', '.join(f'{ratio:.2f}' for ratio in ratios)}), {row['lost_files']} lost",
        holds=middle >= SPEED and row["lost_files"] == 0,
    )
    verdicts.say(
        f"  at most {row['most_connections']:,} connections, {row['most_buffered_bytes'] / (1 << 20):.0f} MiB in "
        f"buffers; resident memory {row['grown_bytes'] / (1 << 20):.0f} MiB above idle",
        holds=row["most_connections"] >= row["wanted_connections"]
        and row["most_buffered_bytes"] <= row["allowed_buffered_bytes"]
        and row["grown_bytes"] < HELD,
    )
    for when, left in (("resets", row["after_resets"]), ("silence", row["after_silence"])):
        if left is not None:
            verdicts.say(
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
