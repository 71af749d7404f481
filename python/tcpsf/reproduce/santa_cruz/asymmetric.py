"""Section 4.3: a slow return path (Table 4, Fig. 13)."""

from __future__ import annotations

from collections.abc import Iterator

from tcpsf import stats
from tcpsf.chart import axes
from tcpsf.evaluation import judge
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.judge import Finding
from tcpsf.papers import santa_cruz as paper
from tcpsf.reproduce.santa_cruz.exhibit_parts import (
    BySender,
    case,
    delay,
    exhibit,
    less_percent,
    mean,
    over_time,
    senders_table,
    settled_window,
    table_findings,
    times_less,
    utilisation_percent,
    variance,
)

WHERE = "section 4.3, Table 4"
SECTION = "asymmetric"
WHY = (
    "the numbers of Fig. 12 are missing, the Reno of ns-2.35 gives the results of tcpsf on the links as "
    "assumed here, and no return buffer from 4 to 50 acknowledgments gives both the published rate and the "
    "published delay"
)
BWDP = 31
"""Section 4.3: the window that fills the path, in packets."""


def exhibits() -> tuple[Exhibit, ...]:
    """Return Table 4 and Fig. 13, over asymmetric links.

    They are ensembles over small delays before packets are sent, with each reverse buffer.
    """
    least, most = paper.REVERSE_BUFFERS
    cases = {
        each.key: case(paper.asymmetric(sender=each.sender, reverse_buffer=most))
        for each in paper.SENDERS
    }
    others = {
        each.key: case(paper.asymmetric(sender=each.sender, reverse_buffer=least))
        for each in paper.SENDERS
    }
    what = "slow return line, {} acknowledgments of buffer"
    return (
        exhibit(
            "table-4",
            SECTION,
            cases,
            _table_4,
            rate_bps=paper.ASYMMETRIC_BPS,
            what=what.format(most),
        ),
        exhibit(
            "table-4-9",
            SECTION,
            others,
            _other_buffer,
            rate_bps=paper.ASYMMETRIC_BPS,
            what=what.format(least),
        ),
        exhibit(
            "fig-13",
            SECTION,
            cases,
            _figure_13,
            rate_bps=paper.ASYMMETRIC_BPS,
            what=what.format(most),
        ),
    )


def _table_4(runs: BySender) -> Part:
    table = senders_table(
        key="table-4",
        title="Throughput and delay over asymmetric links",
        source=f"{paper.SHORT}, Table 4",
        caption="Medians and ranges over small random delays of transmissions. The return buffer holds ten ACKs.",
        runs=runs,
        published=lambda sender: sender.asymmetric,
        micro=True,
        ranges=True,
        notes=("The two throughputs printed as 23.72 and 23.73 Mb/s are read as 2.372 and 2.373.",),
    )
    rows = table_findings(
        key="table-4", source=WHERE, runs=runs, published=lambda sender: sender.asymmetric
    )
    return Part(tables=(table,), findings=(*rows, *_claims(runs)))


def _other_buffer(runs: BySender) -> Part:
    table = senders_table(
        key="table-4-9",
        title="The same with nine acknowledgments of buffer on the return path",
        source=f"{paper.SHORT}, Table 4, the other reading",
        caption="Medians and ranges as above.",
        runs=runs,
        published=lambda sender: sender.asymmetric,
        micro=True,
        ranges=True,
    )
    return Part(tables=(table,))


def _claims(runs: BySender) -> Iterator[Finding]:
    for each, limit in ((paper.RENO, 52.0), (paper.VEGAS, 52.0)):
        yield judge.finding(
            key=f"asymmetric-{each.key}-utilisation",
            claim=f"{each.label}: a link utilisation of {limit:g} % at most (to the percent)",
            source=WHERE,
            published=f"{100.0 * each.asymmetric.utilisation:.0f} %",
            judged=judge.is_below(
                mean(runs[each.key], utilisation_percent, possible=stats.PERCENT), limit + 0.5, "%"
            ),
        )
    for each in paper.SANTA_CRUZ:
        published = 100.0 * each.asymmetric.utilisation
        reaches = each.key != "sc-1.5"
        found = mean(runs[each.key], utilisation_percent, possible=stats.PERCENT)
        yield judge.finding(
            key=f"asymmetric-{each.key}-utilisation",
            claim=f"{each.label}: {'99 % utilisation (to the percent)' if reaches else 'utilisation below 60 %'}",
            source=WHERE,
            published=f"{published:.0f} %",
            judged=judge.is_above(found, 98.5, "%")
            if reaches
            else judge.is_below(found, 60.0, "%"),
        )
        less_delay = 100.0 * (1.0 - each.asymmetric.delay_ms / paper.RENO.asymmetric.delay_ms)
        yield judge.finding(
            key=f"asymmetric-{each.key}-delay",
            claim=f"{each.label}: at least 42 % less delay than Reno",
            source="section 5",
            published=f"{less_delay:.0f} %",
            judged=judge.is_above(
                less_percent(runs[each.key], runs["reno"], delay), 42.0, "% less"
            ),
        )
        yield judge.finding(
            key=f"asymmetric-{each.key}-variance",
            claim=f"{each.label}: Reno's delay variance is seven orders of magnitude greater",
            source='section 4.3 ("seven"); Table 4 gives six and a half',
            published=f"{axes.label(round(paper.RENO.asymmetric.variance_s2 / each.asymmetric.variance_s2, -6))} times",
            judged=judge.is_above(times_less(runs[each.key], runs["reno"], variance), 1e6, "times"),
        )


def _figure_13(runs: BySender) -> Part:
    figures = over_time(
        key="fig-13",
        title="Slow return line",
        queue="forward queue",
        source=f"{paper.SHORT}, Fig. 13; Vegas is not in the paper's figure",
        caption="The first run. Sampled every 50 ms.",
        runs=runs,
        senders=(paper.RENO, *paper.SANTA_CRUZ[1:], paper.VEGAS),
    )
    # A cycle begins with a fast retransmit, or directly with a timeout.
    cycles = sum(max(run.fast_retransmits, run.timeouts) for run in runs["reno"])
    timeouts = sum(run.timeouts for run in runs["reno"])
    findings = (
        judge.finding(
            key="fig-13-reno-timeouts",
            claim="Reno suffers a timeout every cycle (in more than 90 % of them)",
            source="section 4.3, Fig. 13",
            published="every cycle",
            judged=judge.Judged(
                None,
                "holds" if timeouts > 0.9 * cycles else "does not hold",
                f"{timeouts} timeouts in {cycles} cycles",
                judge.Test(
                    kind="count", wording=f"There were {timeouts} timeouts in {cycles} cycles."
                ),
            ),
        ),
        judge.finding(
            key="fig-13-sc-window",
            claim="SC n=3: the window settles a few packets above 31 (mean of the later half, up to six above)",
            source="section 4.3, Fig. 13",
            published="a few above 31",
            judged=judge.is_within(mean(runs["sc-3"], settled_window), BWDP, BWDP + 6.0, "packets"),
        ),
    )
    return Part(figures=figures, findings=findings)
