"""The page of `tcpsf analyze --report`: result, costs, loss law, completion times, sequences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tcpsf import __version__, text
from tcpsf.captures.capture_summary import cause_table, longest_table, notes_of
from tcpsf.captures.law import LossLaw
from tcpsf.captures.law_plots import law_plots
from tcpsf.captures.law_text import law_lines
from tcpsf.captures.reader import CaptureTables
from tcpsf.captures.report.cost_figures import cost_plots, verdict
from tcpsf.captures.report.drawn_flows import DrawnFlow
from tcpsf.captures.report.flow_lengths import CLASSES, FlowLengths
from tcpsf.captures.report.sequence_plot import sequence_plot
from tcpsf.captures.report.server_completion import CompletionTimes, completion_plots
from tcpsf.chart import Axis, Plot, plot
from tcpsf.run_report.page_sections import PageSection, page_of_sections

if TYPE_CHECKING:
    import polars as pl

SIDES = {"responder": "responder, the server", "originator": "end that opened the connection"}
"""Directions of the data, in words."""
CAUSE_OF_EPISODE = (
    "The cause of an episode is that of its first repair: the rule or the timer that made the sender "
    "transmit the lost data again."
)
LAW = (
    "The exponent says how the loss depends on the size of a packet: 0 is loss by packet, 1 is loss by "
    "byte. Framing helps if smaller packets are lost less often."
)
FEWEST = 20
"""Minimum number of connections for the figures of completion times and lengths."""
LENGTH_POINTS = 1500
"""Number of points of the distribution of flow lengths."""


class CaptureFigures:
    """Completion times and flow lengths of a capture, for a page. Memory is constant.

    The paper's server is the responder. If no responder sent data, the data is that of the ends that
    opened the connections.
    """

    def __init__(self) -> None:
        self._times = {side: CompletionTimes() for side in SIDES}
        self._lengths = {side: FlowLengths() for side in SIDES}

    def add(self, batch: CaptureTables) -> None:
        """Add the connections of a batch."""
        for side in SIDES:
            rows: pl.DataFrame = batch.flows.filter(direction=side).filter(
                batch.flows.filter(direction=side)["unique_bytes"] > 0
            )
            self._times[side].add(rows["completion_s"])
            self._lengths[side].add(rows["unique_bytes"])

    @property
    def side(self) -> str:
        """Direction of the data."""
        return "originator" if not len(self._lengths["responder"]) else "responder"

    @property
    def times(self) -> CompletionTimes:
        """Server completion times."""
        return self._times[self.side]

    @property
    def lengths(self) -> FlowLengths:
        """Flow lengths."""
        return self._lengths[self.side]


def capture_page(
    name: str,
    data: Mapping[str, Any],
    figures: CaptureFigures,
    flows: Sequence[DrawnFlow],
    *,
    laws: Sequence[LossLaw] = (),
    flow_notes: Sequence[str] = (),
) -> str:
    """Return the page of a capture, which needs no other file and no network.

    ``data`` is the summary as plain data, ``laws`` are its loss laws, and ``flow_notes`` are remarks
    on the selection of the drawn connections.
    """
    sections = [
        PageSection(
            key="verdict", title="Result", text=[verdict(data)], notes=list(notes_of(data))
        ),
        *_costs(data),
        *_loss_laws(data, laws),
        *_completion(figures),
        *_length_section(figures),
        *_sequences(flows, flow_notes),
    ]
    return page_of_sections(
        sections, title=f"Analysis of {name}", text=[f"Made by tcpsf {__version__}."]
    )


def _costs(data: Mapping[str, Any]) -> Iterator[PageSection]:
    causes = data["causes"]
    plots = cost_plots(causes)
    if not plots:
        return
    yield PageSection(
        key="costs",
        title="Causes and costs",
        text=[CAUSE_OF_EPISODE],
        plots=plots,
    )
    yield PageSection(
        key="episodes",
        title="Loss episodes",
        tables=[
            text.TitledTable("Episodes by cause", cause_table(causes), (0,)),
            text.TitledTable("The longest episodes", longest_table(data["longest"]), (0,)),
        ],
    )


def _loss_laws(data: Mapping[str, Any], laws: Sequence[LossLaw]) -> Iterator[PageSection]:
    plots = [plot for law in laws for plot in law_plots(law)]
    if not plots:
        return
    yield PageSection(
        key="loss-law",
        title="Loss law",
        text=[LAW, *(line for line in law_lines(data["loss_laws"]) if line)],
        plots=plots,
    )


def _completion(figures: CaptureFigures) -> Iterator[PageSection]:
    times = figures.times
    if not len(times):
        return
    title = "Server completion time"
    if len(times) - times.single < FEWEST:
        note = (
            f"{text.count(len(times) - times.single, 'connection')} with more than one segment of data: "
            f"fewer than {FEWEST}, which is too few for the figures."
        )
        yield PageSection(key="completion", title=title, text=[note])
        return
    about = (
        "Figure 1 of the Smart Framing paper, from this capture. The time runs from the first to the "
        f"last segment with data of the {SIDES[figures.side]} "
        f"({text.count(len(times), 'connection')}). A connection that is used again contains the pauses "
        "between its requests."
    )
    yield PageSection(
        key="completion",
        title=title,
        text=[about],
        plots=completion_plots(times, side=SIDES[figures.side]),
    )


def _length_section(figures: CaptureFigures) -> Iterator[PageSection]:
    lengths = figures.lengths
    if not len(lengths):
        return
    classes = lengths.classes()
    tables = []
    if classes:
        rows = [["class", "from bytes", "to bytes", "mean bytes"]]
        rows += [
            [str(number), *(text.plain(value, 0) for value in (each.least, each.most, each.mean))]
            for number, each in enumerate(classes, start=1)
        ]
        tables.append(text.TitledTable(f"{CLASSES} classes with the same number of flows", rows))
    about = (
        f"Bytes that the {SIDES[figures.side]} sent, without repetitions. `tcpsf analyze --sizes` writes "
        "the classes to a file, which a scenario reads with `sizes = { file = … }`."
    )
    few = f"{text.count(len(lengths), 'connection')}: too few for {CLASSES} classes."
    yield PageSection(
        key="lengths",
        title="Flow lengths",
        text=[about],
        plots=[_lengths_plot(lengths)] if len(lengths) >= FEWEST else [],
        tables=tables,
        notes=[] if classes else [few],
    )


def _lengths_plot(lengths: FlowLengths) -> Plot:
    rows = [{"x": value, "y": share} for value, share in lengths.up_to(LENGTH_POINTS)]
    return plot(
        rows,
        x_axis=Axis(label="flow length", unit="bytes", scale="log"),
        y_axis=Axis(label="share of the connections", low=0.0, high=1.0),
        style="step",
        keys={"share of the connections": "connections"},
        title="Distribution of the flow length",
        caption="Share of the connections with at most as many bytes as on the axis.",
        key="flow-lengths",
    )


def _sequences(flows: Sequence[DrawnFlow], notes: Sequence[str]) -> Iterator[PageSection]:
    if not flows and not notes:
        return
    about = (
        "A vertical line is a segment: its place is the time since the first packet of the connection, "
        "its ends are its first and last byte. Segments that were sent again have the colour of their "
        "cause. Select a part of the time axis to enlarge it; the vertical axis follows. The legend hides "
        "curves."
    )
    yield PageSection(
        key="sequences",
        title="Time-sequence plots",
        text=[about] if flows else [],
        plots=[
            sequence_plot(flow, key=f"flow-{flow.data['flow']}-{flow.data['direction']}")
            for flow in flows
        ],
        notes=list(notes),
    )
