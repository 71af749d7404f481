"""Measure the CPU time of `tcpsf analyze` beside tcptrace's and tshark's, on the same capture.

The capture is simulated: replies of 2 to 300 kB of Linux senders over a link with 1 % loss, 128 bytes
of each packet. All three programs follow connections and find retransmissions. The processes run one
after the other, several times, and a ratio is computed within each turn. Reading the file without
looking at it (`cat`) shows the part that no program can save.
"""

# ruff: noqa: T201 (this program prints measurements)

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from _measure import conclude, measure

from tcpsf import Link, PacketLoss, Pcap, Poisson, Scenario, Sizes, Tcp, run

TCPTRACE, TSHARK, MEGABYTES = 10.0, 50.0, 500.0
"""Targets: how many times faster, and the peak memory in MB."""

SECONDS = 760
"""Simulated time that makes a capture of 1 GB."""

PEERS = {
    "tcptrace": ["tcptrace", "-n", "-l", "-r"],
    "tshark": ["tshark", "-n", "-q", "-z", "conv,tcp", "-z", "expert", "-r"],
    "cat": ["sh", "-c", 'cat "$1" > /dev/null', "cat"],
}
"""Commands, without the name of the capture."""


def write_capture(path: Path, *, seconds: int) -> None:
    """Write the capture, at the sender."""
    made = Scenario(
        name="capture",
        duration=f"{seconds}s",
        tcp=Tcp(profile="linux-6.18"),
        link=[
            Link(
                name="down",
                from_="server",
                to="client",
                rate="100Mb/s",
                delay="20ms",
                loss=PacketLoss(probability=0.01),
            ),
            Link(name="up", from_="client", to="server", delay="20ms"),
        ],
        workload=[
            Poisson(
                name="replies",
                from_="server",
                to="client",
                load=0.6,
                of="down",
                sizes=Sizes(classes=[2000, 10_000, 60_000, 300_000]),
                sender="linux",
                handshake=True,
                opener="receiver",
            )
        ],
    )
    run(made, seed=1, pcap=Pcap(path=path, replace=True, place="sender"))


def main() -> int:
    """Print the CPU time of each program in each turn, the ratios, and the verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=SECONDS, help="simulated time")
    options = parser.parse_args()
    if missing := [name for name in PEERS if shutil.which(name) is None]:
        print(f"needs {' and '.join(missing)}")
        return 77
    ratios: dict[str, list[float]] = {name: [] for name in PEERS}
    peaks = []
    with TemporaryDirectory() as name:
        path = Path(name) / "capture.pcapng"
        write_capture(path, seconds=options.seconds)
        print(f"capture of {path.stat().st_size / 1e6:.0f} MB; CPU seconds")
        for turn in range(1, options.turns + 1):
            ours = measure([sys.executable, "-m", "tcpsf", "analyze", str(path)])
            peaks.append(ours.peak_mb)
            text = f"  turn {turn}: tcpsf {ours.cpu_s:.2f} ({ours.peak_mb:.0f} MB)"
            for peer, words in PEERS.items():
                cost = measure([*words, str(path)])
                ratios[peer].append(cost.cpu_s / ours.cpu_s)
                text += f", {peer} {cost.cpu_s:.2f}"
            print(text, flush=True)
    median = {peer: statistics.median(found) for peer, found in ratios.items()}
    print(f"  cat takes {median['cat']:.2f} of the time of tcpsf")
    return conclude(
        [
            (
                f"{median['tcptrace']:.1f} times faster than tcptrace, target {TCPTRACE:g}",
                median["tcptrace"] >= TCPTRACE,
            ),
            (
                f"{median['tshark']:.0f} times faster than tshark, target {TSHARK:g}",
                median["tshark"] >= TSHARK,
            ),
            (f"{max(peaks):.0f} MB, target {MEGABYTES:g}", max(peaks) <= MEGABYTES),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
