"""Figs. 5 and 6: the distribution of the times of equal transfers.

The figures also show the difference between transfers before and after six seconds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Axis, Figure, Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part, series
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Runs
from tcpsf.papers import short_flows as paper
from tcpsf.papers.short_flows_simulated import TransferPoint
from tcpsf.reproduce.short_flows.trials import Array, PointTrials, Setting, Trials

MODERATE = TransferPoint()
SEVERE = TransferPoint(mss=536, loss=0.1)
WIDTH_S = 0.5
"""Width of a bar in seconds."""
LAST_S = 30.0
"""Upper end of the histograms in seconds."""
SHOWN = {5: ("MSS 1460, loss 5 %", MODERATE), 6: ("MSS 536, loss 10 %", SEVERE)}


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return Figs. 5 and 6, for trials of ``setting``."""
    both = tuple(setting.case(point) for _, point in SHOWN.values())
    return (
        Exhibit(
            key="fig-5",
            section="spread",
            cases=both[:1],
            build=lambda runs: _figure_5(setting, runs),
            shown={"Fig. 5": both[0].scenario},
        ),
        Exhibit(
            key="fig-6",
            section="spread",
            cases=both,
            build=lambda runs: _figure_6(setting, runs),
            shown={"Fig. 6": both[1].scenario},
        ),
    )


def _figure_5(setting: Setting, runs: Runs) -> Part:
    seen = setting.seen(MODERATE, runs)
    return Part(figures=(_histogram(5, seen),), findings=tuple(_findings_5(seen.trials, setting)))


def _figure_6(setting: Setting, runs: Runs) -> Part:
    both = setting.seen(MODERATE, runs), setting.seen(SEVERE, runs)
    return Part(
        figures=(_histogram(6, both[1]),),
        tables=(_spread(both),),
        findings=tuple(_findings_6(both[0].trials, both[1].trials, setting)),
    )


def _histogram(number: int, seen: PointTrials) -> Figure:
    trials = seen.trials
    edges = np.arange(0.0, LAST_S + WIDTH_S, WIDTH_S)
    counts, _ = np.histogram(trials.seconds, bins=edges)
    beyond = int((trials.seconds >= edges[-1]).sum())
    shares = [_percent(int(count), len(trials)) for count in counts]
    return Figure(
        key=f"fig-{number}",
        title=f"Fig. {number}: times of 10 kB, {SHOWN[number][0]}",
        source=f"{paper.SHORT}, Fig. {number}",
        caption=f"{len(trials)} transfers in bars of {WIDTH_S} s, each at its middle; {beyond} took longer.",
        x=Axis(label="time", unit="s", scale="linear", low=0.0),
        y=Axis(label="transfers", unit="%", scale="linear"),
        series=(
            series("trials", "transfers", (edges[:-1] + WIDTH_S / 2).tolist(), shares, style="bar"),
        ),
    )


def _percent(hits: int, of: int) -> stats.Estimate | None:
    found = stats.proportion(hits, of)
    return None if found is None else found.scaled(100.0)


def _summary(seconds: Array) -> tuple[float, float, float]:
    return float(np.median(seconds)), float(seconds.mean()), float(seconds.std())


def _estimates(trials: Trials) -> tuple[stats.Estimate, Array]:
    """Return the standard deviation of the times, and statistics of resampled trials.

    Each row holds the median, the mean and the standard deviation of one resampled set.
    """
    rows = trials.bootstrap(_summary)
    return stats.resampled(trials.deviation(), rows[:, 2].tolist(), len(trials)), rows


def _spread(both: tuple[PointTrials, PointTrials]) -> Table:
    rows = []
    for (label, _), seen in zip(SHOWN.values(), both, strict=True):
        trials = seen.trials
        lost = trials.share(trials.syn_timeouts > 0)
        cells = (
            TableCell(ours=trials.median(), published=None, unit="s"),
            TableCell(ours=trials.mean(), published=None, unit="s"),
            TableCell(ours=_estimates(trials)[0], published=None, unit="s"),
            TableCell(ours=None if lost is None else lost.scaled(100.0), published=None, unit="%"),
        )
        rows.append(Row(label=label, cells=cells))
    return Table(
        key="spread",
        title="Spread of Figs. 5 and 6",
        source=f"{paper.SHORT}, section 5.2",
        caption="The text gives only ratios.",
        columns=("transfers of 10 kB", "median", "mean", "standard deviation", "lost a SYN"),
        rows=tuple(rows),
    )


def _claim(number: int, key: str, claim: str, published: str, judged: judge.Judged) -> Finding:
    return judge.finding(
        key=f"fig-{number}-{key}",
        claim=f"Fig. {number}: {claim}",
        source=f"{paper.SHORT}, Fig. {number}, section 5.2",
        published=published,
        judged=judged,
    )


def _findings_5(trials: Trials, setting: Setting) -> Iterator[Finding]:
    _, rows = _estimates(trials)
    median, mean, deviation = _summary(trials.seconds)
    for key, value, each in (("mean", mean, rows[:, 1]), ("deviation", deviation, rows[:, 2])):
        ratio = stats.resampled(value / median, (each / rows[:, 0]).tolist(), len(trials))
        if key == "mean":
            yield _claim(
                5,
                key,
                "the mean is three times the median (2.5 to 3.5 times)",
                "three times",
                judge.is_within(ratio, 2.5, 3.5, ""),
            )
        else:
            yield _claim(
                5,
                key,
                "the standard deviation is more than ten times the median",
                "more than ten times",
                judge.is_above(ratio, 10.0, ""),
            )
    syn = setting.assumed.syn_timeout_s
    chosen = (trials.seconds > syn) & (trials.seconds < syn + 1.0)
    yield _claim(
        5,
        "cluster",
        "nearly all transfers just after 6 s lost a SYN (above 90 %, to 7 s)",
        "nearly all",
        judge.is_above(
            stats.proportion(int((trials.syn_timeouts[chosen] > 0).sum()), int(chosen.sum())),
            0.9,
            "",
        ),
    )


def _findings_6(five: Trials, six: Trials, setting: Setting) -> Iterator[Finding]:
    (_, before), (_, after) = _estimates(five), _estimates(six)
    ratios = {
        name: stats.resampled(ours / theirs, (after[:, at] / before[:, at]).tolist(), len(six))
        for at, (name, ours, theirs) in enumerate(
            zip(
                ("median", "mean", "deviation"),
                _summary(six.seconds),
                _summary(five.seconds),
                strict=True,
            )
        )
    }
    yield _claim(
        6,
        "four-times",
        "median, mean and deviation are about four times those of Fig. 5 (two to eight times)",
        "approximately a factor of four",
        judge.all_within(ratios, 2.0, 8.0, ""),
    )
    syn = setting.assumed.syn_timeout_s
    chosen = (six.seconds > syn + 0.5) & (six.seconds < 3.0 * syn)
    yield _claim(
        6,
        "cluster",
        "most transfers from 6.5 to 18 s lost a SYN",
        "most",
        judge.is_above(
            stats.proportion(int((six.syn_timeouts[chosen] > 0).sum()), int(chosen.sum())), 0.5, ""
        ),
    )
