"""Claims of section 3.2 on loss recovery.

The topics are several losses in one window, lost acknowledgments, and a timer without back-off.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import OWN, Row, Table, TableCell
from tcpsf.evaluation.evaluate import Heading
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.evaluation.watch import Rows
from tcpsf.papers import santa_cruz as paper
from tcpsf.reproduce.santa_cruz.exhibit_parts import unwatched
from tcpsf.scenario import MaskLoss, PacketLoss, Scenario
from tcpsf.summary import RunSummary

FLOW = Rows(
    table="flows",
    columns=("received_bytes", "segments", "retransmitted_segments", "timeouts", "waited_s"),
)

SECTION = "recovery"
LOST = (1, 2, 3, 4, 6, 8)
"""Numbers of packets lost in one window."""
SEVERAL = 4
"""Number of losses in one window from which on Reno should need a timeout."""
WINDOW = 16
"""Range in packets from which the losses are drawn; it is less than the packets in flight."""
FIRST = 300
"""First packet of that range.

At this time all senders have the window that the receiver allows.
"""
PATTERNS = 20
ALLOWED = 20
"""Receive window in packets; the path holds 16.5, so that no buffer overflows."""

ACK_LOSSES = (0.0, 0.1, 0.3, 0.5, 0.7)
"""Loss rates of the acknowledgments."""
KEPT_PERCENT = 90.0
"""Share of its throughput that a sender robust to acknowledgment losses keeps, in per cent."""
DISTURBING = 0.5
"""Loss rate at which this claim is judged."""

LOSSES = (0.1, 0.2, 0.3, 0.4)
"""Loss rates of the data packets in the cases that the retransmission timer decides."""
LONG_S = 60

PATTERN_TEXT = (
    f"Section 3.2.2: {', '.join(map(str, LOST[:-1]))} or {LOST[-1]} of {WINDOW} packets in a row are lost on "
    "the last "
    f"hop, from the {FIRST + 1}st on, the same {PATTERNS} drawn patterns for each sender. The receiver's "
    f"window is {ALLOWED} packets, so no other packet is lost."
)
ACKS_TEXT = (
    "Sections 1 and 3.1.2: the return line of the basic network loses acknowledgments at random. Senders "
    "count acknowledgments, as at the time of the paper; Santa Cruz counts the arrived bytes."
)
TIMER_TEXT = (
    "Section 3.2.1: the last hop of the basic network has such a high loss that the retransmission timer "
    "dominates. `backoff=none` follows the text literally. By default the timeout doubles from the second "
    "consecutive expiry on."
)

WHY = (
    "after lost acknowledgments the next one releases a burst, which overflows the buffer earlier, and the "
    "timer expires if the acknowledgments of a whole window are lost"
)

HEADINGS = (
    Heading(
        SECTION,
        "Recovery: the claims of section 3.2",
        (PATTERN_TEXT, ACKS_TEXT, TIMER_TEXT),
        why=WHY,
    ),
)


@dataclass(frozen=True, slots=True)
class Compared:
    """A sender with which the claims of section 3.2 are compared."""

    key: str
    label: str
    sender: str


SC = Compared("sc-3", "SC n=3", paper.SANTA_CRUZ[1].sender)
RENO = Compared("reno", "Reno", "reno / full / iw=1")
SACK = Compared("sack", "SACK", "reno+sack / full / iw=1")
FIVE = (
    RENO,
    Compared("newreno", "NewReno", "reno+newreno / full / iw=1"),
    SACK,
    Compared("vegas", "Vegas (1,3)", paper.VEGAS.sender),
    SC,
)
NO_BACK_OFF = Compared(
    "sc-3-no-back-off", "SC n=3, no back-off", SC.sender.replace(")", ", backoff=none)")
)
TIMED = (*FIVE[:3], SC, NO_BACK_OFF)
"""The five senders of the cases that the retransmission timer decides."""


def exhibits() -> tuple[Exhibit, ...]:
    """Return the exhibits of loss recovery: losses of a window, lost ACKs, and no back-off."""
    return (_several_losses(), _lost_acks(), _no_back_off())


def _value(run: RunSummary, column: str) -> float:
    (row,) = FLOW.of(run)
    return float(row[column])


def _mbps(run: RunSummary) -> float:
    return 8e-6 * _value(run, "received_bytes") / float(run.links[0]["duration_s"])


def _timeouts(run: RunSummary) -> float:
    return _value(run, "timeouts")


def _waited_s(run: RunSummary) -> float:
    return _value(run, "waited_s")


def _needless(run: RunSummary) -> float:
    """Return the number of retransmitted segments in excess of the losses."""
    return _value(run, "retransmitted_segments") - sum(
        int(link["dropped_loss_packets"]) for link in run.links
    )


Quantity = Callable[[RunSummary], float]
"""A number derived from one run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sweep:
    """Cases of each sender at each value of one parameter."""

    senders: Sequence[Compared]
    heads: Mapping[float, str]
    """Values of the parameter, and the column heading of each."""
    cases: Mapping[tuple[str, float], Sequence[Case]]
    """Cases by the sender's key and the parameter's value."""

    def all_cases(self) -> tuple[Case, ...]:
        """Return the cases of the sweep."""
        return tuple(case for some in self.cases.values() for case in some)

    def runs_at(self, runs: Runs, each: Compared, value: float) -> list[RunSummary]:
        """Return the runs of a sender at one value of the parameter."""
        return [run for case in self.cases[each.key, value] for run in runs.of(case)]

    def at(self, runs: Runs, each: Compared, value: float, of: Quantity) -> list[float]:
        """Return a quantity of a sender at one value of the parameter, one number per run."""
        return [of(run) for run in self.runs_at(runs, each, value)]

    def table(
        self, runs: Runs, of: Quantity, *, key: str, title: str, caption: str, unit: str
    ) -> Table:
        """Return a table of a quantity's means: a row per sender, a column per parameter value."""
        rows = tuple(
            Row(
                label=each.label,
                cells=tuple(
                    TableCell(
                        ours=stats.mean(self.at(runs, each, value, of), possible=stats.POSITIVE),
                        published=None,
                        unit=unit,
                    )
                    for value in self.heads
                ),
            )
            for each in self.senders
        )
        columns = ("sender", *self.heads.values())
        return Table(key=key, title=title, source=OWN, caption=caption, columns=columns, rows=rows)


