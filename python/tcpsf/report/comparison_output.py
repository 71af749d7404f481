"""Output of `tcpsf compare`: tables for the terminal, and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from string import ascii_uppercase
from typing import Any

from tcpsf import text
from tcpsf.comparison import BEYOND, SIGNIFICANT, Comparison, ComparisonEntry
from tcpsf.paired import Difference
from tcpsf.stats import Estimate

SCHEMA = "tcpsf.compare/1"

BUSY = 0.5
"""Utilisation from which a link without drops has a table."""

BY_CLASS = ("mean_s", "p99_s")
"""Measures of the table by size class; `--json` and `--out` have all of them."""


def as_json(found: Comparison) -> dict[str, Any]:
    """Return plain data as ``report/schema/compare.json`` describes it."""
    return {
        "schema": SCHEMA,
        "version": found.version,
        "senders": list(found.senders),
        "workloads": list(found.workloads),
        "seeds": list(found.seeds),
        "paired": found.paired,
        "tests": _tests(found),
        "entries": [_entry(entry) for entry in found.entries],
        "scenario": found.scenario.to_dict(),
    }


def _tests(found: Comparison) -> int:
    """Return the number of comparisons for which p-values are adjusted."""
    return sum(p_value is not None for entry in found.entries for p_value in entry.adjusted)


def _entry(entry: ComparisonEntry) -> dict[str, Any]:
    return {
        "kind": entry.kind,
        "name": entry.name,
        "class": entry.size_class,
        "size_bytes": entry.size_bytes,
        "measure": entry.measure.key,
        "unit": entry.measure.unit,
        "values": [value and value.to_dict() for value in entry.values],
        "differences": [
            difference
            and {
                "absolute": difference.absolute.to_dict(),
                "percent": difference.percent and difference.percent.to_dict(),
                "p_value": entry.p_values[at],
                "adjusted_p_value": entry.adjusted[at],
                "significant": entry.is_significant(at),
            }
            for at, difference in enumerate(entry.differences)
        ],
    }


def as_text(found: Comparison) -> str:
    """Lay out the comparison as text: a summary, and tables for each sender after the first."""
    parts = [_title(found)]
    for sender in range(1, len(found.senders)):
        parts += [_summary(found, sender), *_tables(found, sender)]
    parts.append("\n".join(_legend(found)))
    return "\n\n".join(parts)


def _title(found: Comparison) -> str:
    pairs = len(found.seeds)
    named = (
        f"seed {found.seeds[0]}" if pairs == 1 else f"seeds {found.seeds[0]} to {found.seeds[-1]}"
    )
    runs = "1 run" if pairs == 1 else text.count(pairs, "paired run")
    lines = [f"{found.scenario.name}: {runs} of {found.scenario.duration} per sender, {named}"]
    lines += [f"  {ascii_uppercase[at]}  {sender}" for at, sender in enumerate(found.senders)]
    names = [workload.name for workload in found.scenario.workload]
    if list(found.workloads) != names:
        lines.append(f"The sender changes in: {', '.join(found.workloads)}.")
    if not found.paired:
        lines.append("The senders have different numbers of flows, so the runs are not pairs.")
    return "\n".join(lines)


def _summary(found: Comparison, sender: int) -> str:
    """Sentences on the mean completion time or goodput of each workload."""
    lines = [f"{_letter(sender)} compared with A"]
    lines += [
        f"  {_sentence(entry, sender)}"
        for entry in found.entries
        if entry.size_class is None and entry.measure.key in ("mean_s", "goodput_mbps")
    ]
    return "\n".join(lines)


def _sentence(entry: ComparisonEntry, sender: int) -> str:
    what = "mean completion time" if entry.kind == "flows" else "goodput"
    difference = entry.differences[sender]
    if difference is None or difference.percent is None:
        return f"`{entry.name}`: no {what} to compare"
    if difference.percent.value == 0 and not difference.percent.random:
        return f"`{entry.name}`: equal {what}"
    verb = "lower" if difference.percent.value < 0 else "higher"
    change = _without_sign(difference.percent)
    adjusted = entry.adjusted[sender]
    if adjusted is None:
        certainty = "one run shows no uncertainty"
    elif entry.is_significant(sender):
        certainty = f"significant, adjusted p {_p_text(adjusted)}"
    else:
        certainty = f"not significant, adjusted p {_p_text(adjusted)}"
    return f"`{entry.name}`: {what} {change} % {verb} ({certainty})"


def _without_sign(found: Estimate) -> str:
    return text.estimate(found.scaled(-1.0) if found.value < 0 else found, 1)


def _p_text(p_value: float) -> str:
    return "< 0.001" if p_value < 0.001 else f"= {p_value:.3f}"


def _tables(found: Comparison, sender: int) -> Iterator[str]:
    idle = []
    for (kind, name), entries in groupby(found.entries, key=lambda each: (each.kind, each.name)):
        listed = list(entries)
        if kind == "link" and not any(map(_is_busy, listed)):
            idle.append(f"`{name}`")
            continue
        title = {"flows": "Flows of", "endless": "Endless flows of", "link": "Link"}[kind]
        whole = [each for each in listed if each.size_class is None and _is_shown(each)]
        if whole:
            yield f"{title} `{name}`\n\n{_whole(whole, sender)}"
        by_class = [each for each in listed if each.size_class is not None]
        if by_class:
            yield f"Completion time of `{name}` by size class\n\n{_by_class(by_class, sender)}"
    if idle:
        yield f"Links without drops and used less than {100 * BUSY:g} %: {', '.join(idle)}"


def _is_busy(entry: ComparisonEntry) -> bool:
    """Whether a link drops or loses packets, or is used for at least `BUSY` of the time."""
    least = {"utilisation": BUSY, "dropped_share": 0.0, "lost_share": 0.0}.get(entry.measure.key)
    values = [value.value for value in entry.values if value is not None]
    return least is not None and any(value >= least and value > 0 for value in values)


def _is_shown(entry: ComparisonEntry) -> bool:
    """Whether any sender has a value other than 0."""
    return any(value is not None and value.value != 0 for value in entry.values)


def _whole(entries: Sequence[ComparisonEntry], sender: int) -> str:
    heads = ["", "A", _letter(sender), f"{_letter(sender)} − A", "change, %", ""]
    rows = [
        [
            text.titled(entry.measure.title, entry.measure.unit),
            _value(entry, 0),
            _value(entry, sender),
            _absolute(entry, sender),
            _percent(entry.differences[sender]),
            _mark(entry, sender),
        ]
        for entry in entries
    ]
    return text.table([heads, *rows], left=[0, 5])


def _by_class(entries: Sequence[ComparisonEntry], sender: int) -> str:
    letter = _letter(sender)
    heads = ["class", "bytes"]
    for title in ("mean", "p99"):
        heads += [f"{title} A, s", f"{title} {letter}, s", "change, %", ""]
    rows = []
    for size_class, group in groupby(entries, key=lambda entry: entry.size_class):
        listed = {entry.measure.key: entry for entry in group}
        row = [str(size_class), text.number(listed[BY_CLASS[0]].size_bytes, 0)]
        for key in BY_CLASS:
            entry = listed[key]
            row += [
                _plain_value(entry, 0),
                _plain_value(entry, sender),
                _percent(entry.differences[sender]),
                _mark(entry, sender),
            ]
        rows.append(row)
    return text.table([heads, *rows], left=[5, 9])


def _letter(sender: int) -> str:
    return ascii_uppercase[sender]


def _digits(entry: ComparisonEntry) -> int:
    """Decimals of a measure's values: three significant digits of the largest one."""
    largest = max((abs(value.value) for value in entry.values if value), default=0.0)
    return 0 if largest >= 100 else 1 if largest >= 10 else 2 if largest >= 1 else 3


