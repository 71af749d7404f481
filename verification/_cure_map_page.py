"""The page of `cure_map`: the effect of each remedy on the kernel, and the simulator beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

NONE: Final = "none"
WORTHWHILE: Final = 0.05
"""Smallest decrease of a percentile for which a remedy is chosen."""
CLOSE: Final = 0.10
"""Largest difference of the simulator from a measured percentile that is close."""

HEAD: Final = """\
# Remedies for a Linux server, measured

`verification/cure_map.py --all` writes this page. A server of the kernel's TCP answers requests over
[`tcpsf link`](link.md), without a remedy and with [`tcpsf cure run`](../guides/cure.md). Each request
has a connection of its own. Requests are sent at the same times, and the random numbers of the losses
are the same. [Remedies for a Linux server](remedies.md) has more remedies and paths, simulated.

A change is that of the 99th percentile, in percent of the value without a remedy. It is **bold** if the
95 % intervals of the two values do not overlap. The column *choice* has the remedy with the largest
such decrease, if it is at least 5 %, and otherwise `none`. [Fairness of remedies](fairness.md) has the
effect on other connections.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Losses on a path."""

    title: str
    text: str
    cells: Sequence[Mapping[str, Any]]
    """Cells as `tcpsf lab --json` prints them."""


def page(situations: Sequence[Situation], remedies: Sequence[str]) -> str:
    """Write the page."""
    lines = [HEAD, f"Kernel: Linux {os.uname().release.partition('-')[0]}.", ""]
    for one in situations:
        lines += [f"## {one.title}", "", one.text, "", *_table(one, remedies), ""]
        lines += _slowest(one)
    every = [cell for one in situations for cell in one.cells]
    parts = [*_costs(every, remedies), *_simulator(every), *_all(situations)]
    return "\n".join([*lines, *parts]) + "\n"


def _groups(cells: Sequence[Mapping[str, Any]]) -> list[dict[str, Mapping[str, Any]]]:
    """Return the cells of each path and size, by remedy."""
    found: dict[tuple[Any, ...], dict[str, Mapping[str, Any]]] = {}
    for cell in cells:
        found.setdefault(_place(cell), {})[cell["remedy"]] = cell
    return list(found.values())


def _place(cell: Mapping[str, Any]) -> tuple[Any, ...]:
    path = ("loss", "rate", "queue", "police", "downloads", "rtt_s", "bytes", "mix")
    return tuple(cell.get(name) for name in path)


def _response(cell: Mapping[str, Any]) -> str:
    """Return the size of the responses, or their workload, and the round-trip time."""
    size = cell.get("mix") or f"{cell['bytes']} B"
    return f"{size}, {1e3 * cell['rtt_s']:.0f} ms"


def _table(situation: Situation, remedies: Sequence[str]) -> list[str]:
    lines = [
        f"| response, RTT | none | {' | '.join(f'`{one}`' for one in remedies)} | choice |",
        "| --- |" + " ---: |" * (len(remedies) + 2),
    ]
    for group in _groups(situation.cells):
        plain = group[NONE]
        changes = [_change(plain, group.get(remedy)) for remedy in remedies]
        cells = " | ".join([_value(plain), *changes, f"`{_choice(group, remedies)}`"])
        lines.append(f"| {_response(plain)} | {cells} |")
    return lines


def _slowest(situation: Situation) -> list[str]:
    """Return a table of the 99.9th percentiles, if enough responses were measured."""
    if any(cell["measured_s"]["p99.9"] is None for cell in situation.cells):
        return []
    lines = ["| remedy | p99.9 | p99.9, simulated |", "| --- | ---: | ---: |"]
    lines += [
        f"| `{cell['remedy']}` | {_value(cell, 'p99.9')} "
        f"| {1e3 * cell['predicted_s']['p99.9']:.0f} ms |"
        for cell in situation.cells
    ]
    return [*lines, ""]


def _value(cell: Mapping[str, Any], part: str = "p99") -> str:
    found = cell["measured_s"][part]
    low, high = found["interval"]
    value = f"{1e3 * found['value']:.0f}"
    ends = f"{1e3 * low:.0f}", f"{1e3 * high:.0f}"
    return f"{value} ms" if ends[0] == ends[1] else f"{value} ({ends[0]} to {ends[1]}) ms"


def _change(plain: Mapping[str, Any], cell: Mapping[str, Any] | None) -> str:
    if cell is None:
        return ""
    relative = _relative(plain, cell)
    sign = "−" if relative < 0 else "+"
    written = f"{sign}{abs(100 * relative):.0f} %"
    return f"**{written}**" if _differ(plain, cell) else written


def _relative(plain: Mapping[str, Any], cell: Mapping[str, Any]) -> float:
    before, after = (each["measured_s"]["p99"]["value"] for each in (plain, cell))
    return float(after / before - 1.0)


def _differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether the intervals of two 99th percentiles do not overlap."""
    (low, high), (least, most) = (each["measured_s"]["p99"]["interval"] for each in (one, other))
    return bool(high < least or most < low)


