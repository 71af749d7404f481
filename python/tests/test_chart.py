"""Charts of the report page: positions, axes, bars, colours."""

from __future__ import annotations

import dataclasses
import re
from typing import Literal
from xml.etree import ElementTree as ET

import pytest
from example_report import estimate, example, over_load, single, table
from hypothesis import example as pinned
from hypothesis import given
from hypothesis import strategies as st

from tcpsf import TcpsfError
from tcpsf.chart import axes, lying, marks, upright
from tcpsf.evaluation.data import Axis, Figure, Point, PublishedPoint, Section, Series
from tcpsf.report.evaluation_page import page, panel
from tcpsf.stats import Estimate

NUMBERS = Axis(label="x", unit="", scale="linear")


def figure(*series: Series, x: Axis = NUMBERS, y: Axis = NUMBERS) -> Figure:
    return Figure(key="f", title="F", source="S", caption="C", x=x, y=y, series=series)


def line(
    *points: tuple[float | str, float | None], key: str = "a", half: float | None = 0.5
) -> Series:
    return Series(
        key=key,
        label=key,
        points=tuple(Point(x=x, y=None if y is None else estimate(y, half)) for x, y in points),
    )


def drawn(what: Figure) -> tuple[upright.Drawn, ET.Element]:
    made = upright.draw(panel(what), marks.Palette())
    return made, ET.fromstring(made.svg)  # noqa: S314  our own


def places(svg: ET.Element, kind: str) -> list[tuple[float, float]]:
    """Where markers stand: per cent from the left, pixels from the top."""
    return [
        (float(use.attrib["x"].rstrip("%")), float(use.attrib["y"]))
        for use in svg.iter("use")
        if use.get("class") == kind
    ]


