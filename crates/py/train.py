"""Run the training scenarios of the profile-guided build of the extension (`make wheel`).

maturin runs this program with an instrumented build. The scenarios are the example scenarios and
the Smart Framing paper's network with each of its senders, at two loads and with two sets of timers.
The same network with the sender of Linux follows.
One further run has the greedy flows only. Two further runs have a return path that only delays; the
paper's return path has a rate. A capture of one run is analysed. The profile changes the speed of the
extension and no result.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tcpsf import Pcap, Scenario, run
from tcpsf.captures import analyze
from tcpsf.papers import smart_framing as paper

EXAMPLES = Path(__file__).resolve().parents[2] / "scenarios"


def _scenarios() -> Iterator[Scenario]:
    for path in sorted(EXAMPLES.glob("*.toml")):
        yield Scenario.from_toml(path)
    for variant in paper.VARIANTS:
        for load in (0.5, paper.LOAD):
            web = paper.web_scenario(sender=variant.sender, load=load, duration="200s")
            yield web
            yield web.with_value("tcp.profile", "rfc").with_value("workload.web.handshake", True)
    for load in (0.5, paper.LOAD):
        linux = _linux(load, "200s")
        yield linux
        yield linux.with_value("workload.web.handshake", True)
    classic = paper.web_scenario(sender=paper.CLASSIC.sender, duration="200s")
    yield dataclasses.replace(classic, workload=classic.workload[:1])
    there, back = classic.link
    delayed = dataclasses.replace(
        classic, link=(there, dataclasses.replace(back, rate=None, buffer=None))
    )
    yield delayed
    yield delayed.with_value("workload.web.handshake", True)


def _linux(load: float, duration: str) -> Scenario:
    web = paper.web_scenario(sender="linux", greedy_sender="linux", load=load, duration=duration)
    return web.with_value("tcp.profile", "linux-6.18")


def _analyse() -> None:
    linux = _linux(paper.LOAD, "60s").with_value("workload.web.handshake", True)
    with TemporaryDirectory() as name:
        path = Path(name) / "capture.pcapng"
        run(linux, seed=7, pcap=Pcap(path=path))
        analyze(path)


if __name__ == "__main__":
    for scenario in _scenarios():
        run(scenario, seed=7)
    _analyse()
