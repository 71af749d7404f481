"""Section 3.2: alternatives to a standard sender under packet loss.

They are a larger window, several flows, larger segments and faster growth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Axis, Figure, Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part, series
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.papers import short_flows as paper
from tcpsf.papers.short_flows_simulated import Assumptions, TransferPoint
from tcpsf.reproduce.short_flows.trials import Array, Setting, Trials

SIZES = (4000, 8000, 16_000, 32_000, 64_000, 128_000)
"""Total transfer sizes in bytes; each of four flows gets a whole number of bytes."""
JUDGED_SIZE = 32_000
"""Transfer size in bytes to which the claims refer."""
ALIKE = 2.0
"""Tolerance in round trips for equal results.

The claim of the closed model has the same tolerance.
"""
FLOWS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SendingMethod:
    """One sending method of Fig. 2."""

    key: str
    label: str
    flows: int = 1
    mss: int = paper.MSS
    window: int = 1
    ack_every: int = 2

    def assumed(self, setting: Setting) -> Assumptions:
        """Return the assumptions of the setting, with the changes of this method."""
        sender = f"reno / full / iw={self.window}"
        return replace(
            setting.assumed, sender=sender, initial_window=self.window, ack_every=self.ack_every
        )

    def point(self, size: int, loss: float) -> TransferPoint:
        """Return the transfer of each of its flows."""
        return TransferPoint(size=size // self.flows, mss=self.mss, loss=loss)

    def case(self, setting: Setting, size: int, loss: float) -> Case:
        """Return the case of transfers of ``size`` bytes with this method at a loss rate."""
        return _setting(setting, loss).case(self.point(size, loss), self.assumed(setting))

    def trials(self, setting: Setting, runs: Runs, size: int, loss: float) -> Trials:
        """Return the transfers of the method.

        Several simultaneous flows count as one transfer, which ends with the last of them.
        """
        seen = (
            _setting(setting, loss).seen(self.point(size, loss), runs, self.assumed(setting)).trials
        )
        return seen if self.flows == 1 else seen.together(self.flows)


def _setting(setting: Setting, loss: float) -> Setting:
    """Return the setting, with few trials without loss, because such runs are deterministic."""
    return setting if loss else replace(setting, trials=2 * FLOWS)


STANDARD = SendingMethod(key="standard", label="standard")
WINDOW = SendingMethod(key="window", label="initial window 3", window=3)
PARALLEL = SendingMethod(key="flows", label=f"{FLOWS} flows", flows=FLOWS)
LARGE = SendingMethod(key="mss", label="MSS 9000", mss=9000)
METHODS = (
    STANDARD,
    SendingMethod(key="growth", label="an ACK for each segment", ack_every=1),
    WINDOW,
    PARALLEL,
    LARGE,
)
SIMILAR_METHODS = (WINDOW, PARALLEL, LARGE)
"""Methods that are equal without loss.

Equation (1) contains w, k and MSS only as a product.
"""

LOSS = TransferPoint().loss
Found = Mapping[tuple[str, int, float], Trials]


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return the exhibit of section 3.2, alternatives to a standard sender."""
    places = [(method, size, loss) for method in METHODS for size in SIZES for loss in (0.0, LOSS)]

    def build(runs: Runs) -> Part:
        found = {
            (method.key, size, loss): method.trials(setting, runs, size, loss)
            for method, size, loss in places
        }
        return Part(
            figures=(_figure(found, mean=False), _figure(found, mean=True)),
            tables=(_table(found),),
            findings=tuple(_findings(found)),
        )

    cases = tuple(method.case(setting, size, loss) for method, size, loss in places)
    return (Exhibit(key="alternatives", section="alternatives", cases=cases, build=build),)


def _figure(found: Found, *, mean: bool) -> Figure:
    return Figure(
        key=f"alternatives-{'mean' if mean else 'median'}",
        title=f"Fig. 2 with a loss of 5 %: {'mean' if mean else 'median'} time",
        source=f"{paper.SHORT}, section 3.2",
        caption="Each packet is lost with the same probability, whatever its size. Four flows share the "
        "bytes; the time is that of the last flow.",
        x=Axis(label="size", unit="bytes", scale="log"),
        y=Axis(label="time", unit="s", scale="log"),
        series=tuple(
            series(
                method.key,
                method.label,
                list(SIZES),
                [(each.mean() if mean else each.median()) for each in _along(found, method)],
            )
            for method in METHODS
        ),
    )


