"""Readers of the values of options: each converts text, or raises `ValueError` with the problem."""

from __future__ import annotations

import decimal
import math
import re
from ipaddress import ip_address
from typing import TYPE_CHECKING

from tcpsf import _core
from tcpsf.captures import End

if TYPE_CHECKING:
    from tcpsf.cure import PeerPrefix


def in_range(value: float, text: str, least: float | None, most: float | None) -> float:
    """Return a value, or raise `ValueError` if it is out of range."""
    if (least is not None and value < least) or (most is not None and value > most):
        if most is None:
            raise ValueError(f"`{text}` is below {least}")
        raise ValueError(f"`{text}` is not in the range {least} to {most}")
    return value


def read_seconds(text: str) -> float:
    """Read a time such as 200ms, in seconds."""
    return _core.nanoseconds(text) / 1e9


def read_integer(text: str) -> int:
    """Read an integer."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"`{text}` is not an integer") from None


def read_number(text: str) -> float:
    """Read a finite number."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"`{text}` is not a number")
    return number


def read_bytes(text: str) -> int:
    """Read a size such as 10kB, or a number of bytes."""
    try:
        number = read_number(text)
    except ValueError:
        return _core.bytes(text)
    if number < 0 or not number.is_integer():
        raise ValueError(f"`{text}` is not a whole number of bytes")
    return int(number)


def read_probability(text: str) -> float:
    """Read a probability such as 0.01 or 1%."""
    word = text.strip()
    try:
        share = decimal.Decimal(word.removesuffix("%"))
        number = float(share / 100 if word.endswith("%") else share)
    except (ArithmeticError, ValueError):
        raise ValueError(f"`{text}` is not a probability") from None
    if not 0 <= number <= 1:
        raise ValueError(f"`{text}` is not a probability: it must lie between 0 and 1")
    return number


def read_part(text: str) -> tuple[int, int]:
    """Read a part of several equal ones, such as 3/8."""
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text.strip())
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise ValueError(f"`{text}` is not one of several parts such as 3/8")
    return int(found[1]), int(found[2])


def read_bytes_or_packets(text: str) -> int:
    """Read a size with a unit such as 150kB, or a number of packets such as 100packets."""
    packets = re.fullmatch(r"(\d+)\s*packets?", text.strip())
    return int(packets[1]) if packets else _core.bytes(text)


def read_limit(text: str) -> int:
    """Read a limit of a queue: 150kB, 100packets, or 150kB/256B for chunks of 256 bytes."""
    size, chunked, chunk = text.partition("/")
    if chunked:
        _core.bytes(chunk)
        return _core.bytes(size)
    return read_bytes_or_packets(text)


def read_mask(text: str) -> tuple[bool, ...]:
    """Read decisions such as 1,0,0: 1 is yes, 0 is no. Semicolons may separate several lists."""
    words = [word.strip() for word in text.replace(";", ",").split(",")]
    for word in words:
        if word not in ("0", "1"):
            raise ValueError(f"`{word}` is neither 0 nor 1")
    return tuple(word == "1" for word in words)


def read_file_name(text: str, prefixes: tuple[str, ...]) -> str:
    """Read the name of a file, which may follow one of ``prefixes``; return the whole text."""
    name = text
    for prefix in prefixes:
        name = name.removeprefix(prefix)
    if not name:
        raise ValueError("there is no name of a file")
    return text


def read_jitter(text: str) -> str:
    """Read a law of delays such as normal:5ms or file:delays.txt; return the whole text."""
    law, _, rest = text.partition(":")
    match law.strip():
        case "uniform" | "normal":
            read_seconds(rest)
        case "pareto":
            mean, comma, shape = rest.partition(",")
            read_seconds(mean)
            if comma and not 1 < read_number(shape) <= 1000:
                raise ValueError(f"`{shape}` is not a shape above 1 and at most 1000")
        case "file":
            read_file_name(rest, ())
        case other:
            raise ValueError(f"there is no law `{other}`")
    return text


def read_connection(text: str) -> int | tuple[End, End]:
    """Read a number of a connection, or its ends: ``10.0.0.1:443``, ``10.0.0.1:443-10.0.0.2:5000``.

    >>> read_connection("12"), read_connection("10.0.0.1:443")
    (12, (('10.0.0.1', 443), (None, None)))
    >>> read_connection("[2001:db8::1]:443-:5000")
    (('2001:db8::1', 443), (None, 5000))
    """
    word = text.strip()
    if word.isdecimal():
        return int(in_range(int(word), text, 0, 2**63 - 1))
    ends = [_read_end(part.strip(), text) for part in word.split("-")]
    if len(ends) > 2:
        raise ValueError(f"`{text}` has more than two ends")
    return ends[0], ends[1] if len(ends) > 1 else (None, None)


def read_prefix(text: str) -> PeerPrefix:
    """Read a prefix of addresses, or an address.

    >>> str(read_prefix("192.0.2.0/24")), str(read_prefix("2001:db8::1"))
    ('192.0.2.0/24', '2001:db8::1/128')
    """
    from tcpsf.cure import PeerPrefix

    return PeerPrefix.parse(text)


def _read_end(part: str, text: str) -> End:
    found = re.fullmatch(r"(?:\[([^\]]*)\]|([^:\[\]]*))(?::(\d{1,5}))?", part)
    if found is None or not part:
        raise ValueError(f"`{text}` is neither a number nor an address with a port")
    six, four, port = found.groups()
    if port is not None and int(port) > 65_535:
        raise ValueError(f"`{port}` is no port")
    try:
        address = str(ip_address(six or four)) if six or four else None
    except ValueError:
        raise ValueError(f"`{six or four}` is no IP address") from None
    return address, None if port is None else int(port)
