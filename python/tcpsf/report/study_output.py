"""Output of `tcpsf sweep`: the state of a study, and its results as text and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tcpsf import text
from tcpsf.intervals import Same, Stated
from tcpsf.measurements import MEASURES, SIGNIFICANT
from tcpsf.stats import Estimate
from tcpsf.studies.definition import Study
from tcpsf.studies.running import confidence_of, rounds, unknown_measure
from tcpsf.studies.study_results import StudyResults
from tcpsf.studies.study_sentence import sentence, shown
from tcpsf.studies.study_state import StudyState

if TYPE_CHECKING:
    import polars as pl

RESULTS = "tcpsf.study/1"
STATE = "tcpsf.study-status/1"

ROWS_AT_ONCE = 1000
"""Number of results that are Python objects at one time."""

Row = dict[str, Any]


def results_json(found: StudyResults, measures: Sequence[str] = ()) -> Iterator[str]:
    """Yield JSON as ``report/schema/study.json`` describes it, a line for each result.

    A large study has more results than fit into memory as Python objects.
    """
    chosen = _chosen(found, measures) if measures else found.frame
    head = {
        "schema": RESULTS,
        "study": found.study.to_dict(),
        "points": found.points,
        "complete": found.complete,
        "confidence": confidence_of(found.study),
        "axes": [axis.column for axis in found.study.axis],
    }
    yield f'{json.dumps(head)[:-1]}, "results": ['
    separator = "\n"
    for row in chosen.iter_rows(named=True, buffer_size=ROWS_AT_ONCE):
        yield separator + json.dumps(_finite(row))
        separator = ",\n"
    yield "\n]}"


def _finite(row: Row) -> Row:
    """Replace infinite ends of intervals, which JSON does not have."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }


def state_json(state: StudyState) -> Row:
    """Return plain data as ``report/schema/study-status.json`` describes it."""
    return {
        "schema": STATE,
        "name": state.study.name,
        "store": state.location,
        "folder": state.folder,
        "points": state.points,
        "complete_points": state.complete,
        "runs": state.stored,
        "missing_runs": state.missing,
        "other_versions": list(state.other_versions),
    }


def state_text(state: StudyState) -> str:
    """Lay out the state of a study."""
    runs = state.study.runs
    extent = f"{text.count(runs.count, 'run')} each"
    if runs.until:
        extent = f"{runs.until.batch} to {runs.until.maximum} runs each, until narrow enough"
    lines = [
        f"{state.study.name}: {text.count(state.points, 'point')}, {extent}",
        "  complete  "
        + (
            "known after `tcpsf sweep run`"
            if state.complete is None
            else text.count(state.complete, "point")
        ),
        f"  stored    {text.count(state.stored, 'run')} in `{state.location}`",
        f"  missing   {text.count(state.missing, 'run')}"
        + (" of the first batches" if runs.until else ""),
    ]
    if state.other_versions:
        lines.append(
            f"  The store also has {text.count(len(state.other_versions), 'other version')} of this "
            "study, whose definition or simulator was different."
        )
    return "\n".join(lines)


def results_text(found: StudyResults, measures: Sequence[str] = ()) -> str:
    """Lay out the results: a table for each measure and subject, and a sentence for each."""
    parts = [_title(found)]
    for (measure, kind, name), rows in _tables(_chosen(found, measures)):
        parts.append(_titled(measure, kind, name))
        parts.append(_table(found.study, rows))
        parts.append(sentence(found.study, rows))
    parts.append("\n".join(_legend(found.study)))
    return "\n\n".join(parts)


def _chosen(found: StudyResults, measures: Sequence[str]) -> pl.DataFrame:
    """Return the rows of some measures: those named, or the study's main one."""
    import polars as pl

    there = found.frame["measure"].unique().to_list()
    for measure in measures:
        if measure not in there:
            raise unknown_measure(f"`--measure {measure}`", measure)
    wanted = list(measures) or [main_measure(found.study, there)]
    rows = found.frame.filter(pl.col("measure").is_in(wanted))
    order = pl.Enum(wanted)
    return rows.sort(pl.col("measure").cast(order), maintain_order=True)


def main_measure(study: Study, there: Sequence[str]) -> str:
    """Return the measure that a study is about: of its stopping rule, its plots, or the mean."""
    named = [
        *([study.runs.until.measure] if study.runs.until else []),
        *(plot.measure for plot in study.plot),
        *study.keep.measures,
        *(measure.key for measure in MEASURES),
    ]
    return next((measure for measure in named if measure in there), named[0])


def _tables(frame: pl.DataFrame) -> Iterator[tuple[tuple[str, str, str], list[Row]]]:
    for (measure, kind, name), rows in frame.group_by(
        "measure", "kind", "name", maintain_order=True
    ):
        yield (str(measure), str(kind), str(name)), rows.to_dicts()


def _title(found: StudyResults) -> str:
    study = found.study
    done = "" if found.is_complete else f"{found.complete} complete of "
    head = f"{study.name}: {done}{text.count(found.points, 'point')} of {study.scenario.name}"
    return f"{study.title}\n{head}" if study.title else head


def _titled(measure: str, kind: str, name: str) -> str:
    of = {each.key: each for each in MEASURES}[measure]
    what = f"{of.title} completion time" if measure.endswith("_s") and kind == "flows" else of.title
    return text.titled(f"`{name}`: {what}", of.unit)


def _table(study: Study, rows: Sequence[Row]) -> str:
    axes = [axis.column for axis in study.axis]
    groups = [key for key in ("class", "variant") if any(row[key] is not None for row in rows)]
    values = [_estimate(row, "") for row in rows]
    columns = [
        *([axis, *(shown(row[axis]) for row in rows)] for axis in axes),
        *([key, *(shown(row[key]) for row in rows)] for key in groups),
        ["runs", *(str(row["runs"]) for row in rows)],
        ["value", *text.column(values)],
    ]
    if study.compare is not None:
        percents = [_estimate(row, "percent_") for row in rows]
        columns.append(["change, %", *(text.estimate(each, 1) for each in percents)])
        columns.append(["", *("*" if row["significant"] else "" for row in rows)])
    left = [at for at, axis in enumerate(axes) if isinstance(rows[0][axis], str)]
    table = [list(row) for row in zip(*columns, strict=True)]
    return text.table(table, left=[*left, *([len(columns) - 1] if study.compare else [])])


def _estimate(row: Row, prefix: str) -> Estimate | None:
    value, low, high = (row[f"{prefix}{name}"] for name in ("value", "low", "high"))
    if value is None:
        return None
    spread = Stated(low, high) if low is not None else Same() if row["runs"] > 1 else None
    return Estimate(value, spread, row["runs"])


def _legend(study: Study) -> Iterator[str]:
    """Yield explanations of the columns."""
    confidence = text.short(100.0 * confidence_of(study))
    yield f"± and [low,high]: {confidence} % interval over runs."
    if study.runs.until is not None:
        yield (
            f"The number of runs follows from a stopping rule with up to "
            f"{len(rounds(study.runs.until))} looks. All looks together have 95 %."
        )
    if study.compare is not None:
        yield (
            f"change: from the first point of the axis `{study.compare.axis}`, by pairs of runs. *: "
            f"adjusted p below {SIGNIFICANT:g} (Holm, over all rows of the study)."
        )
    yield "–: too few flows, or none."
