"""The page of `tcpsf link --report`: statistics of an emulated link, and charts over time."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tcpsf import __version__, text
from tcpsf.chart import Axis, Plot, plot
from tcpsf.report import link_output
from tcpsf.run_report import link_plots
from tcpsf.run_report.page_sections import PageSection, page_of_sections

FATES = (
    "delivered",
    "dropped, buffer full",
    "dropped early",
    "lost",
    "too long for the path",
    "on the way at the end",
    "refused by the kernel",
)
"""Counters of `link_output.ROWS` of packets that left the link, or are still in it."""
CHANGES = ("marked", "sent twice", "one bit flipped", "late")
"""Counters of `link_output.ROWS` of packets that the link changed, repeated or delayed."""
LATENESS = {"p50": "median", "p99": "p99", "max": "max"}
"""Quantiles of the emulator's timing error, and the parts of their names."""


def link_page(
    found: Mapping[str, Any], settings: Mapping[str, Any], *, command: Sequence[str]
) -> str:
    """Return the page; ``found`` has the statistics, and ``settings`` those of the link."""
    ran = f"{f'`{shlex.join(command)}`' if command else 'The link'} ran for {text.seconds(found['duration_s'])} s"
    about = [
        f"{ran} and ended with exit status {found['exit_status']}. Made by tcpsf {__version__}.",
        "Up is the direction from the command outwards, and down is towards the command.",
    ]
    about += [f"{warning}." for warning in link_output.warnings(found)]
    tables = [
        text.TitledTable("Statistics", link_output.rows(found), (0,)),
        text.TitledTable("Settings", list(_settings(settings)), (0, 1)),
    ]
    plots = [
        _counts(found, FATES, title="Packets", key="packets"),
        _counts(found, CHANGES, title="Changed packets", key="changed"),
        _lateness(found),
    ]
    sections = [
        PageSection(key="summary", title="Summary", tables=tables),
        PageSection(key="charts", title="Both directions", plots=[each for each in plots if each]),
    ]
    if over_time := link_plots.over_time(found["series"]):
        sections.append(PageSection(key="over-time", title="Over time", plots=over_time))
    return page_of_sections(sections, title="tcpsf link", text=about)


def _settings(settings: Mapping[str, Any]) -> Iterator[list[str]]:
    yield ["setting", "value"]
    for name, value in settings.items():
        if isinstance(value, Mapping):
            prefix = "" if name == "both" else f"{name}-"
            yield from ([f"{prefix}{option}", str(given)] for option, given in value.items())
        elif value is not None:
            yield [name, str(value)]


def _counts(
    found: Mapping[str, Any], labels: Sequence[str], *, title: str, key: str
) -> Plot | None:
    rows = [
        {"x": label, "y": found[direction][link_output.ROWS[label]], "series": direction}
        for direction in ("up", "down")
        for label in labels
        if any(found[each][link_output.ROWS[label]] for each in ("up", "down"))
    ]
    if not rows:
        return None
    x_axis = Axis(label="outcome", scale="category")
    return plot(
        rows, x_axis=x_axis, y_axis=Axis(label="packets"), style="bar", title=title, key=key
    )


def _lateness(found: Mapping[str, Any]) -> Plot | None:
    rows = [
        {"x": label, "y": error * 1e6, "series": direction}
        for direction in ("up", "down")
        for label, name in LATENESS.items()
        if (error := found[direction][f"timing_error_{name}_s"]) is not None
    ]
    if not rows:
        return None
    return plot(
        rows,
        x_axis=Axis(label="quantile", scale="category"),
        y_axis=Axis(label="lateness", unit="µs"),
        style="bar",
        title="Lateness",
        caption="Time between the moment when a packet is due and the moment when it is written.",
        key="lateness",
    )
