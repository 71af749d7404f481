"""Live measurement of Figs. 17 to 20 of the short-flow paper.

The clients are live, the sender is the kernel or the tcpsf host, and the paths are emulated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tcpsf.evaluation.conclusion import conclude
from tcpsf.evaluation.data import Report
from tcpsf.evaluation.live_experiments import Measure, ReportProgress, Started, conditions, measured
from tcpsf.live.experiment import Experiment, Kernel
from tcpsf.papers import short_flows as paper
from tcpsf.reproduce.short_flows.sections import HEADLINE, sections
from tcpsf.reproduce.short_flows.transfer_cells import CELLS, PATHS
from tcpsf.scenario import PacketLoss

if TYPE_CHECKING:
    from tcpsf.live.experiment_result import Live, LiveStore

KERNEL = Kernel(congestion="reno", initial_window=paper.INITIAL_WINDOW)
OURS = f"reno+sack / full / iw={paper.INITIAL_WINDOW}"
RTO_MIN = "200ms"
"""Minimum retransmission timeout of Linux; the paper has a mean timer of 150 ms in Fig. 19."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferScale:
    """Duration of the period in which transfers start on each path."""

    name: Literal["quick", "full"]
    seconds: float


SCALES = {
    "quick": TransferScale(name="quick", seconds=5.0),
    "full": TransferScale(name="full", seconds=30.0),
}
"""Scales; ``quick`` has about as many transfers of each sender as the paper."""

RATE = 80.0
"""Transfers started per second: 5 MB/s, about a hundred concurrent transfers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTransfers:
    """Settings of a live measurement of Figs. 17 to 20."""

    scale: TransferScale
    rate: float
    seed: int
    experiments: tuple[Experiment, ...]
    """One experiment for each of `transfer_cells.CELLS`."""

    @property
    def command(self) -> str:
        """Return the command line that repeats the measurement."""
        rate = "" if self.rate == RATE else f" --per-second {self.rate:g}"
        return f"tcpsf reproduce short-flows live --{self.scale.name} --seed {self.seed}{rate}"


def prepare(
    *, scale: TransferScale | Literal["quick", "full"] = "quick", rate: float = RATE, seed: int = 1
) -> LiveTransfers:
    """Return the settings of the measurement.

    Paths use the seeds ``seed``, ``seed + 1``, … All senders on one path have the same requests at
    the same times.

    >>> [each.name for each in prepare().experiments][:2]
    ['Fig. 17, kernel', 'Fig. 17, tcpsf']
    """
    scale = SCALES[scale] if isinstance(scale, str) else scale
    experiments = tuple(
        Experiment(
            name=cell.name,
            latency_ms=cell.host.rtt_ms - cell.host.rtt_ms // 2,
            latency_up_ms=cell.host.rtt_ms // 2,
            loss=PacketLoss(probability=cell.host.loss),
            loss_up=PacketLoss(probability=cell.host.loss),
            senders=(OURS,) if cell.sender == "ours" else (),
            kernel=KERNEL if cell.sender == "kernel" else None,
            receive_buffer=cell.host.window_kb * paper.KB,
            sizes=paper.SIZES,
            rate=rate,
            duration_s=scale.seconds,
            acks=cell.acks,
            rto_min=RTO_MIN,
            seed=seed + PATHS.index(cell.host),
        )
        for cell in CELLS
    )
    return LiveTransfers(scale=scale, rate=rate, seed=seed, experiments=experiments)


def evaluate(
    wanted: LiveTransfers,
    *,
    measure: Measure,
    store: LiveStore | None = None,
    progress: ReportProgress | None = None,
    found: Callable[[int], None] | None = None,
) -> tuple[Report, Mapping[str, Live]]:
    """Run the experiments that ``store`` does not have and report on all.

    See `live_experiments.measured`.
    """
    started = Started()
    lives = measured(
        wanted.experiments, measure=measure, store=store, progress=progress, found=found
    )
    parts = (*sections({cell: lives[cell.name] for cell in CELLS}), conditions(lives))
    report = Report(
        title="Short TCP transfers, Figs. 17 to 20: measured on live kernels",
        conclusion=conclude(parts, headline=HEADLINE),
        subtitle=f"{paper.CITATION}. Senders are this machine's kernel and `tcpsf serve`, clients this machine's "
        "kernel, with an emulated path between them.",
        sections=parts,
        provenance=started.provenance(
            wanted.experiments, command=wanted.command, scale=wanted.scale.name
        ),
    )
    return report, lives
