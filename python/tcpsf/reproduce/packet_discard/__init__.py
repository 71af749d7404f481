"""Evaluation of the Balanced Packet Discard paper, one module per section."""

from __future__ import annotations

from tcpsf.evaluation.evaluate import Evaluation, evaluate
from tcpsf.reproduce.packet_discard.contents import SCALES, prepare

__all__ = ["SCALES", "Evaluation", "evaluate", "prepare"]
