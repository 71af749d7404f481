"""Retransmitted payload, and the costs of framing for senders, routers and other flows.

The claims are those of the draft, sections 7 and 8, and of the journal, sections VII and VIII.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.judge import Finding
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_advantages as settings
from tcpsf.reproduce import web_runs
from tcpsf.reproduce.smart_framing.advantages import SECTION
from tcpsf.reproduce.smart_framing.advantages.small_window_segments import small_window_payloads
from tcpsf.reproduce.smart_framing.exhibit_parts import DRAFT, FRAMED, JOURNAL, Setting, by_variant
from tcpsf.summary import RunSummary, Totals, mean_of

LITTLE_PERCENT = 5.0
"""Upper limit of "little or no bandwidth", in per cent of the greedy flows' rate."""
DRAFT_OVERHEAD = {"classic": 2.6, "vs": 4.5, "fs": 10.6}
"""Overhead in the small-window regime in per cent (draft, section 8)."""
PRINTED = 0.1
"""Resolution of the printed numbers in percentage points; they are rounded or truncated."""


BySender = Mapping[str, Sequence[RunSummary]]


def costs(setting: Setting) -> Exhibit:
    """Return the retransmitted payload and the costs for the sender, routers and other flows."""
    cases = by_variant(lambda v: setting.base(v))
    return Exhibit(
        key="advantages-costs",
        section=SECTION,
        cases=tuple(cases.values()),
        build=lambda runs: _costs_part({key: runs.of(case) for key, case in cases.items()}),
    )


def _payload(totals: Totals) -> float:
    """Payload bytes that were sent for the first time."""
    return totals.sent_bytes - totals.retransmitted_bytes


def _by_payload(one: RunSummary, above: Callable[[Totals], float], factor: float) -> float:
    totals = web_runs.short_flows(one)
    return factor * above(totals) / _payload(totals)


def _offered(of_run: RunSummary) -> float:
    """Packets per second that the bottleneck is offered."""
    row = next(row for row in of_run.links if row["link"] == paper.BOTTLENECK)
    return float(row["offered_packets"] / row["duration_s"])


def _copy_bytes(one: RunSummary) -> float:
    """Mean payload of a retransmitted segment."""
    totals = web_runs.short_flows(one)
    return totals.retransmitted_bytes / max(1, totals.retransmitted_segments)


def _handled(totals: Totals) -> float:
    """Segments that a sender transmits or receives.

    They are its data segments and one acknowledgment for each, because acknowledgments are not
    delayed.
    """
    return 2.0 * totals.segments


def _costs_part(runs: BySender) -> Part:
    regime = {variant.key: _regime_percent(variant) for variant in paper.VARIANTS}
    rows = tuple(
        _row(variant, runs[variant.key], regime[variant.key]) for variant in paper.VARIANTS
    )
    table = Table(
        key="advantages-costs",
        title="Dropped bytes and costs",
        source=f"{DRAFT}, sections 7 and 8; {JOURNAL}, sections VII and VIII",
        caption="The network of section IV-A at 80 % load, all short flows with the sender shown, the greedy ones "
        "Classic. The overhead in the small-window regime is without loss: header bytes of data by payload.",
        columns=(
            "sender of the short flows",
            "retransmitted payload",
            "mean retransmitted segment",
            "packets at the bottleneck",
            "segments that a sender handles",
            "overhead in the small-window regime",
            "greedy Classic flows",
        ),
        rows=rows,
        notes=(
            "A sender handles its data segments and an ACK for each, because ACKs are not delayed here.",
        ),
    )
    return Part(tables=(table,), findings=tuple(_cost_claims(runs, regime)))


