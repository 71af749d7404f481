"""Closed models of the papers: figures that are formulae, and the conclusions of the texts.

Thresholds are the texts' own words. Nothing in this module is random.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from tcpsf.evaluation.data import Axis, Figure, PublishedPoint, Report, Section, Series
from tcpsf.evaluation.judge import (
    Finding,
    Judged,
    Verdict,
    by_value,
    exact,
    finding,
    is_above,
    is_below,
    is_exactly,
    is_within,
)
from tcpsf.models import best_framing as bf
from tcpsf.models import packet_discard as pd
from tcpsf.models import short_flows as sf
from tcpsf.models import smart_framing as small
from tcpsf.models.sender import Detection
from tcpsf.report import chains, model_sheets
from tcpsf.report.model import LOSS, line, report

JOURNAL = "Mellia et al. 2005"
DOCUMENTED = "The project's documentation lists the corrections on the page “The closed models”."
HEADLINE = (
    "gain-constant-FS",
    "gain-falls-with-rtt",
    "fs-waste",
    "negative-gain-gross",
    "modem",
    "two-losses",
)
"""Keys of the papers' main claims."""
LOSSES = (0.0005, 0.001, 0.002, 0.005, *(round(0.01 * n, 2) for n in range(1, 16)))
RTTS = tuple(round(0.02 * n, 2) for n in range(1, 26))
FIG_13_LOSS = 0.05
SEEN = (0.02, 0.04, 0.06, 0.08, 0.1, 0.12)
"""Loss rates at which a claim about Figs. 12 and 15 as a whole is tested.

The largest is the largest that the text names.
"""
SMALL = 0.001
LAWS: tuple[small.Law, ...] = ("linear", "constant")


def model_report(*, command: str) -> Report:
    """Return all closed models as one report."""
    sections = (_small_window(), _short_flows(), _packet_discard(), _best_framing())
    return report(
        sections,
        title="Closed models of the papers: figures and claims reproduced",
        subtitle="Figures with closed formulae, computed from the corrected equations, and the claims of the texts.",
        command=command,
        headline=HEADLINE,
    )


def model_section(key: str, *, command: str) -> Report:
    """Return one paper's section of `model_report` as a report of its own, by the section's key."""
    made = model_report(command=command)
    (section,) = (section for section in made.sections if section.key == key)
    title = f"Closed models: {section.title[0].lower()}{section.title[1:]}"
    found = [each.key for each in section.findings]
    main = [key for key in HEADLINE if key in found]
    return report([section], title=title, subtitle=made.subtitle, command=command, headline=main)


def _small_window() -> Section:
    classic = small.classic(LOSSES)
    framed = {
        (key, law): make(LOSSES, law=law)
        for key, make in (("vs", small.variable_size), ("fs", small.fixed_size))
        for law in LAWS
    }
    label = {"vs": "VS", "fs": "FS"}

    def gains(*, net: bool) -> tuple[Series, ...]:
        return tuple(
            line(
                f"{key}-{law}",
                f"{label[key]}, {law}",
                LOSSES,
                list(small.gain_percent(each, classic, net=net)),
            )
            for (key, law), each in framed.items()
        )

    gain = Axis(label="throughput gain over Classic", unit="%", scale="linear")
    fig_12 = Figure(
        key="fig-12",
        title="Fig. 12: gain by loss",
        source=f"{JOURNAL}, Fig. 12",
        caption="Round trip 200 ms, timeout 1.5 s. By (4) and (11), headers counted as throughput.",
        x=LOSS,
        y=gain,
        series=gains(net=False),
    )
    net = Figure(
        key="fig-12-net",
        title="Fig. 12, net of headers",
        source=f"{JOURNAL}, Fig. 12",
        caption="The same without the 40 bytes of header of each segment: below zero at small losses, as printed.",
        x=LOSS,
        y=gain,
        series=gains(net=True),
    )
    at_rtt = small.classic(FIG_13_LOSS, rtt=RTTS)
    fig_13 = Figure(
        key="fig-13",
        title="Fig. 13: gain by round trip",
        source=f"{JOURNAL}, Fig. 13",
        caption="Loss 0.05, timeout 1.5 s.",
        x=Axis(label="round trip", unit="s", scale="linear", low=0.0),
        y=gain,
        series=tuple(
            line(
                f"{key}-{law}",
                f"{label[key]}, {law}",
                RTTS,
                list(small.gain_percent(make(FIG_13_LOSS, law=law, rtt=RTTS), at_rtt)),
            )
            for key, make in (("vs", small.variable_size), ("fs", small.fixed_size))
            for law in LAWS
        ),
    )
    wastes = [
        line(f"{key}-{law}", f"{label[key]}, {law}", LOSSES, list(100.0 * each.waste_fraction))
        for (key, law), each in framed.items()
    ]
    wastes = [
        Series(
            key=each.key,
            label=each.label,
            points=each.points,
            published=(PublishedPoint(x=LOSSES[0], y=10.0),),
        )
        if each.key == "fs-linear"
        else each
        for each in wastes
    ]
    fig_15 = Figure(
        key="fig-15",
        title="Fig. 15: bandwidth wasted",
        source=f"{JOURNAL}, Fig. 15",
        caption="Headers and lost bytes, as a percentage of the sent bytes. The text gives one number.",
        x=LOSS,
        y=Axis(label="waste", unit="%", scale="linear", low=0.0),
        series=(line("classic", "Classic", LOSSES, list(100.0 * classic.waste_fraction)), *wastes),
    )
    return Section(
        key="small-window",
        title="The small-window region",
        text=(f"The Markov chains of section V, with misprints corrected. {DOCUMENTED}",),
        drawings=tuple(
            map(chains.drawing, model_sheets.small_window_chains(loss=FIG_13_LOSS).chains)
        ),
        figures=(fig_12, net, fig_13, fig_15),
        findings=tuple(_small_window_claims()),
        why=(
            "(4) and (11) count headers as throughput, so the negative gain appears only net of headers; "
            "the cause of the difference in waste is not known"
        ),
    )


