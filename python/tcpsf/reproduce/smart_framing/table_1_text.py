"""Table I as text."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable

from tcpsf import stats, text
from tcpsf.papers import smart_framing as paper
from tcpsf.report import evaluation_text
from tcpsf.reproduce.smart_framing.table_1 import ClassResult, Table1


def as_text(result: Table1) -> str:
    """Lay out the whole table: completion times, fast retransmits, bottleneck, claims."""
    return "\n\n".join(
        (
            heading(result),
            *(
                textwrap.fill(sentence.replace("`", ""), width=80, break_on_hyphens=False)
                for sentence in result.conclusion.sentences
            ),
            "Completion time, seconds (mean ± 95 % interval; `paper` as published)\n\n"
            + _times(result),
            "%FR: losses detected by fast retransmit, as a percentage of all (–: none)\n\n"
            + _shares(result),
            "The bottleneck\n\n" + _bottleneck(result),
            "Claims of the paper\n\n" + _claims(result),
            "Causes of the differences\n\n" + _differences(),
        )
    )


def _differences() -> str:
    lines = [
        textwrap.fill(difference, width=78, initial_indent="- ", subsequent_indent="  ")
        for difference in paper.DIFFERENCES
    ]
    return "\n".join(
        [*lines, "- `--readings closest` sets the first two; `--set` changes any other."]
    )


def heading(result: Table1) -> str:
    """Describe the simulation: a title, then sentences."""
    scale = result.scale
    size = (
        "the paper's own scale"
        if scale.name == "full"
        else "less than the paper's scale, which is 8 runs of 4000s"
    )
    seeds = f"{result.seeds[0]} to {result.seeds[-1]}"
    lines = [
        "TCP Smart Framing, Table I",
        f"{text.count(scale.runs, 'run')} of {scale.duration} for each sender, on the same seeds, {seeds};",
        f"{size}.",
    ]
    lines += [f"Changed: {path} = {_shown(value)}." for path, value in result.changes.items()]
    return "\n".join(lines)


def _shown(value: object) -> str:
    return "removed" if value is None else json.dumps(value)


def seen(cell: ClassResult) -> stats.Estimate | None:
    """Share of fast retransmits; ``None`` if there was none.

    The paper has a dash in this case, not zero ± zero.
    """
    return cell.fast_percent if cell.fast_retransmits else None


def _times(result: Table1) -> str:
    def cells(cell: ClassResult) -> list[str]:
        published = None if cell.published is None else cell.published.completion_s
        found = cell.completion_s
        return [
            text.compact(found, 2 if found is None or found.value < 10 else 1),
            text.number(published),
        ]

    return _by_class(result, cells)


def _shares(result: Table1) -> str:
    def cells(cell: ClassResult) -> list[str]:
        published = None if cell.published is None else cell.published.fast_percent
        return [text.compact(seen(cell), 1), text.number(published, 1)]

    return _by_class(result, cells)


def _by_class(result: Table1, cells: Callable[[ClassResult], list[str]]) -> str:
    heads = ["class", "bytes"]
    for variant in paper.VARIANTS:
        heads += [variant.label, "paper"]
    rows = [heads]
    for number, (size, row) in enumerate(
        zip(paper.CLASS_BYTES, result.classes, strict=True), start=1
    ):
        rows.append(
            [
                str(number),
                text.plain(size, 0),
                *(part for v in paper.VARIANTS for part in cells(row[v.key])),
            ]
        )
    rows.append(
        ["all", "", *(part for v in paper.VARIANTS for part in cells(result.overall[v.key]))]
    )
    return text.table(rows)


def _bottleneck(result: Table1) -> str:
    rows = [["sender", "utilisation, %", "packets lost, %", "mean queue, kB"]]
    for variant in paper.VARIANTS:
        link = result.bottleneck[variant.key]
        rows.append(
            [
                variant.label,
                text.estimate(link.utilisation_percent),
                text.estimate(link.loss_percent),
                text.estimate(link.queue_bytes.scaled(1e-3), 1),
            ]
        )
    return text.table(rows, left=[0])


def _claims(result: Table1) -> str:
    return "\n".join(map(evaluation_text.claim, result.findings))
