"""Output of `tcpsf link`: the addresses at the start, and the numbers of packets at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tcpsf import __version__, text

SCHEMA = "tcpsf.link/1"


def ends(addresses: tuple[str, str, str | None, str | None]) -> str:
    """Text of the addresses of the two ends.

    >>> ends(("100.64.0.1", "100.64.0.2", None, None))
    'Outside: 100.64.0.1. Inside: 100.64.0.2.'
    """
    outside, inside, outside_v6, inside_v6 = addresses
    six_outside, six_inside = ("" if six is None else f" {six}" for six in (outside_v6, inside_v6))
    return f"Outside: {outside}{six_outside}. Inside: {inside}{six_inside}."


def title(name: str | None, links: int) -> str:
    """Text in front of the messages of a link, if there are several: its name, if it has one.

    >>> title("lte", 2), title("lte", 1), title(None, 2)
    ('lte: ', '', '')
    """
    return f"{name}: " if links > 1 and name is not None else ""


def as_dict(found: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain data for JSON, as ``report/schema/link.json`` describes it."""
    return {"schema": SCHEMA, "version": __version__, **found, "settings": settings}


ROWS = {
    "packets": "offered_packets",
    "kB": "offered_bytes",
    "delivered": "delivered_packets",
    "dropped, buffer full": "dropped_buffer_packets",
    "dropped early": "dropped_early_packets",
    "lost": "dropped_loss_packets",
    "marked": "marked_packets",
    "sent twice": "duplicated_packets",
    "one bit flipped": "corrupted_packets",
    "late": "reordered_packets",
    "too long for the path": "too_big_packets",
    "on the way at the end": "held_packets",
    "refused by the kernel": "refused_packets",
    "missed by the emulator": "missed_packets",
}
"""Labels of the counters. From the fourth on, counters of zero are left out."""

ALWAYS = 3


def rows(found: Mapping[str, Any]) -> list[list[str]]:
    """Return the statistics of both directions side by side, as a table with heads."""
    directions = (found["up"], found["down"])
    table = [["", "up", "down"]]
    for number, (name, column) in enumerate(ROWS.items()):
        values = [direction[column] for direction in directions]
        if number < ALWAYS or any(values):
            in_bytes = column.endswith("_bytes")
            table.append(
                [
                    name,
                    *(
                        text.number(value * 1e-3, 1) if in_bytes else text.plain(value, 0)
                        for value in values
                    ),
                ]
            )
    if any(direction["utilisation"] for direction in directions):
        table.append(
            [
                "used, %",
                *(text.number(100 * direction["utilisation"], 1) for direction in directions),
            ]
        )
        table.append(
            [
                "queue, kB",
                *(text.number(direction["mean_queue_bytes"] * 1e-3, 1) for direction in directions),
            ]
        )
        table.append(
            [
                "queue max, kB",
                *(text.number(direction["max_queue_bytes"] * 1e-3, 1) for direction in directions),
            ]
        )
    for name, column in (
        ("lateness p50, µs", "median"),
        ("lateness p99, µs", "p99"),
        ("lateness max, µs", "max"),
    ):
        errors = [direction[f"timing_error_{column}_s"] for direction in directions]
        table.append(
            [name, *(text.number(None if error is None else error * 1e6, 0) for error in errors)]
        )
    return table


GATEWAY = (
    "Without root, connections to other hosts end at the outer end: "
    "their sender on the link is this machine's TCP."
)
"""Message about a link with a gateway."""


def as_text(found: Mapping[str, Any]) -> str:
    """Return the statistics of both directions side by side, as text."""
    tail = "".join(f"\n\n{warning}" for warning in warnings(found))
    head = f"Exit status {found['exit_status']} after {text.seconds(found['duration_s'])} s, seed {found['seed']}."
    return f"{head}\n\n{text.table(rows(found), left=[0])}{tail}"


def warnings(found: Mapping[str, Any]) -> list[str]:
    """Return the warnings about a run."""
    return [
        warning
        for warning in (outside_ended(found), firewall_dropped(found))
        if warning is not None
    ]


def firewall_dropped(found: Mapping[str, Any]) -> str | None:
    """Text of a warning if the firewall of this machine dropped packets of the link.

    >>> firewall_dropped({"firewall_dropped_packets": 7})
    'warning: the firewall of this machine dropped 7 forwarded packets of the link'
    """
    packets = found["firewall_dropped_packets"]
    if not packets:
        return None
    return (
        f"warning: the firewall of this machine dropped {packets} forwarded "
        f"{'packet' if packets == 1 else 'packets'} of the link"
    )


def outside_ended(found: Mapping[str, Any]) -> str | None:
    """Text of a warning if the program of ``--outside`` ended before the command.

    >>> outside_ended({"outside_exit_status": 1})
    'warning: the program of `--outside` ended with exit status 1 before the command did'
    """
    status = found["outside_exit_status"]
    if status is None:
        return None
    return f"warning: the program of `--outside` ended with exit status {status} before the command did"
