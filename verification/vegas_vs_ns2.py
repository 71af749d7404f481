"""Compare our TCP Vegas with ns-2's `TCP/Vegas`.

The comparison has two parts. Each line has a verdict, and the exit status is 1 if any line fails.

* One greedy flow over the Santa Cruz paper's basic bottleneck, with the paper's thresholds, with
  other thresholds, and with other rates and buffers. Nothing is random: every packet must be sent
  at the same time on both sides, to 10 µs. Throughput, mean one-way delay and its variance are
  compared as well.

* Single flows that lose one packet of a window that causes four or more duplicate ACKs. Packets
  sent and timeouts must be equal, and the completion times must agree within one round trip. ns-2
  increases the window on the ACK that ends fast recovery, and our sender does not. Therefore our
  sender may need one round trip more.

Two kinds of flows are shown without a verdict. With fewer than four duplicate ACKs after the loss,
ns-2 does not leave slow start. With several losses, ns-2's recovery differs from ours.
"""

# ruff: noqa: T201 (this program prints its verdicts)

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from _ns2_masks import mask_cases
from _ns2_network import run_ours_masked
from _verdicts import NOT_JUDGED, Line, report
from ns2.run_ns2 import Ns2Error, Transfer, run_masks

import tcpsf
from tcpsf.papers import santa_cruz as paper

SCRIPT = Path(__file__).parent / "ns2" / "bottleneck.tcl"
CANNOT_RUN = 77
SENDER = "vegas / full / iw=1, lw=2"
SAME_S = 1e-5
"""Tolerance of times in seconds; ns-2 prints six digits."""
ROUND_TRIP_S = 0.11
SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One comparison over the bottleneck: its parameters that differ from the paper's."""

    name: str
    sender: str = SENDER
    ns2: Mapping[str, float]
    ours: Mapping[str, object]
    judged: bool = True


SETTINGS = (
    Setting(name="(1,3)", ns2={}, ours={}),
    Setting(
        name="(2,4), gamma 2",
        sender="vegas(alpha=2, beta=4, gamma=2) / full / iw=1, lw=2",
        ns2={"alpha": 2, "beta": 4, "gamma": 2},
        ours={},
    ),
    Setting(name="0.5 Mb/s", ns2={"rate": 5e5}, ours={"rate": "500kb/s"}),
    Setting(
        name="1 Mb/s, 30 packets",
        ns2={"rate": 1e6, "buffer": 30},
        ours={"rate": "1Mb/s", "buffer.packets": 30},
    ),
    # The window grows for twenty round trips. The ACK at which a sum of fractions reaches a whole
    # segment depends on floating-point rounding in ns-2, so this setting is not judged.
    Setting(
        name="5 Mb/s, 60 packets",
        ns2={"rate": 5e6, "buffer": 60},
        ours={"rate": "5Mb/s", "buffer.packets": 60},
        judged=False,
    ),
)


@dataclass(frozen=True, slots=True)
class Packets:
    """Data packets of a run.

    ``sent`` has the number and the sending time of each packet, ``delays_s`` the one-way delays of
    the packets that arrived.
    """

    sent: tuple[tuple[int, float], ...]
    delays_s: tuple[float, ...]


