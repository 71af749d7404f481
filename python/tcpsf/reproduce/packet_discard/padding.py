"""Framing over ATM (an experiment of this project).

Smaller segments waste a larger part of the last cell. The exhibits show the effect on their gain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from tcpsf.evaluation import judge
from tcpsf.evaluation.data import OWN, Row, Table, TableCell
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case
from tcpsf.models import packet_discard as model
from tcpsf.papers import packet_discard as paper
from tcpsf.papers import smart_framing as framing
from tcpsf.reproduce import web_runs
from tcpsf.scenario import Buffer, Discard, Link, Scenario
from tcpsf.summary import RunSummary, fast_percent

SEGMENTS = (1460, 536)
"""Full segment sizes in bytes: that of Ethernet and that of the paper."""
LOAD = 0.5
CELLS = 150_000 // paper.CELL
"""Number of cells with as much memory as the bottleneck of the Smart Framing paper."""

Frames = Literal["aal5"] | None
LINES = {"packets": "line of packets", "cells": "line of cells (PPD)"}

BySender = Mapping[str, Sequence[RunSummary]]


def exhibits(duration: str) -> tuple[Exhibit, ...]:
    """Return the exhibits of framing over ATM."""
    cases = {
        line: {
            variant.key: Case(scenario=_scenario(variant.sender, line=line, duration=duration))
            for variant in framing.VARIANTS
        }
        for line in LINES
    }
    return (
        Exhibit(
            key="padding", section="padding", cases=(), build=lambda _: Part(tables=(_padding(),))
        ),
        Exhibit(
            key="framing-atm",
            section="padding",
            cases=tuple(case for each in cases.values() for case in each.values()),
            build=lambda runs: _gains(
                {
                    line: {key: runs.of(case) for key, case in each.items()}
                    for line, each in cases.items()
                }
            ),
            shown={"FS-TCP-SF over cells": cases["cells"]["fs"].scenario},
        ),
    )


def _padding() -> Table:
    rows = []
    for full in SEGMENTS:
        for parts in (1, 2, 4):
            size = full // parts
            cells = float(model.cells(size + paper.HEADER))
            whole = float(model.cells(full + paper.HEADER))
            empty = cells * paper.CELL_PAYLOAD - size - paper.HEADER - model.TRAILER
            found = (
                (cells, "cells"),
                (empty, "bytes"),
                (100.0 * size / (cells * paper.CELL), "%"),
                (100.0 * size / (size + paper.HEADER), "%"),
                (100.0 * (parts * cells / whole - 1.0), "%"),
            )
            rows.append(
                Row(
                    label=f"{full} / {parts} = {size} bytes",
                    cells=tuple(
                        TableCell(ours=judge.exact(value), published=None, unit=unit)
                        for value, unit in found
                    ),
                )
            )
    return Table(
        key="padding",
        title="Cells per segment",
        source=OWN,
        caption=(
            "40 bytes of headers and the 8 bytes of AAL5 fill the payload of one cell exactly. A segment "
            "takes this cell, plus one cell for every 48 bytes of payload, rounded up. Multiples of 48 need "
            "no padding."
        ),
        columns=(
            "segment",
            "cells",
            "padding in the last",
            "payload on a line of cells",
            "payload on a line of packets",
            "increase in cells over full segments",
        ),
        rows=tuple(rows),
    )


def _scenario(sender: str, *, line: str, duration: str) -> Scenario:
    """Return the network of section IV-A of the Smart Framing paper behind an access link.

    All links carry packets, or all links carry cells.
    """
    scenario = framing.web_scenario(sender=sender, load=LOAD, duration=duration)
    there, back = scenario.link
    frames: Frames = "aal5" if line == "cells" else None
    port = Buffer(cells=CELLS, discard=Discard(policy="ppd")) if frames else there.buffer
    links = (
        replace(there, buffer=port),
        replace(back, buffer=None, cells=frames),
        Link(name="access", from_="hosts", to="servers", rate="100Mb/s", cells=frames),
        Link(name="access-back", from_="servers", to="hosts", rate="100Mb/s", cells=frames),
    )
    workload = tuple(replace(each, from_="hosts") for each in scenario.workload)
    return replace(scenario, name=f"smart-framing-{line}", link=links, workload=workload)


def _gains(seen: Mapping[str, BySender]) -> Part:
    rows = []
    for line, name in LINES.items():
        for variant in framing.VARIANTS:
            runs = seen[line][variant.key]
            gain = (
                None if variant is framing.CLASSIC else web_runs.gain(runs, seen[line]["classic"])
            )
            found = (
                (web_runs.mean_time(runs), "s"),
                (gain, "%"),
                (fast_percent(web_runs.each(runs)), "%"),
                (web_runs.lost_percent(runs), "%"),
                (web_runs.utilisation_percent(runs), "%"),
                (web_runs.mean(web_runs.greedy_mbps(runs)), "Mb/s"),
            )
            cells = tuple(TableCell(ours=value, published=None, unit=unit) for value, unit in found)
            rows.append(Row(label=f"{variant.label}, {name}", cells=cells))
    table = Table(
        key="framing-atm",
        title="Framing over a line of packets and a line of cells",
        source=OWN,
        caption=(
            "The Smart Framing paper's flows at half load, over a bottleneck of 10 Mb/s, 50 ms and 150 kB: "
            "in packets, "
            "or in 2830 cells that drop the rest of a damaged packet. An access line of 100 Mb/s leads to "
            "the bottleneck."
        ),
        columns=(
            "sender, line",
            "short flows: mean time",
            "gain over Classic",
            "repaired without timer",
            "packets lost",
            "line busy",
            "greedy flows",
        ),
        rows=tuple(rows),
    )
    return Part(tables=(table,), findings=tuple(_claims(seen)))


def _claims(seen: Mapping[str, BySender]) -> Iterator[Finding]:
    for key in ("vs", "fs"):
        label = next(variant.label for variant in framing.VARIANTS if variant.key == key)
        gains = {line: web_runs.gains(seen[line][key], seen[line]["classic"]) for line in LINES}
        yield judge.finding(
            key=f"framing-gains-over-cells-{key}",
            claim=f"{label} also shortens short flows on a line of cells",
            source=OWN,
            published="",
            judged=judge.is_above(web_runs.mean(gains["cells"]), 0.0, "%"),
        )
        yield judge.finding(
            key=f"framing-less-over-cells-{key}",
            claim=f"{label} gains less over cells than over packets",
            source=OWN,
            published="",
            judged=judge.is_below(
                web_runs.paired(gains["cells"], gains["packets"]), 0.0, "percentage points"
            ),
        )