def _small_window_claims() -> Iterator[Finding]:
    seen = np.array(SEEN)
    for key, make in (("VS", small.variable_size), ("FS", small.fixed_size)):
        found = small.gain_percent(make(seen, law="constant"), small.classic(seen))
        yield _claim(
            f"gain-constant-{key}",
            f"{key}-TCP-SF gains even if loss does not depend on size (2 to 12 %)",
            "section V-D, Fig. 12",
            "above 0",
            is_above(exact(float(found.min())), 0.0, "%"),
        )
    for net in (False, True):
        lowest = small.gain_percent(small.fixed_size(SMALL), small.classic(SMALL), net=net)
        yield _claim(
            f"negative-gain-{'net' if net else 'gross'}",
            f"FS-TCP-SF loses at very small loss ({SMALL}), {'net of headers' if net else 'by (4) and (11)'}",
            "section V-D, Fig. 12",
            "below 0",
            is_below(exact(float(lowest)), 0.0, "%"),
        )
    for law in LAWS:
        both = [small.gain_percent(make(0.12, law=law), small.classic(0.12)) for make in _FRAMED]
        yield _claim(
            f"fs-over-vs-{law}",
            f"FS-TCP-SF gains more than VS-TCP-SF at a loss of 12 %, {_LAW[law]}",
            "section V-D",
            "above 0",
            is_above(exact(float(both[1] - both[0])), 0.0, "percentage points"),
        )
    over_rtt = small.gain_percent(
        small.fixed_size(FIG_13_LOSS, rtt=RTTS), small.classic(FIG_13_LOSS, rtt=RTTS)
    )
    yield _claim(
        "gain-falls-with-rtt",
        "The gain of FS-TCP-SF falls as the round trip grows",
        "section V-D, Fig. 13",
        "always",
        is_below(
            exact(float(np.diff(over_rtt).max())), 0.0, "percentage points a step, the largest"
        ),
    )
    yield _claim(
        "gain-at-half-a-second",
        "FS-TCP-SF still gains at a round trip of 0.5 s",
        "section V-D, Fig. 13",
        "above 0",
        is_above(exact(float(over_rtt[-1])), 0.0, "%"),
    )
    at_zero = [
        100.0 * float(passage.waste_fraction)
        for passage in (small.classic(0.0), *(m(0.0) for m in _FRAMED))
    ]
    yield _claim(
        "fs-waste",
        "FS-TCP-SF wastes 10 % of the bandwidth at small loss (to the nearest percent)",
        "section VII, Fig. 15",
        "10 %",
        is_within(exact(at_zero[2]), 9.5, 10.5, "%"),
    )
    for key, name, times, other in (("classic", "Classic", 3, 0), ("vs", "VS-TCP-SF", 2, 1)):
        yield _claim(
            f"fs-waste-over-{key}",
            f"At small loss FS-TCP-SF wastes {times} times as much as {name} (to the nearest integer)",
            "section VII",
            f"{times}",
            is_within(exact(at_zero[2] / at_zero[other]), times - 0.5, times + 0.5, "times"),
        )
    for key, name, loss, make in (("vs", "VS", 0.08, _FRAMED[0]), ("fs", "FS", 0.12, _FRAMED[1])):
        yield _claim(
            f"waste-crosses-{key}",
            f"From a loss of {loss} on, linear in size, Classic wastes more than {name}-TCP-SF (to half a percent)",
            "section VII, Fig. 15",
            f"{loss}",
            is_below(exact(_crossing(make)), loss + 0.005, ""),
        )


