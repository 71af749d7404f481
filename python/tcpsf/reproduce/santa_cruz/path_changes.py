"""Path properties that the paper leaves to later work.

They are a path whose delay changes and a path that reorders packets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from tcpsf import stats
from tcpsf.evaluation.evaluate import Heading
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.evaluation.watch import Rows
from tcpsf.papers import santa_cruz as paper
from tcpsf.reproduce.santa_cruz.exhibit_parts import means_table, unwatched
from tcpsf.scenario import LinkChange, Reorder, Scenario
from tcpsf.summary import RunSummary

FLOW = Rows(
    table="flows", columns=("received_bytes", "segments", "retransmitted_segments", "timeouts")
)
QUEUE = Rows(
    table="samples",
    columns=("time_s", "value"),
    where=(("object", (paper.FORWARD,)), ("quantity", ("queue_packets",))),
)
"""Samples of the bottleneck's queue."""

PERIOD_S = 20
"""Seconds between two changes of the path."""
ENDS_S = tuple(PERIOD_S * number for number in (1, 2, 3))
PERIODS = (f"{paper.DELAY_MS} ms", f"{2 * paper.DELAY_MS} ms", f"{paper.DELAY_MS} ms again")
"""One-way propagation delay in each period."""

SHARES = (0.0, 0.01, 0.05)
"""Shares of the data packets that are delayed on the last hop."""
LATE = "20ms"
"""Additional delay: nearly four transmission times of a packet on the bottleneck."""
LONG_S = 60

CHANGES = (
    f"Not in the paper: one flow uses the basic bottleneck for {ENDS_S[-1]} s, started within the first second. The "
    f"propagation delay doubles after {ENDS_S[0]} s in both directions. After {ENDS_S[1]} s it returns to "
    "its first value, and packets on the new path overtake those on the old one."
)
OVERTAKES = (
    "Not in the paper: the last hop of the basic network delays some data packets by "
    f"{LATE.removesuffix('ms')} ms more, so that others overtake them; it loses none."
)

HEADINGS = (
    Heading(
        "path-change",
        "Beyond the paper: the path changes",
        (CHANGES,),
    ),
    Heading(
        "out-of-order",
        "Beyond the paper: packets out of order",
        (OVERTAKES,),
    ),
)


def exhibits() -> tuple[Exhibit, ...]:
    """Return the exhibits of a path whose delay changes and of a path that reorders."""
    return (_path_change(), _out_of_order())


def _of_flow(run: RunSummary, column: str) -> int:
    (row,) = FLOW.of(run)
    return int(row[column])


# ---- a path that changes


def changing(*, sender: str, duration_s: int) -> Scenario:
    """Return the basic network with a delay that doubles and halves again, up to ``duration_s``.

    >>> changing(sender=paper.RENO.sender, duration_s=60).link[2].changes
    (LinkChange(at='20s', delay='76ms'), LinkChange(at='40s', delay='36ms'))
    """
    network = paper.basic(sender=sender, spread="1s", duration=f"{duration_s}s")

    def longer(middle: str) -> tuple[LinkChange, ...]:
        return (
            LinkChange(
                at=f"{ENDS_S[0]}s", delay=f"{int(middle.removesuffix('ms')) + paper.DELAY_MS}ms"
            ),
            LinkChange(at=f"{ENDS_S[1]}s", delay=middle),
        )

    links = tuple(
        replace(each, changes=longer(each.delay))
        if each.name in (paper.FORWARD, paper.BACK)
        else each
        for each in network.link
    )
    return replace(network, link=links, trace=())


def _path_change() -> Exhibit:
    """Return the exhibit of the path changes.

    The data delivered up to the end of a period is the total of the same run, ended at that time.
    """
    cases = {
        (each.key, end): Case(
            scenario=changing(sender=each.sender, duration_s=end),
            watches=(FLOW, QUEUE),
        )
        for each in paper.SENDERS
        for end in ENDS_S
    }

    return Exhibit(
        key="path-change",
        section="path-change",
        cases=tuple(cases.values()),
        build=lambda runs: _path_change_part({key: runs.of(each) for key, each in cases.items()}),
    )