def choices(cells: Sequence[Mapping[str, Any]], remedies: Sequence[str]) -> list[str]:
    """Return the choice on each path."""
    return [_choice(group, remedies) for group in _groups(cells)]


def _choice(group: Mapping[str, Mapping[str, Any]], remedies: Sequence[str]) -> str:
    plain = group[NONE]
    gains = {
        remedy: _relative(plain, group[remedy])
        for remedy in remedies
        if remedy in group and _differ(plain, group[remedy])
    }
    best = min(gains, key=lambda remedy: gains[remedy], default=NONE)
    return best if gains.get(best, 0.0) <= -WORTHWHILE else NONE


def _costs(cells: Sequence[Mapping[str, Any]], remedies: Sequence[str]) -> list[str]:
    """Return a table of the packets and bytes that a remedy adds."""
    lines = [
        "## Cost",
        "",
        (
            "Packets towards the client per request that a remedy adds, and the bytes of these packets in "
            "percent of those without a remedy. They are means over the paths of this page without downloads."
        ),
        "",
        f"| response | {' | '.join(f'`{one}`' for one in remedies)} |",
        "| --- |" + " ---: |" * len(remedies),
    ]
    alone = [cell for cell in cells if not cell.get("downloads") and not cell.get("mix")]
    groups = _groups(alone)
    for size in sorted({group[NONE]["bytes"] for group in groups}):
        chosen = [group for group in groups if group[NONE]["bytes"] == size]
        row = [_added(chosen, remedy) for remedy in remedies]
        lines.append(f"| {size} B | {' | '.join(row)} |")
    return [*lines, ""]


def _added(groups: Sequence[Mapping[str, Mapping[str, Any]]], remedy: str) -> str:
    pairs = [(group[NONE], group[remedy]) for group in groups if remedy in group]
    if not pairs:
        return ""

    def mean(key: str) -> tuple[float, float]:
        before = sum(plain[key] for plain, _ in pairs) / len(pairs)
        return sum(cell[key] for _, cell in pairs) / len(pairs) - before, before

    packets, _ = mean("packets_per_request")
    size, before = mean("bytes_per_request")
    return f"{packets:+.1f}, {100 * size / before:+.0f} %".replace("-", "−")


def _all(situations: Sequence[Situation]) -> list[str]:
    """Return a table of all cells."""
    lines = [
        "",
        "## All cells",
        "",
        (
            "Completion times in ms: the measured median, 95th and 99th percentile, and the simulated 99th "
            "and 99.9th. Packets and bytes are those towards the client, per request."
        ),
        "",
        "| losses | response, RTT | remedy | median | p95 | p99 | p99, sim. | p99.9, sim. | packets | bytes |",
        "| --- | --- | --- |" + " ---: |" * 7,
    ]
    for one in situations:
        for cell in one.cells:
            measured, predicted = cell["measured_s"], cell["predicted_s"]
            times = [measured[part]["value"] for part in ("median", "p95", "p99")]
            times += [predicted[part] for part in ("p99", "p99.9")]
            row = [
                one.title,
                _response(cell),
                f"`{cell['remedy']}`",
                *(f"{1e3 * each:.0f}" for each in times),
                f"{cell['packets_per_request']:.1f}",
                f"{cell['bytes_per_request']:.0f}",
            ]
            lines.append(f"| {' | '.join(row)} |")
    return lines


