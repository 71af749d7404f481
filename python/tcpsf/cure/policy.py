"""Names of the remedies that the kernel can apply to a running server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tcpsf.errors import TcpsfError

USUAL_WINDOW = 10
"""Initial window of Linux in segments (RFC 6928)."""

MOST_WINDOW = 64
"""Largest initial window, and largest parameter of framing."""

EXAMPLES = "`dup-tail`, `dup-tail(delay=10ms)`, `tail(n=4)`, `rto-min(ms=20)`, `iw=20`, or several, joined by `+`"


@dataclass(frozen=True, slots=True)
class _Number:
    """A parameter of a remedy."""

    most: int
    least: int = 1
    default: int | None = None
    """``None`` if there is no value without one that is given."""
    unit: str = ""
    may_lack: bool = False
    """Whether the remedy does without the parameter."""


_PARAMETERS: Mapping[str, Mapping[str, _Number]] = {
    # The kernel's list of the pieces of a write is short.
    "tail": {"n": _Number(14, least=2, default=4)},
    "tiny-tail": {},
    "fs": {"n": _Number(MOST_WINDOW, least=2, default=4), "min": _Number(MOST_WINDOW, default=4)},
    "dup-tail": {"delay": _Number(1000, unit="ms", may_lack=True)},
    # Linux's minimum of the timeout is 200 ms (`TCP_RTO_MIN`), and `rto-min` only lowers it.
    "rto-min": {"ms": _Number(200)},
    "iw": {"": _Number(MOST_WINDOW)},
}
"""Parameters of each remedy, in the order in which a policy is printed.

``iw=N`` has no name for its number.
"""

_CUTS = ("tail", "tiny-tail", "fs")


@dataclass(frozen=True, slots=True)
class CurePolicy:
    """Remedies that are applied together. The names are those of senders."""

    remedies: Mapping[str, Mapping[str, int]]
    """Names of remedies, with the values of their parameters."""

    @classmethod
    def parse(cls, text: str) -> CurePolicy:
        """Read a policy.

        Raises `TcpsfError` if a part is no remedy, if there are two of a kind, or if a remedy has no
        effect.
        """
        found: dict[str, dict[str, int]] = {}
        for part in text.split("+"):
            name, values = _remedy(part.strip(), text)
            rivals = _CUTS if name in _CUTS else (name,)
            if any(rival in found for rival in rivals):
                raise TcpsfError(
                    f"cannot read the policy `{text}`: `{part.strip()}` is the second of its kind",
                    hint="give each remedy once, and one of `tail`, `tiny-tail` and `fs`",
                )
            found[name] = values
        policy = cls({name: found[name] for name in _PARAMETERS if name in found})
        _require_effect(policy, text)
        return policy

    def __str__(self) -> str:
        return "+".join(_printed(name, values) for name, values in self.remedies.items())

    @property
    def sender(self) -> str:
        """Name of the sender of Linux with these remedies, as the simulator reads it."""
        parts = [_printed(name, values) for name, values in self.remedies.items() if name != "iw"]
        framing = "+".join(parts) or "full"
        if not self.cuts:
            framing = f"full+{framing}" if parts else framing
        return f"linux / {framing} / iw={self.initial_window or USUAL_WINDOW}"

    @property
    def copies_tail(self) -> bool:
        """Whether the last segment of a write is sent twice."""
        return "dup-tail" in self.remedies

    @property
    def copy_delay_ms(self) -> int | None:
        """Delay of the copies in milliseconds; ``None`` if they follow at once."""
        return self.remedies.get("dup-tail", {}).get("delay")

    @property
    def cuts(self) -> bool:
        """Whether what the server writes is cut."""
        return any(name in self.remedies for name in _CUTS)

    @property
    def changes_sockets(self) -> bool:
        """Whether sockets are changed, which only new connections get."""
        return bool(self.remedies.keys() - {"dup-tail"})

    @property
    def rto_min_ms(self) -> int | None:
        """Minimum of the retransmission timeout in milliseconds."""
        return self.remedies.get("rto-min", {}).get("ms")

    @property
    def initial_window(self) -> int | None:
        """Initial congestion window in segments."""
        return self.remedies.get("iw", {}).get("")

    @property
    def tail_pieces(self) -> int | None:
        """Number of pieces of the last segment of a write."""
        return self.remedies.get("tail", {}).get("n")

    @property
    def cuts_last_byte(self) -> bool:
        """Whether the last byte of a write leaves in a segment of its own."""
        return "tiny-tail" in self.remedies

    @property
    def fixed_size(self) -> tuple[int, int, int] | None:
        """Parameters of fixed-size framing.

        They are the number of segments to an initial window, that window, and the first window
        without framing. The windows are in full-sized segments.
        """
        found = self.remedies.get("fs")
        if found is None:
            return None
        return found["n"], self.initial_window or USUAL_WINDOW, found["min"]


def _printed(name: str, values: Mapping[str, int]) -> str:
    if name == "iw":
        return f"iw={values['']}"
    units = {key: number.unit for key, number in _PARAMETERS[name].items()}
    inside = ", ".join(f"{key}={value}{units[key]}" for key, value in values.items())
    return f"{name}({inside})" if inside else name


def _remedy(part: str, text: str) -> tuple[str, dict[str, int]]:
    """Return the name of a remedy and the values of its parameters."""
    window = re.fullmatch(r"iw=(\d+)", part)
    called = re.fullmatch(r"([a-z-]+)(?:\(([^()]*)\))?", part)
    if window is not None:
        name, given = "iw", {"": window[1]}
    elif called is not None and called[1] in _PARAMETERS and called[1] != "iw":
        name = called[1]
        pairs = (pair.partition("=") for pair in (called[2] or "").split(",") if pair.strip())
        given = {key.strip(): value.strip() for key, _, value in pairs}
    else:
        raise TcpsfError(
            f"cannot read the policy `{text}`: `{part}` is no remedy that the kernel can apply",
            hint=f"e.g. {EXAMPLES}; `tcpsf proxy --sender` applies all others",
        )
    numbers = _PARAMETERS[name]
    values = {}
    for key, number in numbers.items():
        word = given.pop(key, None if number.default is None else str(number.default))
        if word is None and number.may_lack:
            continue
        found = re.fullmatch(rf"(\d{{1,9}}){number.unit}", word or "")
        if found is None:
            raise _bad_number(text, part, number)
        values[key] = int(found[1])
        if not number.least <= values[key] <= number.most:
            raise _bad_number(text, part, number)
    if given:
        raise TcpsfError(
            f"cannot read the policy `{text}`: `{name}` has no parameter `{next(iter(given))}`",
            hint=f"e.g. {EXAMPLES}",
        )
    return name, values


def _bad_number(text: str, part: str, number: _Number) -> TcpsfError:
    return TcpsfError(
        f"cannot read the policy `{text}`: expected a number from {number.least}{number.unit} to "
        f"{number.most}{number.unit} in `{part}`",
        hint=f"e.g. {EXAMPLES}",
    )


def _require_effect(policy: CurePolicy, text: str) -> None:
    """Refuse framing whose segments are full-sized."""
    found = policy.fixed_size
    if found is not None and found[0] <= found[1]:
        raise TcpsfError(
            f"cannot apply the policy `{text}`: an initial window of {found[1]} segments is not cut "
            f"into {found[0]}",
            hint=f"e.g. `fs(n={min(MOST_WINDOW, 4 * found[1])}, min={min(MOST_WINDOW, found[1] + 1)})`",
        )
