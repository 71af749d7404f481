"""What section 3.2 says of recovery: several losses in one window, lost acknowledgements, no back-off of the timer."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tcpsf import stats
from tcpsf.intervals import Ends
from tcpsf.papers import santa_cruz as paper
from tcpsf.report.evaluation import OWN, Row, Table, TableCell
from tcpsf.reproduce import judge
from tcpsf.reproduce.evaluation import Heading
from tcpsf.reproduce.exhibit import Exhibit, Part
from tcpsf.reproduce.judge import Finding
from tcpsf.reproduce.plan import Case, Runs
from tcpsf.reproduce.santa_cruz.exhibit import unwatched
from tcpsf.reproduce.watch import Rows
from tcpsf.scenario import MaskLoss, PacketLoss, Scenario
from tcpsf.summary import RunSummary

FLOW = Rows(
    table="flows",
    columns=("received_bytes", "segments", "retransmitted_segments", "timeouts", "waited_s"),
)

SECTION = "recovery"
LOST = (1, 2, 3, 4, 6, 8)
"""Packets lost of one window."""
WINDOW = 16
"""Packets of which they are drawn: fewer than are in flight."""
FIRST = 300
"""The packet from which on they are drawn: by then all senders have the window that the receiver allows."""
PATTERNS = 20
ALLOWED = 20
"""Packets: the receiver's window. The path holds 16.5, so that no buffer overflows."""

ACK_LOSSES = (0.0, 0.1, 0.3, 0.5, 0.7)
"""Share of the acknowledgements that are lost."""
KEPT_PERCENT = 90.0
"""What a sender keeps of its throughput that acknowledgement losses don't disturb."""
DISTURBING = 0.5
"""The share at which that is judged."""

LOSSES = (0.1, 0.2, 0.3, 0.4)
"""Share of the data packets that are lost where the timer decides."""
LONG_S = 60

PATTERN_TEXT = (
    f"Section 3.2.2: {', '.join(map(str, LOST[:-1]))} or {LOST[-1]} of {WINDOW} packets in a row are lost on the last "
    f"hop, from the {FIRST + 1}st on, the same {PATTERNS} drawn patterns for each sender. The receiver allows "
    f"{ALLOWED} packets, so that nothing else is lost."
)
ACKS_TEXT = (
    "Sections 1 and 3.1.2: the line back of the basic network loses acknowledgements at random. Senders count each "
    "acknowledgement as one, as those of the paper's time did; Santa Cruz counts what has arrived."
)
TIMER_TEXT = (
    "Section 3.2.1: the last hop of the basic network loses so many packets that the retransmission timer decides. "
    "`backoff=none` is the text to the letter; by default the wait doubles from the second expiry in a row on."
)

WHY = (
    "after lost acknowledgements the next one lets out a burst, which is the sooner too much for the buffer, and where "
    "those of a whole window are lost the timer expires"
)

HEADINGS = (Heading(SECTION, "Recovery: the claims of section 3.2", (PATTERN_TEXT, ACKS_TEXT, TIMER_TEXT), why=WHY),)


@dataclass(frozen=True, slots=True)
class Compared:
    """A sender that section 3.2's claims are held against."""

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
NO_BACK_OFF = Compared("sc-3-no-back-off", "SC n=3, no back-off", SC.sender.replace(")", ", backoff=none)"))
TIMED = (*FIVE[:3], SC, NO_BACK_OFF)
"""The five senders where the timer decides."""


def exhibits() -> tuple[Exhibit, ...]:
    """Return the section's exhibits."""
    return (_several_losses(), _lost_acks(), _no_back_off())


def _value(run: RunSummary, column: str) -> float:
    (row,) = FLOW.of(run)
    return float(row[column])


def _mbps(run: RunSummary) -> float:
    return 8e-6 * _value(run, "received_bytes") / float(run.links[0]["duration_s"])


def _table(
    *,
    key: str,
    title: str,
    caption: str,
    columns: Sequence[str],
    unit: str,
    senders: Sequence[Compared],
    of: Callable[[Compared], Sequence[Sequence[float]]],
    possible: Ends = stats.POSITIVE,
) -> Table:
    rows = tuple(
        Row(
            label=each.label,
            cells=tuple(
                TableCell(ours=stats.mean(values, possible=possible), published=None, unit=unit) for values in of(each)
            ),
        )
        for each in senders
    )
    return Table(key=key, title=title, source=OWN, caption=caption, columns=("sender", *columns), rows=rows)


def _with_loss(scenario: Scenario, link: str, loss: MaskLoss | PacketLoss) -> Scenario:
    return replace(
        scenario, link=tuple(replace(each, loss=loss) if each.name == link else each for each in scenario.link)
    )


# ---- several losses in one window ------------------------------------------------------------------------------------


