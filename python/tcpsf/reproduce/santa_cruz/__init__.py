"""The TCP Santa Cruz paper's evaluation, a module a section."""

from __future__ import annotations

from tcpsf.reproduce.santa_cruz.evaluation import SCALES, prepare

__all__ = ["SCALES", "prepare"]
