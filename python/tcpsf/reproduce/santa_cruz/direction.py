"""The direction of congestion: section 3.1.1, Figs. 1 and 3(d)."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import OWN, Axis, Figure, Row, Table, TableCell
from tcpsf.evaluation.evaluate import Heading
from tcpsf.evaluation.exhibit import Exhibit, Part, series
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.evaluation.watch import Rows
from tcpsf.models import santa_cruz as model
from tcpsf.papers import santa_cruz as paper
from tcpsf.reproduce.santa_cruz.exhibit_parts import TIME
from tcpsf.result import Batch, Provenance
from tcpsf.scenario import Greedy, Reorder, Samples, Scenario
from tcpsf.summary import RunSummary

if TYPE_CHECKING:
    import polars as pl

SECTION = "direction"
SENDER = paper.SANTA_CRUZ[1]
"""The sender SC with n = 3."""
FLOW = f"{paper.SOURCE}/0"
BEGINS_S = 2.0
"""Start of the means in seconds: slow start is over, and the other flow has begun."""
PACKET_MS = 8e3 * paper.PACKET / paper.BOTTLENECK_BPS
"""Transmission time of a packet on the bottleneck, in milliseconds.

It limits the precision of an estimate of the queue.
"""

SAMPLES = Rows(
    table="samples",
    columns=("time_s", "object", "quantity", "value"),
    where=(
        ("object", (FLOW,)),
        (
            "quantity",
            ("forward_delay_s", "return_delay_s", "forward_reordered", "return_reordered"),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class OneWayDelays:
    """Mean one-way delays of the traced packets of a run, minus the shortest delay.

    They cover the data on the forward path and the acknowledgments on the return path. The means
    are over the packets that arrived after `BEGINS_S`, in milliseconds.
    """

    @property
    def name(self) -> str:
        """Key of the data in `RunSummary.watched`."""
        return "ways"

    @property
    def version(self) -> str:
        """Text that identifies what the data depend on, apart from the run."""
        return f"1 {BEGINS_S}"

    def fold(self) -> _OneWayDelaysFold:
        """Return a new fold, which collects the data of one run."""
        return _OneWayDelaysFold()

    def of(self, run: RunSummary) -> tuple[float, float]:
        """Return a run's mean delays in milliseconds: forward path, then return path."""
        stored = run.watched[self.name]
        return stored["sender"], stored["receiver"]


class _OneWayDelaysFold:
    def __init__(self) -> None:
        self._sent: dict[tuple[str, int, int], float] = {}
        self._delays: dict[str, list[tuple[float, float]]] = {"sender": [], "receiver": []}

    def add(self, batch: Batch) -> None:
        import polars as pl

        rows = batch.packets.filter(
            (pl.col("from").cast(pl.String) == "receiver") | (pl.col("payload_bytes") > 0)
        )
        names = (
            "time_s",
            "flow",
            "packet",
            pl.col("event").cast(pl.String),
            pl.col("from").cast(pl.String),
        )
        for time_s, flow, packet, event, end in rows.select(*names).rows():
            if event == "sent":
                self._sent[end, flow, packet] = time_s
            elif event == "arrived":
                self._delays[end].append((time_s, time_s - self._sent.pop((end, flow, packet))))

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> dict[str, float]:  # noqa: ARG002
        return {end: 1e3 * _above_the_least(delays) for end, delays in self._delays.items()}


def _above_the_least(delays: Sequence[tuple[float, float]]) -> float:
    least = min(delay for _, delay in delays)
    return statistics.fmean(delay - least for at, delay in delays if at > BEGINS_S)


ONE_WAY_DELAYS = OneWayDelays()

FIGURE_1 = ((0.0, 2.0, 4.0), (1.0, 3.0, 6.0))
"""Fig. 1: times of sending, arrival and acknowledgment of each of two packets.

The round trips are 4 and 5.
"""

LATE_SHARE, LATE = 0.05, "20ms"
"""Share of one direction's packets that are delayed, and the additional delay."""

WHY = (
    "the sampled queue is a number of whole packets, while D also shows how much of the packet in "
    "transmission is left, and how long packets of a burst wait on the access line"
)
"""Reason for pairs of packets in which the state by D is not that of the queue."""

TEXT = (
    "Sections 3.1.1 and 3.1.2: a Santa Cruz flow (n = 3) on the basic network, alone, with a Reno flow in "
    "the same direction, and with a Reno flow on the return path. From the receiver's timestamps the sender "
    "computes the change of the delay of its packets on the forward path, and of their acknowledgments on "
    "the return path. The true delays of the simulator are beside these values. Out of order: on one of the "
    "two paths, some packets take 20 ms more."
)

HEADINGS = (Heading(SECTION, "The direction of congestion", (TEXT,), why=WHY),)

DELAY = Axis(label="relative delay", unit="ms", scale="linear")


@dataclass(frozen=True, slots=True)
class CongestedNetwork:
    """A network and the direction in which the congestion occurs."""

    key: str
    label: str
    scenario: Scenario