def pattern(lost: int, number: int) -> str:
    """Return a mask by which ``lost`` packets of one window are lost; the ``number``-th that is drawn.

    >>> mask = pattern(3, 0)
    >>> mask.count("1"), mask.index("1") // 2 >= FIRST, len(mask.split(",")) <= FIRST + WINDOW
    (3, True, True)
    """
    drawn = random.Random(1000 * lost + number).sample(range(WINDOW), lost)  # noqa: S311 (a pattern, no secret)
    return ",".join("1" if place - FIRST in drawn else "0" for place in range(FIRST + max(drawn) + 1))


def burst(*, sender: str, mask: str) -> Scenario:
    """Return the basic network with a bounded window, whose last hop drops what the mask says."""
    network = _with_loss(paper.basic(sender=sender), "last", MaskLoss(drops=mask))
    return unwatched(replace(network, tcp=replace(network.tcp, receive_buffer=f"{ALLOWED * paper.MSS}B")))


def _several_losses() -> Exhibit:
    cases = {
        (each.key, lost): [
            Case(scenario=burst(sender=each.sender, mask=pattern(lost, number)), watches=(FLOW,), once=True)
            for number in range(PATTERNS)
        ]
        for each in FIVE
        for lost in LOST
    }

    def build(runs: Runs) -> Part:
        def made(each: Compared, lost: int) -> list[RunSummary]:
            return [run for wanted in cases[each.key, lost] for run in runs.of(wanted)]

        def values(each: Compared, of: Callable[[RunSummary], float]) -> list[list[float]]:
            return [[of(run) for run in made(each, lost)] for lost in LOST]

        heads = [f"{lost} lost" for lost in LOST]
        timeouts = _table(
            key="several-losses",
            title="Timeouts after several losses in one window",
            caption=f"Expiries of the retransmission timer a transfer of 10 s: means over {PATTERNS} patterns.",
            columns=heads,
            unit="",
            senders=FIVE,
            of=lambda each: values(each, lambda run: _value(run, "timeouts")),
        )
        vain = _table(
            key="several-losses-vain",
            title="Segments sent again in vain after several losses in one window",
            caption="Retransmissions beyond what was lost: means over the same patterns.",
            columns=heads,
            unit="segments",
            senders=FIVE,
            of=lambda each: [
                [_value(run, "retransmitted_segments") - lost for run in made(each, lost)] for lost in LOST
            ],
        )
        return Part(tables=(timeouts, vain), findings=tuple(_burst_claims(made)))

    return Exhibit(
        key="several-losses",
        section=SECTION,
        cases=tuple(case for some in cases.values() for case in some),
        build=build,
    )


def _burst_claims(made: Callable[[Compared, int], list[RunSummary]]) -> Iterator[Finding]:
    ours = {lost: made(SC, lost) for lost in LOST}
    count = sum(len(some) for some in ours.values())
    yield judge.finding(
        key="several-losses-no-timeout",
        claim="Santa Cruz: several losses in one window are repaired without a timeout",
        source="sections 1, 3.2.2",
        published="none",
        judged=judge.is_none(sum(_value(run, "timeouts") > 0 for some in ours.values() for run in some), count),
    )
    yield judge.finding(
        key="several-losses-nothing-in-vain",
        claim="Santa Cruz: nothing that was received correctly is sent again when several packets of a window are lost",
        source="section 3",
        published="none",
        judged=judge.is_none(
            sum(_value(run, "retransmitted_segments") > lost for lost, some in ours.items() for run in some), count
        ),
    )
    several = [lost for lost in LOST if lost >= 4]
    yield judge.finding(
        key="several-losses-reno",
        claim="Reno: several losses of a window (four and more here) lead to timeouts",
        source="section 4.3",
        published="a timeout every cycle",
        judged=judge.all_above(
            {f"{lost} lost": stats.mean([_value(run, "timeouts") for run in made(RENO, lost)]) for lost in several},
            0.5,
            "timeouts",
        ),
    )


# ---- lost acknowledgements -------------------------------------------------------------------------------------------


def without_acks(*, sender: str, share: float) -> Scenario:
    """Return the basic network whose line back loses this share of the acknowledgements."""
    network = paper.basic(sender=sender, spread="1s")
    return unwatched(_with_loss(network, paper.BACK, PacketLoss(probability=share)) if share else network)


