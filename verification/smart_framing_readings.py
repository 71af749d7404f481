"""Test alternative readings of the Smart Framing paper against its published completion times.

The paper does not specify its simulated network completely. Each line of the table changes one
assumption of our default reading and simulates Table I's three senders with the same arrivals. It
shows the distance between simulated and published completion times. The statements below the table
are the explanations in our documentation. Each has a verdict, and the exit status is 1 if one fails.

    python verification/smart_framing_readings.py [--quick]
"""

# ruff: noqa: T201 (this program prints its verdicts)

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from _verdicts import judged

from tcpsf import stats
from tcpsf.errors import TcpsfError
from tcpsf.papers import smart_framing as paper
from tcpsf.runs import Job, run_jobs
from tcpsf.scenario import Link, Scenario
from tcpsf.summary import Group, RunSummary, SummaryFold, Totals, completion_s, fast_percent

Change = Callable[[Scenario, paper.Variant], Scenario]

CLASS_1650 = 9
LOAD_WITH_HEADERS = 0.75
"""0.8 / 1.065: each data segment and each acknowledgment adds 40 bytes, over the fifteen sizes."""
ROUND_TRIP_S = 0.211
"""Two propagation delays of 50 ms and the mean queue of 139 kB at 10 Mb/s, in seconds."""
SINGLE_SEGMENT = range(1, 9)
"""Classes that fit into one full-sized segment.

Their completion time is one round trip, plus the initial timeout after a loss.
"""
CLASS_284454 = 15


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading of the paper: a change of the default scenario."""

    key: str
    what: str
    change: Change


def _set(path: str, value: object) -> Change:
    def change(scenario: Scenario, variant: paper.Variant) -> Scenario:
        del variant
        return scenario.with_value(path, value)

    return change


def _same_greedy(scenario: Scenario, variant: paper.Variant) -> Scenario:
    return scenario.with_value("workload.greedy.sender", variant.sender)


def _access(rate: str) -> Change:
    """Insert a link of this rate before the bottleneck; it spaces the segments of a window."""

    def change(scenario: Scenario, variant: paper.Variant) -> Scenario:
        del variant
        bottleneck, back = scenario.link
        access = Link(name="access", from_="servers", to="router", rate=rate, delay="0s")
        return replace(scenario, link=(replace(bottleneck, from_="router"), back, access))

    return change


def _both(first: Change, second: Change) -> Change:
    return lambda scenario, variant: second(first(scenario, variant), variant)


def _bytewise(scenario: Scenario, variant: paper.Variant) -> Scenario:
    return scenario.with_value(
        "workload.web.sender", variant.sender.replace("fs(n=4)", "fs(n=4, avoidance=bytewise)")
    )


def _sack1(scenario: Scenario, variant: paper.Variant) -> Scenario:
    scenario = scenario.with_value(
        "workload.greedy.sender", paper.CLASSIC.sender.replace("+sack", "+sack1")
    )
    return scenario.with_value("workload.web.sender", variant.sender.replace("+sack", "+sack1"))


READINGS = (
    Reading("default", "our reading", lambda scenario, _variant: scenario),
    Reading("same-greedy", "greedy flows with the sender of the short flows", _same_greedy),
    Reading("access", "access link of 100 Mb/s before the bottleneck", _access("100Mb/s")),
    Reading(
        "load-headers",
        "load with headers of data and ACKs: 0.75 of payload for 0.8",
        _set("workload.web.load", LOAD_WITH_HEADERS),
    ),
    Reading("handshake", "three-way handshake and close", _set("workload.web.handshake", True)),
    Reading("rto-initial", "initial timeout 6 s", _set("tcp.rto_initial", "6s")),
    Reading(
        "rto-initial-load",
        "initial timeout 6 s, load with headers",
        _both(_set("tcp.rto_initial", "6s"), _set("workload.web.load", LOAD_WITH_HEADERS)),
    ),
    Reading(
        "rto-initial-load-access",
        "initial timeout 6 s, load with headers, access link",
        _both(
            _set("tcp.rto_initial", "6s"),
            _both(_set("workload.web.load", LOAD_WITH_HEADERS), _access("100Mb/s")),
        ),
    ),
    Reading("rto-min", "minimum timeout 200 ms", _set("tcp.rto_min", "200ms")),
    Reading("tick", "clock granularity 10 ms", _set("tcp.tick", "10ms")),
    Reading("jitter", "random send delay of up to 1 ms", _set("tcp.send_jitter", "1ms")),
    Reading("sack1", "ns-2's SACK (Fall and Floyd 1996) instead of RFC 6675", _sack1),
    Reading(
        "bytewise",
        "fixed-size framing grows by SMSS per round trip in congestion avoidance",
        _bytewise,
    ),
    Reading(
        "flight",
        "ssthresh is half of FlightSize, not half of cwnd",
        _set("tcp.halving", "flight"),
    ),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Results of one sender under one reading: a summary for each run."""

    variant: paper.Variant
    runs: Sequence[RunSummary]

    def _totals(self, number: int) -> list[Totals]:
        sender = next(
            iter(group.variant for group in self.runs[0].groups if group.workload == paper.WEB)
        )
        return [run.groups[Group(paper.WEB, sender, number)] for run in self.runs]

    def completion(self, number: int) -> stats.Estimate:
        """Mean completion time of a class."""
        estimate = completion_s(self._totals(number))
        if estimate is None:
            raise TcpsfError(f"no flow of class {number} completed", hint="simulate for longer")
        return estimate

    def fast_retransmits(self, number: int) -> int:
        """Count a class's fast retransmits over all runs."""
        return sum(totals.fast_retransmits for totals in self._totals(number))

    def fast(self, number: int) -> float:
        """Share of fast retransmits among a class's recoveries, in percent."""
        estimate = fast_percent(self._totals(number))
        return estimate.value if estimate is not None else 0.0

    def distance(self) -> float:
        """Mean over the classes of |ln(ours / published)|, in percent."""
        logs = [
            abs(math.log(self.completion(number).value / cell.completion_s))
            for number, cell in enumerate(self.variant.published, start=1)
        ]
        return 100.0 * sum(logs) / len(logs)


