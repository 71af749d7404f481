"""The retransmission timeout after short flows (journal, section III; draft, section 7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tcpsf import text
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Runs
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_advantages as settings
from tcpsf.reproduce.smart_framing.advantages import SECTION
from tcpsf.reproduce.smart_framing.exhibit_parts import DRAFT, FRAMED, JOURNAL, Setting
from tcpsf.reproduce.smart_framing.single_run import exact_rows, once

EVERY_ACK = {"every ACK": True, "one a window": False}
"""Whether every ACK is a sample of the round-trip time, by the label of the samples."""

Timeouts = Mapping[str, Mapping[str, Sequence[float]]]
"""Timeouts in seconds by label of the samples and sender's key, in the order of `RTO_SEGMENTS`."""


def retransmission_timer(setting: Setting) -> Exhibit:
    """Return the retransmission timeouts after flows of few segments."""
    cases = {
        samples: {
            v.key: once(setting, settings.rto_scenario(sender=v.sender, every_ack=every))
            for v in paper.VARIANTS
        }
        for samples, every in EVERY_ACK.items()
    }

    def build(runs: Runs) -> Part:
        timeouts = {
            samples: {key: exact_rows(runs.of(case), "rto_s") for key, case in each.items()}
            for samples, each in cases.items()
        }
        return Part(tables=(_table(timeouts),), findings=tuple(_claims(timeouts)))

    return Exhibit(
        key="advantages-rto",
        section=SECTION,
        cases=tuple(case for each in cases.values() for case in each.values()),
        build=build,
        shown={"every ACK a sample": cases["every ACK"]["fs"].scenario},
    )


def _table(timeouts: Timeouts) -> Table:
    rows = tuple(
        Row(
            label=f"{text.count(segments, 'segment')}, {samples}",
            cells=tuple(
                TableCell(
                    ours=judge.exact(timeouts[samples][v.key][index]), published=None, unit="s"
                )
                for v in paper.VARIANTS
            ),
        )
        for samples in EVERY_ACK
        for index, segments in enumerate(settings.RTO_SEGMENTS)
    )
    return Table(
        key="advantages-rto",
        title="The retransmission timeout after a flow",
        source=f"{JOURNAL}, section III; {DRAFT}, section 7",
        caption="On an empty path of 100 ms, RFC 6298 without its lower bound of 1 s; the timeout "
        "begins with 3 s. "
        "With every ACK as a sample, or with one sample a window. Nothing is random.",
        columns=("flow and samples", *(variant.label for variant in paper.VARIANTS)),
        rows=rows,
        notes=(
            "With every ACK as a sample, the samples of one round trip share the weight of one sample.",
        ),
    )


def _claims(timeouts: Timeouts) -> Iterator[Finding]:
    for samples, every in EVERY_ACK.items():
        for variant in FRAMED:
            shorter_by = {
                text.count(segments, "segment"): judge.exact(
                    timeouts[samples]["classic"][index] - timeouts[samples][variant.key][index]
                )
                for index, segments in enumerate(settings.RTO_SEGMENTS[:3])
            }
            yield judge.finding(
                key=f"rto-converges-{variant.key}-{'ack' if every else 'window'}",
                claim=f"{variant.label}: more ACKs make the timeout more accurate early on, so that it is "
                f"shorter than Classic's after flows of 1 to 3 segments ({samples} is a sample)"
                if every
                else f"{variant.label}: the same with one sample a window",
                source="section III; draft, section 7",
                published="shorter at each length",
                judged=judge.all_above(shorter_by, 0.0, "s"),
            )
