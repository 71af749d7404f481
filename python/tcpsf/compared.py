"""Results of a comparison of senders: values and differences, as text, HTML and data frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from string import ascii_uppercase
from typing import TYPE_CHECKING

from tcpsf import markup, text
from tcpsf.measurements import BEYOND, SIGNIFICANT, Measurement
from tcpsf.paired import Difference
from tcpsf.python_models import PythonModels
from tcpsf.scenario import Scenario
from tcpsf.stats import Estimate

if TYPE_CHECKING:
    import polars as pl

BUSY = 0.5
"""Utilisation from which a link without drops has a table."""

BY_CLASS = ("mean_s", "p99_s")
"""Measures of the table by size class; `--json` and `--out` have all of them."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison:
    """Result of `compare`: the value of each measure for each sender, with the differences.

    ``str(comparison)`` is the text that `tcpsf compare` prints, and a notebook shows HTML tables.
    """

    scenario: Scenario
    """The scenario before senders were replaced."""
    version: str
    """Version of tcpsf."""
    senders: tuple[str, ...]
    """The senders. The first one is the baseline of all differences."""
    workloads: tuple[str, ...]
    """Workloads whose sender was replaced."""
    seeds: tuple[int, ...]
    """Random seeds, each for one run with each sender."""
    entries: tuple[Measurement, ...]
    """The measures of workloads, size classes and links."""
    models: PythonModels = field(default_factory=PythonModels)
    """Python models of all runs, without the controllers among ``senders``."""
    paired: bool
    """Whether the senders have equal numbers of flows in every run, as equal arrivals cause."""

    def to_frame(self) -> pl.DataFrame:
        """Return one row per entry and sender, as `Measurement.to_rows` describes them."""
        import polars as pl

        rows = [row for entry in self.entries for row in entry.to_rows(self.senders)]
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def tests(self) -> int:
        """Number of comparisons for which p-values are adjusted."""
        return sum(p_value is not None for entry in self.entries for p_value in entry.adjusted)

    def __repr__(self) -> str:
        senders = text.count(len(self.senders), "sender")
        seeds = text.count(len(self.seeds), "seed")
        return f"<Comparison of {senders} in {self.scenario.name!r}: {seeds}>"

    def __str__(self) -> str:
        return "\n\n".join([_title(self), *map(str, _parts(self)), "\n".join(_legend(self))])

    def _repr_html_(self) -> str:
        parts = (
            f"<p>{markup.paragraph(part)}</p>"
            if isinstance(part, str)
            else markup.table(part.rows, caption=part.title, left=part.left)
            for part in _parts(self)
        )
        legend = markup.paragraph("\n".join(_legend(self)))
        return (
            f"<div><p>{markup.paragraph(_title(self))}</p>{''.join(parts)}"
            f"<p><small>{legend}</small></p></div>"
        )


def _parts(found: Comparison) -> Iterator[str | text.TitledTable]:
    """Yield a summary and tables for each sender after the first."""
    for sender in range(1, len(found.senders)):
        yield _summary(found, sender)
        yield from _tables(found, sender)


def _title(found: Comparison) -> str:
    pairs = len(found.seeds)
    named = text.seeds(found.seeds)
    runs = "1 run" if pairs == 1 else text.count(pairs, "paired run")
    lines = [f"{found.scenario.name}: {runs} of {found.scenario.duration} per sender, {named}"]
    lines += [f"  {ascii_uppercase[at]}  {sender}" for at, sender in enumerate(found.senders)]
    names = [workload.name for workload in found.scenario.workload]
    if list(found.workloads) != names:
        lines.append(f"The sender changes in: {', '.join(found.workloads)}.")
    if found.models:
        lines.append(f"Python models: {found.models}")
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


def _sentence(entry: Measurement, sender: int) -> str:
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


def _tables(found: Comparison, sender: int) -> Iterator[str | text.TitledTable]:
    idle = []
    for (kind, name), entries in groupby(found.entries, key=lambda each: (each.kind, each.name)):
        listed = list(entries)
        if kind == "link" and not any(map(_is_busy, listed)):
            idle.append(f"`{name}`")
            continue
        title = {"flows": "Flows of", "endless": "Endless flows of", "link": "Link"}[kind]
        whole = [each for each in listed if each.size_class is None and _is_shown(each)]
        if whole:
            yield text.TitledTable(f"{title} `{name}`", _whole(whole, sender), (0, 5))
        by_class = [each for each in listed if each.size_class is not None]
        if by_class:
            title = f"Completion time of `{name}` by size class"
            yield text.TitledTable(title, _by_class(by_class, sender), (5, 9))
    if idle:
        yield f"Links without drops and used less than {100 * BUSY:g} %: {', '.join(idle)}"


def _is_busy(entry: Measurement) -> bool:
    """Whether a link drops or loses packets, or is used for at least `BUSY` of the time."""
    least = {"utilisation": BUSY, "dropped_share": 0.0, "lost_share": 0.0}.get(entry.measure.key)
    values = [value.value for value in entry.values if value is not None]
    return least is not None and any(value >= least and value > 0 for value in values)


def _is_shown(entry: Measurement) -> bool:
    """Whether any sender has a value other than 0."""
    return any(value is not None and value.value != 0 for value in entry.values)


def _whole(entries: Sequence[Measurement], sender: int) -> list[list[str]]:
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
    return [heads, *rows]


def _by_class(entries: Sequence[Measurement], sender: int) -> list[list[str]]:
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
    return [heads, *rows]


def _letter(sender: int) -> str:
    return ascii_uppercase[sender]


def _digits(entry: Measurement) -> int:
    """Decimals of a measure's values: three significant digits of the largest one."""
    largest = max((abs(value.value) for value in entry.values if value), default=0.0)
    return 0 if largest >= 100 else 1 if largest >= 10 else 2 if largest >= 1 else 3


def _value(entry: Measurement, sender: int) -> str:
    value = entry.values[sender]
    return text.NOTHING if value is None else text.compact(value, _digits(entry))


def _plain_value(entry: Measurement, sender: int) -> str:
    value = entry.values[sender]
    return text.seconds(value.value if value else None)


def _absolute(entry: Measurement, sender: int) -> str:
    difference = entry.differences[sender]
    return text.estimate(difference.absolute if difference else None, _digits(entry))


def _percent(difference: Difference | None) -> str:
    return text.estimate(difference.percent if difference else None, 1)


def _mark(entry: Measurement, sender: int) -> str:
    return "*" if entry.is_significant(sender) else ""


def _legend(found: Comparison) -> Iterator[str]:
    """Yield explanations of the columns."""
    if len(found.seeds) > 1:
        yield "± and [low,high]: 95 % interval over runs, for differences over pairs of runs."
        yield (
            f"*: significant. p-values are adjusted for {found.tests} comparisons (Holm); adjusted "
            f"p below {SIGNIFICANT:g}."
        )
    yield "mean, median, p95 to p99.9: completion time of finished flows. Others: numbers per flow."
    yield f"A percentile is shown if at least {BEYOND} flows took longer. –: too few flows, or none."