def corners(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", path)]


def path(svg: ET.Element, kind: str) -> str:
    (found,) = [each.attrib["d"] for each in svg.iter("path") if each.get("class") == kind]
    return found


def test_points_stand_where_their_values_are() -> None:
    x = Axis(label="x", unit="s", scale="linear", low=0, high=10)
    logarithmic = Axis(label="y", unit="", scale="log", low=1, high=100)
    series = dataclasses.replace(
        line((0.0, 1.0), (5.0, 10.0), (10.0, 100.0)), published=(PublishedPoint(x=2.5, y=10.0),)
    )
    _, svg = drawn(figure(series, x=x, y=logarithmic))
    assert places(svg, "m") == [(0, 300), (50, 150), (100, 0)]
    assert places(svg, "p") == [(25, 150)]


def test_a_band_covers_the_interval_and_a_gap_stays_a_gap() -> None:
    y = Axis(label="y", unit="", scale="linear", low=0, high=10)
    x = Axis(label="x", unit="", scale="linear", low=0, high=10)
    _, svg = drawn(
        figure(line((0, 1), (2, 2), (4, None), (6, 3), (8, None), (9, 4), (10, 5)), x=x, y=y)
    )
    first, second = path(svg, "band").split("Z")[:2]
    assert corners(first) == [(0, 255), (200, 225), (200, 255), (0, 285)]
    assert corners(second) == [(900, 165), (1000, 135), (1000, 165), (900, 195)]
    assert path(svg, "line").count("M") == 2
    # The point between two gaps has no band, so it has a whisker.
    (alone,) = [each.attrib for each in svg.iter("line") if each.get("class") == "interval"]
    assert (alone["x1"], float(alone["y1"]), float(alone["y2"])) == ("60.00%", 225, 195)


def test_one_run_has_no_interval() -> None:
    made, svg = drawn(figure(line((0, 1), (1, 2), half=None)))
    assert not made.banded
    assert not made.whiskered
    assert len(places(svg, "m")) == 2


def test_steps_keep_their_height() -> None:
    unit = Axis(label="", unit="", scale="linear", low=0, high=1)
    step = dataclasses.replace(line((0, 0), (0.5, 1), (1, 0.5)), style="step")
    _, svg = drawn(figure(step, x=unit, y=unit))
    assert corners(path(svg, "line")) == [(0, 300), (500, 300), (500, 0), (1000, 0), (1000, 150)]


def test_bars_stand_on_zero_side_by_side() -> None:
    category = Axis(label="", unit="", scale="category")
    y = Axis(label="", unit="", scale="linear", low=-10, high=10)
    bars = [
        dataclasses.replace(line(("p", 5), ("q", -5), key=key), style="bar") for key in ("a", "b")
    ]
    _, svg = drawn(figure(*bars, x=category, y=y))
    found = [
        [float(each.attrib[name].rstrip("%")) for name in ("x", "width", "y", "height")]
        for each in svg.iter("rect")
    ]
    assert found == [[5, 20, 75, 75], [55, 20, 150, 75], [25, 20, 75, 75], [75, 20, 150, 75]]


def lying_bars(*values: float) -> Figure:
    points = tuple(
        Point(x=name, y=estimate(value, 5))
        for name, value in zip(("A, p", "A, q", "B, p"), values, strict=True)
    )
    return dataclasses.replace(
        figure(
            Series(key="vs", label="VS", style="bar", points=points),
            x=Axis(label="setting", unit="", scale="category"),
            y=Axis(label="gain", unit="%", scale="linear", low=-100, high=100),
        ),
        groups=(("A", 2), ("B", 1)),
    )


def test_groups_of_bars_lie_below_each_other() -> None:
    made = lying.draw(panel(lying_bars(50, -20, 10)), marks.Palette())
    svg = ET.fromstring(made.svg)  # noqa: S314  our own
    bars = [
        [float(each.attrib[name].rstrip("%")) for name in ("x", "width")]
        for each in svg.iter("rect")
    ]
    assert bars == [[50, 25], [40, 10], [50, 5]]
    tops = [float(each.attrib["y"]) for each in svg.iter("rect")]
    assert tops == sorted(tops)
    words = [
        (each.get("class"), each.text)
        for each in svg.iter("text")
        if each.get("text-anchor") == "end"
    ]
    assert words == [("head", "A"), ("tick", "p"), ("tick", "q"), ("head", "B"), ("tick", "p")]
    assert made.rows is not None
    assert list(made.rows) == ["A, p", "A, q", "B, p"]
    height = float(svg.attrib["height"])
    for top, place in zip(tops, made.rows.values(), strict=True):
        assert top < place * height < top + lying.BAR


def test_a_bar_beyond_the_axis_is_cut_with_a_mark() -> None:
    svg = ET.fromstring(lying.draw(panel(lying_bars(-272, 10, 240)), marks.Palette()).svg)  # noqa: S314  our own
    assert [each.text for each in svg.iter("text") if each.get("class") == "cut"] == [
        "◂ −272 ±5",
        "240 ±5 ▸",
    ]
    ends = [
        (float(b.attrib["x"][:-1]), float(b.attrib["x"][:-1]) + float(b.attrib["width"][:-1]))
        for b in svg.iter("rect")
    ]
    assert ends == [(0, 50), (50, 55), (50, 100)]
    with pytest.raises(TcpsfError, match="cannot draw the figure `f`: its groups"):
        lying.draw(
            panel(dataclasses.replace(lying_bars(1, 2, 3), groups=(("A", 2),))), marks.Palette()
        )


def test_what_the_axes_do_not_reach_is_said() -> None:
    y = Axis(label="", unit="", scale="log")
    what = figure(line((0, 1), (1, 0), (2, -1), (3, 10)), y=y)
    assert drawn(what)[0].missing == 2
    html = page(
        dataclasses.replace(example(), sections=(Section(key="s", title="S", figures=(what,)),))
    )
    assert "Outside the axes, but in the table: 2 values." in html
    assert ">0.00 ±0.50</td>" in html


def test_every_key_has_a_style_of_its_own() -> None:
    keys = [str(number) for number in range(marks.COLOURS + 2)]
    together_drawn = panel(figure(*(line((0, 1), key=key) for key in keys)))
    curves, known = together_drawn.curves, marks.palette([together_drawn])
    together = marks.styles(curves, known)
    assert len(set(together)) == len(curves)
    assert together == tuple(style for each in curves for style in marks.styles([each], known))


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(TcpsfError, match="cannot place `web` on the linear axis `x`"):
        drawn(figure(line(("web", 1))))
    for scale, low, high in (("linear", 2, 1), ("log", 0, 1)):
        with pytest.raises(
            TcpsfError, match=f"cannot draw the {scale} axis `y` from {low} to {high}"
        ):
            drawn(figure(line((0, 1)), y=Axis(label="y", unit="", scale=scale, low=low, high=high)))  # type: ignore[arg-type]
    twice = Section(key="s", title="S", figures=(over_load(), over_load()))
    with pytest.raises(TcpsfError, match="more than one figure `over-load`"):
        page(dataclasses.replace(example(), sections=(twice,)))
    short = dataclasses.replace(table(), columns=("bytes", "Classic"))
    with pytest.raises(
        TcpsfError, match="cannot lay out the table `times`: row `119` has 3 cells"
    ) as refused:
        page(
            dataclasses.replace(example(), sections=(Section(key="s", title="S", tables=(short,)),))
        )
    assert refused.value.hint == "the columns `bytes`, `Classic` need 1"


@given(
    low=st.floats(-1e6, 1e6),
    span=st.floats(1e-3, 1e6),
    scale=st.sampled_from(["linear", "log"]),
    rounded=st.booleans(),
    ticks=st.integers(4, 10),
)
def test_axes_have_a_few_ticks_that_do_not_touch(
    low: float, span: float, scale: str, rounded: bool, ticks: int
) -> None:
    axis = Axis(label="", unit="", scale=scale)  # type: ignore[arg-type]
    low = abs(low) + 1e-3 if scale == "log" else low
    made = axes.numeric(axis, (low, low + span), ticks=ticks, rounded=rounded)
    rounding = 1e-8 * max(span, abs(low), abs(low + span))
    assert made.low <= low + rounding
    assert made.high >= low + span - rounding
    found = list(made.ticks())
    assert 2 <= len(found) <= 16
    assert all(-1e-9 <= tick.place <= 1 + 1e-9 for tick in found)
    assert [tick.place for tick in found] == sorted(tick.place for tick in found)
    for room in (upright.WIDE, upright.NARROW):
        assert not axes.crowded(axes.labelled(found, room), room)


VALUES = st.one_of(st.just(0.0), st.floats(1e-9, 1e9), st.floats(-1e9, -1e-9))
ESTIMATES = st.one_of(
    st.none(), st.builds(estimate, VALUES, st.one_of(st.none(), st.just(0.0), st.floats(1e-9, 1e9)))
)


@given(
    columns=st.lists(st.lists(st.tuples(VALUES, ESTIMATES), max_size=8), max_size=10),
    published=st.lists(st.tuples(VALUES, VALUES), max_size=3),
    scales=st.tuples(
        st.sampled_from(["linear", "log", "category"]), st.sampled_from(["linear", "log"])
    ),
    styles=st.lists(st.sampled_from(["line", "step", "bar"]), min_size=10, max_size=10),
)
@pinned(
    columns=[[], [], [(7.0, None)]],
    published=[(0.0, 0.0), (1.0, 0.0)],
    scales=("linear", "linear"),
    styles=["bar", "line", "bar"],
)
@pinned(
    columns=[[], [(2.0, None)]],
    published=[(1.0, 0.0)],
    scales=("log", "linear"),
    styles=["bar", "bar"],
)
def test_anything_can_be_drawn(
    columns: list[list[tuple[float, Estimate | None]]],
    published: list[tuple[float, float]],
    scales: tuple[Literal["linear", "log", "category"], Literal["linear", "log"]],
    styles: list[Literal["line", "step", "bar"]],
) -> None:
    series = tuple(
        Series(
            key=str(number),
            label=str(number),
            points=tuple(Point(x=x, y=y) for x, y in column),
            published=tuple(PublishedPoint(x=x, y=y) for x, y in published) if number == 0 else (),
            style=style,
        )
        for number, (column, style) in enumerate(zip(columns, styles, strict=False))
    )
    x, y = (Axis(label="", unit="", scale=scale) for scale in scales)
    made, svg = drawn(figure(*series, x=x, y=y))
    assert len(made.styles) == len(series)
    assert "nan" not in made.svg
    assert "inf" not in made.svg
    for across, down in (*places(svg, "m"), *places(svg, "p")):
        assert -1 <= across <= 101
        assert 0 <= down <= 300


def test_one_point_has_room_around() -> None:
    _, svg = drawn(single())
    assert places(svg, "m") == [(50, 150)]
