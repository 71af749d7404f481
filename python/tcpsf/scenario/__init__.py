"""Scenarios: a network, what is sent through it, and for how long, as data."""

from __future__ import annotations

from tcpsf.scenario.model import (
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
    Red,
    Route,
    Samples,
    SenderShare,
    Sizes,
    Tcp,
    Transfers,
    Workload,
)
from tcpsf.scenario.scenario import Scenario, explain

__all__ = [
    "Buffer",
    "BurstLoss",
    "ByteLoss",
    "Greedy",
    "LinearLoss",
    "Link",
    "LogNormal",
    "Loss",
    "MaskLoss",
    "PacketLoss",
    "Pareto",
    "Poisson",
    "Red",
    "Route",
    "Samples",
    "Scenario",
    "SenderShare",
    "Sizes",
    "Tcp",
    "Transfers",
    "Workload",
    "explain",
]
