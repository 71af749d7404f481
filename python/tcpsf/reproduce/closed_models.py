"""Report of all closed models, and of one paper's models.

Thresholds are the texts' own words. Nothing in the modules `closed_<topic>` is random.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tcpsf.evaluation.data import Report, Section
from tcpsf.report.sheet import report
from tcpsf.reproduce import (
    closed_best_framing,
    closed_packet_discard,
    closed_short_flows,
    closed_small_window,
)

HEADLINE = (
    "gain-constant-FS",
    "gain-falls-with-rtt",
    "fs-waste",
    "negative-gain-gross",
    "modem",
    "two-losses",
)
"""Keys of the papers' main claims."""


SECTIONS: Mapping[str, Callable[[], Section]] = {
    "small-window": closed_small_window.section,
    "short-flows": closed_short_flows.section,
    "packet-discard": closed_packet_discard.section,
    "best-framing": closed_best_framing.section,
}
"""Sections in the order of the report, by their keys."""

SUBTITLE = "Figures with closed formulae, computed from the corrected equations, and the claims of the texts."


def model_report(*, command: str) -> Report:
    """Return all closed models as one report."""
    return report(
        [section() for section in SECTIONS.values()],
        title="Closed models of the papers: figures and claims reproduced",
        subtitle=SUBTITLE,
        command=command,
        headline=HEADLINE,
    )


def model_section(key: str, *, command: str) -> Report:
    """Return one paper's section of `model_report` as a report of its own, by the section's key."""
    section = SECTIONS[key]()
    title = f"Closed models: {section.title[0].lower()}{section.title[1:]}"
    found = [each.key for each in section.findings]
    main = [key for key in HEADLINE if key in found]
    return report([section], title=title, subtitle=SUBTITLE, command=command, headline=main)
