"""Fig. 3: the phases of a transfer, by the models and in the simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tcpsf import stats
from tcpsf.chart import time_sequence
from tcpsf.distribution import Distribution
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Drawing, Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.models import short_flows as sf
from tcpsf.papers import short_flows as paper
from tcpsf.papers.short_flows_simulated import WORKLOAD, Assumptions, TransferPoint, network
from tcpsf.reproduce.short_flows.phases import (
    COLUMNS,
    DELAYED,
    FIRST,
    HANDSHAKE,
    PARTS,
    SENDING,
    SLOW_START,
    TIMER,
    TRACED,
    PhaseWatch,
)
from tcpsf.reproduce.short_flows.trials import Array, Setting, closed, unpacked
from tcpsf.summary import RunSummary

LATENCY = "Cardwell, Savage and Anderson 2000"
"""Source of the model with five phases, *Modeling TCP Latency*."""

SHORT, LONG = TransferPoint(), TransferPoint(size=32_000)
"""The transfer of the paper's figures, and the longest of its short ones (Fig. 7).

The shorter one of seven segments rarely has anything left after its first loss.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointTransfers:
    """All transfers of a point, by the columns `COLUMNS`, with the models of the point."""

    point: TransferPoint
    assumed: Assumptions
    columns: Mapping[str, Array]

    @property
    def label(self) -> str:
        """Size of the transfers in words, for a table."""
        return f"{self.point.size / 1000:g} kB"

    def sum(self, names: Sequence[str]) -> Array:
        """Return the sum of some columns, for each transfer."""
        return np.asarray(np.sum([self.columns[name] for name in names], axis=0))

    def total(self) -> Array:
        """Time of each transfer in seconds."""
        return self.sum(PARTS)

    def mean(self, names: Sequence[str]) -> stats.Estimate | None:
        """Mean over the transfers of the sum of some columns."""
        return stats.mean(self.sum(names).tolist(), possible=stats.POSITIVE)

    def median(self) -> stats.Estimate | None:
        """Median of the transfers' times in seconds."""
        nanos = np.rint(np.sort(self.total()) * 1e9).astype(np.int64)
        return stats.quantile_of_one(Distribution(nanos.tolist()), 0.5)

    def slow_start(self) -> stats.Estimate | None:
        """Percentage of the time in which data are sent that is slow start."""
        found = stats.ratio(
            self.columns[SLOW_START].tolist(), self.sum(SENDING).tolist(), possible=stats.SHARE
        )
        return None if found is None else found.scaled(100.0)

    def longer_handshakes(self) -> stats.Estimate | None:
        """Percentage of the handshakes that take longer than a round trip."""
        # The links add less than a millisecond for transmission.
        longer = int((self.columns[HANDSHAKE] > 1.5 * self.point.rtt).sum())
        found = stats.proportion(longer, len(self.columns[HANDSHAKE]))
        return None if found is None else found.scaled(100.0)


