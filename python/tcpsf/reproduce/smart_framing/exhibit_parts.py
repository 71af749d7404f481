"""Common parts of the Smart Framing exhibits: settings, axes, and tables by flow size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tcpsf import stats
from tcpsf.evaluation.data import Axis, Figure, PublishedPoint, Row, Series, Table, TableCell
from tcpsf.evaluation.exhibit import bars
from tcpsf.evaluation.plan import Case
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_figures as figures
from tcpsf.reproduce import web_runs
from tcpsf.scenario import Scenario
from tcpsf.summary import RunSummary, completion_s, fast_percent

JOURNAL = "Mellia et al. 2005"
DRAFT = "Mellia et al., draft 2001"

Readings = Literal["text", "closest"]
"""Readings of the paper: those of its text, or those that give the closest numbers."""

FRAMED = (paper.VARIABLE_SIZE, paper.FIXED_SIZE)

SECONDS = Axis(label="mean completion time", unit="s", scale="linear", low=0.0)
GAIN = Axis(label="gain in completion time over Classic", unit="%", scale="linear")
LOAD = Axis(label="offered load", unit="", scale="linear", low=0.0, high=1.0)
SIZE = Axis(label="flow size", unit="bytes", scale="category")

UNSTABLE_S = 10.0
"""Mean completion time in seconds that occurs only on an overloaded link."""


def unstable(lines: Sequence[Series]) -> tuple[str, ...]:
    """Return a note if a mean is so long that the link is overloaded."""
    seen = [point.y.value for each in lines for point in each.points if point.y is not None]
    if max(seen, default=0.0) < UNSTABLE_S:
        return ()
    note = (
        f"If a mean is above {UNSTABLE_S:g} s, the offered traffic exceeds the capacity of the link, because the "
        "load counts only payload, without headers and retransmissions. Such a mean grows with the length of the run."
    )
    return (note,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Durations and reading that all scenarios of an evaluation share."""

    duration: str
    """Simulated time of a run."""
    duration_of_ours: str
    """Simulated time of a run for the exhibits that the papers do not contain."""
    warm_up: str = "0s"
    """Time at the start of a run with random arrivals in which nothing is counted."""
    readings: Readings = "text"

    def case(self, scenario: Scenario, *, histogram: bool = False, once: bool = False) -> Case:
        """Return a case of the scenario with the selected readings."""
        read = scenario if self.readings == "text" else figures.closest(scenario)
        counted = read if once else replace(read, warm_up=self.warm_up)
        return Case(scenario=counted, histogram=histogram, once=once)

    def base(self, variant: paper.Variant, *, load: float = paper.LOAD) -> Case:
        """Return a case of section IV-A's network.

        At the load of Table I it also keeps the distribution of completion times, for Fig. 4.
        """
        scenario = paper.web_scenario(sender=variant.sender, load=load, duration=self.duration)
        return self.case(scenario, histogram=load == paper.LOAD)


def by_variant(make: Callable[[paper.Variant], Case]) -> dict[str, Case]:
    """Return a case for each of the paper's three senders, by its key."""
    return {variant.key: make(variant) for variant in paper.VARIANTS}


def class_gains(
    ours: Sequence[RunSummary], theirs: Sequence[RunSummary], classes: int
) -> dict[int, stats.Estimate | None]:
    """Return the gain of every class, by its number."""
    return {
        number: web_runs.gain(ours, theirs, classes=(number,)) for number in range(1, classes + 1)
    }


def class_gain_figure(
    *,
    key: str,
    title: str,
    source: str,
    caption: str,
    sizes: Sequence[int],
    gains: Mapping[str, Mapping[int, stats.Estimate | None]],
    published: Mapping[str, Sequence[paper.PublishedCell]],
    notes: tuple[str, ...],
) -> Figure:
    """Plot the gain over Classic by class, for both framings, with that of a published table."""
    names = [str(size) for size in sizes]
    theirs = {key: [cell.completion_s for cell in cells] for key, cells in published.items()}
    return Figure(
        key=key,
        title=title,
        source=source,
        caption=caption,
        x=SIZE,
        y=GAIN,
        series=tuple(
            bars(
                variant.key,
                variant.label,
                names,
                list(gains[variant.key].values()),
                published=tuple(
                    PublishedPoint(x=name, y=100.0 * (1.0 - framed / classic))
                    for name, framed, classic in zip(
                        names, theirs[variant.key], theirs["classic"], strict=True
                    )
                ),
            )
            for variant in FRAMED
        ),
        notes=notes,
    )


def class_table(
    *,
    key: str,
    title: str,
    source: str,
    caption: str,
    sizes: Sequence[int],
    published: Mapping[str, Sequence[paper.PublishedCell]],
    runs: Mapping[str, Sequence[RunSummary]],
    notes: tuple[str, ...] = (),
) -> Table:
    """Tabulate completion time and share of fast retransmits by class, for the three senders."""
    rows = []
    for number, size in enumerate(sizes, start=1):
        cells: list[TableCell | str] = []
        for variant in paper.VARIANTS:
            totals = web_runs.each(runs[variant.key], classes=(number,))
            theirs = published[variant.key][number - 1]
            seen = any(of_run.fast_retransmits for of_run in totals)
            cells += [
                TableCell(ours=completion_s(totals), published=theirs.completion_s, unit="s"),
                TableCell(
                    ours=fast_percent(totals) if seen else None,
                    published=theirs.fast_percent,
                    unit="%",
                ),
            ]
        rows.append(Row(label=str(size), cells=tuple(cells)))
    columns = ["bytes"]
    for variant in paper.VARIANTS:
        columns += [f"{variant.label}, time", f"{variant.label}, %FR"]
    return Table(
        key=key,
        title=title,
        source=source,
        caption=caption,
        columns=tuple(columns),
        rows=tuple(rows),
        notes=notes,
    )
