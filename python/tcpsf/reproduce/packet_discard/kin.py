"""Balanced discard of whole packets on an ordinary link (an experiment of this project).

It is compared with drop-tail, RED and CoDel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import OWN, Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.papers import packet_discard as paper
from tcpsf.papers import packet_discard_networks as networks
from tcpsf.papers import smart_framing as framing
from tcpsf.papers.packet_discard_networks import B
from tcpsf.papers.smart_framing_figures import reno
from tcpsf.reproduce import web_runs
from tcpsf.reproduce.packet_discard.exhibit_parts import (
    Setting,
    active,
    fairness,
    mean,
    mean_share,
    over,
    rates,
    timeouts,
)
from tcpsf.scenario import Balanced, Buffer, CoDel, Red, Scenario
from tcpsf.summary import RunSummary, fast_percent

LOAD = 0.5
"""Load of the short flows; ten greedy flows take the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discipline:
    """A rule by which a buffer of 150 kB selects the packets to drop."""

    key: str
    label: str
    buffer: Buffer


def _buffer(**options: object) -> Buffer:
    return Buffer(bytes="150kB", **options)  # type: ignore[arg-type]


DISCIPLINES = (
    Discipline(key="tail", label="drop-tail", buffer=_buffer()),
    Discipline(key="short", label="drop-tail at 40 %", buffer=Buffer(bytes="60kB")),
    Discipline(
        key="balanced",
        label="balanced",
        buffer=_buffer(balanced=Balanced(lower=0.4, upper=0.9, gap=25)),
    ),
    Discipline(
        key="balanced-10",
        label="balanced, Gap 10",
        buffer=_buffer(balanced=Balanced(lower=0.4, upper=0.9, gap=10)),
    ),
    Discipline(
        key="red",
        label="RED",
        buffer=_buffer(red=Red(min_bytes="30kB", max_bytes="90kB", gentle=True)),
    ),
    Discipline(
        key="codel", label="CoDel", buffer=_buffer(codel=CoDel(target="5ms", interval="100ms"))
    ),
)
"""The buffers; the second shows the effect of the lower threshold of balanced discard alone."""

