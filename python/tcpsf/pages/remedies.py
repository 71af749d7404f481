"""Map of the remedies: ``python -m tcpsf.pages.remedies LOSS CONGESTION``.

The program writes ``docs/reference/remedies.md`` from the results of two studies. ``LOSS`` is the
folder of ``tcpsf sweep docs/examples/remedies.toml --out LOSS``, and ``CONGESTION`` that of
``remedies-congestion.toml``. The figure ``docs/img/remedies.svg`` is ``LOSS/p99.svg``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcpsf import text

NONE = "none"
"""Label of the sender without a remedy."""

WORTHWHILE = 5.0
"""Smallest decrease of the 99th percentile, in percent, for which a remedy is chosen."""

Row = Mapping[str, Any]

INTRODUCTION = """\
# Remedies for a Linux server

<!-- Written by `python -m tcpsf.pages.remedies` from the results of `docs/examples/remedies.toml`
and `docs/examples/remedies-congestion.toml`. -->

This page shows what each remedy changes for today's Linux sender ([`linux`](senders.md)), by the law
of loss, the size of the reply and the round-trip time. The values are simulated. Every cell compares
replies with the same arrivals and the same random numbers. A part of the map is [measured with the
kernel](measured-remedies.md).

Each packet has a random additional delay: a Pareto (Lomax) distribution with shape 3 and a mean of 1 ms
in each direction. The order is kept, so a late packet delays those behind it. The delay varies
because a lower minimum of the timeout would have no cost otherwise.

![99th percentile of the completion time by flow size, for each remedy and law of loss](../img/remedies.svg)

A change is in percent of the value without a remedy. **Bold** changes are significant: their p-values,
adjusted for all comparisons of the study (Holm), are below 5 %. The column *choice* has the remedy with
the largest significant decrease of the 99th percentile whose mean does not increase significantly. The
decrease is at least 5 %, because each remedy has a cost. Otherwise the column has `none`. A percentile
is shown if at least 25 replies exceed it.
"""


@dataclass(frozen=True, slots=True)
class Results:
    """The results of a study for the replies, by position on the axes."""

    axes: tuple[str, ...]
    rows: tuple[Row, ...]
    runs: int

    @classmethod
    def read(cls, folder: Path) -> Results:
        """Read ``study.json`` of a folder that `tcpsf sweep --out` wrote."""
        data = json.loads((folder / "study.json").read_text(encoding="utf-8"))
        rows = tuple(row for row in data["results"] if row["variant"] is None)
        axes = tuple(axis for axis in data["axes"] if axis != "remedy")
        return cls(axes, rows, max(row["runs"] for row in rows))

    def values(self, axis: str) -> list[Any]:
        """Return the values of an axis, or the flow sizes, in the order of the study."""
        return list(dict.fromkeys(row[axis] for row in self.replies()))

    def replies(self) -> Iterator[Row]:
        """Yield the rows of the replies of one size."""
        return (row for row in self.rows if row["name"] == "replies" and row["class"] is not None)

    def cell(self, measure: str, **position: Any) -> dict[str, Row]:
        """Return the rows of one measure and position, by remedy."""
        return {
            row["remedy"]: row
            for row in self.replies()
            if row["measure"] == measure
            and all(row[name] == value for name, value in position.items())
        }


def page(loss: Results, congestion: Results) -> str:
    """Return the page as Markdown."""
    parts = [INTRODUCTION, _packets(loss)]
    for law in loss.values("loss"):
        parts += [f"## Loss {_of(law)}\n", _tables(loss, loss=law)]
    for queue in congestion.values("queue"):
        parts += [f"## Full queue in {queue}\n", _tables(congestion, queue=queue)]
    parts += ["## Where a remedy hurts\n", _harm(loss, congestion), _others(congestion)]
    return "\n".join(parts)


def _of(law: str) -> str:
    return f"in {law}" if law == "bursts" else law


def _places(results: Results, law: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the cells of a law: their label, and their position."""
    for size in results.values("size_bytes"):
        for rtt in results.values("rtt") if "rtt" in results.axes else [None]:
            position = {**law, "size_bytes": size, **({} if rtt is None else {"rtt": rtt})}
            yield (_bytes(size) + ("" if rtt is None else f", {rtt}"), position)


def _bytes(size: float) -> str:
    return f"{text.plain(size, 0)} B" if size < 10_000 else f"{text.plain(size / 1000, 0)} kB"


