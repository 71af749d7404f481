"""Section 7: effects outside the models.

They are slow links, senders other than Reno, and correlated losses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import OWN, Axis, Figure, Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part, series
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Runs
from tcpsf.papers import short_flows as paper
from tcpsf.papers.short_flows_simulated import SMALL, Assumptions, TransferPoint
from tcpsf.report.sheet import line
from tcpsf.reproduce.short_flows.events import APART, timeout_share, variation
from tcpsf.reproduce.short_flows.sweeps import fit
from tcpsf.reproduce.short_flows.trials import PointTrials, Setting, of_medians

MODEM, MODEM_TRIP_S = "28.8kb/s", 0.7
"""Rate and round-trip time of the modem of section 3.3.1."""
PIPE = 7500
"""Largest size in bytes at which the model should fit the modem (section 3.3.1)."""
MODEM_SIZES = (500, 1000, 2000, 4000, 6000, 8000, 16_000, 24_000, 32_000)
UNDISTURBED = 2
"""Number of transfers in a deterministic run."""
DRAIN = 50, 1500, 155e6
"""The text's example of a negligible queue.

The values are its packets, the bytes of a packet, and the link rate in bits per second.
"""
DRAIN_MS = 4.0

SENDERS: Mapping[str, str] = {
    "tahoe": "Tahoe",
    "reno": "Reno",
    "reno+newreno": "NewReno",
    "reno+sack": "SACK",
    "reno+fack": "FACK",
    "vegas": "Vegas",
}
"""Senders of the section."""
SIZES = (4000, 8000, 16_000, 32_000, 64_000, 128_000)
RUNS = (1.0, 1.5, 2.0, 4.0)
"""Mean numbers of consecutive packets lost.

With 1, a loss ends with its packet, so losses are nearly independent.
"""
LONG = TransferPoint(size=128_000)


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return the exhibits of section 7: a modem, other senders and losses in runs."""
    quiet, modem = replace(setting, trials=UNDISTURBED), replace(setting.assumed, line=MODEM)
    slow = tuple(TransferPoint(size=size, loss=0.0, rtt=MODEM_TRIP_S) for size in MODEM_SIZES)
    return (
        Exhibit(
            key="modem",
            section="limits",
            cases=tuple(quiet.case(point, modem) for point in slow),
            build=lambda runs: _modem([quiet.seen(point, runs, modem) for point in slow]),
        ),
        Exhibit(
            key="other-senders",
            section="limits",
            cases=tuple(
                setting.case(TransferPoint(size=size), _sending(setting, name))
                for name in SENDERS
                for size in SIZES
            ),
            build=lambda runs: _others(setting, runs),
        ),
        Exhibit(
            key="correlated",
            section="limits",
            cases=tuple(
                setting.case(point, _bursts(setting, run))
                for run in (None, *RUNS)
                for point in (*(TransferPoint(size=size) for size in SMALL), LONG)
            ),
            build=lambda runs: _correlated(setting, runs),
        ),
    )


def _claim(
    key: str, claim: str, published: str, judged: judge.Judged, *, source: str = "section 7"
) -> Finding:
    place = source if source == OWN else f"{paper.SHORT}, {source}"
    return judge.finding(key=key, claim=claim, source=place, published=published, judged=judged)


# A slow link


def _modem(seen: Sequence[PointTrials]) -> Part:
    figure = Figure(
        key="modem",
        title="A modem: 28.8 kb/s, 700 ms, no loss",
        source=f"{paper.SHORT}, sections 3.3.1 and 7",
        caption="According to the text, the line is full after 7.5 kB. Nothing is random.",
        x=Axis(label="size", unit="bytes", scale="log"),
        y=Axis(label="time", unit="s", scale="linear", low=0.0),
        series=(
            series(
                "minimum", "simulated", list(MODEM_SIZES), [each.trials.minimum() for each in seen]
            ),
            line("model-1", "(1), no loss", MODEM_SIZES, [each.model(1) for each in seen]),
        ),
    )
    off = {f"{each.point.size} bytes": _off_least(each) for each in seen}
    small = {
        name: off[name] for name, each in zip(off, seen, strict=True) if each.point.size <= PIPE
    }
    large = {
        name: off[name] for name, each in zip(off, seen, strict=True) if each.point.size >= 2 * PIPE
    }
    packets, size, rate = DRAIN
    return Part(
        figures=(figure,),
        findings=(
            _claim(
                "modem-small",
                f"(1) fits a modem up to 7.5 kB (|ln(model/simulated)| up to {paper.FAIR})",
                "up to approximately 7.5 kB",
                judge.all_below(small, paper.FAIR, ""),
                source="section 3.3.1",
            ),
            _claim(
                "modem-large",
                f"It does not fit longer transfers (above {paper.FAIR} from 16 kB on)",
                "will not fit",
                judge.all_above(large, paper.FAIR, ""),
                source="section 3.3.1",
            ),
            _claim(
                "queue-drained",
                "A queue of 50 packets of 1500 bytes is drained in 4 ms at 155 Mb/s (to half a millisecond)",
                "4 ms",
                judge.is_exactly(
                    1000.0 * packets * size * 8 / rate, DRAIN_MS, within=0.5, unit="ms"
                ),
            ),
        ),
    )


def _off_least(seen: PointTrials) -> stats.Estimate:
    return judge.exact(abs(math.log(seen.model(1) / seen.trials.minimum().value)))


# Other senders


def _sending(setting: Setting, name: str) -> Assumptions:
    return replace(setting.assumed, sender=f"{name} / full / iw=1")