def _heads(shares: Sequence[float]) -> dict[float, str]:
    return {share: f"{100 * share:g} % lost" for share in shares}


def _with_loss(scenario: Scenario, link: str, loss: MaskLoss | PacketLoss) -> Scenario:
    return replace(
        scenario,
        link=tuple(
            replace(each, loss=loss) if each.name == link else each for each in scenario.link
        ),
    )


# ---- several losses in one window


def pattern(lost: int, number: int) -> str:
    """Return a mask that drops ``lost`` packets of one window; ``number`` selects the drawing.

    >>> mask = pattern(3, 0)
    >>> mask.count("1"), mask.index("1") // 2 >= FIRST, len(mask.split(",")) <= FIRST + WINDOW
    (3, True, True)
    """
    drawn = random.Random(1000 * lost + number).sample(range(WINDOW), lost)  # noqa: S311 (a pattern, no secret)
    return ",".join(
        "1" if place - FIRST in drawn else "0" for place in range(FIRST + max(drawn) + 1)
    )


def burst(*, sender: str, mask: str) -> Scenario:
    """Return the basic network with a bounded window and a last hop that drops by the mask."""
    network = _with_loss(paper.basic(sender=sender), "last", MaskLoss(drops=mask))
    return unwatched(
        replace(network, tcp=replace(network.tcp, receive_buffer=f"{ALLOWED * paper.MSS}B"))
    )