def main() -> int:
    """Run every reading and print the verdicts on the explanations."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="2 runs of 400 s instead of 4 of 1000 s"
    )
    quick = parser.parse_args().quick
    seeds = range(1, 3) if quick else range(1, 5)
    duration = "400s" if quick else "1000s"
    outcomes: dict[str, dict[str, Outcome]] = {}
    print(
        f"{len(seeds)} runs of {duration}; distance: mean over the classes of |ln(ours / published)|, percent\n"
    )
    print(f"{'':70}{'distance':>21}{'284 454 bytes, ours/paper':>28}{'%FR at 1650':>14}")
    print(
        f"{'reading':70}{'Classic':>7}{'VS':>7}{'FS':>7}{'Classic':>14}{'VS':>7}{'FS':>7}{'VS':>8}{'FS':>6}"
    )
    for reading in READINGS:
        outcomes[reading.key] = found = _run(reading, seeds, duration)
        print(f"{reading.what:70}" + _row(found))
    return _judge(outcomes)


def _run(reading: Reading, seeds: Sequence[int], duration: str) -> dict[str, Outcome]:
    jobs = [
        Job(
            scenario=reading.change(
                paper.web_scenario(sender=variant.sender, duration=duration), variant
            ),
            seed=seed,
            fold=partial(SummaryFold, percentiles=False),
        )
        for variant in paper.VARIANTS
        for seed in seeds
    ]
    runs = iter(run_jobs(jobs))
    return {
        variant.key: Outcome(variant, [next(runs) for _ in seeds]) for variant in paper.VARIANTS
    }


def _row(found: dict[str, Outcome]) -> str:
    order = [found[key] for key in ("classic", "vs", "fs")]
    distances = "".join(f"{each.distance():7.0f}" for each in order)
    longest = [
        each.completion(CLASS_284454).value / each.variant.published[CLASS_284454 - 1].completion_s
        for each in order
    ]
    ratios = f"{longest[0]:14.2f}" + "".join(f"{value:7.2f}" for value in longest[1:])
    return distances + ratios + f"{order[1].fast(CLASS_1650):8.1f}{order[2].fast(CLASS_1650):6.1f}"


def _excess(outcomes: dict[str, dict[str, Outcome]]) -> Iterator[str]:
    """Lines that compare the delay that losses cause in Classic flows of one segment.

    The delay is the completion time minus that of a flow without loss.
    """
    yield "Classic flows of one segment, completion time minus one round trip, published / ours:"
    for key in ("default", "rto-initial"):
        found = outcomes[key]["classic"]
        ratios = [
            (found.variant.published[number - 1].completion_s - ROUND_TRIP_S)
            / (found.completion(number).value - ROUND_TRIP_S)
            for number in SINGLE_SEGMENT
        ]
        yield f"  {key:12}" + "".join(f"{ratio:6.2f}" for ratio in ratios)


def _judge(outcomes: dict[str, dict[str, Outcome]]) -> int:
    def ratio(reading: str, variant: str, number: int) -> stats.Estimate:
        found = outcomes[reading][variant]
        return found.completion(number).scaled(
            1.0 / found.variant.published[number - 1].completion_s
        )

    framed = ("vs", "fs")
    classic = ratio("default", "classic", CLASS_284454)
    lighter = ratio("load-headers", "classic", CLASS_284454)
    explanations = (
        (
            "framed greedy flows more than double fixed-size framing's distance from Table I",
            outcomes["same-greedy"]["fs"].distance() > 2.0 * outcomes["default"]["fs"].distance(),
        ),
        (
            "an initial timeout of 6 s (ns-2's default until 2006) brings Classic nearer to Table I than 3 s",
            outcomes["rto-initial"]["classic"].distance()
            < outcomes["default"]["classic"].distance(),
        ),
        (
            "with all sources on the bottleneck's node, flows of 1650 bytes have no fast retransmit",
            all(outcomes["default"][key].fast_retransmits(CLASS_1650) == 0 for key in framed),
        ),
        (
            "with an access link, which spaces the segments, they have some, as in Table I",
            all(outcomes["access"][key].fast_retransmits(CLASS_1650) > 0 for key in framed),
        ),
        (
            "load with headers reduces the excess of Classic's longest flows over the paper",
            classic.low > 1.0 and abs(math.log(lighter.value)) < abs(math.log(classic.value)),
        ),
    )
    print()
    print("\n".join(_excess(outcomes)) + "\n")
    return 1 if judged(explanations) else 0


if __name__ == "__main__":
    sys.exit(main())
