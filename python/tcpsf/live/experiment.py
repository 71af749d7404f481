"""What is measured in one go: a path, its senders, the files fetched, for how long. Also how it is simulated."""

from __future__ import annotations

import itertools
import random
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from tcpsf.errors import TcpsfError
from tcpsf.live.clients import MOST
from tcpsf.live.sessions import Browsing, Connections, connections
from tcpsf.scenario import (
    BurstLoss,
    ByteLoss,
    LinearLoss,
    Link,
    PacketLoss,
    Poisson,
    Scenario,
    Sizes,
    Tcp,
)

Acks = Literal["kernel", "delayed"]
"""How the clients acknowledge: as their kernel does, or delayed from the first segment on (``TCP_QUICKACK`` off)."""

Through = Literal["server", "proxy"]
"""Who has the senders: `tcpsf serve`, or `tcpsf proxy` in front of a server of the kernel's TCP."""

PathLoss = PacketLoss | ByteLoss | LinearLoss | BurstLoss

KERNEL_MSS = 1460
"""What the clients announce; timestamps take 12 bytes of it in each segment."""

KERNEL_SYN_TIMEOUT = "1s"
"""After which Linux repeats a SYN."""

DELAYED_ACK = "40ms"
"""The least delay of Linux's delayed acknowledgments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """This machine's own TCP as the sender."""

    congestion: str = "reno"
    """Its congestion control, by the kernel's name."""
    initial_window: int = 2
    """Segments: the `initcwnd` of its route to the clients."""

    @property
    def name(self) -> str:
        """How it is called among the senders."""
        return f"kernel {self.congestion} / iw={self.initial_window}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """Fetches over one emulated path, from `tcpsf serve` or `tcpsf proxy` with senders by turns, or from the kernel."""

    name: str
    latency_ms: int
    """Extra delay of what the server sends."""
    loss: PathLoss
    """Loss of what the server sends."""
    senders: tuple[str, ...] = ()
    """The server's or proxy's senders, which take turns connection by connection."""
    through: Through = "server"
    """Who has these senders."""
    kernel: Kernel | None = None
    """Who serves in place of them."""
    latency_up_ms: int = 0
    """Extra delay of what the clients send."""
    loss_up: PathLoss | None = None
    """Loss of what the clients send."""
    receive_buffer: int | None = None
    """Bytes: the clients' ``SO_RCVBUF``; ``None``: the kernel tunes it."""
    sizes: tuple[int, ...] | range
    """File sizes in bytes, equally likely."""
    rate: float
    """Connections begun per second, as a Poisson process; with `browsing` sessions."""
    duration_s: float
    """For how long they are begun."""
    patience_s: float = 30.0
    """After so long a connection is given up."""
    objects: int = 1
    """Files that a connection fetches, one after the other."""
    browsing: Browsing | None = None
    """Sessions of browsers, in place of connections that carry `objects` files each."""
    acks: Acks = "kernel"
    rto_min: str = "200ms"
    seed: int = 1

    def __post_init__(self) -> None:
        where = f"cannot measure `{self.name}`"
        if not self.variants or not self.sizes:
            raise TcpsfError(
                f"{where}: it has no {'sizes' if self.variants else 'senders'}",
                hint="name one at least",
            )
        if self.senders and self.kernel is not None:
            raise TcpsfError(
                f"{where}: it has senders, and the kernel as well",
                hint="make an experiment of each",
            )
        if self.through == "proxy" and self.kernel is not None:
            raise TcpsfError(f"{where}: the kernel is no proxy", hint="name senders")
        if self.browsing is not None and self.objects != 1:
            raise TcpsfError(
                f"{where}: it has sessions of browsers, and {self.objects} files for each connection as well",
                hint="leave `objects` out: the page decides how many files a connection carries",
            )
        if self.kernel is not None and self.kernel.initial_window < 1:
            raise TcpsfError(
                f"{where}: the kernel's initial window is {self.kernel.initial_window}",
                hint="1 segment or more",
            )
        if self.receive_buffer is not None and self.receive_buffer < 1:
            raise TcpsfError(
                f"{where}: the receive buffer is {self.receive_buffer}", hint="1 byte or more"
            )
        for what, value in (
            ("rate", self.rate),
            ("duration_s", self.duration_s),
            ("patience_s", self.patience_s),
        ):
            if not 0.0 < value < float("inf"):
                raise TcpsfError(f"{where}: `{what}` is {value:g}", hint="it must be above 0")
        each = 1 if self.browsing is None else self.browsing.connections
        if each * self.rate * self.duration_s > 0.9 * MOST:
            what = "fetches" if self.browsing is None else "sessions"
            raise TcpsfError(
                f"{where}: {self.rate:g} {what} per second for {self.duration_s:g} s are too many",
                hint=f"a run has ports for {int(0.9 * MOST / each)} {what}",
            )
        if min(self.sizes) < 1:
            raise TcpsfError(
                f"{where}: a size is {min(self.sizes)}", hint="a file has 1 byte at least"
            )
        if self.objects < 1:
            raise TcpsfError(
                f"{where}: a connection fetches {self.objects} files", hint="1 or more"
            )
        if min(self.latency_ms, self.latency_up_ms) < 0:
            raise TcpsfError(
                f"{where}: the latency is {min(self.latency_ms, self.latency_up_ms)} ms",
                hint="0 or more",
            )

    @property
    def variants(self) -> tuple[str, ...]:
        """The names of those who send."""
        return self.senders if self.kernel is None else (*self.senders, self.kernel.name)

    def fetches(self) -> tuple[list[float], list[list[int]]]:
        """When each connection or session begins, in seconds, and its files' sizes; the same for the same seed."""
        # The number of the seed and what must not depend on each other: sizes, and the turns of the
        # senders.
        arrivals = random.Random(f"{self.seed}/arrivals")  # noqa: S311  not for secrets
        sizes = random.Random(f"{self.seed}/sizes")  # noqa: S311
        gaps = iter(lambda: arrivals.expovariate(self.rate), None)
        starts = list(
            itertools.takewhile(lambda at: at < self.duration_s, itertools.accumulate(gaps))
        )
        if self.browsing is None:
            return starts, [sizes.choices(self.sizes, k=self.objects) for _ in starts]
        pages = random.Random(f"{self.seed}/pages")  # noqa: S311
        return starts, [
            sizes.choices(self.sizes, k=1 + self.browsing.embedded(pages)) for _ in starts
        ]

    def connections(self) -> Connections:
        """What each connection does, whoever sends; the same for the same seed."""
        return connections(*self.fetches(), self.browsing, random.Random(f"{self.seed}/parsing"))  # noqa: S311

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        losses = {"loss": self.loss, "loss_up": self.loss_up}
        sizes = self.sizes
        return {
            **asdict(self),
            **{name: each and {"kind": each.kind, **asdict(each)} for name, each in losses.items()},
            "sizes": {"from": sizes[0], "to": sizes[-1]} if isinstance(sizes, range) else sizes,
        }

    def simulated(self, sender: str, *, head_bytes: int, flows: int) -> Scenario:
        """Return the same for the simulator, with some ``flows`` of one sender.

        Nothing on the path depends on how many flows there are, so they may come at any rate.
        ``head_bytes`` is how much longer than the file a response was.
        """
        rate = 100.0
        delayed = (
            Tcp(ack_every=2, ack_delay=DELAYED_ACK) if self.acks == "delayed" else Tcp(ack_every=1)
        )
        return Scenario(
            name=f"{self.name}, simulated",
            duration=f"{flows / rate:g}s",
            link=(
                Link(
                    name="down",
                    from_="server",
                    to="client",
                    delay=f"{self.latency_ms}ms",
                    loss=self.loss,
                ),
                Link(name="up", from_="client", to="server"),
            ),
            workload=(
                Poisson(
                    name="web",
                    from_="server",
                    to="client",
                    rate=rate,
                    sizes=Sizes(classes=tuple(size + head_bytes for size in self.sizes)),
                    sender=sender,
                    handshake=True,
                    opener="receiver",
                ),
            ),
            tcp=replace(
                delayed,
                profile="rfc",
                mss=KERNEL_MSS,
                timestamps=True,
                rto_min=self.rto_min,
                # What the client waits before it repeats its SYN: it comes before the server's own.
                rto_initial=KERNEL_SYN_TIMEOUT,
            ),
        )
