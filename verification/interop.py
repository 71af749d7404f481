"""Exchange data between our TCP endpoint and the kernel's, in both roles, through emulated links.

Both ends compare every byte of every connection. Then curl, wget, ab, wrk and Chromium fetch files
from `tcpsf serve`.

A case consists of a link, a role and an IP version. These settings change from case to case: the
kernel's options (SACK, timestamps, window scaling), its congestion control, its acknowledgment
strategy, our sender, and the offloads of our device.

A connection is good when both ends have received all bytes correctly and have closed it. On a link
that loses a fifth of all packets, some connections time out, or are unfinished five minutes after
all others. These are attributed to the link and counted separately. On a link with bursts of loss,
one connection of a series may time out. Every other connection that is not good is a failure.

    python verification/interop.py [--quick]
"""

# ruff: noqa: T201 (this program prints its verdicts)

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from _clients import clients
from _live import REPOSITORY, Row, Verdicts, build, main, run_each

LINKS: dict[str, Row] = {
    "clean": {},
    "clean, 10 ms": {"both": {"delay": "10ms"}},
    "20 Mb/s, 30 kB": {"both": {"delay": "3ms", "rate": "20mbit", "queue": "30kB"}},
    "loss 1 %": {"both": {"delay": "2ms", "loss": "1%"}},
    "loss 5 %": {"both": {"delay": "2ms", "loss": "5%"}},
    "loss in bursts": {"both": {"delay": "2ms", "loss-burst": "0.02,3"}},
    "loss 20 %": {"both": {"delay": "2ms", "loss": "20%"}},
    "reordering 10 %": {"both": {"delay": "2ms", "reorder": "10%,4ms"}},
    "duplication 10 %": {"both": {"delay": "2ms", "duplicate": "10%"}},
    "corruption 2 %": {"both": {"delay": "2ms", "corrupt": "2%"}},
    "path MTU 1280": {"both": {"delay": "1ms", "path-mtu": "1280"}},
    "all of it": {
        "both": {
            "delay": "2ms",
            "loss": "2%",
            "duplicate": "3%",
            "corrupt": "1%",
            "reorder": "3%,3ms",
        }
    },
}
HEAVY = {"loss 20 %"}
"""Links on which timeouts of connections are attributed to the link."""

BURSTS = {"loss in bursts"}
"""Links on which the last connection of a series may time out.

A burst of losses ends with a packet, not with time: within a burst, each packet is lost with
probability 2/3. When one connection is alone on the link, its retransmissions are the only packets.
Seven retransmissions fit into the user timeout, and a burst drops all seven with probability
(2/3)^7 = 6 %. While several connections are active, the packets of one end the burst for the
others. Therefore one connection of a series is excused.
"""

SHARES = {
    "clean": 10.0,
    "clean, 10 ms": 3.0,
    "duplication 10 %": 3.0,
    "reordering 10 %": 3.0,
    "loss 20 %": 0.5,
}
"""Relative number of connections of a link, 1 by default: waiting for timers takes long."""

SENDERS = (
    "reno+sack / full / iw=rfc6928",
    "reno+sack / fs(n=4) / iw=1",
    "reno+newreno / vs(n=4) / iw=3",
    "tahoe / full / iw=1",
    "reno+sack+lt / fs(n=2) / iw=10",
)
OPTIONS = ("tcp_sack", "tcp_timestamps", "tcp_window_scaling")


def congestion_controls() -> list[str]:
    """Names of the congestion controls among Reno, CUBIC and BBR that this kernel provides."""
    known = (
        Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .read_text(encoding="ascii")
        .split()
    )
    return [name for name in ("reno", "cubic", "bbr") if name in known]


