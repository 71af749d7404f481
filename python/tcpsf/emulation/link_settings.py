"""The options of a link as given: a preset, a round-trip time and the default queue."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from tcpsf import _core
from tcpsf.emulation.presets import PRESETS
from tcpsf.errors import TcpsfError

NONE = "none"
QUEUE_S = 0.1
"""The default queue in seconds at the mean rate: the default interval of CoDel (RFC 8289)."""

LEAST_PACKETS = 10
"""Least size of the default queue, in packets of the MTU."""

Directions = dict[str, dict[str, str]]
"""Type of options by direction (`both`, `up`, `down`) and by name."""


def complete(
    given: Mapping[str, Mapping[str, str]], *, preset: str | None, rtt: str | None, mtu: int
) -> tuple[Directions, list[dict[str, Any]]]:
    """Return the options of a link, and the changes of its preset.

    The given options replace values of the preset, and its changes of them. ``rtt`` is a time as
    text, of which each direction has half. A direction with a rate, a trace of it
    or a shaper, and without a queue, gets the default queue.

    >>> complete({"both": {"rate": "10mbit"}}, preset=None, rtt="40ms", mtu=1500)[0]["up"]
    {'queue': '125000B'}
    """
    wanted = {way: dict(given.get(way, {})) for way in ("both", "up", "down")}
    if rtt is not None:
        if "delay" in wanted["both"]:
            raise TcpsfError(
                f"`--rtt {rtt}`: there is `--delay` as well",
                hint="give one of them; `--rtt` is the delay of both directions",
            )
        wanted["both"]["delay"] = f"{_core.nanoseconds(rtt) / 2e9:.9f}s"
    directions: Directions = {"both": {}, "up": {}, "down": {}}
    changes: list[dict[str, Any]] = []
    if preset is not None:
        found = PRESETS[preset]
        directions = {"both": dict(found.both), "up": dict(found.up), "down": dict(found.down)}
        changes = _without(found.changes, wanted)
    _replace(directions, wanted)
    _add_queues(directions, mtu)
    return directions, changes


_GROUPS = {name: group[0] for group in _core.exclusive_link_options() for name in group}


def _family(name: str) -> str:
    """Return the group of an option. A direction has at most one option of a group."""
    return _GROUPS.get(name, name)


def _replace(directions: Directions, given: Mapping[str, Mapping[str, str]]) -> None:
    """Replace options; an option for both directions also replaces those of each."""
    for way, options in given.items():
        replaced = {_family(name) for name in options}
        for each in directions if way == "both" else (way,):
            _remove(directions[each], replaced)
    for way, options in given.items():
        directions[way].update(options)


def _remove(options: MutableMapping[str, str], families: set[str]) -> None:
    for name in [each for each in options if _family(each) in families]:
        del options[name]


def _without(
    changes: tuple[Mapping[str, Any], ...], given: Mapping[str, Mapping[str, str]]
) -> list[dict[str, Any]]:
    """Return the changes of a preset without options that are given."""
    names = {_family(name) for options in given.values() for name in options}
    found = []
    for change in changes:
        left = {
            key: (
                {name: text for name, text in value.items() if _family(name) not in names}
                if isinstance(value, Mapping)
                else value
            )
            for key, value in change.items()
        }
        if any(isinstance(value, Mapping) and value for value in left.values()):
            found.append(left)
    return found


def _add_queues(directions: Directions, mtu: int) -> None:
    """Add the default queue to directions with a rate, except for links of a scenario."""
    for way in ("up", "down"):
        own = directions[way]
        options = _in_force(own, directions["both"])
        if options.get("from", NONE) != NONE or "queue" in options:
            continue
        rate = _core.mean_link_rate(options)
        if rate is not None:
            own["queue"] = f"{max(int(rate / 8 * QUEUE_S), LEAST_PACKETS * mtu)}B"


def _in_force(own: Mapping[str, str], both: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a direction. Its own ones replace those of their group."""
    replaced = {_family(name) for name in own}
    return {name: text for name, text in both.items() if _family(name) not in replaced} | dict(own)


def queue_text(
    directions: Mapping[str, Mapping[str, str]], given: Mapping[str, Mapping[str, str]]
) -> str | None:
    """Text of the queues that were not given, or ``None`` if there are none.

    >>> queue_text({"both": {}, "up": {"queue": "125000B"}, "down": {}}, {})
    'Queue: up 125 kB. Use `--queue` for another limit, or `--queue none`.'
    """
    shown = ", ".join(
        f"{way} {_core.bytes(directions[way]['queue']) / 1000:g} kB"
        for way in ("up", "down")
        if "queue" in directions[way]
        and "queue" not in {**given.get("both", {}), **given.get(way, {})}
    )
    return f"Queue: {shown}. Use `--queue` for another limit, or `--queue none`." if shown else None
