"""The page of `cure_fairness`: a remedy, and the connections without it beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tcpsf import stats
from tcpsf.stats import Estimate

HEAD: Final = """\
# Fairness of remedies

`verification/cure_fairness.py --page docs/reference/fairness.md` writes this page. Two groups of connections
share a link whose queue they fill: *others* have no remedy, and those *with* it have the remedy of the row, from
[`tcpsf cure run`](../guides/cure.md). Their round-trip time is 40 ms, and nothing is lost except at the full
queue. Responses are requested at random times (Poisson), and take 90 % of the link's rate if no group has
a remedy. Each run is paired with one without a remedy whose requests are sent at the same times, and
simulated runs have these times as well.

- *Dropped* is the share of a group's packets with data that the queue dropped.
- *Completion* is the change of the mean completion time, in percent of the same group's without a remedy.
- *Share* is the part of the data that the group received.

Each entry has the measured value, and the simulated one after the slash, with 95 % intervals over the
runs. The simulated sender applies `fs` to more segments than the kernel, where cuts do not reach data
that waits for the congestion window.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One group in one run."""

    mean_s: float | None
    """Mean completion time in seconds; ``None`` for long transfers."""
    dropped: float
    """Share of the packets with data that were dropped."""
    share: float | None
    """Share of the received data; ``None`` for short responses."""


@dataclass(frozen=True, slots=True)
class FairnessRun:
    """The groups `plain` and `remedied` in one run."""

    groups: Mapping[str, Group]


@dataclass(frozen=True, slots=True, kw_only=True)
class FairnessSide:
    """Estimates of one group, measured or simulated."""

    dropped: Estimate | None
    """Share in percent."""
    change: Estimate | None
    """Change of the mean completion time in percent, or the share in percent of long transfers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FairnessCell:
    """A remedy, with the estimates of both groups."""

    remedy: str
    measured: Mapping[str, FairnessSide]
    simulated: Mapping[str, FairnessSide]

    @classmethod
    def of(
        cls,
        remedy: str,
        without: tuple[Sequence[FairnessRun], Sequence[FairnessRun]],
        found: tuple[Sequence[FairnessRun], Sequence[FairnessRun]],
    ) -> FairnessCell:
        """Compare measured and simulated runs with those without a remedy."""
        measured, simulated = (
            {name: _side(before, after, name) for name in ("plain", "remedied")}
            for before, after in zip(without, found, strict=True)
        )
        return cls(remedy=remedy, measured=measured, simulated=simulated)

    def agrees(self) -> bool:
        """Return whether the intervals of the effect on the other group overlap."""
        one, other = self.measured["plain"].change, self.simulated["plain"].change
        if one is None or other is None:
            return False
        return one.low <= other.high and other.low <= one.high

    def effect(self, *, is_long: bool) -> str:
        """Return the effect on the other group, measured and simulated."""
        pair = (side["plain"].change for side in (self.measured, self.simulated))
        return " / ".join(_percent(each, signed=not is_long) for each in pair)


def _side(before: Sequence[FairnessRun], after: Sequence[FairnessRun], name: str) -> FairnessSide:
    groups = [(one.groups[name], two.groups[name]) for one, two in zip(before, after, strict=True)]
    dropped = stats.mean([two.dropped for _, two in groups])
    times = [
        (one.mean_s, two.mean_s)
        for one, two in groups
        if one.mean_s is not None and two.mean_s is not None
    ]
    if times:
        lost = stats.gain([two for _, two in times], [one for one, _ in times])
        change = None if lost is None else lost.scaled(-1.0)
    else:
        share = stats.mean([two.share for _, two in groups if two.share is not None])
        change = None if share is None else share.scaled(100.0)
    return FairnessSide(dropped=None if dropped is None else dropped.scaled(100.0), change=change)


def page(tables: Sequence[tuple[str, str, bool, Sequence[FairnessCell]]], runs: int) -> str:
    """Write the page."""
    kernel = os.uname().release.partition("-")[0]
    lines = [HEAD, f"Kernel: Linux {kernel}; {runs} runs of each measured cell.", ""]
    for title, text, is_long, cells in tables:
        lines += [f"## {title}", "", text, "", *_table(cells, is_long=is_long), ""]
    return "\n".join(lines).rstrip() + "\n"


def _table(cells: Sequence[FairnessCell], *, is_long: bool) -> list[str]:
    what = "share" if is_long else "completion"
    lines = [
        f"| remedy | others: dropped | with: dropped | others: {what} | with: {what} |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for cell in cells:
        entries = [
            " / ".join(
                _percent(value, signed=signed)
                for value in (
                    getattr(cell.measured[name], key),
                    getattr(cell.simulated[name], key),
                )
            )
            if cell.remedy != "none" or key == "dropped" or is_long
            else ""
            for key, signed in (("dropped", False), ("change", not is_long))
            for name in ("plain", "remedied")
        ]
        lines.append(f"| `{cell.remedy}` | {' | '.join(entries)} |")
    return lines


def _percent(found: Estimate | None, *, signed: bool) -> str:
    if found is None:
        return "–"
    sign = "+" if signed else ""
    text = f"{found.value:{sign}.1f}"
    interval = found.interval
    if interval is not None:
        text += f" ± {(interval[1] - interval[0]) / 2:.1f}"
    return (text + " %").replace("-", "−")