def _case(setting: Setting, point: TransferPoint) -> Case:
    scenario = replace(network(point, setting.assumed, trials=setting.trials), trace=(WORKLOAD,))
    watch = PhaseWatch(size=point.size, mss=point.mss, rtt=point.rtt)
    return Case(scenario=scenario, watches=(watch,), classes=False)


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return Fig. 3, the phases of a transfer of 32 kB."""
    cases = {point: _case(setting, point) for point in (SHORT, LONG)}

    def build(runs: Runs) -> Part:
        seen = [_seen(point, setting.assumed, runs.of(case)) for point, case in cases.items()]
        drawn = _stored(runs.of(cases[LONG])[0])["drawn"]
        trial = (
            None
            if drawn is None
            else {name: float(column[drawn["trial"]]) for name, column in seen[-1].columns.items()}
        )
        return Part(
            drawings=() if drawn is None else (_drawing(drawn),),
            tables=(_durations(seen, trial), _counts(seen, trial), _latency(seen, trial)),
            findings=tuple(_claims(seen)),
        )

    return (
        Exhibit(
            key="fig-3",
            section="phases",
            cases=tuple(cases.values()),
            build=build,
            shown={"Fig. 3": cases[LONG].scenario},
        ),
    )


def _stored(run: RunSummary) -> Mapping[str, Any]:
    found: Mapping[str, Any] = run.watched["phases"]
    return found


def _seen(point: TransferPoint, assumed: Assumptions, runs: Sequence[RunSummary]) -> PointTransfers:
    stored = [_stored(run)["columns"] for run in runs]
    columns = {name: np.concatenate([unpacked(each[name]) for each in stored]) for name in COLUMNS}
    return PointTransfers(point=point, assumed=assumed, columns=columns)


def _drawing(drawn: Mapping[str, Any]) -> Drawing:
    rows = [dict(zip(TRACED, row, strict=True)) for row in drawn["rows"]]
    phases = tuple((start, end, name) for start, end, name in drawn["phases"])
    flow = time_sequence.Flow(
        name=f"{LONG.size} bytes",
        packets=time_sequence.paired(rows),
        repairs=tuple((at, cause) for at, cause in drawn["repairs"]),
        complete_s=phases[-1][1],
        segment_bytes=LONG.mss,
        phases=phases,
    )
    return Drawing(
        key="fig-3-ladder",
        title="Fig. 3: the phases of a transfer",
        source=f"{paper.SHORT}, Fig. 3",
        caption=f"The first trial of {LONG.size // 1000} kB that has each phase: loss of {100 * LONG.loss:g} % on "
        "either path. Segments are numbered from 0, and an acknowledgment has the number of the next one. Time "
        "runs downwards.",
        svg=time_sequence.side_by_side(
            (flow,), title="Phases of a transfer", flight_s=LONG.rtt / 2
        ),
    )


# ---- the models


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyParts:
    """Parts of (14): counts, and durations in seconds."""

    lost: float
    """l: (5)."""
    timeouts: float
    """n: (7)."""
    runs: float
    """u: (8)."""
    handshake_s: float
    delayed_s: float
    waiting_s: float
    """t_RTO: (10)."""
    sending_s: float
    """t_xfer: (13)."""
    segments: float
    """e: (12), segments in a phase of sending."""

    @property
    def phases(self) -> float:
        """Number of phases of sending, v: (11)."""
        return self.runs + 1.0

    @property
    def total_s(self) -> float:
        """Time of the transfer: (14)."""
        return self.handshake_s + self.delayed_s + self.waiting_s + self.sending_s


def model_of(point: TransferPoint, assumed: Assumptions) -> LatencyParts:
    """Return the phases of a point by (5) to (14).

    >>> from tcpsf.papers.short_flows_simulated import TEXT
    >>> found = model_of(TransferPoint(), TEXT)
    >>> round(found.waiting_s, 3), round(found.sending_s, 3), round(found.total_s, 3)
    (0.221, 0.287, 0.678)
    """
    every = float(assumed.ack_every)
    lost = float(sf.expected_losses(point.size, point.loss, mss=point.mss))
    timeouts = lost * float(sf.timeout_probability(point.loss, ack_every=every))
    runs = timeouts * (1.0 - point.loss)
    waiting = runs * float(sf.timeout_run_s(point.loss, rto=assumed.rto_s))
    delayed = assumed.delayed_ack_s if assumed.initial_window < assumed.ack_every else 0.0
    total = closed(point, 14, assumed)
    return LatencyParts(
        lost=lost,
        timeouts=timeouts,
        runs=runs,
        handshake_s=point.rtt,
        delayed_s=delayed,
        waiting_s=waiting,
        sending_s=total - point.rtt - delayed - waiting,
        segments=(point.size / point.mss + lost) / (runs + 1.0),
    )


def latency_of(point: TransferPoint, assumed: Assumptions) -> sf.Latency:
    """Return the phases of a point by *Modeling TCP Latency*."""
    return sf.latency(
        point.size,
        point.loss,
        rtt=point.rtt,
        rto=assumed.rto_s,
        mss=point.mss,
        initial_window=float(assumed.initial_window),
        ack_every=float(assumed.ack_every),
        window_limit=float(assumed.receive_buffer or sf.WINDOW_LIMIT),
        delayed_ack=assumed.delayed_ack_s if assumed.initial_window < assumed.ack_every else 0.0,
        loss_back=point.loss if point.loss_back is None else point.loss_back,
        syn_timeout=assumed.syn_timeout_s,
    )


# ---- tables

Trial = Mapping[str, float]
"""The transfer that is drawn, by the columns `COLUMNS`."""


def _heads(seen: Sequence[PointTransfers], model: str) -> tuple[str, ...]:
    each = [f"{head}, {found.label}" for found in seen for head in (model, "mean")]
    return (*each, f"drawn, {seen[-1].label}")


def _row(
    label: str,
    names: Sequence[str],
    seen: Sequence[PointTransfers],
    trial: Trial | None,
    model: Callable[[PointTransfers], float] | None,
    unit: str = "s",
) -> Row:
    cells: list[TableCell | str] = []
    for found in seen:
        theirs = "" if model is None else _exact(model(found), unit)
        cells += [theirs, TableCell(ours=found.mean(names), published=None, unit=unit)]
    value = None if trial is None else sum(trial[name] for name in names)
    cells.append("" if value is None else _exact(value, unit))
    return Row(label=label, cells=tuple(cells))


def _exact(value: float, unit: str = "s") -> TableCell:
    return TableCell(ours=judge.exact(value), published=None, unit=unit)


def _durations(seen: Sequence[PointTransfers], trial: Trial | None) -> Table:
    models = {found.label: model_of(found.point, found.assumed) for found in seen}

    def by(of: Callable[[LatencyParts], float]) -> Callable[[PointTransfers], float]:
        return lambda found: of(models[found.label])

    medians: list[TableCell | str] = []
    for found in seen:
        medians += ["", TableCell(ours=found.median(), published=None, unit="s")]
    return Table(
        key="fig-3",
        title="Fig. 3: duration of each phase, by (14) and simulated",
        source=f"{paper.SHORT}, section 4.2, Fig. 3",
        caption="Means over all trials, and the transfer that is drawn. Each moment of a transfer belongs to one "
        "phase. Timer: from the last segment sent or acknowledgment received until the timer expires. Delayed "
        "ACKs: while the receiver holds an acknowledgment and nothing is in flight.",
        columns=("phase", *_heads(seen, "(14)")),
        rows=(
            _row("handshake", [HANDSHAKE], seen, trial, by(lambda model: model.handshake_s)),
            _row("delayed ACKs", [DELAYED], seen, trial, by(lambda model: model.delayed_s)),
            _row("sending", SENDING, seen, trial, by(lambda model: model.sending_s)),
            *(_row(f"of which {name}", [name], seen, trial, None) for name in SENDING),
            _row("timer", [TIMER], seen, trial, by(lambda model: model.waiting_s)),
            _row("transfer", PARTS, seen, trial, by(lambda model: model.total_s)),
            Row(label="transfer, median", cells=(*medians, "")),
        ),
        notes=(
            (
                "The model leaves out lost packets of the handshake (section 4.2.2), and stands for a typical time, "
                "not for the mean. It has one delayed acknowledgment, of the first segment; in the simulation a "
                "segment that is alone in the window after a timeout waits as well."
            ),
            (
                "Timer: nearly every loss needs it, more than by (6), and so do lost acknowledgments of a window; "
                "the next table has the numbers."
            ),
        ),
    )


def _counts(seen: Sequence[PointTransfers], trial: Trial | None) -> Table:
    models = {found.label: model_of(found.point, found.assumed) for found in seen}

    def row(label: str, name: str, of: Callable[[LatencyParts], float]) -> Row:
        return _row(label, [name], seen, trial, lambda found: of(models[found.label]), "")

    sent: list[TableCell | str] = []
    for found in seen:
        phases = found.columns["runs"] + 1.0
        ours = stats.ratio(
            found.columns["segments"].tolist(), phases.tolist(), possible=stats.POSITIVE
        )
        sent += [_exact(models[found.label].segments, ""), TableCell(ours=ours, published=None)]
    drawn = None if trial is None else trial["segments"] / (trial["runs"] + 1.0)
    return Table(
        key="fig-3-counts",
        title="Fig. 3: number of phases, by (5) to (12) and simulated",
        source=f"{paper.SHORT}, section 4.2.1",
        caption="Of a transfer, after its handshake and until the receiver has all data. A run of timeouts ends with "
        "an acknowledgment of new data. A phase of sending is what lies before, between and after the runs.",
        columns=("number", *_heads(seen, "model")),
        rows=(
            row("segments lost, l", "lost", lambda model: model.lost),
            row("timeouts, n", "timeouts", lambda model: model.timeouts),
            row("runs of timeouts, u", "runs", lambda model: model.runs),
            Row(
                label="segments in a phase of sending, e",
                cells=(*sent, "" if drawn is None else _exact(drawn, "")),
            ),
        ),
    )


def _latency(seen: Sequence[PointTransfers], trial: Trial | None) -> Table:
    models = {found.label: latency_of(found.point, found.assumed) for found in seen}

    def row(label: str, names: Sequence[str], of: Callable[[sf.Latency], Any]) -> Row:
        return _row(label, names, seen, trial, lambda found: float(of(models[found.label])))

    slow, lost, rest = FIRST
    return Table(
        key="fig-3-latency",
        title="The phases of the model of 2000, by the model and simulated",
        source=f"{LATENCY}, (25)",
        caption="Means over all trials, and the transfer that is drawn. First loss: from the beginning of the wait "
        "for the timer to the last timeout before an acknowledgment of new data, or from the fast retransmit "
        "to this acknowledgment. The rest is congestion avoidance in the model.",
        columns=("phase", *_heads(seen, "model")),
        rows=(
            row("handshake", [HANDSHAKE], lambda model: model.handshake_s),
            row("delayed ACKs", [DELAYED], lambda model: model.delayed_ack_s),
            row("first slow start", [slow], lambda model: model.slow_start_s),
            row("first loss", [lost], lambda model: model.first_loss_s),
            row("rest", [rest], lambda model: model.rest_s),
            row("transfer", PARTS, lambda model: model.total_s),
        ),
        notes=(
            (
                "A lost acknowledgment can cause a timeout as well, which the model has not. Where that timeout "
                "is the first response, it counts as the first loss."
            ),
        ),
    )


def _claims(seen: Sequence[PointTransfers]) -> Iterator[Finding]:
    yield judge.finding(
        key="fig-3-slow-start",
        claim="Short flows spend a majority of their time in slow start (above half of the time in which they send, "
        f"waits for the timer left out; {' and '.join(found.label for found in seen)})",
        source=f"{paper.SHORT}, section 4.2",
        published="a majority",
        judged=judge.all_above({found.label: found.slow_start() for found in seen}, 50.0, "%"),
    )
    yield judge.finding(
        key="fig-3-handshake",
        claim="A handshake of more than one round trip is not typical (below half of the transfers)",
        source=f"{paper.SHORT}, section 4.2.2",
        published="not typical",
        judged=judge.all_below(
            {found.label: found.longer_handshakes() for found in seen}, 50.0, "%"
        ),
    )
