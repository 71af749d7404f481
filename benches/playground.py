"""Measure the playground in Chromium: size, first picture, redraw, 400 s of web traffic.

The first picture is the time from the navigation to a page with a drawn flow. A redraw is the time of
the script and the layout from a drop to the new drawing, in the median and at the 95th percentile of
60 drops. They begin when the page has compiled its functions, less than a second after the first
picture. The web traffic is the scenario of the example `smart-framing-web`, simulated by the page's
module.
"""

# ruff: noqa: T201 (this program prints measurements)

from __future__ import annotations

import gzip
import json
import shutil
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "python" / "tests"))

from chromium import Browser  # noqa: E402  (the folder is added above)

from tcpsf import Scenario  # noqa: E402

PAGE = REPOSITORY / "out" / "web" / "index.html"
EXAMPLE = REPOSITORY / "python" / "tcpsf" / "examples" / "smart-framing-web.toml"

DROPS = """
(() => {
  const packets = flows.a.packets.filter((packet) => packet.payload_bytes);
  const times = [];
  for (let turn = 0; turn < 60; turn += 1) {
    const began = performance.now();
    toggleDrop("a", flows.a.packets.find((each) => each.number === packets[turn % packets.length].number));
    document.body.getBoundingClientRect();
    times.push(performance.now() - began);
  }
  return times;
})()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A measured value and its limit."""

    name: str
    unit: str
    most: float
    value: float

    def line(self) -> str:
        """Return the value with its limit and a verdict."""
        verdict = "good" if self.value <= self.most else "bad"
        return f"{self.name}: {self.value:.4g} {self.unit}, at most {self.most:g}: {verdict}"


def measured() -> list[Target]:
    """Open the page three times, and take the medians."""
    scenario = Scenario.from_toml(EXAMPLE).with_value("duration", "400s").to_json()
    pictures, redraws, slow, webs = [], [], [], []
    for _ in range(3):
        with (
            TemporaryDirectory(ignore_cleanup_errors=True) as folder,
            Browser(Path(folder)) as browser,
        ):
            browser.open(f"{PAGE.as_uri()}#size=20000")
            pictures.append(float(browser.wait("document.documentElement.dataset.readyMs")) / 1000)
            browser.wait("document.documentElement.dataset.warmMs")
            times = sorted(browser.value(DROPS))
            redraws.append(statistics.median(times))
            slow.append(times[int(0.95 * len(times))])
            request = json.dumps({"do": "run", "scenario": json.loads(scenario), "seed": 1})
            run = f"(() => {{ const at = performance.now(); client.ask({request}); return performance.now() - at; }})()"
            browser.value(run)
            webs.append(min(browser.value(run) for _ in range(3)) / 1000)
    size = len(gzip.compress(PAGE.read_bytes(), 9)) / 1000
    median = statistics.median
    return [
        Target(name="page in gzip", unit="kB", most=400, value=size),
        Target(name="first picture", unit="s", most=1, value=median(pictures)),
        Target(name="redraw, median", unit="ms", most=10, value=median(redraws)),
        Target(name="redraw, 95th percentile", unit="ms", most=20, value=median(slow)),
        Target(name="400 s of web traffic", unit="s", most=0.5, value=median(webs)),
    ]


def main() -> int:
    """Print the values; 77 if there is no page or no Chromium."""
    if not PAGE.exists():
        print(f"no `{PAGE.relative_to(REPOSITORY)}`: run `make web`")
        return 77
    if shutil.which("chromium") is None:
        print("no `chromium`: on Debian, as root: apt-get install chromium")
        return 77
    found = measured()
    for each in found:
        print(each.line())
    return int(any(each.value > each.most for each in found))


if __name__ == "__main__":
    sys.exit(main())