def agrees(cell: Mapping[str, Any]) -> bool:
    """Return whether the simulator's 99th percentile agrees with the measured one.

    It does if it is in the measured interval, if the intervals of both overlap, or if it is close.
    """
    measured, predicted = cell["measured_s"]["p99"], cell["predicted_s"]["p99"]
    low, high = measured["interval"]
    least, most = cell.get("predicted_interval_s", (predicted, predicted))
    overlaps = low <= most and least <= high
    return bool(overlaps or abs(predicted / measured["value"] - 1.0) <= CLOSE)


REASONS: Final = {
    "fs": (
        "The cuts of `fs` in the kernel do not reach data that waits for the congestion window, and "
        "retransmissions join pieces. The simulated sender keeps small segments."
    ),
    "dup-tail": (
        "Once the kernel has retransmitted, it may take the DSACK of a copy for that of the "
        "retransmission ([senders](senders.md#a-copy-of-the-tail-dup-tail)). The simulated sender "
        "knows its copies."
    ),
    "overload": (
        "The remedy adds so much that the packets exceed the rate of the link or of the policer. The "
        "queue then grows with time. A measurement ends, and the simulated requests continue until all "
        "responses have ended."
    ),
}
"""Known reasons of a disagreement, by the name of the remedy or of the circumstance."""


def known_reason(cell: Mapping[str, Any]) -> str | None:
    """Return the name of the reason for a disagreement, if it is known."""
    if _is_overloaded(cell):
        return "overload"
    name = str(cell["remedy"]).partition("(")[0]
    return name if name in REASONS else None


def _is_overloaded(cell: Mapping[str, Any]) -> bool:
    """Return whether first transmissions alone exceed the rate of the link or of the policer."""
    limit = cell["rate"] or cell.get("police")
    megabits = re.match(r"([\d.]+)Mb/s", limit) if limit else None
    return megabits is not None and cell.get("first_bits_per_s", 0.0) > 1e6 * float(megabits[1])


def _simulator(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the agreement with the simulator, and the cells without it."""
    others = [cell for cell in cells if not agrees(cell)]
    lines = [
        "## The simulator",
        "",
        (
            "Each cell is also simulated, with acknowledgments whose delay varies by 0.15 ms: RACK ignores "
            "that of a tail loss probe if it arrives in less than the minimum round-trip time (RFC 8985, "
            "section 6.2), as one in two does. Where the link has a limit, the small packets of connections "
            "are simulated at random times. The simulated 99th percentile agrees with the measured one in "
            f"{len(cells) - len(others)} of {len(cells)} cells: their intervals overlap, or the values "
            "differ by at most 10 %. With a queue or a policer, the simulated interval is that of 40 runs as "
            "long as the measurement, because responses are not independent."
        ),
    ]
    if not others:
        return lines
    lines += [
        "The others are:",
        "",
        "| losses | response, RTT | remedy | measured p99 | simulated p99 | emulator late (p99) |",
        "| --- | --- | --- | ---: | ---: | ---: |",
    ]
    for cell in others:
        limits = [cell[name] for name in ("rate", "queue") if cell[name]]
        limits += [f"policer {cell['police']}"] if cell.get("police") else []
        limits += [f"{cell['downloads']} downloads"] if cell.get("downloads") else []
        queue = ", ".join(limits) or cell["loss"]
        lines.append(
            f"| {queue} | {_response(cell)} | `{cell['remedy']}` "
            f"| {_value(cell)} | {1e3 * cell['predicted_s']['p99']:.0f} ms "
            f"| {1e3 * cell['late_s']:.1f} ms |"
        )
    found = {known_reason(cell) for cell in others}
    lines += ["", *(f"- {name}: {text}" for name, text in REASONS.items() if name in found)]
    if None in found:
        lines.append("- Other remedies: the reason is not known.")
    return lines
