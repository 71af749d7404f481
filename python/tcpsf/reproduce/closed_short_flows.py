"""Fig. 2 and equations (1) and (2) of the paper on short transfers: transfers without loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tcpsf.evaluation.data import Axis, Figure, Section
from tcpsf.evaluation.judge import Finding, by_value, exact, is_below, is_exactly, is_within
from tcpsf.models import short_flows as sf
from tcpsf.report.sheet import line
from tcpsf.reproduce.closed_finding import claim

SIZES = tuple(float(each) for each in np.geomspace(1000, 256_000, 25).round())


ALTERNATIVES: dict[str, tuple[str, dict[str, float]]] = {
    "standard": ("standard", {}),
    "growth": ("growth by 2", {"ack_every": 1.0}),
    "window": ("initial window 3", {"initial_window": 3.0}),
    "flows": ("4 flows", {"flows": 4.0}),
    "mss": ("MSS 9000", {"mss": 9000.0}),
}
"""Label and arguments of `tcpsf.models.short_flows.lossless` of each alternative of Fig. 2."""
SIMILAR = ("window", "flows", "mss")
"""Alternatives that the text calls similar."""
RTT_S = 0.07
PIPES = (("modem", 28_800 / 8, 0.7), ("ethernet", 10e6 / 8, 0.07))
"""Name, rate in bytes per second, and round-trip time in seconds of the text's paths."""


def section() -> Section:
    """Return the section on transfers without loss, with Fig. 2 of the paper."""
    return Section(
        key="short-flows",
        title="Short transfers without loss",
        text=("Models without loss. `tcpsf reproduce short-flows` compares those with loss.",),
        figures=(_figure(),),
        findings=(*_alternatives_claims(), *_pipe_claims(), *_loss_claims()),
        why="the 7.5 kB of the modem are three times rate × round-trip time, while (2) gives less",
    )


def _round_trips(size: float | Sequence[float], **changed: float) -> list[float]:
    """Return the time of transfers without loss, in round trips."""
    times = sf.lossless(size, **{"rtt": RTT_S, **changed})
    return [float(each) for each in np.atleast_1d(times / RTT_S)]


def _figure() -> Figure:
    return Figure(
        key="cardwell-fig-2",
        title="Fig. 2: alternatives for faster transfers without loss",
        source="Cardwell et al. 1998, Fig. 2",
        caption="In round trips of 70 ms, delayed acknowledgment of 100 ms included.",
        x=Axis(label="size", unit="bytes", scale="log"),
        y=Axis(label="time", unit="round trips", scale="linear", low=0.0),
        series=(
            *(
                line(key, label, SIZES, _round_trips(SIZES, **changed))
                for key, (label, changed) in ALTERNATIVES.items()
            ),
            line("ideal", "ideal", SIZES, [1.0] * len(SIZES)),
        ),
    )


def _alternatives_claims() -> Iterator[Finding]:
    similar = [_round_trips(SIZES[-1], **ALTERNATIVES[key][1])[0] for key in SIMILAR]
    yield claim(
        "alike",
        "A larger window, four flows and a larger MSS differ by less than two round trips",
        "section 3.2",
        "similar",
        is_below(exact(max(similar) - min(similar)), 2.0, "round trips"),
    )
    long = np.geomspace(1000.0, 1e8, 500)
    others = np.min(
        [sf.lossless(long, rtt=RTT_S, **ALTERNATIVES[key][1]) for key in SIMILAR], axis=0
    )
    ahead = sf.lossless(long, rtt=RTT_S, **ALTERNATIVES["growth"][1]) < others
    first = long[np.argmax(ahead)] / 1000
    yield claim(
        "fastest",
        "Growth by 2 is the fastest for long flows",
        "section 3.2",
        "fastest",
        by_value(
            first,
            "holds" if ahead[-1] else "does not hold",
            f"from {first:.0f} kB on" if ahead[-1] else "never",
            f"At {long[-1] / 1000:.0f} kB growth by 2 is {'' if ahead[-1] else 'not '}faster than the others.",
        ),
    )


def _pipe_claims() -> Iterator[Finding]:
    pipes = {name: float(sf.data_until_full_pipe(rate=r, rtt=t)) / 1000 for name, r, t in PIPES}
    yield claim(
        "modem",
        "The path of a modem is full after 7.5 kB (to half a kB)",
        "section 3.3.1, (2)",
        "7.5 kB",
        is_within(exact(pipes["modem"]), 7.0, 8.0, "kB"),
    )
    yield claim(
        "ethernet",
        "A transcontinental Ethernet path is full after 260 kB (within 5 kB)",
        "section 3.3.1, (2)",
        "260 kB",
        is_within(exact(pipes["ethernet"]), 255.0, 265.0, "kB"),
    )


def _loss_claims() -> Iterator[Finding]:
    for loss, percent in ((1, 80), (5, 34)):
        yield claim(
            f"optimal-{loss}",
            f"21 packets have no loss in {percent} % of cases at a loss of {loss} % (within one point)",
            "section 3.3.2",
            f"{percent} %",
            is_exactly(100.0 * (1.0 - loss / 100.0) ** 21, percent, within=1.0, unit="%"),
        )