def _row(variant: paper.Variant, runs: Sequence[RunSummary], regime_percent: float) -> Row:
    totals = web_runs.each(runs)
    retransmitted_percent = mean_of(totals, lambda t: t.retransmitted_bytes, _payload, 100.0)
    retransmitted_segment = mean_of(
        totals, lambda t: t.retransmitted_bytes, lambda t: t.retransmitted_segments
    )
    quantities = (
        (retransmitted_percent, None, "%"),
        (retransmitted_segment, None, "bytes"),
        (stats.mean([_offered(one) for one in runs]), None, "packets/s"),
        (mean_of(totals, _handled, _payload, 1e3), None, "segments/kB"),
        (judge.exact(regime_percent), DRAFT_OVERHEAD[variant.key], "%"),
        (stats.mean(web_runs.greedy_mbps(runs)), None, "Mb/s"),
    )
    return Row(
        label=variant.label,
        cells=tuple(
            TableCell(ours=ours, published=published, unit=unit)
            for ours, published, unit in quantities
        ),
    )


def _cost_claims(runs: BySender, regime: Mapping[str, float]) -> Iterator[Finding]:
    for variant in FRAMED:
        yield from _framed_claims(variant, runs[variant.key], runs["classic"])
    for variant in paper.VARIANTS:
        published = DRAFT_OVERHEAD[variant.key]
        yield judge.finding(
            key=f"draft-overhead-{variant.key}",
            claim=f"{variant.label}: {published} % of overhead in the small-window regime",
            source="draft, section 8",
            published=f"{published} %",
            judged=judge.is_exactly(regime[variant.key], published, within=PRINTED, unit="%"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    """A claim of the draft on the difference between framed senders and Classic."""

    key: str
    claim: str
    section: int
    """Section of the draft."""
    higher: bool
    """Whether the claim is that framed senders have the higher value."""
    unit: str
    of: Callable[[RunSummary], float]


DIFFERENCES = (
    _Difference(
        key="drops-cost-less",
        claim="is more efficient in case of drops: less payload is retransmitted",
        section=7,
        higher=False,
        unit="percentage points",
        of=lambda one: _by_payload(one, lambda t: t.retransmitted_bytes, 100.0),
    ),
    _Difference(
        key="smaller-copies",
        claim="retransmits smaller segments (mean)",
        section=7,
        higher=False,
        unit="bytes",
        of=_copy_bytes,
    ),
    _Difference(
        key="more-packets",
        claim="gives routers more packets to handle",
        section=8,
        higher=True,
        unit="packets/s",
        of=_offered,
    ),
    _Difference(
        key="more-work",
        claim="increases the computation of the sender (segments handled per kilobyte of payload)",
        section=8,
        higher=True,
        unit="segments/kB",
        of=lambda one: _by_payload(one, _handled, 1e3),
    ),
)


def _framed_claims(
    variant: paper.Variant, ours: Sequence[RunSummary], classic: Sequence[RunSummary]
) -> Iterator[Finding]:
    for each in DIFFERENCES:
        found = web_runs.paired([each.of(one) for one in ours], [each.of(one) for one in classic])
        yield judge.finding(
            key=f"{each.key}-{variant.key}",
            claim=f"{variant.label} {each.claim} (difference to Classic)",
            source=f"draft, section {each.section}",
            published="above 0" if each.higher else "below 0",
            judged=(judge.is_above if each.higher else judge.is_below)(found, 0.0, each.unit),
        )
    yield judge.finding(
        key=f"steals-little-{variant.key}",
        claim=f"{variant.label} steals little or no bandwidth from Classic flows: the greedy ones lose less than "
        f"{LITTLE_PERCENT:g} % of their rate",
        source="section VIII",
        published="little or none",
        judged=judge.is_below(
            web_runs.paired(web_runs.greedy_mbps(ours), web_runs.greedy_mbps(classic), stats.gain),
            LITTLE_PERCENT,
            "%",
        ),
    )


def _regime_percent(variant: paper.Variant) -> float:
    sizes = small_window_payloads(variant)
    return 100.0 * settings.HEADER_BYTES * len(sizes) / sum(sizes)
