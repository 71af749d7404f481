"""The state of `tcpsf cure auto` by prefix, as plain data and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tcpsf.cure.auto import AutoPart, AutoPhase, AutoTrials
from tcpsf.cure.trial import TrialGroup
from tcpsf.text import plain, seconds, table

MOST_SHOWN: Final = 100
"""Most prefixes that `tcpsf cure status` shows."""

STATES: Final = {
    AutoPhase.BEFORE.value: "before a trial",
    AutoPhase.TRIAL.value: "trial",
    AutoPhase.KEPT.value: "kept",
    AutoPhase.NONE.value: "none helped",
}
"""Texts of the states of a prefix."""


def prefix_state(trials: AutoTrials, part: AutoPart) -> dict[str, Any]:
    """Return the state of a part as plain data. Times are in seconds.

    Without a current trial, the numbers are those of the last one.
    """
    policy, result = trials.policy(part), trials.current(part)
    if policy is None and part.latest is not None:
        policy = part.latest.policy
    groups = {} if result is None else {each.name: each for each in result.groups}
    effect = None if result is None else result.effect
    return {
        "peers": part.name,
        "state": part.phase.value,
        "remedy": str(policy) if part.phase is AutoPhase.KEPT else None,
        "tried": None if policy is None else str(policy),
        "connections": part.connections,
        "in_trial": {name: each.connections for name, each in groups.items()},
        "mean_s": {name: each.mean_s for name, each in groups.items()},
        "p99_s": {name: _p99(each) for name, each in groups.items()},
        "effect_s": None if effect is None else [effect.value, effect.low, effect.high],
        "reason": None if result is None else result.reason,
    }


def _p99(group: TrialGroup) -> float | None:
    return None if group.p99_s is None else group.p99_s.value


def prefix_table(prefixes: Sequence[Mapping[str, Any]], further: int) -> str:
    """Return the table of parts, with a line about those that it leaves out."""
    head = ["peers", "state", "remedy", "connections", "before", "without", "with"]
    head += ["mean without", "mean with", "effect on the mean"]
    rows = [
        [
            each["peers"],
            STATES[each["state"]],
            each["tried"] or "",
            plain(each["connections"], 0),
            *(plain(each["in_trial"].get(name, 0), 0) for name in _GROUPS),
            *(seconds(each["mean_s"].get(name)) for name in _GROUPS[1:]),
            _effect(each["effect_s"]),
        ]
        for each in prefixes
    ]
    text = table([head, *rows], left=range(3))
    return f"{text}\n… and {further} further prefixes" if further else text


_GROUPS: Final = ("before", "without", "remedied")


def _effect(found: Sequence[float] | None) -> str:
    if found is None:
        return ""
    value, low, high = (plain(1e3 * each, 1) for each in found)
    return f"{value} ms ({low} to {high})"
