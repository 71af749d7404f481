"""Cardwell, Savage and Anderson (1998): Figs. 5 to 16 from our simulator, with models (1), (4) and (14) beside them.

4000 trials a point. Printed are each figure's numbers; then what the text says of them, with our numbers and a
verdict; then checks of the simulator against what must be so. Exit status 1 if a check fails: a saying that does not
hold here is a finding, not a failure.

    python verification/short_flows.py [--out DIR]

With --out the figures are also drawn, as a page.
"""

# ruff: noqa: T201 (it is a program, and prints what it finds)

from __future__ import annotations

import argparse
import itertools
import math
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from _short_flows import SYN_TIMEOUT_S, TRIALS, Point, Sweep, binomial, distance, simulate_all, straight, sweeps

from tcpsf.models import short_flows as sf
from tcpsf.papers.short_flows import CLOSE, FAIR
from tcpsf.report.evaluation import Axis, Figure, Section
from tcpsf.report.evaluation_page import page
from tcpsf.report.model import bar, line, report

MODELS = (1, 4, 14)
STRAIGHT = 0.98
"""R² of what goes as linear. Chosen beforehand, as are those for a close fit and a fair one, of |ln(model/median)|."""
FIG_5 = Point()
FIG_6 = Point(mss=536, loss=0.1)
FIG_14, FIG_15, FIG_16 = Point(), Point(size=128_000), Point(size=64_000)
LESS_BACK, MORE_BACK = Point(loss_back=0.04), Point(loss_back=0.06)
SIGMAS = 4.0

Line = tuple[str, str, bool]
"""What is said, our numbers, and whether it holds."""


def main() -> int:
    """Simulate, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, metavar="DIR", help="write a page with the figures there")
    out = parser.parse_args().out
    began = time.monotonic()
    every = sweeps()
    single = (FIG_5, FIG_6, FIG_15, FIG_16, LESS_BACK, MORE_BACK)
    simulate_all([*(point for sweep in every for point in sweep.points), *single])
    print(f"{TRIALS} trials a point; simulated in {time.monotonic() - began:.0f} s")
    for sweep in every:
        _print(sweep)
    _print_spread()
    _print_events()
    print("\nWhat the text says:")
    _verdicts(list(_sayings({sweep.key: sweep for sweep in every})), bad="does not hold")
    print("\nWhy (14) is above the medians of short transfers, and below their means:")
    for point in (Point(size=4000), FIG_5, Point(size=32_000)):
        seen = point.seen
        clean = float((seen.events == 0).mean())
        median = "the least time" if clean > 0.5 else "that of a trial with losses"
        print(
            f"  {point.size:6} bytes: {100 * clean:.0f} % of the trials lose nothing, so the median is {median}; "
            f"{seen.timeouts.mean():.2f} timeouts a trial, (7) has {_timeouts(point):.2f}"
        )
    print("\nChecks:")
    failed = _verdicts(list(_checks(every)), bad="FAILS")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "short-flows.html").write_text(_page(every), encoding="utf-8")
        print(f"\nthe page: {out / 'short-flows.html'}")
    return 1 if failed else 0


def _print(sweep: Sweep) -> None:
    print(f"\n{sweep.title}; seconds")
    names = ("minimum", "median", "mean", "80 %")
    print(f"{sweep.along:>12}" + "".join(f"{name:>10}" for name in (*names, "(1)", "(4)", "(14)")))
    for value, point in zip(sweep.values, sweep.points, strict=True):
        cells = [point.seen.statistics()[name] for name in names] + [point.model(number) for number in MODELS]
        print(f"{value:12g}" + "".join(f"{cell:10.3f}" for cell in cells))


def _print_spread() -> None:
    print("\nFigs. 5 and 6: histograms; seconds")
    print(f"{'':28}{'median':>10}{'mean':>10}{'deviation':>12}{'lost SYNs':>12}")
    for name, point in (("MSS 1460, loss 5 %", FIG_5), ("MSS 536, loss 10 %", FIG_6)):
        seen = point.seen
        share = 100.0 * float((seen.syn_timeouts > 0).mean())
        print(f"{name:28}{seen.median:10.3f}{seen.mean:10.3f}{seen.deviation:12.3f}{share:10.1f} %")


def _print_events() -> None:
    for title, point in (("Fig. 14: 10 kB", FIG_14), ("Fig. 15: 128 kB", FIG_15)):
        print(f"\n{title}: reductions of the window, share of trials")
        seen, law = _event_shares(point)
        print("".join(f"{count:8}" for count in range(len(seen))))
        print("".join(f"{share:8.3f}" for share in seen) + "   seen")
        print("".join(f"{share:8.3f}" for share in law) + "   binomial of the segments")
    print("\nFig. 16: 64 kB, no SYN lost; seconds by the number of reductions")
    for count, times in _by_events(FIG_16).items():
        print(f"{count:8}{len(times):8}{np.median(times):10.3f}{times.mean():10.3f}")


def _timeouts(point: Point) -> float:
    """Mean number of timeouts by (5) to (7)."""
    losses = sf.expected_losses(point.size, point.loss, mss=point.mss)
    return float(losses * sf.timeout_probability(point.loss))


def _event_shares(point: Point) -> tuple[list[float], list[float]]:
    """Shares of trials by their number of reductions; and the binomial law with one trial a segment."""
    counts = np.bincount(point.seen.events)
    segments = math.ceil(point.size / point.mss)
    most = max(len(counts) - 1, 1)
    return (counts / counts.sum()).tolist(), list(binomial(segments, point.loss, most))


def _by_events(point: Point) -> dict[int, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Times by the number of reductions, those seen thirty times or more."""
    quick = point.seen.quick()
    found = {}
    for count in range(int(point.seen.events.max()) + 1):
        times = point.seen.seconds[quick & (point.seen.events == count)]
        if len(times) >= 30:
            found[count] = times
    return found