def _value(entry: ComparisonEntry, sender: int) -> str:
    value = entry.values[sender]
    return text.NOTHING if value is None else text.compact(value, _digits(entry))


def _plain_value(entry: ComparisonEntry, sender: int) -> str:
    value = entry.values[sender]
    return text.seconds(value.value if value else None)


def _absolute(entry: ComparisonEntry, sender: int) -> str:
    difference = entry.differences[sender]
    return text.estimate(difference.absolute if difference else None, _digits(entry))


def _percent(difference: Difference | None) -> str:
    return text.estimate(difference.percent if difference else None, 1)


def _mark(entry: ComparisonEntry, sender: int) -> str:
    return "*" if entry.is_significant(sender) else ""


def _legend(found: Comparison) -> Iterator[str]:
    """Yield explanations of the columns."""
    if len(found.seeds) > 1:
        yield "± and [low,high]: 95 % interval over runs, for differences over pairs of runs."
        yield (
            f"*: significant. p-values are adjusted for {_tests(found)} comparisons (Holm); adjusted "
            f"p below {SIGNIFICANT:g}."
        )
    yield "mean, median, p95 to p99.9: completion time of finished flows. Others: numbers per flow."
    yield f"A percentile is shown if at least {BEYOND} flows took longer. –: too few flows, or none."
