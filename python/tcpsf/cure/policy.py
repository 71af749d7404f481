"""Names of the remedies that the kernel can apply to a running server."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tcpsf.errors import TcpsfError

LONGEST_MINIMUM_MS = 200
"""Linux's minimum of the timeout in milliseconds (`TCP_RTO_MIN`): `rto-min` only lowers it."""

MOST_WINDOW = 64
"""Largest initial window in segments."""

EXAMPLES = "`dup-tail`, `rto-min(ms=20)`, `iw=20`, or several, joined by `+`"


@dataclass(frozen=True, slots=True, kw_only=True)
class CurePolicy:
    """Remedies that are applied together. The names are those of senders."""

    dup_tail: bool = False
    """Whether the last segment of a write is sent twice."""
    rto_min_ms: int | None = None
    """Minimum of the retransmission timeout in milliseconds."""
    initial_window: int | None = None
    """Initial congestion window in segments."""

    @classmethod
    def parse(cls, text: str) -> CurePolicy:
        """Read a policy.

        Raises `TcpsfError` if a part is no remedy, or if there are two of a kind.
        """
        found: dict[str, bool | int] = {}
        for part in text.split("+"):
            name, value = _remedy(part.strip(), text)
            if name in found:
                raise TcpsfError(
                    f"cannot read the policy `{text}`: `{part.strip()}` is the second of its kind",
                    hint="give each remedy once",
                )
            found[name] = value
        return cls(**found)  # type: ignore[arg-type]

    def __str__(self) -> str:
        names = ["dup-tail"] if self.dup_tail else []
        names += [] if self.rto_min_ms is None else [f"rto-min(ms={self.rto_min_ms})"]
        names += [] if self.initial_window is None else [f"iw={self.initial_window}"]
        return "+".join(names)

    @property
    def changes_sockets(self) -> bool:
        """Whether settings of sockets are changed, which only new connections get."""
        return self.rto_min_ms is not None or self.initial_window is not None


def _remedy(part: str, text: str) -> tuple[str, bool | int]:
    """Return the field of a remedy and its value."""
    if part == "dup-tail":
        return "dup_tail", True
    for field, pattern, most in (
        ("rto_min_ms", r"rto-min\(ms=(\d+)\)", LONGEST_MINIMUM_MS),
        ("initial_window", r"iw=(\d+)", MOST_WINDOW),
    ):
        found = re.fullmatch(pattern, part)
        if found is None:
            continue
        if not 1 <= int(found[1]) <= most:
            raise TcpsfError(
                f"cannot read the policy `{text}`: expected a number from 1 to {most} in `{part}`",
                hint=f"e.g. {EXAMPLES}",
            )
        return field, int(found[1])
    raise TcpsfError(
        f"cannot read the policy `{text}`: `{part}` is no remedy that the kernel can apply",
        hint=f"e.g. {EXAMPLES}; `tcpsf proxy --sender` applies all others",
    )
