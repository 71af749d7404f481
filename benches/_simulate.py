"""Simulate the scenario on standard input and discard its rows; the benchmarks time this process.

``python _simulate.py`` prints nothing. With an argument it prints a JSON object:

* ``links``: the totals of the bottleneck, of events, CPU time and memory;
* ``steady S``: these totals after S simulated seconds, and those before;
* ``open``: as ``links``, with the maximum number of simultaneously open flows and the number of
  started flows;
* ``completion``: as ``links``, with the mean time in seconds from the start of a flow to the arrival
  of its last byte, by class of flow sizes.

Peak memory is the kernel's count for this process, before any module for tables is imported. Without
an argument only the simulator is imported. The counts import further modules when they need them.
"""

# ruff: noqa: T201 (this program prints its counts)

from __future__ import annotations

import sys
import time

from tcpsf import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Batches of rows are small, so that their memory stays in the allocator. With batches forty times
# as large, the allocator returns the memory to the kernel after each batch and requests it again.
EVENTS_AT_ONCE = 20_000
ROWS_AT_ONCE = 500

# Time step at which open flows are counted, in seconds.
GRID_S = 0.01


def main(arguments: list[str]) -> int:
    """Simulate, and print the requested counts."""
    wanted = arguments[0] if arguments else ""
    simulation = _core.Simulation(sys.stdin.read(), seed=1)
    count = {"open": _Open, "completion": _Completion}.get(wanted, _Nothing)()
    steady_from_s = float(arguments[1]) if wanted == "steady" else float("inf")
    before: dict[str, float] = {}
    while simulation.advance(max_events=EVENTS_AT_ONCE):
        if simulation.now_s >= steady_from_s and not before:
            before = _totals(simulation)
        if simulation.buffered_rows > ROWS_AT_ONCE:
            count.add(simulation.take_flows())
            simulation.take_recoveries()
    if wanted:
        import json

        found = _totals(simulation)
        if before:
            found |= {key: value - before[key] for key, value in found.items() if key != "peak_mb"}
            found |= {f"{key}_before": value for key, value in before.items()}
        count.add(simulation.take_flows())
        print(json.dumps(found | count.found()))
    return 0


def _totals(simulation: _core.Simulation) -> dict[str, float]:
    """Totals of the bottleneck, the engine and the kernel since the start of the process."""
    cpu_s, peak_mb = time.process_time(), _peak_mb()  # before the import, which is not simulation
    import polars as pl

    row = pl.DataFrame(simulation.links()).row(
        by_predicate=pl.col("link") == "bottleneck", named=True
    )
    return {
        "cpu_s": cpu_s,
        "peak_mb": peak_mb,
        "events": simulation.events,
        "simulated_s": row["duration_s"],
        "offered_packets": row["offered_packets"],
        "dropped_packets": row["dropped_buffer_packets"],
        "through_packets": row["offered_packets"] - row["dropped_buffer_packets"],
        "busy_s": row["utilisation"] * row["duration_s"],
    }


def _peak_mb() -> float:
    """Peak resident memory in MiB. Unlike ``ru_maxrss``, it excludes the memory of the parent."""
    with open("/proc/self/status", encoding="ascii") as lines:  # noqa: PTH123 (needs no import)
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


class _Nothing:
    """Discards all rows."""

    def add(self, flows: _core.Table) -> None:
        """Process a batch of rows."""

    def found(self) -> dict[str, Any]:
        """Return the result of all rows."""
        return {}


class _Completion(_Nothing):
    """Completion times of the workload ``web`` at the receiver."""

    def __init__(self) -> None:
        self._frames: list[Any] = []

    def add(self, flows: _core.Table) -> None:
        import polars as pl

        web = pl.DataFrame(flows).filter(pl.col("workload").cast(pl.String) == "web")
        self._frames.append(web.select("class", "receiver_s"))

    def found(self) -> dict[str, Any]:
        import polars as pl

        means = (
            pl.concat(self._frames).group_by("class").agg(pl.col("receiver_s").mean()).sort("class")
        )
        return {"completion_s": means["receiver_s"].to_list()}


class _Open(_Nothing):
    """Counts the open flows every ``GRID_S`` seconds, from the rows of the flows.

    A flow is open from its start until all its data is acknowledged.
    """

    def __init__(self) -> None:
        self._changes: dict[int, int] = {}
        self._started = 0

    def add(self, flows: _core.Table) -> None:
        import polars as pl

        # A flow counts from the grid point after its start to the one before its end, so the number
        # is never too large.
        start = (pl.col("start_s") / GRID_S).ceil()
        end = ((pl.col("start_s") + pl.col("sender_s")) / GRID_S).floor() + 1
        frame = pl.DataFrame(flows).select(start=start.cast(pl.Int64), end=end.cast(pl.Int64))
        self._started += frame.height
        for column, change in (("start", 1), ("end", -1)):
            for point, flows_there in frame[column].drop_nulls().value_counts().iter_rows():
                self._changes[point] = self._changes.get(point, 0) + change * flows_there

    def found(self) -> dict[str, Any]:
        now = most = when = 0
        for point in sorted(self._changes):
            now += self._changes[point]
            if now > most:
                most, when = now, point
        return {"most_open": most, "most_open_at_s": when * GRID_S, "started_flows": self._started}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
