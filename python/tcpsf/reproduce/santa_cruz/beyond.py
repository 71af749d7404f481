"""Topics that the paper leaves to later work.

They are fairness, coexistence with other senders, wireless loss, delayed acknowledgments and the
small window.
"""

from __future__ import annotations

from dataclasses import replace

from tcpsf import stats
from tcpsf.evaluation.data import OWN, Row, Table, TableCell
from tcpsf.evaluation.evaluate import Heading
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.evaluation.watch import Rows
from tcpsf.papers import santa_cruz as paper
from tcpsf.reproduce.santa_cruz.exhibit_parts import (
    BySender,
    case,
    columns,
    exhibit,
    mean,
    means_table,
    unwatched,
)
from tcpsf.scenario import Greedy, PacketLoss, Scenario, Transfers
from tcpsf.summary import RunSummary, completion_s, total

RECEIVED = Rows(table="flows", columns=("flow", "workload", "received_bytes"))
LONG = "60s"
"""Simulated time of runs in which flows share a link."""
FLOWS = (2, 4, 8)
LOSSES = (0.0, 0.001, 0.01, 0.03)
"""Loss rates of a wireless last hop."""
SMALL_LOSS = 0.03
SMALL_BYTES = 9600
"""Size of a transfer: ten segments."""
TRANSFERS = 60
"""Transfers of a run, one after the other."""

SC_3 = paper.SANTA_CRUZ[1]
FRAMED = "/ fs(n=4) /"
OTHER = "other"
"""Name of the competing workload."""

SMALL_WINDOW = (
    f"Not in the paper: transfers of {SMALL_BYTES} bytes, one at a time, over the basic bottleneck that loses "
    f"{100 * SMALL_LOSS:g} % of the packets; with full-sized segments and with fixed-size Smart Framing."
)

HEADINGS = (
    Heading(
        "fairness",
        "Beyond the paper: fairness among flows of one sender",
        (
            (
                "Not in the paper: several flows of one sender start within a second and share the basic "
                "bottleneck for 60 s."
            ),
        ),
    ),
    Heading(
        "coexistence",
        "Beyond the paper: coexistence with other senders",
        (
            (
                "Not in the paper: one flow of the first sender and one of the second share the basic "
                "bottleneck for 60 s."
            ),
        ),
    ),
    Heading(
        "wireless",
        "Beyond the paper: wireless loss",
        (
            (
                "Not in the paper: the last hop of the basic network loses data packets at random, but no "
                "acknowledgments."
            ),
        ),
    ),
    Heading(
        "delayed-acks",
        "Beyond the paper: delayed acknowledgments",
        ("Not in the paper: the receiver acknowledges every second packet, or after 200 ms.",),
    ),
    Heading(
        "small-window",
        "Beyond the paper: the small window, with framing",
        (SMALL_WINDOW,),
    ),
)


def exhibits() -> tuple[Exhibit, ...]:
    """Return the exhibits of the topics that the paper leaves to later work."""
    return (_fairness(), _coexistence(), _wireless(), _delayed_acks(), _small_window())


# ---- fairness


def _shared(sender: str, *, flows: int) -> Case:
    scenario = paper.basic(sender=sender, flows=flows, spread="1s", duration=LONG)
    return Case(scenario=unwatched(scenario), watches=(RECEIVED,))


def _received(run: RunSummary, workload: str) -> list[int]:
    """Payload bytes that each flow of a workload delivered in order.

    The flows are in the order of their start times.
    """
    rows = sorted(
        (row["flow"], row["received_bytes"])
        for row in RECEIVED.of(run)
        if row["workload"] == workload
    )
    return [received for _, received in rows]


def _fairness() -> Exhibit:
    cases = {
        (each.key, flows): _shared(each.sender, flows=flows)
        for each in paper.SENDERS
        for flows in FLOWS
    }

    def build(runs: Runs) -> Part:
        table = means_table(
            key="fairness",
            title="Jain's index among flows of one sender",
            caption="1 if all received the same, 1/n if one received everything.",
            columns=[f"{flows} flows" for flows in FLOWS],
            possible=stats.SHARE,
            of=lambda each: [
                [
                    stats.jain(_received(run, paper.SOURCE))
                    for run in runs.of(cases[each.key, flows])
                ]
                for flows in FLOWS
            ],
        )
        return Part(tables=(table,))

    return Exhibit(key="fairness", section="fairness", cases=tuple(cases.values()), build=build)


# ---- coexistence


def _beside(ours: str, other: str) -> Case:
    scenario = paper.basic(sender=ours, spread="1s", duration=LONG)
    beside = Greedy(
        name=OTHER,
        from_="a",
        to="receiver",
        flows=1,
        spread="1s",
        sender=other,
        tcp=paper.own_tcp(other),
    )
    return Case(
        scenario=unwatched(replace(scenario, workload=(*scenario.workload, beside))),
        watches=(RECEIVED,),
    )


def _share_percent(run: RunSummary) -> float:
    (ours,), (theirs,) = (_received(run, workload) for workload in (paper.SOURCE, OTHER))
    return 100.0 * ours / (ours + theirs)


