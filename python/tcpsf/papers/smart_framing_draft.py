"""TCP Smart-Framing, the Internet draft of M. Mellia, M. Meo, C. Casetti, 2001.

The draft is draft-mellia-tsvwg-tcp-smartframing-00. The module has the table of section 9. It is
simulated on the journal's network with the flow lengths of an earlier measurement.
"""

from __future__ import annotations

from dataclasses import replace

from tcpsf.papers import smart_framing as paper
from tcpsf.papers.smart_framing import PublishedCell
from tcpsf.scenario import Poisson, Scenario, Sizes

CITATION = "Mellia, Meo, Casetti: TCP Smart-Framing, Internet draft 00, 2001"

CLASS_BYTES = (61, 239, 539, 1349, 2739, 4149, 6358, 10910, 18978, 90439)
"""Column 1: ten flow lengths from AT&T Labs' traffic, assumed to be equally likely."""


def _cells(rows: tuple[tuple[float, float], ...]) -> tuple[PublishedCell, ...]:
    """Pair times with per cents; the draft prints 0.0 where the journal has a dash."""
    return tuple(PublishedCell(time, percent or None) for time, percent in rows)


PUBLISHED = {
    "classic": _cells(
        (
            (0.25, 0.0),
            (0.37, 0.0),
            (0.46, 0.0),
            (0.81, 0.0),
            (1.14, 0.0),
            (1.33, 0.0),
            (1.71, 0.0),
            (1.96, 5.54),
            (2.17, 21.91),
            (4.43, 46.34),
        )
    ),
    "vs": _cells(
        (
            (0.22, 0.0),
            (0.28, 0.0),
            (0.34, 0.0),
            (0.42, 8.02),
            (0.53, 33.52),
            (0.54, 43.26),
            (0.77, 52.12),
            (1.00, 64.78),
            (1.23, 62.98),
            (3.01, 69.68),
        )
    ),
    "fs": _cells(
        (
            (0.24, 0.0),
            (0.31, 0.0),
            (0.43, 0.0),
            (0.49, 10.84),
            (0.64, 35.57),
            (0.86, 32.00),
            (0.93, 30.02),
            (1.16, 37.26),
            (1.57, 49.01),
            (3.87, 64.64),
        )
    ),
}
"""Section 9: completion time and share of fast retransmits at a load of 0.8, by variant."""


def web_scenario(*, sender: str, duration: str = paper.FULL_DURATION) -> Scenario:
    """Return the journal's network with the draft's flow lengths.

    >>> web_scenario(sender=paper.CLASSIC.sender).workload[1].sizes.classes[-1]
    90439
    """
    scenario = paper.web_scenario(sender=sender, duration=duration)
    workload = tuple(
        replace(each, sizes=Sizes(classes=CLASS_BYTES)) if isinstance(each, Poisson) else each
        for each in scenario.workload
    )
    return replace(scenario, name="smart-framing-draft", workload=workload)
