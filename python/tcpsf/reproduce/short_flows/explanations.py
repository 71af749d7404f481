"""Section 5.4: reasons for the fit of the steady-state model to short transfers.

Each reason is tested.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Runs
from tcpsf.papers import short_flows as paper
from tcpsf.papers.short_flows_simulated import HIGH, Assumptions, TransferPoint
from tcpsf.reproduce.short_flows.trials import Array, PointTrials, Setting, of_medians

SIGNIFICANT = 0.2
"""Share of the transfer time from which on timeouts are "significant".

It was chosen before the results were seen.
"""
MODERATE, SEVERE = 0.05, 0.1
"""Loss rates at which the claims are judged.

From the first on, timeouts are judged. From the second on, the period between timeouts should be
short.
"""
SHORT = 10.0
"""Largest number of segments in a short period between timeouts.

It corresponds to four or five rounds of slow start.
"""
HANDSHAKE = 0.001, (10_000, 128_000)
"""Loss rate and sizes of the example of Figs. 12 and 13."""
WINDOWS = (4, 8, 16, 32, 64)
"""Receive windows in KB that the paper calls typical."""
EXAMPLE = TransferPoint(size=128_000, loss=0.0001)
LIMITED = 32
"""Receive window of the paper's example, in KB."""
SMALL_FACTOR = 3.0
"""Upper limit of "a factor of two or three"."""


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return the exhibits of section 5.4, reasons for the fit of the steady state."""
    lossy = tuple(TransferPoint(loss=loss) for loss in HIGH)
    rare = tuple(TransferPoint(size=size, loss=HANDSHAKE[0]) for size in HANDSHAKE[1])
    return (
        Exhibit(
            key="timeouts-share",
            section="explanations",
            cases=tuple(setting.case(point) for point in lossy),
            build=lambda runs: _timeouts([setting.seen(point, runs) for point in lossy]),
        ),
        Exhibit(
            key="handshake-share",
            section="explanations",
            cases=tuple(setting.case(point) for point in rare),
            build=lambda runs: _handshakes([setting.seen(point, runs) for point in rare]),
        ),
        Exhibit(
            key="window-limit",
            section="explanations",
            cases=tuple(setting.case(EXAMPLE, _limited(setting, kilo)) for kilo in WINDOWS),
            build=lambda runs: _windows(setting, runs),
        ),
    )


def _limited(setting: Setting, kilo: int) -> Assumptions:
    """Return the assumptions with this receive window.

    64 KB is one byte more than a window without window scaling allows.
    """
    return replace(setting.assumed, receive_buffer=min(kilo * paper.KB, 65_535))


def _claim(key: str, claim: str, published: str, judged: judge.Judged) -> Finding:
    return judge.finding(
        key=key,
        claim=claim,
        source=f"{paper.SHORT}, section 5.4",
        published=published,
        judged=judged,
    )


def waiting(seen: PointTrials) -> stats.Estimate | None:
    """Share of the time after the handshake in which the sender waited for its timer.

    It is over the transfers without a lost SYN.
    """
    quick = seen.trials.syn_timeouts == 0
    times = seen.trials.seconds[quick] - seen.point.rtt
    return stats.ratio(seen.trials.waited_s[quick].tolist(), times.tolist(), possible=stats.SHARE)


def between(seen: PointTrials) -> stats.Estimate | None:
    """Return the number of segments sent per timeout."""
    return stats.ratio(
        seen.trials.segments.tolist(), seen.trials.timeouts.tolist(), possible=stats.POSITIVE
    )


def _name(loss: float) -> str:
    return f"{100.0 * loss:g} %"


def _timeouts(seen: Sequence[PointTrials]) -> Part:
    table = Table(
        key="timeouts-share",
        title="Why the models agree at moderate loss, 10 kB",
        source=f"{paper.SHORT}, section 5.4",
        caption="Waiting: share of the time after the handshake in which the sender waits for its timer, in "
        "transfers that lost no SYN. Segments: sent for each timeout. Difference: |ln| of (4) over (14).",
        columns=("loss", "waiting", "segments", "(4)", "(14)", "apart", "median"),
        rows=tuple(
            Row(
                label=_name(each.point.loss),
                cells=(
                    TableCell(ours=waiting(each), published=None),
                    TableCell(ours=between(each), published=None),
                    TableCell(ours=judge.exact(each.model(4)), published=None, unit="s"),
                    TableCell(ours=judge.exact(each.model(14)), published=None, unit="s"),
                    TableCell(ours=_models_apart(each), published=None),
                    TableCell(ours=each.trials.median(), published=None, unit="s"),
                ),
            )
            for each in seen
        ),
    )
    return Part(tables=(table,), findings=tuple(_timeout_findings(seen)))


def _models_apart(seen: PointTrials) -> stats.Estimate:
    return judge.exact(abs(math.log(seen.model(4) / seen.model(14))))


def _timeout_findings(seen: Sequence[PointTrials]) -> Iterator[Finding]:
    yield _claim(
        "models-agree",
        f"(4) and (14) agree at losses of 1 to 15 % (10 kB, |ln| up to {paper.FAIR})",
        "agree",
        judge.all_below(
            {_name(each.point.loss): _models_apart(each) for each in seen}, paper.FAIR, ""
        ),
    )
    yield _claim(
        "timeouts-significant",
        f"Timeouts are a significant part of the time (from {_name(MODERATE)} on, a fifth of the time or more)",
        "significant fraction",
        judge.all_above(
            {_name(each.point.loss): waiting(each) for each in seen if each.point.loss >= MODERATE},
            SIGNIFICANT,
            "",
        ),
    )
    yield _claim(
        "timeouts-near",
        f"At high loss the period between timeouts is short (from {_name(SEVERE)} on, fewer than {SHORT:g} segments)",
        "short",
        judge.all_below(
            {_name(each.point.loss): between(each) for each in seen if each.point.loss >= SEVERE},
            SHORT,
            "segments",
        ),
    )


def _handshakes(seen: Sequence[PointTrials]) -> Part:
    shares = {
        f"{each.point.size // 1000} kB": of_medians([each], _share_of(each.point.rtt))
        for each in seen
    }
    table = Table(
        key="handshake-share",
        title=f"The handshake's share of the median time, loss {_name(HANDSHAKE[0])}",
        source=f"{paper.SHORT}, section 5.4",
        caption="One round trip over the median; and (4), which includes the handshake, over the median.",
        columns=("size", "median", "handshake's share", "(4) over the median"),
        rows=tuple(
            Row(
                label=label,
                cells=(
                    TableCell(ours=each.trials.median(), published=None, unit="s"),
                    TableCell(ours=shares[label], published=None),
                    TableCell(ours=of_medians([each], _share_of(each.model(4))), published=None),
                ),
            )
            for label, each in zip(shares, seen, strict=True)
        ),
    )
    finding = _claim(
        "handshake-share",
        "At 0.1 % loss the handshake alone is an eighth to a fifth of the time (10 and 128 kB)",
        "1/5 to 1/8",
        judge.all_within(shares, 1.0 / 8.0, 1.0 / 5.0, ""),
    )
    return Part(tables=(table,), findings=(finding,))


def _share_of(seconds: float) -> Callable[[Array], Array]:
    return lambda rows: np.asarray(seconds / rows[0])


def _rounds(seen: PointTrials, seconds: float) -> float:
    """Round trips after the handshake and the delayed acknowledgment."""
    return (seconds - seen.point.rtt - seen.assumed.delayed_ack_s) / seen.point.rtt


def _windows(setting: Setting, runs: Runs) -> Part:
    seen = {kilo: setting.seen(EXAMPLE, runs, _limited(setting, kilo)) for kilo in WINDOWS}
    rows = []
    for kilo, each in seen.items():
        median = each.trials.median()
        taken = (
            None if median is None else median.shifted(-each.point.rtt - each.assumed.delayed_ack_s)
        )
        cells = (
            TableCell(
                ours=None if taken is None else taken.scaled(1.0 / each.point.rtt), published=None
            ),
            TableCell(
                ours=judge.exact(_rounds(each, each.model(4))),
                published=4.0 if kilo == LIMITED else None,
            ),
            TableCell(
                ours=judge.exact(_rounds(each, each.model(14))),
                published=10.0 if kilo == LIMITED else None,
            ),
        )
        rows.append(Row(label=f"{kilo} KB", cells=cells))
    table = Table(
        key="window-limit",
        title="128 kB with a limited window, loss 0.01 %",
        source=f"{paper.SHORT}, section 5.4",
        caption="Round trips of data, after the handshake and the delayed acknowledgment. (14) does not "
        "include the window.",
        columns=("window", "median", "(4)", "(14)"),
        rows=tuple(rows),
    )
    return Part(tables=(table,), findings=_window_claims(seen[LIMITED]))


def _window_claims(example: PointTrials) -> tuple[Finding, ...]:
    """Judge the claims on the transfer with a window of `LIMITED` kilobytes."""
    return (
        _claim(
            "window-steady",
            "With a window of 32 KB, (4) takes no fewer than four round trips for 128 kB (3.5 to 4.5)",
            "4 RTT",
            judge.is_within(
                judge.exact(_rounds(example, example.model(4))), 3.5, 4.5, "round trips"
            ),
        ),
        _claim(
            "window-short",
            "(14) gives about ten round trips (9 to 11)",
            "10 RTT",
            judge.is_within(
                judge.exact(_rounds(example, example.model(14))), 9.0, 11.0, "round trips"
            ),
        ),
        _claim(
            "window-factor",
            f"(4) differs by a small factor there (median over (4), up to {SMALL_FACTOR:g})",
            "small factor",
            judge.is_within(
                of_medians([example], lambda rows: np.asarray(rows[0] / example.model(4))),
                1.0 / SMALL_FACTOR,
                SMALL_FACTOR,
                "",
            ),
        ),
    )
