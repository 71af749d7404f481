"""Sections IV-A.2 and IV-A.3.

The exhibits are Limited Transmit and a larger initial window (Fig. 6), and friendliness (Fig. 7).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tcpsf import stats, text
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Axis, Figure
from tcpsf.evaluation.exhibit import Exhibit, Part, bars, series
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Runs
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_figures as figures
from tcpsf.reproduce import web_runs
from tcpsf.reproduce.smart_framing.exhibit_parts import (
    FRAMED,
    GAIN,
    JOURNAL,
    SECONDS,
    SIZE,
    Setting,
    class_gains,
)
from tcpsf.summary import RunSummary

MSS = 1460

RELATED_NOTE = (
    "The last six, which the paper's figure does not show, are the other proposals of section III-A: LT + "
    "W3 has an initial window of three. ER is Early Retransmit (RFC 5827, by segments). ABC is byte "
    "counting with L = 2 (RFC 3465). ACKs are not delayed, so ABC differs from Classic only if ACKs are lost."
)


def _segments(size: int) -> int:
    """Number of full-sized segments that a flow needs, rounded up."""
    return -(-size // MSS)


def _classes(least: int, most: int | None = None) -> tuple[int, ...]:
    """Numbers of the classes whose flows need ``least`` to ``most`` full-sized segments."""
    return tuple(
        number
        for number, size in enumerate(paper.CLASS_BYTES, start=1)
        if least <= _segments(size) and (most is None or _segments(size) <= most)
    )


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return Figs. 6 and 7, other proposals and mixed senders."""
    classic = setting.base(paper.CLASSIC)
    proposed = {
        each.key: setting.case(paper.web_scenario(sender=each.sender, duration=setting.duration))
        for each in (*figures.PROPOSALS, *figures.RELATED)
    }
    mixed = {
        variant.key: {
            share: setting.case(
                figures.friendliness_scenario(
                    framed=figures.reno(variant.sender), share=share, duration=setting.duration
                )
            )
            for share in figures.SHARES
        }
        for variant in FRAMED
    }

    def figure_6(runs: Runs) -> Part:
        return _figure_6(runs.of(classic), {key: runs.of(case) for key, case in proposed.items()})

    def figure_7(runs: Runs) -> Part:
        return _figure_7(
            {
                key: {share: runs.of(case) for share, case in cases.items()}
                for key, cases in mixed.items()
            }
        )

    return (
        Exhibit(
            key="fig-6",
            section="proposals",
            cases=(classic, *proposed.values()),
            build=figure_6,
            shown={
                "Limited Transmit": proposed["lt"].scenario,
                "initial window of 2": proposed["w2"].scenario,
            },
        ),
        Exhibit(
            key="fig-7",
            section="friendliness",
            cases=tuple(case for cases in mixed.values() for case in cases.values()),
            build=figure_7,
            shown={"Reno, 40 % of FS": mixed["fs"][0.4].scenario},
        ),
    )


def _figure_6(classic: Sequence[RunSummary], proposed: Mapping[str, Sequence[RunSummary]]) -> Part:
    sizes = [str(size) for size in paper.CLASS_BYTES]
    gains = {key: class_gains(runs, classic, len(sizes)) for key, runs in proposed.items()}
    figure = Figure(
        key="fig-6",
        title="Limited Transmit and an initial window of two, alone and with framing",
        source=f"{JOURNAL}, Fig. 6",
        caption="Gain by flow size over Classic at 80 % load, on the same arrivals.",
        x=SIZE,
        y=GAIN,
        series=tuple(
            bars(each.key, each.label, sizes, list(gains[each.key].values()))
            for each in (*figures.PROPOSALS, *figures.RELATED)
        ),
        notes=(*figures.READINGS[:1], RELATED_NOTE),
    )
    findings = (*_claims_6(classic, proposed, gains), *_claims_related(classic, proposed))
    return Part(figures=(figure,), findings=findings)