def cases(connections: int) -> Iterator[tuple[str, Row]]:
    """Yield each series with the name of its link.

    ``connections`` is the approximate total number of short connections.
    """
    controls = congestion_controls()
    retries = {"tcp_syn_linear_timeouts": "20", "tcp_syn_retries": "30"}
    retries = {
        name: value
        for name, value in retries.items()
        if Path(f"/proc/sys/net/ipv4/{name}").exists()
    }
    shares = sum(SHARES.get(link, 1.0) for link in LINKS)
    places = itertools.product(LINKS, ("server", "client"), (4, 6))
    for number, (link, ours, ip) in enumerate(places):
        # Strides that are coprime to the lengths of the cycles produce all combinations.
        off = [name for bit, name in enumerate(OPTIONS) if (3 * number + number // 4) >> bit & 1]
        count = round(connections * SHARES.get(link, 1.0) / shares / 4)
        for bulk in (False, True):
            yield (
                link,
                {
                    "ours": ours,
                    "ip": ip,
                    "link": LINKS[link],
                    "sysctls": {
                        **dict.fromkeys(OPTIONS, "1"),
                        **dict.fromkeys(off, "0"),
                        **retries,
                        "tcp_tw_reuse": "1",
                        "ip_local_port_range": "1024 65535",
                    },
                    "congestion": controls[(number + number // 3 + bulk) % len(controls)],
                    "quick_ack": (number // 2 + bulk) % 2 == 1,
                    "offload": (number + number // 4) % 2 == 1,
                    "sender": SENDERS[(number + bulk) % len(SENDERS)],
                    "half_open": 0 if ours == "server" and number % 3 == 0 else None,
                    "connections": 12 if bulk else max(40, count),
                    "concurrency": 6 if bulk else 100,
                    "up": [100_000, 1_000_000] if bulk and link not in HEAVY else [1, 3_000],
                    "down": [100_000, 2_000_000] if bulk and link not in HEAVY else [1, 15_000],
                    "seed": 2 * number + bulk,
                },
            )


def exchanges(verdicts: Verdicts, *, connections: int) -> None:
    """Run all series, and print one verdict for each link and one for the total."""
    print(f"\nour endpoint with the kernel's TCP ({', '.join(congestion_controls())})")
    series = list(cases(connections))
    start = time.monotonic()
    runs = [["exchange", json.dumps(case)] for _, case in series]
    found: dict[str, list[tuple[Row, Row]]] = {link: [] for link in LINKS}
    complaints: list[str] = []
    # The longest series first: connections of heavy links wait for timers.
    order = sorted(range(len(runs)), key=lambda number: series[number][0] not in HEAVY)
    for place, rows, complaint in run_each(build(), [runs[number] for number in order], at_once=6):
        link, case = series[order[place]]
        found[link] += [(case, row) for row in rows]
        if complaint:
            complaints.append(f"{link}, {case['ours']}, IPv{case['ip']}: {complaint}")
    total, bad, network, compared = 0, 0, 0, 0
    for link, pairs in found.items():
        counts = [counted(link, case, row) for case, row in pairs]
        opened, good, blamed = (sum(count[at] for count in counts) for at in range(3))
        byte_count = sum(
            row[end]["compared_bytes"] for _, row in pairs for end in ("ours", "kernel")
        )
        again = {
            name: sum(row[name] for _, row in pairs)
            for name in ("fast_retransmits", "timeouts", "cookies")
        }
        total, bad, network, compared = (
            total + opened,
            bad + opened - good - blamed,
            network + blamed,
            compared + byte_count,
        )
        verdicts.report(
            f"{link:18} {opened:7,} connections, {opened - good - blamed} failed"
            + (f", {blamed} timed out or unfinished" if link in HEAVY | BURSTS else "")
            + f"; {byte_count / 1e6:7.1f} MB compared; our endpoint: {again['fast_retransmits']:,} fast retransmits, "
            f"{again['timeouts']:,} timeouts, {again['cookies']:,} connections by SYN cookie",
            holds=opened == good + blamed > 0 and len(pairs) == 8,
        )
        for case, row in pairs:
            if sum(counted(link, case, row)[1:]) != case["connections"]:
                ends = {name: row[name] for name in ("ours", "kernel", "open")}
                print(f"         {json.dumps(case)}\n         {json.dumps(ends)}")
    for complaint in complaints:
        verdicts.report(complaint, holds=False)
    verdicts.report(
        f"{total:,} connections in {time.monotonic() - start:.0f} s: {bad} failed, {network} timed out or unfinished "
        f"because of 20 % loss or a burst; {compared / 1e6:,.0f} MB compared",
        holds=total > 0 and bad == 0,
    )


def counted(link: str, case: Row, row: Row) -> tuple[int, int, int]:
    """Number of connections: requested, good at both ends, and timed out because of the link.

    On a link with heavy losses, all repeated transmissions of a FIN may be lost. The kernel then
    forgets the connection of a closed socket (`tcp_orphan_retries`), and the other end becomes idle.
    """
    opened, good = case["connections"], min(row["ours"]["good"], row["kernel"]["good"])
    reasons = ("timed-out", "idle") if link in HEAVY else ("timed-out",)
    timed_out = max(
        sum(row[end]["bad"].get(reason, 0) for reason in reasons) for end in ("ours", "kernel")
    )
    most = opened if link in HEAVY else 1 if link in BURSTS else 0
    return opened, good, min(timed_out + row["open"], opened - good, most)


def work(verdicts: Verdicts) -> None:
    """Print every verdict."""
    quick = "--quick" in sys.argv[1:]
    exchanges(verdicts, connections=4_000 if quick else 100_000)
    print("\nHTTP clients, fetching from `tcpsf serve`")
    clients(verdicts, quick=quick, repository=REPOSITORY)


if __name__ == "__main__":
    sys.exit(main(work))
