"""Types of options: times, rates, sizes, probabilities, counts, and lists of them.

Each kind of quantity is written in the same way in every command: times, rates and sizes with a
unit as in a scenario, probabilities as `0.01` or `1%`, counts as integers. A size may also be a
number of bytes. A bad value is a `BadValue`, with the option, the value, the problem and a hint.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Generic, NoReturn, TypeVar

import click

from tcpsf import _core
from tcpsf.cli.readers import (
    in_range,
    read_bytes,
    read_connection,
    read_file_name,
    read_integer,
    read_jitter,
    read_limit,
    read_mask,
    read_number,
    read_part,
    read_prefix,
    read_probability,
    read_seconds,
)
from tcpsf.errors import nearest

T = TypeVar("T")

NONE = "none"
"""The value that removes a setting of `tcpsf link` in one direction."""


class BadValue(click.BadParameter):
    """A value that an option does not accept, and a hint."""

    def __init__(
        self,
        value: object,
        problem: str,
        hint: str,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> None:
        super().__init__(problem, ctx=ctx, param=param)
        self.value = value
        self.hint = hint


class _Type(click.ParamType[T], Generic[T]):
    """A type whose errors are `BadValue`, with the hint of the type."""

    hint = ""

    def refuse(
        self, value: object, problem: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> NoReturn:
        """Raise `BadValue`."""
        raise BadValue(value, problem, self.hint, param, ctx)


class _Quantity(_Type[T], Generic[T]):
    """An option whose text is converted by one function."""

    def __init__(self, read: Callable[[str], T], hint: str) -> None:
        self.read = read
        self.hint = hint

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert the text of the option."""
        if not isinstance(value, str):
            return value
        try:
            return self.read(value)
        except ValueError as error:
            self.refuse(value, str(error), param, ctx)


class Seconds(_Quantity[float]):
    """A time such as 200ms, in seconds."""

    name = "time"

    def __init__(self) -> None:
        super().__init__(read_seconds, "write it with a unit, such as `20ms`")


class ByteRate(_Quantity[float]):
    """A rate such as 10mbit, in bytes per second."""

    name = "rate"

    def __init__(self) -> None:
        super().__init__(
            lambda text: _core.bits_per_second(text) / 8,
            "a rate is in bits per second, such as `10mbit` or `10Mb/s`",
        )


class Bytes(_Quantity[int]):
    """A size such as 10kB, in bytes. A number without a unit is bytes."""

    name = "size"

    def __init__(self, *, least: int = 0, most: int | None = None) -> None:
        def read(text: str) -> int:
            return int(in_range(read_bytes(text), text, least, most))

        super().__init__(read, "write it as `1.5kB`, or as a number of bytes such as `1500`")


class Probability(_Quantity[float]):
    """A probability such as 0.01 or 1%."""

    name = "probability"

    def __init__(self) -> None:
        super().__init__(read_probability, "write it as `0.01` or `1%`")


class Count(_Quantity[int]):
    """An integer in a range: a count, a port or a random seed."""

    name = "integer"

    def __init__(self, *, least: int = 0, most: int | None = None) -> None:
        def read(text: str) -> int:
            return int(in_range(read_integer(text), text, least, most))

        super().__init__(read, f"give an integer {_range(least, most)}")


class Number(_Quantity[float]):
    """A number in a range, without a unit."""

    name = "number"

    def __init__(self, *, least: float | None = None, most: float | None = None) -> None:
        def read(text: str) -> float:
            return in_range(read_number(text), text, least, most)

        super().__init__(read, f"give a number {_range(least, most)}".rstrip())


class OneOfParts(_Quantity[tuple[int, int]]):
    """A part of several equal ones, such as 3/8."""

    name = "part"

    def __init__(self) -> None:
        super().__init__(read_part, "the parts of a whole in eight are `1/8` to `8/8`")


class Parts(_Quantity[tuple[Any, ...]]):
    """Several quantities in one value, such as 30kB,90kB,0.1.

    ``form`` is the value's form in the help text, and ``kinds`` read its parts. The last
    ``optional`` parts may be missing.
    """

    name = "parts"

    def __init__(
        self,
        form: str,
        *kinds: Callable[[str], Any],
        example: str,
        optional: int = 0,
        separator: str = ",",
    ) -> None:
        def read(text: str) -> tuple[Any, ...]:
            words = [word.strip() for word in text.split(separator)]
            if not len(kinds) - optional <= len(words) <= len(kinds):
                raise ValueError(f"`{text}` is not of the form {form}")
            return tuple(kind(word) for kind, word in zip(kinds, words, strict=False))

        super().__init__(read, f"write it as {example}")


class ConnectionName(_Quantity[Any]):
    """A connection of a capture: its number, or its ends such as 10.0.0.1:443-10.0.0.2:51000."""

    name = "connection"

    def __init__(self) -> None:
        super().__init__(
            read_connection,
            "give its number, or an end such as `10.0.0.1:443`, or both as "
            "`10.0.0.1:443-10.0.0.2:51000`",
        )