def _sampled(scenario: Scenario) -> Scenario:
    return replace(
        scenario, samples=Samples(every="50ms", workloads=(paper.SOURCE,)), trace=(paper.SOURCE,)
    )


def _beside() -> Scenario:
    """Return the basic network with a Reno flow on the forward path."""
    network = paper.basic(sender=SENDER.sender)
    other = Greedy(
        name=paper.CROSS, from_="a", to="receiver", flows=1, spread="1s", sender=paper.RENO.sender
    )
    return replace(network, workload=(*network.workload, other))


def _late(link: str) -> Scenario:
    network = paper.basic(sender=SENDER.sender, spread="1s")
    late = Reorder(probability=LATE_SHARE, by=LATE)
    return replace(
        network,
        link=tuple(
            replace(each, reorder=late) if each.name == link else each for each in network.link
        ),
    )


CONGESTED = (
    CongestedNetwork("alone", "alone", _sampled(paper.basic(sender=SENDER.sender, spread="1s"))),
    CongestedNetwork("there", "Reno beside it", _sampled(_beside())),
    CongestedNetwork(
        "back", "Reno on the return path", _sampled(paper.reverse(sender=SENDER.sender))
    ),
)
REORDERED = (
    CongestedNetwork(
        "in-order", "in order", _sampled(paper.basic(sender=SENDER.sender, spread="1s"))
    ),
    CongestedNetwork("late-there", "late on the forward path", _sampled(_late("last"))),
    CongestedNetwork("late-back", "late on the return path", _sampled(_late("last-back"))),
)


def exhibits() -> tuple[Exhibit, ...]:
    """Return the exhibits of the delay by direction and of reports out of order."""
    return (_direction(), _reordered())


@dataclass(frozen=True, slots=True)
class DirectionDelays:
    """Mean delays of one run by direction in ms, as the sender estimates them and as they were."""

    there: float
    back: float
    true_there: float
    true_back: float


def _later(run: RunSummary, what: str, quantity: str) -> list[float]:
    return [
        value for at, value in SAMPLES.curve(run, object=what, quantity=quantity) if at > BEGINS_S
    ]


def delays_of(run: RunSummary) -> DirectionDelays:
    """Return the sender's estimates of a run and the true values."""
    there, back = ONE_WAY_DELAYS.of(run)
    return DirectionDelays(
        there=1e3 * statistics.fmean(_later(run, FLOW, "forward_delay_s")),
        back=1e3 * statistics.fmean(_later(run, FLOW, "return_delay_s")),
        true_there=there,
        true_back=back,
    )


COLUMNS: tuple[tuple[str, Callable[[DirectionDelays], float]], ...] = (
    ("round trip", lambda found: found.there + found.back),
    ("relative delay, forward", lambda found: found.there),
    ("queueing of packets", lambda found: found.true_there),
    ("relative delay, return", lambda found: found.back),
    ("queueing of acknowledgments", lambda found: found.true_back),
)


def _direction() -> Exhibit:
    cases = {
        each.key: Case(scenario=each.scenario, watches=(SAMPLES, ONE_WAY_DELAYS))
        for each in CONGESTED
    }

    def build(runs: Runs) -> Part:
        found = {key: [delays_of(run) for run in runs.of(wanted)] for key, wanted in cases.items()}
        rows = [
            Row(
                label=each.label,
                cells=tuple(
                    TableCell(
                        ours=stats.mean([of(run) for run in found[each.key]]),
                        published=None,
                        unit="ms",
                    )
                    for _, of in COLUMNS
                ),
            )
            for each in CONGESTED
        ]
        table = Table(
            key="direction",
            title="Delay by direction: estimate of the sender and true value",
            source=OWN,
            caption="Means after 2 s. A relative delay is the mean of a window, relative to the first packet, "
            "which met no queue. The queueing delays are those of the simulator.",
            columns=("network", *(name for name, _ in COLUMNS)),
            rows=tuple(rows),
        )
        return Part(
            tables=(_figure_1(), table),
            figures=(_curves(next(iter(runs.of(cases["back"])))),),
            findings=tuple(_claims(found)),
        )

    return Exhibit(key="direction", section=SECTION, cases=tuple(cases.values()), build=build)


def _figure_1() -> Table:
    """The paper's example by the model: the round-trip time does not show the delay's direction."""
    sent, received, acknowledged = zip(*FIGURE_1, strict=True)
    there = float(model.relative_delay(sent, received)[0])
    back = float(model.relative_return_delay(received, acknowledged)[0])
    cells = tuple(
        TableCell(ours=judge.exact(value), published=None, unit="")
        for value in (acknowledged[0] - sent[0], acknowledged[1] - sent[1], there, back)
    )
    return Table(
        key="fig-1",
        title="Round trips of 4 and 5: the path that became longer",
        source=f"{paper.SHORT}, Fig. 1",
        caption="Relative delays of the second packet with respect to the first, from the times of "
        "transmission, arrival and acknowledgment, in the units of the figure.",
        columns=(
            "packets",
            "first round trip",
            "second round trip",
            "relative delay, forward",
            "relative delay, return",
        ),
        rows=(Row(label="two packets of Fig. 1", cells=cells),),
    )


