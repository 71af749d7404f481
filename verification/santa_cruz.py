"""Compare the Santa Cruz queue estimate with the sampled queue, in simulated runs.

One flow keeps a bottleneck of 1.5 Mb/s busy, with a constant window or with Reno's window. The
estimate uses only sending times and arrival times, from two clocks with different offsets. It
counts the packets ahead of a packet. The queue that the simulator samples includes that packet.

    python verification/santa_cruz.py

The exit status is 1 if a line fails.
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
"""Tolerance in packets: one packet may enter or leave the queue at the time of the sample."""


def main() -> int:
    """Simulate each sender, estimate the queue and print the verdicts."""
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
    # From this time on the link is never idle. The queue at this time is taken from the samples.
    pairs = sent.join(got, on="packet").sort("packet").filter(pl.col("sent") > BEGINS_S)
    count = pairs.height // WINDOW
    times = pairs.head(count * WINDOW)
    sent_s, got_s = times["sent"].to_numpy(), times["got"].to_numpy()
    queue = result.samples.filter(pl.col("quantity").cast(pl.String) == "queue_packets").sort(
        "time_s"
    )
    # The estimate is compared at the times at which the last packet of a window is sent.
    ends = sent_s.reshape(count, WINDOW)[:, -1]
    places = np.searchsorted(queue["time_s"].to_numpy(), [*ends, sent_s[0]])
    *seen, start = queue["value"].to_numpy()[places].tolist()
    found = sc.queue_estimate(
        sent_s,
        got_s - CLOCK_AHEAD_S,
        windows=np.full(count, WINDOW),
        start_packets=max(start - 1.0, 0.0),
    )
    apart = np.abs(found.packets + 1.0 - np.array(seen))
    statement = (
        f"{name}: {count} windows, {min(seen):.0f} to {max(seen):.0f} packets queued, "
        f"estimate within {apart.max():.2f}"
    )
    yield statement, count > 10 and bool(apart.max() <= WITHIN + 1e-6)
    service = 8 * PACKET / RATE_BPS
    yield (
        f"{name}: estimated service time {1000 * found.service_s.mean():.3f} ms, of the link {1000 * service:.3f} ms",
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
