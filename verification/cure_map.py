"""Measure remedies for the kernel's TCP by loss, size and round-trip time.

    python verification/cure_map.py [--all] [--requests 2000] [--results FILE] [--predict]

By default it measures responses of two sizes with one round-trip time, for half an hour. With `--all` it
measures every cell, for two to three hours, and writes the page. Each cell is measured by `tcpsf.lab`,
and simulated. The simulator must agree with the kernel on the 99th percentile (the intervals
overlap, or the values differ by at most 10 %) in nine of ten cells of remedies without a known reason
for a difference. A copy must be chosen against independent losses of short responses, and nothing that
adds packets where a full queue or a policer drops them.

A cell is measured up to four times if the emulator delivered packets too late, because the machine was
busy. An interrupted run continues with the cells in FILE, and `--predict` simulates these again.
Only `--all` keeps the cells by itself, in `out/cure-map.jsonl`. It needs root, TUN and BPF, and exits
with 77 without them.
"""

# ruff: noqa: T201 (this module prints verdicts)

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import _cure_map_page
from _live import CannotRunError, Verdicts, main
from _workload_sizes import WORKLOADS

from tcpsf import stats
from tcpsf.cure import CurePolicy
from tcpsf.lab import (
    LabCell,
    LabLoss,
    LabMeasurement,
    LabMix,
    LabPath,
    LabPrediction,
    LabServer,
    measure,
    predict,
)
from tcpsf.live.network import enter
from tcpsf.report.lab_page import LabResult, as_data, predicted_data

PAGE: Final = Path("docs/reference/measured-remedies.md")
RESULTS: Final = Path("out/cure-map.jsonl")
REMEDIES: Final = (
    "dup-tail",
    "dup-tail(delay=10ms)",
    "tail(n=4)",
    "tiny-tail",
    "fs(n=40, min=11)",
    "rto-min(ms=20)",
)
RATE: Final = 200.0
"""Requests per second on paths without a full queue."""
LOAD: Final = 0.9
"""Share of the capacity that the responses take on a path with a full queue."""
OVERHEAD: Final = 400
"""Bytes of a response's headers, of its handshake and of its acknowledgments, about."""
DISTURBED_S: Final = 0.001
"""A cell is measured again if 1 % of its packets were delivered later than this."""
AGAIN: Final = 3
CONFIRMATIONS: Final = 3
"""Further measurements of a choice on a path with a limit."""
RUNS: Final = 40
"""Simulated runs of a path with a queue. 95 % are between the second and the last but one."""
FEW_SIZES: Final = (1200, 14_000)
"""Sizes of the cells that are measured without ``--all``, with the first round-trip time."""
SHARE: Final = 0.9
"""Least share of the cells in which the simulator agrees."""


