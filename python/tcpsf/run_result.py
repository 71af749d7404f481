"""The result of a run: its tables and its provenance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tcpsf import _core, markup, text
from tcpsf.errors import OutputError, TcpsfError
from tcpsf.result import Batch, Provenance
from tcpsf.sim_summary import Summary, sums_of
from tcpsf.staging import write_file

if TYPE_CHECKING:
    import polars as pl

    from tcpsf.chart import Plot
    from tcpsf.run_report.flow_trace import FlowTrace
    from tcpsf.run_report.observed import Observation


class RunResult:
    """Result of a run: its tables, as Polars data frames, and its provenance.

    The names of columns contain the units. Methods that draw a quantity over time, or the packets of
    a flow, repeat the run with sampling, at the first call. Sampling does not change a run. They
    raise `TcpsfError` if the result is of another version of tcpsf.
    """

    __slots__ = ("_batches", "_frames", "_seen", "links", "provenance")

    provenance: Provenance
    """Version, seed and scenario, with which the run can be repeated."""
    links: pl.DataFrame
    """Table with one row per link: offered, delivered and dropped packets, utilisation, queue."""

    def __init__(
        self, *, provenance: Provenance, batches: Sequence[Batch], links: pl.DataFrame
    ) -> None:
        self.provenance = provenance
        self._batches = batches
        self.links = links
        self._frames: dict[str, pl.DataFrame] = {}
        self._seen: Observation | None = None

    def __getstate__(self) -> tuple[Provenance, pl.DataFrame, dict[str, pl.DataFrame]]:
        """Return the state for `pickle` and `copy`: the tables as data frames."""
        return self.provenance, self.links, {name: self._frame(name) for name in Batch.TABLES}

    def __setstate__(self, state: tuple[Provenance, pl.DataFrame, dict[str, pl.DataFrame]]) -> None:
        self.provenance, self.links, self._frames = state
        self._batches = ()
        self._seen = None

    def __repr__(self) -> str:
        source = self.provenance
        made = f"seed {source.seed}, {source.models}" if source.models else f"seed {source.seed}"
        return f"<RunResult of {source.scenario.name!r}, {made}: {self.flows.height} flows>"

    def _repr_html_(self) -> str:
        tables = {"links": self.links, **{name: self._frame(name) for name in Batch.TABLES}}
        heights = (f"`{name}` ({text.plain(frame.height, 0)})" for name, frame in tables.items())
        listed = f"Tables, with their numbers of rows: {', '.join(heights)}."
        return f"{self.summary()._repr_html_()}<p><small>{markup.paragraph(listed)}</small></p>"

    def summary(self) -> Summary:
        """Return the summary that `tcpsf sim` prints: flows by class, endless flows, links."""
        return Summary.of([self])

    def plot_completion_times(self, *, by_class: bool = False) -> Plot:
        """Return the distribution functions of the completion times at the sender, by sender.

        The panels are the workloads or, with ``by_class``, their size classes. The time axis is
        logarithmic. Raises `TcpsfError` if no flow is complete.

        >>> from tcpsf import run
        >>> from tcpsf.papers.smart_framing import CLASSIC, web_scenario
        >>> result = run(web_scenario(sender=CLASSIC.sender, duration="5s"))
        >>> len(result.plot_completion_times(by_class=True).panels)
        15
        """
        from tcpsf.run_report import run_plots

        return run_plots.completion_times(sums_of([self])[0], by_class=by_class)

    def plot_queue(self, link: str | None = None) -> Plot:
        """Return the queue of a link over time in kB, with marks where packets are lost.

        Without ``link``, each of the first eight links has a panel. Raises `TcpsfError` for another
        name.
        """
        from tcpsf.run_report import run_plots

        return run_plots.queue(self._observed(), links=_names(link))

    def plot_throughput(self, link: str | None = None) -> Plot:
        """Return the throughput of a link over time in Mb/s, with headers.

        It is the mean over a 200th of the time. ``link`` is that of `plot_queue`.
        """
        from tcpsf.run_report import run_plots

        return run_plots.throughput(self._observed(), links=_names(link))

    def plot_utilisation(self, link: str | None = None) -> Plot:
        """Return the share of the time in which a link with a rate transmits, over time.

        ``link`` is that of `plot_queue`. Raises `TcpsfError` if no link has a rate.
        """
        from tcpsf.run_report import run_plots

        return run_plots.utilisation(self._observed(), links=_names(link))

    def plot_losses(self) -> Plot:
        """Return the numbers of lost packets and of recoveries over time, by cause.

        Raises `TcpsfError` if the run has none.
        """
        from tcpsf.run_report import run_plots

        return run_plots.losses(self._observed())

    def plot_windows(self) -> Plot:
        """Return the congestion windows of up to four flows over time in kB, with recoveries.

        They are the first flows of greedy workloads and listed transfers or, without such
        workloads, of those in the scenario's ``samples``. Raises `TcpsfError` if there is none.
        """
        from tcpsf.run_report import run_plots

        return run_plots.windows(self._observed())

    def ladder(self, flow: int | None = None) -> FlowTrace:
        """Return the packets of a flow, which a notebook shows as a ladder diagram.

        ``flow`` is a number of the table ``flows``. Without it, the flow is the first one whose
        loss was repaired by a timeout, else by a fast retransmit, else the first one. Flows of up to
        60 segments go before longer ones. Raises `TcpsfError` if the run has no such flow.

        >>> from tcpsf import Scenario, run
        >>> from tcpsf.scenario import packaged
        >>> example = packaged.example("one-short-flow").read_text(encoding="utf-8")
        >>> result = run(Scenario.from_toml_text(example))
        >>> result.ladder().repair().cause
        'fast-retransmit'
        """
        from tcpsf.run_report.flow_choice import FlowChoice
        from tcpsf.run_report.flow_trace import trace

        choice = FlowChoice(flow)
        choice.add(self.flows)
        row = choice.row()
        if row is None:
            raise TcpsfError("cannot draw a flow: the run has none", hint="simulate a longer time")
        source = self._repeatable()
        return trace(source.scenario, row, seed=source.seed, models=source.models)

    def report(self, path: str | Path, *, flow: int | None = None, force: bool = False) -> Path:
        """Write a page with the summary and all charts, as `tcpsf sim --report` does.

        ``flow`` is that of `ladder`. Raises `OutputError` if the file cannot be written, or if it
        exists and ``force`` is false, and `TcpsfError` if the run has no such flow.
        """
        from tcpsf.run_report.run_page import run_page

        target = Path(path)
        if target.exists() and not force:
            raise OutputError(
                f"cannot write `{target}`: it already exists",
                hint="choose another file, or replace it with `force=True`",
            )
        traced = self.ladder(flow) if self.flows.height or flow is not None else None
        found, seeds = sums_of([self])
        folder = target.absolute().parent
        page = run_page(found, self._observed(), traced, seeds=seeds, folder=folder)
        write_file(target, page)
        return target

    def _observed(self) -> Observation:
        from tcpsf.run_report.observed import observe

        if self._seen is None:
            source = self._repeatable()
            self._seen = observe(source.scenario, seed=source.seed, models=source.models)
        return self._seen

    def _repeatable(self) -> Provenance:
        if self.provenance.version != _core.version:
            raise TcpsfError(
                f"cannot repeat the run: the result is of tcpsf {self.provenance.version}, and this "
                f"is tcpsf {_core.version}",
                hint="simulate it again with `run(**result.provenance.arguments())`",
            )
        return self.provenance

    @property
    def flows(self) -> pl.DataFrame:
        """Table with one row per flow: start, size, completion times, amounts of sent data.

        ``sender_s`` is the time until the sender has received the acknowledgment of all data, and
        ``receiver_s`` the time until the receiver has all data. Both are null if the flow was not
        complete at the end of the run.
        """
        return self._frame("flows")

    @property
    def recoveries(self) -> pl.DataFrame:
        """Table with one row per detected loss: its time, its cause, the window."""
        return self._frame("recoveries")

    @property
    def samples(self) -> pl.DataFrame:
        """Table with one row per sampled quantity and moment, if the scenario has ``samples``."""
        return self._frame("samples")

    @property
    def packets(self) -> pl.DataFrame:
        """Table with one row per event of each packet of the workloads in ``trace``."""
        return self._frame("packets")

    def _frame(self, name: str) -> pl.DataFrame:
        if name not in self._frames:
            import polars as pl

            self._frames[name] = pl.concat([getattr(batch, name) for batch in self._batches])
        return self._frames[name]


def _names(link: str | None) -> tuple[str, ...]:
    return () if link is None else (link,)
