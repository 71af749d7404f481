"""Figs. 17 to 20 of the short-flow paper, measured: live clients, the kernel or our host sending, emulated paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tcpsf.live.experiment import Acks, Experiment, Kernel
from tcpsf.papers import short_flows as paper
from tcpsf.report.conclusion import conclude
from tcpsf.report.evaluation import Report
from tcpsf.reproduce.live import Measure, Started, Told, conditions, measured
from tcpsf.scenario import PacketLoss

if TYPE_CHECKING:
    from tcpsf.live.result import Live, LiveStore

Sender = Literal["kernel", "ours"]

KERNEL = Kernel(congestion="reno", initial_window=paper.INITIAL_WINDOW)
OURS = f"reno+sack / full / iw={paper.INITIAL_WINDOW}"
SENDERS: tuple[Sender, ...] = ("kernel", "ours")
SHOWN: dict[Sender, str] = {"kernel": "kernel", "ours": "tcpsf"}
"""How reports call them."""
RTO_MIN = "200ms"
"""Of Linux now; the paper has a mean timer of 150 ms in Fig. 19."""

LOSSY = paper.Host(
    figure="lossy", name="this project", transfers=0, rtt_ms=100, rto_ms=0, loss=0.03, window_kb=32
)
"""A path of ours, where transfers do lose something."""
PATHS = (*paper.HOSTS, LOSSY)
ADAPTIVE = paper.HOSTS[0]
"""Where the paper suspects the receiver's delayed acknowledgments; measured with others as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferScale:
    """For how many seconds transfers are begun on each path."""

    name: Literal["quick", "full"]
    seconds: float


SCALES = {
    "quick": TransferScale(name="quick", seconds=5.0),
    "full": TransferScale(name="full", seconds=30.0),
}
"""``quick`` has about as many transfers of each sender as the paper."""

RATE = 80.0
"""Transfers begun per second: 5 MB/s, about a hundred at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Transfers from one sender over one path."""

    host: paper.Host
    sender: Sender
    acks: Acks = "kernel"

    @property
    def name(self) -> str:
        """How it is called.

        >>> Cell(host=paper.HOSTS[0], sender="ours", acks="delayed").name
        'Fig. 17, tcpsf, delayed ACKs'
        """
        return f"{self.host.figure}, {SHOWN[self.sender]}" + (
            ", delayed ACKs" if self.acks == "delayed" else ""
        )


CELLS = (
    *(Cell(host=host, sender=sender) for host in PATHS for sender in SENDERS),
    *(Cell(host=ADAPTIVE, sender=sender, acks="delayed") for sender in SENDERS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfers:
    """What is to be measured."""

    scale: TransferScale
    rate: float
    seed: int
    experiments: tuple[Experiment, ...]
    """One for each of `CELLS`."""

    @property
    def command(self) -> str:
        """The command line that repeats it."""
        rate = "" if self.rate == RATE else f" --rate {self.rate:g}"
        return f"tcpsf reproduce short-flows live --{self.scale.name} --seed {self.seed}{rate}"


def prepare(
    *, scale: TransferScale | Literal["quick", "full"] = "quick", rate: float = RATE, seed: int = 1
) -> Transfers:
    """Find out what is to be measured.

    Paths use the seeds ``seed``, ``seed + 1``, …, so that senders on one path fetch the same at the same moments.

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
    return Transfers(scale=scale, rate=rate, seed=seed, experiments=experiments)


def evaluate(
    wanted: Transfers,
    *,
    measure: Measure,
    store: LiveStore | None = None,
    progress: Told | None = None,
    found: Callable[[int], None] | None = None,
) -> tuple[Report, Mapping[str, Live]]:
    """Make the experiments that ``store`` does not have, and report on all; see `live.measured`."""
    from tcpsf.reproduce.short_flows.sections import HEADLINE, sections

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
