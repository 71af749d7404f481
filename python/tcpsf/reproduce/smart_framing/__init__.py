"""The Smart Framing papers' evaluation, a module a section."""

from __future__ import annotations

from tcpsf.reproduce.smart_framing.evaluation import SCALES, Evaluation, evaluate, prepare

__all__ = ["SCALES", "Evaluation", "evaluate", "prepare"]