def _path_change_part(runs: Mapping[tuple[str, int], Sequence[RunSummary]]) -> Part:
    """Return the tables, of runs by sender's key and duration in seconds."""

    def in_periods(each: paper.Sender, column: str) -> list[list[float]]:
        totals = [[_of_flow(run, column) for run in runs[each.key, end]] for end in ENDS_S]
        first = [0] * len(totals[0])
        return [
            [float(now - then) for then, now in zip(before, after, strict=True)]
            for before, after in pairwise([first, *totals])
        ]

    def throughput(each: paper.Sender) -> list[list[float]]:
        return [
            [8e-6 * value / PERIOD_S for value in values]
            for values in in_periods(each, "received_bytes")
        ]

    def queue(each: paper.Sender) -> list[list[float]]:
        whole = runs[each.key, ENDS_S[-1]]
        return [[_mean_queue(run, end - PERIOD_S, end) for run in whole] for end in ENDS_S]

    throughputs = means_table(
        key="path-change",
        title="Payload delivered while the path changes",
        caption=f"In each {PERIOD_S} s, slow start included; the line carries 1.44 Mb/s of payload.",
        columns=PERIODS,
        unit="Mb/s",
        of=throughput,
    )
    queues = means_table(
        key="path-change-queue",
        title="Bottleneck queue while the path changes",
        caption="Mean of its samples.",
        columns=PERIODS,
        unit="packets",
        of=queue,
    )
    timeouts = means_table(
        key="path-change-timeouts",
        title="Timeouts while the path changes",
        caption="Expiries of the retransmission timer.",
        columns=PERIODS,
        of=lambda each: in_periods(each, "timeouts"),
    )
    return Part(tables=(throughputs, queues, timeouts))


def _mean_queue(run: RunSummary, begin_s: float, end_s: float) -> float:
    seen = [float(row["value"]) for row in QUEUE.of(run) if begin_s < row["time_s"] <= end_s]
    return sum(seen) / len(seen)


# ---- out of order


def reordering(*, sender: str, share: float) -> Scenario:
    """Return the basic network with a last hop that delays this share of the data packets."""
    network = paper.basic(sender=sender, duration=f"{LONG_S}s")
    late = Reorder(probability=share, by=LATE)
    links = tuple(
        replace(each, reorder=late) if each.name == "last" else each for each in network.link
    )
    return unwatched(replace(network, link=links))


def resent_in_vain_percent(run: RunSummary) -> float:
    """Per cent of the sent segments that were retransmitted although they were not dropped."""
    dropped = sum(
        int(link["dropped_buffer_packets"])
        for link in run.links
        if not link["link"].endswith("back")
    )
    return (
        100.0
        * max(_of_flow(run, "retransmitted_segments") - dropped, 0)
        / _of_flow(run, "segments")
    )


def _out_of_order() -> Exhibit:
    cases = {
        (each.key, share): Case(
            scenario=reordering(sender=each.sender, share=share), watches=(FLOW,)
        )
        for each in paper.SENDERS
        for share in SHARES
    }

    def build(runs: Runs) -> Part:
        def values(each: paper.Sender, of: Callable[[RunSummary], float]) -> list[list[float]]:
            return [[of(run) for run in runs.of(cases[each.key, share])] for share in SHARES]

        def rate(run: RunSummary) -> float:
            return 8e-6 * _of_flow(run, "received_bytes") / LONG_S

        heads = tuple(f"{100 * share:g} % late" for share in SHARES)
        delivered = means_table(
            key="out-of-order",
            title="Payload delivered out of order",
            caption=f"One flow for {LONG_S} s; the line carries 1.44 Mb/s of payload.",
            columns=heads,
            unit="Mb/s",
            of=lambda each: values(each, rate),
        )
        resent = means_table(
            key="out-of-order-resent",
            title="Unnecessary retransmissions",
            caption="Retransmissions beyond those of segments that a full buffer dropped, as a share of all "
            "segments sent.",
            columns=heads,
            possible=stats.PERCENT,
            unit="%",
            of=lambda each: values(each, resent_in_vain_percent),
        )
        return Part(tables=(delivered, resent))

    return Exhibit(
        key="out-of-order", section="out-of-order", cases=tuple(cases.values()), build=build
    )
