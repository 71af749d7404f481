"""Section 4.1: one flow over a bottleneck (Table 2, Figs. 8 and 9)."""

from __future__ import annotations

from collections.abc import Iterator

from tcpsf.evaluation import judge
from tcpsf.evaluation.data import OWN, Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.judge import Finding
from tcpsf.papers import santa_cruz as paper
from tcpsf.reproduce.santa_cruz.exhibit_parts import (
    BySender,
    case,
    columns,
    delay,
    exhibit,
    less_percent,
    mean,
    more_percent,
    over_time,
    senders_table,
    table_findings,
    throughput,
    times_less,
    variance,
)
from tcpsf.scenario import Scenario

WHERE = "section 4.1, Table 2"
SECTION = "basic"
STEADY_S = 5.0
"""Time in seconds from which a converging window has converged."""
WHY = (
    "the published delay variances of Santa Cruz are too small for a slow start or for a window that "
    "changes by one segment, and the unprinted δ does not explain them"
)
DELTAS = ("0.1", "0.25", "0.5", "0.75", "1")
"""Values of δ in packets.

The paper does not state the range around an operating point in which the window is unchanged.
"""


def exhibits() -> tuple[Exhibit, ...]:
    """Return the exhibits of the basic bottleneck: Table 2, Figs. 8 and 9, and Table 2 by δ."""
    # The runs are deterministic.
    cases = {each.key: case(paper.basic(sender=each.sender), once=True) for each in paper.SENDERS}
    parts = [("table-2", cases, _table_2), ("fig-8", cases, _figure_8), ("fig-9", cases, _figure_9)]
    deltas = {
        f"{each.key}, {delta}": case(_with(each, delta), once=True)
        for each in paper.SANTA_CRUZ
        for delta in DELTAS
    }
    return tuple(
        exhibit(key, SECTION, made, build, rate_bps=paper.BOTTLENECK_BPS, what="basic bottleneck")
        for key, made, build in (*parts, ("delta", deltas, _deltas))
    )


def _with(sender: paper.Sender, delta: str) -> Scenario:
    return paper.basic(sender=sender.sender.replace(")", f", delta={delta})"))


def _deltas(runs: BySender) -> Part:
    shown = [column for column in columns(micro=False) if column[0] != "utilisation"]
    rows = tuple(
        Row(
            label=f"{each.label}, δ = {delta}",
            cells=tuple(
                TableCell(ours=mean(runs[f"{each.key}, {delta}"], of), published=None, unit=unit)
                for _, unit, of, _ in shown
            ),
        )
        for each in paper.SANTA_CRUZ
        for delta in DELTAS
    )
    table = Table(
        key="delta",
        title="Santa Cruz over the basic bottleneck, by δ",
        source=OWN,
        caption="The paper does not print the tolerance δ between the queue and the operating point. Table "
        "2 here uses 0.25 packets.",
        columns=("protocol", *(name for name, *_ in shown)),
        rows=rows,
    )
    return Part(tables=(table,))


def _table_2(runs: BySender) -> Part:
    table = senders_table(
        key="table-2",
        title="Throughput and delay over the basic bottleneck",
        source=f"{paper.SHORT}, Table 2",
        caption="One flow for 10 s. Nothing is random, so each sender has one run.",
        runs=runs,
        published=lambda sender: sender.basic,
        ranges=False,
        notes=paper.DIFFERENCES,
    )
    rows = table_findings(
        key="table-2", source=WHERE, runs=runs, published=lambda sender: sender.basic
    )
    return Part(tables=(table,), findings=(*rows, *_claims(runs)))


def _claims(runs: BySender) -> Iterator[Finding]:
    most = max(throughput(run) for each in runs.values() for run in each)
    lowest = {
        each.label: judge.exact(100.0 * throughput(runs[each.key][0]) / most)
        for each in paper.SENDERS
    }
    yield judge.finding(
        key="basic-similar-throughput",
        claim="All protocols achieve similar throughput (above 90 % of the best)",
        source=WHERE,
        published="1.40 to 1.47 Mb/s",
        judged=judge.all_above(lowest, 90.0, "% of the best"),
    )
    others = [each for each in paper.SENDERS if each is not paper.RENO]
    for what, quantity in (("average delay", delay), ("delay variation", variance)):
        yield judge.finding(
            key=f"basic-reno-highest-{what.replace(' ', '-')}",
            claim=f"Reno has the highest {what}",
            source=WHERE,
            published="99.4 ms" if quantity is delay else "2.06·10⁻³ s²",
            judged=judge.all_above(
                {
                    each.label: less_percent(runs[each.key], runs["reno"], quantity)
                    for each in others
                },
                0.0,
                "% less",
            ),
        )
    for each in paper.SANTA_CRUZ:
        yield from _claims_of(each, runs)