def _curves(run: RunSummary) -> Figure:
    lines = []
    for key, label, quantity in (
        ("there", "on the forward path", "forward_delay_s"),
        ("back", "on the return path", "return_delay_s"),
    ):
        curve = list(SAMPLES.curve(run, object=FLOW, quantity=quantity))
        points = [judge.exact(round(1e3 * value, 4)) for _, value in curve]
        lines.append(series(key, label, [round(at, 6) for at, _ in curve], points, style="step"))
    return Figure(
        key="direction-curves",
        title="Relative delays with traffic on the return path",
        source=f"{OWN}, beside Fig. 1",
        caption="The first run, sampled every 50 ms.",
        x=TIME,
        y=DELAY,
        series=tuple(lines),
    )


def _claims(found: Mapping[str, Sequence[DirectionDelays]]) -> Iterator[Finding]:
    where = "section 3.1.1"
    quantities: tuple[tuple[str, str, Callable[[DirectionDelays], float]], ...] = (
        ("there", "on the forward path", lambda run: run.there - run.true_there),
        ("back", "on the return path", lambda run: run.back - run.true_back),
    )
    for key, label, error in quantities:
        apart = {
            each.label: stats.mean([error(run) for run in found[each.key]]) for each in CONGESTED
        }
        yield judge.finding(
            key=f"direction-{key}-is-waited",
            claim=f"Relative delays equal the queueing delays {label}, within a packet ({PACKET_MS:.2f} ms), "
            "wherever the "
            "congestion is",
            source=where,
            published="the change in forward or reverse delay",
            judged=judge.all_within(apart, -PACKET_MS, PACKET_MS, "ms"),
        )
    yield judge.finding(
        key="direction-told-apart",
        claim="With traffic on the return path, the round-trip time grows, and the relative delay of the "
        "forward path stays as without traffic (within a packet)",
        source=f"{where}, Fig. 1",
        published="0 of 1",
        judged=judge.is_within(
            stats.mean(
                [
                    run.there - alone.there
                    for run, alone in zip(found["back"], found["alone"], strict=True)
                ]
            ),
            -PACKET_MS,
            PACKET_MS,
            "ms",
        ),
    )
    yield judge.finding(
        key="direction-round-trip-grows",
        claim="With traffic on the return path, the round-trip time is longer by more than a packet: a "
        "sender that uses only the round-trip time would infer congestion",
        source=f"{where}, Fig. 1",
        published="4 and 5",
        judged=judge.is_above(
            stats.mean(
                [
                    run.there + run.back - alone.there - alone.back
                    for run, alone in zip(found["back"], found["alone"], strict=True)
                ]
            ),
            PACKET_MS,
            "ms",
        ),
    )


# ---- out of order


def _last(run: RunSummary, quantity: str) -> float:
    return [value for _, value in SAMPLES.curve(run, object=FLOW, quantity=quantity)][-1]


def _reordered() -> Exhibit:
    cases = {each.key: Case(scenario=each.scenario, watches=(SAMPLES,)) for each in REORDERED}

    def build(runs: Runs) -> Part:
        def values(key: str, quantity: str) -> list[float]:
            return [_last(run, quantity) for run in runs.of(cases[key])]

        rows = tuple(
            Row(
                label=each.label,
                cells=tuple(
                    TableCell(
                        ours=stats.mean(values(each.key, quantity), possible=stats.POSITIVE),
                        published=None,
                    )
                    for quantity in ("forward_reordered", "return_reordered")
                ),
            )
            for each in REORDERED
        )
        table = Table(
            key="direction-reordered",
            title="Reports out of order, by direction",
            source=f"{OWN}, beside Fig. 3(d)",
            caption=f"Reports in 10 s that show overtaking of packets or acknowledgments, if "
            f"{100 * LATE_SHARE:g} % of one direction's are {LATE.removesuffix('ms')} ms late.",
            columns=("network", "overtaken on the forward path", "overtaken on the return path"),
            rows=rows,
        )
        as_expected = [
            (bool(there), bool(back)) == (each.key == "late-there", each.key == "late-back")
            for each in REORDERED
            for there, back in zip(
                values(each.key, "forward_reordered"),
                values(each.key, "return_reordered"),
                strict=True,
            )
        ]
        finding = judge.finding(
            key="direction-several-paths",
            claim="The sender detects from the timestamps whether packets arrive out of order, and on which "
            "path (runs in which it does not)",
            source="section 3.1.1, Fig. 3(d)",
            published="none",
            judged=judge.is_none(as_expected.count(False), len(as_expected)),
        )
        return Part(tables=(table,), findings=(finding,))

    return Exhibit(
        key="direction-reordered", section=SECTION, cases=tuple(cases.values()), build=build
    )
