"""Annotations of a scenario's fields: their meaning and their unit.

The documentation page and the hints of error messages are generated from these annotations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True)
class Doc:
    """Meaning of a field, and of its absence."""

    text: str
    absent: str | None = None
    """Meaning of an absent key, if the default value does not state it."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """Name and example of a quantity with a unit."""

    name: str
    example: str


Duration = Annotated[str, Quantity("duration", "20ms")]
"""Text with one of the units ns, us, ms, s, min, h."""

Rate = Annotated[str, Quantity("rate", "10Mb/s")]
"""Text with one of the units b/s, kb/s, Mb/s, Gb/s (or bit, kbit, Mbit, Gbit)."""

Size = Annotated[str, Quantity("size", "150kB")]
"""Text with one of the units B, kB, MB, GB (powers of ten), KiB, MiB (powers of two)."""

Sender = Annotated[str, Quantity("sender", "reno+sack / fs(n=4) / iw=1")]
"""Name of a sender: congestion control with loss recovery / segmentation / windows.

`docs/reference/senders.md` has the grammar.
"""

SHARE = "share"
"""Annotation of a number from 0 to 1 that may also be written as a percentage."""

Share = Annotated[float, SHARE]
"""A probability, or a share of a whole: a number from 0 to 1, or text such as ``"1%"``."""