def _others(setting: Setting, runs: Runs) -> Part:
    found = {
        name: [
            setting.seen(TransferPoint(size=size), runs, _sending(setting, name)) for size in SIZES
        ]
        for name in SENDERS
    }
    figure = Figure(
        key="other-senders",
        title="Senders other than Reno: median time with 5 % loss",
        source=f"{paper.SHORT}, section 7",
        caption="The models describe only Reno.",
        x=Axis(label="size", unit="bytes", scale="log"),
        y=Axis(label="time", unit="s", scale="log"),
        series=(
            *(
                series(name, SENDERS[name], list(SIZES), [each.trials.median() for each in seen])
                for name, seen in found.items()
            ),
            line(
                "model-14", "(14), short flows", SIZES, [each.model(14) for each in found["reno"]]
            ),
        ),
    )
    table = Table(
        key="other-senders-fits",
        title="The models against senders other than Reno",
        source=f"{paper.SHORT}, section 7",
        caption="Fits over 4 to 128 kB at 5 % loss; the share of timeouts among reductions of the window, 128 kB.",
        columns=("sender", "(14)", "(4)", "median over Reno's, 128 kB", "timeouts, 128 kB"),
        rows=tuple(
            Row(
                label=SENDERS[name],
                cells=(
                    TableCell(ours=fit(seen, 14), published=None),
                    TableCell(ours=fit(seen, 4), published=None),
                    TableCell(ours=_over(seen[-1], found["reno"][-1]), published=None),
                    TableCell(ours=timeout_share(seen[-1].trials), published=None),
                ),
            )
            for name, seen in found.items()
        ),
    )
    alike = {
        SENDERS[name]: _apart(seen, found["reno"]) for name, seen in found.items() if name != "reno"
    }
    finding = _claim(
        "other-senders-slightly",
        f"Other senders perform slightly differently (mean |ln| of their medians over Reno's, 4 to 128 kB, up to "
        f"{paper.CLOSE})",
        "may have slightly different performance",
        judge.all_below(alike, paper.CLOSE, ""),
    )
    return Part(figures=(figure,), tables=(table,), findings=(finding,))


def _over(ours: PointTrials, theirs: PointTrials) -> stats.Estimate:
    if ours is theirs:
        return judge.exact(1.0)
    return of_medians([ours, theirs], lambda rows: np.asarray(rows[0] / rows[1]))


def _apart(ours: Sequence[PointTrials], theirs: Sequence[PointTrials]) -> stats.Estimate:
    half = len(ours)
    return of_medians(
        [*ours, *theirs],
        lambda rows: np.asarray(np.abs(np.log(rows[:half] / rows[half:])).mean(axis=0)),
    )


# Correlated losses


def _bursts(setting: Setting, run: float | None) -> Assumptions:
    return replace(setting.assumed, burst=run)


def _label(run: float | None) -> str:
    return "independent" if run is None else f"{run:g} in a row"


def _correlated(setting: Setting, runs: Runs) -> Part:
    every = (None, *RUNS)
    small = {
        run: [setting.seen(TransferPoint(size=size), runs, _bursts(setting, run)) for size in SMALL]
        for run in every
    }
    long = {run: setting.seen(LONG, runs, _bursts(setting, run)) for run in every}
    figure = Figure(
        key="correlated",
        title="Burst losses: median time, 5 % of all packets lost",
        source=f"{paper.SHORT}, section 7",
        caption="A Markov chain of two states decides on each packet, whichever transfer it belongs to. The "
        "curves are the mean number of packets in a burst.",
        x=Axis(label="size", unit="bytes", scale="log"),
        y=Axis(label="time", unit="s", scale="log"),
        series=(
            *(
                series(
                    f"run-{run or 0:g}",
                    _label(run),
                    list(SMALL),
                    [each.trials.median() for each in seen],
                )
                for run, seen in small.items()
            ),
            line("model-14", "(14), short flows", SMALL, [each.model(14) for each in small[None]]),
        ),
    )
    table = Table(
        key="correlated-fits",
        title="Burst losses",
        source=f"{paper.SHORT}, section 7",
        caption="Fit of (14) in Fig. 7; reductions of the window of 128 kB, and their total variation from "
        "the binomial distribution of Fig. 15.",
        columns=(
            "losses",
            "(14), Fig. 7",
            "reductions, 128 kB",
            "from the binomial distribution",
            "mean, 8 kB",
        ),
        rows=tuple(
            Row(
                label=_label(run),
                cells=(
                    TableCell(ours=fit(small[run], 14), published=None),
                    TableCell(ours=stats.mean(long[run].trials.events.tolist()), published=None),
                    TableCell(ours=variation(long[run]), published=None),
                    TableCell(
                        ours=small[run][SMALL.index(8000)].trials.mean(), published=None, unit="s"
                    ),
                ),
            )
            for run in every
        ),
    )
    return Part(
        figures=(figure,), tables=(table,), findings=tuple(_correlated_findings(small, long))
    )


def _correlated_findings(
    small: Mapping[float | None, Sequence[PointTrials]], long: Mapping[float | None, PointTrials]
) -> Iterator[Finding]:
    bursty = {_label(run): variation(long[run]) for run in RUNS if run >= 2.0}
    yield _claim(
        "correlated-binomial",
        "With burst losses, reductions do not follow the binomial distribution (128 kB, total variation "
        f"above {APART})",
        "likely not true",
        judge.all_above(bursty, APART, ""),
        source="section 5.3.1",
    )
    worse = {
        _label(run): stats.apart(fit(small[run], 14), fit(small[None], 14))
        for run in RUNS
        if run >= 2.0
    }
    yield _claim(
        "correlated-fit",
        "(14) needs independent losses (its fit in Fig. 7 with burst losses, minus that with independent losses)",
        "assumes",
        judge.all_above(worse, 0.0, ""),
    )