def _lost_acks() -> Exhibit:
    cases = {
        (each.key, share): Case(scenario=without_acks(sender=each.sender, share=share), watches=(FLOW,))
        for each in FIVE
        for share in ACK_LOSSES
    }

    def build(runs: Runs) -> Part:
        def values(each: Compared, of: Callable[[RunSummary], float]) -> list[list[float]]:
            return [[of(run) for run in runs.of(cases[each.key, share])] for share in ACK_LOSSES]

        heads = [f"{100 * share:g} % lost" for share in ACK_LOSSES]
        delivered = _table(
            key="ack-loss",
            title="Payload delivered while acknowledgements are lost",
            caption="One flow for 10 s, started within the first second; the line carries 1.44 Mb/s of payload.",
            columns=heads,
            unit="Mb/s",
            senders=FIVE,
            of=lambda each: values(each, _mbps),
        )
        timeouts = _table(
            key="ack-loss-timeouts",
            title="Timeouts while acknowledgements are lost",
            caption="Expiries of the retransmission timer in those runs.",
            columns=heads,
            unit="",
            senders=FIVE,
            of=lambda each: values(each, lambda run: _value(run, "timeouts")),
        )

        def kept(each: Compared) -> stats.Estimate | None:
            """By how many per cent the throughput falls."""
            by_share = dict(zip(ACK_LOSSES, values(each, _mbps), strict=True))
            return stats.gain(by_share[DISTURBING], by_share[0.0])

        less = stats.gain(*([_mbps(run) for run in runs.of(cases[each.key, DISTURBING])] for each in (SC, RENO)))
        ahead = None if less is None else less.scaled(-1.0)
        findings = (
            judge.finding(
                key="ack-loss-robust",
                claim=f"Santa Cruz: robust to acknowledgement loss (at {100 * DISTURBING:g} %, it keeps "
                f"{KEPT_PERCENT:g} % of its throughput)",
                source="section 3.1.2",
                published="robust",
                judged=judge.is_below(kept(SC), 100.0 - KEPT_PERCENT, "% less"),
            ),
            judge.finding(
                key="ack-loss-above-reno",
                claim=f"Reno, which counts acknowledgements, loses throughput with them ({100 * DISTURBING:g} % of "
                "them)",
                source="section 3.1.2",
                published="performs poorly",
                judged=judge.is_above(kept(RENO), 0.0, "% less"),
            ),
            judge.finding(
                key="ack-loss-ahead",
                claim=f"Santa Cruz delivers more than Reno while {100 * DISTURBING:g} % of the acknowledgements are "
                "lost",
                source="section 3.1.2",
                published="more",
                judged=judge.is_above(
                    ahead,
                    0.0,
                    "% more",
                ),
            ),
        )
        return Part(tables=(delivered, timeouts), findings=findings)

    return Exhibit(key="ack-loss", section=SECTION, cases=tuple(cases.values()), build=build)


# ---- no back-off -----------------------------------------------------------------------------------------------------


def lossy(*, sender: str, share: float) -> Scenario:
    """Return the basic network whose last hop loses this share of the packets."""
    network = paper.basic(sender=sender, duration=f"{LONG_S}s")
    return unwatched(_with_loss(network, "last", PacketLoss(probability=share)))


def _no_back_off() -> Exhibit:
    cases = {
        (each.key, share): Case(scenario=lossy(sender=each.sender, share=share), watches=(FLOW,))
        for each in TIMED
        for share in LOSSES
    }

    def build(runs: Runs) -> Part:
        def values(each: Compared, of: Callable[[RunSummary], float]) -> list[list[float]]:
            return [[of(run) for run in runs.of(cases[each.key, share])] for share in LOSSES]

        heads = [f"{100 * share:g} % lost" for share in LOSSES]

        def table(key: str, title: str, caption: str, unit: str, of: Callable[[RunSummary], float]) -> Table:
            return _table(
                key=key,
                title=title,
                caption=caption,
                columns=heads,
                unit=unit,
                senders=TIMED,
                of=lambda each: values(each, of),
            )

        tables = (
            table(
                "no-back-off",
                "Payload delivered where the timer decides",
                f"One flow for {LONG_S} s; the line carries 1.44 Mb/s of payload.",
                "kb/s",
                lambda run: 1000.0 * _mbps(run),
            ),
            table(
                "no-back-off-idle",
                "Time spent waiting for the timer",
                f"Silence before expiries of the retransmission timer, of {LONG_S} s.",
                "s",
                lambda run: _value(run, "waited_s"),
            ),
            table(
                "no-back-off-cost",
                "Segments sent for a segment delivered",
                "All transmissions over what the receiver had in order.",
                "",
                lambda run: _value(run, "segments") / max(_value(run, "received_bytes") / paper.MSS, 1.0),
            ),
        )

        def idle(ours: Compared, theirs: Compared) -> dict[str, stats.Estimate | None]:
            return {
                head: stats.gain(mine, others)
                for head, mine, others in zip(
                    heads,
                    values(ours, lambda run: _value(run, "waited_s")),
                    values(theirs, lambda run: _value(run, "waited_s")),
                    strict=True,
                )
            }

        findings = tuple(
            judge.finding(
                key=f"{ours.key}-idle",
                claim=f"{ours.label}: shorter idle periods than SACK, which backs off",
                source="section 1",
                published="no back-off, which leads to long idle periods",
                judged=judge.all_above(idle(ours, SACK), 0.0, "% less"),
            )
            for ours in (SC, NO_BACK_OFF)
        )
        return Part(tables=tables, findings=findings)

    return Exhibit(key="no-back-off", section=SECTION, cases=tuple(cases.values()), build=build)
