"""Live measurement of Tables II and III of the Smart Framing paper.

The clients are live, the server or the proxy is that of tcpsf, and the path is emulated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from tcpsf.errors import TcpsfError
from tcpsf.evaluation.conclusion import conclude
from tcpsf.evaluation.data import Report
from tcpsf.evaluation.live_experiments import Measure, ReportProgress, Started, conditions, measured
from tcpsf.live.experiment import Acks, Experiment, PathLoss, Through
from tcpsf.live.sessions import Browsing
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_testbed as testbed
from tcpsf.reproduce.smart_framing.testbed_checks import beside_simulator
from tcpsf.reproduce.smart_framing.testbed_read import PathResult, Which
from tcpsf.reproduce.smart_framing.testbed_report import HEADLINE, section
from tcpsf.runs import run

if TYPE_CHECKING:
    import polars as pl

    from tcpsf.live.experiment_result import Live, LiveStore

SENDERS = tuple(variant.sender for variant in paper.VARIANTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveScale:
    """Duration of the period in which fetches start, by the path's drop probability.

    It is longer where losses are rarer.
    """

    name: Literal["quick", "full"]
    seconds: Mapping[float, float]
    simulated: int
    """Simulated flows of each sender on each path.

    The number is so large that the simulator's part of an interval is negligible.
    """


SCALES = {
    "quick": LiveScale(
        name="quick", simulated=30_000, seconds={0.01: 12.0, 0.02: 12.0, 0.05: 6.0, 0.10: 4.0}
    ),
    "full": LiveScale(
        name="full", simulated=200_000, seconds={0.01: 75.0, 0.02: 75.0, 0.05: 25.0, 0.10: 15.0}
    ),
}

PROXY_SCALES = {
    "quick": LiveScale(name="quick", simulated=0, seconds={0.01: 20.0, 0.05: 10.0, 0.10: 6.0}),
    "full": LiveScale(name="full", simulated=0, seconds={0.01: 120.0, 0.05: 60.0, 0.10: 40.0}),
}
"""Scales for the proxy.

The full scale has thousands of flows below 10 kB, as in the paper. Nothing is simulated.
"""

RATE = 600.0
"""Fetches started per second: some hundreds at once, and half of two CPU cores."""

PROXY_RATE = 200.0
"""Sessions started per second; they carry 30 MB/s and use about one of two CPU cores."""

PROXY_FETCH_TIMEOUT_S = 300.0
"""Time limit of a connection in seconds.

A connection with many large objects takes a minute at a loss rate of 10 %.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Testbed:
    """Settings of a measurement for Table II or III."""

    which: Which
    scale: LiveScale
    law: testbed.Law
    acks: Acks
    through: Through
    objects: int | None
    """Number of objects per connection; ``None``: the number in the browsers' sessions."""
    rate: float
    seed: int
    experiments: tuple[Experiment, ...]

    @property
    def command(self) -> str:
        """Return the command line that repeats the measurement."""
        words = [
            f"tcpsf reproduce smart-framing {self.which} --{self.scale.name} --seed {self.seed}"
        ]
        if self.through != "server":
            words.append(f"--through {self.through}")
        if self.which == "table-3" and self.law != testbed.LAWS[0]:
            words.append(f"--law {self.law}")
        if self.acks != "kernel":
            words.append(f"--acks {self.acks}")
        if self.objects != (1 if self.through == "server" else None):
            words.append(f"--objects {self.objects}")
        if self.rate != rates(self.through):
            words.append(f"--per-second {self.rate:g}")
        return " ".join(words)


def rates(through: Through) -> float:
    """Return the default number of connections or sessions that start per second."""
    return RATE if through == "server" else PROXY_RATE


def prepare(
    which: Which,
    *,
    scale: LiveScale | Literal["quick", "full"] = "quick",
    law: testbed.Law = "proportional",
    acks: Acks = "kernel",
    through: Through = "server",
    objects: int | None = None,
    rate: float | None = None,
    seed: int = 1,
) -> Testbed:
    """Return the settings of the measurement.

    Paths use the seeds ``seed``, ``seed + 1``, … They determine the times and the files of the
    fetches, and the losses of the link. Without ``objects``, a connection to the server carries one
    object, and the clients of the proxy are browsers. Without ``rate``, the rate is that of
    `rates`, in connections or sessions per second. Raises `TcpsfError` for a proxy in Table II.

    >>> [each.name for each in prepare("table-3").experiments][:2]
    ['0.01, 20 ms', '0.01, 50 ms']
    >>> prepare("table-3", through="proxy").experiments[0].browsing.connections
    2
    """
    proxied = through == "proxy"
    if proxied and which == "table-2":
        raise TcpsfError(
            "cannot measure Table II through a proxy: in the paper the servers had the senders",
            hint="use table-3",
        )
    if isinstance(scale, str):
        scale = (PROXY_SCALES if proxied else SCALES)[scale]
    if objects is None and not proxied:
        objects = 1
    rate = rates(through) if rate is None else rate
    wanted = Testbed(
        which=which,
        scale=scale,
        law=law,
        acks=acks,
        through=through,
        objects=objects,
        rate=rate,
        seed=seed,
        experiments=(),
    )
    return replace(wanted, experiments=_experiments(wanted))


