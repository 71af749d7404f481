"""Store of finished runs on disk, so that an interrupted evaluation can resume.

The key of a run covers everything that its result depends on: the scenario, the random seed, the
stored quantities, and the simulator. A file that is truncated, altered, or stored under another
key is treated as missing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tcpsf import _core
from tcpsf.distribution import Distribution
from tcpsf.finished import build, digest, write
from tcpsf.result import Batch, Provenance
from tcpsf.runs import Fold
from tcpsf.scenario import Scenario
from tcpsf.summary import SUMS, Group, RunSummary, SummaryFold, Totals

if TYPE_CHECKING:
    import polars as pl

FORMAT = "tcpsf.run/3"
"""Format of a stored file; the number increases when `SummaryFold` changes its sums."""


class Store:
    """A folder of finished runs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def load(self, key: str, *, scenario: Scenario, seed: int) -> RunSummary | None:
        """Return the run of ``scenario`` with ``seed``, or ``None`` if it is missing or damaged."""
        try:
            content = json.loads((self._folder / f"{key}.json").read_bytes())
            if content["key"] != key or content["check"] != digest(content["run"]):
                return None
            groups = dict(_group(entry) for entry in content["run"]["groups"])
            links, watched = content["run"]["links"], content["run"]["watched"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        provenance = Provenance(version=_core.version, seed=seed, scenario=scenario)
        return RunSummary(provenance=provenance, groups=groups, links=links, watched=watched)

    def save(self, key: str, summary: RunSummary) -> None:
        """Store the summary of a run under its key."""
        run = {
            "groups": [_entry(group, totals) for group, totals in summary.groups.items()],
            "links": summary.links,
            "watched": dict(summary.watched),
        }
        content = {"key": key, "check": digest(run), "run": run}
        write(self._folder / f"{key}.json", json.dumps(content).encode())


class Watch(Protocol):
    """Data stored of a run in addition to its sums; a watch can be compared and hashed."""

    @property
    def name(self) -> str:
        """Key of the data in `RunSummary.watched`."""

    @property
    def version(self) -> str:
        """Return a text that identifies what the data depend on, apart from the run."""

    def fold(self) -> Fold[Any]:
        """Return the fold of a new run; its result is plain data for JSON."""


class StoringFold:
    """A fold that sums up a run and stores the result."""

    def __init__(
        self,
        store: Store | None,
        key: str,
        *,
        histogram: bool,
        watches: Sequence[Watch] = (),
        classes: bool = True,
    ) -> None:
        self._inner = SummaryFold(percentiles=histogram, classes=classes)
        self._watches = {watch.name: watch.fold() for watch in watches}
        self._store = store
        self._key = key

    def add(self, batch: Batch) -> None:
        """Add the rows of a batch to the sums and to the watches."""
        self._inner.add(batch)
        for watch in self._watches.values():
            watch.add(batch)

    def finish(self, *, links: pl.DataFrame, provenance: Provenance) -> RunSummary:
        """Finish the sums of a run, store them, and return them."""
        watched = {
            name: watch.finish(links=links, provenance=provenance)
            for name, watch in self._watches.items()
        }
        summary = replace(self._inner.finish(links=links, provenance=provenance), watched=watched)
        if self._store is not None:
            self._store.save(self._key, summary)
        return summary


def key_of(
    scenario: Scenario,
    seed: int,
    *,
    histogram: bool,
    watches: Sequence[Watch] = (),
    classes: bool = True,
) -> str:
    """Return a digest of everything that a run's sums depend on."""
    return digest(
        {
            "format": FORMAT,
            "simulator": [_core.version, build()],
            "scenario": scenario.to_dict(),
            "seed": seed,
            "histogram": histogram,
            "watches": [[watch.name, watch.version] for watch in watches],
            **({} if classes else {"classes": False}),
        }
    )


def _entry(group: Group, totals: Totals) -> dict[str, Any]:
    return {
        "group": list(group),
        "sums": [getattr(totals, name) for name in SUMS],
        "times": totals.times.to_dict(),
    }


def _group(entry: dict[str, Any]) -> tuple[Group, Totals]:
    sums = dict(zip(SUMS, entry["sums"], strict=True))
    return Group(*entry["group"]), Totals(**sums, times=Distribution.from_dict(entry["times"]))
