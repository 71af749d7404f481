"""Section 5, Figs. 15 to 18, in topology B.

The figures show a connection's window and the switch's buffer against time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Axis, Figure, Series
from tcpsf.evaluation.exhibit import Exhibit, Part, series
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.evaluation.watch import Rows
from tcpsf.papers import packet_discard as paper
from tcpsf.papers import packet_discard_networks as networks
from tcpsf.papers.packet_discard_networks import SWITCH, B, Policy
from tcpsf.reproduce.packet_discard.exhibit_parts import (
    SECONDS,
    Setting,
    connections,
    each,
    mean,
    mean_share,
    over,
    spacing,
    timeouts,
)
from tcpsf.summary import RunSummary

CURVES = Rows(
    table="samples",
    columns=("time_s", "object", "quantity", "value"),
    where=(("quantity", ("cwnd_bytes", "queue_bytes")),),
)
EXPIRIES = Rows(table="recoveries", columns=("time_s",), where=(("cause", ("timeout",)),))
EVERY = "5ms"
FIRST = networks.connection(1)
SETTLED_S = paper.TRACE_SECONDS / 2.0
"""Time in seconds from which a run is regarded as stable.

The first losses of slow start may cost two timeouts, of 1.5 s and 3 s.
"""
MOST = 65_535
"""Receive window in bytes."""
SHORT_S = 1.0
"""Length in seconds of the interval that Fig. 16 shows, from `SETTLED_S` on."""
POINTS = 500
"""Largest number of points in a plotted curve."""
COUNTED = 0.2
"""Relative tolerance for "about the same" number of timeouts, as counted in a figure."""

SAWTOOTH = (
    "A window that varies between W/2 and W sends 3W²/8 segments from one loss to the next. 25 of them make a mean "
    "window of 6 segments: too few for a fifth of the line with 0.4 of the buffer taken (11), so losses are rarer."
)

Curve = list[tuple[float, float]]
"""Times in seconds, and values."""

CWND = Axis(label="congestion window", unit="segments", scale="linear", low=0.0)
OCCUPIED = Axis(label="occupied", unit="share of the buffer", scale="linear", low=0.0, high=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class BpdAndEpd:
    """Runs of the same network with BPD and with EPD."""

    bpd: Sequence[RunSummary]
    epd: Sequence[RunSummary]


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return Figs. 15 to 18, windows and the buffer over time."""
    window = (
        _case(setting, networks.bpd(paper.LOWER, gap=paper.GAP)),
        _case(setting, networks.epd(paper.TRACE_EPD)),
    )
    half = paper.TRACE_BUFFER
    buffer = _case(setting, networks.bpd(half, gap=paper.GAP)), _case(setting, networks.epd(half))

    def of(runs: Runs, cases: tuple[Case, Case]) -> BpdAndEpd:
        return BpdAndEpd(bpd=runs.of(cases[0]), epd=runs.of(cases[1]))

    return (
        Exhibit(
            key="fig-15",
            section="traces",
            cases=window,
            build=lambda runs: _figure_15(of(runs, window)),
        ),
        Exhibit(
            key="fig-16",
            section="traces",
            cases=window,
            build=lambda runs: _figure_16(of(runs, window)),
        ),
        Exhibit(
            key="fig-17",
            section="traces",
            cases=window,
            build=lambda runs: _figure_17(of(runs, window)),
        ),
        Exhibit(
            key="fig-18",
            section="traces",
            cases=buffer,
            build=lambda runs: _figure_18(of(runs, buffer)),
            shown={"Fig. 18, BPD": buffer[0].scenario},
        ),
    )


def _case(setting: Setting, policy: Policy) -> Case:
    case = setting.case(B, policy, sampled=(FIRST, SWITCH), every=EVERY)
    return replace(case, watches=(*case.watches, CURVES, EXPIRIES))


def _windows(run: RunSummary) -> Curve:
    """The first connection's window in segments, limited by the receive window."""
    curve = CURVES.curve(run, object=f"{FIRST}/0", quantity="cwnd_bytes")
    return [(at, min(value, MOST) / paper.SEGMENT) for at, value in curve]


def _occupied(run: RunSummary) -> Curve:
    """Occupancy of the switch's buffer, as a share of its cells."""
    curve = CURVES.curve(run, object=SWITCH, quantity="queue_bytes")
    return [(at, value / paper.CELL / paper.BUFFER_CELLS) for at, value in curve]


def _line(
    key: str, label: str, curve: Curve, *, begin: float = 0.0, end: float = math.inf
) -> Series:
    """Plot a section of a curve; a long section is thinned to equidistant points."""
    inside = [(at, value) for at, value in curve if begin <= at < end]
    shown = inside[:: max(1, math.ceil(len(inside) / POINTS))]
    return series(
        key,
        label,
        [at for at, _ in shown],
        [judge.exact(value) for _, value in shown],
        style="step",
    )


def _figure(number: int, title: str, caption: str, y: Axis, lines: tuple[Series, ...]) -> Figure:
    return Figure(
        key=f"fig-{number}",
        title=title,
        source=f"{paper.SHORT}, Fig. {number}",
        caption=f"{caption} The run of the first seed.",
        x=SECONDS,
        y=y,
        series=lines,
    )


def _figure_15(pair: BpdAndEpd) -> Part:
    figure = _figure(
        15,
        "Congestion window with BPD",
        "Topology B, lower threshold 0.4, upper 0.9, Gap 25: the first connection.",
        CWND,
        (_line("bpd", "BPD", _windows(pair.bpd[0])),),
    )
    return Part(figures=(figure,), findings=tuple(_claims_15(pair)))


