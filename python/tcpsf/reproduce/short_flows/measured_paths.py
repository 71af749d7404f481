"""Table 1: the paths of section 6 with their rates.

The exhibit shows whether the receive window limited them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import OWN, Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Runs
from tcpsf.models import short_flows as sf
from tcpsf.papers import short_flows as paper
from tcpsf.papers.short_flows import Host, Sample
from tcpsf.papers.short_flows_simulated import Assumptions, TransferPoint
from tcpsf.reproduce.short_flows.sweeps import fit
from tcpsf.reproduce.short_flows.trials import PointTrials, Setting, of_medians

MEGABYTE = 1_000_000
"""Bytes of the transfer from which the sustained bandwidth was sampled."""
SIZES = (4000, 16_000, 32_000, 64_000, 96_000, 128_000)
"""Transfer sizes in bytes, within the range of Figs. 17 to 20."""
FEW = 100
"""Number of transfers of a megabyte: loss is rare, and the paper has one transfer."""
FULL = 0.8
"""Share of a link's rate from which on a long transfer uses the link fully."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPath:
    """A row of Table 1 with the loss rate and the window of its figure."""

    sample: Sample
    host: Host

    @property
    def name(self) -> str:
        """Name of the path in Table 1."""
        return self.sample.name

    @property
    def rate(self) -> float:
        """Sustained bandwidth in bytes per second."""
        return float(self.sample.sustained_kb * paper.KB)

    def point(self, size: int) -> TransferPoint:
        """Return the simulated setting of a transfer of ``size`` bytes on the path."""
        return TransferPoint(size=size, rtt=self.sample.ping_ms / 1000.0, loss=self.host.loss)

    def assumed(self, setting: Setting, *, line: bool) -> Assumptions:
        """Return the assumptions about the path.

        With ``line``, the link has the rate of the sustained bandwidth, plus the headers.
        """
        bits = 8.0 * self.rate * (paper.MSS + 40) / paper.MSS
        return replace(
            setting.assumed,
            sender=f"reno / full / iw={paper.INITIAL_WINDOW}",
            initial_window=paper.INITIAL_WINDOW,
            receive_buffer=min(self.host.window_kb * paper.KB, 65_535),
            line=f"{round(bits)}b/s" if line else None,
        )


PATHS = tuple(
    MeasuredPath(sample=sample, host=host)
    for sample, host in zip(paper.TABLE_1, paper.HOSTS, strict=True)
)


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return Table 1, for trials of ``setting``."""
    few = replace(setting, trials=min(FEW, setting.trials))
    cases = [
        each.case(path.point(size), path.assumed(setting, line=line))
        for path in PATHS
        for line in (False, True)
        for each, size in ((few, MEGABYTE), *((setting, size) for size in SIZES))
    ]
    first = setting.case(PATHS[0].point(SIZES[-1]), PATHS[0].assumed(setting, line=True))
    return (
        Exhibit(
            key="table-1",
            section="paths",
            cases=tuple(cases),
            build=lambda runs: _part(setting, few, runs),
            shown={PATHS[0].name: first.scenario},
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Simulated results of a path, without a rate limit and with the rate of Table 1."""

    path: MeasuredPath
    long: tuple[PointTrials, PointTrials]
    short: tuple[Sequence[PointTrials], Sequence[PointTrials]]

    @property
    def sustained(self) -> tuple[stats.Estimate, stats.Estimate]:
        """Throughput of a megabyte in KB/s, from the median time."""
        first, second = (
            of_medians([seen], lambda rows: np.asarray(MEGABYTE / paper.KB / rows[0]))
            for seen in self.long
        )
        return first, second

    @property
    def limit_kb(self) -> float:
        """Throughput limit of the window in KB/s."""
        return float(self.long[0].assumed.receive_buffer or 0) / self.path.point(1).rtt / paper.KB

    @property
    def mathis_kb(self) -> float:
        """Throughput of congestion avoidance in KB/s at the figure's loss rate (Mathis et al.)."""
        point = self.path.point(1)
        return float(sf.mathis(point.loss, rtt=point.rtt, mss=point.mss, ack_every=2.0)) / paper.KB


