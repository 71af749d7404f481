"""Types of options: quantities with units, as in a scenario, and lists of numbers.

Some options took a number without a unit in earlier versions. They still accept it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import click

from tcpsf import _core

T = TypeVar("T")


class _Quantity(click.ParamType[T], Generic[T]):
    """An option whose text is converted by one function."""

    def __init__(self, read: Callable[[str], T]) -> None:
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert the text of the option."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Seconds(_Quantity[float]):
    """A duration such as 200ms, in seconds. With ``bare`` a number without a unit is seconds."""

    name = "duration"

    def __init__(self, *, bare: bool = False) -> None:
        def read(text: str) -> float:
            number = _bare(text) if bare else None
            return _core.nanoseconds(text) / 1e9 if number is None else number

        super().__init__(read)


class ByteRate(_Quantity[float]):
    """A rate such as 10mbit, in bytes per second. A number without a unit is bytes per second."""

    name = "rate"

    def __init__(self) -> None:
        def read(text: str) -> float:
            number = _bare(text)
            return _core.bits_per_second(text) / 8 if number is None else number

        super().__init__(read)


class Bytes(_Quantity[int]):
    """A size such as 10kB, in bytes. A number without a unit is bytes."""

    name = "size"

    def __init__(self) -> None:
        super().__init__(_bytes)


class Probability(_Quantity[float]):
    """A probability such as 0.01 or 1%."""

    name = "probability"

    def __init__(self) -> None:
        super().__init__(_probability)


class _List(click.ParamType[tuple[Any, ...]]):
    """Values separated by commas, at least one unless ``empty`` is allowed."""

    def __init__(self, read: Callable[[str], Any], example: str, *, empty: bool = False) -> None:
        self._read, self._example, self._empty = read, example, empty

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert the text of the option to a tuple of values."""
        if not isinstance(value, str):
            return value
        words = [word.strip() for word in value.split(",") if word.strip()]
        try:
            found = tuple(each for word in words for each in self._several(word))
        except ValueError:
            self.fail(f"`{value}` is not a list such as {self._example}", param, ctx)
        if not found and not self._empty:
            self.fail(f"`{value}` is an empty list; expected e.g. {self._example}", param, ctx)
        return found

    def _several(self, word: str) -> tuple[Any, ...]:
        return (self._read(word),)


class Probabilities(_List):
    """Probabilities such as 0.01,5%."""

    name = "probabilities"

    def __init__(self) -> None:
        super().__init__(_probability, "0.01,5%")


class SizeList(_List):
    """Sizes such as 1000,10kB."""

    name = "sizes"

    def __init__(self) -> None:
        super().__init__(_bytes, "1000,10kB")


class CountList(_List):
    """Integers from ``least`` to ``most``, such as 4,8 or 4:16, which is 4 to 16."""

    name = "numbers"

    def __init__(self, *, least: int, most: int, empty: bool = False) -> None:
        self._least, self._most = least, most
        super().__init__(int, "4,8 or 4:16", empty=empty)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert the text of the option, and check that each number is in the range."""
        found = super().convert(value, param, ctx)
        for number in found:
            if not self._least <= number <= self._most:
                self.fail(
                    f"`{value}`: {number} is not in the range {self._least} to {self._most}",
                    param,
                    ctx,
                )
        return found

    def _several(self, word: str) -> tuple[Any, ...]:
        if (spread := re.fullmatch(r"(\d+):(\d+)", word)) is None:
            return super()._several(word)
        first, last = (int(number) for number in spread.groups())
        if last > self._most or last < first:
            # The error names the last number if it is above the range. 8:4 is an empty list.
            return (last,) if last > self._most else ()
        return tuple(range(first, last + 1))


def _bare(text: str) -> float | None:
    """Read a number of at least zero without a unit; return ``None`` for other text."""
    try:
        number = float(text)
    except ValueError:
        return None
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"`{text}` is not a number of at least zero")
    return number


def _bytes(text: str) -> int:
    number = _bare(text)
    if number is None:
        return _core.bytes(text)
    if not number.is_integer():
        raise ValueError(f"`{text}` is not a whole number of bytes")
    return int(number)


def _probability(text: str) -> float:
    digits, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        return float(digits) / 100 if percent else float(digits)
    except ValueError:
        raise ValueError(f"`{text}` is not a probability such as 0.01 or 1%") from None