def _claims_6(
    classic: Sequence[RunSummary],
    proposed: Mapping[str, Sequence[RunSummary]],
    gains: Mapping[str, Mapping[int, stats.Estimate | None]],
) -> Iterator[Finding]:
    where = "section IV-A.2, Fig. 6"
    yield judge.finding(
        key="lt-penalty",
        claim="Limited Transmit penalises flows shorter than 6 segments by 20 to 40 % (mean of these classes)",
        source=where,
        published="gain of −20 to −40 %",
        judged=judge.is_within(
            web_runs.gain(proposed["lt"], classic, classes=_classes(1, 5)), -40.0, -20.0, "%"
        ),
    )
    totals = web_runs.each(proposed["lt"], classes=_classes(1, 4))
    yield judge.finding(
        key="lt-no-fr-below-5",
        claim="Limited Transmit gives no fast retransmit to flows shorter than 5 segments",
        source="section III-A",
        published="none",
        judged=judge.is_none(
            sum(t.fast_retransmits for t in totals), sum(t.recoveries for t in totals)
        ),
    )
    for key, classes, claim, gains_here in (
        ("w2-one-segment", _classes(1, 1), "degrades flows of 1 segment", False),
        ("w2-two-segments", _classes(2, 2), "improves flows of 2 segments", True),
        ("w2-longer", _classes(3), "degrades flows longer than 2 segments", False),
    ):
        found = web_runs.gain(proposed["w2"], classic, classes=classes)
        yield judge.finding(
            key=key,
            claim=f"An initial window of two {claim} (mean of these classes)",
            source=where,
            published="gain above 0" if gains_here else "gain below 0",
            judged=judge.is_above(found, 0.0, "%")
            if gains_here
            else judge.is_below(found, 0.0, "%"),
        )
    yield from _claims_of_combinations(classic, proposed, gains)


def _claims_of_combinations(
    classic: Sequence[RunSummary],
    proposed: Mapping[str, Sequence[RunSummary]],
    gains: Mapping[str, Mapping[int, stats.Estimate | None]],
) -> Iterator[Finding]:
    """Judge the claims on each proposal alone, and on its combination with framing."""
    where = "section IV-A.2, Fig. 6"
    for each in figures.PROPOSALS:
        if each.framing is None:
            named = {
                text.count(paper.CLASS_BYTES[n - 1], "byte"): found
                for n, found in gains[each.key].items()
            }
            yield judge.finding(
                key=f"{each.key}-alone",
                claim=f"{each.label} alone does not always gain",
                source=where,
                published="a class with a gain below 0",
                judged=judge.some_below(named, 0.0),
            )
        else:
            yield judge.finding(
                key=f"{each.key}-enhanced",
                claim=f"{each.label} together perform better than Classic",
                source=where,
                published="gain above 0",
                judged=judge.is_above(web_runs.gain(proposed[each.key], classic), 0.0, "%"),
            )
            alone = proposed[each.key.split("-")[0]]
            yield judge.finding(
                key=f"{each.key}-better-than-alone",
                claim=f"{each.label} together perform better than {each.label.split(' ')[0]} alone",
                source=where,
                published="gain above 0",
                judged=judge.is_above(web_runs.gain(proposed[each.key], alone), 0.0, "%"),
            )


