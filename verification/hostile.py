"""A file server among hostile peers, over IPv4 and IPv6: a good client's speed with and without them, memory, bytes.

The server is `host` on a TUN device, the good client the kernel's TCP on the same machine, and the others send from the
same machine too: what they cost the server and what they cost the processor is not told apart, so the true ratios are
better than these.

    python verification/hostile.py [--quick]
"""

from __future__ import annotations

import sys

from _live import Verdicts, build, main, run_each

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
    "window-edge": 5_000,
    "overlaps": 500,
    "wraps": 20_000,
    "too-big": 10_000,
    "unreachable": 10_000,
    "fragments": 20_000,
}
"""Hostile packets a second. Where peers are sent what they asked for, each draws many others."""

HORDE = 3_000
"""Connections that are held open at a time with a byte at the edge of their windows."""

LEFT = 128 * 16_384
"""Bytes, at most, in the buffers when all these have ended: what the good client's connections in TIME-WAIT keep."""

SPEED = 0.5
"""Of the good client's own, at least."""


def work(verdicts: Verdicts) -> None:
    """Print every verdict."""
    quick = "--quick" in sys.argv[1:]
    seconds = "1" if quick else "6"
    # Whether a transfer crosses the end of the sequence space is a matter of luck: that takes many tries. And all of
    # the connections with a byte at the edge of the window must have been opened in a second.
    calmly = {
        attack: rate // 4 if quick and attack not in ("wraps", "window-edge") else rate
        for attack, rate in ATTACKS.items()
    }
    runs = [["hostile", ip, seconds, str(rate), attack] for attack, rate in calmly.items() for ip in ("4", "6")]
    # One at a time: speed is measured.
    for number, rows, complaint in run_each(build(), runs, at_once=1):
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
            if attack == "window-edge":
                left = row["left_buffered_bytes"]
                verdicts.say(
                    f"  afterwards {row['left_connections']} connections and {left / 1e3:.0f} kB in buffers",
                    holds=row["most_connections"] >= HORDE and row["left_connections"] == 0 and left <= LEFT,
                )
            if attack == "syn-flood":
                verdicts.say(f"  {row['cookies_sent']:,} cookies", holds=row["cookies_sent"] > 0)


if __name__ == "__main__":
    sys.exit(main(work))
