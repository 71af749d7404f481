"""Section 6.2: Reno with Reno and Reno with SACK, without and with BPD (Figs. 20 and 21)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case
from tcpsf.papers import packet_discard as paper
from tcpsf.papers import packet_discard_networks as networks
from tcpsf.papers.packet_discard import FIGURE_20, Mixed
from tcpsf.papers.packet_discard_networks import MIXED
from tcpsf.reproduce.packet_discard.exhibit_parts import (
    ABOUT,
    Setting,
    connections,
    fairness,
    goodput,
    mean_share,
    rates,
)
from tcpsf.summary import RunSummary

SENDERS = {"Reno": networks.RENO, "SACK": networks.SACK}
WHERE = "section 6.2, Fig. 20"
COUNTED = 0.2
"""Relative tolerance for "about the same" number of timeouts.

The paper's runs have another length and therefore other counts.
"""
NEVER = 0.99
"""Fairness index without an advantage, to the two digits of 0.999 and 0.995."""

ByPair = Mapping[str, Sequence[RunSummary]]


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return Fig. 20, Reno beside Reno and beside SACK."""
    text = _exhibit("fig-20", "", setting)
    if setting.readings == "closest":
        return (text,)
    return text, _exhibit(
        "fig-20-fine", ", with a timeout from 200 ms", replace(setting, readings="closest")
    )


def _exhibit(key: str, how: str, setting: Setting) -> Exhibit:
    cases = {pair.key: _case(setting, pair) for pair in FIGURE_20}
    return Exhibit(
        key=key,
        section="mixed",
        cases=tuple(cases.values()),
        build=lambda runs: _figure_20(
            key, how, {name: runs.of(case) for name, case in cases.items()}
        ),
        shown={f"Fig. 21, SACK and Reno, BPD{how}": cases["sack-bpd"].scenario},
    )


def _case(setting: Setting, pair: Mixed) -> Case:
    # The paper does not state which parts of EPD or PPD the switch without BPD has. PPD is BPD
    # without its thresholds.
    policy = networks.bpd(paper.LOWER, gap=paper.MIXED_GAP) if pair.balanced else networks.PPD
    return setting.case(MIXED, policy, senders=[SENDERS[each.version] for each in pair.connections])


def _figure_20(key: str, how: str, runs: ByPair) -> Part:
    rows = []
    for pair in FIGURE_20:
        for number, published in enumerate(pair.connections):
            cells: list[TableCell | str] = [
                TableCell(
                    ours=_timeouts(runs[pair.key], number), published=published.timeouts, unit=""
                ),
                TableCell(
                    ours=_share(runs[pair.key], number), published=published.throughput, unit=""
                ),
                "",
                "",
            ]
            if number == 0:
                cells[2] = TableCell(
                    ours=mean_share(runs[pair.key], fairness), published=pair.fairness, unit=""
                )
                cells[3] = TableCell(
                    ours=mean_share(runs[pair.key], goodput(MIXED)), published=pair.overall, unit=""
                )
            rows.append(
                Row(label=f"{pair.label}: {number + 1}, {published.version}", cells=tuple(cells))
            )
    table = Table(
        key=key,
        title=f"Two connections of one or of two kinds{how}",
        source=f"{paper.SHORT}, Fig. 20",
        caption=(
            "Two links of 45 Mb/s lead to one of 75 Mb/s with 400 cells. Above, the switch discards the rest of a "
            "damaged packet (PPD); below, it has BPD with thresholds of 0.4 and 0.9 and a Gap of 20."
        ),
        columns=(
            "connection",
            "timeouts",
            "throughput, of 45 Mb/s",
            "fairness",
            "overall throughput, of 75 Mb/s",
        ),
        rows=tuple(rows),
        notes=(
            "The paper gives neither the length of its runs nor the policy of the switch without BPD.",
        ),
    )
    return Part(tables=(table,), findings=tuple(_claims(key, how, runs)))