def _experiments(wanted: Testbed) -> tuple[Experiment, ...]:
    """Return one experiment per path."""
    proxied, objects = wanted.through == "proxy", wanted.objects
    how: dict[str, Any] = {"objects": 1 if objects is None else objects}
    if objects is None:
        how["browsing"] = Browsing()
    if proxied:
        how["fetch_timeout_s"] = PROXY_FETCH_TIMEOUT_S
    return tuple(
        Experiment(
            name=name,
            latency_ms=latency_ms,
            loss=loss,
            senders=SENDERS,
            sizes=_sizes(wanted.which, wanted.through),
            rate=wanted.rate,
            duration_s=wanted.scale.seconds[drop],
            acks=wanted.acks,
            rto_min=testbed.RTO_MIN,
            seed=wanted.seed + number,
            through=wanted.through,
            **how,
        )
        for number, (name, latency_ms, loss, drop) in enumerate(_paths(wanted.which, wanted.law))
    )


def _paths(which: Which, law: testbed.Law) -> list[tuple[str, int, PathLoss, float]]:
    """Return name, latency in milliseconds, loss and probability of loss of each path."""
    if which == "table-2":
        return [
            (each.key, each.latency_ms, each.loss, each.loss.probability) for each in testbed.PATHS
        ]
    return [
        (setting_name(each), each.latency_ms, testbed.loss(each.drop, law), each.drop)
        for each in testbed.TABLE_3
    ]


def _sizes(which: Which, through: Through) -> tuple[int, ...]:
    """Return the sizes of the files in bytes."""
    if which == "table-2":
        return (testbed.FILE_BYTES,)
    return paper.CLASS_BYTES if through == "proxy" else testbed.OBJECT_BYTES


ROLES: Mapping[Through, str] = {
    "server": "tcpsf serves, this machine's kernel is the client",
    "proxy": "tcpsf is the proxy in front of a server, this machine's kernel is the client and the server",
}
"""Description of the hosts' roles, for the report's subtitle."""


def setting_name(setting: testbed.LinkSetting) -> str:
    """Return the label of a row of Table III."""
    return f"{setting.drop:.2f}, {setting.latency_ms} ms"


def evaluate(
    wanted: Testbed,
    *,
    measure: Measure,
    store: LiveStore | None = None,
    progress: ReportProgress | None = None,
    found: Callable[[int], None] | None = None,
) -> tuple[Report, Mapping[str, PathResult]]:
    """Run the experiments that ``store`` does not have, simulate them, and report on all.

    See `live_experiments.measured`.
    """
    started = Started()
    lives = measured(
        wanted.experiments, measure=measure, store=store, progress=progress, found=found
    )
    cells = {
        name: PathResult(live=live, simulated=_simulated(live, wanted.scale.simulated))
        for name, live in lives.items()
    }
    compared = (
        (beside_simulator(wanted.which, cells),)
        if all(cell.simulated for cell in cells.values())
        else ()
    )
    parts = (section(wanted.which, cells), *compared, conditions(lives))
    number = {"table-2": "II", "table-3": "III"}[wanted.which]
    report = Report(
        title=f"TCP Smart Framing, Table {number}: measured on live kernels"
        + (", through a proxy" if wanted.through == "proxy" else ""),
        conclusion=conclude(parts, headline=HEADLINE[wanted.which]),
        subtitle=f"{paper.CITATION}. {ROLES[wanted.through]}, and `tcpsf link` emulates the path between them.",
        sections=parts,
        provenance=started.provenance(
            wanted.experiments, command=wanted.command, scale=wanted.scale.name
        ),
    )
    return report, cells


def _simulated(live: Live, count: int) -> dict[str, pl.DataFrame]:
    """Simulate the same path for each sender; return the columns that `live.estimates` reads."""
    import polars as pl

    if live.experiment.objects > 1 or live.experiment.through == "proxy":
        return {}

    head = live.flows.filter(pl.col("head_bytes") > 0)["head_bytes"].median()
    head_bytes = round(head) if isinstance(head, float) else 0
    frames = {}
    for sender in live.experiment.senders:
        scenario = live.experiment.simulated(sender, head_bytes=head_bytes, flows=count)
        flows = run(scenario, seed=live.experiment.seed).flows
        # Flows that are incomplete at the end of the run have no completion time and an unknown
        # number of recoveries. They are omitted.
        frames[sender] = flows.filter(pl.col("receiver_s").is_not_null()).select(
            variant=pl.col("variant").cast(pl.String),
            size_bytes=pl.col("size_bytes") - head_bytes,
            completion_s=pl.col("receiver_s"),
            fast_retransmits=pl.col("fast_retransmits").cast(pl.Int64),
            timeouts=pl.col("timeouts").cast(pl.Int64),
            rto_s=pl.lit(None, pl.Float64),
        )
    return frames
