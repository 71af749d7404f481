"""Evaluation of the Smart Framing papers, one module per section."""

from __future__ import annotations

from tcpsf.evaluation.evaluate import Evaluation, evaluate
from tcpsf.reproduce.smart_framing.contents import SCALES, prepare

__all__ = ["SCALES", "Evaluation", "evaluate", "prepare"]