def _several_losses() -> Exhibit:
    sweep = _Sweep(
        senders=FIVE,
        heads={lost: f"{lost} lost" for lost in LOST},
        cases={
            (each.key, lost): [
                Case(
                    scenario=burst(sender=each.sender, mask=pattern(lost, number)),
                    watches=(FLOW,),
                    once=True,
                )
                for number in range(PATTERNS)
            ]
            for each in FIVE
            for lost in LOST
        },
    )

    def build(runs: Runs) -> Part:
        timeouts = sweep.table(
            runs,
            _timeouts,
            key="several-losses",
            title="Timeouts after several losses in one window",
            caption=f"Expiries of the retransmission timer in a transfer of 10 s: means over {PATTERNS} patterns.",
            unit="",
        )
        needless = sweep.table(
            runs,
            _needless,
            key="several-losses-vain",
            title="Needless retransmissions after several losses in one window",
            caption="Retransmissions of data that was not lost: means over the same patterns.",
            unit="segments",
        )
        return Part(tables=(timeouts, needless), findings=tuple(_burst_claims(sweep, runs)))

    return Exhibit(key="several-losses", section=SECTION, cases=sweep.all_cases(), build=build)


def _burst_claims(sweep: _Sweep, runs: Runs) -> Iterator[Finding]:
    ours = [run for lost in LOST for run in sweep.runs_at(runs, SC, lost)]
    yield judge.finding(
        key="several-losses-no-timeout",
        claim="Santa Cruz: several losses in one window are repaired without a timeout",
        source="sections 1, 3.2.2",
        published="none",
        judged=judge.is_none(sum(_timeouts(run) > 0 for run in ours), len(ours)),
    )
    yield judge.finding(
        key="several-losses-nothing-in-vain",
        claim="Santa Cruz: no correctly received data is retransmitted when several packets of a window are lost",
        source="section 3",
        published="none",
        judged=judge.is_none(sum(_needless(run) > 0 for run in ours), len(ours)),
    )
    timeouts = {
        f"{lost} lost": stats.mean(sweep.at(runs, RENO, lost, _timeouts))
        for lost in LOST
        if lost >= SEVERAL
    }
    yield judge.finding(
        key="several-losses-reno",
        claim=f"Reno: several losses of a window ({SEVERAL} or more) lead to timeouts",
        source="section 4.3",
        published="a timeout every cycle",
        judged=judge.all_above(timeouts, 0.5, "timeouts"),
    )


# ---- lost acknowledgments


def without_acks(*, sender: str, share: float) -> Scenario:
    """Return the basic network whose return path loses this share of the acknowledgments."""
    network = paper.basic(sender=sender, spread="1s")
    return unwatched(
        _with_loss(network, paper.BACK, PacketLoss(probability=share)) if share else network
    )


def _lost_acks() -> Exhibit:
    sweep = _Sweep(
        senders=FIVE,
        heads=_heads(ACK_LOSSES),
        cases={
            (each.key, share): [
                Case(scenario=without_acks(sender=each.sender, share=share), watches=(FLOW,))
            ]
            for each in FIVE
            for share in ACK_LOSSES
        },
    )

    def build(runs: Runs) -> Part:
        delivered = sweep.table(
            runs,
            _mbps,
            key="ack-loss",
            title="Payload delivered while acknowledgments are lost",
            caption="One flow for 10 s, started within the first second; the line carries 1.44 Mb/s of payload.",
            unit="Mb/s",
        )
        timeouts = sweep.table(
            runs,
            _timeouts,
            key="ack-loss-timeouts",
            title="Timeouts while acknowledgments are lost",
            caption="Expiries of the retransmission timer in those runs.",
            unit="",
        )
        return Part(tables=(delivered, timeouts), findings=tuple(_ack_loss_claims(sweep, runs)))

    return Exhibit(key="ack-loss", section=SECTION, cases=sweep.all_cases(), build=build)