def _sayings(by_key: dict[str, Sweep]) -> Iterator[Line]:
    def medians(key: str) -> list[float]:
        return [point.seen.median for point in by_key[key].points]

    def off(key: str, number: int, which: str = "median") -> float:
        points = by_key[key].points
        return distance([p.model(number) for p in points], [p.seen.statistics()[which] for p in points])

    yield from _spread_sayings()
    seven = by_key["fig-7"].points
    logs = straight([math.log(p.size) for p in seven], medians("fig-7"))
    flat = straight([p.size for p in seven], medians("fig-7"))
    yield "Fig. 7: the time is logarithmic in the size", f"R² {logs:.3f} against {flat:.3f} linear", logs > flat
    yield (
        "Fig. 7: (1) fits the minimum well",
        f"off by {off('fig-7', 1, 'minimum'):.2f}",
        off("fig-7", 1, "minimum") <= CLOSE,
    )
    yield "Fig. 7: (14) fits the median closely", f"off by {off('fig-7', 14):.2f}", off("fig-7", 14) <= CLOSE
    yield "Fig. 7: (4) fits almost as well", f"off by {off('fig-7', 4):.2f}", off("fig-7", 4) <= FAIR
    eight = by_key["fig-8"].points
    slope = straight([p.size for p in eight], medians("fig-8"))
    yield "Fig. 8: the time is linear in the size", f"R² {slope:.3f}", slope >= STRAIGHT
    least = [int(p.seen.events.min()) for p in eight]
    told = ", ".join(f"{p.size // 1000} kB: {n}" for p, n in zip(eight, least, strict=True))
    yield "Fig. 8: at 512 kB all see at least one loss", f"fewest reductions {told}", least[-1] > 0
    ratios = [[p.seen.median / p.model(number) for p in eight] for number in (4, 14)]
    told = "; ".join(f"{row[0]:.2f} to {row[-1]:.2f}" for row in ratios)
    yield (
        "Fig. 8: (4) and (14) gradually diverge from the median",
        f"median/model {told}",
        all(row[-1] > row[0] for row in ratios),
    )
    yield (
        "Fig. 8: (14) is the closer one",
        f"off by {off('fig-8', 14):.2f}, (4) {off('fig-8', 4):.2f}",
        (off("fig-8", 14) < off("fig-8", 4)),
    )
    nine = medians("fig-9")
    falling = all(other <= one * 1.001 for one, other in itertools.pairwise(nine))
    yield "Fig. 9: a larger MSS is as a smaller size", f"median {nine[0]:.2f} to {nine[-1]:.2f} s", falling
    ten = by_key["fig-10"].points
    slope = straight([p.rtt for p in ten], medians("fig-10"))
    yield "Fig. 10: the time is linear in the round trip", f"R² {slope:.3f}", slope >= STRAIGHT
    errors = {p.rtt: distance([p.model(14)], [p.seen.median]) for p in ten}
    yield (
        "Fig. 10: (14) diverges at 200 and 400 ms",
        (f"off by {errors[0.2]:.2f} and {errors[0.4]:.2f}, {errors[0.05]:.2f} at 50 ms"),
        min(errors[0.2], errors[0.4]) > errors[0.05],
    )
    for number in MODELS:
        yield (
            f"Fig. 11: ({number}) fits the median fairly well",
            f"off by {off('fig-11', number):.2f}",
            (off("fig-11", number) <= FAIR),
        )
    worst = by_key["fig-11"].points[-1].seen
    yield (
        "Fig. 11: the mean skyrockets",
        f"{worst.mean:.1f} s at 15 %, median {worst.median:.1f}",
        (worst.mean > 10.0 * by_key["fig-11"].points[0].seen.mean),
    )
    change = abs(math.log(MORE_BACK.seen.mean / LESS_BACK.seen.mean))
    yield (
        "Figs. 11 to 13: a little more loss on the way back changes little",
        (f"mean {LESS_BACK.seen.mean:.2f} s at 4 %, {MORE_BACK.seen.mean:.2f} at 6 %"),
        change <= CLOSE,
    )
    for key in ("fig-12", "fig-13"):
        told = f"off by {off(key, 14):.2f}, (4) {off(key, 4):.2f}"
        yield f"{by_key[key].title[:7]}: (14) is better than (4) at low loss", told, off(key, 14) < off(key, 4)
        rarely = [p for p in by_key[key].points if p.loss < 0.01]
        factor = max(p.seen.median / p.model(4) for p in rarely)
        yield (
            f"{by_key[key].title[:7]}: (4) is a factor of two or three off below 1 %",
            f"at most {factor:.2f}",
            (1.5 <= factor <= 3.5),
        )
    yield from _event_sayings()


