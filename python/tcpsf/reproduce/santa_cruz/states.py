"""Fig. 4: the bottleneck queue fills, drains or is maintained, by the relative forward delay D.

`queue_states` finds the states. This module shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import OWN, Axis, Figure, Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part, series
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.papers import santa_cruz as paper
from tcpsf.reproduce.santa_cruz.direction import CONGESTED, PACKET_MS, SECTION, CongestedNetwork
from tcpsf.reproduce.santa_cruz.exhibit_parts import WAITING
from tcpsf.reproduce.santa_cruz.queue_states import (
    DRAWN_S,
    EVERY_S,
    KINDS,
    QUEUE_STATES,
    STATES,
    Kind,
    StatesOfRun,
    agreeing,
    opposite,
)
from tcpsf.scenario import Samples, Scenario

WORDS: Mapping[Kind, str] = {
    "reports": "of successive reports",
    "windows": "of reports a window apart",
}
NETWORKS = CONGESTED
DRAWN = ("alone", "back")
"""Networks in the figures."""


def _scenario(network: CongestedNetwork) -> Scenario:
    beside = network.scenario.workload[1:]
    # Packets of the other flow on the access line delay those of the Santa Cruz flow.
    traced = tuple(each.name for each in beside if each.from_ == "a")
    return replace(
        network.scenario,
        samples=Samples(every=f"{1e3 * EVERY_S:g}ms", links=(paper.FORWARD,)),
        trace=(paper.SOURCE, *traced),
    )


def exhibits() -> tuple[Exhibit, ...]:
    """Return Fig. 4, the states of the bottleneck queue."""
    cases = {
        each.key: Case(scenario=_scenario(each), watches=(QUEUE_STATES,), classes=False)
        for each in NETWORKS
    }

    def build(runs: Runs) -> Part:
        found = {
            key: [QUEUE_STATES.of(run) for run in runs.of(case)] for key, case in cases.items()
        }
        return Part(
            figures=tuple(
                _curves(each, found[each.key][0]) for each in NETWORKS if each.key in DRAWN
            ),
            tables=(_confusions("reports", found), _confusions("windows", found), _summary(found)),
            findings=tuple(_claims(found)),
        )

    return (
        Exhibit(
            key="states",
            section=SECTION,
            cases=tuple(cases.values()),
            build=build,
            shown={"Fig. 4, Reno on the return path": cases["back"].scenario},
        ),
    )


StatesByNetwork = Mapping[str, Sequence[StatesOfRun]]
"""Results of the runs, by the key of the network."""


def _curves(network: CongestedNetwork, run: StatesOfRun) -> Figure:
    lines = [
        series(
            "queue",
            "queue, sampled",
            [at for at, _ in run.queue],
            [judge.exact(round(value, 4)) for _, value in run.queue],
            style="step",
        )
    ]
    for place, name in enumerate(STATES):
        points = [
            judge.exact(round(value, 4)) if which == place else None
            for _, value, which in run.estimate
        ]
        lines.append(
            series(
                name,
                f"sum of D, {name}",
                [at for at, _, _ in run.estimate],
                points,
                style="point",
            )
        )
    return Figure(
        key=f"states-queue-{network.key}",
        title=f"Queue of the bottleneck, and its states by D: {network.label}",
        source=f"{paper.SHORT}, Fig. 4",
        caption=f"Two seconds of the first run. Each point is a packet whose report came. Its height is the sum of "
        f"all D since the first packet, in packets of {PACKET_MS:.2f} ms: the queue that the packet met, as the "
        "sender knows it. Its shape is the state by D against the packet before. The sampled queue includes the "
        "packet that has just joined, and all of the packet in transmission.",
        x=Axis(label="time", unit="s", scale="linear", low=DRAWN_S[0], high=DRAWN_S[1]),
        y=WAITING,
        series=tuple(lines),
    )


def _percent(hits: Sequence[float], of: Sequence[float]) -> TableCell:
    found = stats.share(hits, of)
    return TableCell(ours=None if found is None else found.scaled(100.0), published=None, unit="%")


def _confusions(kind: Kind, found: StatesByNetwork) -> Table:
    rows = []
    for each in NETWORKS:
        pairs = [run.pairs[kind] for run in found[each.key]]
        rows += [
            Row(
                label=f"{each.label}: {name} by D",
                cells=tuple(
                    _percent(
                        [run.by_delay[row][column] for run in pairs], [run.count for run in pairs]
                    )
                    for column in range(len(STATES))
                ),
            )
            for row, name in enumerate(STATES)
        ]
    return Table(
        key="states" if kind == "reports" else f"states-{kind}",
        title=f"State of the queue by D and as it was: pairs {WORDS[kind]}",
        source=f"{paper.SHORT}, Fig. 4",
        caption="Pairs of packets in per cent of the network's pairs. The true state is the change of the "
        "bottleneck's queue, sampled every 0.1 ms, from the moment when the first packet joins it to that of "
        "the second. A change of up to half a packet, or half its transmission time, is maintaining.",
        columns=("network, state by D", *(f"queue {name}" for name in STATES)),
        rows=tuple(rows),
    )


def _summary(found: StatesByNetwork) -> Table:
    rows = []
    for each in NETWORKS:
        for kind, name in KINDS.items():
            pairs = [run.pairs[kind] for run in found[each.key]]
            counts = [run.count for run in pairs]
            rows.append(
                Row(
                    label=f"{each.label}: {name}",
                    cells=(
                        TableCell(ours=stats.mean(counts, possible=stats.POSITIVE), published=None),
                        _percent([agreeing(run.by_delay) for run in pairs], counts),
                        _percent([opposite(run.by_delay) for run in pairs], counts),
                        _percent([run.farther for run in pairs], counts),
                        _percent([agreeing(run.by_joining) for run in pairs], counts),
                        _percent([agreeing(run.by_round_trip) for run in pairs], counts),
                        _percent([opposite(run.by_round_trip) for run in pairs], counts),
                    ),
                )
            )
    return Table(
        key="states-agreement",
        title="Agreement of the state by D, and by the round trip, with that of the queue",
        source=f"{paper.SHORT}, Fig. 4",
        caption="True: pairs in which the estimated state is that of the queue. Opposite: draining instead of filling, "
        "or the reverse. Farther: D differs from the change of the queue by more than a packet.",
        columns=(
            "network, pairs",
            "pairs in a run",
            "D: true",
            "D: opposite",
            "D: farther",
            "D behind access: true",
            "round trip: true",
            "round trip: opposite",
        ),
        rows=tuple(rows),
        notes=(
            (
                "The queue is sampled as a number of whole packets. D also shows how much of the packet in "
                "transmission is left, so the two differ by up to a packet, and their states where one is near "
                "half a packet. If a packet joins when another one leaves, the sample is with or without the latter."
            ),
            (
                "D includes the wait on the access line: 0.8 ms for each packet of a burst, such as traffic on the "
                "return path causes. D behind the access line is without this wait, which the sender cannot tell "
                "apart. Farther is farther than a packet, the sampling interval and an acknowledgment."
            ),
            (
                "With traffic on the return path, acknowledgments arrive in groups, and the packets that they "
                "release in bursts. The queue changes from one packet to the next more often than without, so more "
                "pairs are near half a packet."
            ),
        ),
    )


def _claims(found: StatesByNetwork) -> Iterator[Finding]:
    where = "section 3.1.2, Fig. 4"
    for kind in KINDS:
        every = [run.pairs[kind] for runs in found.values() for run in runs]
        wrong = sum(run.count - agreeing(run.by_delay) for run in every)
        yield judge.finding(
            key="states-always" if kind == "reports" else f"states-always-{kind}",
            claim="D shows whether the bottleneck queue is filling, draining or maintaining: pairs "
            f"{WORDS[kind]}, all three networks (those with another state)",
            source=where,
            published="none",
            judged=judge.is_none(wrong, sum(run.count for run in every)),
        )
    for each in NETWORKS:
        pairs = [run.pairs[kind] for run in found[each.key] for kind in KINDS]
        yield judge.finding(
            key=f"states-opposite-{each.key}",
            claim="D never shows a queue that drains as filling, or the reverse: "
            f"{each.label}, pairs of both kinds",
            source=where,
            published="none",
            judged=judge.is_none(
                sum(opposite(run.by_delay) for run in pairs), sum(run.count for run in pairs)
            ),
        )
    pairs = [run.pairs["reports"] for run in found["back"]]
    better = [
        100.0 * (agreeing(run.by_delay) - agreeing(run.by_round_trip)) / run.count
        for run in pairs
        if run.count
    ]
    yield judge.finding(
        key="states-not-by-round-trip",
        claim="With traffic on the return path, D gives the state of the queue in more pairs than the change of "
        "the round-trip time (successive reports)",
        source="section 3.1.1",
        published="impossible with RTT measurements",
        judged=judge.is_above(stats.mean(better), 0.0, "percentage points"),
    )
    every = [run.pairs[kind] for runs in found.values() for run in runs for kind in KINDS]
    yield judge.finding(
        key="states-within-a-packet",
        claim="Behind the access line, D in packets is the change of the queue to within the packet in "
        "transmission, so that states differ only by the count in whole packets (pairs in which it is not)",
        source=OWN,
        published="",
        judged=judge.is_none(
            sum(run.farther_by_joining for run in every), sum(run.count for run in every)
        ),
    )
