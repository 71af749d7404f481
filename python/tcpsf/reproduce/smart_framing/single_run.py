"""Deterministic cases, which run once, and the rows of their flows."""

from __future__ import annotations

from collections.abc import Sequence

from tcpsf.evaluation.plan import Case
from tcpsf.evaluation.watch import Rows
from tcpsf.reproduce.smart_framing.exhibit_parts import Setting
from tcpsf.scenario import Scenario
from tcpsf.summary import RunSummary

TIMES = Rows(table="flows", columns=("class", "receiver_s", "rto_s", "segments"))


def exact_rows(runs: Sequence[RunSummary], column: str) -> list[float]:
    """Return a column of the flows table of the single run, in the order of the flows."""
    (one,) = runs
    return [row[column] for row in sorted(TIMES.of(one), key=lambda row: row["class"])]


def once(setting: Setting, scenario: Scenario) -> Case:
    """Return a deterministic case that keeps the rows of its flows."""
    case = setting.case(scenario, once=True)
    return Case(scenario=case.scenario, watches=(TIMES,), once=True)
