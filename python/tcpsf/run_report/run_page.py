"""The page of `tcpsf sim --report` and `RunResult.report`: a summary, and charts of the runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tcpsf import text
from tcpsf.chart import Plot
from tcpsf.run_report import run_plots
from tcpsf.run_report.page_sections import PageSection, page_of_sections
from tcpsf.run_report.playground_link import playground_link
from tcpsf.sim_summary import Summary

if TYPE_CHECKING:
    from tcpsf.result import Provenance
    from tcpsf.run_report.flow_trace import FlowTrace
    from tcpsf.run_report.observed import Observation
    from tcpsf.summed import SummedRuns


def run_page(
    found: SummedRuns,
    seen: Observation,
    flow: FlowTrace | None,
    *,
    seeds: Sequence[int],
    folder: Path | None = None,
) -> str:
    """Return the page of one or more runs.

    ``found`` has the sums over all runs. ``seen`` and ``flow`` are of the first run; ``flow`` is
    ``None`` if the run has no flow. ``folder`` is the folder of the page; the page links to a
    playground in it or above it.
    """
    source, summary = found.source, Summary(found, seeds=seeds)
    sections = [
        PageSection(
            key="summary", title="Summary", tables=list(summary.tables()), notes=summary.legend()
        ),
        *_distributions(found),
        _over_time(seen, seed=source.seed),
    ]
    if flow is not None:
        drawn = (
            flow.row["flow"] in seen.objects and seen.objects[flow.row["flow"]] in seen.windows()
        )
        sections.append(_of_flow(flow, source, window=not drawn, folder=folder))
    about = [summary.title(), f"Made by tcpsf {source.version}."]
    return page_of_sections(sections, title=source.scenario.name, text=about)


def _distributions(found: SummedRuns) -> Iterator[PageSection]:
    if not any(each.completed for each in found.groups()):
        return
    plots, notes = [run_plots.completion_times(found)], []
    classes = run_plots.number_of_classes(found)
    if 1 < classes <= run_plots.MOST_CLASSES:
        plots.append(run_plots.completion_times(found, by_class=True))
    elif classes > 1:
        notes.append(f"The {text.plain(classes, 0)} size classes have no charts of their own.")
    yield PageSection(key="completion", title="Completion times", plots=plots, notes=notes)


def _over_time(seen: Observation, *, seed: int) -> PageSection:
    filled = run_plots.filled_queues(seen)
    plots: list[Plot] = [run_plots.queue(seen, links=filled)] if filled else []
    if "utilisation" in run_plots.rates(seen):
        plots.append(run_plots.utilisation(seen))
    if "throughput" in run_plots.rates(seen):
        plots.append(run_plots.throughput(seen))
    if run_plots.has_losses(seen):
        plots.append(run_plots.losses(seen))
    if seen.windows():
        plots.append(run_plots.windows(seen))
    small = [f"`{name}`" for name in seen.charted if name not in filled]
    limit = f"at most {100 * run_plots.SMALL:g} % of the largest one"
    notes = [f"Queues of {limit} have no chart: {', '.join(small)}."] if small else []
    notes += [
        f"{text.plain(number, 0)} other {what} have no chart."
        for what, number in seen.left_out.items()
        if number
    ]
    every = run_plots.length_of_time(seen.every_s)
    return PageSection(
        key="over-time",
        title="The first run over time",
        text=[f"The run with seed {seed}. Queues and windows are sampled every {every}."],
        plots=plots,
        notes=notes,
    )


def _of_flow(
    flow: FlowTrace, source: Provenance, *, window: bool, folder: Path | None
) -> PageSection:
    shown, total = len(flow.shown()), flow.total
    notes = ["Bytes are numbered as in the table `packets`; the first byte of the data is 1."]
    if shown < total:
        notes.insert(0, f"The diagram has {shown} of {text.plain(total, 0)} packets.")
    return PageSection(
        key="flow",
        title=flow.title,
        text=[flow.sentence(), f"The flow is of the run with seed {source.seed}."],
        plots=[run_plots.window_of(flow)] if window else [],
        drawings=[flow.svg()],
        # The playground cannot run models written in Python.
        playground=None
        if source.models
        else playground_link(
            source.scenario, seed=source.seed, flow=flow.row["flow"], folder=folder
        ),
        notes=notes,
    )
