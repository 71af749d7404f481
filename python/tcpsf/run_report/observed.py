"""Quantities of a run over time, in bounded memory: a run is repeated with sampling.

Sampling does not change a run, so the repeated run has the same rows. The throughput, the
utilisation and the drops of links are differences of their counters, which are read during the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tcpsf import _core, python_models
from tcpsf.python_models import PythonModels
from tcpsf.result import to_frame
from tcpsf.run_report.flow_choice import FlowChoice
from tcpsf.scenario import Greedy, Link, Samples, Scenario, Transfers

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

POINTS = 10_000
"""Number of samples of a quantity, if the scenario has no sampling interval."""
MOST_POINTS = 100_000
"""Maximum number of samples of a quantity; of more, every second, third or further one is kept."""
SLICES = 200
"""Number of intervals for which the rates of links and of recoveries are computed."""
READINGS = 8 * SLICES
"""Minimum number of readings of the counters of links."""
MOST_LINKS = 8
"""Maximum number of links in charts."""
MOST_FLOWS = 4
"""Maximum number of flows in charts of congestion windows."""
MOST_RECOVERIES = 100_000
"""Maximum number of recoveries that charts mark."""
ROWS = 5_000
"""Maximum number of rows of a run before they are reduced."""
EVENTS = 65_536
"""Maximum number of events between two checks for Ctrl-C."""
CAUSES = ("fast-retransmit", "timeout", "syn-timeout", "ecn")
"""Causes of recoveries."""
DROPS = {
    "dropped_buffer_packets": "dropped, buffer full",
    "dropped_early_packets": "dropped early",
    "dropped_loss_packets": "lost on the link",
}
"""Columns of the table ``links`` with lost packets, and their labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Quantities of one run over time."""

    samples: pl.DataFrame
    """Table ``samples`` of the links and flows in charts."""
    links: pl.DataFrame
    """Rates of each link in each interval of time.

    ``begin_s`` is the beginning of the interval and ``time_s`` its middle. ``utilisation`` is empty
    for a link without a rate. The columns of `DROPS` have numbers of packets.
    """
    drops: pl.DataFrame
    """Times of losses: ``link``, ``time_s``, ``column`` (one of `DROPS`), number of ``packets``."""
    charted: Sequence[str]
    """Names of the links in charts."""
    recoveries: pl.DataFrame
    """Table ``recoveries`` of the flows of the sampled workloads."""
    counts: Mapping[str, Sequence[int]]
    """Number of recoveries in each interval, by cause."""
    edges: Sequence[float]
    """Ends of the intervals, in seconds."""
    flow: Mapping[str, Any] | None
    """Row of the table ``flows`` of the selected flow; ``None`` if the run has no flow."""
    objects: Mapping[int, str]
    """Names in ``samples`` of the flows of the sampled workloads, by the number of the flow."""
    every_s: float
    """Sampling interval in seconds."""
    left_out: Mapping[str, int]
    """Number of links and of flows without samples in the charts."""

    def windows(self) -> list[str]:
        """Return the names in ``samples`` of the flows whose congestion windows are in it."""
        import polars as pl

        own = self.samples.filter(pl.col("quantity") == "cwnd_bytes")
        names: list[str] = own["object"].unique(maintain_order=True).to_list()
        return names


def observe(
    scenario: Scenario,
    *,
    seed: int,
    flow: int | None = None,
    models: PythonModels | None = None,
    progress: Callable[[float], None] = lambda _share: None,
) -> Observation:
    """Repeat a run and observe it over time.

    The sampling interval is a `POINTS`-th of the time in which the run is active, or that of the
    scenario if it is shorter. ``flow`` selects a flow; otherwise `FlowChoice` does. ``progress``
    receives the finished share. ``models`` are the Python models of the run. Raises `TcpsfError` if
    the run has no flow ``flow``.
    """
    begin, end = _active(scenario, seed, models)
    watched = _watched(scenario, (end - begin) / POINTS)
    simulation = python_models.simulation(watched.to_json(), seed=seed, models=models)
    choice = FlowChoice(flow)
    rows = _Rows(watched, begin, end, choice)
    counters = _Counters(begin, end)
    for now_s in _advancing(simulation, (end - begin) / READINGS, until_s=end):
        counters.read(simulation)
        if simulation.buffered_rows > ROWS:
            rows.take(simulation)
        progress(min(now_s / simulation.duration_s, 0.999))
        if end < now_s < simulation.duration_s:
            break  # all flows are complete
    rows.take(simulation)
    counters.read(simulation)
    return Observation(
        samples=rows.samples(),
        links=counters.rates(rows.edges, scenario.link),
        drops=counters.drops(),
        charted=[link.name for link in scenario.link[:MOST_LINKS]],
        recoveries=rows.recoveries(),
        counts={cause: list(map(int, found)) for cause, found in rows.counts.items()},
        edges=list(map(float, rows.edges)),
        flow=choice.row(),
        objects=rows.objects(),
        every_s=rows.every_s,
        left_out={"links": max(len(scenario.link) - MOST_LINKS, 0), "flows": rows.left_out},
    )


def _seconds(text: str) -> float:
    return _core.nanoseconds(text) * 1e-9


def _active(scenario: Scenario, seed: int, models: PythonModels | None) -> tuple[float, float]:
    """Return the begin and the end of the charts' time axis.

    If all workloads are listed transfers, the end is shortly after the last one is complete.
    """
    begin, end = _seconds(scenario.warm_up), _seconds(scenario.duration)
    if all(isinstance(load, Transfers) for load in scenario.workload):
        plain = replace(scenario, samples=None, trace=())
        simulation = python_models.simulation(plain.to_json(), seed=seed, models=models)
        last = begin
        while simulation.advance(max_events=EVENTS):
            simulation.take_recoveries()
        flows = to_frame(simulation.take_flows())
        for start_s, sender_s in flows.select("start_s", "sender_s").rows():
            last = max(last, end if sender_s is None else start_s + sender_s)
        if last > begin:
            end = min(end, last + 0.02 * (last - begin))
    return begin, end


def _watched(scenario: Scenario, interval_s: float) -> Scenario:
    """Return the scenario with samples of its links and of its flows without an arrival process.

    Other flows are sampled if the scenario has no other workload and requests them.
    """
    own = scenario.samples
    listed = tuple(load.name for load in scenario.workload if isinstance(load, Greedy | Transfers))
    finest = max(round(interval_s * 1e9), 1000)
    every = f"{min(_core.nanoseconds(own.every), finest) if own else finest}ns"
    links = tuple(link.name for link in scenario.link[:MOST_LINKS])
    workloads = listed or (own.workloads if own else ())
    samples = Samples(every=every, links=links, workloads=workloads)
    return replace(scenario, samples=samples, trace=())


def _advancing(simulation: _core.Simulation, step_s: float, *, until_s: float) -> Iterator[float]:
    """Advance a simulation to its end, and yield its time after each step.

    A step takes ``step_s`` at most, except between two events that are farther apart. After
    ``until_s``, steps have any length.
    """
    events, before = 1, 0.0
    while simulation.advance(max_events=events):
        now = simulation.now_s
        yield now
        if now > until_s or now - before < step_s / 4:
            events = min(events * 2, EVENTS)
        elif now - before > step_s:
            events = max(events // 2, 1)
        before = now


class _Counters:
    """Readings of the counters of links, from which rates are computed."""

    COLUMNS = ("delivered_bytes", *DROPS)

    def __init__(self, begin: float, end: float) -> None:
        self._begin, self._end = begin, end
        self._last = -1.0
        self._readings: dict[str, list[tuple[Any, ...]]] = {}

    def read(self, simulation: _core.Simulation) -> None:
        """Read the counters, except during the warm-up and after the end."""
        if simulation.now_s < self._begin or self._last >= self._end:
            return
        self._last = simulation.now_s
        for row in to_frame(simulation.links()).iter_rows(named=True):
            time_s = row["duration_s"]
            busy_s = (row["utilisation"] or 0.0) * time_s
            values = (self._begin + time_s, busy_s, *(row[name] for name in self.COLUMNS))
            self._readings.setdefault(row["link"], []).append(values)

    def drops(self) -> pl.DataFrame:
        """Return the times at which a counter of lost packets had increased."""
        import polars as pl

        schema = {"link": pl.String, "time_s": pl.Float64, "column": pl.String, "packets": pl.Int64}
        rows = [
            (link, after[0], column, after[place] - before[place])
            for link, readings in self._readings.items()
            for before, after in pairwise(
                ((self._begin, 0.0, *(0 for _ in self.COLUMNS)), *readings)
            )
            for place, column in enumerate(DROPS, start=3)
            if after[place] > before[place]
        ]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def rates(self, edges: np.ndarray, links: Sequence[Link]) -> pl.DataFrame:
        """Return the rates in the intervals between ``edges``."""
        import numpy as np
        import polars as pl

        middles, widths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
        parts = []
        for link in links:
            readings = self._readings.get(link.name, [])
            start = (self._begin, 0.0, *(0 for _ in self.COLUMNS))
            times, busy, *counted = zip(start, *readings, strict=True)
            sent = np.diff(np.interp(edges, times, counted[0])) / widths
            lost = [_counted(edges, times, each) for each in counted[1:]]
            used = None if link.rate is None else np.diff(np.interp(edges, times, busy)) / widths
            columns = {
                "link": [link.name] * len(middles),
                "begin_s": edges[:-1],
                "time_s": middles,
                "utilisation": used,
                "throughput_bps": sent * 8,
                **dict(zip(DROPS, lost, strict=True)),
            }
            parts.append(pl.DataFrame(columns, schema_overrides={"utilisation": pl.Float64}))
        return pl.concat(parts)


def _counted(edges: np.ndarray, times: Sequence[float], readings: Sequence[int]) -> np.ndarray:
    """Increase of a counter in each interval, at the times at which it was read."""
    import numpy as np

    steps = np.diff(readings)
    found: np.ndarray = np.histogram(times[1:], edges, weights=steps)[0].round().astype(int)
    return found


class _Rows:
    """Rows of a run, reduced to those in charts."""

    def __init__(self, scenario: Scenario, begin: float, end: float, choice: FlowChoice) -> None:
        import numpy as np

        samples = scenario.samples
        every_s = _seconds(samples.every) if samples else 0.0
        self._stride = max(1, -int(-(end - begin) / every_s // MOST_POINTS))
        self._sampled_s = every_s
        self.every_s = every_s * self._stride
        self._links = set(samples.links if samples else ())
        self._workloads = samples.workloads if samples else ()
        self._begin, self._end = begin, end
        self.edges = np.linspace(begin, end, SLICES + 1)
        self.counts = {cause: np.zeros(SLICES, dtype=int) for cause in CAUSES}
        self._choice = choice
        self._kept: dict[str, None] = {}
        self._others: set[str] = set()
        self._samples: list[pl.DataFrame] = []
        self._recoveries: list[pl.DataFrame] = []
        self._marks = 0
        self._numbers: dict[str, list[int]] = {}
        self._shift = {
            load.name for load in scenario.workload if begin > 0 and not isinstance(load, Greedy)
        }

    @property
    def left_out(self) -> int:
        """Number of sampled flows that are not in the charts."""
        return len(self._others)

    def take(self, simulation: _core.Simulation) -> None:
        """Take the rows of a simulation."""
        self._take_samples(to_frame(simulation.take_samples()))
        self._take_recoveries(to_frame(simulation.take_recoveries()))
        flows = to_frame(simulation.take_flows())
        self._choice.add(flows)
        import polars as pl

        own = flows.filter(pl.col("workload").cast(pl.String).is_in(self._workloads))
        for number, workload in own.select("flow", pl.col("workload").cast(pl.String)).rows():
            self._numbers.setdefault(workload, []).append(number)

    def _take_samples(self, found: pl.DataFrame) -> None:
        import polars as pl

        for name in found["object"].cast(pl.String).unique(maintain_order=True).to_list():
            if name in self._links or name in self._kept:
                continue
            if len(self._kept) < MOST_FLOWS:
                self._kept[name] = None
            else:
                self._others.add(name)
        number = (pl.col("time_s") / self._sampled_s).round().cast(pl.Int64)
        kept = found.with_columns(
            pl.col("object").cast(pl.String), pl.col("quantity").cast(pl.String)
        ).filter(
            pl.col("object").is_in([*self._links, *self._kept]),
            pl.col("quantity").is_in(["queue_bytes", "cwnd_bytes"]),
            pl.col("time_s").is_between(self._begin, self._end),
            number % self._stride == 0,
        )
        self._samples.append(kept)

    def _take_recoveries(self, found: pl.DataFrame) -> None:
        import numpy as np
        import polars as pl

        found = found.with_columns(
            pl.col("workload").cast(pl.String),
            pl.col("variant").cast(pl.String),
            pl.col("cause").cast(pl.String),
        )
        for cause, counted in self.counts.items():
            times = found.filter(pl.col("cause") == cause)["time_s"].to_numpy()
            counted += np.histogram(times, self.edges)[0]
        own = found.filter(pl.col("workload").is_in(self._workloads))
        own = own.filter(pl.col("time_s") <= self._end).head(MOST_RECOVERIES - self._marks)
        self._marks += own.height
        self._recoveries.append(own)

    def samples(self) -> pl.DataFrame:
        """Return the samples of the links and flows in charts."""
        import polars as pl

        return pl.concat(self._samples)

    def recoveries(self) -> pl.DataFrame:
        """Return the recoveries of the flows of the sampled workloads."""
        import polars as pl

        return pl.concat(self._recoveries)

    def objects(self) -> dict[int, str]:
        """Return the names in ``samples`` of flows: workload, and position in it by the start.

        Flows that started during the warm-up have no row, so the positions of the others are
        unknown, except in greedy workloads.
        """
        return {
            number: f"{workload}/{position}"
            for workload, numbers in self._numbers.items()
            if workload not in self._shift
            for position, number in enumerate(sorted(numbers))
        }