def _spread_sayings() -> Iterator[Line]:
    five, six = FIG_5.seen, FIG_6.seen
    yield (
        "Fig. 5: the mean is three times the median",
        f"{five.mean / five.median:.1f}",
        (2.5 <= five.mean / five.median <= 3.5),
    )
    yield (
        "Fig. 5: the deviation is more than ten times the median",
        f"{five.deviation / five.median:.1f}",
        (five.deviation > 10.0 * five.median),
    )
    cluster = (five.seconds > SYN_TIMEOUT_S) & (five.seconds < SYN_TIMEOUT_S + 1.0)
    share = float((five.syn_timeouts[cluster] > 0).mean())
    yield "Fig. 5: nearly all just after 6 s lost a SYN", f"{100 * share:.1f} % of {cluster.sum()}", share > 0.9
    ratios = [six.median / five.median, six.mean / five.mean, six.deviation / five.deviation]
    yield (
        "Fig. 6: median, mean and deviation are about four times Fig. 5's",
        (", ".join(f"{ratio:.1f}" for ratio in ratios)),
        all(2.0 <= ratio <= 8.0 for ratio in ratios),
    )
    between = (six.seconds > 6.5) & (six.seconds < 18.0)
    most = float((six.syn_timeouts[between] > 0).mean())
    yield "Fig. 6: most from 6.5 to 18 s lost one SYN", f"{100 * most:.0f} % of {between.sum()}", most > 0.5


