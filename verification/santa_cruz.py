"""Holds the Santa Cruz queue estimate against the queue itself, from the times of simulated packets.

A flow fills a bottleneck of 1.5 Mb/s that is never idle, with a constant window or by Reno's
growing one. The estimate sees sending and arrival times alone, by two clocks that do not agree.
What it counts is before a packet; the queue that the simulator samples holds that packet too.

    python verification/santa_cruz.py

Exit status 1 if a line fails.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import polars as pl
from _verdicts import judged

from tcpsf.models import santa_cruz as sc
from tcpsf.runs import run
from tcpsf.scenario import Greedy, Link, Samples, Scenario, Tcp

RATE_BPS, PACKET = 1_500_000, 1000
WINDOW = 25
DELAY = "20ms"
CLOCK_AHEAD_S = 123.456
BEGINS_S, END_S = 0.3, 30.0
WITHIN = 1.0
"""Packets: one may be coming or going at the moment of the sample."""


def main() -> int:
    """Simulate, estimate, compare."""
    senders = (
        ("constant window", f"fixed(n={WINDOW}) / full / iw=1"),
        ("Reno", "reno / full / iw=1"),
    )
    return 1 if sum(judged(_judge(name, sender)) for name, sender in senders) else 0


def _judge(name: str, sender: str) -> Iterator[tuple[str, bool]]:
    result = run(_scenario(sender), seed=1)
    packets = result.packets.filter((pl.col("from") == "sender") & (pl.col("payload_bytes") > 0))
    sent = packets.filter(pl.col("event") == "sent").select("packet", sent="time_s")
    got = packets.filter(pl.col("event") == "arrived").select("packet", got="time_s")
    # From then on the line is never idle; what waits at that moment is taken from the samples.
    pairs = sent.join(got, on="packet").sort("packet").filter(pl.col("sent") > BEGINS_S)
    count = pairs.height // WINDOW
    times = pairs.head(count * WINDOW)
    sent_s, got_s = times["sent"].to_numpy(), times["got"].to_numpy()
    queue = result.samples.filter(pl.col("quantity").cast(pl.String) == "queue_packets").sort(
        "time_s"
    )
    # At the moment when a window's last packet is sent.
    asked = sent_s.reshape(count, WINDOW)[:, -1]
    places = np.searchsorted(queue["time_s"].to_numpy(), [*asked, sent_s[0]])
    *seen, start = queue["value"].to_numpy()[places].tolist()
    found = sc.queue_estimate(
        sent_s,
        got_s - CLOCK_AHEAD_S,
        windows=np.full(count, WINDOW),
        start_packets=max(start - 1.0, 0.0),
    )
    apart = np.abs(found.packets + 1.0 - np.array(seen))
    told = f"{name}: {count} windows, {min(seen):.0f} to {max(seen):.0f} packets queued, estimate within {apart.max():.2f}"
    yield told, count > 10 and bool(apart.max() <= WITHIN + 1e-6)
    service = 8 * PACKET / RATE_BPS
    yield (
        f"{name}: a packet's service takes {1000 * found.service_s.mean():.3f} ms, the line {1000 * service:.3f}",
        bool(np.allclose(found.service_s, service, rtol=1e-3)),
    )


def _scenario(sender: str) -> Scenario:
    return Scenario(
        name="queue estimate",
        duration=f"{END_S}s",
        link=(
            Link(name="there", from_="a", to="b", rate=f"{RATE_BPS / 1e6}Mb/s", delay=DELAY),
            Link(name="back", from_="b", to="a", delay=DELAY),
        ),
        workload=(Greedy(name="first", from_="a", to="b", flows=1, sender=sender),),
        tcp=Tcp(profile="ns2", mss=PACKET - 40, header="40B", receive_buffer="60kB"),
        samples=Samples(every="1ms", links=("there",)),
        trace=("first",),
    )


if __name__ == "__main__":
    sys.exit(main())