def _along(found: Found, method: SendingMethod) -> Iterator[Trials]:
    for size in SIZES:
        yield found[method.key, size, LOSS]


def _table(found: Found) -> Table:
    rows = []
    for method in METHODS:
        free, lossy = found[method.key, JUDGED_SIZE, 0.0], found[method.key, JUDGED_SIZE, LOSS]
        cells = (
            TableCell(ours=free.minimum(), published=None, unit="s"),
            TableCell(ours=lossy.median(), published=None, unit="s"),
            TableCell(ours=lossy.mean(), published=None, unit="s"),
            TableCell(ours=stats.mean(lossy.events.tolist()), published=None),
            TableCell(ours=_fast(lossy), published=None),
            TableCell(ours=lossy.share(lossy.syn_timeouts > 0), published=None),
        )
        rows.append(Row(label=method.label, cells=cells))
    return Table(
        key="alternatives",
        title="Ways to send 32 kB, without loss and with 5 %",
        source=f"{paper.SHORT}, section 3.2",
        caption="Reductions of the window for each transfer, the share of them by fast retransmit, and the share of "
        "transfers that lost a SYN.",
        columns=(
            "way",
            "without loss",
            "median",
            "mean",
            "reductions",
            "by fast retransmit",
            "lost a SYN",
        ),
        rows=tuple(rows),
    )


def _fast(trials: Trials) -> stats.Estimate | None:
    return stats.share(trials.fast.tolist(), trials.events.tolist())


def _claim(key: str, claim: str, published: str, judged: judge.Judged) -> Finding:
    return judge.finding(
        key=f"alternatives-{key}",
        claim=claim,
        source=f"{paper.SHORT}, section 3.2",
        published=published,
        judged=judged,
    )


def _findings(found: Found) -> Iterator[Finding]:
    rtt = TransferPoint().rtt
    free = [found[method.key, JUDGED_SIZE, 0.0].minimum().value for method in SIMILAR_METHODS]
    apart = judge.exact((max(free) - min(free)) / rtt)
    yield _claim(
        "free",
        f"Without loss, a window of 3, four flows and an MSS of 9000 take the same (32 kB, to {ALIKE:g} round trips)",
        "equivalent",
        judge.is_below(apart, ALIKE, "round trips"),
    )
    yield _claim(
        "lossy",
        "With 5 % loss their times differ (medians of 32 kB, by more round trips)",
        "not actually equivalent",
        judge.is_above(
            _range([found[method.key, JUDGED_SIZE, LOSS] for method in SIMILAR_METHODS], rtt),
            apart.value,
            "round trips",
        ),
    )
    standard, large, window, parallel = (
        found[method.key, JUDGED_SIZE, LOSS] for method in (STANDARD, LARGE, WINDOW, PARALLEL)
    )
    yield _claim(
        "segments",
        "Larger segments have fewer losses (window reductions for 32 kB, minus those with 1460 bytes)",
        "should decrease the loss rate",
        judge.is_below(
            stats.apart(stats.mean(large.events.tolist()), stats.mean(standard.events.tolist())),
            0.0,
            "",
        ),
    )
    yield _claim(
        "window",
        "With a larger initial window fast retransmit repairs more often (its share at 32 kB, minus that of "
        "standard)",
        "more often",
        judge.is_above(stats.apart(_fast(window), _fast(standard)), 0.0, ""),
    )
    yield _claim(
        "flows",
        "Four flows keep data flowing when one of them has a loss (mean time of 32 kB, minus that of one flow)",
        "keep data flowing",
        judge.is_below(stats.apart(parallel.mean(), standard.mean()), 0.0, "s"),
    )


def _range(found: Sequence[Trials], rtt: float) -> stats.Estimate:
    """Largest difference between the medians, in round trips."""
    rows: Array = np.stack([each.medians for each in found])
    values = (rows.max(axis=0) - rows.min(axis=0)) / rtt
    return stats.resampled(float(values[0]), values[1:].tolist(), min(map(len, found)))
