"""The measured part of Cardwell, Savage and Anderson's paper: Figs. 17 to 20 on live kernels."""

from __future__ import annotations

from tcpsf.reproduce.short_flows.transfers import SCALES, Transfers, evaluate, prepare

__all__ = ["SCALES", "Transfers", "evaluate", "prepare"]
