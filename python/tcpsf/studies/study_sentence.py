"""A sentence on the results of a study: the range of values, or the significant differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tcpsf import text
from tcpsf.stats import Estimate
from tcpsf.studies.definition import Study

Row = Mapping[str, Any]


def sentence(study: Study, rows: Sequence[Row]) -> str:
    """Sum up the rows of one measure and subject, in one or two sentences."""
    whole = [row for row in rows if row["class"] is None and row["variant"] is None] or rows
    if study.compare is None:
        known = [row for row in whole if row["value"] is not None]
        if not known:
            return "No point has enough flows for a value."
        low, high = (pick(known, key=lambda row: row["value"]) for pick in (min, max))
        return (
            f"The value ranges from {_number(low)} ({_place(study, low)}) to {_number(high)} "
            f"({_place(study, high)})."
        )
    compared = [row for row in whole if row["percent_value"] is not None]
    if not compared:
        return "No difference can be computed."
    lower = [row for row in compared if row["significant"] and row["percent_value"] < 0]
    higher = [row for row in compared if row["significant"] and row["percent_value"] > 0]
    unclear = len(compared) - len(lower) - len(higher)
    least, most = (pick(compared, key=lambda row: row["percent_value"]) for pick in (min, max))
    return (
        f"Significantly lower than the baseline: {len(lower)} of "
        f"{text.count(len(compared), 'comparison')}; higher: {len(higher)}; not significant: "
        f"{unclear}. The change ranges from "
        f"{text.plain(least['percent_value'], 1)} % ({_place(study, least)}) to "
        f"{text.plain(most['percent_value'], 1)} % ({_place(study, most)})."
    )


def _number(row: Row) -> str:
    shown_value = text.significant(Estimate(row["value"], None, row["runs"]))
    return f"{shown_value} {row['unit']}".rstrip()


def _place(study: Study, row: Row) -> str:
    places = [f"{axis.column} = {shown(row[axis.column])}" for axis in study.axis]
    if row["class"] is not None:
        places.append(f"class {row['class']}")
    return ", ".join(places)


def shown(value: Any) -> str:
    """Return the text of an axis's value or of a size class; ``None`` is the whole workload."""
    if value is None:
        return "all"
    return text.short(value) if isinstance(value, int | float) else str(value)