def _part(setting: Setting, few: Setting, runs: Runs) -> Part:
    found = [_found(path, setting, few, runs) for path in PATHS]
    return Part(tables=(_table(found), _fits(found)), findings=tuple(_findings(found)))


def _found(path: MeasuredPath, setting: Setting, few: Setting, runs: Runs) -> Found:
    free, line = (path.assumed(setting, line=line) for line in (False, True))
    return Found(
        path=path,
        long=(
            few.seen(path.point(MEGABYTE), runs, free),
            few.seen(path.point(MEGABYTE), runs, line),
        ),
        short=(
            [setting.seen(path.point(size), runs, free) for size in SIZES],
            [setting.seen(path.point(size), runs, line) for size in SIZES],
        ),
    )


def _table(found: Sequence[Found]) -> Table:
    return Table(
        key="table-1",
        title="Table 1: the paths",
        source=f"{paper.SHORT}, Table 1",
        caption="Round-trip time and line of the simulated paths; KB/s of 1 MB on a line of 100 Mb/s and on "
        "one of the published rate, with the loss and the window of Figs. 17 to 20; and the limits by "
        "window and loss.",
        columns=(
            "path",
            "round trip",
            "line",
            "1 MB, 100 Mb/s",
            "1 MB",
            "limit by window",
            "limit by loss",
        ),
        rows=tuple(
            Row(
                label=each.path.name,
                cells=(
                    TableCell(
                        ours=judge.exact(1000.0 * each.path.point(1).rtt),
                        published=float(each.path.sample.ping_ms),
                        unit="ms",
                    ),
                    TableCell(
                        ours=judge.exact(each.path.rate / paper.KB), published=None, unit="KB/s"
                    ),
                    TableCell(ours=each.sustained[0], published=None, unit="KB/s"),
                    TableCell(
                        ours=each.sustained[1],
                        published=float(each.path.sample.sustained_kb),
                        unit="KB/s",
                    ),
                    TableCell(ours=judge.exact(each.limit_kb), published=None, unit="KB/s"),
                    TableCell(ours=judge.exact(each.mathis_kb), published=None, unit="KB/s"),
                ),
            )
            for each in found
        ),
        notes=(
            "These are measurements on a simulated path with the published round-trip time and line rate.",
        ),
    )


def _fits(found: Sequence[Found]) -> Table:
    return Table(
        key="table-1-fits",
        title="The models on these paths, without and with their rates",
        source=OWN,
        caption="Fits over 4 to 128 kB, w = 2 and r = 1.5: on lines of 100 Mb/s, and of the rates of Table 1.",
        columns=(
            "path",
            "(1)",
            "(1), with the rate",
            "(14)",
            "(14), with the rate",
            "(4)",
            "(4), with the rate",
        ),
        rows=tuple(
            Row(
                label=each.path.name,
                cells=tuple(
                    TableCell(ours=fit(seen, number), published=None)
                    for number in (1, 14, 4)
                    for seen in each.short
                ),
            )
            for each in found
        ),
    )


def _findings(found: Sequence[Found]) -> Iterator[Finding]:
    source = f"{paper.SHORT}, section 6"
    yield judge.finding(
        key="table-1-window",
        claim="The receivers' windows did not limit throughput (window over round trip, over the sustained rate)",
        source=source,
        published="large enough",
        judged=judge.all_above(
            {
                each.path.name: judge.exact(each.limit_kb / each.path.sample.sustained_kb)
                for each in found
            },
            1.0,
            "",
        ),
    )
    yield judge.finding(
        key="table-1-line",
        claim=f"1 MB on lines of these rates gets {100.0 * FULL:g} % of them (simulated)",
        source=OWN,
        published="",
        judged=judge.all_above(
            {
                each.path.name: each.sustained[1].scaled(1.0 / each.path.sample.sustained_kb)
                for each in found
            },
            FULL,
            "",
        ),
    )
    yield judge.finding(
        key="table-1-rate",
        claim=f"The rate, which the models do not include, changes the fit of (14) by less than {paper.CLOSE}",
        source=OWN,
        published="",
        judged=judge.all_within(
            {
                each.path.name: stats.apart(fit(each.short[1], 14), fit(each.short[0], 14))
                for each in found
            },
            -paper.CLOSE,
            paper.CLOSE,
            "",
        ),
    )
