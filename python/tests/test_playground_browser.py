"""The playground in Chromium: drops by click, delays, keys, the address, exports, a phone."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import Browser
from conftest import REPOSITORY, Command
from test_captures import captured

from tcpsf.captures import analyze

PAGE = REPOSITORY / "out" / "web" / "index.html"

# `make test-browser` builds the page first; `.ci/run` lists these tests as not run where it cannot.
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not PAGE.exists(), reason="`make web` has not built the page"),
]

READY = "document.documentElement.dataset.readyMs"


def packet(side: str, number: int) -> str:
    return f"document.querySelector('.side[data-side={side}] .packet[data-number=\"{number}\"]')"


def open_page(browser: Browser, fragment: str = "") -> None:
    browser.open(PAGE.as_uri() + fragment)
    browser.wait(READY)


def flow(browser: Browser, side: str = "a") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(browser.value(f"JSON.stringify(flows.{side})"))
    return found


def near_arrival(browser: Browser, number: int) -> tuple[float, float]:
    """A place on the arrow of a packet of the left flow. Near its end it is apart from others."""
    browser.place(packet("a", number))
    x, y = browser.value(
        f"(() => {{ const line = {packet('a', number)}.querySelector('.way'); const box = "
        "line.getScreenCTM(); const at = (name) => line[name].baseVal.value;"
        " const between = (one, other) => 0.1 * at(one) + 0.9 * at(other);"
        " return [box.e + between('x1', 'x2'), box.f + between('y1', 'y2')]; })()"
    )
    return x, y


def click(browser: Browser, number: int) -> None:
    x, y = near_arrival(browser, number)
    browser.mouse("mouseMoved", x, y)
    browser.mouse("mousePressed", x, y, buttons=1)
    browser.mouse("mouseReleased", x, y)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with Browser(tmp_path) as made:
        yield made
        assert made.console == []
        # The page itself, the worker that it makes, and its own downloads.
        assert all(re.match(r"file:///.*/index\.html|blob:", each) for each in made.requests)


def test_a_click_drops_a_packet_and_another_one_undoes_it(browser: Browser) -> None:
    open_page(browser, "#size=14480")
    assert flow(browser)["repairs"] == []
    number = next(p["number"] for p in flow(browser)["packets"] if p["payload_bytes"])
    click(browser, number)
    (repair,) = flow(browser)["repairs"]
    assert repair["lost"] == number
    assert repair["cause"] == "rack"
    words = browser.value("document.querySelector('.side[data-side=a] .outcome').textContent")
    assert "Repaired by RACK, at once" in words
    assert (
        "d" not in (browser.value("location.hash") or "").replace("&size", "").split("da=")[0][1:5]
    )
    assert re.search(r"da=there\.\d+", browser.value("location.hash"))
    assert flow(browser, "b")["repairs"] == []
    label = f"{packet('a', number)}.querySelector('text')"
    browser.click(label)
    assert flow(browser)["repairs"] == []
    assert "da=" not in browser.value("location.hash")


def test_a_drag_delays_a_packet(browser: Browser) -> None:
    open_page(browser, "#size=14480")
    before = flow(browser)
    number = [p["number"] for p in before["packets"] if p["payload_bytes"]][2]
    x, y = near_arrival(browser, number)
    browser.mouse("mouseMoved", x, y)
    browser.mouse("mousePressed", x, y, buttons=1)
    for step in (10, 25, 40):
        browser.mouse("mouseMoved", x, y + step, buttons=1)
    browser.wait(f"flows.a.packets[{number}].ended_s > {before['packets'][number]['ended_s']}")
    browser.mouse("mouseReleased", x, y + 40)
    after = flow(browser)["packets"][number]
    scale = browser.value("axis.scale")
    later = after["ended_s"] - before["packets"][number]["ended_s"]
    assert later == pytest.approx(40 / scale, rel=0.3)
    assert re.search(r"la=there\.\d+\.\d+", browser.value("location.hash"))


def test_the_address_has_the_whole_state(browser: Browser) -> None:
    open_page(browser, "#size=4380&rtt=50&mss=1460&a=newreno&ra=fs&iw=3&da=there.2")
    first = flow(browser)
    assert first["sender"] == "reno+newreno / fs(n=12) / iw=3"
    assert [p["position"] for p in first["packets"] if p["fate"] == "dropped-loss"] == [2]
    address = browser.value("location.hash")
    open_page(browser, "#view=capture")
    browser.open("about:blank")
    open_page(browser, address)
    assert flow(browser) == first
    assert browser.value("document.querySelector('[name=rtt]').value") == "50"


def test_keys_alone(browser: Browser) -> None:
    open_page(browser, "#size=8000")
    for _ in range(60):
        browser.press("Tab")
        if browser.value("document.activeElement.classList.contains('packet')"):
            break
    assert browser.value("document.activeElement.dataset.number") == "0"
    for _ in range(4):
        browser.press("ArrowDown")
    number = int(browser.value("document.activeElement.dataset.number"))
    assert "sender" in browser.value("document.activeElement.getAttribute('aria-label')")
    browser.press("Enter")
    assert flow(browser)["packets"][number]["fate"] == "dropped-loss"
    # The focus stays, so that the same key undoes it.
    assert browser.value("document.activeElement.getAttribute('aria-pressed')") == "true"
    browser.press("Enter")
    assert flow(browser)["packets"][number]["fate"] == "arrived"
    arrival = flow(browser)["packets"][number]["ended_s"]
    browser.press("+")
    assert flow(browser)["packets"][number]["ended_s"] == pytest.approx(arrival + 0.008)
    browser.press("-")
    assert flow(browser)["packets"][number]["ended_s"] == pytest.approx(arrival)


def test_the_pointer_shows_the_state_at_its_time(browser: Browser) -> None:
    open_page(browser, "#size=14480&da=there.2")
    at = flow(browser)["repairs"][0]["repaired_s"]
    x, y = browser.value(
        "(() => { const box = document.querySelector('.side[data-side=a] .ladder').getBoundingClientRect();"
        f" scrollTo(0, scrollY + box.top + axis.y({at}) - 200);"
        " const there = document.querySelector('.side[data-side=a] .ladder').getBoundingClientRect();"
        f" return [there.left + there.width / 2, there.top + axis.y({at}) + 1]; }})()"
    )
    browser.mouse("mouseMoved", x, y)
    text = browser.value("document.querySelector('#state section').textContent")
    assert "stateRecovery" in text
    assert "RACK" in text
    assert browser.value("document.querySelectorAll('#state .scoreboard .reported').length") > 0
    assert browser.value("document.querySelectorAll('#state .scoreboard .resent').length") > 0


def test_the_exports_have_the_flow(browser: Browser, tcpsf: Command) -> None:
    open_page(browser, "#size=9000&da=there.4&la=there.6.20000")
    seen = flow(browser)
    for kind in ("toml", "pcapng"):
        browser.click(f"document.querySelector('.side[data-side=a] [data-save={kind}]')")
    scenario = browser.downloaded("playground-a.toml")
    assert tomllib.loads(scenario.read_text(encoding="utf-8"))["link"][0]["loss"]["kind"] == "mask"
    answer = tcpsf("sim", scenario, "--json")
    assert answer.status == 0, answer.err
    (row,) = json.loads(answer.out)["flows"]
    assert row["completion_s"]["value"] == pytest.approx(seen["sender_s"])
    capture = browser.downloaded("playground-a.pcapng")
    episodes = analyze(capture).tables.episodes
    assert episodes["cause"].to_list() == [repair["cause"] for repair in seen["repairs"]]


def test_bad_values_change_nothing(browser: Browser) -> None:
    open_page(browser, "#a=nonsense&rtt=abc&da=nowhere.1")
    assert "there is no link" in browser.value("document.querySelector('#problem').textContent")
    open_page(browser, "#size=8001")
    browser.value(
        "(() => { const input = document.querySelector('[name=mss]'); input.value = '';"
        " input.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    assert flow(browser)["size_bytes"] == 8001


def test_many_flows_run_in_the_worker(browser: Browser) -> None:
    open_page(browser, "#view=queue&qload=0.7&qlong=1")
    browser.wait("document.documentElement.dataset.queueDone === 'true'")
    text = browser.value("document.querySelector('#queue-result').textContent")
    assert "utilisation" in text
    assert browser.value("document.querySelectorAll('#queue-result svg.chart').length") == 2
    assert browser.value("document.querySelectorAll('#queue-result tbody tr').length") == 3


def test_a_capture_is_analysed_as_by_the_command(browser: Browser, tmp_path: Path) -> None:
    drops = ",".join("1" if number in (3, 40) else "0" for number in range(41))
    path = captured(tmp_path, sender="linux", profile="linux-6.18", size=100_000, drops=drops)
    open_page(browser, "#view=capture")
    browser.choose("#capture-file", path)
    browser.wait("document.documentElement.dataset.captureDone")
    browser.wait("document.querySelector('#connection svg.chart') !== null")
    rows = browser.value(
        "[...document.querySelectorAll('#capture-result .wide')[0].querySelectorAll('tbody tr')]"
        ".map((row) => [row.children[0].textContent, row.children[1].textContent])"
    )
    expected = analyze(path).tables.episodes["cause"].to_list()
    assert sum(int(count) for _, count in rows) == len(expected)
    before = browser.value("document.querySelector('#connection svg').innerHTML")
    browser.click("document.querySelector('[data-zoom=in]')")
    assert browser.value("document.querySelector('#connection svg').innerHTML") != before


def test_a_file_that_is_no_capture_is_refused(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no capture", encoding="utf-8")
    open_page(browser, "#view=capture")
    browser.choose("#capture-file", path)
    browser.wait("!document.querySelector('#problem').hidden")
    text = browser.value("document.querySelector('#problem').textContent")
    assert text.startswith("cannot read the capture: neither pcap nor pcapng")
    assert "hint:" in text


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("view", ["flow", "queue", "capture"])
def test_nothing_is_wider_than_the_window(
    tmp_path: Path, view: str, width: int, *, dark: bool
) -> None:
    with Browser(tmp_path, width=width, height=800, dark=dark) as browser:
        open_page(browser, f"#view={view}&da=there.3")
        if view == "queue":
            browser.wait("document.documentElement.dataset.queueDone === 'true'")
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert browser.value(wide) <= 0
        assert browser.console == []
        if view == "flow":
            for side in "ab":
                assert browser.value(
                    f"document.querySelector('.side[data-side={side}] .ladder').clientHeight > 200"
                )
