"""Comparison of the simulator with a live measurement."""

from __future__ import annotations

from collections.abc import Sequence

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import OWN, Row, Section, Table, TableCell
from tcpsf.live import estimates
from tcpsf.papers import smart_framing as paper
from tcpsf.reproduce.smart_framing.testbed_read import PathResults, Which

NEAR_PERCENT = 5.0
"""Tolerance in percentage points between the simulated and the live %FR."""
NEAR_TIME = 5.0
"""Tolerance in per cent between the simulated and the live mean completion time."""

SHORT = {variant.key: variant.label.split("-")[0] for variant in paper.VARIANTS}
"""Short labels of the variants: Classic, VS and FS."""


def beside_simulator(which: Which, cells: PathResults) -> Section:
    """Compare the simulator's %FR and completion times with the live ones."""
    rows = []
    shares: dict[str, stats.Estimate | None] = {}
    times: dict[str, stats.Estimate | None] = {}
    for name, cell in cells.items():
        for v in paper.VARIANTS:
            live, simulated = estimates.of(cell.live.answered, v.sender), cell.simulated[v.sender]
            fast = estimates.fast_percent(live), estimates.fast_percent(simulated)
            time = estimates.completion_s(live), estimates.completion_s(simulated)
            where = f"{name}, {SHORT[v.key]}"
            shares[where] = stats.apart(*fast)
            found = stats.quotient(*time)
            times[where] = None if found is None else found.shifted(-1.0).scaled(100.0)
            rows.append(
                Row(
                    label=where,
                    cells=(
                        *(TableCell(ours=each, published=None, unit="%") for each in fast),
                        *(TableCell(ours=_milli(each), published=None, unit="ms") for each in time),
                        TableCell(ours=times[where], published=None, unit="%"),
                    ),
                )
            )
    return Section(
        key=f"{which}-simulator",
        title="Simulator and live kernels",
        tables=(_table(which, rows),),
        findings=(
            judge.finding(
                key=f"{which}-simulated-fast",
                claim=f"The simulator's %FR is within {NEAR_PERCENT:g} percentage points of the live one, everywhere",
                source=OWN,
                published="",
                judged=judge.all_within(shares, -NEAR_PERCENT, NEAR_PERCENT, "percentage points"),
            ),
            judge.finding(
                key=f"{which}-simulated-time",
                claim=f"The simulator's mean completion time is within {NEAR_TIME:g} % of the live one, everywhere",
                source=OWN,
                published="",
                judged=judge.all_within(times, -NEAR_TIME, NEAR_TIME, "%"),
            ),
        ),
    )


def _table(which: Which, rows: Sequence[Row]) -> Table:
    return Table(
        key=f"{which}-simulated",
        title="Simulator and live kernels",
        source=OWN,
        caption=(
            "Simulation with the same sizes, losses, delays and senders. %FR: fast recoveries as a "
            "percentage of recoveries. "
            "Time: the client's mean completion time, all flows; the last column is live to simulated."
        ),
        columns=(
            "path, sender",
            "%FR live",
            "%FR simulated",
            "time live",
            "time simulated",
            "live longer by",
        ),
        rows=tuple(rows),
        notes=DIFFERENCES_TO_SIMULATOR,
    )


DIFFERENCES_TO_SIMULATOR = (
    (
        "The simulator does not include the packet of the request, the wake-up times of processes and of "
        "the emulator, and the server's SYN timer. It acknowledges every segment. Linux does this for at "
        "most the first 16 segments of a connection; later ones may share an acknowledgment."
    ),
)


def _milli(seconds: stats.Estimate | None) -> stats.Estimate | None:
    return None if seconds is None else seconds.scaled(1e3)
