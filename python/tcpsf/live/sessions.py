"""Sessions of a browser: a page and its embedded objects over persistent connections.

In the Smart Framing paper the clients were browsers in the authors' department. The paper says that
connections carried several requests with idle time between them, and were closed after a timeout
(section IV-C). It gives no numbers. The numbers of this module are from the Web model of 3GPP2
C.R1002-0 (cdma2000 Evaluation Methodology, 2004), and from HTTP/1.1 at that time.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from tcpsf.errors import TcpsfError


@dataclass(frozen=True, slots=True, kw_only=True)
class Browsing:
    """Sessions of one page each. All connections of a session have the same server."""

    connections: int = 2
    """Maximum number of parallel connections: RFC 2616 §8.1.4."""
    shape: float = 1.1
    """Shape of the Pareto distribution for the number of embedded objects: 3GPP2 C.R1002-0."""
    scale: float = 2.0
    """Minimum of this distribution, which is subtracted."""
    cut: float = 55.0
    """Maximum of this distribution; larger values count as this value."""
    parsing_s: float = 0.13
    """Mean time in seconds from the page's last byte to the next request.

    The distribution is exponential: 3GPP2 C.R1002-0.
    """
    linger_s: float = 1.0
    """Idle time in seconds after which the browser closes a connection: an assumption."""

    def __post_init__(self) -> None:
        for what, value, least in (
            ("connections", self.connections, 1),
            ("shape", self.shape, 0.1),
            ("scale", self.scale, 0.1),
            ("cut", self.cut, self.scale),
        ):
            if not least <= value < float("inf"):
                raise TcpsfError(
                    f"cannot browse: `{what}` is {value:g}", hint=f"it must be at least {least:g}"
                )
        for what, value in (("parsing_s", self.parsing_s), ("linger_s", self.linger_s)):
            if not 0.0 < value < float("inf"):
                raise TcpsfError(f"cannot browse: `{what}` is {value:g}", hint="it must be above 0")

    def embedded(self, chance: random.Random) -> int:
        """Draw the number of objects that a page embeds.

        >>> Browsing().embedded(random.Random(2)) <= 53
        True
        """
        drawn = self.scale * chance.paretovariate(self.shape)
        return round(min(drawn, self.cut) - self.scale)

    def parsed_s(self, chance: random.Random) -> float:
        """Draw the time in seconds for parsing a page."""
        return chance.expovariate(1.0 / self.parsing_s)

    def divided(self, sizes: Sequence[int]) -> list[list[int]]:
        """Return the sizes for each connection: the page, then its embedded objects in rotation.

        >>> Browsing().divided([10, 1, 2, 3])
        [[10, 1, 3], [2]]
        >>> Browsing().divided([10, 1])
        [[10, 1]]
        """
        page, embedded = sizes[0], sizes[1:]
        first, *others = (
            [*embedded[number :: self.connections]] for number in range(self.connections)
        )
        return [[page, *first], *(each for each in others if each)]


@dataclass(slots=True)
class Connections:
    """The connections of the clients. Each list has one element per connection."""

    starts_s: list[float | None] = field(default_factory=list)
    """Start time in seconds from the beginning of the run; ``None`` if another one opens it."""
    sizes: list[list[int]] = field(default_factory=list)
    """Sizes in bytes of its files, which the client fetches one after the other."""
    parsing_s: list[float] = field(default_factory=list)
    """Time in seconds for parsing its first file, before the following requests."""
    opens: list[list[int]] = field(default_factory=list)
    """Numbers of the connections that open when its first file has been parsed."""


def connections(
    starts_s: Sequence[float],
    sizes: Sequence[Sequence[int]],
    browsing: Browsing | None,
    chance: random.Random,
) -> Connections:
    """Return the connections of sessions, or one connection for each start without sessions."""
    found = Connections()
    for start_s, files in zip(starts_s, sizes, strict=True):
        parts = [list(files)] if browsing is None else browsing.divided(files)
        first = len(found.sizes)
        found.starts_s += [start_s, *[None] * (len(parts) - 1)]
        found.sizes += parts
        found.parsing_s += [
            0.0 if browsing is None else browsing.parsed_s(chance),
            *[0.0] * (len(parts) - 1),
        ]
        found.opens += [list(range(first + 1, first + len(parts))), *[[] for _ in parts[1:]]]
    return found
