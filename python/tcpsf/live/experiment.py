"""The description of an experiment: path, senders, files and duration.

`Experiment.simulated` gives the scenario that simulates the same experiment.
"""

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
"""Acknowledgments of the clients.

They are the kernel's default, or delayed from the first segment on (``TCP_QUICKACK`` off).
"""

Through = Literal["server", "proxy"]
"""The process with the senders.

It is `tcpsf serve`, or `tcpsf proxy` in front of a server with the kernel's TCP.
"""

PathLoss = PacketLoss | ByteLoss | LinearLoss | BurstLoss

KERNEL_MSS = 1460
"""MSS that the clients announce, of which timestamps need 12 bytes in each segment."""

KERNEL_SYN_TIMEOUT = "1s"
"""Timeout after which Linux retransmits a SYN."""

DELAYED_ACK = "40ms"
"""Minimum delay of delayed acknowledgments in Linux."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """Settings of this machine's own TCP as the sender."""

    congestion: str = "reno"
    """Congestion control, by the kernel's name."""
    initial_window: int = 2
    """Initial window in segments: the `initcwnd` of the route to the clients."""

    @property
    def name(self) -> str:
        """Name of the kernel's TCP in the column ``variant``."""
        return f"kernel {self.congestion} / iw={self.initial_window}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """Fetches over one emulated path from tcpsf's server or proxy, or from the kernel."""

    name: str
    latency_ms: int
    """Additional delay of the packets from the server."""
    loss: PathLoss
    """Loss of the packets from the server."""
    senders: tuple[str, ...] = ()
    """Senders of the server or proxy, which alternate with each connection."""
    through: Through = "server"
    """The process with these senders."""
    kernel: Kernel | None = None
    """The kernel as the server, instead of `senders`."""
    latency_up_ms: int = 0
    """Additional delay of the packets from the clients."""
    loss_up: PathLoss | None = None
    """Loss of the packets from the clients."""
    receive_buffer: int | None = None
    """``SO_RCVBUF`` of the clients in bytes; ``None`` for the kernel's automatic size."""
    sizes: tuple[int, ...] | range
    """File sizes in bytes, equally likely."""
    rate: float
    """Connections, or sessions with `browsing`, that start per second in a Poisson process."""
    duration_s: float
    """Time in seconds during which connections start."""
    fetch_timeout_s: float = 30.0
    """Time limit of a connection in seconds."""
    objects: int = 1
    """Number of files that a connection fetches, one after the other."""
    browsing: Browsing | None = None
    """Sessions of browsers, instead of connections with `objects` files each."""
    acks: Acks = "kernel"
    rto_min: str = "200ms"
    seed: int = 1

    def __post_init__(self) -> None:
        where = f"cannot measure `{self.name}`"
        if not self.variants or not self.sizes:
            raise TcpsfError(
                f"{where}: it has no {'sizes' if self.variants else 'senders'}",
                hint="give at least one",
            )
        if self.senders and self.kernel is not None:
            raise TcpsfError(
                f"{where}: it has both `senders` and `kernel`",
                hint="make one experiment for each",
            )
        if self.through == "proxy" and self.kernel is not None:
            raise TcpsfError(f"{where}: the kernel is no proxy", hint="give `senders`")
        if self.browsing is not None and self.objects != 1:
            raise TcpsfError(
                f"{where}: it has both sessions of browsers "
                f"and {self.objects} files per connection",
                hint="omit `objects`: the page determines the number of files per connection",
            )
        if self.kernel is not None and self.kernel.initial_window < 1:
            raise TcpsfError(
                f"{where}: the kernel's initial window is {self.kernel.initial_window}",
                hint="it must be at least 1 segment",
            )
        if self.receive_buffer is not None and self.receive_buffer < 1:
            raise TcpsfError(
                f"{where}: the receive buffer is {self.receive_buffer}",
                hint="it must be at least 1 byte",
            )
        for what, value in (
            ("rate", self.rate),
            ("duration_s", self.duration_s),
            ("fetch_timeout_s", self.fetch_timeout_s),
        ):
            if not 0.0 < value < float("inf"):
                raise TcpsfError(f"{where}: `{what}` is {value:g}", hint="it must be above 0")
        each = 1 if self.browsing is None else self.browsing.connections
        if each * self.rate * self.duration_s > 0.9 * MOST:
            what = "fetches" if self.browsing is None else "sessions"
            raise TcpsfError(
                f"{where}: {self.rate:g} {what} per second for {self.duration_s:g} s are too many",
                hint=f"there are ports for {int(0.9 * MOST / each)} {what}",
            )
        if min(self.sizes) < 1:
            raise TcpsfError(
                f"{where}: a size is {min(self.sizes)}", hint="it must be at least 1 byte"
            )
        if self.objects < 1:
            raise TcpsfError(
                f"{where}: a connection fetches {self.objects} files", hint="it must be at least 1"
            )
        if min(self.latency_ms, self.latency_up_ms) < 0:
            raise TcpsfError(
                f"{where}: the latency is {min(self.latency_ms, self.latency_up_ms)} ms",
                hint="it must be at least 0",
            )

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of all senders, including the kernel."""
        return self.senders if self.kernel is None else (*self.senders, self.kernel.name)

    def fetches(self) -> tuple[list[float], list[list[int]]]:
        """Return the start time in seconds and the file sizes of each connection or session.

        They depend only on the seed.
        """
        # Separate random streams: arrival times must be independent of sizes and of the senders.
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
        """Return the connections, which depend on the seed and not on the senders."""
        return connections(*self.fetches(), self.browsing, random.Random(f"{self.seed}/parsing"))  # noqa: S311

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        losses = {"loss": self.loss, "loss_up": self.loss_up}
        sizes = self.sizes
        # JSON has had this name of a field since the first release.
        names = {"fetch_timeout_s": "patience_s"}
        return {
            **{names.get(name, name): value for name, value in asdict(self).items()},
            **{name: each and {"kind": each.kind, **asdict(each)} for name, each in losses.items()},
            "sizes": {"from": sizes[0], "to": sizes[-1]} if isinstance(sizes, range) else sizes,
        }

    def simulated(self, sender: str, *, head_bytes: int, flows: int) -> Scenario:
        """Return the scenario of the same path for the simulator, with about ``flows`` flows.

        All flows have the sender ``sender``. The path does not depend on the number of flows, so
        that any arrival rate is possible. ``head_bytes`` is the length of a response's header.
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
                # The client's SYN timeout, which expires before the server's.
                rto_initial=KERNEL_SYN_TIMEOUT,
            ),
        )
