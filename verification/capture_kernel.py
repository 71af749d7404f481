"""Compare the causes that `tcpsf analyze` finds with what the kernel did.

The kernel's TCP sends replies over `tcpsf link` with random losses. The tracepoint
`tcp_retransmit_skb` names with its stack or its context what retransmitted, and `tcp_cong_state_set`
the state of the congestion control. The same packets are captured at the sender, at the receiver, or
in the middle of two links. The n-th retransmission of a connection in the capture is the n-th one of
the kernel.

    python verification/capture_kernel.py

It needs root and the kernel's tracing file system. For captures at the sender, precision and recall
of each cause must be 99 % at least. Those of the other positions are stated.
"""

# ruff: noqa: S603, T201 (this program runs programs and prints verdicts)

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import polars as pl
from _linux_live import write_settings
from _linux_server import MOST, PORT

from tcpsf import captures

TRACING: Final = Path("/sys/kernel/tracing")
HERE: Final = Path(__file__).parent
REQUIRED: Final = 0.99
FEWEST: Final = 30
"""Smallest number of retransmissions of a cause that is judged."""

TIMEOUT, PROBE, RACK_TIMER = "timeout", "tail_loss_probe", "rack_timer"
DETECTED, REPAIR, SLOW_START = "rack", "recovery", "slow_start"

FUNCTIONS: Final = {
    "tcp_send_loss_probe": PROBE,
    "tcp_retransmit_timer": TIMEOUT,
    "tcp_rack_reo_timeout": RACK_TIMER,
}
"""Functions in the stack, and the causes that they are."""

CLASSES: Final = {
    "probe_of_new_data": DETECTED,
    "sack": DETECTED,
    "fack": DETECTED,
    "three_duplicates": DETECTED,
    "early_retransmit": DETECTED,
    "lost_retransmission": REPAIR,
}
"""Causes of the analysis that the kernel's trace does not tell apart, and the class of each."""

RECOVERY: Final = 3
LOSS: Final = 4
"""Numbers of the states `TCP_CA_Recovery` and `TCP_CA_Loss`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossyPath:
    """A path and its traffic."""

    rtt_ms: float
    loss: str
    segments: Sequence[int]
    seed: int

    def __str__(self) -> str:
        return f"RTT {self.rtt_ms:g} ms, loss {self.loss}"


PATHS: Final = tuple(
    LossyPath(rtt_ms=rtt, loss=loss, segments=[1, 2, 3, 4, 6, 10, 20, 40] * 12, seed=seed)
    for seed, (rtt, loss) in enumerate(
        [(20.0, "0.03"), (60.0, "0.03"), (150.0, "0.05"), (40.0, "0.1")], start=1
    )
)


def main() -> int:
    """Run all paths, and print precision and recall at each position."""
    if os.geteuid() != 0 or not (TRACING / "events" / "tcp" / "tcp_retransmit_skb").is_dir():
        print("needs root and the tracing file system at /sys/kernel/tracing")
        return 77
    pairs: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for path in PATHS:
        for place, counts in measured(path).items():
            pairs[place].update(counts)
    failed = 0
    for place, counts in pairs.items():
        failed += report(place, counts, judged=place == "sender")
    return 1 if failed else 0


def measured(path: LossyPath) -> dict[str, Counter[tuple[str, str]]]:
    """Count pairs of the kernel's cause and ours, by the position of the capture."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        with tracing() as trace:
            transfer(path, folder)
            truth = kernel_causes((trace / "trace").read_text(encoding="utf-8"))
        tables = [captures.analyze(folder / file).tables for file in ("near", "far")]
    found: dict[str, Counter[tuple[str, str]]] = {}
    for one in tables:
        for interface in sorted(one.flows["interface"].unique()):
            flows = one.flows.filter(interface=interface, direction="responder")
            place = flows["vantage"].mode().sort()[0]
            right = (flows["vantage"] == place).sum() / flows.height
            print(f"{path}: {flows.height} connections, {right:.1%} detected as at the {place}")
            found[place] = compared(truth, flows, one.retransmissions)
    return found


def compared(
    truth: dict[tuple[int, int], list[str]], flows: pl.DataFrame, retransmissions: pl.DataFrame
) -> Counter[tuple[str, str]]:
    """Count pairs of causes. A retransmission that one side does not have is `missing` there."""
    counts: Counter[tuple[str, str]] = Counter()
    ours: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    ports = {row["flow"]: (row["source_port"], row["destination_port"]) for row in flows.to_dicts()}
    sent = retransmissions.filter(direction="responder").sort("frame")
    for row in sent.filter(sent["cause"] != "syn_ack_timeout").to_dicts():
        if row["flow"] in ports:
            ours[ports[row["flow"]]].append(CLASSES.get(row["cause"], row["cause"]))
    for connection in truth.keys() | ours.keys():
        there, here = truth.get(connection, []), ours.get(connection, [])
        length = max(len(there), len(here))
        # Losses before the capture leave fewer packets, whose numbers no longer agree.
        if len(there) != len(here):
            counts["connections", "of another number of retransmissions"] += 1
            continue
        counts.update(zip(there[:length], here[:length], strict=True))
    return counts


