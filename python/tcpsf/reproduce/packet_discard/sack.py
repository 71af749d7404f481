"""Sections 6.2 and 7: timeouts that SACK avoids, and its throughput without BPD.

The number of timeouts is compared with Bruyeron and Hemon's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case
from tcpsf.papers import packet_discard as paper
from tcpsf.papers import packet_discard_networks as networks
from tcpsf.papers.packet_discard_networks import MIXED, A, B, Policy, Topology
from tcpsf.reproduce.packet_discard.exhibit_parts import (
    ABOUT,
    Setting,
    each,
    goodput,
    mean,
    mean_share,
    over,
    timeouts,
)
from tcpsf.scenario import Buffer
from tcpsf.summary import RunSummary

EPD = networks.epd(paper.BEST_THRESHOLD)
BPD = networks.bpd(paper.LOWER, gap=paper.GAP)
SENDERS = {"Reno": networks.RENO, "SACK": networks.SACK}
RATIO = paper.SACK_TIMEOUTS[1] / paper.SACK_TIMEOUTS[0]
"""Timeouts with SACK relative to Reno: 2 of 50."""
PACKETS = Buffer(bytes="50kB")
"""Ordinary drop-tail queue with about as many bytes as the 1200 cells carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedNetwork:
    """A network for the comparison; all its connections use Reno, or all use SACK."""

    label: str
    topology: Topology
    policy: Policy
    queue: Buffer | None = None
    """Queue in place of the port of cells."""


NETWORKS = (
    *(
        ComparedNetwork(label=f"{topology.label}, {name}", topology=topology, policy=policy)
        for topology in (A, B, MIXED)
        for name, policy in (("plain ATM", networks.PLAIN), ("PPD", networks.PPD), ("EPD", EPD))
    ),
    ComparedNetwork(
        label="topology B, drop-tail queue of packets",
        topology=B,
        policy=networks.PLAIN,
        queue=PACKETS,
    ),
    ComparedNetwork(
        label="Fig. 21, drop-tail queue of packets",
        topology=MIXED,
        policy=networks.PLAIN,
        queue=PACKETS,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenoAndSack:
    """The runs of a network with each sender."""

    reno: Sequence[RunSummary]
    sack: Sequence[RunSummary]


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return the exhibit of timeouts with Reno and with SACK."""
    cases = {
        network.label: {name: _case(setting, network, sender) for name, sender in SENDERS.items()}
        for network in NETWORKS
    }
    balanced = setting.case(B, BPD)
    return (
        Exhibit(
            key="sack-timeouts",
            section="mixed",
            cases=(*(case for pair in cases.values() for case in pair.values()), balanced),
            build=lambda runs: _part(
                {
                    label: RenoAndSack(reno=runs.of(pair["Reno"]), sack=runs.of(pair["SACK"]))
                    for label, pair in cases.items()
                },
                runs.of(balanced),
            ),
        ),
    )


def _case(setting: Setting, network: ComparedNetwork, sender: str) -> Case:
    topology = network.topology
    case = setting.case(topology, network.policy, senders=[sender] * topology.connections)
    if network.queue is None:
        return case
    first, *others = case.scenario.link
    queued = replace(
        case.scenario, link=(replace(first, buffer=network.queue, cells="aal5"), *others)
    )
    return replace(case, scenario=queued)


def _part(pairs: Mapping[str, RenoAndSack], balanced: Sequence[RunSummary]) -> Part:
    table = Table(
        key="sack-timeouts",
        title="Timeouts with Reno and with SACK",
        source=f"{paper.SHORT}, section 6.2, after Bruyeron and Hemon 1998",
        caption=(
            "Without BPD; all connections use the same sender. EPD has its threshold at 0.7. The paper "
            "calls the scenario of its source typical and gives no details."
        ),
        columns=(
            "network",
            "timeouts, Reno",
            "timeouts, SACK",
            "SACK over Reno",
            "throughput, Reno",
            "throughput, SACK",
        ),
        rows=tuple(_row(network, pairs[network.label]) for network in NETWORKS),
    )
    return Part(tables=(table,), findings=tuple(_claims(pairs, balanced)))


def _row(network: ComparedNetwork, pair: RenoAndSack) -> Row:
    share = goodput(network.topology)
    found = (
        mean(pair.reno, timeouts),
        mean(pair.sack, timeouts),
        _ratio(pair),
        mean_share(pair.reno, share),
        mean_share(pair.sack, share),
    )
    return Row(
        label=network.label, cells=tuple(TableCell(ours=each, published=None) for each in found)
    )


def _ratio(pair: RenoAndSack) -> stats.Estimate | None:
    """Ratio of SACK's timeouts to Reno's, with runs compared in pairs."""
    if not any(each(pair.reno, timeouts)):
        return None
    return stats.ratio(each(pair.sack, timeouts), each(pair.reno, timeouts))


def _claims(pairs: Mapping[str, RenoAndSack], balanced: Sequence[RunSummary]) -> Iterator[Finding]:
    ratios = {label: _ratio(pair) for label, pair in pairs.items()}
    for key, claim, judged in (
        (
            "sack-timeouts-every",
            "SACK reduces the timeouts as from 50 to 2, to 4 % or less (every network)",
            judge.all_below(ratios, RATIO, ""),
        ),
        (
            "sack-timeouts-some",
            "SACK reduces the timeouts as from 50 to 2, to 4 % or less (one of the networks)",
            judge.some_below(ratios, RATIO),
        ),
        (
            "sack-timeouts-fewer",
            "SACK has fewer timeouts than Reno (every network)",
            judge.all_below(ratios, 1.0, ""),
        ),
    ):
        yield judge.finding(
            key=key,
            claim=claim,
            source="section 6.2, after Bruyeron and Hemon",
            published=f"{RATIO:g}",
            judged=judged,
        )
    share = goodput(B)
    yield judge.finding(
        key="sack-maximum",
        claim="SACK with EPD has the maximum throughput without BPD: that of Reno with BPD (topology B, within 0.05)",
        source="section 7",
        published="maximum",
        judged=judge.is_above(over(pairs[f"{B.label}, EPD"].sack, balanced, share), -ABOUT, ""),
    )