def _claims_15(pair: BpdAndEpd) -> Iterator[Finding]:
    where = "section 5, Fig. 15"
    rows = [row for run in pair.bpd for row in connections(run)]
    yield judge.finding(
        key="bpd-no-timeouts",
        claim="With BPD a connection of topology B can avoid all timeouts for 10 s (connections that did)",
        source=where,
        published="the one drawn",
        judged=judge.is_some(sum(row["timeouts"] == 0 for row in rows), len(rows)),
    )
    late = sum(row["time_s"] >= SETTLED_S for run in pair.bpd for row in EXPIRIES.of(run))
    yield judge.finding(
        key="bpd-settled",
        claim="With BPD connections almost never time out in the stable phase (one in ten, after 5 s)",
        source=where,
        published="almost never",
        judged=judge.is_below(judge.exact(late / len(rows)), 0.1, "timeouts a connection"),
    )
    yield judge.finding(
        key="bpd-spacing",
        claim="With BPD a connection loses one segment in 25 to 26, as Gap determines (within one)",
        source="section 5, Figs. 15 and 16",
        published="25 to 26",
        judged=judge.is_within(
            mean(pair.bpd, spacing),
            paper.SPACING[0] - 1.0,
            paper.SPACING[1] + 1.0,
            "segments for each loss",
        ),
    )


def _figure_16(pair: BpdAndEpd) -> Part:
    line = _line("bpd", "BPD", _windows(pair.bpd[0]), begin=SETTLED_S, end=SETTLED_S + SHORT_S)
    figure = _figure(
        16,
        "Congestion window with BPD (one second, enlarged)",
        "One second of Fig. 15.",
        CWND,
        (line,),
    )
    return Part(figures=(replace(figure, notes=(SAWTOOTH,)),))


def _figure_17(pair: BpdAndEpd) -> Part:
    figure = _figure(
        17,
        "Congestion window with EPD",
        "Topology B, EPD-threshold 0.9: the first connection.",
        CWND,
        (_line("epd", "EPD", _windows(pair.epd[0])),),
    )
    return Part(figures=(figure,), findings=tuple(_claims_17(pair)))


def _claims_17(pair: BpdAndEpd) -> Iterator[Finding]:
    where = "section 5, Fig. 17"
    yield judge.finding(
        key="epd-timeouts",
        claim="With EPD (threshold 0.9) a connection of topology B times out 18 times in 10 s (within 20 %)",
        source=where,
        published=f"{paper.TIMEOUTS}",
        judged=judge.is_within(
            mean(pair.epd, timeouts),
            paper.TIMEOUTS * (1.0 - COUNTED),
            paper.TIMEOUTS * (1.0 + COUNTED),
            "timeouts a connection",
        ),
    )
    yield judge.finding(
        key="bpd-mean-window",
        claim="The mean congestion window is larger with BPD than with EPD",
        source=where,
        published="difference above 0",
        judged=judge.is_above(over(pair.bpd, pair.epd, _mean_window), 0.0, "segments"),
    )
    yield judge.finding(
        key="epd-peaks",
        claim="With EPD the congestion window has higher peaks than with BPD (after 5 s)",
        source=where,
        published="difference above 0",
        judged=judge.is_above(over(pair.epd, pair.bpd, _peak), 0.0, "segments"),
    )


def _mean_window(run: RunSummary) -> float:
    values = [value for _, value in _windows(run)]
    return math.fsum(values) / len(values)


def _peak(run: RunSummary) -> float:
    return max((value for at, value in _windows(run) if at >= SETTLED_S), default=0.0)


def _figure_18(pair: BpdAndEpd) -> Part:
    figures = tuple(
        replace(
            _figure(18, f"The switch's buffer with {label}", caption, OCCUPIED, (line,)),
            key=f"fig-18-{key}",
        )
        for key, label, caption, line in (
            (
                "epd",
                "EPD",
                "Topology B, EPD-threshold half of the buffer.",
                _line("epd", "EPD", _occupied(pair.epd[0])),
            ),
            (
                "bpd",
                "BPD",
                "Topology B, lower threshold half of the buffer, upper threshold 0.9, Gap 25.",
                _line("bpd", "BPD", _occupied(pair.bpd[0])),
            ),
        )
    )
    return Part(figures=figures, findings=tuple(_claims_18(pair)))


def _claims_18(pair: BpdAndEpd) -> Iterator[Finding]:
    where = "section 5, Fig. 18"
    # One packet of each connection may have started before the threshold was reached.
    tails = paper.TRACE_BUFFER + B.connections * paper.CELLS / paper.BUFFER_CELLS
    yield judge.finding(
        key="epd-keeps-below",
        claim="EPD lets no more than a packet of each connection into the space above its threshold",
        source=where,
        published="minor breaks",
        judged=judge.is_below(mean_share(pair.epd, _fullest), tails, "of the buffer"),
    )
    yield judge.finding(
        key="bpd-uses-space",
        claim="BPD uses the space above the lower threshold more of the time than EPD",
        source=where,
        published="difference above 0",
        judged=judge.is_above(
            stats.difference(each(pair.bpd, _above), each(pair.epd, _above)), 0.0, "of the time"
        ),
    )


def _fullest(run: RunSummary) -> float:
    """Largest sampled occupancy of the switch's buffer, as a share."""
    return max(value for _, value in _occupied(run))


def _above(run: RunSummary) -> float:
    """Share of the time in which the occupancy exceeds the lower threshold."""
    values = [value for _, value in _occupied(run)]
    return sum(value > paper.TRACE_BUFFER for value in values) / len(values)
