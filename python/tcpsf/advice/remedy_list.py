"""Remedies that are replayed: the names of their senders, and how a server gets them.

[Senders](docs/reference/senders.md) has the rules of each.
"""

from __future__ import annotations

from dataclasses import dataclass

from tcpsf.cure.policy import CurePolicy
from tcpsf.errors import TcpsfError

COUNTED = 64
"""Largest initial window of a sender that counts packets, and `n` of framing, in segments."""

RFC_WINDOW = 10
"""Largest initial window in segments of other senders (RFC 6928)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A change of the sender."""

    name: str
    """Name in results. It is the part of the sender's name that changes."""
    framing: str | None = None
    """Framing of the sender; ``{n}`` and ``{min}`` are parameters of Smart Framing."""
    window_factor: int = 1
    """Factor by which the initial window grows."""
    window: int | None = None
    """Initial window in segments, instead of the factor."""
    route: str | None = None
    """Setting of a route of Linux that has the same effect, as `ip route change` reads it."""

    def sender(self, control: str, window: int, initial: int, most: int) -> str:
        """Return the name of the sender with the remedy.

        ``window`` is that of the replayed transfers in segments, and ``initial`` that of the
        connections. ``most`` is the largest initial window of the sender.
        """
        wanted = initial * self.window_factor if self.window is None else self.window
        begins = min(wanted if window <= initial else max(window, wanted), most)
        full = min(window, COUNTED // 4)
        framing = (self.framing or "full").format(n=4 * full, min=max(4, full + 1))
        return f"{control} / {framing} / iw={begins}"

    def policy(self, sender: str) -> CurePolicy | None:
        """Return the policy of `tcpsf cure` for the sender's name; ``None`` if it has none."""
        if self == NONE:
            return None
        _, framing, window = sender.split(" / ")
        try:
            return CurePolicy.parse(window if framing == "full" else framing)
        except TcpsfError:
            return None

    def application(self, sender: str) -> str:
        """Return how a server gets the remedy, by the sender's name."""
        if self == NONE:
            return ""
        policy = self.policy(sender)
        proxy = f"`tcpsf proxy --sender '{sender}'` in front of the server"
        if policy is None:
            return proxy
        attach = f"`tcpsf cure attach --policy '{policy}'`"
        if self.route is not None:
            return f"{attach} or `ip route change … {self.route}` (Linux)"
        return f"{attach} on the server (Linux), or {proxy}"


NONE = Remedy(name="none")
"""The sender as it is."""

REMEDIES = (
    Remedy(name="fs", framing="fs(n={n}, min={min})"),
    Remedy(name="vs", framing="vs(n={n}, min={min})"),
    Remedy(name="tail(n=4)", framing="tail(n=4)"),
    Remedy(name="tiny-tail", framing="tiny-tail"),
    Remedy(name="dup-tail", framing="dup-tail"),
    Remedy(name="dup-tail(delay=10ms)", framing="dup-tail(delay=10ms)"),
    Remedy(name="rto-min(ms=20)", framing="rto-min(ms=20)", route="rto_min 20ms"),
    Remedy(name="larger window", window_factor=2, route="initcwnd N"),
)
"""The remedies that are replayed by default."""


def remedy(text: str) -> Remedy:
    """Return a remedy by its name, or one that is written as the framing of a sender, or `iw=N`.

    Raises `TcpsfError` if the text is none of them. The simulator checks the framing itself.
    """
    for known in REMEDIES:
        if text == known.name:
            return known
    if text.startswith("iw="):
        number = text.removeprefix("iw=")
        if not number.isdecimal() or not 1 <= int(number) <= COUNTED:
            raise TcpsfError(
                f"`--remedy {text}`: `{number}` is not a whole number from 1 to {COUNTED}",
                hint="for example `--remedy iw=20`",
            )
        return Remedy(name=text, window=int(number), route=f"initcwnd {number}")
    if "/" in text or "{" in text or not text.strip():
        raise TcpsfError(
            f"`--remedy {text}`: expected the framing of a sender, or `iw=N`",
            hint="for example `--remedy 'tail(n=3)+rto-min(ms=50)'`; `docs/reference/senders.md` "
            "lists the framings",
        )
    framing = text.strip()
    return Remedy(name=framing, framing=framing)
