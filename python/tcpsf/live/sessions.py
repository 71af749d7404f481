"""What a browser does in a session: it fetches a page and what the page embeds, over persistent connections.

The Smart Framing paper had browsers of its department as clients and says of their sessions that
connections carried several requests with idle time between them, and were shut down after a timeout
(section IV-C). It gives no numbers. Those here are the Web model of 3GPP2 C.R1002-0 (cdma2000
Evaluation Methodology, 2004), and what HTTP/1.1 said then.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from tcpsf.errors import TcpsfError


@dataclass(frozen=True, slots=True, kw_only=True)
class Browsing:
    """Sessions of one page each; all connections of a session go to the same server."""

    connections: int = 2
    """Parallel connections at the most: RFC 2616 §8.1.4."""
    shape: float = 1.1
    """Of the Pareto distribution that the number of embedded objects comes from: 3GPP2 C.R1002-0."""
    scale: float = 2.0
    """Its smallest value, which is subtracted."""
    cut: float = 55.0
    """Its largest value: what is above counts as this."""
    parsing_s: float = 0.13
    """Seconds, mean of an exponential distribution: from the page's last byte to the next request. 3GPP2 C.R1002-0."""
    linger_s: float = 1.0
    """Seconds: the browser closes a connection that has been idle for so long. An assumption of this project."""

    def __post_init__(self) -> None:
        for what, value, least in (
            ("connections", self.connections, 1),
            ("shape", self.shape, 0.1),
            ("scale", self.scale, 0.1),
            ("cut", self.cut, self.scale),
        ):
            if not least <= value < float("inf"):
                raise TcpsfError(f"cannot browse: `{what}` is {value:g}", hint=f"{least:g} or more")
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
        """Draw for how many seconds a page is parsed."""
        return chance.expovariate(1.0 / self.parsing_s)

    def divided(self, sizes: Sequence[int]) -> list[list[int]]:
        """Return the sizes that each connection carries: the page first, then what it embeds, in turn.

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
    """What the clients do; each list has an element for each connection."""

    starts_s: list[float | None] = field(default_factory=list)
    """When it begins, in seconds from the beginning of the run; ``None`` if another connection opens it."""
    sizes: list[list[int]] = field(default_factory=list)
    """Bytes of its files, which it fetches one after the other."""
    parsing_s: list[float] = field(default_factory=list)
    """Seconds for which its first file is parsed before what follows from that file."""
    opens: list[list[int]] = field(default_factory=list)
    """Numbers of the connections that are begun when its first file has been parsed."""


def connections(
    starts_s: Sequence[float],
    sizes: Sequence[Sequence[int]],
    browsing: Browsing | None,
    chance: random.Random,
) -> Connections:
    """Return the connections of sessions, or one connection for each start where there are no sessions."""
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