def ns2_packets(setting: Setting) -> Packets:
    """One run of bottleneck.tcl, from its trace."""
    program = shutil.which("ns")
    if program is None:
        raise Ns2Error("no program `ns` on the path")
    command = [program, str(SCRIPT), *(f"{key}={value:g}" for key, value in setting.ns2.items())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (it runs ns-2)
    if done.returncode != 0:
        raise Ns2Error(f"ns-2: exit status {done.returncode}: {done.stderr.strip()[:200]}")
    sent: dict[str, tuple[int, float]] = {}
    delays = []
    for line in done.stdout.splitlines():
        event, time, start, end, kind, *_, number, unique = line.split()
        if kind != "tcp":
            continue
        if event == "+" and start == "0":
            sent[unique] = (int(number), float(time))
        if event == "r" and end == "3":
            delays.append(float(time) - sent[unique][1])
    return Packets(tuple(sent.values()), tuple(delays))


def our_packets(setting: Setting) -> Packets:
    """Run our simulator once and return its data packets."""
    import polars as pl

    scenario = paper.basic(sender=setting.sender).with_value("tcp.rto_min", "1s")
    changes = {
        f"link.{link}.{key}": value
        for key, value in setting.ours.items()
        for link in ("forward", "back")
    }
    scenario = scenario.with_values(changes)
    rows = tcpsf.run(scenario, seed=1).packets.filter(
        pl.col("from").cast(pl.String) == "sender", pl.col("payload_bytes") > 0
    )
    left = rows.filter(pl.col("event").cast(pl.String) == "sent")
    came = rows.filter(pl.col("event").cast(pl.String) == "arrived")
    pairs = left.select("packet", sent="time_s").join(
        came.select("packet", came="time_s"), on="packet"
    )
    numbers = [(seq - 1) // paper.MSS for seq in left["seq"].to_list()]
    return Packets(
        tuple(zip(numbers, left["time_s"].to_list(), strict=True)),
        tuple((pairs["came"] - pairs["sent"]).to_list()),
    )


def compare_bottleneck(setting: Setting) -> list[Line]:
    """Compare all quantities of one setting."""
    theirs, ours = ns2_packets(setting), our_packets(setting)
    differ = sum(
        a[0] != b[0] or abs(a[1] - b[1]) > SAME_S
        for a, b in zip(theirs.sent, ours.sent, strict=False)
    ) + abs(len(theirs.sent) - len(ours.sent))
    lines = [
        Line(
            what=f"{setting.name}: packets sent",
            reference=len(theirs.sent),
            ours=len(ours.sent),
            note=f"{differ} at a different time",
            verdict=_verdict(setting, not differ and bool(theirs.sent)),
        )
    ]
    quantities: tuple[tuple[str, Callable[[Packets], float]], ...] = (
        ("throughput, Mb/s", lambda run: 8e-6 * paper.PACKET * len(run.delays_s) / SECONDS),
        ("one-way delay, ms", lambda run: 1e3 * statistics.fmean(run.delays_s)),
        ("its variance, 1e-3 s²", lambda run: 1e3 * statistics.pvariance(run.delays_s)),
    )
    for what, value in quantities:
        reference, mine = value(theirs), value(ours)
        near = abs(mine - reference) <= 1e-3 * reference
        lines.append(
            Line(
                what=f"{setting.name}: {what}",
                reference=reference,
                ours=mine,
                note="",
                verdict=_verdict(setting, near),
            )
        )
    return lines


def _verdict(setting: Setting, agree: bool) -> str:
    if not setting.judged:
        return NOT_JUDGED
    return "agree" if agree else "DIFFER"


def one_loss_cases(count: int) -> list[tuple[int, tuple[int, ...]]]:
    """Flows that lose one packet while the window has eight or more packets."""
    draw = random.Random(2)  # noqa: S311 (cases, not secrets)
    return [(draw.randint(45, 70), (draw.randrange(14, 36),)) for _ in range(count)]


def compare_flows(
    cases: Sequence[tuple[int, tuple[int, ...]]], *, title: str, judged: bool
) -> list[Line]:
    """Compare single flows with given losses."""
    theirs = run_masks(cases, sender="vegas")
    ours = [run_ours_masked(sender=SENDER, packets=packets, lost=lost) for packets, lost in cases]
    lines = []
    quantities: tuple[tuple[str, Callable[[Transfer], float], float], ...] = (
        ("completion time, s", lambda flow: flow.completion_s, ROUND_TRIP_S),
        ("timeouts", lambda flow: flow.timeouts, 0.0),
        ("packets sent", lambda flow: flow.sent_packets, 0.0),
    )
    for what, value, within in quantities:
        apart = [abs(value(a) - value(b)) for a, b in zip(theirs, ours, strict=True)]
        other = sum(gap > within for gap in apart)
        same = sum(gap <= SAME_S for gap in apart)
        lines.append(
            Line(
                what=f"{title}: {what}, mean",
                reference=statistics.fmean(map(value, theirs)),
                ours=statistics.fmean(map(value, ours)),
                note=f"{same} of {len(cases)} equal, {other} beyond tolerance",
                verdict=NOT_JUDGED if not judged else "DIFFER" if other else "agree",
            )
        )
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both parts, print their lines and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer flows: some seconds")
    given = parser.parse_args(arguments)
    count = 80 if given.quick else 800
    lines: list[Line] = []
    try:
        part = [line for setting in SETTINGS for line in compare_bottleneck(setting)]
        report("One greedy flow over the basic bottleneck", part, reference="ns-2")
        lines += part
        part = compare_flows(one_loss_cases(count), title="one loss", judged=True)
        part += compare_flows(mask_cases(count), title="losses at random", judged=False)
        report("Single flows with given losses", part, reference="ns-2")
        lines += part
    except (Ns2Error, ImportError) as error:
        print(f"could not run: {error}", file=sys.stderr)
        return CANNOT_RUN
    judged = [line for line in lines if line.verdict != NOT_JUDGED]
    failed = sum(line.failed for line in judged)
    print(f"\n{len(judged) - failed} passed, {failed} failed")
    return 1 if failed or not judged else 0


if __name__ == "__main__":
    sys.exit(main())
