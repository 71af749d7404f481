"""Table I of the Smart Framing paper: completion time and fast retransmits by flow size.

The three senders have the same arrivals and sizes (common random numbers), so their runs are
compared in pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from tcpsf import stats
from tcpsf.errors import TcpsfError
from tcpsf.evaluation.conclusion import conclude
from tcpsf.evaluation.data import Conclusion, Section
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Scale
from tcpsf.papers import smart_framing as paper
from tcpsf.reproduce import web_runs
from tcpsf.reproduce.smart_framing.table_1_claims import findings
from tcpsf.result import Provenance
from tcpsf.runs import Job, Progress, run_jobs
from tcpsf.scenario import Scenario
from tcpsf.summary import Group, RunSummary, SummaryFold, Totals, completion_s, fast_percent, total

SCHEMA = "tcpsf.smart-framing.table-1/2"


HEADLINE = ("middle-gain-fs", "middle-gain-vs", "overall-fast-retransmit-classic")
"""Keys of the main claims that rest on the table."""

SCALES = {
    "demo": Scale("demo", 8, "700s", paper.WARM_UP),
    "quick": Scale("quick", 4, "400s", paper.WARM_UP),
    "full": Scale("full", paper.FULL_RUNS, paper.FULL_DURATION, paper.WARM_UP),
}
"""Scales of the table; ``full`` is the paper's own scale except for the warm-up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassResult:
    """Results of one sender and one class, simulated and published."""

    completion_s: stats.Estimate | None
    fast_percent: stats.Estimate | None
    """Share of losses detected by fast retransmit; ``None`` if no loss was detected."""
    flows: int
    unfinished: int
    """Flows that were incomplete when the run ended after its drain; no mean includes them."""
    fast_retransmits: int
    timeouts: int
    published: paper.PublishedCell | None
    """Published values; ``None`` for all classes together, which the table does not give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """Statistics of the bottleneck link with one sender."""

    utilisation_percent: stats.Estimate
    loss_percent: stats.Estimate
    """Packets dropped, in per cent of those offered."""
    queue_bytes: stats.Estimate
    """Mean queue in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table1:
    """The table, the claims drawn from it, and its provenance."""

    scale: Scale
    seeds: tuple[int, ...]
    changes: dict[str, Any]
    """Differences from `papers.smart_framing.web_scenario`: values by the path of their key."""
    version: str
    classes: tuple[dict[str, ClassResult], ...]
    """For each size class, the cell of each variant by its key."""
    overall: dict[str, ClassResult]
    """Cells of all classes together."""
    bottleneck: dict[str, Bottleneck]
    findings: tuple[Finding, ...]
    provenance: dict[str, Provenance]
    """Provenance of each variant's first run; the other runs differ in the random seed alone."""

    @property
    def claims(self) -> Section:
        """Return the claims as a section of a report."""
        why = "" if self.changes else paper.WHY
        return Section(key="claims", title="Claims of the paper", findings=self.findings, why=why)

    @property
    def conclusion(self) -> Conclusion:
        """Return the conclusion of Table I in three sentences."""
        return conclude((self.claims,), headline=HEADLINE)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, as ``report/schema/table-1.json`` describes it."""
        return {
            "schema": SCHEMA,
            "conclusion": self.conclusion.to_dict(),
            "paper": paper.CITATION,
            "version": self.version,
            "scale": self.scale.name,
            "runs": self.scale.runs,
            "duration": self.scale.duration,
            "warm_up": self.scale.warm_up,
            "changes": self.changes,
            "seeds": list(self.seeds),
            "variants": [
                {"key": v.key, "label": v.label, "sender": v.sender} for v in paper.VARIANTS
            ],
            "classes": [
                {
                    "class": number,
                    "bytes": size,
                    "variants": {key: _cell_dict(cell) for key, cell in cells.items()},
                }
                for number, (size, cells) in enumerate(
                    zip(paper.CLASS_BYTES, self.classes, strict=True), start=1
                )
            ],
            "overall": {key: _cell_dict(cell) for key, cell in self.overall.items()},
            "bottleneck": {
                key: {
                    "utilisation_percent": _estimate_dict(link.utilisation_percent),
                    "loss_percent": _estimate_dict(link.loss_percent),
                    "queue_bytes": _estimate_dict(link.queue_bytes),
                }
                for key, link in self.bottleneck.items()
            },
            "claims": [finding.to_dict() for finding in self.findings],
            "readings": list(paper.READINGS),
            "differences": list(paper.DIFFERENCES),
            "scenarios": {
                key: source.scenario.to_dict() for key, source in self.provenance.items()
            },
        }


def table_1(
    *,
    scale: Scale | Literal["demo", "quick", "full"] = "full",
    seed: int = 1,
    changes: Mapping[str, Any] | None = None,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Table1:
    """Simulate the paper's network with its three senders and compare the results with Table I.

    Runs use the random seeds ``seed``, ``seed + 1``, … The same arguments give the same table with
    any number of ``workers``. ``changes`` are values for `Scenario.with_value`, to test another
    reading of the paper: ``{"workload.web.handshake": True}``.
    """
    if isinstance(scale, str):
        if scale not in SCALES:
            raise TcpsfError(
                f"no scale is called `{scale}`",
                hint=f"scales: {', '.join(f'`{name}`' for name in SCALES)}",
            )
        scale = SCALES[scale]
    seeds = tuple(range(seed, seed + scale.runs))
    changes = dict(changes or {})
    jobs = [
        Job(
            scenario=_scenario(variant, scale, changes),
            seed=each,
            fold=partial(SummaryFold, percentiles=False),
        )
        for variant in paper.VARIANTS
        for each in seeds
    ]
    results = iter(run_jobs(jobs, workers=workers, progress=progress))
    runs = {variant.key: [next(results) for _ in seeds] for variant in paper.VARIANTS}
    return _tabulate(scale, seeds, changes, runs)


def _scenario(variant: paper.Variant, scale: Scale, changes: Mapping[str, Any]) -> Scenario:
    scenario = replace(
        paper.web_scenario(sender=variant.sender, duration=scale.duration), warm_up=scale.warm_up
    )
    return scenario.with_values(changes)


def _tabulate(
    scale: Scale, seeds: tuple[int, ...], changes: dict[str, Any], runs: dict[str, list[RunSummary]]
) -> Table1:
    totals = {variant.key: _by_class(variant, runs[variant.key]) for variant in paper.VARIANTS}
    classes = tuple(
        {
            variant.key: _cell(totals[variant.key][index], variant.published[index])
            for variant in paper.VARIANTS
        }
        for index in range(len(paper.CLASS_BYTES))
    )
    return Table1(
        scale=scale,
        seeds=seeds,
        changes=changes,
        version=runs[paper.CLASSIC.key][0].provenance.version,
        classes=classes,
        overall={key: _cell(_together(by_class), None) for key, by_class in totals.items()},
        bottleneck={key: _bottleneck(each) for key, each in runs.items()},
        findings=tuple(findings(totals)),
        provenance={key: each[0].provenance for key, each in runs.items()},
    )


def _by_class(variant: paper.Variant, runs: Sequence[RunSummary]) -> list[list[Totals]]:
    """Return, for each class, the totals of each run."""
    return [
        [run.groups.get(Group(paper.WEB, variant.sender, number), Totals()) for run in runs]
        for number in range(1, len(paper.CLASS_BYTES) + 1)
    ]


def _together(by_class: Sequence[Sequence[Totals]]) -> list[Totals]:
    """Return the totals of each run over all classes."""
    return [total(of_run) for of_run in zip(*by_class, strict=True)]


def _cell(runs: Sequence[Totals], published: paper.PublishedCell | None) -> ClassResult:
    return ClassResult(
        completion_s=completion_s(runs),
        fast_percent=fast_percent(runs),
        flows=sum(run.flows for run in runs),
        unfinished=sum(run.flows - run.completed for run in runs),
        fast_retransmits=sum(run.fast_retransmits for run in runs),
        timeouts=sum(run.timeouts for run in runs),
        published=published,
    )


def _bottleneck(runs: Sequence[RunSummary]) -> Bottleneck:
    utilisation, loss = web_runs.utilisation_percent(runs), web_runs.lost_percent(runs)
    queue = web_runs.queue_bytes(runs)
    if utilisation is None or queue is None or loss is None:
        raise TcpsfError("the bottleneck carried no packets", hint="simulate a longer time")
    return Bottleneck(utilisation_percent=utilisation, loss_percent=loss, queue_bytes=queue)


def _cell_dict(cell: ClassResult) -> dict[str, Any]:
    published = cell.published
    return {
        "completion_s": _estimate_dict(cell.completion_s),
        "fast_percent": _estimate_dict(cell.fast_percent),
        "flows": cell.flows,
        "unfinished": cell.unfinished,
        "fast_retransmits": cell.fast_retransmits,
        "timeouts": cell.timeouts,
        "published": None
        if published is None
        else {"completion_s": published.completion_s, "fast_percent": published.fast_percent},
    }


def _estimate_dict(estimate: stats.Estimate | None) -> dict[str, Any] | None:
    return None if estimate is None else estimate.to_dict()
