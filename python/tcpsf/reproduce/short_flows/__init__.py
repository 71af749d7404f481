"""Evaluation of the short-flow paper by Cardwell, Savage and Anderson.

Most modules simulate its figures. `transfers` measures Figs. 17 to 20 on live kernels.
"""

from __future__ import annotations

from tcpsf.evaluation.evaluate import evaluate
from tcpsf.reproduce.short_flows.contents import SCALES, prepare

__all__ = ["SCALES", "evaluate", "prepare"]