def _claims_related(
    classic: Sequence[RunSummary], proposed: Mapping[str, Sequence[RunSummary]]
) -> Iterator[Finding]:
    """Judge section III-A's claims about proposals that Fig. 6 does not show."""
    where = "section III-A"
    totals = web_runs.each(proposed["lt-w3"], classes=_classes(5, 9))
    yield judge.finding(
        key="lt-w3-fr-above-4",
        claim="Limited Transmit and an initial window larger than two enable fast retransmit for flows longer than "
        "4 MSS (those of 5 to 9 segments)",
        source=where,
        published="some",
        judged=judge.is_some(
            sum(t.fast_retransmits for t in totals), sum(t.recoveries for t in totals)
        ),
    )
    for key in ("lt-w2-vs", "lt-w2-fs"):
        label = next(each.label for each in figures.RELATED if each.key == key)
        yield judge.finding(
            key=f"{key}-enhanced",
            claim=f"The proposals can be merged in one stack: {label} together perform better than Classic",
            source="section III-A, IV-A.2",
            published="gain above 0",
            judged=judge.is_above(web_runs.gain(proposed[key], classic), 0.0, "%"),
        )
        yield judge.finding(
            key=f"{key}-better-than-alone",
            claim=f"{label} together perform better than LT + W2",
            source="section III-A, IV-A.2",
            published="gain above 0",
            judged=judge.is_above(web_runs.gain(proposed[key], proposed["lt-w2"]), 0.0, "%"),
        )
    few = web_runs.each(proposed["er"], classes=_classes(2, 4))
    yield judge.finding(
        key="er-fewer-duplicates",
        claim="Early Retransmit reduces the number of duplicate ACKs for a fast retransmit: flows of 2 to 4 "
        "segments, too short for three duplicates, have some",
        source=where,
        published="some",
        judged=judge.is_some(sum(t.fast_retransmits for t in few), sum(t.recoveries for t in few)),
    )
    yield judge.finding(
        key="abc-drops",
        claim="Byte counting with L = 2 slightly increases the dropping rate at routers (difference to Classic)",
        source=where,
        published="above 0",
        judged=judge.is_above(
            web_runs.paired(web_runs.losses(proposed["abc"]), web_runs.losses(classic)),
            0.0,
            "percentage points",
        ),
    )


def _figure_7(mixed: Mapping[str, Mapping[float, Sequence[RunSummary]]]) -> Part:
    classic = figures.reno(paper.CLASSIC.sender)
    percent = [100.0 * share for share in figures.SHARES]
    lines = []
    for variant in reversed(FRAMED):
        name = variant.label.split("-")[0]
        for key, label, sender in (
            (f"classic-beside-{variant.key}", f"Classic beside {name}", classic),
            (variant.key, f"{variant.label} beside Classic", figures.reno(variant.sender)),
        ):
            found = [
                web_runs.mean_time(runs, sender=sender) for runs in mixed[variant.key].values()
            ]
            present = [(at, y) for at, y in zip(percent, found, strict=True) if y is not None]
            lines.append(series(key, label, [at for at, _ in present], [y for _, y in present]))
    figure = Figure(
        key="fig-7",
        title="Friendliness: framed and Classic flows together",
        source=f"{JOURNAL}, Fig. 7",
        caption="Mean completion time of the flows of each kind, all with Reno, at 80 % load.",
        x=Axis(label="short flows that use framing", unit="%", scale="linear", low=0.0, high=100.0),
        y=SECONDS,
        series=tuple(lines),
        notes=figures.READINGS[1:2],
    )
    return Part(figures=(figure,), findings=tuple(_claims_7(mixed)))


def _claims_7(mixed: Mapping[str, Mapping[float, Sequence[RunSummary]]]) -> Iterator[Finding]:
    classic = figures.reno(paper.CLASSIC.sender)
    some = [share for share in figures.SHARES if share < 1.0]
    slopes: dict[str, stats.Estimate | None] = {}
    for variant in FRAMED:
        by_share = [web_runs.times(mixed[variant.key][share], sender=classic) for share in some]
        slopes[variant.key] = web_runs.slope(some, by_share)
        yield judge.finding(
            key=f"degrades-classic-{variant.key}",
            claim=f"{variant.label} flows degrade Classic ones: completion times of Classic grow with the "
            "share of framed flows (slope)",
            source="section IV-A.3, Fig. 7",
            published="above 0",
            judged=judge.is_above(slopes[variant.key], 0.0, "s from no framing to all"),
        )
    ours, theirs = (web_runs.times(mixed[key][some[-1]], sender=classic) for key in ("vs", "fs"))
    yield judge.finding(
        key="vs-friendlier",
        claim="VS-TCP-SF is friendlier: with 80 % of framed flows, Classic flows take less time with VS than with FS",
        source="section IV-A.3",
        published="less",
        judged=judge.is_below(web_runs.paired(ours, theirs), 0.0, "s"),
    )