def _claims_of(sender: paper.Sender, runs: BySender) -> Iterator[Finding]:
    ours = runs[sender.key]
    published = 100.0 * (1.0 - sender.basic.delay_ms / paper.RENO.basic.delay_ms)
    yield judge.finding(
        key=f"basic-{sender.key}-delay-gain",
        claim=f"{sender.label}: 20 to 45 % less delay than Reno",
        source="section 5",
        published=f"{published:.0f} %",
        judged=judge.is_within(less_percent(ours, runs["reno"], delay), 20.0, 45.0, "%"),
    )
    yield judge.finding(
        key=f"basic-{sender.key}-variance-gain",
        claim=f"{sender.label}: a delay variance two and a half orders of magnitude below Reno's, or more",
        source='section 5, "three orders of magnitude"; Table 2 gives 280 to 500 times',
        published=f"{paper.RENO.basic.variance_s2 / sender.basic.variance_s2:.0f} times",
        judged=judge.is_above(times_less(ours, runs["reno"], variance), 280.0, "times"),
    )
    if sender.key == "sc-1.5":
        yield judge.finding(
            key="basic-sc-1.5-as-vegas",
            claim="SC n=1.5: the same average delay as Vegas (within 2 %)",
            source=WHERE,
            published="55.1 and 55.2 ms",
            judged=judge.is_within(less_percent(ours, runs["vegas"], delay), -2.0, 2.0, "%"),
        )
        yield judge.finding(
            key="basic-sc-1.5-below-vegas",
            claim="SC n=1.5: a lower delay deviation than Vegas",
            source=WHERE,
            published="0.0041 and 0.0077·10⁻³ s²",
            judged=judge.is_below(times_less(runs["vegas"], ours, variance), 1.0, "times Vegas's"),
        )
    if sender.key == "sc-5":
        yield judge.finding(
            key="basic-sc-5-above-reno",
            claim="SC n=5: slightly more throughput than Reno",
            source=WHERE,
            published="1.47 and 1.45 Mb/s",
            judged=judge.is_above(more_percent(ours, runs["reno"], throughput), 0.0, "% more"),
        )
        least, most = runs["sc-1.5"], ours
        for what, quantity in (("delay", delay), ("throughput", throughput)):
            steps = {
                "n=3": more_percent(runs["sc-3"], least, quantity),
                "n=5": more_percent(most, runs["sc-3"], quantity),
            }
            yield judge.finding(
                key=f"basic-sc-{what}-grows",
                claim=f"Santa Cruz: the {what} grows with the operating point",
                source=WHERE,
                published="55.1, 60.6, 79.2 ms" if quantity is delay else "1.42, 1.45, 1.47 Mb/s",
                judged=judge.all_above(steps, 0.0, "% more"),
            )


def _figure_8(runs: BySender) -> Part:
    figures = over_time(
        key="fig-8",
        title="Reno and Vegas",
        source=f"{paper.SHORT}, Fig. 8; Vegas is not in the paper's figure",
        caption="Sampled every 50 ms.",
        runs=runs,
        senders=(paper.RENO, paper.VEGAS),
    )
    reno = runs["reno"][0]
    after = [queue for at, queue in zip(reno.times_s, reno.queue, strict=True) if at > STEADY_S]
    swing = max(after) - min(after)
    finding = judge.finding(
        key="fig-8-oscillates",
        claim="Reno: after the start the queue varies between full and at most half full",
        source="section 4.1, Fig. 8",
        published="0 to 17 packets",
        judged=judge.is_above(judge.exact(swing), paper.BUFFER / 2, "packets"),
    )
    return Part(figures=figures, findings=(finding,))


def _figure_9(runs: BySender) -> Part:
    figures = over_time(
        key="fig-9",
        title="Santa Cruz",
        source=f"{paper.SHORT}, Fig. 9 (n=1.5); the others are not in the paper",
        caption="Sampled every 50 ms.",
        runs=runs,
        senders=paper.SANTA_CRUZ,
    )
    run = runs["sc-1.5"][0]
    steady = [index for index, at in enumerate(run.times_s) if at > STEADY_S]
    waiting = sum(run.queue[index] for index in steady) / len(steady)
    findings = (
        judge.finding(
            key="fig-9-queue",
            claim="SC n=1.5: the queue becomes stable between one and two packets (its mean after 5 s)",
            source="section 4.1, Fig. 9",
            published="1 to 2 packets",
            judged=judge.is_within(judge.exact(waiting), 1.0, 2.0, "packets"),
        ),
        judge.finding(
            key="fig-9-window",
            claim="SC n=1.5: the window reaches 18 packets and stays there (its maximum after 5 s, to the packet)",
            source="section 4.1, Fig. 9",
            published="18 packets",
            judged=judge.is_within(
                judge.exact(max(run.cwnd[index] for index in steady)), 17.5, 18.5, "packets"
            ),
        ),
    )
    return Part(figures=figures, findings=findings)
