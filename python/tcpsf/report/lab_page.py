"""Text and page of `tcpsf lab`: percentiles of each cell, predictions, and distributions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tcpsf import __version__, stats, text
from tcpsf.chart import Axis, Plot, cumulative, plot
from tcpsf.distribution import Distribution
from tcpsf.lab import LabCell, LabMeasurement, LabMix, LabPrediction
from tcpsf.run_report.page_sections import PageSection, page_of_sections

PARTS = {"median": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
"""Percentiles by name."""
BEYOND = 5
"""Least number of responses above a percentile that is shown."""


@dataclass(frozen=True, kw_only=True)
class LabResult:
    """A cell, its measurement, and its prediction."""

    cell: LabCell
    measured: LabMeasurement
    predicted: LabPrediction

    @cached_property
    def times(self) -> Distribution:
        """Distribution of the measured times."""
        return Distribution(self.measured.times_ns)

    def percentile(self, part: float) -> stats.Estimate | None:
        """Estimate a percentile in seconds; ``None`` if too few responses exceed it."""
        if (1.0 - part) * len(self.times) < BEYOND:
            return None
        return stats.quantile_of_one(self.times, part)

    def prediction(self, part: float) -> float | None:
        """Return a predicted percentile in seconds."""
        return self.predicted.times.quantile(part)


HEAD = [
    "loss",
    "RTT, ms",
    "bytes",
    "remedy",
    *(f"{name}, ms" for name in PARTS),
    "predicted p99",
    "packets",
    "failed",
    "late, ms",
]


def table_rows(found: Sequence[LabResult]) -> list[list[str]]:
    """Return the table with its head. Times are in milliseconds."""
    return [HEAD, *(_row(each) for each in found)]


def _row(found: LabResult) -> list[str]:
    cell, predicted = found.cell, found.prediction(PARTS["p99"])
    return [
        str(cell.path.loss),
        text.short(1e3 * cell.path.rtt_s),
        text.label(str(cell.size)),
        cell.remedy,
        *(_milliseconds(found.percentile(part)) for part in PARTS.values()),
        text.number(None if predicted is None else 1e3 * predicted, 0),
        text.number(found.measured.packets, 2),
        str(found.measured.failed),
        text.number(1e3 * found.measured.late_s, 1),
    ]


def _milliseconds(found: stats.Estimate | None) -> str:
    if found is None:
        return text.NOTHING
    value = text.plain(1e3 * found.value, 0)
    if found.interval is None:
        return value
    low, high = (text.plain(1e3 * end, 0) for end in found.interval)
    return value if low == high else f"{value} ({low} to {high})"


def as_data(found: LabResult) -> dict[str, Any]:
    """Return a cell as plain data. Times are in seconds."""
    cell = found.cell
    measured = {name: found.percentile(part) for name, part in PARTS.items()}
    return {
        "loss": str(cell.path.loss),
        "rtt_s": cell.path.rtt_s,
        "rate": cell.path.rate,
        "queue": cell.path.queue,
        "police": cell.path.police,
        "downloads": cell.path.downloads,
        "bytes": None if isinstance(cell.size, LabMix) else cell.size,
        "mix": str(cell.size) if isinstance(cell.size, LabMix) else None,
        "remedy": cell.remedy,
        "responses": len(found.times),
        "failed": found.measured.failed,
        "packets_per_request": found.measured.packets,
        "bytes_per_request": found.measured.bytes,
        "late_s": found.measured.late_s,
        "measured_s": {
            name: None if each is None else {"value": each.value, "interval": each.interval}
            for name, each in measured.items()
        },
        "predicted_s": predicted_data(found.predicted),
    }


def predicted_data(predicted: LabPrediction) -> dict[str, float | None]:
    """Return predicted percentiles in seconds as plain data."""
    return {name: predicted.times.quantile(part) for name, part in PARTS.items()}


NOTES = (
    "Times are from the request to the last byte, measured by the client. Intervals have 95 %.",
    (
        "Predictions are those of the simulated sender `linux` with the same remedy, plus half a "
        "round-trip time for the request. They have no time of the programs, but acknowledgments vary "
        "by 0.15 ms. On a link with a limit they have the small packets of connections, at random times. "
        "Requests never end, so a prediction for an overloaded link exceeds a short measurement."
    ),
    "Packets are those towards the client per request, with the handshake and acknowledgments.",
    (
        "Late is the 99th percentile of the time by which the emulator delivered packets too late. A "
        "busy machine delays both programs, too: measure while nothing else runs."
    ),
)


def lab_page(found: Sequence[LabResult]) -> str:
    """Return the page, which needs no other file and no network."""
    table = text.TitledTable("Cells", table_rows(found), (0, 3))
    sections = [
        PageSection(key="cells", title="Cells", tables=[table], notes=list(NOTES)),
        PageSection(
            key="tails",
            title="Distributions",
            plots=[_tails(path, cells) for path, cells in _by_path(found)],
        ),
    ]
    links = {str(each.cell.path) for each in found} - {""}
    head = [f"Link towards the client: {each}." for each in sorted(links)]
    return page_of_sections(
        sections, title="tcpsf lab", text=[*head, f"Made by tcpsf {__version__}."]
    )


def _by_path(found: Sequence[LabResult]) -> Iterator[tuple[str, list[LabResult]]]:
    """Yield the cells of each path and size, with the key of their chart."""
    groups: dict[tuple[object, object], list[LabResult]] = {}
    for each in found:
        groups.setdefault((each.cell.path, each.cell.size), []).append(each)
    for number, cells in enumerate(groups.values()):
        yield f"tail-{number + 1}", cells


def _tails(key: str, found: Sequence[LabResult]) -> Plot:
    cell = found[0].cell
    unit = "" if isinstance(cell.size, LabMix) else " bytes"
    times = [
        {"x": nanoseconds / 1e6, "series": each.cell.remedy}
        for each in found
        for nanoseconds in each.measured.times_ns
    ]
    longer = cumulative(times, complementary=True)
    return plot(
        longer.filter(longer["y"] > 0),
        x_axis=Axis(label="time of the response", unit="ms", scale="log"),
        y_axis=Axis(label="share of longer times", scale="log"),
        style="step",
        title=f"Loss {cell.path.loss}, RTT {1e3 * cell.path.rtt_s:g} ms, {cell.size}{unit}",
        key=key,
    )