def _share(runs: Sequence[RunSummary], number: int) -> stats.Estimate | None:
    """Throughput of a connection as a share of its own link's capacity."""
    return mean_share(runs, lambda run: rates(run)[number] / paper.capacity(MIXED.incoming_mbps))


def _timeouts(runs: Sequence[RunSummary], number: int) -> stats.Estimate | None:
    return stats.mean([float(connections(run)[number]["timeouts"]) for run in runs])


def _claims(figure: str, how: str, runs: ByPair) -> Iterator[Finding]:
    mark = figure.removeprefix("fig-20")
    claims = (_of_sharing(runs), *(_of_pair(pair, runs[pair.key]) for pair in FIGURE_20))
    for found in itertools.chain(*claims):
        yield replace(found, key=f"{found.key}{mark}", claim=f"{found.claim}{how}")


def _of_sharing(runs: ByPair) -> Iterator[Finding]:
    reno, sack = (pair for pair in FIGURE_20 if not pair.balanced)
    yield judge.finding(
        key="mixed-reno-even",
        claim="Without BPD two Reno connections have equal shares (fairness above 0.95)",
        source=WHERE,
        published=f"{reno.fairness}",
        judged=judge.is_above(mean_share(runs["reno"], fairness), 1.0 - ABOUT, ""),
    )
    yield judge.finding(
        key="mixed-sack-ahead",
        claim="Without BPD a SACK connection gets almost twice as much as a Reno connection, or more (1.8 times)",
        source="section 6.2",
        published="4.7",
        judged=judge.is_above(stats.mean([_ratio(run) for run in runs["sack"]]), 1.8, "times"),
    )
    yield judge.finding(
        key="mixed-unfair",
        claim="Without BPD the fairness of SACK and Reno is about 0.702 (within 0.05)",
        source=WHERE,
        published=f"{sack.fairness}",
        judged=judge.is_within(
            mean_share(runs["sack"], fairness), sack.fairness - ABOUT, sack.fairness + ABOUT, ""
        ),
    )


def _of_pair(pair: Mixed, runs: Sequence[RunSummary]) -> Iterator[Finding]:
    overall = mean_share(runs, goodput(MIXED))
    if pair.balanced:
        rows = [row for run in runs for row in connections(run)]
        yield judge.finding(
            key=f"mixed-no-timeouts-{pair.key}",
            claim=f"{pair.label}: no timeouts (connections that had any)",
            source=WHERE,
            published="0",
            judged=judge.is_none(sum(row["timeouts"] > 0 for row in rows), len(rows)),
        )
        yield judge.finding(
            key=f"mixed-fair-{pair.key}",
            claim=f"{pair.label}: the fairness is above 0.99",
            source=WHERE,
            published=f"{pair.fairness}",
            judged=judge.is_above(mean_share(runs, fairness), NEVER, ""),
        )
    else:
        for number, published in enumerate(pair.connections):
            if published.version == "Reno":
                low, high = ((1.0 + side * COUNTED) * published.timeouts for side in (-1.0, 1.0))
                yield judge.finding(
                    key=f"mixed-timeouts-{pair.key}-{number + 1}",
                    claim=f"{pair.label}: connection {number + 1} times out {published.timeouts} times (within 20 %)",
                    source=WHERE,
                    published=f"{published.timeouts}",
                    judged=judge.is_within(_timeouts(runs, number), low, high, ""),
                )
    yield judge.finding(
        key=f"mixed-overall-{pair.key}",
        claim=f"{pair.label} use about {pair.overall} of the outgoing link (within 0.05)",
        source=WHERE,
        published=f"{pair.overall}",
        judged=judge.is_within(overall, pair.overall - ABOUT, pair.overall + ABOUT, ""),
    )


def _ratio(run: RunSummary) -> float:
    """Ratio of the first connection's throughput to the second's."""
    first, second = rates(run)
    return first / max(second, 1e-9)
