"""Simulate TCP over lossy links: scenarios, runs and their results.

>>> from tcpsf import Greedy, Link, Scenario, Transfers, run

A name is imported at its first use. A program that needs only the simulator's core, or that prints
its help, does not import the other modules.
"""

from __future__ import annotations

from importlib import import_module

from tcpsf._core import version as __version__

# Type checkers know this name. Importing `typing` would take longer than importing the core.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tcpsf.compared import Comparison
    from tcpsf.comparison import compare
    from tcpsf.emulation.link_network import LinkNetwork, link
    from tcpsf.errors import OutputError, ScenarioError, StudyError, TcpsfError
    from tcpsf.measurements import Measurement
    from tcpsf.pcap import Pcap
    from tcpsf.python_models import CongestionController, LossModel, QueueDiscipline
    from tcpsf.result import Batch, Provenance
    from tcpsf.run_result import RunResult
    from tcpsf.runs import Fold, Progress, replicate, replicates, run
    from tcpsf.scenario import (
        Balanced,
        Buffer,
        BurstLoss,
        ByteLoss,
        CoDel,
        Discard,
        FqCoDel,
        GilbertElliottLoss,
        Greedy,
        Jitter,
        LinearLoss,
        Link,
        LinkChange,
        LogNormal,
        Loss,
        MaskLoss,
        NormalJitter,
        PacketLoss,
        Pareto,
        ParetoJitter,
        Poisson,
        RateTrace,
        Red,
        Reorder,
        Route,
        SampledJitter,
        Samples,
        Scenario,
        SenderShare,
        Sizes,
        Tcp,
        TokenBucket,
        Transfers,
        UniformJitter,
        Workload,
    )
    from tcpsf.sim_summary import Summary
    from tcpsf.studies.definition import (
        AxisPoint,
        KeptResults,
        Replication,
        StoppingRule,
        Study,
        StudyAxis,
        StudyBaseline,
        StudyPlot,
        StudySample,
    )
    from tcpsf.studies.study_results import StudyResults
    from tcpsf.studies.sweep import sweep

__all__ = [
    "AxisPoint",
    "Balanced",
    "Batch",
    "Buffer",
    "BurstLoss",
    "ByteLoss",
    "CoDel",
    "Comparison",
    "CongestionController",
    "Discard",
    "Fold",
    "FqCoDel",
    "GilbertElliottLoss",
    "Greedy",
    "Jitter",
    "KeptResults",
    "LinearLoss",
    "Link",
    "LinkChange",
    "LinkNetwork",
    "LogNormal",
    "Loss",
    "LossModel",
    "MaskLoss",
    "Measurement",
    "NormalJitter",
    "OutputError",
    "PacketLoss",
    "Pareto",
    "ParetoJitter",
    "Pcap",
    "Poisson",
    "Progress",
    "Provenance",
    "QueueDiscipline",
    "RateTrace",
    "Red",
    "Reorder",
    "Replication",
    "Route",
    "RunResult",
    "SampledJitter",
    "Samples",
    "Scenario",
    "ScenarioError",
    "SenderShare",
    "Sizes",
    "StoppingRule",
    "Study",
    "StudyAxis",
    "StudyBaseline",
    "StudyError",
    "StudyPlot",
    "StudyResults",
    "StudySample",
    "Summary",
    "Tcp",
    "TcpsfError",
    "TokenBucket",
    "Transfers",
    "UniformJitter",
    "Workload",
    "__version__",
    "compare",
    "link",
    "replicate",
    "replicates",
    "run",
    "sweep",
]

_HOMES = (
    "tcpsf.errors",
    "tcpsf.scenario",
    "tcpsf.pcap",
    "tcpsf.emulation.link_network",
    "tcpsf.python_models",
    "tcpsf.result",
    "tcpsf.sim_summary",
    "tcpsf.run_result",
    "tcpsf.runs",
    "tcpsf.measurements",
    "tcpsf.compared",
    "tcpsf.comparison",
    "tcpsf.studies.definition",
    "tcpsf.studies.study_results",
    "tcpsf.studies.sweep",
)


def __getattr__(name: str) -> Any:
    if name in __all__:
        for home in map(import_module, _HOMES):
            if hasattr(home, name):
                globals()[name] = getattr(home, name)
                return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
