"""The playground in Chromium: drops by click, delays, keys, the address, exports, a phone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import Browser
from conftest import REPOSITORY, Command
from test_captures import captured

from tcpsf import Pcap, Scenario, run
from tcpsf.captures import analyze
from tcpsf.run_report.playground_link import packed

PAGE = REPOSITORY / "out" / "web" / "index.html"

# `make test-browser` builds the page first; `.ci/run` lists these tests as not run where it cannot.
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not PAGE.exists(), reason="`make web` has not built the page"),
]

READY = "document.documentElement.dataset.readyMs"
BOTH_DRAWINGS = """
(() => {
  const facts = (node) => node.nodeType === Node.TEXT_NODE ? node.data : [
    node.tagName, [...node.attributes].map((each) => `${each.name}=${each.value}`).sort(), [...node.childNodes].map(facts),
  ];
  const made = new Ladder(document.createElement("div"));
  const marks = { delayed: new Map(), chosen: chosen.a, name: nameOf("a") };
  made.show(flows.a, axis, drawingWidth, marks);
  return [ladders.a, made].map(({ arrows, frame, paths }) => [
    ...[arrows, [...frame.shown.values()]].map((all) => all.map(({ element }) => JSON.stringify(facts(element)))),
    [...paths.values()].flat().map((each) => each.getAttribute("d")),
  ]);
})()
"""
"""The packets, the frame and the arrows of the left drawing, and those of a new one with the same flow."""


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
        "(() => { const box = ladders.a.svg.getBoundingClientRect();"
        f" const at = ladders.a.arrows.find((each) => each.number === {number});"
        " return [box.x + 0.1 * at.from + 0.9 * at.x, box.y + at.top + 0.9 * at.height]; })()"
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
        local = r"file:///.*/(index|playground)\.html|blob:|about:|data:"
        assert all(re.match(local, each) for each in made.requests)


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
    browser.wait(r"/da=there\.\d+/.test(location.hash)")
    assert (
        "d" not in (browser.value("location.hash") or "").replace("&size", "").split("da=")[0][1:5]
    )
    assert flow(browser, "b")["repairs"] == []
    browser.click(packet("a", number))
    assert flow(browser)["repairs"] == []
    browser.wait("!location.hash.includes('da=')")


def test_a_drag_delays_a_packet(browser: Browser) -> None:
    open_page(browser, "#size=14480")
    before = flow(browser)
    number = [p["number"] for p in before["packets"] if p["payload_bytes"]][2]
    x, y = near_arrival(browser, number)
    browser.mouse("mouseMoved", x, y)
    assert browser.value("document.querySelector('.arrows .near').getBBox().width") > 100
    assert browser.value(f"{packet('a', number)}.classList.contains('near')")
    browser.mouse("mousePressed", x, y, buttons=1)
    for step in (10, 25, 40):
        browser.mouse("mouseMoved", x, y + step, buttons=1)
    browser.wait(f"flows.a.packets[{number}].ended_s > {before['packets'][number]['ended_s']}")
    browser.mouse("mouseReleased", x, y + 40)
    after = flow(browser)["packets"][number]
    scale = browser.value("axis.scale")
    later = after["ended_s"] - before["packets"][number]["ended_s"]
    assert later == pytest.approx(40 / scale, rel=0.3)
    browser.wait(r"/la=there\.\d+\.\d+/.test(location.hash)")


def test_a_changed_drawing_is_that_of_a_new_page(browser: Browser) -> None:
    """Elements are kept from one drawing to the next, also as those of other packets."""
    open_page(browser, "#size=20000")
    for place in (0, 3, 7, 13, 3, 5):
        browser.value(f"toggleDrop('a', flows.a.packets.filter((p) => p.payload_bytes)[{place}])")
        changed, made = browser.value(BOTH_DRAWINGS)
        assert changed == made
        # The order in the document is that of the transmissions.
        numbers = browser.value(
            "[...document.querySelectorAll('.side[data-side=a] .packet')].map((e) => +e.dataset.number)"
        )
        assert numbers == list(range(len(numbers)))


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
    assert browser.value("document.querySelector('.arrows .focused').getBBox().width") > 100
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
    if (tshark := shutil.which("tshark")) is None:
        pytest.skip("no `tshark`: on Debian, as root: apt-get install tshark")
    fields = ("frame.number", "tcp.seq", "tcp.len", "tcp.analysis.retransmission")
    chosen = [word for name in fields for word in ("-e", name)]
    found = subprocess.run(
        [tshark, "-n", "-r", str(capture), "-Tfields", *chosen],
        capture_output=True,
        text=True,
        check=True,
    )
    # A capture at the sender has all packets but the acknowledgments that did not arrive.
    rows = [line.split("\t") for line in found.stdout.splitlines()]
    packets = sorted((p for p in seen["packets"] if p["frame"]), key=lambda p: p["frame"])
    assert [tuple(map(int, row[:3])) for row in rows] == [
        (p["frame"], p["seq"], p["payload_bytes"]) for p in packets
    ]
    again = [p["frame"] for p in packets if p["is_again"] and p["payload_bytes"]]
    assert [int(row[0]) for row in rows if row[3]] == again


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


def test_a_large_capture_is_analysed_as_by_the_command(
    browser: Browser, tmp_path: Path, small: Scenario
) -> None:
    path = tmp_path / "large.pcapng"
    busy = small.with_value("link.there.rate", "12Mb/s")
    run(busy, seed=1, pcap=Pcap(path=path, snap_len=1600))
    assert path.stat().st_size > 20_000_000
    open_page(browser, "#view=capture")
    browser.choose("#capture-file", path)
    browser.wait("document.documentElement.dataset.captureDone")
    rows = browser.value(
        "[...document.querySelectorAll('#capture-result .wide')[0].querySelectorAll('tbody tr')]"
        ".map((row) => Number(row.children[1].textContent.replace(/\\s/g, '')))"
    )
    episodes = len(analyze(path).tables.episodes)
    assert episodes > 20
    assert sum(rows) == episodes
    assert str(path.name) in browser.value(
        "document.querySelector('#capture-progress').textContent"
    )


def test_the_page_without_a_pointer(browser: Browser) -> None:
    """Every control is reached by Tab, and works by keys."""
    open_page(browser)
    reached = set()
    name = (
        "(() => { const found = document.activeElement; return found.name || found.dataset.view ||"
        " found.dataset.drop || found.dataset.save || found.tagName + found.className; })()"
    )
    for _ in range(60):
        browser.press("Tab")
        reached.add(browser.value(name))
    views, settings = {"flow", "queue", "capture"}, {"size", "handshake", "a", "ra", "b", "rb"}
    assert views | settings | {"syn", "none", "toml", "pcapng", "SUMMARY"} <= reached
    browser.value("document.querySelector('[data-drop=first]').focus()")
    browser.press("Enter")
    assert [repair["lost"] is not None for repair in flow(browser)["repairs"]] == [True]
    browser.value("document.querySelector('[data-view=queue]').focus()")
    browser.press("Enter")
    browser.wait("document.documentElement.dataset.queueDone === 'true'")


def test_a_report_opens_its_flow(browser: Browser, tmp_path: Path, small: Scenario) -> None:
    shutil.copy(PAGE, tmp_path / "playground.html")
    result = run(small, seed=3)
    row = result.ladder().row
    result.report(tmp_path / "index.html")
    browser.open((tmp_path / "index.html").as_uri())
    browser.wait("document.querySelector('.playground a') !== null")
    browser.click("document.querySelector('.playground a')")
    browser.wait(READY)
    found = flow(browser)
    assert (found["workload"], found["size_bytes"]) == (row["workload"], row["size_bytes"])
    assert found["sender_s"] == pytest.approx(row["sender_s"])
    assert found["retransmitted_segments"] == row["retransmitted_segments"]
    # The address has the flow's number in its workload, and opens the same flow.
    address = browser.value("location.href")
    browser.open("about:blank")
    browser.open(address)
    browser.wait(READY)
    assert flow(browser) == found
    assert browser.value("document.querySelector('[name=index]').value") == str(found["index"])


def test_drawing_while_idle_changes_nothing_on_the_page(browser: Browser) -> None:
    open_page(browser, "#size=20000")
    before = flow(browser), browser.value("document.querySelector('#view-flow').innerHTML")
    browser.wait("document.documentElement.dataset.warmMs")
    assert (
        flow(browser),
        browser.value("document.querySelector('#view-flow').innerHTML"),
    ) == before
    assert browser.console == []


def test_a_flow_that_is_not_there_is_said_so(browser: Browser, small: Scenario) -> None:
    open_page(browser, f"#scenario={packed(small)}&flow=99999")
    text = browser.value("document.querySelector('.outcome').textContent")
    assert text == "The run has no such flow."


def test_the_state_does_not_cover_the_drawing_of_a_phone(tmp_path: Path) -> None:
    with Browser(tmp_path, width=360, height=740) as browser:
        open_page(browser)
        panel = "document.querySelector('#state').getBoundingClientRect().height"
        assert browser.value(panel) < 80
        browser.click("document.querySelector('#state summary')")
        assert 100 < browser.value(panel) < 370


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
