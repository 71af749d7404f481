"""What a scenario's fields mean, written once, on the field.

The documentation page, the hints in error messages and the editors' tooltips all come from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True)
class Doc:
    """A sentence about a field: what it is, and what happens where it is left out."""

    text: str
    absent: str | None = None
    """What holds when the key is absent and the default does not say it."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """How a value with a unit is written."""

    name: str
    example: str


Duration = Annotated[str, Quantity("duration", "20ms")]
"""Text with one of the units ns, us, ms, s, min, h."""

Rate = Annotated[str, Quantity("rate", "10Mb/s")]
"""Text with one of the units b/s, kb/s, Mb/s, Gb/s (or bit, kbit, Mbit, Gbit)."""

Size = Annotated[str, Quantity("size", "150kB")]
"""Text with one of the units B, kB, MB, GB (powers of ten), KiB, MiB (powers of two)."""

Sender = Annotated[str, Quantity("sender", "reno+sack / fs(n=4) / iw=1")]
"""Congestion control and loss recovery / segmentation / windows, as `docs/reference/scenario.md` lists them."""

SHARE = "share"
"""Marks a number from 0 to 1 that may also be written in per cent."""

Share = Annotated[float, SHARE]
"""A probability, or a share of a whole: a number from 0 to 1, or text such as ``"1%"``."""
