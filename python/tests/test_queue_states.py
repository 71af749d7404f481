"""State of the bottleneck queue by the relative forward delay, for packets with known waits."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import polars as pl

from tcpsf.evaluation.plan import Case, make, plan
from tcpsf.papers import santa_cruz as paper
from tcpsf.reproduce.santa_cruz import (
    queue_states,
    states,
)


def test_states_of_packets_whose_queue_is_known() -> None:
    """Three packets at once fill the queue by one each; the fourth, a second later, meets none."""
    fold = queue_states.QueueStates().fold()
    packets = []
    for number, (sent, waits) in enumerate([(0.5, 0), (0.5, 1), (0.5, 2), (1.5, 0)]):
        came = sent + 0.04 + waits * queue_states.PACKET_S
        packets += [
            (sent, 2 * number, "sent", "sender", paper.MSS),
            (came, 2 * number, "arrived", "sender", paper.MSS),
            (came, 2 * number + 1, "sent", "receiver", 0),
            # Each report is slower than the one before.
            (came + 0.04 * (number + 1), 2 * number + 1, "arrived", "receiver", 0),
        ]
    names = ("time_s", "packet", "event", "from", "payload_bytes")
    rows = pl.DataFrame(sorted(packets), schema=names, orient="row")
    # Packets join the queue 0.8 ms after each other, behind 2 ms of the access line.
    times = [round(queue_states.EVERY_S * step, 4) for step in range(1, 20_000)]
    joined = (0.5028, 0.5036, 0.5044)
    queue = [1000.0 * sum(each < time < 0.51 for each in joined) for time in times]
    samples = pl.DataFrame({"time_s": times, "quantity": "queue_bytes", "value": queue})
    batch = SimpleNamespace(
        samples=samples, packets=rows.with_columns(workload=pl.lit(paper.SOURCE))
    )
    fold.add(batch)  # type: ignore[arg-type]
    found = fold.finish(links=None, provenance=None)  # type: ignore[arg-type]
    pairs = queue_states.Pairs(**found["pairs"]["reports"])
    assert pairs.by_delay == [[2, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert pairs.by_joining == pairs.by_delay
    assert pairs.by_round_trip == [[2, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert (pairs.count, queue_states.agreeing(pairs.by_delay), pairs.farther) == (3, 3, 0)
    assert queue_states.opposite(pairs.by_round_trip) == 1


def test_a_run_without_reports_has_no_pairs() -> None:
    network = replace(states.NETWORKS[0], scenario=paper.basic(sender=paper.RENO.sender))
    short = replace(states._scenario(network), duration="10ms")
    wanted = Case(scenario=short, watches=(queue_states.QUEUE_STATES,), classes=False)
    (made,) = make(plan([wanted], seeds=[1])).of(wanted)
    assert [pairs.count for pairs in queue_states.QUEUE_STATES.of(made).pairs.values()] == [0, 0]
