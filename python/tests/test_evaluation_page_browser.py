"""The report page in Chromium: no console error, charts that answer, nothing wider than a phone.

Run by ``make test-browser``. Chromium loads the page with a script behind it that does what a
reader would and leaves what it found in the document; ``--dump-dom`` prints that,
``--enable-logging`` what the console says.
"""

from __future__ import annotations

import dataclasses
import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from example_report import example

from tcpsf.evaluation.data import Drawing
from tcpsf.report.evaluation_page import page

pytestmark = pytest.mark.browser

HELPERS = """
const found = {};
const $ = (selector, root = document) => root.querySelector(selector);
function move(figure, share) {
  const chart = $(".chart", figure), box = chart.getBoundingClientRect();
  const event = { bubbles: true, clientX: box.left + share * box.width, clientY: box.top + 20 };
  document.elementFromPoint(event.clientX, event.clientY).dispatchEvent(new PointerEvent("pointermove", event));
}
function press(figure, key) {
  $(".plot", figure).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}
function told(figure) {
  const readout = $(".readout", figure);
  return readout.hidden ? null : [...readout.children].map((line) => line.textContent);
}
const visible = (part) => part.getClientRects().length > 0;
const drawn = (figure, series) => [...figure.querySelectorAll(`.chart [data-series="${series}"]`)].some(visible);
"""
REPORT = """
const outcome = document.createElement("pre");
outcome.id = "outcome";
outcome.textContent = JSON.stringify(found);
document.body.append(outcome);
"""


@pytest.fixture(scope="module")
def rendered() -> str:
    return page(example())


