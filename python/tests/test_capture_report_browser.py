"""The page of an analysed capture in Chromium: drawn charts, zoom of time-sequence plots, a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_captures import captured
from test_evaluation_page_browser import acted
from test_run_report_browser import LOOK

from tcpsf.cli import main

pytestmark = pytest.mark.browser

SEGMENTS = 100_000


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of one transfer of many segments, of which some in the first thousand are lost."""
    folder = tmp_path_factory.mktemp("capture")
    drops = ",".join("1" if number in (400, 401, 900) else "0" for number in range(901))
    path = captured(folder, sender="linux", profile="linux-6.18", size=1448 * SEGMENTS, drops=drops)
    target = folder / "page.html"
    assert main(["analyze", str(path), "--report", str(target), "--quiet"]) == 0
    return target.read_text(encoding="utf-8")


def later(folder: Path, document: str, script: str, *flags: str) -> dict[str, Any]:
    """Run a script when the page has unpacked its points."""
    waiting = f"""
        const figure = $("figure[id^=figure-flow]"), plot = $(".plot", figure);
        const labels = (kind) => [...figure.querySelectorAll(`.${{kind}} .tick`)].map((tick) => tick.textContent);
        const path = (series) => $(`.stage [data-series="${{series}}"] path`, figure).getAttribute("d");
        const wait = () => {{
          if (!figure.dataset.ready) return setTimeout(wait, 20);
          {script}
          document.querySelector("#outcome").textContent = JSON.stringify(found);
        }};
        wait();
    """
    return acted(folder, document, waiting, *flags)


@pytest.mark.parametrize("flags", [(), ("--window-size=390,800",), ("--force-dark-mode",)])
def test_every_chart_is_drawn(tmp_path: Path, rendered: str, flags: tuple[str, ...]) -> None:
    found = acted(tmp_path, rendered, LOOK, *flags)
    assert {"figure-lost-time", "figure-episodes-by-cause"} <= set(found["drawn"])
    assert all(found["drawn"].values()), found["drawn"]
    assert found["wide"] <= 0


def test_the_vertical_axis_follows_the_zoom(tmp_path: Path, rendered: str) -> None:
    found = later(
        tmp_path,
        rendered,
        """
        figure.scrollIntoView();
        found.whole = labels("rungs");
        found.pieces = path(0).split("M").length - 1;
        move(figure, 0.06);
        for (let count = 0; count < 5; count += 1) press(figure, "+");
        found.zoomed = labels("rungs");
        found.ticks = labels("ticks");
        plot.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", shiftKey: true, bubbles: true }));
        found.moved = labels("ticks");
        press(figure, "0");
        found.back = labels("rungs");
        """,
    )
    assert found["back"] == found["whole"]
    assert found["pieces"] <= 4000
    plain = [float(label.replace("\u202f", "")) for label in found["zoomed"]]
    assert 0 <= plain[0] < plain[-1] < 1448 * SEGMENTS / 4
    assert float(found["moved"][-1]) > float(found["ticks"][-1])


def test_the_readout_has_segments_and_their_cause(tmp_path: Path, rendered: str) -> None:
    found = later(
        tmp_path,
        rendered,
        """
        plot.focus();
        press(figure, "Home");
        found.first = told(figure);
        const buttons = [...figure.querySelectorAll(".legend button")];
        found.names = buttons.map((button) => button.textContent);
        const series = found.names.findIndex((name) => name.startsWith("sent again"));
        // Without the other curves the pointer finds the segments that were sent again.
        buttons.forEach((button, index) => index === series || button.click());
        press(figure, "Home");
        found.again = told(figure);
        found.bold = path(series);
        """,
    )
    assert found["names"][:3] == ["segments", "acknowledged", "end of the advertised window"]
    assert found["first"][1].startswith("segments−1–0")
    assert any(name == "sent again: RACK, at once" for name in found["names"])
    (line,) = found["again"][1:]
    start, end = (
        int(part.replace("\u202f", ""))
        for part in line.removeprefix("sent again: RACK, at once").split("–")
    )
    assert (start, end) == (400 * 1448, 401 * 1448)
    assert found["bold"].count("M") == 2