def _coexistence() -> Exhibit:
    others = (
        ("Reno", paper.RENO.sender),
        ("Reno, framed", paper.RENO.sender.replace("/ full /", FRAMED)),
        ("SC n=3", SC_3.sender),
    )
    ours = (*paper.SANTA_CRUZ, paper.VEGAS)
    cases = {
        (each.key, name): _beside(each.sender, sender) for each in ours for name, sender in others
    }

    def build(runs: Runs) -> Part:
        table = means_table(
            key="coexistence",
            title="Share of the line with another sender",
            caption="Share of the sender on the left in the data that both delivered in 60 s.",
            columns=[f"beside {name}" for name, _ in others],
            possible=stats.PERCENT,
            unit="%",
            senders=ours,
            of=lambda each: [
                [_share_percent(run) for run in runs.of(cases[each.key, name])]
                for name, _ in others
            ],
        )
        return Part(tables=(table,))

    return Exhibit(
        key="coexistence", section="coexistence", cases=tuple(cases.values()), build=build
    )


# ---- wireless loss


def _lossy(scenario: Scenario, probability: float, *, link: str = "last") -> Scenario:
    loss = PacketLoss(probability=probability) if probability else None
    return replace(
        scenario,
        link=tuple(
            replace(each, loss=loss) if each.name == link else each for each in scenario.link
        ),
    )


def _wireless() -> Exhibit:
    cases = {
        (each.key, loss): Case(
            scenario=unwatched(_lossy(paper.basic(sender=each.sender, duration=LONG), loss)),
            watches=(RECEIVED,),
        )
        for each in paper.SENDERS
        for loss in LOSSES
    }

    def rate(run: RunSummary) -> float:
        return 8e-6 * sum(_received(run, paper.SOURCE)) / float(run.links[0]["duration_s"])

    def build(runs: Runs) -> Part:
        table = means_table(
            key="wireless",
            title="Payload delivered over a lossy last hop",
            caption="One flow for 60 s; the line carries 1.44 Mb/s of payload.",
            columns=[f"{100 * loss:g} % lost" for loss in LOSSES],
            unit="Mb/s",
            of=lambda each: [
                [rate(run) for run in runs.of(cases[each.key, loss])] for loss in LOSSES
            ],
        )
        return Part(tables=(table,))

    return Exhibit(key="wireless", section="wireless", cases=tuple(cases.values()), build=build)


# ---- delayed acknowledgments


def _delayed_acks() -> Exhibit:
    cases: dict[str, Case] = {}
    for each in paper.SENDERS:
        scenario = paper.basic(sender=each.sender)
        tcp = replace(scenario.tcp, ack_every=2, ack_delay="200ms")
        cases[each.key] = case(replace(scenario, tcp=tcp), once=True)
    return exhibit(
        "delayed-acks",
        "delayed-acks",
        cases,
        _delayed_table,
        rate_bps=paper.BOTTLENECK_BPS,
        what="delayed ACKs",
    )


def _delayed_table(runs: BySender) -> Part:
    rows = tuple(
        Row(
            label=each.label,
            cells=tuple(
                TableCell(ours=mean(runs[each.key], ours), published=None, unit=unit)
                for _, unit, ours, _ in columns(micro=False)
            ),
        )
        for each in paper.SENDERS
    )
    table = Table(
        key="delayed-acks",
        title="The basic bottleneck with delayed acknowledgments",
        source=f"{OWN}, beside Table 2",
        caption="One run of 10 s; nothing is random.",
        columns=("protocol", *(name for name, *_ in columns(micro=False))),
        rows=rows,
    )
    return Part(tables=(table,))


# ---- the small window


def _transfers(sender: str) -> Case:
    network = _lossy(
        paper.basic(sender=sender, duration=f"{3 * TRANSFERS}s"), SMALL_LOSS, link=paper.FORWARD
    )
    transfers = Transfers(
        name=paper.SOURCE,
        from_="a",
        to="receiver",
        sizes=(SMALL_BYTES,) * TRANSFERS,
        spacing="3s",
        sender=sender,
        tcp=paper.own_tcp(sender),
    )
    return Case(scenario=unwatched(replace(network, workload=(transfers,))))


def _small_window() -> Exhibit:
    senders = (paper.RENO, SC_3, paper.VEGAS)
    cases = {
        (each.key, framed): _transfers(
            each.sender.replace("/ full /", FRAMED) if framed else each.sender
        )
        for each in senders
        for framed in (False, True)
    }

    def build(runs: Runs) -> Part:
        rows = []
        for each in senders:
            by_framing = [
                [total(run.groups.values()) for run in runs.of(cases[each.key, framed])]
                for framed in (False, True)
            ]
            times = [completion_s(made) for made in by_framing]
            plain, framed = (
                [1e-9 * made.sender_ns / max(made.completed, 1) for made in part]
                for part in by_framing
            )
            cells = (
                *(TableCell(ours=found, published=None, unit="s") for found in times),
                TableCell(ours=stats.gain(framed, plain), published=None, unit="%"),
            )
            rows.append(Row(label=each.label, cells=cells))
        table = Table(
            key="small-window",
            title="Completion time of short transfers under loss",
            source=OWN,
            caption="Transfers with the same random seeds; the gain is that of framing.",
            columns=("sender", "full-sized", "framed", "gain"),
            rows=tuple(rows),
        )
        return Part(tables=(table,))

    return Exhibit(
        key="small-window", section="small-window", cases=tuple(cases.values()), build=build
    )