def kernel_causes(trace: str) -> dict[tuple[int, int], list[str]]:
    """Causes of the retransmissions of each connection, by source and destination port."""
    causes: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    states: dict[tuple[int, int], int] = {}
    has_repaired: set[tuple[int, int]] = set()
    for event in re.split(r"\n(?=[^=\n]*: tcp_(?:retransmit_skb|cong_state_set): )", trace):
        found = re.search(r"sport=(\d+) dport=(\d+)", event)
        if found is None:
            continue
        connection = int(found[1]), int(found[2])
        state = re.search(r"cong_state=(\d+)", event)
        if state is not None:
            states[connection] = int(state[1])
            has_repaired.discard(connection)
            continue
        if not PORT < connection[0] <= PORT + MOST or "state=TCP_SYN" in event:
            continue
        timer = timer_of(event, states.get(connection))
        if timer is not None:
            cause = timer
        elif states.get(connection) == LOSS:
            cause = SLOW_START
        else:
            cause = REPAIR if connection in has_repaired else DETECTED
        if cause != PROBE:
            has_repaired.add(connection)
        causes[connection].append(cause)
    return causes


def timer_of(event: str, state: int | None) -> str | None:
    """Cause of a retransmission by a timer; ``None`` for one by an acknowledgment.

    Stacks of some events are missing in the trace. Then the context is the evidence: `tcpsf link`
    delivers acknowledgments in the context of its process, and timers run in a soft interrupt. The
    state follows the rules of Linux: only a probe leaves it.
    """
    stack = set(re.findall(r"=> (\w+)", event))
    if stack:
        return next((cause for name, cause in FUNCTIONS.items() if name in stack), None)
    flags = re.search(r"\] (\S{5}) +[\d.]+: tcp_retransmit_skb", event)
    if flags is None or flags[1][2] != "s":
        return None
    return {LOSS: TIMEOUT, RECOVERY: RACK_TIMER}.get(state or 0, PROBE)


def report(place: str, counts: Counter[tuple[str, str]], *, judged: bool) -> int:
    """Print precision and recall of each cause, and return the number that are too low."""
    print(f"\nCapture at the {place}")
    other = counts.pop(("connections", "of another number of retransmissions"), 0)
    if other:
        print(f"  {other} connections are not compared: the capture has fewer retransmissions")
    failed = 0
    for cause in sorted({there for there, _ in counts} | {here for _, here in counts}):
        both = counts[cause, cause]
        kernel = sum(count for (there, _), count in counts.items() if there == cause)
        ours = sum(count for (_, here), count in counts.items() if here == cause)
        precision, recall = (both / whole if whole else None for whole in (ours, kernel))
        low = kernel >= FEWEST and min(precision or 0.0, recall or 0.0) < REQUIRED
        verdict = ("FAILS" if low else "holds" if kernel >= FEWEST else "few") if judged else ""
        failed += judged and low
        shown = ("–" if share is None else f"{share:.1%}" for share in (precision, recall))
        print(f"  {cause:20} kernel {kernel:5}  precision, recall: {', '.join(shown)}  {verdict}")
    for (there, here), count in sorted(counts.items(), key=lambda item: -item[1]):
        if there != here:
            print(f"    kernel {there}, ours {here}: {count}")
    return failed


@contextlib.contextmanager
def tracing() -> Iterator[Path]:
    """Yield an instance of the tracing file system that records what TCP does."""
    instance = TRACING / "instances" / f"tcpsf-{os.getpid()}"
    instance.mkdir()
    try:
        (instance / "buffer_size_kb").write_text("65536")
        events = instance / "events" / "tcp"
        (events / "tcp_retransmit_skb" / "trigger").write_text("stacktrace")
        for event in ("tcp_retransmit_skb", "tcp_cong_state_set"):
            (events / event / "enable").write_text("1")
        yield instance
    finally:
        (instance / "events" / "enable").write_text("0")
        instance.rmdir()


def transfer(path: LossyPath, folder: Path) -> None:
    """Let the kernel send the replies over two links, and capture the packets at three places."""
    server = {"segment": 1448, "short": 100, "records": None, "initial_window": None}
    client = {"replies": list(path.segments), "every": 0.25, "quick": True, "linger": 2.0}
    write_settings(folder, server, client)
    python = shlex.quote(sys.executable)
    programs = [f"{python} {HERE}/_linux_{who}.py {folder}/{who}" for who in ("server", "client")]
    common = f"--delay {path.rtt_ms / 4}ms --loss {path.loss} --no-offload --pcap-bytes 120B"
    link = f"{python} -m tcpsf link -q {common} --seed"
    # The client asks the server beyond both links.
    inner = f"{link} {2 * path.seed} --pcap {folder}/far --pcap-at both --"
    inner += f" env TCPSF_LINK_OUTSIDE=$TCPSF_LINK_OUTSIDE {programs[1]}"
    outer = shlex.split(f"{link} {2 * path.seed + 1} --pcap {folder}/near --pcap-at outside")
    outer += ["--outside", programs[0], "--", "sh", "-c", f"exec {inner}"]
    subprocess.run(outer, check=True, timeout=300)


if __name__ == "__main__":
    sys.exit(main())
