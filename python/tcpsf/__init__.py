"""The first and last packets of a TCP connection: TCP Smart Framing, simulated.

>>> from tcpsf import Greedy, Link, Scenario, Transfers, run
"""

from __future__ import annotations

from tcpsf._core import version as __version__
from tcpsf.errors import OutputError, ScenarioError, TcpsfError
from tcpsf.result import Batch, Provenance, RunResult
from tcpsf.runs import Fold, Progress, replicate, run
from tcpsf.scenario import (
    Buffer,
    BurstLoss,
    ByteLoss,
    Greedy,
    LinearLoss,
    Link,
    LogNormal,
    Loss,
    MaskLoss,
    PacketLoss,
    Pareto,
    Poisson,
    Route,
    Samples,
    Scenario,
    SenderShare,
    Sizes,
    Tcp,
    Transfers,
    Workload,
)

__all__ = [
    "Batch",
    "Buffer",
    "BurstLoss",
    "ByteLoss",
    "Fold",
    "Greedy",
    "LinearLoss",
    "Link",
    "LogNormal",
    "Loss",
    "MaskLoss",
    "OutputError",
    "PacketLoss",
    "Pareto",
    "Poisson",
    "Progress",
    "Provenance",
    "Route",
    "RunResult",
    "Samples",
    "Scenario",
    "ScenarioError",
    "SenderShare",
    "Sizes",
    "Tcp",
    "TcpsfError",
    "Transfers",
    "Workload",
    "__version__",
    "replicate",
    "run",
]
