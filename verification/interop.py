"""Our endpoint and the kernel's TCP, as server and as client, through emulated links.

Every byte of every connection is compared at both ends; then the clients that people use fetch from
`tcpsf serve`.

A case is a link, a role and an IP version. The kernel's options (SACK, timestamps, scaling), its
congestion control, how it acknowledges, our sender and whether our device has offloads change from
case to case. A connection is good when both ends say so: all bytes right, and closed by both. What
a link that loses a fifth of everything lets time out, or leaves unfinished five minutes after all
else, is the link's doing and counted apart; nothing else is.

    python verification/interop.py [--quick]
"""

# ruff: noqa: T201 (it runs programs and prints what it finds)

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
"""Where timeouts are the network's doing."""

BURSTS = {"loss in bursts"}
"""Where the last connection of a series may time out. A burst of this link ends with a packet, not with time: each
packet within it meets the next loss with probability 2/3. Once a connection is alone on the link, its
retransmissions are the only packets, and a burst takes all seven that fit into the user timeout with probability
(2/3)^7 = 6 %. Other connections end the burst for each other, so one connection of a series is excused.
"""

SHARES = {
    "clean": 10.0,
    "clean, 10 ms": 3.0,
    "duplication 10 %": 3.0,
    "reordering 10 %": 3.0,
    "loss 20 %": 0.5,
}
"""How many connections a link gets beside the others: those that wait for timers cost time."""

SENDERS = (
    "reno+sack / full / iw=rfc6928",
    "reno+sack / fs(n=4) / iw=1",
    "reno+newreno / vs(n=4) / iw=3",
    "tahoe / full / iw=1",
    "reno+sack+lt / fs(n=2) / iw=10",
)
OPTIONS = ("tcp_sack", "tcp_timestamps", "tcp_window_scaling")


def congestion_controls() -> list[str]:
    """Those that this kernel has."""
    known = (
        Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .read_text(encoding="ascii")
        .split()
    )
    return [name for name in ("reno", "cubic", "bbr") if name in known]


def cases(connections: int) -> Iterator[tuple[str, Row]]:
    """The series, by their links; short connections make about so many in all."""
    controls = congestion_controls()
    patience = {"tcp_syn_linear_timeouts": "20", "tcp_syn_retries": "30"}
    patience = {
        name: value
        for name, value in patience.items()
        if Path(f"/proc/sys/net/ipv4/{name}").exists()
    }
    shares = sum(SHARES.get(link, 1.0) for link in LINKS)
    places = itertools.product(LINKS, ("server", "client"), (4, 6))
    for number, (link, ours, ip) in enumerate(places):
        # Strides that have no factor in common with the cycles walk through all combinations.
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
                        **patience,
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
    """A line for each link, and one for all."""
    print(f"\nour endpoint and the kernel's ({', '.join(congestion_controls())})")
    series = list(cases(connections))
    start = time.monotonic()
    runs = [["exchange", json.dumps(case)] for _, case in series]
    found: dict[str, list[tuple[Row, Row]]] = {link: [] for link in LINKS}
    complaints: list[str] = []
    # The longest first: those that wait.
    order = sorted(range(len(runs)), key=lambda number: series[number][0] not in HEAVY)
    for place, rows, complaint in run_each(build(), [runs[number] for number in order], at_once=6):
        link, case = series[order[place]]
        found[link] += [(case, row) for row in rows]
        if complaint:
            complaints.append(f"{link}, {case['ours']}, IPv{case['ip']}: {complaint}")
    total, bad, network, compared = 0, 0, 0, 0
    for link, pairs in found.items():
        counts = [counted(link, case, row) for case, row in pairs]
        asked, good, blamed = (sum(count[at] for count in counts) for at in range(3))
        byte_count = sum(
            row[end]["compared_bytes"] for _, row in pairs for end in ("ours", "kernel")
        )
        again = {
            name: sum(row[name] for _, row in pairs)
            for name in ("fast_retransmits", "timeouts", "cookies")
        }
        total, bad, network, compared = (
            total + asked,
            bad + asked - good - blamed,
            network + blamed,
            compared + byte_count,
        )
        verdicts.say(
            f"{link:18} {asked:7,} connections, {asked - good - blamed} failed"
            + (f", {blamed} timed out or not ended" if link in HEAVY | BURSTS else "")
            + f"; {byte_count / 1e6:7.1f} MB compared; {again['fast_retransmits']:,} fast retransmits and "
            f"{again['timeouts']:,} timeouts of ours, {again['cookies']:,} by cookie",
            holds=asked == good + blamed > 0 and len(pairs) == 8,
        )
        for case, row in pairs:
            if sum(counted(link, case, row)[1:]) != case["connections"]:
                ends = {name: row[name] for name in ("ours", "kernel", "open")}
                print(f"         {json.dumps(case)}\n         {json.dumps(ends)}")
    for complaint in complaints:
        verdicts.say(complaint, holds=False)
    verdicts.say(
        f"{total:,} connections in {time.monotonic() - start:.0f} s: {bad} failed, {network} timed out or not ended "
        f"where a fifth is lost or a burst lasts; {compared / 1e6:,.0f} MB compared, none wrong",
        holds=total > 0 and bad == 0,
    )


def counted(link: str, case: Row, row: Row) -> tuple[int, int, int]:
    """The numbers of connections asked for, good at both ends, and given up where the link explains it."""
    asked, good = case["connections"], min(row["ours"]["good"], row["kernel"]["good"])
    timed_out = max(row[end]["bad"].get("timed-out", 0) for end in ("ours", "kernel"))
    most = asked if link in HEAVY else 1 if link in BURSTS else 0
    return asked, good, min(timed_out + row["open"], asked - good, most)


def work(verdicts: Verdicts) -> None:
    """Print every verdict."""
    quick = "--quick" in sys.argv[1:]
    exchanges(verdicts, connections=4_000 if quick else 100_000)
    print("\nclients that people use, from `tcpsf serve`")
    clients(verdicts, quick=quick, repository=REPOSITORY)


if __name__ == "__main__":
    sys.exit(main(work))
