"""Common parts of experiments on live kernels.

The experiments run one after the other, their results are stored, and progress is reported.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from tcpsf import _core, stats, text
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import OWN, ReportProvenance, Row, Section, Table, TableCell
from tcpsf.runs import Progress

if TYPE_CHECKING:
    from tcpsf.live.experiment import Experiment
    from tcpsf.live.experiment_result import Live, LiveStore

_LOG = logging.getLogger(__name__)

ReportProgress = Callable[[Progress], None]


class Measure(Protocol):
    """A function that runs one experiment and reports the completed fraction."""

    def __call__(self, experiment: Experiment, *, progress: Callable[[float], None]) -> Live:
        """Run the experiment."""


@dataclass(frozen=True, slots=True)
class Started:
    """Start time of a measurement, by the calendar and by a monotonic clock."""

    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    clock_s: float = field(default_factory=time.monotonic)

    def provenance(
        self, experiments: Sequence[Experiment], *, command: str, scale: str
    ) -> ReportProvenance:
        """Return the provenance of the experiments after they have run."""
        return ReportProvenance(
            version=_core.version,
            command=command,
            scale=scale,
            kind="live",
            runs=1,
            duration=_span(experiments),
            seeds=tuple(sorted({each.seed for each in experiments})),
            scenarios={each.name: each.to_dict() for each in experiments},
            started=self.at.isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - self.clock_s, 1),
            jobs=len(experiments),
        )


def measured(
    experiments: Sequence[Experiment],
    *,
    measure: Measure,
    store: LiveStore | None = None,
    progress: ReportProgress | None = None,
    found: Callable[[int], None] | None = None,
) -> dict[str, Live]:
    """Run the experiments that ``store`` does not have, and return the results of all by name.

    Each result is stored as soon as its experiment ends. ``found`` is called with the number of
    results that the store had.
    """
    stored = {} if store is None else {each.name: store.load(each) for each in experiments}
    lives: dict[str, Live] = {name: live for name, live in stored.items() if live is not None}
    if found is not None:
        found(len(lives))
    missing = [each for each in experiments if each.name not in lives]
    for number, experiment in enumerate(missing):
        _LOG.debug("`%s`: measurement starts, about %g s", experiment.name, experiment.duration_s)
        live = measure(experiment, progress=_overall(progress, missing, number))
        if store is not None:
            store.save(live)
        lives[experiment.name] = live
        _LOG.debug("`%s`: measurement ends with %d fetches", experiment.name, live.flows.height)
    return {each.name: lives[each.name] for each in experiments}


def _overall(
    progress: ReportProgress | None, missing: Sequence[Experiment], number: int
) -> Callable[[float], None]:
    """Convert the progress of one experiment into the progress of all."""
    total = sum(each.duration_s for each in missing)
    before = sum(each.duration_s for each in missing[:number])

    def report(share: float) -> None:
        if progress is not None:
            done = (before + share * missing[number].duration_s) / total
            progress(Progress(done=done, finished=number, runs=len(missing)))

    return report


def _span(experiments: Sequence[Experiment]) -> str:
    """Format the period in which transfers start."""
    spans = sorted({each.duration_s for each in experiments})
    return f"{spans[0]:g} s" if len(spans) == 1 else f"{spans[0]:g} to {spans[-1]:g} s"


def counted(value: float) -> stats.Estimate:
    """A number that is counted or read, not estimated."""
    return judge.exact(float(value))


def conditions(lives: Mapping[str, Live]) -> Section:
    """Return the downloads, the actions of the emulator, and the errors."""
    counts = {name: _Counts.of(live) for name, live in lives.items()}
    fetches = sum(each.fetches for each in counts.values())
    wrong = sum(each.wrong for each in counts.values())
    failed = sum(each.failed for each in counts.values())
    missed = sum(each.missed for each in counts.values())
    offered = sum(each.offered for each in counts.values())
    compared = sum(each.compared_bytes for each in counts.values())
    return Section(
        key="conditions",
        title="Conditions of the measurement",
        text=(
            f"{text.count(compared, 'byte')} of {text.count(fetches, 'fetch', 'fetches')} compared with the files.",
        ),
        tables=(_conditions_table(lives, counts),),
        findings=tuple(
            judge.finding(
                key=key, claim=claim, source=OWN, published="", judged=judge.is_none(bad, of)
            )
            for key, claim, bad, of in (
                (
                    "every-byte",
                    "Every byte that a client received is equal to that of the file",
                    wrong,
                    fetches,
                ),
                ("no-failure", "Every fetch completed", failed, fetches),
                (
                    "no-packet-missed",
                    "The emulator was fast enough: it missed no packet",
                    missed,
                    missed + offered,
                ),
            )
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counts:
    """Counts of the fetches and packets of one experiment."""

    fetches: int
    failed: int
    wrong: int
    """Fetches with bytes that are not those of the file."""
    reasons: Sequence[tuple[str, int]]
    """Reasons of failures and their numbers, the most frequent first."""
    compared_bytes: int
    missed: int
    """Packets that the emulator did not read, in both directions."""
    offered: int
    """Packets that the emulator was offered, in both directions."""

    @classmethod
    def of(cls, live: Live) -> _Counts:
        import polars as pl

        flows = live.flows
        bad = flows.filter(pl.col("failure") != "")
        down, up = live.link["down"], live.link["up"]
        return cls(
            fetches=flows.height,
            failed=bad.height,
            wrong=bad.filter(pl.col("failure") == "wrong bytes").height,
            reasons=bad["failure"].value_counts(sort=True).rows(),
            compared_bytes=int(flows["received_bytes"].sum()),
            missed=down["missed_packets"] + up["missed_packets"],
            offered=down["offered_packets"] + up["offered_packets"],
        )


def _conditions_table(lives: Mapping[str, Live], counts: Mapping[str, _Counts]) -> Table:
    rows = []
    for name, live in lives.items():
        down, of_path = live.link["down"], counts[name]
        rows.append(
            Row(
                label=name,
                cells=(
                    TableCell(ours=counted(of_path.fetches), published=None),
                    TableCell(ours=counted(int(live.answered["segments"].sum())), published=None),
                    TableCell(ours=lost(down), published=None, unit="%"),
                    _microseconds(down, "timing_error_median_s"),
                    _microseconds(down, "timing_error_p99_s"),
                    TableCell(ours=counted(of_path.missed), published=None),
                    ", ".join(f"{count} × {why}" for why, count in of_path.reasons) or "none",
                ),
            )
        )
    return Table(
        key="conditions",
        title="Conditions of the measurement",
        source=OWN,
        caption=(
            "Lost: packets from the server that the emulator dropped, of those offered. Lateness: delay of "
            "deliveries by the emulator, median and 99th percentile. Missed: packets that the emulator did not read."
        ),
        columns=(
            "path",
            "fetches",
            "segments",
            "lost",
            "lateness, p50",
            "lateness, p99",
            "missed",
            "failed fetches",
        ),
        rows=tuple(rows),
    )


def lost(down: Mapping[str, Any]) -> stats.Estimate | None:
    """Per cent of a direction's packets that the emulator dropped."""
    offered = down["offered_packets"]
    return counted(100.0 * down["dropped_loss_packets"] / offered) if offered else None


def _microseconds(down: Mapping[str, Any], key: str) -> TableCell:
    seconds = down[key]
    return TableCell(
        ours=None if seconds is None else counted(1e6 * seconds), published=None, unit="µs"
    )
