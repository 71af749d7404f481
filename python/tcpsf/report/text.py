"""Tables as aligned text: no colour, no lines that a narrow terminal breaks, the same bytes everywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tcpsf.stats import Estimate

NOTHING = "–"
"""Stands where there is no number."""


def table(rows: Sequence[Sequence[str]], *, left: Sequence[int] = (), heads: int = 1) -> str:
    """Align columns: those in ``left`` to the left, the others to the right, ``heads`` rows above a rule.

    >>> print(table([["link", "kB"], ["up", "1.5"]], left=[0]))
    link   kB
    ---------
    up    1.5
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for number, row in enumerate(rows):
        cells = [
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
        if number + 1 == heads:
            lines.append("-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(lines)


def number(value: float | None, digits: int = 2) -> str:
    """A number, or the sign for none.

    >>> number(0.276), number(None)
    ('0.28', '–')
    """
    return NOTHING if value is None else f"{value:.{digits}f}"


def seconds(value: float | None) -> str:
    """A time in seconds with three significant digits, milliseconds at the least.

    >>> seconds(0.1036), seconds(2.7182), seconds(27.18)
    ('0.104', '2.72', '27.2')
    """
    return NOTHING if value is None else f"{value:.{_digits(value)}f}"


def seconds_estimate(found: Estimate | None) -> str:
    """A time in seconds with its interval, both to the same digit.

    >>> seconds_estimate(Estimate(1.4807, 0.0931, 8))
    '1.48 ±0.09'
    """
    return NOTHING if found is None else estimate(found, _digits(found.value))


def _digits(value: float) -> int:
    """Decimals that leave three significant digits, at most three of them."""
    return 3 if value < 1 else 2 if value < 10 else 1


def estimate(found: Estimate | None, digits: int = 2) -> str:
    """A value with its interval.

    >>> estimate(Estimate(0.2761, 0.0123, 8)), estimate(Estimate(0.2761, None, 1))
    ('0.28 ±0.01', '0.28')
    """
    if found is None:
        return NOTHING
    if found.half_width is None:
        return f"{found.value:.{digits}f}"
    return f"{found.value:.{digits}f} ±{found.half_width:.{digits}f}"


def significant(found: Estimate | None) -> str:
    """A value of any size to three significant digits, to more where its interval is narrower than that.

    >>> [significant(Estimate(*each, 8)) for each in ((1480.7, 93.1), (0.2761, 0.0123), (9.0, 0.002), (7.0, 0.0))]
    ['1481 ±93', '0.276 ±0.012', '9.000 ±0.002', '7 ±0']
    """
    if found is None:
        return NOTHING
    if found.half_width == 0:
        return f"{found.value:.3g} ±0" if abs(found.value) < 1000 else f"{found.value:.0f} ±0"
    half = found.half_width or 0.0
    return estimate(found, min(max(_decimals(max(abs(found.value), half), 3), _decimals(half, 1)), 9))


def _decimals(value: float, digits: int) -> int:
    """Decimals that a number needs to have so many significant digits."""
    return max(0, digits - 1 - math.floor(math.log10(value))) if value > 0 else 0


def count(value: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> count(1, "run"), count(8, "run")
    ('1 run', '8 runs')
    """
    return f"{value:,} {one if value == 1 else many or one + 's'}".replace(",", "\N{NO-BREAK SPACE}")