def _event_sayings() -> Iterator[Line]:
    for name, point in (("10 kB", FIG_14), ("128 kB", FIG_15)):
        share = float(point.seen.timeouts.sum() / point.seen.events.sum())
        q = float(sf.timeout_probability(point.loss))
        yield f"section 4.2: {name} hardly ever use fast retransmit", f"{100 * share:.0f} % are timeouts", share > 0.9
        yield (
            f"section 4.2: (6) says how many of {name}'s reductions are timeouts",
            f"{share:.2f}, Q {q:.2f}",
            (abs(math.log(share / q)) <= CLOSE),
        )
    for name, point in (("Fig. 14", FIG_14), ("Fig. 15", FIG_15)):
        seen, law = _event_shares(point)
        apart = 0.5 * (sum(abs(a - b) for a, b in zip(seen, law, strict=False)) + 1.0 - sum(law))
        told = f"total variation {apart:.3f}, mean {point.seen.events.mean():.2f} against {_mean(law):.2f}"
        yield f"{name}: reductions follow the binomial law very well", told, apart <= 0.1
        expected = float(sf.expected_losses(point.size, point.loss, mss=point.mss))
        yield (
            f"{name}: (5) gives their mean",
            f"{point.seen.events.mean():.2f} against {expected:.2f}",
            (abs(math.log(point.seen.events.mean() / expected)) <= CLOSE),
        )
    medians = [float(np.median(times)) for times in _by_events(FIG_16).values()]
    means = [float(times.mean()) for times in _by_events(FIG_16).values()]
    yield (
        "Fig. 16: the time grows with the number of reductions",
        (f"median {medians[0]:.2f} to {medians[-1]:.2f} s over {len(medians)}"),
        all(b > a for a, b in itertools.pairwise(medians)),
    )
    half = len(means) // 2
    steps = (means[half] - means[0]) / half, (means[-1] - means[half]) / (len(means) - 1 - half)
    yield (
        "Fig. 16: each costs more than the last",
        f"mean {steps[0]:.2f} s each at first, then {steps[1]:.2f}",
        (steps[1] > steps[0]),
    )


def _mean(law: Sequence[float]) -> float:
    return sum(count * share for count, share in enumerate(law))


def _checks(every: Sequence[Sweep]) -> Iterator[Line]:
    for point in (FIG_5, FIG_6, FIG_15):
        lost = 1.0 - (1.0 - point.loss) ** 2
        found = float((point.seen.syn_timeouts > 0).mean())
        error = SIGMAS * math.sqrt(lost * (1.0 - lost) / TRIALS)
        told = f"{100 * found:.2f} % against {100 * lost:.2f} ± {100 * error:.2f}"
        yield (
            f"handshakes lose a packet as two packets do, loss {point.loss}, {point.size} bytes",
            told,
            (abs(found - lost) <= error),
        )
    for sweep in every:
        # A single segment does not wait for the delayed acknowledgement that (1) counts.
        points = [p for p in sweep.points if p.size > p.mss]
        if sweep.key in ("fig-7", "fig-9", "fig-10", "fig-12", "fig-13"):
            pairs = [(p.seen.statistics()["minimum"] - p.model(1)) / p.rtt for p in points]
            told = f"by {min(pairs):+.2f} to {max(pairs):+.2f} round trips"
            yield f"{sweep.title}: the least time is (1) to a round trip", told, max(map(abs, pairs)) <= 1.0
    for sweep in every:
        ordered = all(
            p.seen.statistics()["minimum"] <= p.seen.median <= p.seen.statistics()["80 %"] for p in sweep.points
        )
        yield f"{sweep.title}: minimum, median and 80 % are in order", f"{len(sweep.points)} points", ordered


