"""Charts of a user's own data in Chromium: zoom, many points, several panels, a phone."""

from __future__ import annotations

import html
import math
from pathlib import Path
from typing import Any

import pytest
from test_evaluation_page_browser import acted

from tcpsf.chart import Axis, Plot, page_of, plot

pytestmark = pytest.mark.browser

POINTS = 100_000

ZOOM = """
const ticks = (figure) => [...figure.querySelectorAll(".ticks .tick")].map((tick) => tick.textContent);
const corners = (figure) => $(".stage .line", figure).getAttribute("d").split(/[ML]/).slice(1)
  .map((pair) => pair.split(" ").map(Number));
"""


def queue() -> Plot:
    """A line of 100 000 points, with one high value at 42 s."""
    times = [number / 1000 for number in range(POINTS)]
    values = [
        10 * math.sin(time) + number * 7919 % 1000 / 1000 for number, time in enumerate(times)
    ]
    values[42_000] = 80.0
    return plot(
        {"x": times, "y": values},
        x_axis=Axis(label="time", unit="s"),
        y_axis=Axis(label="queue", unit="packets"),
        title="Queue",
        key="queue",
    )


def panels() -> Plot:
    rows = [
        {"x": 10.0**exponent, "y": 1.0 + number, "low": 0.5, "high": 3.0}
        | {"series": sender, "panel": panel}
        for panel in ("20 ms", "200 ms")
        for number, sender in enumerate(("reno", "fs"))
        for exponent in range(-4, 1)
    ]
    axis = Axis(label="loss", scale="log")
    return plot(rows, x_axis=axis, y_axis="time", title="Time against loss", key="panels")


@pytest.fixture(scope="module")
def rendered() -> str:
    return page_of([queue(), panels()], title="Two charts")


def later(folder: Path, document: str, script: str) -> dict[str, Any]:
    """Run a script when the page has unpacked its points."""
    waiting = f"""
        {ZOOM}
        const wait = () => {{
          if (!document.querySelector("figure[data-ready]")) return setTimeout(wait, 20);
          {script}
          document.querySelector("#outcome").textContent = JSON.stringify(found);
        }};
        wait();
    """
    return acted(folder, document, waiting)


def test_a_zoom_shows_more_of_the_points(tmp_path: Path, rendered: str) -> None:
    found = later(
        tmp_path,
        rendered,
        """
        const figure = $("#figure-queue"), plot = $(".plot", figure);
        found.whole = ticks(figure);
        found.corners = corners(figure).length;
        move(figure, 0.432);
        for (let count = 0; count < 12; count += 1) press(figure, "+");
        found.zoomed = plot.classList.contains("zoomed");
        found.ticks = ticks(figure);
        found.near = told(figure)[0];
        found.top = Math.min(...corners(figure).map(([, y]) => y));
        found.outside = corners(figure).filter(([x]) => x < -400 || x > 1400).length;
        press(figure, "0");
        found.back = ticks(figure);
        found.again = corners(figure).length;
        """,
    )
    assert found["whole"] == found["back"]
    assert found["whole"][0] == "0"
    assert 1000 < found["corners"] <= 4000
    assert 1000 < found["again"] <= 4100
    assert found["zoomed"]
    assert all(float(tick) == pytest.approx(42, abs=3) for tick in found["ticks"])
    assert found["near"].startswith("time, s: 4")
    assert found["outside"] == 0


def test_every_point_of_a_dense_curve_can_be_read_and_saved(tmp_path: Path, rendered: str) -> None:
    found = later(
        tmp_path,
        rendered,
        """
        const figure = $("#figure-queue");
        const NativeBlob = Blob;
        window.Blob = function (parts, options) { found.csv = parts[0]; return new NativeBlob(parts, options); };
        HTMLAnchorElement.prototype.click = function () { found.name = this.download; };
        $(".save", figure).click();
        found.csv = found.csv.split("\\r\\n");
        found.count = found.csv.length;
        found.row = found.csv[42001];
        found.csv = found.csv.slice(0, 3);
        $(".plot", figure).focus();
        press(figure, "Home");
        found.first = told(figure);
        for (let count = 0; count < 25; count += 1) press(figure, "+");
        press(figure, "ArrowRight");
        found.second = told(figure)[0];
        press(figure, "End");
        found.last = told(figure)[0];
        found.rows = figure.querySelectorAll("tbody tr").length;
        """,
    )
    assert found["name"] == "figure-queue.csv"
    assert found["csv"][0] == '"series","time, s","value","low","high"'
    assert found["csv"][1].startswith('"queue",0,')
    assert found["count"] == POINTS + 2
    assert found["row"] == '"queue",42,80'
    assert found["first"][0] == "time, s: 0"
    assert found["second"] == "time, s: 0.001"
    assert found["last"] == "time, s: 99.999"
    assert 90 <= found["rows"] <= 100