def _ack_loss_claims(sweep: _Sweep, runs: Runs) -> Iterator[Finding]:
    lossy = {each: sweep.at(runs, each, DISTURBING, _mbps) for each in (SC, RENO)}

    def reduction(each: Compared) -> stats.Estimate | None:
        """Reduction of the throughput by acknowledgment loss, in per cent."""
        return stats.gain(lossy[each], sweep.at(runs, each, 0.0, _mbps))

    share = f"{100 * DISTURBING:g} %"
    yield judge.finding(
        key="ack-loss-robust",
        claim=f"Santa Cruz: robust to acknowledgment loss (at {share}, it keeps {KEPT_PERCENT:g} % of its "
        "throughput)",
        source="section 3.1.2",
        published="robust",
        judged=judge.is_below(reduction(SC), 100.0 - KEPT_PERCENT, "% less"),
    )
    yield judge.finding(
        key="ack-loss-above-reno",
        claim=f"Reno, which counts acknowledgments, loses throughput with them ({share} of them)",
        source="section 3.1.2",
        published="performs poorly",
        judged=judge.is_above(reduction(RENO), 0.0, "% less"),
    )
    less = stats.gain(lossy[SC], lossy[RENO])
    yield judge.finding(
        key="ack-loss-ahead",
        claim=f"Santa Cruz delivers more than Reno while {share} of the acknowledgments are lost",
        source="section 3.1.2",
        published="more",
        judged=judge.is_above(None if less is None else less.scaled(-1.0), 0.0, "% more"),
    )


# ---- no back-off


def lossy(*, sender: str, share: float) -> Scenario:
    """Return the basic network whose last hop loses this share of the packets."""
    network = paper.basic(sender=sender, duration=f"{LONG_S}s")
    return unwatched(_with_loss(network, "last", PacketLoss(probability=share)))


def _no_back_off() -> Exhibit:
    sweep = _Sweep(
        senders=TIMED,
        heads=_heads(LOSSES),
        cases={
            (each.key, share): [
                Case(scenario=lossy(sender=each.sender, share=share), watches=(FLOW,))
            ]
            for each in TIMED
            for share in LOSSES
        },
    )

    def build(runs: Runs) -> Part:
        delivered = sweep.table(
            runs,
            lambda run: 1000.0 * _mbps(run),
            key="no-back-off",
            title="Payload delivered at high loss",
            caption=f"One flow for {LONG_S} s; the line carries 1.44 Mb/s of payload.",
            unit="kb/s",
        )
        idle = sweep.table(
            runs,
            _waited_s,
            key="no-back-off-idle",
            title="Time spent waiting for the timer",
            caption=f"Idle time before expiries of the retransmission timer, in {LONG_S} s.",
            unit="s",
        )
        cost = sweep.table(
            runs,
            lambda run: (
                _value(run, "segments") / max(_value(run, "received_bytes") / paper.MSS, 1.0)
            ),
            key="no-back-off-cost",
            title="Transmissions per delivered segment",
            caption="All transmissions, divided by the segments that the receiver had in order.",
            unit="",
        )
        return Part(tables=(delivered, idle, cost), findings=tuple(_idle_claims(sweep, runs)))

    return Exhibit(key="no-back-off", section=SECTION, cases=sweep.all_cases(), build=build)


def _idle_claims(sweep: _Sweep, runs: Runs) -> Iterator[Finding]:
    for ours in (SC, NO_BACK_OFF):
        gains = {
            head: stats.gain(
                sweep.at(runs, ours, share, _waited_s), sweep.at(runs, SACK, share, _waited_s)
            )
            for share, head in sweep.heads.items()
        }
        yield judge.finding(
            key=f"{ours.key}-idle",
            claim=f"{ours.label}: shorter idle periods than SACK, which backs off",
            source="section 1",
            published="no back-off, which leads to long idle periods",
            judged=judge.all_above(gains, 0.0, "% less"),
        )
