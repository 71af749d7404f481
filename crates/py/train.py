"""What a profile-guided build of the extension learns from: maturin runs it with an instrumented one (`make wheel`).

The example scenarios, and the Smart Framing paper's network with each of its senders, at two loads
and with the timers of two ages; once with a way back that takes time, as in the paper, once with
one that only delays. What a build learns changes its speed and no result.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from tcpsf import Scenario, run
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
    classic = paper.web_scenario(sender=paper.CLASSIC.sender, duration="200s")
    yield dataclasses.replace(classic, workload=classic.workload[:1])
    there, back = classic.link
    delayed = dataclasses.replace(
        classic, link=(there, dataclasses.replace(back, rate=None, buffer=None))
    )
    yield delayed
    yield delayed.with_value("workload.web.handshake", True)


if __name__ == "__main__":
    for scenario in _scenarios():
        run(scenario, seed=7)
