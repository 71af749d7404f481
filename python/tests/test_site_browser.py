"""The documentation site in Chromium: each lesson is completed as a reader would, and nothing is wide."""

from __future__ import annotations

import functools
import http
import http.server
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import Browser
from conftest import REPOSITORY

SITE = REPOSITORY / "out" / "site"

PAGES = (
    "index.html",
    "docs/README.html",
    "docs/lessons/special-packets.html",
    "docs/gallery.html",
    "docs/guides/playground.html",
    "docs/reference/scenario.html",
    "api/python/tcpsf.html",
    "api/rust/tcp/index.html",
    "reports/run/run.html",
    "play/index.html",
)

# `make site` builds the site; `.ci/run` lists these tests as not run.
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not (SITE / "play" / "index.html").exists(),
        reason="`make site` has not built the site with the playground",
    ),
]


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server that prints nothing. The browser asks for an icon, which the site does not have."""

    def do_GET(self) -> None:
        """Send a file, or nothing for the icon."""
        if self.path == "/favicon.ico":
            self.send_response(http.HTTPStatus.NO_CONTENT)
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *_arguments: Any) -> None:
        """Print nothing about requests."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Address of the site on the loopback address, so that a page can look into its frame."""
    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def browser(tmp_path: Path, address: str) -> Iterator[Browser]:
    with Browser(tmp_path) as made:
        yield made
        assert made.console == []
        assert made.requests
        assert all(each.startswith((address, "blob:", "data:")) for each in made.requests)


FRAME = "document.querySelector('iframe.play').contentDocument"
OUTCOME = f"{FRAME}.querySelector('.side[data-side=a] .outcome').textContent"


def open_lesson(browser: Browser, address: str, name: str) -> None:
    browser.open(f"{address}docs/lessons/{name}.html")
    browser.wait("document.querySelector('iframe.play') !== null")
    browser.value("document.querySelector('iframe.play').scrollIntoView({behavior: 'instant'})")
    browser.wait(f"{FRAME}.documentElement.dataset.readyMs")
    # A figure that loads later would move the frame away from the pointer.
    browser.wait("document.readyState === 'complete'")
    browser.wait("[...document.images].every((each) => each.complete)")


def click(browser: Browser, index: int) -> str:
    """Click the label of a data packet in the frame, and return the new text above the drawing."""
    before = browser.value(OUTCOME)
    label = (
        f"[...{FRAME}.querySelectorAll('.side[data-side=a] .packet:not(.ack) text:first-of-type')]"
        f".filter((each) => /^\\d+–\\d+/.test(each.textContent))[{index}]"
    )
    # In a busy browser the frame may still move; then nothing happens.
    for _ in range(5):
        x, y = browser.value(
            f"(() => {{ const label = {label}; label.scrollIntoView({{block: 'center', behavior: 'instant'}});"
            " const [box, frame] = [label, document.querySelector('iframe.play')]"
            ".map((each) => each.getBoundingClientRect());"
            " return [frame.left + box.left + box.width / 2, frame.top + box.top + box.height / 2]; })()"
        )
        browser.mouse("mouseMoved", x, y)
        browser.mouse("mousePressed", x, y, buttons=1)
        browser.mouse("mouseReleased", x, y)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            if (after := str(browser.value(OUTCOME))) != before:
                return after
            time.sleep(0.05)
    raise AssertionError(f"a click on packet {index} changes nothing")


def complete_s(text: str) -> float:
    found = re.search(r"Complete after ([\d.]+) s", text)
    assert found, text
    return float(found[1])


def test_the_position_of_a_lost_packet(browser: Browser, address: str) -> None:
    """The lesson says: 0.137 s without a loss, 0.186 s without the fifth packet, 1.25 s more at the end."""
    open_lesson(browser, address, "special-packets")
    assert complete_s(browser.value(OUTCOME)) == pytest.approx(0.137, abs=0.001)
    assert complete_s(click(browser, 4)) == pytest.approx(0.186, abs=0.001)
    assert complete_s(click(browser, 4)) == pytest.approx(0.137, abs=0.001)
    assert complete_s(click(browser, 9)) == pytest.approx(0.137 + 1.25, abs=0.01)


def test_the_repair_of_a_lost_packet(browser: Browser, address: str) -> None:
    open_lesson(browser, address, "what-repaired-this-loss")
    assert "Repaired by RACK" in click(browser, 4)
    click(browser, 4)
    text = click(browser, 9)
    assert "Repaired by tail loss probe" in text
    assert "0.34" in text


def test_the_queue_of_a_comparison(browser: Browser, address: str) -> None:
    open_lesson(browser, address, "does-framing-still-pay")
    browser.wait(f"{FRAME}.documentElement.dataset.queueDone === 'true'")
    result = browser.value(f"{FRAME}.querySelector('#queue-result').textContent")
    assert "reno+sack" in result


def test_a_report_of_the_site_opens_its_flow(browser: Browser, address: str) -> None:
    browser.open(f"{address}reports/run/run.html")
    browser.wait("document.querySelector('.playground a') !== null")
    browser.click("document.querySelector('.playground a')")
    browser.wait("document.documentElement.dataset.readyMs")
    assert "/play/index.html#" in browser.value("location.href")
    assert "Repaired by" in browser.value("document.querySelector('.outcome').textContent")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1280])
def test_no_page_is_wider_than_the_window(
    tmp_path: Path, address: str, width: int, *, dark: bool
) -> None:
    with Browser(tmp_path, width=width, height=800, dark=dark) as browser:
        for page in PAGES:
            browser.open(address + page)
            browser.wait("document.readyState === 'complete'")
            wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert browser.value(wide) <= 0, page
        # rustdoc's pages name a font twice, once with other credentials.
        assert [each for each in browser.console if not each.startswith("A preload for")] == []