def _verdicts(lines: Sequence[Line], *, bad: str) -> int:
    for told, ours, holds in lines:
        print(f"  {'holds' if holds else bad:14} {told}: {ours}")
    held = sum(holds for _, _, holds in lines)
    print(f"  {held} of {len(lines)} hold")
    return len(lines) - held


def _page(every: Sequence[Sweep]) -> str:
    figures = []
    for sweep in every:
        curves = [
            line(name, name, sweep.values, [point.seen.statistics()[name] for point in sweep.points])
            for name in ("minimum", "median", "mean", "80 %")
        ]
        curves += [
            line(f"model-{number}", f"({number})", sweep.values, [point.model(number) for point in sweep.points])
            for number in MODELS
        ]
        across: Literal["linear", "log"] = "linear" if sweep.key in ("fig-8", "fig-10", "fig-11") else "log"
        figures.append(
            Figure(
                key=sweep.key,
                title=sweep.title,
                source="Cardwell et al. 1998",
                caption=f"{TRIALS} trials a point.",
                x=Axis(label=sweep.along, unit=sweep.unit, scale=across),
                y=Axis(label="time", unit="s", scale="log"),
                series=tuple(curves),
            )
        )
    for key, title, point in (("fig-14", "Fig. 14: 10 kB", FIG_14), ("fig-15", "Fig. 15: 128 kB", FIG_15)):
        seen, law = _event_shares(point)
        counts = [str(count) for count in range(len(seen))]
        figures.append(
            Figure(
                key=key,
                title=title,
                source="Cardwell et al. 1998",
                caption="Reductions of the window.",
                x=Axis(label="reductions", unit="", scale="category"),
                y=Axis(label="share of the trials", unit="", scale="linear"),
                series=(bar("seen", "seen", counts, seen), bar("binomial", "binomial", counts, law)),
            )
        )
    groups = _by_events(FIG_16)
    counts_seen = [float(count) for count in groups]
    figures.append(
        Figure(
            key="fig-16",
            title="Fig. 16: time by reductions, 64 kB",
            source="Cardwell et al. 1998",
            caption="Trials without a lost SYN.",
            x=Axis(label="reductions", unit="", scale="linear"),
            y=Axis(label="time", unit="s", scale="linear", low=0.0),
            series=(
                line("median", "median", counts_seen, [float(np.median(times)) for times in groups.values()]),
                line("mean", "mean", counts_seen, [float(times.mean()) for times in groups.values()]),
            ),
        )
    )
    figures += [
        _histogram("fig-5", "Fig. 5: MSS 1460, loss 5 %", FIG_5),
        _histogram("fig-6", "Fig. 6: MSS 536, loss 10 %", FIG_6),
    ]
    section = Section(key="short-flows", title="Simulated short transfers", figures=tuple(figures))
    return page(
        report(
            [section],
            title="Short transfers with loss",
            subtitle="Cardwell, Savage, Anderson 1998, Figs. 5 to 16, from our simulator.",
            command="python verification/short_flows.py --out DIR",
        )
    )


def _histogram(key: str, title: str, point: Point) -> Figure:
    edges = np.arange(0.0, 30.5, 0.5)
    counts, _ = np.histogram(point.seen.seconds, bins=edges)
    return Figure(
        key=key,
        title=title,
        source="Cardwell et al. 1998",
        caption=f"{TRIALS} transfers of 10 kB; {int((point.seen.seconds >= edges[-1]).sum())} took longer.",
        x=Axis(label="time", unit="s", scale="linear"),
        y=Axis(label="trials", unit="", scale="linear"),
        series=(bar("trials", "trials", (edges[:-1] + 0.25).tolist(), counts.tolist()),),
    )


if __name__ == "__main__":
    sys.exit(main())
