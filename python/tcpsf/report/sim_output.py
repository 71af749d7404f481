"""JSON of `tcpsf sim`: flows by class, endless flows, links. `sim_summary` has the text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tcpsf import stats
from tcpsf.summed import GroupReport, SummedRuns

SCHEMA = "tcpsf.sim/2"


def as_json(
    found: SummedRuns, *, seeds: Sequence[int], links: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield pieces of JSON as ``report/schema/sim.json`` describes it, indented by two spaces.

    ``links`` are the rows of the ``links`` table of all runs, with the random seed. Neither these
    rows nor the seeds need to be in memory at once.
    """
    return members(
        schema=SCHEMA,
        version=found.source.version,
        seeds=iter(seeds),
        flows=iter(map(_group_dict, found.groups())),
        links=iter(links),
        scenario=found.source.scenario.to_dict(),
    )


def members(**values: Any) -> Iterator[str]:
    """Yield a JSON object piece by piece; an iterator among its ``values`` becomes an array."""
    before = "{\n"
    for name, value in values.items():
        yield f"{before}  {json.dumps(name)}: "
        yield from _array(value) if isinstance(value, Iterator) else (_indented(value, "  "),)
        before = ",\n"
    yield "\n}"


def _array(values: Iterator[Any]) -> Iterator[str]:
    before = "[\n    "
    for value in values:
        yield f"{before}{_indented(value, '    ')}"
        before = ",\n    "
    yield "[]" if before.startswith("[") else "\n  ]"


def _indented(value: Any, by: str) -> str:
    return json.dumps(value, indent=2).replace("\n", f"\n{by}")


def _group_dict(each: GroupReport) -> dict[str, Any]:
    return {
        "workload": each.group.workload,
        "variant": each.group.variant,
        "class": each.group.size_class,
        "size_bytes": each.size_bytes,
        "flows": each.flows,
        "completed": each.completed,
        "completion_s": _estimate_dict(each.completion_s),
        "delivery_s": _estimate_dict(each.delivery_s),
        **_quantile_dict("median", each.median_s),
        **_quantile_dict("p95", each.p95_s),
        "fast_percent": _estimate_dict(each.fast_percent),
        "retransmitted_percent": _estimate_dict(each.retransmitted_percent),
        "fast_retransmits": each.fast_retransmits,
        "timeouts": each.timeouts,
        "syn_timeouts": each.syn_timeouts,
        "sent_once_bytes": each.sent_once_bytes,
    }


def _quantile_dict(name: str, found: stats.Estimate | None) -> dict[str, Any]:
    """Return a time in seconds, and its interval as a separate member."""
    if found is None:
        return {f"{name}_s": None, f"{name}_interval_s": None}
    return {f"{name}_s": found.value, f"{name}_interval_s": found.interval}


def _estimate_dict(found: stats.Estimate | None) -> dict[str, Any] | None:
    return None if found is None else found.to_dict()
