"""Charts of an emulated link over time, from the series in the statistics of `tcpsf link`.

The counters of the series are sums since the start, so rates are differences of two samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tcpsf.chart import Axis, Plot, plot
from tcpsf.run_report.observed import DROPS, SLICES
from tcpsf.run_report.run_plots import KEYS, TIME, length_of_time

DIRECTIONS = ("up", "down")
CAUSES = {**DROPS, "too_big_packets": "too long for the path", "refused_packets": "refused"}
"""Columns of lost packets, and their labels."""
MARKS = {"marked_packets": "marked"}
"""Column of packets that are marked instead of being dropped, and its label."""
PASSED = {"offered": "offered", "delivered": "delivered"}
"""Begins of the columns of packets and bytes at both ends of a direction, and their labels."""


def over_time(series: Mapping[str, Any]) -> list[Plot]:
    """Return the charts of a series: rates, queues, utilisation and losses.

    A chart without any value above zero is left out. Rates and losses have at most `SLICES`
    intervals; queues have a value for each sample.
    """
    ends = _ends(series["time_s"])
    width = _width(series, ends)
    plots = [
        _rate(series, ends, "bytes", factor=8e-6, unit="Mb/s", title="Throughput", text=width),
        _rate(series, ends, "packets", factor=1.0, unit="1/s", title="Packet rate", text=width),
        _queues(series),
        _utilisation(series, ends, text=width),
        _losses(series, ends, text=width),
    ]
    return [each for each in plots if each is not None]


def _ends(times: Sequence[float]) -> list[int]:
    """Positions of the samples at which the intervals of the rates end."""
    stride = -(-len(times) // SLICES)
    last = len(times) - 1
    return [*range(stride - 1, last, stride), last]


def _width(series: Mapping[str, Any], ends: Sequence[int]) -> str:
    stride = ends[0] + 1
    return f"in intervals of {length_of_time(stride * series['interval_s'])}"


def _increases(
    times: Sequence[float], counter: Sequence[float], ends: Sequence[int]
) -> Iterator[tuple[float, float, float]]:
    """Yield the begin of each interval, its length in seconds, and the increase of a counter."""
    begin_s, before = 0.0, 0.0
    for end in ends:
        yield begin_s, times[end] - begin_s, counter[end] - before
        begin_s, before = times[end], counter[end]


def _steps(
    series: Mapping[str, Any],
    ends: Sequence[int],
    columns: Mapping[str, str],
    value: Callable[[float, float], float],
) -> list[dict[str, Any]]:
    """Rows of steps: a panel for each direction, and a curve for each column.

    ``value`` computes the value of an interval from an increase and a length. Columns that never
    increase have no curve.
    """
    times = series["time_s"]
    rows = []
    for direction in DIRECTIONS:
        for column, label in columns.items():
            counter = series[direction][column]
            if not counter[-1]:
                continue
            found = [
                (begin_s, value(increase, length_s))
                for begin_s, length_s, increase in _increases(times, counter, ends)
            ]
            # The last step ends at the end of the run.
            found.append((times[-1], found[-1][1]))
            rows += [{"x": x, "y": y, "series": label, "panel": direction} for x, y in found]
    return rows


def _drawn(
    rows: Sequence[Mapping[str, Any]], *, y_axis: Axis, title: str, caption: str, key: str
) -> Plot | None:
    directions = {row["panel"] for row in rows}
    if not directions:
        return None
    if len(directions) == 1:  # a single panel has no heading
        title += f", {directions.pop()}"
    keys = {**KEYS, "offered": "plain", "delivered": "fs", "queue, max": "vs", "marked": "ppd"}
    return plot(
        rows,
        x_axis=TIME,
        y_axis=y_axis,
        style="step",
        keys=keys,
        title=title,
        caption=caption,
        key=key,
    )


def _rate(
    series: Mapping[str, Any],
    ends: Sequence[int],
    unit_of_column: str,
    *,
    factor: float,
    unit: str,
    title: str,
    text: str,
) -> Plot | None:
    columns = {f"{name}_{unit_of_column}": label for name, label in PASSED.items()}
    what = "Bits with IP headers" if unit_of_column == "bytes" else "Packets"
    return _drawn(
        _steps(series, ends, columns, lambda increase, length_s: increase * factor / length_s),
        y_axis=Axis(label=title.lower(), unit=unit, low=0.0),
        title=title,
        caption=f"{what} that enter the link (offered) and that arrive at its end (delivered), "
        f"{text}.",
        key=title.lower().replace(" ", "-"),
    )


def _queues(series: Mapping[str, Any]) -> Plot | None:
    times = series["time_s"]
    rows = []
    for direction in DIRECTIONS:
        line = series[direction]
        if not any(line["max_queue_bytes"]):
            continue
        # The maximum of a sample is that of the interval before it.
        highest = [*line["max_queue_bytes"], line["max_queue_bytes"][-1]]
        begins = [0.0, *times]
        for label, xs, ys in (
            ("queue, max", begins, highest),
            ("queue", begins, [0, *line["queue_bytes"]]),
        ):
            rows += [
                {"x": x, "y": y * 1e-3, "series": label, "panel": direction}
                for x, y in zip(xs, ys, strict=True)
            ]
    return _drawn(
        rows,
        y_axis=Axis(label="queue", unit="kB", low=0.0),
        title="Queues",
        caption="Queue with the packet in transmission: at the time of each sample, and its maximum "
        f"since the sample before, in intervals of {length_of_time(series['interval_s'])}.",
        key="queues",
    )


def _utilisation(series: Mapping[str, Any], ends: Sequence[int], *, text: str) -> Plot | None:
    def share(increase: float, length_s: float) -> float:
        return 100 * increase / length_s

    return _drawn(
        _steps(series, ends, {"busy_s": "utilisation"}, share),
        y_axis=Axis(label="utilisation", unit="%", low=0.0, high=100.0),
        title="Utilisation",
        caption=f"Share of the time in which a direction transmits, {text}.",
        key="utilisation",
    )


def _losses(series: Mapping[str, Any], ends: Sequence[int], *, text: str) -> Plot | None:
    return _drawn(
        _steps(series, ends, {**CAUSES, **MARKS}, lambda increase, _length_s: increase),
        y_axis=Axis(label="packets in an interval", low=0.0),
        title="Losses and marks",
        caption=f"Packets that are lost, by cause, and packets that are marked instead, {text}.",
        key="losses",
    )