@dataclass(frozen=True, slots=True)
class Case:
    """Losses on a path, with its round-trip times and the sizes of the responses."""

    title: str
    text: str
    loss: LabLoss
    rtts_s: Sequence[float] = (0.02, 0.1, 0.2)
    sizes: Sequence[int | LabMix] = (200, 1200, 14_000, 60_000)
    bits_per_s: float | None = None
    """Rate of the link, or of the policer."""
    queue: str | None = None
    police: str | None = None
    downloads: int = 0
    load: float = LOAD
    """Share of ``bits_per_s`` that the responses take on average."""
    requests: int = 1
    """Factor of the number of requests. A burst of losses concerns requests that follow each other,
    so that the same number of requests has fewer independent events."""
    is_long: bool = False
    """Whether it is measured with ``--all`` only."""

    def paths(self, *, every: bool) -> Iterator[tuple[LabPath, int | LabMix]]:
        """Yield the paths with the sizes: all, or some of each case."""
        is_slow = self.bits_per_s is not None and self.police is None
        rate = f"{(self.bits_per_s or 0.0) / 1e6:g}Mb/s" if is_slow else None
        path = partial(
            LabPath,
            loss=self.loss,
            rate=rate,
            queue=self.queue,
            police=self.police,
            downloads=self.downloads,
        )
        sizes = self.sizes if every else [size for size in self.sizes if size in FEW_SIZES]
        for size, rtt_s in itertools.product(sizes, self.rtts_s if every else self.rtts_s[:1]):
            yield path(rtt_s=rtt_s), size

    def requests_per_s(self, size: int | LabMix) -> float:
        """Rate of the requests."""
        if self.bits_per_s is None or isinstance(size, LabMix):
            return RATE
        return min(RATE, self.load * self.bits_per_s / 8 / (size + OVERHEAD))

    def requests_of(self, size: int | LabMix, most: int) -> tuple[float, int]:
        """Rate and number of the requests of a cell."""
        rate = self.requests_per_s(size)
        requests = self.requests * most
        return rate, requests if rate == RATE else max(500, requests // 2)


CASES: Final = (
    Case(
        "Independent losses",
        "2 % of the packets towards the client are lost, whatever their size.",
        LabLoss("packet", 0.02),
    ),
    Case(
        "Bursts",
        "2 % of the packets are lost, in runs of 3 on average. Four times as many requests are measured, "
        "because losses that follow each other are not independent.",
        LabLoss("burst", 0.02, 3.0),
        requests=4,
    ),
    Case(
        "Losses by size",
        "A packet is lost with a probability in proportion to its size: 2 % for 1250 bytes.",
        LabLoss("byte", 0.000_016),
    ),
    Case(
        "Three workloads, independent losses",
        "Responses of at most 60 kB with the sizes of three workloads: flows of the web (Mellia, Meo and "
        "Casetti, Table I), Hadoop at Facebook (Roy et al., 2015), and remote procedure calls at Google "
        "(Montazeri et al., 2018). 2 % of the packets are lost.",
        LabLoss("packet", 0.02),
        rtts_s=(0.04,),
        sizes=WORKLOADS,
        is_long=True,
    ),
    Case(
        "Three workloads, losses by size",
        "The sizes are those of the three workloads. A packet is lost with a probability in proportion to its "
        "size: 2 % for 1250 bytes.",
        LabLoss("byte", 0.000_016),
        rtts_s=(0.04,),
        sizes=WORKLOADS,
        is_long=True,
    ),
    Case(
        "The slowest responses",
        "2 % of the packets are lost. There are 8 times as many requests, so that the 99.9th "
        "percentile is known.",
        LabLoss("packet", 0.02),
        rtts_s=(0.04,),
        sizes=(1200,),
        requests=8,
        is_long=True,
    ),
    Case(
        "A full queue",
        "A link of 2 Mb/s with a queue of 15 kB, which responses fill to 90 % on average. No packet is "
        "lost elsewhere.",
        LabLoss("none"),
        rtts_s=(0.04,),
        sizes=(1200, 14_000),
        bits_per_s=2e6,
        queue="15kB",
    ),
    Case(
        "A full queue that counts packets",
        "A link of 2 Mb/s with a queue of 10 packets, which responses fill to 90 % on average. No packet is "
        "lost elsewhere.",
        LabLoss("none"),
        rtts_s=(0.04,),
        sizes=(1200, 14_000),
        bits_per_s=2e6,
        queue="10packets",
    ),
    Case(
        "A policer",
        "A token bucket of 2 Mb/s and 15 kB, of which responses use 90 % on average. It drops what exceeds "
        "it. No packet is lost elsewhere.",
        LabLoss("none"),
        rtts_s=(0.04,),
        sizes=(1200, 14_000),
        bits_per_s=2e6,
        police="2Mb/s,15kB",
    ),
    Case(
        "Competing traffic",
        "Two long downloads without a remedy fill a link of 10 Mb/s with a queue of 60 kB. Responses are 10 % "
        "of its rate on average. Packets and bytes include those of the downloads.",
        LabLoss("none"),
        rtts_s=(0.04,),
        sizes=(1200, 14_000),
        bits_per_s=10e6,
        queue="60kB",
        downloads=2,
        load=0.1,
    ),
    Case("No losses", "No packet is lost.", LabLoss("none"), rtts_s=(0.04,), sizes=(1200, 14_000)),
)


def kept(file: Path) -> dict[str, Mapping[str, Any]]:
    """Return the cells of an earlier run by their key, without a line that is not complete."""
    found = {}
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                data = json.loads(line)
            except ValueError:
                continue
            found[data["key"]] = data
    return found


def cells(case: Case, options: argparse.Namespace) -> Iterator[Mapping[str, Any]]:
    """Measure and simulate the cells of a case, or take them from an earlier run."""
    known = kept(options.results)
    policies = [None, *map(CurePolicy.parse, REMEDIES)]
    for (path, size), policy in itertools.product(case.paths(every=options.all), policies):
        cell = LabCell(path=path, size=size, policy=policy)
        rate, requests = case.requests_of(size, options.requests)
        key = f"{path.options()} {size} {cell.remedy} {requests} {rate:.6g}"
        key += f" {path.downloads}" if path.downloads else ""
        found = known.get(key)
        simulated = cache(partial(predict, cell, rate=rate, seed=1))
        if found is None:
            server = LabServer(requests=requests, rate=rate)
            measured = undisturbed(cell, server)
            found = as_data(LabResult(cell=cell, measured=measured, predicted=simulated()))
            add(options.results, key, found)
            value = found["measured_s"]["p99"]["value"]
            response = size if isinstance(size, LabMix) else f"{size} B"
            print(f"{case.title}, {response}, {cell.remedy}: p99 {1e3 * value:.0f} ms", flush=True)
        elif options.predict:
            found = predicted_again(found, simulated())
            add(options.results, key, found)
        found = {**found, "requests_per_s": rate}
        if not _cure_map_page.agrees(found) and "predicted_interval_s" not in found:
            if rate == RATE:
                found = with_interval(found, simulated())
            elif _cure_map_page.known_reason(found) is None:
                found = with_spread(found, cell, rate, requests)
            add(options.results, key, found)
        yield found


def undisturbed(cell: LabCell, server: LabServer, seed: int = 1) -> LabMeasurement:
    """Measure a cell, again if the machine was busy. The result does not matter for that."""
    found = measure(cell, server, seed=seed)
    for _ in range(AGAIN):
        if found.late_s <= DISTURBED_S:
            break
        found = min(found, measure(cell, server, seed=seed), key=lambda each: each.late_s)
    return found


def confirmed(case: Case, size: int, remedy: str, most: int) -> str:
    """Return a choice, or `none` if it is not that of each further measurement.

    This concerns paths with a limit. Responses that share a queue or a policer are not independent,
    so the interval of one run is too narrow. Other requests change the 99th percentile several times
    over.
    """
    if case.bits_per_s is None or remedy == _cure_map_page.NONE:
        return remedy
    rate, requests = case.requests_of(size, most)
    (path,) = (path for path, each in case.paths(every=False) if each == size)
    for seed in range(2, 2 + CONFIRMATIONS):
        again = []
        for policy in (None, CurePolicy.parse(remedy)):
            cell = LabCell(path=path, size=size, policy=policy)
            measured = undisturbed(cell, LabServer(requests=requests, rate=rate), seed)
            predicted = predict(cell, rate=rate, seed=seed)
            again.append(as_data(LabResult(cell=cell, measured=measured, predicted=predicted)))
        (choice,) = _cure_map_page.choices(again, [remedy])
        print(f"         {case.title}, {size} B: {remedy}, with other requests {choice}")
        if choice != remedy:
            return choice
    return remedy


def predicted_again(data: Mapping[str, Any], predicted: LabPrediction) -> Mapping[str, Any]:
    """Replace the simulated percentiles by those of the present simulator."""
    kept = {name: part for name, part in data.items() if name != "predicted_interval_s"}
    return {**kept, "predicted_s": predicted_data(predicted)}


def with_interval(data: Mapping[str, Any], predicted: LabPrediction) -> Mapping[str, Any]:
    """Add the interval of the simulated percentile."""
    found = stats.quantile_of_one(predicted.times, 0.99)
    interval = None if found is None else found.interval
    return data if interval is None else {**data, "predicted_interval_s": interval}


def with_spread(
    data: Mapping[str, Any], cell: LabCell, rate: float, requests: int
) -> Mapping[str, Any]:
    """Add the interval of the simulated percentile of one run that is as long as the measurement.

    Responses that share a queue are not independent, so the percentiles of several runs differ by more
    than the interval of one run says.
    """
    runs = (
        predict(cell, rate=rate, seed=seed, responses=requests).times.quantile(0.99)
        for seed in range(1, RUNS + 1)
    )
    found = sorted(each for each in runs if each is not None)
    return {**data, "predicted_interval_s": (found[1], found[-2])}


def add(file: Path, key: str, data: Mapping[str, Any]) -> None:
    """Add a cell to the results. A later line replaces an earlier one with the same key."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps({**data, "key": key}) + "\n")


def with_first_transmissions(
    found: Mapping[str, Sequence[Mapping[str, Any]]],
) -> dict[str, list[Mapping[str, Any]]]:
    """Add the rate of first transmissions: that of the packets without losses, if measured."""
    lossless = {
        (cell["bytes"], cell["remedy"]): cell["bytes_per_request"] for cell in found["No losses"]
    }

    def first(cell: Mapping[str, Any]) -> float:
        size = lossless.get((cell["bytes"], cell["remedy"]), 0.0)
        return float(8.0 * size * cell["requests_per_s"])

    return {
        title: [{**cell, "first_bits_per_s": first(cell)} for cell in some]
        for title, some in found.items()
    }


def judge(
    verdicts: Verdicts, found: Mapping[str, Sequence[Mapping[str, Any]]], requests: int
) -> None:
    """Report what must hold."""
    cases = {case.title: case for case in CASES}
    every = [cell for some in found.values() for cell in some]
    for is_known in (False, True):
        some = [
            each for each in every if (_cure_map_page.known_reason(each) is not None) is is_known
        ]
        agreed = sum(map(_cure_map_page.agrees, some))
        text = f"the simulator agrees on the 99th percentile in {agreed} of {len(some)} cells"
        if is_known:
            print(f"         {text} of `fs` and `dup-tail`, and of overloaded links")
        else:
            verdicts.report(f"{text} without these", holds=agreed >= SHARE * len(some))
    for title, wanted in (
        ("Independent losses", ("dup-tail",)),
        ("Bursts", ("dup-tail(delay=10ms)",)),
        ("A full queue", ("none",)),
        # Nothing that adds packets.
        ("A full queue that counts packets", ("none", "rto-min")),
        ("A policer", ("none", "rto-min")),
        ("No losses", ("none",)),
    ):
        some = [cell for cell in found[title] if cell["bytes"] == 1200]
        choices = [
            each if each.startswith(wanted) else confirmed(cases[title], 1200, each, requests)
            for each in _cure_map_page.choices(some, REMEDIES)
        ]
        holds = all(each.startswith(wanted) for each in choices)
        verdicts.report(f"{title}, 1200 B: {', '.join(choices)}", holds=holds)
    failed = sum(cell["failed"] for cell in every)
    verdicts.report(f"{failed} requests without a response", holds=failed == 0)


def work(verdicts: Verdicts) -> None:
    """Measure the cells, write the page if they are all cells, and judge."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true", help="measure every cell, and write the page")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--results", type=Path, help="keep the cells here, and continue with them")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--predict", action="store_true", help="simulate kept cells again")
    options = parser.parse_args()
    if os.geteuid() != 0:
        message = "it needs root"
        raise CannotRunError(message)
    enter()
    chosen = [case for case in CASES if options.all or not case.is_long]
    with TemporaryDirectory() as folder:
        # A run without a file of cells measures each anew, with the present product.
        new = RESULTS if options.all else Path(folder) / RESULTS.name
        options.results = options.results or new
        every = {case.title: list(cells(case, options)) for case in chosen}
    found = with_first_transmissions(every)
    if options.all:
        situations = [
            _cure_map_page.Situation(title=case.title, text=case.text, cells=found[case.title])
            for case in chosen
        ]
        options.page.write_text(_cure_map_page.page(situations, REMEDIES), encoding="utf-8")
    judge(verdicts, found, options.requests)


if __name__ == "__main__":
    sys.exit(main(work))