class AddressPrefix(_Quantity[Any]):
    """A prefix of addresses such as 192.0.2.0/24 or 2001:db8::/32, or an address."""

    name = "prefix"

    def __init__(self) -> None:
        super().__init__(
            read_prefix, "write it as `192.0.2.0/24` or `2001:db8::/32`, or give an address"
        )


class QueueLimit(_Quantity[int]):
    """A limit of a queue: 150kB, 100packets, or 150kB/256B."""

    name = "limit"

    def __init__(self) -> None:
        super().__init__(
            read_limit, "write it as `150kB`, `100packets`, or in chunks as `150kB/256B`"
        )


class Mask(_Quantity[tuple[bool, ...]]):
    """Decisions such as 1,0,0: 1 is yes, and 0 is no."""

    name = "mask"

    def __init__(self) -> None:
        super().__init__(read_mask, "write it as `1,0,0,1`")


class FileName(_Quantity[str]):
    """The name of a file that the emulator reads, with one of some prefixes or without."""

    name = "file"

    def __init__(self, *prefixes: str, example: str) -> None:
        super().__init__(lambda text: read_file_name(text, prefixes), f"write it as {example}")


class JitterLaw(_Quantity[str]):
    """A law of delays: uniform:5ms, normal:5ms, pareto:5ms,3 or file:delays.txt."""

    name = "law"

    def __init__(self) -> None:
        super().__init__(
            read_jitter,
            "write it as `uniform:5ms`, `normal:5ms`, `pareto:5ms` or `file:delays.txt`",
        )


class AsText(_Type[str]):
    """A quantity that is checked and then passed on as text, without spaces at its ends.

    ``also`` are words that the option accepts besides the quantity. With ``converted``, the text
    is that of the converted value.
    """

    def __init__(
        self, kind: _Quantity[Any], *, also: tuple[str, ...] = (), converted: bool = False
    ) -> None:
        self.kind, self.also, self._converted = kind, also, converted
        self.name = kind.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the text of the option."""
        text = str(value).strip()
        if text in self.also:
            return text
        try:
            found = self.kind.convert(text, param, ctx)
        except BadValue as error:
            words = [word for word in self.also if word != NONE]
            error.hint += "".join(f", or as `{word}`" for word in words)
            raise
        return str(found) if self._converted else text


class OneOf(click.Choice[str]):
    """One of several words."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the word."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            words = [str(choice) for choice in self.choices]
            near = nearest(str(value), words)
            listed = ", ".join(f"`{word}`" for word in words)
            raise BadValue(
                value,
                f"`{value}` is not one of {listed}",
                f"did you mean `{near}`?" if near else f"choose one of {listed}",
                param,
                ctx,
            ) from None


class _List(_Type[tuple[Any, ...]]):
    """Values separated by commas, at least one unless ``empty`` is allowed."""

    def __init__(self, read: Callable[[str], Any], example: str, *, empty: bool = False) -> None:
        self._read, self._empty = read, empty
        self.hint = f"write a list such as `{example}`"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert the text of the option to a tuple of values."""
        if not isinstance(value, str):
            return value
        words = [word.strip() for word in value.split(",") if word.strip()]
        try:
            found = tuple(each for word in words for each in self._several(word))
        except ValueError as error:
            self.refuse(value, str(error), param, ctx)
        if not found and not self._empty:
            self.refuse(value, "the list is empty", param, ctx)
        return found

    def _several(self, word: str) -> tuple[Any, ...]:
        return (self._read(word),)


class Probabilities(_List):
    """Probabilities such as 0.01,5%."""

    name = "probabilities"

    def __init__(self) -> None:
        super().__init__(read_probability, "0.01,5%")


class SizeList(_List):
    """Sizes such as 1000,10kB."""

    name = "sizes"

    def __init__(self) -> None:
        super().__init__(read_bytes, "1000,10kB")


class CountList(_List):
    """Integers from ``least`` to ``most``, such as 4,8 or 4:16, which is 4 to 16."""

    name = "integers"

    def __init__(self, *, least: int, most: int, empty: bool = False) -> None:
        self._least, self._most = least, most
        super().__init__(self._integer, "4,8` or `4:16", empty=empty)

    def _integer(self, word: str) -> int:
        return int(in_range(read_integer(word), word, self._least, self._most))

    def _several(self, word: str) -> tuple[Any, ...]:
        if (spread := re.fullmatch(r"(\d+):(\d+)", word)) is None:
            return super()._several(word)
        first, last = map(self._integer, spread.groups())
        return tuple(range(first, last + 1))


def _range(least: float | None, most: float | None) -> str:
    if most is None:
        return "" if least is None else f"of at least {least:g}"
    return f"from {least} to {most}" if least is not None else f"of at most {most:g}"