def dumped(folder: Path, document: str, *flags: str) -> tuple[str, list[str]]:
    """The document as Chromium leaves it, and what its console said."""
    chromium = shutil.which("chromium")
    assert chromium is not None, (
        "no `chromium` on the PATH: on Debian, as root: apt-get install chromium"
    )
    source = folder / "page.html"
    source.write_text(document, encoding="utf-8")
    done = subprocess.run(
        [
            chromium,
            "--headless",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            f"--user-data-dir={folder / 'profile'}",
            "--window-size=1280,900",
            "--enable-logging=stderr",
            "--v=0",
            "--virtual-time-budget=5000",
            *flags,
            "--dump-dom",
            source.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout, [
        line for line in done.stderr.splitlines() if re.search(r":CONSOLE[:(]", line)
    ]


def acted(folder: Path, document: str, script: str, *flags: str) -> dict[str, Any]:
    """What a script behind the page found; the console must have stayed silent."""
    behind = f'<script>window.addEventListener("load", () => {{ {HELPERS} {script} {REPORT} }});</script></body>'
    dom, console = dumped(folder, document.replace("</body>", behind), *flags)
    assert console == []
    match = re.search(r'<pre id="outcome">(.*?)</pre>', dom, re.DOTALL)
    assert match is not None, "the script behind the page came to no end"
    found: dict[str, Any] = json.loads(html.unescape(match[1]))
    return found


def test_an_error_would_be_seen(tmp_path: Path, rendered: str) -> None:
    _, console = dumped(
        tmp_path, rendered.replace("</body>", "<script>nothing.at.all()</script></body>")
    )
    assert len(console) == 1
    assert "nothing is not defined" in console[0]


def test_the_network_is_out_of_reach(tmp_path: Path, rendered: str) -> None:
    _, console = dumped(
        tmp_path, rendered.replace("</body>", '<img src="other.png" alt=""></body>')
    )
    assert len(console) == 1
    assert "Content Security Policy" in console[0]


def test_hover_shows_every_value_at_that_place(tmp_path: Path, rendered: str) -> None:
    found = acted(
        tmp_path,
        rendered,
        """
        const figure = $("#figure-over-load");
        figure.scrollIntoView();
        found.before = told(figure);
        move(figure, 0.8);
        found.over = told(figure);
        found.guide = $(".guide", figure).getAttribute("x1");
        $(".plot", figure).dispatchEvent(new PointerEvent("pointerleave"));
        found.after = told(figure);
        found.silent = document.querySelectorAll(".readout:not([hidden])").length;
        """,
    )
    assert found["before"] is None
    assert found["over"][0] == "load: 0.8"
    assert [line.partition(" ±")[0] for line in found["over"][1:]] == [
        "Classic2.000",
        "Classic, paper2.1",
        "VS-TCP-SF–",
        "VS-TCP-SF, paper2.5",
        "FS-TCP-SF2.80",
        "FS-TCP-SF, paper2.9",
    ]
    assert 75 < float(found["guide"].rstrip("%")) < 85
    assert found["after"] is None
    assert found["silent"] == 0


def test_the_keyboard_steps_through_the_values(tmp_path: Path, rendered: str) -> None:
    found = acted(
        tmp_path,
        rendered,
        """
        const figure = $("#figure-by-class"), plot = $(".plot", figure);
        found.steps = [];
        plot.focus();
        found.focused = document.activeElement === plot;
        found.at_once = told(figure)[0];
        for (const key of ["ArrowRight", "ArrowRight", "ArrowLeft", "End", "ArrowRight", "Home", "ArrowLeft"]) {
          press(figure, key);
          found.steps.push(told(figure)[0]);
        }
        press(figure, "Escape");
        found.last = told(figure);
        found.labelled = plot.getAttribute("aria-label");
        """,
    )
    assert found["focused"]
    sizes = ["179", "251", "179", "284\u202f454", "284\u202f454", "119", "119"]
    assert found["at_once"] == "flow size, bytes: 119"
    assert found["steps"] == [f"flow size, bytes: {size}" for size in sizes]
    assert found["last"] is None
    assert found["labelled"].startswith("Completion time by class.")


def test_the_legend_takes_series_away_and_back(tmp_path: Path, rendered: str) -> None:
    found = acted(
        tmp_path,
        rendered,
        """
        const figure = $("#figure-over-load"), buttons = [...figure.querySelectorAll(".legend button")];
        const state = () => ({
          drawn: [0, 1, 2].map((series) => drawn(figure, series)),
          pressed: buttons.map((button) => button.getAttribute("aria-pressed")),
        });
        found.count = buttons.length;
        found.names = buttons.map((button) => button.textContent);
        found.focusable = buttons.every((button) => { button.focus(); return document.activeElement === button; });
        found.states = [state()];
        buttons[1].click();
        found.states.push(state());
        press(figure, "Home");
        found.told = told(figure).length;
        buttons[1].click();
        found.states.push(state());
        found.back = told(figure).length;
        """,
    )
    assert found["count"] == 3
    assert found["names"] == ["Classic", "VS-TCP-SF", "FS-TCP-SF"]
    assert found["focusable"]
    whole = {"drawn": [True, True, True], "pressed": ["true", "true", "true"]}
    without = {"drawn": [True, False, True], "pressed": ["true", "false", "true"]}
    assert found["states"] == [whole, without, whole]
    assert (found["told"], found["back"]) == (3, 4)  # the place itself, and a line a series


def test_values_are_saved_as_csv(tmp_path: Path, rendered: str) -> None:
    found = acted(
        tmp_path,
        rendered,
        """
        const saved = [];
        const NativeBlob = Blob;
        window.Blob = function (parts, options) { saved.push(parts[0]); return new NativeBlob(parts, options); };
        const click = HTMLAnchorElement.prototype.click;
        HTMLAnchorElement.prototype.click = function () { found.name = this.download; };
        $("#figure-over-load .save").click();
        HTMLAnchorElement.prototype.click = click;
        found.csv = saved[0];
        """,
    )
    assert found["name"] == "figure-over-load.csv"
    head, first, *rest = found["csv"].splitlines()
    assert head.startswith(
        '"load","Classic","Classic, low","Classic, high","Classic, paper","VS-TCP-SF","VS-TCP-SF, low"'
    )
    assert re.match(
        r'"0\.1","0\.5263\d+","0\.5\d*","0\.55\d+","","0\.6', first
    )  # as computed, not as shown
    assert len(rest) == 10
    assert {line.count(",") for line in (first, *rest)} == {12}


def test_nothing_overlaps_or_sticks_out(tmp_path: Path, rendered: str) -> None:
    """On desk, tablet and phone, as frames: no headless window is as narrow as a phone."""
    for width in (1280, 1024, 780, 390):
        style = f"border:0;width:{width}px;height:900px"
        frame = f'<iframe id="page" style="{style}" srcdoc="{html.escape(rendered)}"></iframe>'
        found = acted(
            tmp_path,
            f"<!doctype html><html><body>{frame}</body></html>",
            """
            const inner = $("#page").contentDocument;
            found.wide = inner.documentElement.scrollWidth;
            found.charts = inner.querySelectorAll(".chart").length;
            found.texts = 0;
            found.overlaps = [];
            found.outside = [];
            const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
            for (const figure of inner.querySelectorAll("figure")) {
              const texts = [...figure.querySelectorAll(".chart text, .along, .upward, .legend li")].filter(visible);
              const foot = figure.getBoundingClientRect().bottom;
              const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect()]);
              found.texts += texts.length;
              for (const [i, [told, box]] of boxes.entries()) {
                if (box.left < 0 || box.right > found.wide || box.bottom > foot) found.outside.push(told);
                for (const [other, its] of boxes.slice(i + 1))
                  if (!apart(box, its)) found.overlaps.push([figure.id, told, other]);
              }
            }
            """,
        )
        assert found["charts"] == len(
            [figure for section in example().sections for figure in section.figures]
        )
        assert found["texts"] > 100
        assert found["overlaps"] == []
        assert found["outside"] == []
        assert width - 20 < found["wide"] <= width  # less the scroll bar


CLIPPED = """
    const inner = $("#page").contentDocument, view = $("#page").contentWindow;
    for (const closed of inner.querySelectorAll("details")) closed.open = true;
    const scrolls = (part) => ["auto", "scroll"].includes(view.getComputedStyle(part).overflowX);
    found.looked = 0;
    found.clipped = [];
    found.scrolling = [];
    for (const part of inner.querySelectorAll("main *, header *, nav *, footer *")) {
      if (!(part instanceof view.HTMLElement) || !visible(part)) continue;
      found.looked += 1;
      if (part.scrollWidth <= part.clientWidth + 1 || part.clientWidth === 0) continue;
      if (scrolls(part)) {
        found.scrolling.push(part.getAttribute("aria-label") || part.tagName);
        if (part.tabIndex !== 0) found.clipped.push([part.tagName, "no keyboard reaches its scroll"]);
      } else if (!part.closest(".plot") && ![...parents(part)].some(scrolls)) {
        found.clipped.push([part.tagName, part.className, part.textContent.slice(0, 40)]);
      }
    }
    function* parents(part) { for (let up = part.parentElement; up; up = up.parentElement) yield up; }
"""


@pytest.mark.parametrize("width", [1280, 1024, 390])
def test_no_part_is_wider_than_its_place_without_a_scroll_of_its_own(
    tmp_path: Path, rendered: str, width: int
) -> None:
    frame = f'<iframe id="page" style="border:0;width:{width}px;height:900px" srcdoc="{html.escape(rendered)}"></iframe>'
    found = acted(tmp_path, f"<!doctype html><html><body>{frame}</body></html>", CLIPPED)
    assert found["looked"] > 500
    assert found["clipped"] == []
    if width == 1280:
        assert [each for each in found["scrolling"] if not each.startswith("Values of")] == []


def test_the_keyboard_steps_through_bars_that_lie(tmp_path: Path, rendered: str) -> None:
    found = acted(
        tmp_path,
        rendered,
        """
        const figure = $("#figure-lying"), plot = $(".plot", figure);
        figure.scrollIntoView();
        plot.focus();
        press(figure, "Home");
        found.first = told(figure);
        press(figure, "ArrowDown");
        found.second = told(figure)[0];
        found.guide = [$(".guide", figure).getAttribute("y1"), $(".guide", figure).getAttribute("x2")];
        """,
    )
    assert found["first"][0] == "setting: Tahoe, RED by packets, ECN, IW 1"
    assert len(found["first"]) == 3
    assert found["second"] == "setting: Tahoe, RED by packets, ECN, IW 2"
    assert found["guide"][0].endswith("%")
    assert found["guide"][1] == "100%"


def test_a_drawing_does_not_stop_the_script(tmp_path: Path) -> None:
    report = example()
    drawing = Drawing(key="d", title="D", source="S", caption="C", svg="<svg></svg>")
    first = dataclasses.replace(report.sections[0], drawings=(drawing,))
    html = page(dataclasses.replace(report, sections=(first, *report.sections[1:])))
    found = acted(
        tmp_path, html, 'found.buttons = $("#figure-over-load").querySelectorAll("button").length;'
    )
    assert found["buttons"] > 3


def test_without_scripts_the_page_is_whole(tmp_path: Path, rendered: str) -> None:
    dom, console = dumped(tmp_path, rendered, "--blink-settings=scriptEnabled=false")
    assert console == []
    assert "<button" not in dom
    assert dom.count("<summary>The values as a table</summary>") == dom.count("<figure ")
