"""Numbers in readable form and tables as aligned text, the same bytes everywhere.

A minus sign is a real minus sign and not a hyphen. Thousands are separated from 10 000 on. A value
without an interval, or one in which nothing is random, is shown without an interval.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

NOTHING = "–"
"""Text that is shown where there is no number."""


class Uncertain(Protocol):
    """A value with an interval, such as `stats.Estimate`."""

    @property
    def value(self) -> float:
        """The value itself."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its interval; ``None`` if it has none."""


def table(rows: Sequence[Sequence[str]], *, left: Sequence[int] = (), heads: int = 1) -> str:
    """Align columns: those in ``left`` to the left, the others to the right.

    A rule follows the first ``heads`` rows.

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


class TitledTable(NamedTuple):
    """A table of text with a title; ``str()`` gives the title and the aligned table.

    >>> print(TitledTable("Links", [["link", "kB"], ["up", "1.5"]], (0,)))
    Links
    <BLANKLINE>
    link   kB
    ---------
    up    1.5
    """

    title: str
    rows: list[list[str]]
    """Cells, with the heads in the first row."""
    left: tuple[int, ...] = ()
    """Columns that are aligned to the left."""

    def __str__(self) -> str:
        return f"{self.title}\n\n{table(self.rows, left=self.left)}"


def seeds(numbers: Sequence[int]) -> str:
    """Name the random seeds of runs: consecutive ones by the first and the last.

    >>> seeds([3]), seeds(range(1, 9)), seeds([3, 1])
    ('seed 3', 'seeds 1 to 8', 'seeds 3, 1')
    """
    if len(numbers) == 1:
        return f"seed {numbers[0]}"
    if all(after == before + 1 for before, after in pairwise(numbers)):
        return f"seeds {numbers[0]} to {numbers[-1]}"
    listed = ", ".join(map(str, numbers[:SEEDS]))
    return f"seeds {listed}, …" if len(numbers) > SEEDS else f"seeds {listed}"


SEEDS = 8
"""Maximum number of seeds that are listed."""


def item(head: str, content: str) -> str:
    """Lay out an entry of a list: a line, and below it an indented text of up to 80 columns.

    >>> print(item("rate: text", "Transmission rate."))
    rate: text
        Transmission rate.
    """
    lines = textwrap.wrap(
        " ".join(content.split()), 80, initial_indent="    ", subsequent_indent="    "
    )
    return "\n".join([head, *lines])


SPACE = "\N{NARROW NO-BREAK SPACE}"
"""Separator of groups of three digits."""


def plain(value: float, digits: int) -> str:
    r"""Text of a number with ``digits`` decimals.

    >>> plain(-0.276, 2), plain(12345.6, 0), plain(-0.001, 2), plain(1480, 0)
    ('−0.28', '12\u202f346', '0.00', '1480')
    >>> plain(9999.7, 1), plain(9999.7, 0)
    ('9999.7', '10\u202f000')
    """
    size = abs(value)
    shown = f"{size:,.{digits}f}" if round(size, digits) >= 10_000 else f"{size:.{digits}f}"
    sign = "−" if value < 0 and shown.strip("0.") else ""
    return sign + shown.replace(",", SPACE)


def short(value: float) -> str:
    r"""Text of a number with only the decimals that it needs.

    >>> short(0.4540), short(-2.1), short(65535.0)
    ('0.454', '−2.1', '65\u202f535')
    """
    return plain(value, len(f"{value:.6f}".rstrip("0").partition(".")[2]))


def span(low: float, high: float) -> str:
    """Range of values, both ends to three significant digits of the upper end.

    >>> span(0.77, 0.771), span(2153.0, 2163.2)
    ('0.770 to 0.771', '2153 to 2163')
    """
    digits = _decimals(max(abs(low), abs(high)), 3)
    return f"{plain(low, digits)} to {plain(high, digits)}"


def titled(name: str, unit: str | None) -> str:
    """Name of a column with its unit; some names already contain the unit.

    >>> titled("delay", "ms"), titled("%FR", "%"), titled("sender", "")
    ('delay, ms', '%FR', 'sender')
    """
    return f"{name}, {unit}" if unit and not (unit == "%" and "%" in name) else name


def label(name: str) -> str:
    r"""Name, with separated thousands if it is a whole number.

    >>> label("web"), label("284454"), label("1500")
    ('web', '284\u202f454', '1500')
    """
    return plain(int(name), 0) if name.isdecimal() else name


def folded(rows: Sequence[Sequence[str]], *, width: int, left: Sequence[int] = ()) -> str:
    """Align columns as `table` does, in blocks of at most ``width`` that repeat the first column.

    >>> print(folded([["path", "ours", "paper"], ["a", "1.5", "2"]], width=11, left=[0]))
    path  ours
    ----------
    a      1.5
    <BLANKLINE>
    path  paper
    -----------
    a         2
    """
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    blocks: list[list[int]] = [[0]]
    for at in range(1, len(widths)):
        if len(blocks[-1]) > 1 and sum(widths[each] + 2 for each in (*blocks[-1], at)) - 2 > width:
            blocks.append([0])
        blocks[-1].append(at)
    return "\n\n".join(
        table(
            [[row[at] for at in block] for row in rows],
            left=[place for place, at in enumerate(block) if at in left],
        )
        for block in blocks
    )


def number(value: float | None, digits: int = 2) -> str:
    """Text of a number, or the sign for no number.

    >>> number(0.276), number(None)
    ('0.28', '–')
    """
    return NOTHING if value is None else plain(value, digits)


def seconds(value: float | None) -> str:
    """Text of a time in seconds: three decimals below 1 s, two below 10 s, otherwise one.

    >>> seconds(0.1036), seconds(2.7182), seconds(27.18)
    ('0.104', '2.72', '27.2')
    """
    return NOTHING if value is None else plain(value, _digits(value))


def seconds_estimate(found: Uncertain | None) -> str:
    """Text of a time in seconds with its interval, both to the same digit.

    >>> from tcpsf.intervals import Student
    >>> from tcpsf.stats import Estimate
    >>> seconds_estimate(Estimate(1.4807, Student(0.04, 7), 8))
    '1.48 ±0.09'
    """
    return NOTHING if found is None else estimate(found, _digits(found.value))


def seconds_compact(found: Uncertain | None) -> str:
    """Text of a time with its interval, with fewer decimals if both ends take too much room.

    >>> from tcpsf.intervals import Student
    >>> from tcpsf.stats import Estimate
    >>> seconds_compact(Estimate(3.214, Student(3.0, 7, (0.0, 3.5)), 8))
    '3.2 [0.0,3.5]'
    """
    return NOTHING if found is None else compact(found, _digits(found.value))


def _digits(value: float) -> int:
    """Decimals of a time: three below 1 s, two below 10 s, otherwise one."""
    return 3 if value < 1 else 2 if value < 10 else 1


def estimate(found: Uncertain | None, digits: int = 2) -> str:
    """Text of a value with its interval; a value in which nothing is random has no interval.

    Both ends are shown if their distances from the value differ by more than one in the last digit.

    >>> from tcpsf.intervals import Student
    >>> from tcpsf.stats import Estimate
    >>> estimate(Estimate(0.2761, Student(0.005, 7), 8)), estimate(Estimate(-0.2761, None, 1))
    ('0.28 ±0.01', '−0.28')
    >>> estimate(Estimate(0.01, Student(0.01, 7, (0.0, 1.0)), 8))
    '0.01 [0.00,0.03]'
    """
    if found is None:
        return NOTHING
    value, interval = plain(found.value, digits), found.interval
    if interval is None:
        return value
    low, high = interval
    below, above, unit = found.value - low, high - found.value, math.pow(10.0, -digits)
    if abs(above - below) > unit:
        return f"{value} [{plain(low, digits)},{plain(high, digits)}]"
    half = max(below, above)
    return (
        f"{value} ±{plain(half, digits)}"
        if half >= unit / 2.0
        else f"{value} ±<{plain(unit, digits)}"
    )


ROOM = 13
"""Columns for a value with both ends of its interval, in a table with many such columns."""


def compact(found: Uncertain | None, digits: int) -> str:
    """Text of a value with its interval, with fewer decimals if both ends take too much room.

    >>> from tcpsf.intervals import Wilson
    >>> from tcpsf.stats import Estimate
    >>> compact(Estimate(45.14, Wilson(5000, 5000, 7, factor=100.0), 8), 1)
    '45.1 ±1.7'
    >>> compact(Estimate(31.4, Wilson(9, 9, 7, factor=100.0), 8), 1)
    '31 [9,68]'
    """
    formatted = estimate(found, digits)
    return formatted if len(formatted) <= ROOM or digits == 0 else compact(found, digits - 1)


def significant(found: Uncertain | None) -> str:
    """Text of a value of any size with three significant digits, or more if its interval is narrow.

    >>> from tcpsf.intervals import Same, Student
    >>> from tcpsf.stats import Estimate
    >>> [significant(Estimate(value, Student(error, 7), 8)) for value, error in ((1480.7, 40.0), (9.0, 0.001))]
    ['1481 ±95', '9.000 ±0.002']
    >>> significant(Estimate(7.0, Same(), 8))
    '7'
    """
    return NOTHING if found is None else estimate(found, _needed(found))


def column(cells: Sequence[Uncertain | None]) -> list[str]:
    """Texts of the values of a column, all with the same number of decimals.

    The number lies between the least and the most that the values need. If they span more than
    three decades, each value has its own significant digits.

    >>> from tcpsf.intervals import Same, Student
    >>> from tcpsf.stats import Estimate
    >>> column([Estimate(0.99999, Student(2e-6, 7), 8), Estimate(0.890, Student(0.01, 7), 8), None])
    ['1.000 ±<0.001', '0.890 ±0.024', '–']
    >>> column([Estimate(13.0, Same(), 1), Estimate(2.0, Same(), 1)])
    ['13', '2']
    """
    seen = [found for found in cells if found is not None]
    sizes = sorted(filter(None, map(_size, seen)))
    if sizes and sizes[-1] >= WIDE * sizes[0]:
        return [significant(found) for found in cells]
    needed = sorted(_needed(found) for found in seen) or [0]
    usual = (needed[0] + needed[-1] + 1) // 2
    least = _decimals(sizes[0], 2) if sizes and needed[-1] else 0
    digits = max(usual, min(least, usual + 1))
    return [estimate(found, digits) for found in cells]


WIDE = 1000.0
"""Ratio of the largest to the smallest value from which a column has no common decimals."""


def _half(found: Uncertain) -> float:
    low, high = found.interval or (found.value, found.value)
    return (high - low) / 2.0


def _size(found: Uncertain) -> float:
    """Magnitude of a value, or half of its interval if that is larger."""
    return max(abs(found.value), _half(found))


def _needed(found: Uncertain) -> int:
    """Decimals of a single value: none for a whole number without an interval."""
    half = _half(found)
    if not half and found.value == round(found.value):
        return 0
    digits = _decimals(_size(found), 3)
    if half:
        one = _decimals(half, 1)
        digits = max(min(digits, _decimals(half, 2), max(one, MOST)), min(one, MOST))
    return min(digits, 9)


MOST = 3
"""Limit of the decimals that a narrow interval adds, and of those that a wider interval leaves."""


def _decimals(value: float, digits: int) -> int:
    """Decimals with which a number has ``digits`` significant digits."""
    return max(0, digits - 1 - math.floor(math.log10(value))) if value > 0 else 0


def count(value: int, one: str, many: str | None = None) -> str:
    """Text of a count with its noun.

    >>> count(1, "run"), count(1242, "run")
    ('1 run', '1242 runs')
    """
    return f"{plain(value, 0)} {one if value == 1 else many or one + 's'}"
