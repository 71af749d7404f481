"""The start of a connection whose receiver delays ACKs (journal, section I; draft, section 7)."""

from __future__ import annotations

import math

from tcpsf import text
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.plan import Runs
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_advantages as settings
from tcpsf.reproduce.smart_framing.advantages import SECTION
from tcpsf.reproduce.smart_framing.exhibit_parts import DRAFT, FRAMED, JOURNAL, Setting
from tcpsf.reproduce.smart_framing.single_run import exact_rows, once

MILLISECONDS = 0.01
"""Permitted transmission time of a few more headers in an empty network, in seconds."""


def delayed_acks(setting: Setting) -> Exhibit:
    """Return the times of flows of few segments to a receiver that delays ACKs."""
    senders = {variant.key: (variant.label, variant.sender) for variant in paper.VARIANTS}
    senders["w2"] = ("Classic, initial window of 2", settings.W2)
    cases = {
        key: once(setting, settings.start_scenario(sender=sender))
        for key, (_, sender) in senders.items()
    }

    def build(runs: Runs) -> Part:
        times = {key: exact_rows(runs.of(case), "receiver_s") for key, case in cases.items()}
        rows = tuple(
            Row(
                label=text.count(segments, "segment"),
                cells=tuple(
                    TableCell(ours=judge.exact(times[key][place]), published=None, unit="s")
                    for key in senders
                ),
            )
            for place, segments in enumerate(settings.START_SEGMENTS)
        )
        table = Table(
            key="advantages-delayed-acks",
            title="Connection start with delayed ACKs",
            source=f"{JOURNAL}, section I; {DRAFT}, section 7",
            caption="Time until the receiver has everything, on an empty path of 100 ms and 10 Mb/s. The receiver "
            "acknowledges every second segment, or after 200 ms. Nothing is random.",
            columns=("flow", *(label for label, _ in senders.values())),
            rows=rows,
        )
        two = settings.START_SEGMENTS.index(2)
        findings = tuple(
            judge.finding(
                key=f"no-ack-wait-{variant.key}",
                claim=f"With delayed ACKs and a window of 1 the receiver need not wait with {variant.label}: "
                "a flow of "
                "two segments saves the 200 ms of the ACK's delay (to 10 ms)",
                source="section I; draft, section 7",
                published="0.2 s",
                judged=judge.is_within(
                    judge.exact(times["classic"][two] - times[variant.key][two]),
                    settings.ACK_DELAY_S - MILLISECONDS,
                    math.inf,
                    "s",
                ),
            )
            for variant in FRAMED
        )
        return Part(tables=(table,), findings=findings)

    return Exhibit(
        key="advantages-delayed-acks",
        section=SECTION,
        cases=tuple(cases.values()),
        build=build,
        shown={"delayed ACKs": cases["fs"].scenario},
    )
