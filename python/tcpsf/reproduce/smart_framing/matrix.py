"""Framing with other congestion controls, acknowledgments, queues and initial windows.

A network is a set of changes to that of section IV-A. More networks, such as one with a marking
queue, give more rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tcpsf.evaluation import judge
from tcpsf.evaluation.data import OWN, Axis, Figure, Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part, bars
from tcpsf.evaluation.judge import Finding, above
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.papers import smart_framing as paper
from tcpsf.reproduce import web_runs
from tcpsf.reproduce.smart_framing.exhibit_parts import FRAMED, Setting
from tcpsf.reproduce.smart_framing.table_1_claims import MIDDLE
from tcpsf.summary import RunSummary, completion_s, fast_percent

STACKS = (
    ("tahoe", "Tahoe", "tahoe"),
    ("reno", "Reno", "reno"),
    ("newreno", "NewReno", "reno+newreno"),
    ("sack", "SACK", "reno+sack"),
)
"""Key, name, and the beginning of a sender's name."""

WINDOWS = (1, 10)
"""Initial windows in segments: the paper's and today's (RFC 6928)."""

FRAMINGS = (("classic", "full"), ("vs", "vs(n=4)"), ("fs", "fs(n=4)"))
"""Key of the variant, and its framing in the sender's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkVariant:
    """Section IV-A's network with some values changed."""

    key: str
    label: str
    """Label of the network; empty for the paper's own."""
    changes: tuple[tuple[str, object], ...]
    """Changes for `Scenario.with_value`."""
    stacks: tuple[str, ...] = tuple(key for key, _, _ in STACKS)
    """Keys of the TCP variants that run in this network."""


def _red(unit: str, low: object, high: object) -> tuple[str, object]:
    """Return RED with thresholds at one fifth and three fifths of the buffer.

    Other values are the defaults of Floyd and Jacobson.
    """
    limits = {f"min_{unit}": low, f"max_{unit}": high, "gentle": True}
    return f"link.{paper.BOTTLENECK}.buffer.red", limits


_BY_BYTES, _BY_PACKETS = _red("bytes", "30kB", "90kB"), _red("packets", 20, 60)
_ECN = ("tcp.ecn", True)

NETWORKS = (
    NetworkVariant(key="each", label="", changes=()),
    NetworkVariant(key="delayed", label="delayed ACKs", changes=(("tcp.ack_every", 2),)),
    NetworkVariant(key="red-bytes", label="RED by bytes", changes=(_BY_BYTES,), stacks=("sack",)),
    NetworkVariant(
        key="red-packets", label="RED by packets", changes=(_BY_PACKETS,), stacks=("sack",)
    ),
    NetworkVariant(
        key="ecn-bytes", label="RED by bytes, ECN", changes=(_BY_BYTES, _ECN), stacks=("sack",)
    ),
    NetworkVariant(
        key="ecn-packets",
        label="RED by packets, ECN",
        changes=(_BY_PACKETS, _ECN),
        stacks=("sack",),
    ),
)
"""The networks of the matrix.

Those with active queue management (RED), with and without ECN marks, use SACK alone. SACK is the
closest of these variants to today's hosts.
"""


NOTES = (
    (
        "After a loss Tahoe resends one loss window: one segment for Classic, four for fixed-size framing, three of "
        "which the receiver usually has already. At this load the headers and retransmissions of the short flows "
        "leave too little capacity, so the number of unfinished flows grows with the length of the run, and "
        "so do the "
        "times."
    ),
    (
        "With ECN few packets are lost, so framing has little effect on repairs. Fixed-size framing is "
        "slower because of the draft's slower growth in congestion avoidance; with `avoidance=bytewise` it "
        "grows like Classic. With a queue that counts packets, the larger number of packets is a further "
        "disadvantage."
    ),
)
CUT = -100.0
"""Lower end of the figure: a gain in per cent at which flows take twice as long as with Classic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """A row of the matrix: a TCP, a network and an initial window."""

    stack: str
    network: str
    window: int
    label: str
    cases: Mapping[str, Case]
    """Cases by variant."""


def lines(setting: Setting) -> tuple[Combination, ...]:
    """Return the rows of the matrix with their cases."""
    return tuple(
        Combination(
            stack=stack,
            network=network.key,
            window=window,
            label=", ".join(part for part in (name, network.label, f"IW {window}") if part),
            cases={
                key: _case(prefix, framing, network, window, setting) for key, framing in FRAMINGS
            },
        )
        for stack, name, prefix in STACKS
        for network in NETWORKS
        if stack in network.stacks
        for window in WINDOWS
    )


def _case(
    prefix: str, framing: str, network: NetworkVariant, window: int, setting: Setting
) -> Case:
    scenario = paper.web_scenario(
        sender=f"{prefix} / {framing} / iw={window}",
        greedy_sender=f"{prefix} / full / iw={window}",
        duration=setting.duration_of_ours,
    )
    scenario = scenario.with_values(dict(network.changes))
    # For the paper's own network, these are the same runs as in Figs. 2 to 5.
    usual = (
        any(scenario.workload[1].sender == variant.sender for variant in paper.VARIANTS)
        and not network.changes
        and setting.duration_of_ours == setting.duration
    )
    return setting.case(scenario, histogram=usual)


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return the exhibit of framing with other senders, ACKs and queues."""
    rows = lines(setting)
    last = rows[-1]
    return (
        Exhibit(
            key="matrix",
            section="matrix",
            cases=tuple(case for line in rows for case in line.cases.values()),
            build=lambda runs: _matrix(rows, runs, setting.duration_of_ours),
            shown={f"{last.label}, FS": last.cases["fs"].scenario},
        ),
    )


