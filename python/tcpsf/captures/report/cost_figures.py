"""Costs of the causes of an analysed capture: the verdict in words, and the charts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tcpsf import text
from tcpsf.captures.capture_summary import CAUSES
from tcpsf.chart import Axis, Plot, plot

GROUPS: Mapping[str, tuple[str, ...]] = {
    "timeouts": ("timeout", "syn_timeout", "syn_ack_timeout"),
    "tail loss probes": ("tail_loss_probe", "probe_of_new_data"),
    "ACKs": (
        "rack",
        "rack_timer",
        "sack",
        "three_duplicates",
        "fack",
        "early_retransmit",
    ),
    "further repairs": ("recovery", "slow_start", "lost_retransmission"),
    "other": ("path_mtu", "unknown"),
}
"""Groups of causes, by what reveals the loss."""


def group_of(cause: str) -> str:
    """Return the group of a cause."""
    return next(group for group, causes in GROUPS.items() if cause in causes)


def verdict(data: Mapping[str, Any]) -> str:
    """Return the result of an analysis in a few sentences, given its summary as plain data."""
    packets, connections = data["packets"]["packets"], data["connections"]
    whole = (
        f"The capture has {text.count(packets, 'packet')} of {text.count(connections, 'connection')} "
        f"in {text.seconds(data['duration_s'])} s."
    )
    causes = [each for each in data["causes"] if each["episodes"]]
    episodes = sum(each["episodes"] for each in causes)
    if not episodes:
        return f"{whole} No data was sent again: there is no loss episode."
    spurious = sum(each["spurious_episodes"] for each in causes)
    needed, lost_s = episodes - spurious, sum(each["delay_s"]["total"] for each in causes)
    lossy = data["connections_with_loss"]
    found = (
        f"It has {text.count(episodes, 'loss episode')}, and losses in {text.plain(lossy, 0)} of the "
        f"connections ({_percent(lossy, connections)})."
    )
    if spurious:
        found += f" In {text.plain(spurious, 0)} of the episodes nothing was lost."
    if not needed:
        return f"{whole} {found}"
    tails = sum(each["episodes_at_the_tail"] for each in causes)
    cost = (
        f"The losses delayed data by {text.seconds(lost_s)} s in total, "
        f"{text.seconds(lost_s / needed)} s per episode."
    )
    tail = (
        f"In {_percent(tails, episodes)} of the episodes no segment followed the lost one, so that no "
        "acknowledgment could reveal the loss."
        if tails
        else "Segments followed every lost one, so that acknowledgments could reveal the loss."
    )
    repairs, timeouts = _repairs(causes, needed), _timeouts(causes, needed, lost_s)
    return f"{whole} {found} {repairs} {cost} {timeouts} {tail}"


def _repairs(causes: Sequence[Mapping[str, Any]], needed: int) -> str:
    counts: dict[str, int] = {}
    for each in causes:
        group = group_of(each["cause"])
        counts[group] = counts.get(group, 0) + each["episodes"] - each["spurious_episodes"]
    words = {
        "ACKs": "the acknowledgments of later data",
        "tail loss probes": "a tail loss probe",
        "timeouts": "a retransmission timeout",
        "further repairs": "a recovery that had begun before",
        "other": "another or an unknown cause",
    }
    parts = [
        f"{words[group]} in {text.plain(count, 0)} ({_percent(count, needed)})"
        for group, count in sorted(counts.items(), key=lambda pair: -pair[1])
        if count
    ]
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"The first repair was made by {listed}."


def _timeouts(causes: Sequence[Mapping[str, Any]], needed: int, lost_s: float) -> str:
    own = [each for each in causes if group_of(each["cause"]) == "timeouts"]
    count = sum(each["episodes"] - each["spurious_episodes"] for each in own)
    cost_s = sum(each["delay_s"]["total"] for each in own)
    if not count:
        return "No loss waited for a retransmission timeout."
    return (
        f"Timeouts repaired {_percent(count, needed)} of the losses and account for "
        f"{_percent(cost_s, lost_s)} of the lost time."
    )


def _percent(part: float, whole: float) -> str:
    share = 100 * part / whole if whole else 0.0
    return f"{text.plain(share, 0 if share >= 10 or share == 0 else 1)} %"


def cost_plots(causes: Sequence[Mapping[str, Any]]) -> list[Plot]:
    """Return the charts of lost time and of episodes, by the cause of the first repair."""
    found = [
        (group, each)
        for group, names in GROUPS.items()
        for each in sorted(causes, key=lambda each: -each["delay_s"]["total"])
        if each["cause"] in names and each["episodes"]
    ]
    if not found:
        return []
    lost = _bars(found, {"lost time": lambda each: each["delay_s"]["total"]})
    counted = _bars(
        found,
        {
            "episodes": lambda each: each["episodes"],
            "of these at the tail": lambda each: each["episodes_at_the_tail"],
        },
    )
    cause = Axis(label="first repair by", scale="category")
    return [
        plot(
            lost,
            x_axis=cause,
            y_axis=Axis(label="lost time", unit="s"),
            style="bar",
            keys={"lost time": "repair:timeout"},
            title="Lost time by cause",
            caption="Sum over the episodes of the time from the first transmission of lost data to the "
            "one that arrived.",
            key="lost-time",
        ),
        plot(
            counted,
            x_axis=cause,
            y_axis=Axis(label="loss episodes"),
            style="bar",
            keys={"episodes": "repair:rack", "of these at the tail": "repair:tail_loss_probe"},
            title="Loss episodes by cause",
            caption="At the tail, no segment followed the lost one.",
            key="episodes-by-cause",
        ),
    ]


def _bars(
    found: Sequence[tuple[str, Mapping[str, Any]]],
    series: Mapping[str, Callable[[Mapping[str, Any]], float]],
) -> list[dict[str, float | str]]:
    return [
        {"group": group, "x": CAUSES[each["cause"]], "y": value(each), "series": label}
        for label, value in series.items()
        for group, each in found
    ]
