"""Section 4.2: data traffic on the return path (Table 3, Fig. 11)."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

from tcpsf import stats, text
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.papers import santa_cruz as paper
from tcpsf.reproduce.santa_cruz.exhibit_parts import (
    BySender,
    RunQuantities,
    case,
    delay,
    less_percent,
    mean,
    measured,
    more_percent,
    over_time,
    senders_table,
    settled_window,
    table_findings,
    throughput,
    times_less,
    variance,
)

WHERE = "section 4.2, Table 3"
SECTION = "reverse"
WHY = (
    "the paper does not print the distribution of the 40 ms over the three lines or the start time of "
    "source B, and none of the tested values gives the published 0.82 Mb/s of Reno"
)
ALONE = "reno-alone"
"""Reno without traffic on the return path."""
SHOWN_MS = 10
"""Delay of the access links in the runs of Fig. 11, in milliseconds."""

BySplit = Mapping[tuple[str, int], Sequence[RunQuantities]]
"""Measurements by sender's key and delay of the access links."""


def exhibits() -> tuple[Exhibit, ...]:
    """Return Table 3 and Fig. 11, with traffic on the return path.

    They are ensembles over the split of the delay and the start time of B.
    """
    cases = {
        (each.key, split): case(paper.reverse(sender=each.sender, access_ms=split))
        for each in paper.SENDERS
        for split in paper.SPLITS_MS
    }
    alone = case(paper.basic(sender=paper.RENO.sender), once=True)

    def read(runs: Runs, wanted: Case) -> list[RunQuantities]:
        return [measured(run, rate_bps=paper.BOTTLENECK_BPS) for run in runs.of(wanted)]

    def split_runs(runs: Runs) -> BySplit:
        return {where: read(runs, wanted) for where, wanted in cases.items()}

    def together(runs: Runs) -> BySender:
        by_split = split_runs(runs)
        ensemble = {
            each.key: [run for split in paper.SPLITS_MS for run in by_split[each.key, split]]
            for each in paper.SENDERS
        }
        # The run without reverse traffic is deterministic, so every run of the ensemble uses it.
        return {**ensemble, ALONE: read(runs, alone) * len(ensemble["reno"])}

    def one(key: str, build: Callable[[Runs], Part]) -> Exhibit:
        return Exhibit(
            key=key,
            section=SECTION,
            cases=(*cases.values(), alone),
            build=build,
            shown={
                f"{each.label}, traffic on the return path": cases[each.key, SHOWN_MS].scenario
                for each in paper.SENDERS
            },
        )

    return (
        one("table-3", lambda runs: _table_3(together(runs))),
        one("table-3-split", lambda runs: _by_split(split_runs(runs))),
        one("fig-11", lambda runs: _figure_11(together(runs), split_runs(runs))),
    )


def _by_split(runs: BySplit) -> Part:
    rows = []
    for each in paper.SENDERS:
        cells = []
        for quantity, unit in ((throughput, "Mb/s"), (delay, "ms")):
            for split in paper.SPLITS_MS:
                middle = statistics.median(quantity(run) for run in runs[each.key, split])
                found = stats.Estimate(middle, None, len(runs[each.key, split]))
                cells.append(TableCell(ours=found, published=None, unit=unit))
        rows.append(Row(label=each.label, cells=tuple(cells)))
    heads = [f"{what}, {split} ms" for what in ("throughput", "delay") for split in paper.SPLITS_MS]
    table = Table(
        key="table-3-split",
        title="The same by the delay of the access lines",
        source="this project, beside Table 3",
        caption="Medians over the start time of B.",
        columns=("protocol", *heads),
        rows=tuple(rows),
    )
    return Part(tables=(table,))


def _table_3(runs: BySender) -> Part:
    table = senders_table(
        key="table-3",
        title="Throughput and delay with traffic on the reverse link",
        source=f"{paper.SHORT}, Table 3",
        caption="Medians and ranges over the delay of the access lines and the start time of source B.",
        runs=runs,
        published=lambda sender: sender.reverse,
        ranges=True,
    )
    rows = table_findings(
        key="table-3", source=WHERE, runs=runs, published=lambda sender: sender.reverse
    )
    return Part(tables=(table,), findings=(*rows, *_claims(runs)))


def _claims(runs: BySender) -> Iterator[Finding]:
    for each in paper.SANTA_CRUZ:
        ours = runs[each.key]
        for other in (paper.RENO, paper.VEGAS):
            published = 100.0 * (each.reverse.throughput_mbps / other.reverse.throughput_mbps - 1.0)
            yield judge.finding(
                key=f"reverse-{each.key}-above-{other.key}",
                claim=f"{each.label}: at least 47 % more throughput than {other.label}",
                source="section 5",
                published=f"{published:.0f} %",
                judged=judge.is_above(
                    more_percent(ours, runs[other.key], throughput), 47.0, "% more"
                ),
            )
        published = 100.0 * (1.0 - each.reverse.delay_ms / paper.RENO.reverse.delay_ms)
        yield judge.finding(
            key=f"reverse-{each.key}-delay",
            claim=f"{each.label}: at least 45 % less delay than Reno",
            source="section 5",
            published=f"{published:.0f} %",
            judged=judge.is_above(less_percent(ours, runs["reno"], delay), 45.0, "% less"),
        )
        yield judge.finding(
            key=f"reverse-{each.key}-variance",
            claim=f"{each.label}: a delay variance three orders of magnitude below Reno's",
            source="section 5",
            published=f"{text.plain(paper.RENO.reverse.variance_s2 / each.reverse.variance_s2, 0)} times",
            judged=judge.is_above(times_less(ours, runs["reno"], variance), 1000.0, "times"),
        )
    best = {
        each.label: less_percent(runs["vegas"], runs[each.key], delay)
        for each in paper.SENDERS
        if each is not paper.VEGAS
    }
    yield judge.finding(
        key="reverse-vegas-delay",
        claim="Vegas: the lowest delay, because it leaves the line idle",
        source=WHERE,
        published="49.5 ms at 52 %",
        judged=judge.all_above(best, 0.0, "% less"),
    )


def _figure_11(runs: BySender, by_split: BySplit) -> Part:
    shown = {each.key: by_split[each.key, SHOWN_MS] for each in paper.SENDERS}
    sc_5 = next(each for each in paper.SANTA_CRUZ if each.key == "sc-5")
    figures = over_time(
        key="fig-11",
        title="With traffic on the return path",
        queue="forward queue",
        source=f"{paper.SHORT}, Fig. 11; Vegas is not in the paper's figure",
        caption=f"The first run with access lines of {SHOWN_MS} ms. Sampled every 50 ms.",
        runs=shown,
        senders=(paper.RENO, sc_5, paper.VEGAS),
    )
    findings = (
        judge.finding(
            key="fig-11-reno-slower",
            claim="Reno: less throughput than without traffic on the return path",
            source="section 4.2, Fig. 11",
            published="0.823 of 1.45 Mb/s",
            judged=judge.is_above(
                less_percent(runs["reno"], runs[ALONE], throughput), 0.0, "% less"
            ),
        ),
        judge.finding(
            key="fig-11-sc-window",
            claim="SC n=5: the window comes to around 22 packets (mean of the later half, within two)",
            source="section 4.2, Fig. 11",
            published="22 packets",
            judged=judge.is_within(mean(runs["sc-5"], settled_window), 20.0, 24.0, "packets"),
        ),
    )
    return Part(figures=figures, findings=findings)