def _crossing(make: Callable[..., small.Passage]) -> float:
    """Smallest loss rate, to 0.01 %, from which on Classic wastes more."""
    losses = np.arange(1, 4000) * 1e-4
    more = small.classic(losses).waste_fraction > make(losses).waste_fraction
    return float(losses[np.argmax(more)])


_FRAMED = (small.variable_size, small.fixed_size)
_LAW: dict[small.Law, str] = {
    "linear": "loss linear in size",
    "constant": "loss independent of size",
}

SIZES = tuple(float(each) for each in np.geomspace(1000, 256_000, 25).round())


def _short_flows() -> Section:
    rtt = 0.07

    def trips(size: float | Sequence[float], **changed: float) -> list[float]:
        return [
            float(each)
            for each in np.atleast_1d(sf.lossless(size, **{"rtt": rtt, **changed}) / rtt)
        ]

    ways: dict[str, tuple[str, dict[str, float]]] = {
        "standard": ("standard", {}),
        "growth": ("growth by 2", {"ack_every": 1.0}),
        "window": ("initial window 3", {"initial_window": 3.0}),
        "flows": ("4 flows", {"flows": 4.0}),
        "mss": ("MSS 9000", {"mss": 9000.0}),
    }
    figure = Figure(
        key="cardwell-fig-2",
        title="Fig. 2: alternatives for faster transfers without loss",
        source="Cardwell et al. 1998, Fig. 2",
        caption="In round trips of 70 ms, delayed acknowledgment of 100 ms included.",
        x=Axis(label="size", unit="bytes", scale="log"),
        y=Axis(label="time", unit="round trips", scale="linear", low=0.0),
        series=(
            *(
                line(key, label, SIZES, trips(SIZES, **changed))
                for key, (label, changed) in ways.items()
            ),
            line("ideal", "ideal", SIZES, [1.0] * len(SIZES)),
        ),
    )
    largest = {key: trips(SIZES[-1], **changed)[0] for key, (_, changed) in ways.items()}
    alike = [largest[key] for key in ("window", "flows", "mss")]
    pipes = {name: float(sf.data_until_full_pipe(rate=r, rtt=t)) / 1000 for name, r, t in _PIPES}
    long = np.geomspace(1000.0, 1e8, 500)
    others = np.min(
        [sf.lossless(long, rtt=rtt, **ways[key][1]) for key in ("window", "flows", "mss")], axis=0
    )
    ahead = sf.lossless(long, rtt=rtt, **ways["growth"][1]) < others
    findings = (
        _claim(
            "alike", "A larger window, four flows and a larger MSS differ by less than two round trips", "section 3.2",
            "similar", is_below(exact(max(alike) - min(alike)), 2.0, "round trips"),
        ),
        _claim(
            "fastest", "Growth by 2 is the fastest for long flows", "section 3.2", "fastest",
            by_value(
                long[np.argmax(ahead)] / 1000, "holds" if ahead[-1] else "does not hold",
                f"from {long[np.argmax(ahead)] / 1000:.0f} kB on" if ahead[-1] else "never",
                f"At {long[-1] / 1000:.0f} kB growth by 2 is {'' if ahead[-1] else 'not '}faster than the others.",
            ),
        ),
        _claim(
            "modem", "The path of a modem is full after 7.5 kB (to half a kB)", "section 3.3.1, (2)", "7.5 kB",
            is_within(exact(pipes["modem"]), 7.0, 8.0, "kB"),
        ),
        _claim(
            "ethernet", "A transcontinental Ethernet path is full after 260 kB (within 5 kB)",
            "section 3.3.1, (2)", "260 kB",
            is_within(exact(pipes["ethernet"]), 255.0, 265.0, "kB"),
        ),
        *(
            _claim(
                f"optimal-{loss}",
                f"21 packets have no loss in {percent} % of cases at a loss of {loss} % (within one point)",
                "section 3.3.2", f"{percent} %",
                is_exactly(100.0 * (1.0 - loss / 100.0) ** 21, percent, within=1.0, unit="%"),
            )
            for loss, percent in ((1, 80), (5, 34))
        ),
    )  # fmt: skip
    return Section(
        key="short-flows",
        title="Short transfers without loss",
        text=("Models without loss. `tcpsf reproduce short-flows` compares those with loss.",),
        figures=(figure,),
        findings=findings,
        why="the 7.5 kB of the modem are three times rate × round-trip time, while (2) gives less",
    )


_PIPES = (("modem", 28_800 / 8, 0.7), ("ethernet", 10e6 / 8, 0.07))


