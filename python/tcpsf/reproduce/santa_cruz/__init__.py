"""Evaluation of the TCP Santa Cruz paper, one module per section."""

from __future__ import annotations

from tcpsf.reproduce.santa_cruz.contents import SCALES, prepare

__all__ = ["SCALES", "prepare"]
