"""`tcpsf demo`: one lost segment, and Table I with two sets of assumptions beside the paper's."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace

from tcpsf import text
from tcpsf.chart import time_sequence
from tcpsf.evaluation.data import (
    OWN,
    Conclusion,
    Drawing,
    Figure,
    Report,
    ReportProvenance,
    Row,
    Section,
    Table,
    TableCell,
)
from tcpsf.evaluation.judge import Finding
from tcpsf.papers import smart_framing as paper
from tcpsf.report import ladder
from tcpsf.reproduce.smart_framing import table_1_page
from tcpsf.reproduce.smart_framing.table_1 import Table1
from tcpsf.reproduce.smart_framing.table_1_page import ABOUT, SOURCE

WIDTH = 80
TITLE = "TCP Smart Framing: one loss, and Table I"
ASSUMED = {
    "text": "as the paper's text says (first timeout 3 s, load of payload)",
    "closest": "with a first timeout of 6 s and a load that counts headers",
}
"""Assumptions of the two simulated columns."""
FIRST_LOSS = (
    "A flow of 4380 bytes whose first segment is lost. With smaller segments, three more arrive after the "
    "lost one, and their ACKs trigger a fast retransmit. A sender with full-sized segments waits for its timer."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """Data of `tcpsf demo`: one lost segment, and Table I under two readings."""

    flows: tuple[time_sequence.Flow, ...]
    text: Table1
    closest: Table1


def conclude(demo: Demo) -> Conclusion:
    """Summarize in sentences how the two simulated tables compare with Table I."""
    gains = {name: _gains(made) for name, made in (("text", demo.text), ("closest", demo.closest))}
    published = " and ".join(
        f"{finding.published} with {_sender(finding)}" for finding in _middle(demo.text)
    )
    fails = [
        {finding.key for finding in made.findings if finding.verdict == "does not hold"}
        for made in (demo.text, demo.closest)
    ]
    total = text.count(len(demo.text.findings), "claim")
    return Conclusion(
        found=(
            f"Simulated {ASSUMED['closest']}, flows of 1650 to 8015 bytes complete sooner than with Classic by "
            f"{gains['closest']}; published: {published}."
        ),
        not_reproduced=(
            f"Simulated {ASSUMED['text']}, the gains are {gains['text']}; of {total} {len(fails[0])} fail there, and "
            f"{len(fails[0] & fails[1])} of these fail with both sets of assumptions."
        ),
        why=f"As far as is known, {paper.WHY.replace(' (`--readings closest`)', '')}.",
    )


def _middle(made: Table1) -> list[Finding]:
    return [
        finding for finding in made.findings if finding.key in ("middle-gain-fs", "middle-gain-vs")
    ]


def _sender(finding: Finding) -> str:
    return finding.claim.partition(":")[0]


def _gains(made: Table1) -> str:
    return " and ".join(f"{finding.ours} with {_sender(finding)}" for finding in _middle(made))


def as_text(demo: Demo) -> str:
    """Lay out the conclusion, the three flows, and the table with three columns per sender."""
    scale = demo.text.scale
    note = (
        f"text: simulated {ASSUMED['text']}. closest: simulated {ASSUMED['closest']}. paper: as published. "
        f"{text.count(scale.runs, 'run')} of {scale.duration} for each sender; the page has the intervals."
    )
    return "\n\n".join(
        (
            TITLE,
            *(_wrapped(sentence) for sentence in conclude(demo).sentences),
            "A flow of 4380 bytes whose first segment is lost\n\n" + _flows(demo),
            "Table I: mean completion time at 80 % load, seconds\n\n" + _times(demo),
            _wrapped(note),
        )
    )


def _wrapped(line: str) -> str:
    return textwrap.fill(line.replace("`", ""), width=WIDTH, break_on_hyphens=False)


def _flows(demo: Demo) -> str:
    heads = ["sender", "first segment, bytes", "repaired by", "complete after, s"]
    return text.table([heads, *([flow.name, *_outcome(flow)] for flow in demo.flows)], left=[0, 2])


def _outcome(flow: time_sequence.Flow) -> tuple[str, str, str]:
    first = next(packet.payload for packet in flow.packets if packet.payload)
    repairs = " and ".join(dict.fromkeys(cause.replace("-", " ") for _, cause in flow.repairs))
    return str(first), repairs or text.NOTHING, text.number(flow.complete_s)


def _times(demo: Demo) -> str:
    above, below = [""], ["bytes"]
    for variant in paper.VARIANTS:
        above += ["", variant.label, ""]
        below += ["text", "closest", "paper"]
    rows = [above, below]
    for size, plain, closest in zip(
        paper.CLASS_BYTES, demo.text.classes, demo.closest.classes, strict=True
    ):
        cells = [text.plain(size, 0)]
        for variant in paper.VARIANTS:
            for made in (plain, closest):
                found = made[variant.key].completion_s
                cells.append(text.number(None if found is None else found.value))
            cells.append(text.number(variant.published[paper.CLASS_BYTES.index(size)].completion_s))
        rows.append(cells)
    return text.table(rows, heads=2)


def as_report(demo: Demo, *, command: str) -> Report:
    """Return the data of `tcpsf demo` as a report."""
    return Report(
        title=TITLE,
        conclusion=conclude(demo),
        subtitle=f"{paper.CITATION}.",
        sections=(
            Section(
                key="first-loss",
                title="One lost segment",
                text=(FIRST_LOSS,),
                drawings=(_ladder(demo),),
                tables=(_flow_table(demo),),
            ),
            Section(
                key="table-1",
                title="Table I",
                text=(ABOUT,),
                figures=(_chart(demo),),
                tables=(_time_table(demo),),
            ),
            *(
                replace(
                    made.claims, key=f"claims-{name}", title=f"Claims, simulated {ASSUMED[name]}"
                )
                for name, made in (("text", demo.text), ("closest", demo.closest))
            ),
        ),
        provenance=_provenance(demo, command),
    )


def _ladder(demo: Demo) -> Drawing:
    return Drawing(
        key="first-loss",
        title="Time-sequence diagrams of the three flows",
        source=OWN,
        caption="Time runs downwards. The sender is on the left of each diagram.",
        svg=ladder.drawn(demo.flows),
    )


def _chart(demo: Demo) -> Figure:
    return replace(
        table_1_page.chart(demo.closest),
        title="Mean completion time by flow size, closest assumptions",
        caption=f"Simulated {ASSUMED['closest']}.",
    )


def _flow_table(demo: Demo) -> Table:
    return Table(
        key="first-loss",
        title="The three flows",
        source=OWN,
        caption="Nothing is random.",
        columns=("sender", "first segment, bytes", "repaired by", "complete after, s"),
        rows=tuple(Row(label=flow.name, cells=_outcome(flow)) for flow in demo.flows),
    )


def _time_table(demo: Demo) -> Table:
    columns = ["bytes"]
    for variant in paper.VARIANTS:
        columns += [f"{variant.label}, text", f"{variant.label}, closest"]
    rows = []
    for size, plain, closest in zip(
        paper.CLASS_BYTES, demo.text.classes, demo.closest.classes, strict=True
    ):
        cells = []
        for variant in paper.VARIANTS:
            published = variant.published[paper.CLASS_BYTES.index(size)].completion_s
            cells.append(TableCell(ours=plain[variant.key].completion_s, published=None, unit="s"))
            cells.append(
                TableCell(ours=closest[variant.key].completion_s, published=published, unit="s")
            )
        rows.append(Row(label=str(size), cells=tuple(cells)))
    return Table(
        key="table-1",
        title="Table I in three columns",
        source=SOURCE,
        caption=f"“text”: simulated {ASSUMED['text']}. “closest”: simulated {ASSUMED['closest']}. With 95 % "
        "intervals.",
        columns=tuple(columns),
        rows=tuple(rows),
    )


def _provenance(demo: Demo, command: str) -> ReportProvenance:
    source = demo.text
    return ReportProvenance(
        version=source.version,
        command=command,
        scale=source.scale.name,
        runs=source.scale.runs,
        duration=source.scale.duration,
        seeds=source.seeds,
        scenarios={
            f"{variant.label}, {name}": made.provenance[variant.key].scenario.to_dict()
            for name, made in (("text", demo.text), ("closest", demo.closest))
            for variant in paper.VARIANTS
        },
        jobs=2 * source.scale.runs * len(paper.VARIANTS),
    )