def _packet_discard() -> Section:
    sheet = model_sheets.packet_discard(window=tuple(range(4, 25)), lost=(), most_losses=4)
    section = sheet.section(sheet.title)
    pairs = [
        (window, pattern)
        for window in range(5, 25)
        for pattern in itertools.combinations(range(window), 2)
        if pd.reno_recovers(window, pattern)
    ]
    early = [f"{window} {{{a}, {b}}}" for window, (a, b) in pairs if window < 10]
    fours = [p for window in range(4, 17) for p in itertools.combinations(range(window), 4)]
    played = sum(pd.reno_recovers(window, p) for window in range(4, 17) for p in _of(window, 4))
    findings = (
        _claim(
            "smallest-window", "No fast retransmit below a window of 5", "section 2.1", "5",
            is_exactly(_smallest_window(), 5, within=0, unit="segments by (1)"),
        ),
        _claim(
            "two-losses", "Two losses need a window of 10", "section 2.2, (2)", "10",
            _counted(len(early), f"windows below 10 that recover: {', '.join(early) or 'none'}"),
        ),
        _claim(
            "four-losses", "Four losses always end in a timeout", "section 2.2, (4)", "always",
            _counted(played, f"{played} of {len(fours)} patterns recover, windows of 4 to 16"),
        ),
        _claim(
            "cells", "A 576-byte datagram is 12 cells", "section 3", "12",
            is_exactly(float(pd.cells(576)), 12, within=0, unit="cells"),
        ),
    )  # fmt: skip
    return Section(
        key=section.key,
        title=section.title,
        text=section.text,
        figures=section.figures,
        findings=findings,
        why="(2) is misprinted for two patterns of losses, and the trailer of AAL5 needs a thirteenth cell",
    )


def _of(window: int, count: int) -> Iterator[tuple[int, ...]]:
    return itertools.combinations(range(window), count)


def _smallest_window() -> int:
    return next(window for window in range(1, 10) if pd.reno_recovers(window, [0]))


def _counted(count: int, told: str) -> Judged:
    verdict: Verdict = "does not hold" if count else "holds"
    return by_value(
        count,
        verdict,
        told,
        f"The count is {count}; the claim needs none. Nothing is random.",
    )


def _best_framing() -> Section:
    return Section(
        key="best-framing",
        title="The best segmentation of a reply of 1200 bytes",
        text=(
            (
                "Mean time beyond a round trip of 50 ms. Every pattern of losses is enumerated, and retransmissions "
                "arrive. The project's documentation explains the senders on the page “The best framing”."
            ),
        ),
        figures=best_framing_figures(),
    )


EXPONENTS = tuple(round(0.1 * n, 1) for n in range(11))


def best_framing_figures() -> tuple[Figure, ...]:
    """Figures of the cost of a loss by framing.

    They range from a loss rate independent of packet size to one proportional to the size.
    """
    return (
        _costs(bf.linux(rtt=0.05), "rack", "RACK-TLP, Linux's timers"),
        _costs(bf.duplicates(), "duplicates", "Three duplicates, timer 1 s"),
    )


def _costs(sender: Detection, key: str, title: str) -> Figure:
    costs: dict[str, list[float]] = {}
    for exponent in EXPONENTS:
        case = bf.Case(size=1200, rtt=0.05, loss=0.01, law=exponent, sender=sender)
        for each in bf.compare(case):
            costs.setdefault(each.framing.name, []).append(1000.0 * (each.mean_s - each.lossless_s))
    groups = _alike(costs)
    return Figure(
        key=f"best-{key}",
        title=title,
        source="This project",
        caption="A full-sized packet is lost with a probability of 1 %.",
        x=Axis(
            label="exponent of packet size in the loss rate (0: no effect of size, 1: proportional)",
            unit="",
            scale="linear",
            low=0.0,
            high=1.0,
        ),
        y=Axis(label="mean cost of loss", unit="ms", scale="log"),
        series=tuple(
            line(_key(names[0]), names[0], EXPONENTS, costs[names[0]]) for names in groups
        ),
        notes=tuple(
            f"Equal to the curve of {first}: {', '.join(others)}."
            for first, *others in groups
            if others
        ),
    )


def _alike(costs: Mapping[str, Sequence[float]]) -> list[list[str]]:
    """List the framings in order, with those of equal cost grouped."""
    groups: list[list[str]] = []
    for name in _ORDER:
        if name not in costs:
            continue
        same = next(
            (group for group in groups if np.allclose(costs[group[0]], costs[name], rtol=1e-3)),
            None,
        )
        if same is None:
            groups.append([name])
        else:
            same.append(name)
    return groups


_ORDER = ("full-sized", "FS", "halves", "tiny tail", "tail guard", "FIN guard", "best")


def _key(name: str) -> str:
    return name.lower().replace(" ", "-")


def _claim(key: str, claim: str, source: str, published: str, judged: Judged) -> Finding:
    return finding(key=key, claim=claim, source=source, published=published, judged=judged)