PACKETS = paper.BUFFER_CELLS // paper.CELLS
SMALL = (
    Discipline(key="tail", label="drop-tail", buffer=Buffer(packets=PACKETS)),
    Discipline(key="short", label="drop-tail at 40 %", buffer=Buffer(packets=2 * PACKETS // 5)),
    *(
        Discipline(
            key=f"balanced{mark}",
            label=f"balanced, Gap {gap}",
            buffer=Buffer(
                packets=PACKETS, balanced=Balanced(lower=paper.LOWER, upper=paper.UPPER, gap=gap)
            ),
        )
        for mark, gap in (("", paper.GAP), ("-10", 10))
    ),
    Discipline(
        key="red",
        label="RED",
        buffer=Buffer(packets=PACKETS, red=Red(min_packets=18, max_packets=55, gentle=True)),
    ),
    Discipline(
        key="codel",
        label="CoDel",
        buffer=Buffer(packets=PACKETS, codel=CoDel(target="1ms", interval="20ms")),
    ),
)
"""Buffers for topology B, in packets; they hold as much as its cells."""

GREEDY = {"reno": ("Reno", networks.RENO), "sack": ("SACK", networks.SACK)}

SENDERS = {
    "reno": ("Reno", reno(framing.CLASSIC.sender)),
    "sack": ("SACK", framing.CLASSIC.sender),
    "fs": ("SACK, FS-TCP-SF", framing.FIXED_SIZE.sender),
}
"""Senders of the short flows; the greedy flows use Reno or SACK, and never framing."""

ByDiscipline = Mapping[str, Sequence[RunSummary]]


def exhibits(setting: Setting, duration: str) -> tuple[Exhibit, ...]:
    """Return the exhibits of balanced discard on a queue of packets.

    The exhibits with short flows run for ``duration`` with the Smart Framing paper's profile.
    """
    return (
        *(_greedy(key, label, sender, setting) for key, (label, sender) in GREEDY.items()),
        *(_exhibit(key, label, sender, duration) for key, (label, sender) in SENDERS.items()),
    )


def _greedy(key: str, label: str, sender: str, setting: Setting) -> Exhibit:
    cases = {each.key: setting.of(_topology_b(each, sender, setting)) for each in SMALL}
    return Exhibit(
        key=f"packets-{key}",
        section="kin",
        cases=tuple(cases.values()),
        build=lambda runs: _greedy_part(
            key, label, {name: runs.of(case) for name, case in cases.items()}
        ),
        shown={f"topology B of packets, balanced, {label}": cases["balanced"].scenario},
    )


def _topology_b(discipline: Discipline, sender: str, setting: Setting) -> Scenario:
    """Topology B with links that carry packets."""
    scenario = networks.network(
        B, networks.PLAIN, senders=[sender] * B.connections, duration=setting.duration
    )
    links = tuple(
        replace(
            link, cells=None, buffer=discipline.buffer if link.name == networks.SWITCH else None
        )
        for link in scenario.link
    )
    return replace(scenario, name=f"packets-{discipline.key}", link=links)


def _greedy_part(key: str, label: str, seen: ByDiscipline) -> Part:
    rows = []
    for each in SMALL:
        runs = seen[each.key]
        found = (
            mean_share(runs, _of_packets),
            mean_share(runs, active),
            mean(runs, timeouts),
            mean_share(runs, fairness),
        )
        rows.append(
            Row(
                label=each.label,
                cells=tuple(TableCell(ours=value, published=None) for value in found),
            )
        )
    table = Table(
        key=f"packets-{key}",
        title=f"Topology B as lines of packets: {label}",
        source=OWN,
        caption=(
            "Five greedy connections share a buffer of 92 packets, with the timer of topology B. Balanced "
            "discard with "
            "0.4 and 0.9; RED from 18 to 55 packets, gentle; CoDel with 1 and 20 ms."
        ),
        columns=(
            "discipline",
            "effective throughput",
            "active",
            "timeouts a connection",
            "fairness",
        ),
        rows=tuple(rows),
    )
    return Part(tables=(table,), findings=tuple(_greedy_claims(key, label, seen)))


def _greedy_claims(key: str, label: str, seen: ByDiscipline) -> Iterator[Finding]:
    for other, name in (
        (each.key, each.label) for each in SMALL if not each.key.startswith("balanced")
    ):
        yield judge.finding(
            key=f"packets-beats-{other}-{key}",
            claim=f"{label}: greedy flows have a higher throughput with balanced discard (Gap 25) than with {name}",
            source=OWN,
            published="",
            judged=judge.is_above(over(seen["balanced"], seen[other], _of_packets), 0.0, ""),
        )


def _of_packets(run: RunSummary) -> float:
    """Payload in order, as a share of the link's capacity for payload in full packets."""
    return sum(rates(run)) / (B.outgoing_mbps * paper.SEGMENT / (paper.SEGMENT + paper.HEADER))


def _exhibit(key: str, label: str, sender: str, duration: str) -> Exhibit:
    cases = {
        each.key: Case(
            scenario=_scenario(each, sender, greedy=key, duration=duration), histogram=True
        )
        for each in DISCIPLINES
    }
    return Exhibit(
        key=f"queues-{key}",
        section="kin",
        cases=tuple(cases.values()),
        build=lambda runs: _part(key, label, cases, runs),
        shown={f"balanced, {label}": cases["balanced"].scenario},
    )


def _scenario(discipline: Discipline, sender: str, *, greedy: str, duration: str) -> Scenario:
    classic = framing.CLASSIC.sender
    other = reno(classic) if greedy == "reno" else classic
    scenario = framing.web_scenario(
        sender=sender, greedy_sender=other, load=LOAD, duration=duration
    )
    links = tuple(
        replace(link, buffer=discipline.buffer) if link.name == framing.BOTTLENECK else link
        for link in scenario.link
    )
    return replace(scenario, name=f"queue-{discipline.key}", link=links)


def _part(key: str, label: str, cases: Mapping[str, Case], runs: Runs) -> Part:
    seen = {each: runs.of(case) for each, case in cases.items()}
    table = Table(
        key=f"queues-{key}",
        title=f"Disciplines of a packet queue: {label}",
        source=OWN,
        caption=(
            "10 Mb/s, 50 ms, 150 kB; ten greedy flows and short ones at half load. Balanced discard from 0.4 "
            "and 0.9, Gap 25 or 10; RED from 30 to 90 kB, gentle; CoDel with 5 and 100 ms."
        ),
        columns=(
            "discipline",
            "short flows: mean time",
            "95 % below",
            "repaired without timer",
            "timeouts a flow",
            "greedy flows",
            "mean queue",
            "dropped",
        ),
        rows=tuple(Row(label=each.label, cells=_cells(seen[each.key])) for each in DISCIPLINES),
    )
    return Part(tables=(table,), findings=tuple(_claims(key, label, seen)))


def _cells(runs: Sequence[RunSummary]) -> tuple[TableCell, ...]:
    return (
        TableCell(ours=web_runs.mean_time(runs), published=None, unit="s"),
        TableCell(ours=web_runs.quantile(runs, 0.95), published=None, unit="s"),
        TableCell(ours=fast_percent(web_runs.each(runs)), published=None, unit="%"),
        TableCell(ours=web_runs.mean(web_runs.timeouts_a_flow(runs)), published=None),
        TableCell(ours=web_runs.mean(web_runs.greedy_mbps(runs)), published=None, unit="Mb/s"),
        TableCell(ours=_kilobytes(runs), published=None, unit="kB"),
        TableCell(ours=web_runs.lost_percent(runs), published=None, unit="%"),
    )


def _kilobytes(runs: Sequence[RunSummary]) -> stats.Estimate | None:
    found = web_runs.queue_bytes(runs)
    return None if found is None else found.scaled(1e-3)


def _claims(key: str, label: str, seen: ByDiscipline) -> Iterator[Finding]:
    """Judge whether spacing the losses helps; the paper does not treat such queues."""
    for other, name in (
        ("tail", "drop-tail"),
        ("short", "drop-tail at 40 %"),
        ("red", "RED"),
        ("codel", "CoDel"),
    ):
        yield judge.finding(
            key=f"balanced-beats-{other}-{key}",
            claim=f"{label}: short flows complete sooner with balanced discard than with {name}",
            source=OWN,
            published="",
            judged=judge.is_above(web_runs.gain(seen["balanced"], seen[other]), 0.0, "%"),
        )
