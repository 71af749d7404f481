"""The stored form of a run: a Parquet file with the sums of its flows and the rows of its links.

All files have the same columns, so that a folder of them is one dataset for Polars, DuckDB and
pandas. ``point`` and ``seed`` identify the run. ``kind`` tells the rows apart:

- ``flows``: sums over the flows of a ``workload``, ``variant`` and ``class`` (`tcpsf.summary`).
  ``times_ns`` has their completion times in ascending order. If there are many, ``bins`` and
  ``bin_flows`` have a histogram of them instead (`tcpsf.distribution`).
- ``link``: a row of the ``links`` table.
- ``watched``: other data of the run, as JSON text in ``data``, by ``name``.

The footer of the file has a digest of the content.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
from array import array
from functools import cache
from typing import TYPE_CHECKING, Any

from tcpsf import _core
from tcpsf.distribution import MANY, Distribution
from tcpsf.finished import digest
from tcpsf.result import Provenance
from tcpsf.scenario import Scenario
from tcpsf.summary import SUMS, Group, RunSummary, Totals

if TYPE_CHECKING:
    import polars as pl

FORMAT = "tcpsf.run/4"
"""Format of a stored run; the number increases when the columns or their meaning change."""

_DIGEST = "tcpsf.digest"

_LINK_FLOATS = ("duration_s", "utilisation", "mean_queue_packets", "mean_queue_bytes")
_LINK_COUNTS = (
    *(
        f"{what}_{unit}"
        for what in (
            "offered",
            "delivered",
            "dropped_buffer",
            "dropped_early",
            "dropped_loss",
            "held",
            "marked",
            "max_queue",
        )
        for unit in ("packets", "bytes")
    ),
    *(f"{what}_cells" for what in ("offered", "delivered", "dropped", "held", "wasted")),
)

Row = dict[str, Any]


@cache
def schema() -> pl.Schema:
    """Return the columns of a stored run."""
    import polars as pl

    return pl.Schema(
        {
            "point": pl.String(),
            "seed": pl.UInt64(),
            "kind": pl.String(),
            "workload": pl.String(),
            "variant": pl.String(),
            "class": pl.UInt32(),
            **dict.fromkeys(SUMS, pl.Int64()),
            "times_ns": pl.List(pl.Int64()),
            "bins": pl.List(pl.Int32()),
            "bin_flows": pl.List(pl.Int64()),
            "link": pl.String(),
            **dict.fromkeys(_LINK_FLOATS, pl.Float64()),
            **dict.fromkeys(_LINK_COUNTS, pl.UInt64()),
            "name": pl.String(),
            "data": pl.String(),
        }
    )


def to_parquet(summary: RunSummary, *, point: str, seed: int) -> bytes:
    """Return the file of a run. The same run gives the same bytes."""
    import polars as pl

    rows = [
        *(_flows_row(group, totals) for group, totals in summary.groups.items()),
        *({"kind": "link", **link} for link in summary.links),
        *(
            {"kind": "watched", "name": name, "data": json.dumps(data)}
            for name, data in summary.watched.items()
        ),
    ]
    # Column by column, and the times without an object for each: half the time of
    # `DataFrame(rows)` for a short run.
    named = [{"point": point, "seed": seed, **row} for row in rows]
    frame = pl.DataFrame(
        [_column(name, dtype, [row.get(name) for row in named]) for name, dtype in schema().items()]
    )
    content = io.BytesIO()
    frame.write_parquet(
        content, statistics=False, metadata={_DIGEST: _digest(rows, point=point, seed=seed)}
    )
    return content.getvalue()


def _column(name: str, dtype: pl.DataType, values: list[Any]) -> pl.Series:
    import polars as pl

    if any(isinstance(value, array) and len(value) >= MANY for value in values):
        import numpy as np

        return pl.Series(
            name, [None if value is None else pl.Series(np.asarray(value)) for value in values]
        )
    plain = [list(value) if isinstance(value, array) else value for value in values]
    return pl.Series(name, plain, dtype=dtype)


def from_parquet(content: bytes, *, scenario: Scenario, point: str, seed: int) -> RunSummary | None:
    """Return the run that a file has; ``None`` if the file is damaged or is of another run."""
    import polars as pl

    try:
        stored = pl.read_parquet_metadata(io.BytesIO(content)).get(_DIGEST)
        frame = pl.read_parquet(io.BytesIO(content))
        if frame.schema != schema():
            return None
        rows = [_without_absent(row) for row in frame.drop("point", "seed").iter_rows(named=True)]
        if stored != _digest(rows, point=point, seed=seed):
            return None
    except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    return RunSummary(
        provenance=Provenance(version=_core.version, seed=seed, scenario=scenario),
        groups=dict(_group(row) for row in rows if row["kind"] == "flows"),
        links=[_link(row) for row in rows if row["kind"] == "link"],
        watched={row["name"]: json.loads(row["data"]) for row in rows if row["kind"] == "watched"},
    )


def _digest(rows: list[Row], *, point: str, seed: int) -> str:
    return digest({"point": point, "seed": seed, "rows": [_hashed(row) for row in rows]})


def _hashed(row: Row) -> Row:
    """Return a row with a digest of its times, because JSON of many numbers takes long."""
    plain = _without_absent(row)
    if "times_ns" in plain:
        times = plain["times_ns"]
        if not isinstance(times, array) or sys.byteorder == "big":
            times = array("q", times)
        if sys.byteorder == "big":
            times.byteswap()
        plain["times_ns"] = hashlib.sha256(times.tobytes()).hexdigest()
    return plain


def _without_absent(row: Row) -> Row:
    return {name: value for name, value in row.items() if value is not None}


def _flows_row(group: Group, totals: Totals) -> Row:
    bins = sorted(totals.times.stored_bins().items())
    return {
        "kind": "flows",
        "workload": group.workload,
        "variant": group.variant,
        "class": group.size_class,
        **{name: getattr(totals, name) for name in SUMS},
        "times_ns": totals.times.ordered(),
        "bins": [position for position, _ in bins],
        "bin_flows": [count for _, count in bins],
    }


def _group(row: Row) -> tuple[Group, Totals]:
    bins = list(zip(row["bins"], row["bin_flows"], strict=True))
    times = Distribution.from_dict({"values": row["times_ns"], "bins": bins})
    sums = {name: row[name] for name in SUMS}
    return Group(row["workload"], row["variant"], row.get("class")), Totals(**sums, times=times)


def _link(row: Row) -> Row:
    # The order of the columns of the `links` table, whose values can be absent.
    return {name: row.get(name) for name in _link_columns()}


@cache
def _link_columns() -> tuple[str, ...]:
    return ("link", *(name for name in schema() if name in {*_LINK_FLOATS, *_LINK_COUNTS}))
