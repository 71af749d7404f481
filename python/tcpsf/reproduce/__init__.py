"""Reproduction of the papers' tables and figures by simulation, beside the published numbers."""

from __future__ import annotations

from tcpsf.evaluation.plan import Scale
from tcpsf.reproduce.table_1 import SCALES, Table1, table_1

__all__ = ["SCALES", "Scale", "Table1", "table_1"]
