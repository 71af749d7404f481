"""Drops by packet size, bursts, and the memory of buffers (journal, sections IV-A.3 and VI)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_advantages as settings
from tcpsf.reproduce import web_runs
from tcpsf.reproduce.smart_framing.advantages import SECTION
from tcpsf.reproduce.smart_framing.advantages.small_window_segments import small_window_payloads
from tcpsf.reproduce.smart_framing.exhibit_parts import FRAMED, JOURNAL, Setting, by_variant
from tcpsf.reproduce.smart_framing.packet_sizes import Fate, PacketSizes

SIZES = PacketSizes(workload=paper.WEB, full=settings.MSS)
CHUNK = 1500
"""Bytes of memory per packet in section VI's buffer of packets."""
A_QUARTER = (22.5, 27.5)
"""Range of "1/4" in per cent, to the nearest 5 %."""


def drops_by_size(setting: Setting) -> Exhibit:
    """Return the drops by packet size, the sizes of bursts and the use of memory."""

    def traced(variant: paper.Variant) -> Case:
        return replace(
            setting.case(settings.traced_scenario(sender=variant.sender)), watches=(SIZES,)
        )

    cases = by_variant(traced)

    def build(runs: Runs) -> Part:
        return _sizes_part(
            {key: [SIZES.of(one) for one in runs.of(case)] for key, case in cases.items()}
        )

    return Exhibit(
        key="advantages-packet-sizes",
        section=SECTION,
        cases=tuple(cases.values()),
        build=build,
        shown={"traced short flows": cases["fs"].scenario},
    )


def _sizes_part(fates: Mapping[str, Sequence[Fate]]) -> Part:
    memory = {variant.key: _memory_percent(variant) for variant in paper.VARIANTS}
    rows = []
    for variant in paper.VARIANTS:
        of = fates[variant.key]
        full = stats.share([one.full_dropped for one in of], [one.full_packets for one in of])
        small = stats.share([one.small_dropped for one in of], [one.small_packets for one in of])
        rows.append(
            Row(
                label=variant.label,
                cells=(
                    TableCell(
                        ours=None if full is None else full.scaled(100.0), published=None, unit="%"
                    ),
                    TableCell(
                        ours=None if small is None else small.scaled(100.0),
                        published=None,
                        unit="%",
                    ),
                    TableCell(
                        ours=stats.ratio([one.packets for one in of], [one.bursts for one in of]),
                        published=None,
                        unit="packets",
                    ),
                    TableCell(
                        ours=stats.ratio(
                            [one.burst_bytes for one in of], [one.bursts for one in of]
                        ),
                        published=None,
                        unit="bytes",
                    ),
                    TableCell(ours=judge.exact(memory[variant.key]), published=None, unit="%"),
                ),
            )
        )
    table = Table(
        key="advantages-packet-sizes",
        title="Drops by packet size, bursts, and memory",
        source=f"{JOURNAL}, sections IV-A.3 and VI",
        caption="Data of the short flows in the network of section IV-A at 80 % load, with a drop-tail buffer that "
        f"counts bytes. A burst is the data that one flow sends at one instant. Memory: the share of {CHUNK} "
        "bytes that a packet fills in the small-window regime without loss.",
        columns=(
            "sender of the short flows",
            "full-sized packets dropped",
            "smaller packets dropped",
            "burst",
            "payload of a burst",
            "memory that is used",
        ),
        rows=tuple(rows),
    )
    return Part(tables=(table,), findings=tuple(_size_claims(fates, memory)))


def _size_claims(
    fates: Mapping[str, Sequence[Fate]], memory: Mapping[str, float]
) -> Iterator[Finding]:
    bursts = {key: [one.packets / one.bursts for one in of] for key, of in fates.items()}
    for variant in FRAMED:
        of = fates[variant.key]
        bias = web_runs.paired(
            [100.0 * one.full_dropped / max(1, one.full_packets) for one in of],
            [100.0 * one.small_dropped / max(1, one.small_packets) for one in of],
        )
        yield judge.finding(
            key=f"drop-bias-{variant.key}",
            claim=f"With {variant.label} a drop-tail buffer has a bias against full-size packets (dropping rate of "
            "full-sized minus smaller packets)",
            source="section IV-A.3",
            published="above 0",
            judged=judge.is_above(bias, 0.0, "percentage points"),
        )
        yield judge.finding(
            key=f"burstier-{variant.key}",
            claim=f"{variant.label} generates packets in larger bursts (packets at one instant, difference "
            "to Classic)",
            source="section VI",
            published="above 0",
            judged=judge.is_above(
                web_runs.paired(bursts[variant.key], bursts["classic"]), 0.0, "packets"
            ),
        )
    yield judge.finding(
        key="memory-quarter-fs",
        claim=f"In a chunk of {CHUNK} bytes a reduced segment of FS-TCP-SF uses only 1/4 of the memory (to "
        "the nearest "
        "5 %)",
        source="section VI",
        published="25 %",
        judged=judge.is_within(judge.exact(memory["fs"]), *A_QUARTER, "%"),
    )


def _memory_percent(variant: paper.Variant) -> float:
    sizes = small_window_payloads(variant)
    return 100.0 * sum(size + settings.HEADER_BYTES for size in sizes) / (CHUNK * len(sizes))
