"""JSON of `tcpsf compare`. `compared` has the text."""

from __future__ import annotations

from typing import Any

from tcpsf.compared import Comparison
from tcpsf.measurements import Measurement

SCHEMA = "tcpsf.compare/1"


def as_json(found: Comparison) -> dict[str, Any]:
    """Return plain data as ``report/schema/compare.json`` describes it."""
    return {
        "schema": SCHEMA,
        "version": found.version,
        "senders": list(found.senders),
        "workloads": list(found.workloads),
        "seeds": list(found.seeds),
        "paired": found.paired,
        "tests": found.tests,
        "entries": [_entry(entry) for entry in found.entries],
        "scenario": found.scenario.to_dict(),
    }


def _entry(entry: Measurement) -> dict[str, Any]:
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
