"""Annotations of a scenario's fields: their meaning and their unit.

The documentation page and the hints of error messages are generated from these annotations.
"""

from __future__ import annotations

from dataclasses import dataclass


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


SHARE = "share"
"""Annotation of a number from 0 to 1 that may also be written as a percentage."""
