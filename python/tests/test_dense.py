"""Curves of many points: their outline, their binary form and their summary."""

from __future__ import annotations

import base64
import re
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpsf import TcpsfError
from tcpsf.chart import Axis, Curve, CurveStyle, dense, plot
from tcpsf.chart import axes as scales
from tcpsf.chart.panel import DENSE

WIDTH, HEIGHT = 100.0, 300.0


def axis(low: float, high: float, scale: str = "linear") -> scales.AxisScale:
    return scales.AxisScale(
        axis=Axis(label="", scale=scale),  # type: ignore[arg-type]
        low=low,
        high=high,
    )


def curve(x: object, y: object, style: CurveStyle = "line", **ends: object) -> Curve:
    return Curve(key="a", label="a", style=style, x=x, y=y, **ends)  # type: ignore[arg-type]


def corners(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", path)]


@given(
    values=st.lists(st.one_of(st.none(), st.floats(0, 100)), min_size=1, max_size=400),
    style=st.sampled_from(["line", "step"]),
)
def test_the_outline_keeps_the_extremes_of_each_column(
    values: list[float | None], style: CurveStyle
) -> None:
    x = np.linspace(0, 1, len(values))
    path = dense.outline(
        curve(x, values, style), axis(0, 1), axis(0, 100), width=20.0, height=HEIGHT
    )
    found = corners(path)
    assert len(found) <= 4 * 21 + 4 * sum(value is None for value in values)
    columns: dict[int, list[float]] = {}
    for place, before, value in zip(x, [None, *values[:-1]], values, strict=True):
        # A step reaches from its value to the next one.
        reaching = [before] if style == "step" and value is not None else []
        for each in (value, *reaching):
            if each is not None:
                heights = columns.setdefault(int(place * 20), [])
                heights.append(round(HEIGHT * (1 - each / 100), 1))
    for number, heights in columns.items():
        drawn = [y for place, y in found if abs(place - number) < 1.06]
        assert min(heights) >= min(drawn) - 0.11
        assert max(heights) <= max(drawn) + 0.11
        assert any(abs(y - min(heights)) < 0.11 for y in drawn)
        assert any(abs(y - max(heights)) < 0.11 for y in drawn)


def test_a_gap_breaks_the_outline_and_the_band() -> None:
    x, y = [0.0, 0.2, 0.4, 0.6, 0.8], [1.0, 2.0, float("nan"), 3.0, 4.0]
    line = curve(x, y, low=[value - 1 for value in y], high=[value + 1 for value in y])
    arguments = (line, axis(0, 1), axis(0, 10))
    assert dense.outline(*arguments, width=WIDTH, height=HEIGHT).count("M") == 2
    assert dense.band(*arguments, width=WIDTH, height=HEIGHT).count("Z") == 2
    assert dense.band(curve(x, y), *arguments[1:], width=WIDTH, height=HEIGHT) == ""


def test_dots_of_one_place_are_drawn_once() -> None:
    points = curve([0.5, 0.5001, 0.9], [5.0, 5.0, 1.0], "point")
    path = dense.outline(points, axis(0, 1), axis(0, 10), width=WIDTH, height=HEIGHT)
    assert path == "M50 150h0M90 270h0"


@pytest.mark.parametrize(("scale", "low"), [("linear", -5.0), ("log", 0.001)])
def test_packed_points_are_the_points(scale: str, low: float) -> None:
    drawn = np.random.default_rng(1)
    across = axis(low, 2000.0, scale)
    x, y = drawn.uniform(0.01, 1000, 5000), drawn.normal(size=5000)
    made = dense.packed(curve(x, y, low=y - 1, high=y + 1), across)
    content = zlib.decompress(base64.b64decode(made.data))
    assert (made.count, made.columns, len(content)) == (5000, 3, 5000 * 16)
    steps = numbers(content, 0, "<u4", 5000).astype(np.int64).cumsum()
    shares = made.first + (made.last - made.first) * steps / dense.STEPS
    order = np.argsort(x)
    assert shares == pytest.approx(dense.shares(x[order], across), abs=1e-9)
    assert numbers(content, 1, "<f4", 5000) == pytest.approx(y[order], rel=1e-6)


def numbers(content: bytes, column: int, kind: str, count: int) -> np.ndarray:
    """A column of packed points, whose bytes are grouped by their significance."""
    size = np.dtype(kind).itemsize
    found = np.frombuffer(content, np.uint8, size * count, 4 * count * column)
    return np.ascontiguousarray(found.reshape(size, count).T).view(kind).ravel()


@pytest.mark.parametrize(("largest", "size"), [(2.0**24, 4), (2.0**24 + 1, 8)])
def test_packed_spans_have_lower_ends_and_lengths(largest: float, size: int) -> None:
    x, low = [0.5, 0.25], [largest, 1.0]
    made = dense.packed(curve(x, low, "span", low=low, high=[largest + 3, 5.0]), axis(0.0, 1.0))
    content = zlib.decompress(base64.b64decode(made.data))
    assert (made.columns, made.bytes, made.style) == (2, size, "span")
    assert len(content) == 2 * (4 + 2 * size)
    values = np.frombuffer(content[8:], np.uint8).reshape(2, size, 2).transpose(0, 2, 1)
    found = np.ascontiguousarray(values).view(f"<f{size}").reshape(2, 2)
    assert found.tolist() == [[1.0, largest], [4.0, 3.0]]


def test_spans_are_merged_in_a_column_of_pixels() -> None:
    low, high = [0.0, 10.0, 60.0, 0.0], [10.0, 30.0, 90.0, 0.0]
    spans = curve([0.501, 0.502, 0.503, 0.9], low, "span", low=low, high=high)
    path = dense.outline(spans, axis(0, 1), axis(0, 100), width=WIDTH, height=HEIGHT)
    assert path == "M50 30.0V120.0M50 210.0V300.0M90 299.2V300.8"
    bold = curve([0.5], [50.0], "bold-span", low=[50.0], high=[50.0])
    path = dense.outline(bold, axis(0, 1), axis(0, 100), width=WIDTH, height=HEIGHT)
    assert path == "M50 146.5V153.5"


def test_a_panel_that_follows_is_dense_with_few_points() -> None:
    rows = [{"x": 0.1, "y": 5.0, "low": 5.0, "high": 9.0, "series": "sent"}]
    made = plot(rows, y_axis=Axis(label="bytes", follows=True), style="span")
    (panel,) = made.panels
    assert panel.dense
    page = made.html()
    assert " data-follows>" in page
    assert 'class="rungs"' in page
    assert '<path class="spans" d="M' in made.svg()


def test_the_summary_has_the_mean_and_the_ends_of_each_part() -> None:
    found = dense.summarised(curve([0.001, 0.002, 0.995], [1.0, 3.0, 7.0]), axis(0, 1))
    assert len(found) == dense.SLICES
    assert found[0] is not None
    assert (found[0].value, found[0].interval) == (2.0, (1.0, 3.0))
    assert found[-1] is not None
    assert (found[-1].value, found[-1].interval) == (7.0, None)
    assert found[1:-1] == [None] * (dense.SLICES - 2)


def test_a_page_of_many_points_stays_small() -> None:
    count = 100_000
    x = np.arange(count) / 1000
    y = 10 * np.sin(x) + np.random.default_rng(1).uniform(size=count).round(2)
    made = plot({"x": x, "y": y}, title="Queue")
    assert made.panels[0].dense
    assert len(made.html()) < 600_000
    assert len(made.svg()) < 100_000
    few = plot({"x": x[: DENSE - 1], "y": y[: DENSE - 1]})
    assert not few.panels[0].dense


def test_values_outside_a_dense_panel_are_counted() -> None:
    x = np.linspace(0, 10, 3000)
    made = plot({"x": x, "y": x}, y_axis=Axis(label="y", low=0.0, high=9.0))
    outside = int((x > 9.0 + 1e-8).sum())
    assert f"Outside the axes: {outside} values." in made.html()


def test_a_span_needs_ends() -> None:
    with pytest.raises(
        TcpsfError, match="cannot plot the series `y` as spans: the rows have no ends"
    ):
        plot({"x": [1.0], "y": [2.0]}, style="span")
