"""Links like those of common kinds of access, from published measurements.

``docs/reference/link.md`` has the source of each value. The queue holds what the line sends in
100 ms, and in one round trip for `geo`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPreset:
    """Options of a link by direction, and changes as the emulator has them."""

    both: Mapping[str, str] = field(default_factory=dict)
    up: Mapping[str, str] = field(default_factory=dict)
    down: Mapping[str, str] = field(default_factory=dict)
    changes: tuple[Mapping[str, Any], ...] = ()


def _periodic(delays: tuple[str, ...], seconds: int) -> tuple[Mapping[str, Any], ...]:
    """Return changes of the delay after each time of ``seconds``, again and again."""
    period = f"{seconds * len(delays)}s"
    return tuple(
        {"at": f"{seconds * (number + 1)}s", "every": period, "both": {"delay": delay}}
        for number, delay in enumerate(delays)
    )


PRESETS = {
    "dsl": LinkPreset(
        both={"delay": "19ms"},
        up={"rate": "1mbit", "queue": "15kB"},
        down={"rate": "11.3mbit", "queue": "141kB"},
    ),
    "lte": LinkPreset(
        both={"delay": "27ms"},
        up={"rate": "6.3mbit", "queue": "79kB"},
        down={"rate": "21.3mbit", "queue": "266kB"},
    ),
    "wifi": LinkPreset(
        both={"delay": "1ms"},
        up={"rate": "15mbit", "queue": "188kB"},
        down={"rate": "30mbit", "queue": "375kB"},
    ),
    "geo": LinkPreset(
        both={"delay": "314ms"},
        up={"rate": "2.96mbit", "queue": "232kB"},
        down={"rate": "18.75mbit", "queue": "1472kB"},
    ),
    "leo": LinkPreset(
        both={"delay": "25ms"},
        up={"rate": "13.5mbit", "queue": "169kB"},
        down={"rate": "87mbit", "queue": "1088kB"},
        changes=_periodic(("20ms", "25ms", "30ms", "25ms"), 15),
    ),
    "transatlantic": LinkPreset(both={"delay": "45ms"}),
}
"""Presets by name."""
