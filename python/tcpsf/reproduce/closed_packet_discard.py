"""Equations (1) to (4) of the paper on packet discard: recovery from losses of one window."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tcpsf.evaluation.data import Section
from tcpsf.evaluation.judge import Judged, by_value, is_exactly
from tcpsf.evaluation.ranges import Verdict
from tcpsf.models import packet_discard as pd
from tcpsf.report import model_sheets
from tcpsf.reproduce.closed_finding import claim


def section() -> Section:
    """Return the section on losses from one window of Reno."""
    sheet = model_sheets.packet_discard(window=tuple(range(4, 25)), lost=(), most_losses=4)
    section = sheet.section(sheet.title)
    pairs = [
        (window, pattern)
        for window in range(5, 25)
        for pattern in itertools.combinations(range(window), 2)
        if pd.reno_recovers(window, pattern)
    ]
    early = [f"{window} {{{a}, {b}}}" for window, (a, b) in pairs if window < 10]
    fours = [p for window in range(4, 17) for p in itertools.combinations(range(window), 4)]
    played = sum(pd.reno_recovers(window, p) for window in range(4, 17) for p in _of(window, 4))
    findings = (
        claim(
            "smallest-window", "No fast retransmit below a window of 5", "section 2.1", "5",
            is_exactly(_smallest_window(), 5, within=0, unit="segments by (1)"),
        ),
        claim(
            "two-losses", "Two losses need a window of 10", "section 2.2, (2)", "10",
            _counted(len(early), f"windows below 10 that recover: {', '.join(early) or 'none'}"),
        ),
        claim(
            "four-losses", "Four losses always end in a timeout", "section 2.2, (4)", "always",
            _counted(played, f"{played} of {len(fours)} patterns recover, windows of 4 to 16"),
        ),
        claim(
            "cells", "A 576-byte datagram is 12 cells", "section 3", "12",
            is_exactly(float(pd.cells(576)), 12, within=0, unit="cells"),
        ),
    )  # fmt: skip
    return Section(
        key=section.key,
        title=section.title,
        text=section.text,
        figures=section.figures,
        findings=findings,
        why="(2) is misprinted for two patterns of losses, and the trailer of AAL5 needs a thirteenth cell",
    )


def _of(window: int, count: int) -> Iterator[tuple[int, ...]]:
    return itertools.combinations(range(window), count)


def _smallest_window() -> int:
    return next(window for window in range(1, 10) if pd.reno_recovers(window, [0]))


def _counted(count: int, ours: str) -> Judged:
    verdict: Verdict = "does not hold" if count else "holds"
    return by_value(
        count,
        verdict,
        ours,
        f"The count is {count}; the claim needs none. Nothing is random.",
    )
