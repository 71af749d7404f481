"""Compare the Smart Framing paper's small-window Markov chains with the simulator.

Losses are independent, there is no other traffic, and the retransmission timeout is 1.5 s. Two
results of a chain must equal those of the simulator: the probabilities of fast retransmits and
timeouts in the first window, and the duration of a passage without loss.

A passage with losses takes longer in the simulator than in a chain, for two reasons. A loss sets
the slow start threshold to two segments, so that the window then grows by one segment per round
trip; in the chains it doubles. An acknowledgment restarts the retransmission timer, so that it
expires later than in the chains. For Classic TCP this program adds both effects to the chain, and
the result must equal the simulator's within 5 %.

    python verification/small_window_chains.py

The exit status is 1 if a line fails.
"""

# ruff: noqa: T201 (this program prints its verdicts)

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from _verdicts import judged, student_quantile

from tcpsf.models import smart_framing as sf
from tcpsf.runs import run
from tcpsf.scenario import LinearLoss, Link, MaskLoss, PacketLoss, Scenario, Tcp, Transfers

RTT, RTO, MSS = 0.2, 1.5, 1460
FLOWS = 6000
LOSSES = (0.02, 0.1)
ERROR = 0.01
"""Error probability of all statistical lines together."""
EXPLAINED = 0.05
"""Largest accepted difference of Classic's mean time from the corrected chain, as a share."""
LAWS: tuple[sf.Law, ...] = ("linear", "constant")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """One of the three senders: Classic, fixed-size framing (FS), variable-size framing (VS)."""

    name: str
    sender: str
    model: Callable[..., sf.Passage]
    end: int
    """Window in bytes with which the sender has left the region of small windows."""


