"""The page of `tcpsf serve --report`: completion times, transfers over time, recoveries by sender.

Memory does not grow with the number of connections.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tcpsf import __version__, text
from tcpsf.chart import Axis, Plot, plot
from tcpsf.distribution import Distribution
from tcpsf.run_report.page_sections import PageSection, page_of_sections
from tcpsf.run_report.run_plots import distribution_rows, length_of_time

if TYPE_CHECKING:
    import polars as pl

SLICES = 200
"""Maximum number of intervals of the charts over time."""
FIRST_WIDTH_S = 0.1
"""Length of the intervals at first; it doubles whenever there are more than `SLICES` of them."""
RECOVERIES = {
    "fast_retransmits": "fast retransmits",
    "timeouts": "timeouts",
    "syn_timeouts": "timeouts of the SYN",
    "retransmitted_segments": "retransmitted segments",
}
"""Columns of the table ``connections`` that count recoveries, and their labels."""
COUNTED = ("sent_bytes", "segments", *RECOVERIES)


@dataclass(slots=True)
class _SenderSums:
    """Sums over the connections of one sender."""

    connections: int = 0
    finished: int = 0
    sums: Counter[str] = field(default_factory=Counter)
    times: Distribution = field(default_factory=Distribution)
    ended: Counter[int] = field(default_factory=Counter)
    """Number of completed transfers, by the interval of their end."""


class ConnectionSums:
    """Sums over the rows of the table ``connections``, by sender."""

    def __init__(self) -> None:
        self._senders: dict[str, _SenderSums] = {}
        self._width_s = FIRST_WIDTH_S

    def add(self, rows: pl.DataFrame) -> None:
        """Add the rows of connections that have ended."""
        for (sender,), own in rows.group_by("sender", maintain_order=True):
            sums = self._senders.setdefault(str(sender), _SenderSums())
            sums.connections += own.height
            sums.finished += int((own["ending"] == "finished").sum())
            sums.sums.update({name: int(own[name].sum()) for name in COUNTED})
            done = own.drop_nulls("completion_s")
            sums.times.update(
                Distribution((done["completion_s"] * 1e9).round().cast(int).to_list())
            )
            sums.ended.update((done["end_s"] / self._width_s).floor().cast(int).to_list())
            while max(sums.ended, default=0) >= SLICES:
                self._halve()

    def _halve(self) -> None:
        """Join each two neighbouring intervals."""
        self._width_s *= 2
        for sums in self._senders.values():
            joined: Counter[int] = Counter()
            for position, count in sums.ended.items():
                joined[position // 2] += count
            sums.ended = joined

    def page(self, *, task: str, counters: Mapping[str, int], duration_s: float) -> str:
        """Return the page; ``task`` is the command, and ``counters`` are those of the host."""
        about = f"{text.seconds(duration_s)} s. Made by tcpsf {__version__}."
        sections = [PageSection(key="summary", title="Summary", tables=self._tables(counters))]
        if any(len(sums.times) for sums in self._senders.values()):
            plots = [self._completion_times(), self._transfers()]
            sections.append(PageSection(key="completion", title="Transfers", plots=plots))
        if any(sums.sums[name] for sums in self._senders.values() for name in RECOVERIES):
            recoveries = PageSection(
                key="recoveries", title="Recoveries", plots=[self._recoveries()]
            )
            sections.append(recoveries)
        if not self._senders:
            about += " No connection has ended."
        return page_of_sections(sections, title=f"tcpsf {task}", text=[about])

    def _tables(self, counters: Mapping[str, int]) -> list[text.TitledTable]:
        heads = ["sender", "connections", "finished", "kB", "p50, s", "p95, s", "segments"]
        rows = [[*heads, *RECOVERIES.values()]]
        for sender, sums in self._senders.items():
            quantiles = (sums.times.quantile(share) for share in (0.5, 0.95))
            rows.append(
                [
                    sender,
                    text.plain(sums.connections, 0),
                    text.plain(sums.finished, 0),
                    text.number(sums.sums["sent_bytes"] * 1e-3, 1),
                    *map(text.seconds, quantiles),
                    *(text.plain(sums.sums[name], 0) for name in COUNTED[1:]),
                ]
            )
        counted = [
            [name.replace("_", " "), text.plain(count, 0)]
            for name, count in counters.items()
            if count
        ]
        tables = [text.TitledTable("Connections by sender", rows, (0,))] if len(rows) > 1 else []
        return [*tables, text.TitledTable("Counters", [["counter", "number"], *counted], (0,))]

    def _completion_times(self) -> Plot:
        times = {sender: [sums.times] for sender, sums in self._senders.items() if sums.times}
        return plot(
            list(distribution_rows("", times)),
            x_axis=Axis(label="completion time", unit="s", scale="log"),
            y_axis=Axis(label="share of the connections", low=0.0, high=1.0),
            style="step",
            title="Completion times",
            caption="Share of the connections that sent all their data within the time on the axis.",
            key="completion-times",
        )

    def _transfers(self) -> Plot:
        return plot(
            list(self._transfer_rows()),
            x_axis=Axis(label="time", unit="s"),
            y_axis=Axis(label="transfers in an interval"),
            style="step",
            title="Transfers over time",
            caption=f"Completed transfers in intervals of {length_of_time(self._width_s)}, at the end "
            "of their connections.",
            key="transfers",
        )

    def _transfer_rows(self) -> Iterator[dict[str, float | str]]:
        last = max(max(sums.ended, default=0) for sums in self._senders.values())
        for sender, sums in self._senders.items():
            for number in range(last + 2):
                yield {"x": number * self._width_s, "y": sums.ended[number], "series": sender}

    def _recoveries(self) -> Plot:
        rows = [
            {"x": label, "y": sums.sums[name] / sums.connections, "series": sender}
            for sender, sums in self._senders.items()
            for name, label in RECOVERIES.items()
        ]
        return plot(
            rows,
            x_axis=Axis(label="event", scale="category"),
            y_axis=Axis(label="mean number per connection"),
            style="bar",
            title="Recoveries and retransmissions",
            caption="Mean over the connections of a sender.",
            key="recoveries-by-sender",
        )
