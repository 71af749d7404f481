"""The Smart Framing papers' evaluation, a module a section."""

from __future__ import annotations

from tcpsf.reproduce.evaluation import Evaluation, evaluate
from tcpsf.reproduce.smart_framing.evaluation import SCALES, prepare

__all__ = ["SCALES", "Evaluation", "evaluate", "prepare"]
