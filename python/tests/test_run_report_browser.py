"""The pages of `--report` in Chromium: no console error, drawn charts, nothing wider than a phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_evaluation_page_browser import acted
from test_serve_page import rows

from tcpsf import Scenario, run
from tcpsf.report.serve_page import ConnectionSums

pytestmark = pytest.mark.browser

EXAMPLES = Path(__file__).parents[1] / "tcpsf" / "examples"

LOOK = """
const shown = (figure) => [...figure.querySelectorAll(".chart")].every((chart) => {
  const marks = [...chart.querySelectorAll("[data-series] *")];
  return visible(chart) && marks.some((mark) => {
    const box = mark.getBoundingClientRect();
    return box.width > 0 || box.height > 0;
  });
});
const figures = [...document.querySelectorAll("figure")];
found.drawn = Object.fromEntries(figures.map((figure) => [figure.id, shown(figure)]));
found.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
const ladder = $(".ladder");
found.ladder = ladder ? ladder.getBoundingClientRect().height > 200 : null;
found.sheet = ladder ? getComputedStyle($(".sheet", ladder)).fill : null;
"""

RUNS = {
    "one-short-flow": "30s",
    "lossy-access": "30s",
    "smart-framing-web": "10s",
}


@pytest.mark.parametrize("flags", [(), ("--window-size=390,800",), ("--force-dark-mode",)])
@pytest.mark.parametrize("name", RUNS)
def test_charts_of_a_run(tmp_path: Path, name: str, flags: tuple[str, ...]) -> None:
    scenario = Scenario.from_toml(EXAMPLES / f"{name}.toml").with_value("duration", RUNS[name])
    page = run(scenario).report(tmp_path / "run.html").read_text(encoding="utf-8")
    found = acted(tmp_path, page, LOOK, *flags)
    assert {"figure-completion-times", "figure-queues", "figure-losses"} <= set(found["drawn"])
    assert all(found["drawn"].values()), found["drawn"]
    assert found["wide"] <= 0
    assert found["ladder"] is True
    assert (found["sheet"] != "rgb(255, 255, 255)") == ("--force-dark-mode" in flags)


def test_charts_of_a_server(tmp_path: Path) -> None:
    sums = ConnectionSums()
    sums.add(rows(400))
    page = sums.page(task="serve", counters={"sent_packets": 1}, duration_s=20.0)
    found = acted(tmp_path, page, LOOK)
    assert len(found["drawn"]) == 3
    assert all(found["drawn"].values()), found["drawn"]
