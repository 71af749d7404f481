"""Selection of the flow whose packets a report draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tcpsf.errors import TcpsfError

if TYPE_CHECKING:
    import polars as pl

SHORT = 60
"""Maximum number of segments of a flow that a diagram shows completely."""


class FlowChoice:
    """Selects one flow among the rows of a run's table ``flows``, in constant memory.

    Without a number, it is the first flow whose loss was repaired by a timeout, else by a fast
    retransmit, else the first flow. Complete flows of at most `SHORT` segments go before others.
    """

    def __init__(self, wanted: int | None = None) -> None:
        self._wanted = wanted
        self._best: tuple[int, int] | None = None
        self._row: Mapping[str, Any] | None = None
        self._ends: tuple[int, int] | None = None

    def add(self, flows: pl.DataFrame) -> None:
        """Consider the rows of a batch."""
        import polars as pl

        if not flows.height:
            return
        short = (pl.col("segments") <= SHORT) & pl.col("sender_s").is_not_null()
        timed, fast = pl.col("timeouts") > 0, pl.col("fast_retransmits") > 0
        rank = (
            pl.when(short & timed)
            .then(0)
            .when(short & fast)
            .then(1)
            .when(timed)
            .then(2)
            .when(fast)
            .then(3)
            .otherwise(4)
        )
        numbers = flows["flow"].to_list()
        if self._wanted in numbers:
            rank = pl.when(pl.col("flow") == self._wanted).then(-1).otherwise(0)
        least, most = self._ends or (numbers[0], numbers[0])
        self._ends = min(least, *numbers), max(most, *numbers)
        row = flows.with_columns(rank=rank).sort("rank", "flow").row(0, named=True)
        place = row.pop("rank"), row["flow"]
        if self._best is None or place < self._best:
            self._best, self._row = place, row

    def row(self) -> Mapping[str, Any] | None:
        """Return the row of the selected flow; ``None`` if the run has no flow.

        Raises `TcpsfError` if the wanted flow does not exist.
        """
        if self._wanted is None:
            return self._row
        if self._row is None or self._row["flow"] != self._wanted:
            known = (
                "the run has no flow"
                if self._ends is None
                else "flows of the table `flows` have numbers from {} to {}".format(*self._ends)
            )
            raise TcpsfError(
                f"cannot draw flow {self._wanted}: the run has no such flow", hint=known
            )
        return self._row