def test_a_drag_selects_a_part_of_the_axis(tmp_path: Path, rendered: str) -> None:
    found = later(
        tmp_path,
        rendered,
        """
        const figure = $("#figure-panels"), plot = $(".plot", figure), chart = $(".chart", figure);
        figure.scrollIntoView();
        plot.setPointerCapture = () => {};
        const box = chart.getBoundingClientRect();
        const at = (type, share) => plot.dispatchEvent(new PointerEvent(type, {
          bubbles: true, pointerType: "mouse", button: 0, clientX: box.left + share * box.width, clientY: box.top + 30,
        }));
        found.whole = ticks($(".panel", figure));
        at("pointerdown", 0.3); at("pointermove", 0.4); at("pointermove", 0.7); at("pointerup", 0.7);
        found.stage = $(".stage", chart).getAttribute("width");
        found.ticks = ticks($(".panel", figure));
        plot.dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
        found.back = ticks($(".panel", figure));
        const wheel = (ctrlKey) => {
          const event = new WheelEvent("wheel", { ctrlKey, deltaY: -80, clientX: box.left + 9, cancelable: true });
          plot.dispatchEvent(event);
          return event.defaultPrevented;
        };
        found.wheel = [wheel(false), plot.classList.contains("zoomed"), wheel(true), plot.classList.contains("zoomed")];
        """,
    )
    assert found["whole"] == found["back"]
    assert float(found["stage"].rstrip("%")) == pytest.approx(250, rel=0.05)
    assert found["ticks"]
    assert found["wheel"] == [False, False, True, True]


def test_the_legend_and_the_keyboard_serve_every_panel(tmp_path: Path, rendered: str) -> None:
    found = later(
        tmp_path,
        rendered,
        """
        const figure = $("#figure-panels");
        found.names = [...figure.querySelectorAll(".plot")].map((plot) => plot.getAttribute("aria-label").split(".")[0]);
        const buttons = figure.querySelectorAll(".legend button");
        buttons[0].click();
        found.drawn = [...figure.querySelectorAll(".panel")].map((panel) => [0, 1].map((series) => drawn(panel, series)));
        const plot = figure.querySelectorAll(".plot")[1];
        plot.focus();
        plot.dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }));
        found.told = [...figure.querySelectorAll(".readout")].map((readout) => readout.hidden ? null : readout.textContent);
        found.tables = [...figure.querySelectorAll("caption")].map((caption) => caption.textContent);
        """,
    )
    assert found["names"] == ["Time against loss, 20 ms", "Time against loss, 200 ms"]
    assert found["drawn"] == [[False, True], [False, True]]
    assert found["told"] == [None, "loss: 1fs2.0 [0.5,3.0]"]
    assert found["tables"] == ["20 ms", "200 ms"]


@pytest.mark.parametrize("width", [1280, 390])
def test_panels_fit_the_page(tmp_path: Path, rendered: str, width: int) -> None:
    frame = f'<iframe id="page" style="border:0;width:{width}px;height:900px" srcdoc="{html.escape(rendered)}"></iframe>'
    found = acted(
        tmp_path,
        f"<!doctype html><html><body>{frame}</body></html>",
        """
        const inner = $("#page").contentDocument;
        found.wide = inner.documentElement.scrollWidth;
        const panels = inner.querySelectorAll("#figure-panels .panel");
        found.lefts = [...panels].map((panel) => panel.getBoundingClientRect().left);
        """,
    )
    assert width - 20 < found["wide"] <= width
    assert len(set(found["lefts"])) == (2 if width == 1280 else 1)