def _tables(results: Results, **law: Any) -> str:
    lines = []
    for measure, title in (("p99_s", "99th percentile"), ("mean_s", "Mean")):
        rows = []
        for label, position in _places(results, law):
            cell = results.cell(measure, **position)
            baseline = cell[NONE]["value"]
            value = "–" if baseline is None else f"{text.plain(baseline * 1000, 0)} ms"
            changes = [_change(cell[name]) for name in cell if name != NONE]
            choice = [f"`{_choice(results, position)}`"] if measure == "p99_s" else []
            rows.append([label, value, *changes, *choice])
        names = [f"`{name}`" for name in cell if name != NONE]
        heads = ["reply", NONE, *names, *(["choice"] if measure == "p99_s" else [])]
        lines += [f"{title} of the completion time:\n", _markdown([heads, *rows]), ""]
    return "\n".join(lines)


def _change(row: Row) -> str:
    percent = row["percent_value"]
    if percent is None:
        return "–"
    shown = f"{'+' if percent > 0 else ''}{text.plain(percent, 0 if abs(percent) >= 1 else 1)} %"
    return f"**{shown}**" if row["significant"] else shown


def _significant(row: Row, *, rises: bool) -> bool:
    percent = row["percent_value"]
    return bool(row["significant"]) and percent is not None and (percent > 0) == rises


def _choice(results: Results, position: Mapping[str, Any]) -> str:
    tails, means = results.cell("p99_s", **position), results.cell("mean_s", **position)
    helpful = {
        name: row["percent_value"]
        for name, row in tails.items()
        if name != NONE
        and _significant(row, rises=False)
        and row["percent_value"] <= -WORTHWHILE
        and not _significant(means[name], rises=True)
    }
    return min(helpful, key=helpful.__getitem__) if helpful else NONE


def _packets(loss: Results) -> str:
    """Return the table of the data packets that the remedies add."""
    position = {axis: loss.values(axis)[0] for axis in loss.axes}
    rows = []
    for size in loss.values("size_bytes"):
        cell = loss.cell("packets_per_flow", **position, size_bytes=size)
        rows.append([_bytes(size), *(text.plain(row["value"], 1) for row in cell.values())])
    heads = ["reply", *(f"`{name}`" for name in cell)]
    intro = "Data packets of a reply, with retransmissions and copies (loss per packet):\n"
    return "\n".join([intro, _markdown([heads, *rows]), ""])


def _harm(*studies: Results) -> str:
    """Return the table of significant increases, by remedy."""
    names = list(dict.fromkeys(row["remedy"] for row in studies[0].rows))
    rows = [["remedy", "mean increases in", "p99 increases in", "largest increase"]]
    for name in names:
        if name == NONE:
            continue
        counts, worst = [], None
        for measure in ("mean_s", "p99_s"):
            cells = [
                row
                for results in studies
                for row in results.replies()
                if row["remedy"] == name and row["measure"] == measure
            ]
            raised = [row for row in cells if _significant(row, rises=True)]
            counts.append(f"{len(raised)} of {len(cells)} cells")
            for row in raised:
                if worst is None or row["percent_value"] > worst["percent_value"]:
                    worst = row
        rows.append([f"`{name}`", *counts, "–" if worst is None else _place(worst)])
    return "\n".join([_markdown(rows), ""])


def _place(row: Row) -> str:
    measure = "p99" if row["measure"] == "p99_s" else "mean"
    where = [row.get(axis) for axis in ("loss", "queue", "rtt")]
    shown = ", ".join([*filter(None, where), _bytes(row["size_bytes"])])
    return f"{measure} +{text.plain(row['percent_value'], 0)} % ({shown})"


def _others(congestion: Results) -> str:
    """Return the table of the effect on the long transfers and on the queue."""
    heads = ["queue in", "remedy", "goodput of the long transfers", "drops"]
    rows = []
    for queue in congestion.values("queue"):
        for remedy in dict.fromkeys(row["remedy"] for row in congestion.rows):
            found = {
                row["measure"]: row
                for row in congestion.rows
                if (row["queue"], row["remedy"], row["size_bytes"]) == (queue, remedy, None)
                and row["name"] in ("long", "down")
            }
            goodput, drops = found["goodput_mbps"], found["dropped_share"]
            change = "" if remedy == NONE else f" ({_change(goodput)})"
            rows.append(
                [
                    queue,
                    f"`{remedy}`",
                    f"{text.plain(goodput['value'], 2)} Mb/s{change}",
                    f"{text.plain(drops['value'] * 100, 2)} %",
                ]
            )
    intro = "Effect on the two long transfers behind the full queue, and on the share of drops:\n"
    return "\n".join([intro, _markdown([heads, *rows])])


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    heads, *rest = rows
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rest]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Print the page from two folders of results."""
    if len(sys.argv) != 3:
        sys.exit("usage: python -m tcpsf.pages.remedies LOSS CONGESTION")
    loss, congestion = (Results.read(Path(folder)) for folder in sys.argv[1:])
    sys.stdout.write(page(loss, congestion))


if __name__ == "__main__":
    main()