ByVariant = Mapping[str, Sequence[RunSummary]]


def _matrix(rows: Sequence[Combination], runs: Runs, duration: str) -> Part:
    made = [(line, {key: runs.of(case) for key, case in line.cases.items()}) for line in rows]
    table = Table(
        key="matrix",
        title="Framing with other senders, ACKs and queues",
        source=f"{OWN}, on the network of section IV-A at 80 % load, runs of {duration}",
        caption=(
            "Mean completion time with Classic segments, gains over it on the same arrivals, for all flows and for "
            "those of 1650 to 8015 bytes, and the share of fast retransmits. Last column: the kinds of "
            "framing whose interval of the gain over all flows is above 0; “perhaps” if the interval contains 0. RED "
            "drops or marks "
            "from an average queue of 30 kB (20 packets) on, and drops "
            "every packet from 180 kB (120 packets) on."
        ),
        columns=(
            "TCP",
            "Classic, time",
            "VS, gain",
            "FS, gain",
            "VS, gain 1650–8015",
            "FS, gain 1650–8015",
            "Classic, %FR",
            "VS, %FR",
            "FS, %FR",
            "shorter times with",
        ),
        rows=tuple(_row(line, by_variant) for line, by_variant in made),
        notes=NOTES,
    )
    return Part(figures=(_gains(made),), tables=(table,), findings=tuple(_claims(made)))


def _gains(made: Sequence[tuple[Combination, ByVariant]]) -> Figure:
    """Plot the gains of each line of the table."""
    rows = [line for line, _ in made]
    labels = [line.label for line in rows]
    return Figure(
        key="matrix-gain",
        title="Gain of framing by sender, acknowledgments, queue and initial window",
        source=OWN,
        caption="Gain in the mean completion time of all short flows over Classic segments with the same TCP.",
        x=Axis(
            label="sender, acknowledgments, queue, initial window (IW, segments)",
            unit="",
            scale="category",
        ),
        y=Axis(label="gain in completion time over Classic", unit="%", scale="linear", low=CUT),
        groups=tuple(
            (name, sum(line.stack == stack for line in rows)) for stack, name, _ in STACKS
        ),
        notes=(
            f"Bars beyond {CUT:.0f} % are cut; their values are beside the mark.".replace("-", "−"),
        ),
        series=tuple(
            bars(
                variant.key,
                variant.label,
                labels,
                [
                    web_runs.gain(by_variant[variant.key], by_variant["classic"])
                    for _, by_variant in made
                ],
            )
            for variant in FRAMED
        ),
    )


def _row(line: Combination, runs: ByVariant) -> Row:
    gains = {v.key: web_runs.gain(runs[v.key], runs["classic"]) for v in FRAMED}
    helps = [v.label.split("-")[0] for v in FRAMED if above(gains[v.key], 0.0) == "holds"]
    unsure = [
        f"perhaps {v.label.split('-')[0]}"
        for v in FRAMED
        if above(gains[v.key], 0.0) == "undecided"
    ]
    cells: list[TableCell | str] = [
        TableCell(ours=completion_s(web_runs.each(runs["classic"])), published=None, unit="s")
    ]
    cells += [TableCell(ours=gains[v.key], published=None, unit="%") for v in FRAMED]
    cells += [
        TableCell(
            ours=web_runs.gain(runs[v.key], runs["classic"], classes=MIDDLE),
            published=None,
            unit="%",
        )
        for v in FRAMED
    ]
    cells += [
        TableCell(ours=fast_percent(web_runs.each(runs[v.key])), published=None, unit="%")
        for v in paper.VARIANTS
    ]
    return Row(label=line.label, cells=(*cells, ", ".join(helps + unsure) or "neither"))


def _claims(made: Sequence[tuple[Combination, ByVariant]]) -> Iterator[Finding]:
    for variant in FRAMED:
        gains = {
            line.label: web_runs.gain(runs[variant.key], runs["classic"])
            for line, runs in made
            if line.network == "each" and line.window == 1
        }
        yield judge.finding(
            key=f"any-tcp-{variant.key}",
            claim=f"{variant.label} works on top of any TCP flavour, from Tahoe to SACK",
            source="abstract, section III",
            published="gain above 0 with each",
            judged=judge.all_above(gains, 0.0, "%"),
        )
    delayed = next(
        runs
        for line, runs in made
        if (line.stack, line.network, line.window) == ("sack", "delayed", 1)
    )
    totals = web_runs.each(delayed["classic"], classes=range(1, MIDDLE.stop))
    yield judge.finding(
        key="delayed-acks-classic",
        claim="With delayed ACKs, Classic flows of fewer than 10 segments have no chance of fast retransmit",
        source="section III",
        published="none",
        judged=judge.is_none(
            sum(t.fast_retransmits for t in totals), sum(t.recoveries for t in totals)
        ),
    )
    for variant in FRAMED:
        totals = web_runs.each(delayed[variant.key], classes=MIDDLE)
        yield judge.finding(
            key=f"delayed-acks-{variant.key}",
            claim=f"{variant.label} triggers fast retransmit even with delayed ACKs (1650 to 8015 bytes)",
            source="section III",
            published="some",
            judged=judge.is_some(
                sum(t.fast_retransmits for t in totals), sum(t.recoveries for t in totals)
            ),
        )
