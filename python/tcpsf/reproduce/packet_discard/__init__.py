"""The Balanced Packet Discard paper's evaluation, a module a section."""

from __future__ import annotations

from tcpsf.reproduce.evaluation import Evaluation, evaluate
from tcpsf.reproduce.packet_discard.evaluation import SCALES, prepare

__all__ = ["SCALES", "Evaluation", "evaluate", "prepare"]