SENDERS = (
    Sender(name="Classic", sender="reno+sack / full / iw=1", model=sf.classic, end=4 * MSS),
    # The last acknowledgment of the region permits less than a full segment, which is not sent yet.
    Sender(
        name="FS",
        sender="reno+sack / fs(n=4, avoidance=bytewise) / iw=1",
        model=sf.fixed_size,
        end=4 * MSS - 365,
    ),
    Sender(name="VS", sender="reno+sack / vs(n=4) / iw=1", model=sf.variable_size, end=4 * MSS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Results of the simulated flows of one sender at one loss probability."""

    times: np.ndarray[tuple[int], np.dtype[np.float64]]
    """Durations of the passages, in seconds.

    A duration is infinite if the flow of 200 full segments ended before the end of the passage. The
    mean excludes such flows.
    """
    lossless: np.ndarray[tuple[int], np.dtype[np.float64]]
    fast: int
    """Number of flows with a loss in the first window that ended in a fast retransmit."""
    timeout: int
    """Number of flows with a loss in the first window that ended in a timeout."""

    def mean(self) -> tuple[float, float]:
        """Mean duration and the half width of its interval (2.6 standard errors), in seconds."""
        finite = self.times[np.isfinite(self.times)]
        return float(finite.mean()), float(2.6 * finite.std() / math.sqrt(finite.size))


def main() -> int:
    """Simulate every sender and print the verdicts."""
    cases = [
        (sender, law)
        for sender in SENDERS
        for law in (
            LAWS if sender.name != "Classic" else LAWS[1:]
        )  # all segments of Classic have the same size
    ]
    lines = 2 * len(cases) * len(LOSSES)
    quantile = student_quantile(ERROR / lines, 10_000)
    print(f"{FLOWS} flows per line, round trip {RTT} s, timeout {RTO} s\n")
    print(f"{'':28}{'first window: fast':>24}{'timeout':>20}{'time':>24}")
    print(f"{'':28}{'chain':>12}{'ours':>12}{'chain':>10}{'ours':>10}{'chain':>10}{'ours':>14}")
    verdicts = []
    for (sender, law), loss in itertools.product(cases, LOSSES):
        verdicts += list(_judge(sender, law, loss, _simulate(sender, law, loss), quantile))
    print(
        "\nLoss of the i-th segment of the first window only: i, duration of the chain, ours; seconds"
    )
    for sender in SENDERS:
        verdicts += list(_one_loss(sender))
    print()
    return 1 if judged(verdicts) else 0


def _scenario(sender: Sender, loss: LinearLoss | PacketLoss | MaskLoss, *, flows: int) -> Scenario:
    return Scenario(
        name="small windows",
        duration=f"{flows + 3000}s",
        link=(
            Link(name="there", from_="a", to="b", delay=f"{RTT / 2}s", loss=loss),
            Link(name="back", from_="b", to="a", delay=f"{RTT / 2}s"),
        ),
        workload=(
            Transfers(
                name="w",
                from_="a",
                to="b",
                sender=sender.sender,
                sizes=(200 * MSS,) * flows,
                spacing="1s",
            ),
        ),
        tcp=Tcp(profile="ns2", tick="1ms", rto_initial=f"{RTO}s", rto_min=f"{RTO}s", header="1B"),
        trace=("w",),
    )


def _simulate(sender: Sender, law: sf.Law, loss: float) -> Seen:
    lossy = (
        PacketLoss(probability=loss)
        if law == "constant"
        else LinearLoss(probability=loss, at=f"{MSS + 1}B")
    )
    result = run(_scenario(sender, lossy, flows=FLOWS), seed=1)
    packets = result.packets
    data = packets.filter((pl.col("from") == "sender") & (pl.col("payload_bytes") > 0))
    left = data.filter((pl.col("event") == "sent") & (pl.col("cwnd_bytes") >= sender.end))
    lost = data.filter((pl.col("event") == "dropped-loss") & (pl.col("seq") <= MSS))
    flows = (
        result.flows.select("flow", "start_s")
        .join(
            left.group_by("flow").agg(pl.col("time_s").min().alias("left")), on="flow", how="left"
        )
        .join(
            lost.group_by("flow").agg(pl.col("time_s").min().alias("lost")), on="flow", how="left"
        )
        .join(
            result.recoveries.group_by("flow").agg(
                pl.col("time_s").min().alias("found"), pl.col("cause").first()
            ),
            on="flow",
            how="left",
        )
        .with_columns(time=pl.col("left") - pl.col("start_s"))
    )
    # A loss in the first window: all its segments are sent at the start of the flow.
    hit = flows.filter(pl.col("lost") <= pl.col("start_s") + 0.75 * RTT)
    clean = flows.filter(pl.col("found").is_null() | (pl.col("found") > pl.col("left")))
    causes = dict(hit.group_by(pl.col("cause").cast(pl.String)).len().rows())
    return Seen(
        times=flows["time"].fill_null(np.inf).to_numpy(),
        lossless=clean["time"].drop_nulls().to_numpy(),
        fast=causes.get("fast-retransmit", 0),
        timeout=causes.get("timeout", 0),
    )


def _judge(
    sender: Sender, law: sf.Law, loss: float, seen: Seen, quantile: float
) -> Iterator[tuple[str, bool]]:
    where = f"{sender.name}, {law}, loss {loss}"
    passage = sender.model(
        loss, rtt=RTT, rto=RTO, wait="whole", **({} if sender.name == "Classic" else {"law": law})
    )
    fast, timeout = _first_window(passage)
    mean, half = seen.mean()
    print(
        f"{where:28}{fast:12.4f}{seen.fast / FLOWS:12.4f}{timeout:10.4f}{seen.timeout / FLOWS:10.4f}"
        f"{float(passage.duration_s):10.3f}{mean:9.3f} ±{half:.3f}"
    )
    yield f"{where}: passages without loss take two round trips", _are(seen.lossless, 2.0 * RTT)
    for what, chance, count in (("fast", fast, seen.fast), ("by a timeout", timeout, seen.timeout)):
        error = math.sqrt(chance * (1.0 - chance) / FLOWS)
        statement = f"{where}: share of first windows repaired {what}: {count / FLOWS:.4f}, chain {chance:.4f}"
        yield statement, abs(count / FLOWS - chance) <= quantile * error + 0.5 / FLOWS
    yield (
        f"{where}: the mean passage is no shorter than the chain's",
        mean + half >= float(passage.duration_s),
    )
    if sender.name == "Classic":
        explained = classic_with_linear_growth(loss)
        statement = f"{where}: chain with linear growth and restarted timers {explained:.3f} s, ours {mean:.3f} s"
        yield statement, abs(mean - explained) <= EXPLAINED * explained + half


EXTRA_TRIPS = {"Classic": (2,), "FS": (1, 1, 1, 1), "VS": (0, 0, 0, -1)}
"""Duration of a simulated passage with one loss, minus the chain's, in round trips.

The numbers are in the order of the lost segment in the first window.
The reason is linear growth. When the last of VS's four segments is lost, the new segments follow it
directly, and three of them are acknowledged after one round trip instead of two.
"""


def _one_loss(sender: Sender) -> Iterator[tuple[str, bool]]:
    for i, extra in enumerate(EXTRA_TRIPS[sender.name], start=1):
        # Chain of Classic: one round trip, TO, one round trip. Chains of FS and VS: the first
        # window, FR, the second window.
        chain = 2.0 * RTT + RTO if sender.name == "Classic" else (3.0 if i == 1 else 4.0) * RTT
        loss = MaskLoss(drops=",".join(["0"] * (i - 1) + ["1"]))
        result = run(_scenario(sender, loss, flows=1), seed=1)
        data = result.packets.filter((pl.col("from") == "sender") & (pl.col("event") == "sent"))
        left = data.filter((pl.col("payload_bytes") > 0) & (pl.col("cwnd_bytes") >= sender.end))[
            "time_s"
        ].min()
        ours = float(left) if isinstance(left, float) else math.inf
        print(f"{sender.name:8}{i:4}{chain:10.1f}{ours:10.1f}")
        statement = f"{sender.name}, segment {i} lost: ours minus the chain is {extra} round trips"
        yield statement, abs(ours - chain - extra * RTT) < 0.01


def _are(values: np.ndarray[tuple[int], np.dtype[np.float64]], wanted: float) -> bool:
    return values.size > 100 and bool(np.allclose(values, wanted, rtol=0.0, atol=1e-6))


def _first_window(passage: sf.Passage) -> tuple[float, float]:
    """Probabilities that the first window ends in a fast retransmit, and in a timeout."""
    chain = passage.chain
    row = dict(zip(chain.states, chain.transition[0].tolist(), strict=True))
    fast = sum(odds for name, odds in row.items() if "FR" in name)
    return fast, sum(odds for name, odds in row.items() if "TO" in name)


def classic_with_linear_growth(loss: float) -> float:
    """Mean duration of Classic's passage in the chain with linear growth after a loss, in seconds.

    After a loss the window grows from two to four segments in three round trips, with two, two and
    three segments. RFC 5681 adds MSS²/cwnd for each ACK: 2, 2.9, 3.6, 4.4. If the lost segment is
    not the first of its window, the acknowledgment of the segment before it restarts the timer, one
    round trip later.
    """
    arrives = 1.0 - loss
    wait = float(sf.mean_timeout(loss, rto=RTO, wait="whole"))

    def failed(segments: int) -> float:
        return sum(
            arrives**before * loss * (wait + (RTT if before else 0.0)) for before in range(segments)
        )

    passed = [arrives**2, arrives**2, arrives**3]
    system = np.eye(3)
    for row, odds in enumerate(passed):
        system[row, 0] -= 1.0 - odds
        if row < 2:
            system[row, row + 1] -= odds
    after = np.linalg.solve(system, [RTT + failed(2), RTT + failed(2), RTT + failed(3)])[0]
    second = RTT + failed(2) + (1.0 - arrives**2) * after
    return float(RTT + loss * (wait + after) + arrives * second)


if __name__ == "__main__":
    sys.exit(main())
