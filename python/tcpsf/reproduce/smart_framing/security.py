"""Draft, section 10: security of framing, by the number of packets that a request causes.

The transcripts ``scripts/hostile/ack-splitting-*.script`` test the splitting of acknowledgments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tcpsf import text
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Runs
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_advantages as settings
from tcpsf.reproduce.smart_framing.exhibit_parts import DRAFT, FRAMED, Setting
from tcpsf.reproduce.smart_framing.single_run import exact_rows, once

QUARTERS = 4
"""Largest number of segments into which framing divides a full-sized one."""

SPLIT_ACKS = (
    "Split ACKs are not in the table. The transcripts `scripts/hostile/ack-splitting-*.script` show their "
    "effect on the window, by `growth` and framing."
)

Counts = Mapping[str, Mapping[int, list[float]]]
"""Packets by sender's key and by the MSS that the requester announces.

Each list holds one number per request.
"""


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return the exhibit of the packets that a request causes, by the announced MSS."""
    cases = {
        variant.key: {
            mss: once(setting, settings.request_scenario(sender=variant.sender, mss=mss))
            for mss in (
                *settings.PEER_MSS,
                *(mss // QUARTERS for mss in settings.PEER_MSS if variant is paper.CLASSIC),
            )
        }
        for variant in paper.VARIANTS
    }

    def build(runs: Runs) -> Part:
        return _part(
            {
                key: {mss: exact_rows(runs.of(case), "segments") for mss, case in each.items()}
                for key, each in cases.items()
            }
        )

    return (
        Exhibit(
            key="security",
            section="security",
            cases=tuple(case for each in cases.values() for case in each.values()),
            build=build,
            shown={"requests": cases["fs"][1460].scenario},
        ),
    )


def _part(counts: Counts) -> Part:
    rows = tuple(
        Row(
            label=f"MSS {mss}, {text.count(size, 'byte')}",
            cells=tuple(
                TableCell(ours=judge.exact(value), published=None, unit="packets")
                for value in (
                    *(counts[variant.key][mss][place] for variant in paper.VARIANTS),
                    counts["classic"][mss // QUARTERS][place],
                )
            ),
        )
        for mss in settings.PEER_MSS
        for place, size in enumerate(settings.REQUESTED_BYTES)
    )
    table = Table(
        key="security",
        title="Packets per request",
        source=f"{DRAFT}, section 10",
        caption="Data packets of one response, by the announced MSS and the requested size. "
        "Nothing is lost and nothing is random.",
        columns=(
            "request",
            *(variant.label for variant in paper.VARIANTS),
            "Classic, a quarter of the MSS announced",
        ),
        rows=rows,
        notes=(SPLIT_ACKS,),
    )
    return Part(tables=(table,), findings=tuple(_claims(counts)))


def _claims(counts: Counts) -> Iterator[Finding]:
    for variant in FRAMED:
        beyond = {
            f"MSS {mss}, {text.count(size, 'byte')}": judge.exact(
                counts[variant.key][mss][place] / counts["classic"][mss][place]
            )
            for mss in settings.PEER_MSS
            for place, size in enumerate(settings.REQUESTED_BYTES)
        }
        yield judge.finding(
            key=f"security-packets-{variant.key}",
            claim=f"{variant.label}: a request causes at most four times the packets that it causes with Classic",
            source="draft, section 10",
            published="no new issue",
            judged=judge.all_below(beyond, QUARTERS + 1e-9, "times"),
        )
        more = {
            f"MSS {mss}, {text.count(size, 'byte')}": judge.exact(
                counts[variant.key][mss][place] - counts["classic"][mss // QUARTERS][place]
            )
            for mss in settings.PEER_MSS
            for place, size in enumerate(settings.REQUESTED_BYTES)
        }
        yield judge.finding(
            key=f"security-nothing-new-{variant.key}",
            claim=f"{variant.label} sends no more packets than Classic for a requester that announces a "
            "quarter of the MSS, which is possible without framing",
            source="draft, section 10",
            published="no new issue",
            judged=judge.all_below(more, 0.5, "packets"),
        )
