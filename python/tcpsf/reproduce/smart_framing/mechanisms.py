"""Section III-A: loss detection time of Limited Transmit, Classic and the framings.

The runs are deterministic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.evaluation.watch import Rows
from tcpsf.papers import smart_framing_mechanisms as paper
from tcpsf.reproduce.smart_framing.exhibit_parts import JOURNAL, Setting
from tcpsf.summary import RunSummary

NOTICED = Rows(table="recoveries", columns=("time_s", "cause"))
DONE = Rows(table="flows", columns=("sender_s", "srtt_s"))
RTT_S = 2 * paper.DELAY_S
"""Round-trip time without the transmission time of packets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryTimes:
    """Detection and recovery times of one loss."""

    fast_s: float | None
    """Time of the detection by fast retransmit, in seconds from the flow's start."""
    timeout_s: float | None
    """Time of the detection by the retransmission timer, in seconds."""
    done_s: float
    """Time at which all data are acknowledged, in seconds."""

    @property
    def noticed_s(self) -> float:
        """Time of the first detection by either mechanism."""
        return min(at for at in (self.fast_s, self.timeout_s) if at is not None)


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return the exhibit of Limited Transmit, Classic and framing after one lost segment."""
    cases = {
        loss.key: {key: _case(setting, loss, sender) for key, (_, sender) in paper.SENDERS.items()}
        for loss in paper.LOSSES
    }

    def build(runs: Runs) -> Part:
        return _part(
            {
                loss: {key: _outcome(runs.of(case)[0]) for key, case in each.items()}
                for loss, each in cases.items()
            }
        )

    return (
        Exhibit(
            key="limited-transmit",
            section="proposals",
            cases=tuple(case for each in cases.values() for case in each.values()),
            build=build,
            shown={"Limited Transmit, flow of 4 segments": cases["short"]["lt"].scenario},
        ),
    )


def _case(setting: Setting, loss: paper.Loss, sender: str) -> Case:
    case = setting.case(paper.scenario(loss, sender), once=True)
    return Case(scenario=case.scenario, watches=(NOTICED, DONE), once=True)


def _outcome(run: RunSummary) -> RecoveryTimes:
    first: dict[str, float] = {}
    for row in NOTICED.of(run):
        first.setdefault(row["cause"], row["time_s"])
    (flow,) = DONE.of(run)
    return RecoveryTimes(
        fast_s=first.get("fast-retransmit"), timeout_s=first.get("timeout"), done_s=flow["sender_s"]
    )


def _seconds(value: float | None) -> stats.Estimate | None:
    return None if value is None else judge.exact(value)


def _part(outcomes: Mapping[str, Mapping[str, RecoveryTimes]]) -> Part:
    rows = tuple(
        Row(
            label=f"{label}: {loss.label}",
            cells=(
                TableCell(ours=_seconds(outcomes[loss.key][key].fast_s), published=None, unit="s"),
                TableCell(
                    ours=_seconds(outcomes[loss.key][key].timeout_s), published=None, unit="s"
                ),
                TableCell(ours=_seconds(outcomes[loss.key][key].done_s), published=None, unit="s"),
            ),
        )
        for loss in paper.LOSSES
        for key, (label, _) in paper.SENDERS.items()
    )
    table = Table(
        key="limited-transmit",
        title="Detection of a loss: Limited Transmit and framing",
        source=f"{JOURNAL}, section III-A",
        caption="One flow on a path of 100 ms loses one segment. Times are from the flow's start; nothing is random.",
        columns=("sender and loss", "fast retransmit at", "timeout at", "complete after"),
        rows=rows,
        notes=(
            "A framed flow loses the small segment that begins with the same data.",
            (
                "According to RFC 6298, a duplicate ACK does not restart the timer; a new segment starts it "
                "only if it is off."
            ),
        ),
    )
    return Part(tables=(table,), findings=tuple(_claims(outcomes)))


def _claims(outcomes: Mapping[str, Mapping[str, RecoveryTimes]]) -> Iterator[Finding]:
    where = "section III-A"
    long, short = outcomes["long"], outcomes["short"]
    for key in ("vs", "fs"):
        fast, framed = long["lt"].fast_s, long[key].fast_s
        later = None if fast is None or framed is None else judge.exact((fast - framed) / RTT_S)
        yield judge.finding(
            key=f"lt-one-more-rtt-{key}",
            claim=f"With Limited Transmit at least one more round trip passes before fast retransmit than with "
            f"{paper.SENDERS[key][0]}",
            source=where,
            published="1 or more",
            judged=judge.is_within(later, 1.0, math.inf, "round trips"),
        )
    yield judge.finding(
        key="lt-short-no-fr",
        claim="Limited Transmit cannot trigger fast retransmit for a flow of 4 segments, framing can",
        source=where,
        published="a timeout with Limited Transmit alone",
        judged=judge.by_value(
            float(short["lt"].fast_s is not None),
            "holds"
            if short["lt"].fast_s is None
            and all(short[key].fast_s is not None for key in ("vs", "fs"))
            else "does not hold",
            ", ".join(
                f"{label}: {'timeout' if short[key].fast_s is None else 'fast retransmit'}"
                for key, (label, _) in paper.SENDERS.items()
                if key != "classic"
            ),
            "The list gives the detection of the loss. Nothing is random.",
        ),
    )
    lt, classic = short["lt"].timeout_s, short["classic"].timeout_s
    delayed = None if lt is None or classic is None else judge.exact((lt - classic) / RTT_S)
    yield judge.finding(
        key="lt-delays-rto",
        claim="Limited Transmit only delays the timeout, by one or more round trips, because every ACK received "
        "delays the single timer (flow of 4 segments)",
        source="section IV-A.2",
        published="1 or more",
        judged=judge.is_within(delayed, 1.0, math.inf, "round trips"),
    )
