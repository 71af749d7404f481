"""Displays of scenarios: short representations, and tables for notebooks.

Keys that have their default value are not shown.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import Any

from tcpsf import markup
from tcpsf.scenario.codec import Key, keys_of

LISTED = 4
"""Maximum number of entries of a list that a cell of a table shows."""


def call(part: object) -> str:
    """Return the constructor's call of a part of a scenario; long lists are shortened."""
    cls: type = type(part)
    values = (f"{key.field}={_SHORT.repr(getattr(part, key.field))}" for key in _given(part))
    return f"{cls.__name__}({', '.join(values)})"


def _given(part: object) -> list[Key]:
    """Return the keys of a part that are required or differ from their defaults."""
    cls: type = type(part)
    return [
        key
        for key in keys_of(cls).values()
        if key.required or getattr(part, key.field) != key.default
    ]


class _Short(reprlib.Repr):
    """Representation of values, shortened if they are long."""

    def __init__(self) -> None:
        super().__init__()
        self.maxtuple, self.maxstring, self.maxother, self.fillvalue = 8, 80, 400, "…"


_SHORT = _Short()


def as_html(scenario: object) -> str:
    """Return tables of the links, the workloads and the other keys of a scenario."""
    values = _values(scenario)
    links, workloads = values.pop("link"), values.pop("workload")
    others = [["key", "value"], *([key, _shown(value)] for key, value in values.items())]
    tables = (
        _table("Links", links),
        _table("Workloads", workloads),
        markup.table(others, caption="Other keys", left=(0, 1)),
    )
    return f"<div>{''.join(tables)}</div>"


def _table(caption: str, parts: Sequence[object]) -> str:
    entries = [_values(part) for part in parts]
    keys = list(dict.fromkeys(key for entry in entries for key in entry))
    rows = ([_shown(entry[key]) if key in entry else "" for key in keys] for entry in entries)
    return markup.table([keys, *rows], caption=caption, left=range(len(keys)))


def _values(part: object) -> dict[str, Any]:
    """Return the values of a part that differ from their defaults, by key, after its kind."""
    kind = getattr(part, "kind", None)
    values = {} if kind is None else {"kind": kind}
    return values | {key.name: getattr(part, key.field) for key in _given(part)}


def _shown(value: object) -> str:
    """Text of a value, with the first entries of a long list.

    >>> from tcpsf import PacketLoss
    >>> _shown(PacketLoss(probability=0.5)), _shown((1, 2, 3, 4, 5))
    ('kind = packet, probability = 0.5', '1, 2, 3, 4, … (5)')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        listed = ", ".join(map(_nested, value[:LISTED]))
        return f"{listed}, … ({len(value)})" if len(value) > LISTED else listed
    if isinstance(value, str | int | float):
        return str(value)
    return ", ".join(f"{key} = {_nested(content)}" for key, content in _values(value).items())


def _nested(value: object) -> str:
    """Text of a value inside another; tables and lists are in brackets."""
    if isinstance(value, str | int | float):
        return _shown(value)
    return f"[{_shown(value)}]" if isinstance(value, tuple) else f"{{{_shown(value)}}}"
