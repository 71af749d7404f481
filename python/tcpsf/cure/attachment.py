"""Remedies that are attached to the kernel while a block runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tcpsf import _core
from tcpsf.cure.cgroups import ControlGroup, hierarchy
from tcpsf.cure.devices import NetDevice, chosen
from tcpsf.cure.policy import CurePolicy
from tcpsf.errors import TcpsfError

MOST_PORTS = 16
_LISTEN = "0A"


@dataclass(frozen=True, slots=True, kw_only=True)
class CureTarget:
    """Connections that a policy is applied to."""

    ports: Sequence[int] = ()
    """Local ports; all if there is none."""
    group: ControlGroup | None = None
    """Control group of the sockets; all if there is none."""
    devices: Sequence[str] = ()
    """Names of devices; all but loopback if there is none."""

    def __str__(self) -> str:
        words = [f"port {', '.join(map(str, self.ports))}"] if self.ports else []
        words += [] if self.group is None else [f"control group {self.group.folder}"]
        return " in ".join(words) or "all connections"


@dataclass(frozen=True, slots=True, kw_only=True)
class CureCounts:
    """Effects of an attached policy so far."""

    copies: int
    """Packets that were sent twice."""
    copied_bytes: int
    """Bytes of their payload."""
    connections: int
    """Accepted connections whose settings were changed."""
    refused: int
    """Settings that the kernel refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """An attached policy."""

    policy: CurePolicy
    target: CureTarget
    devices: Sequence[NetDevice]
    copier: _core.TailCopies | None
    settings: _core.SocketSettings | None

    def detach(self) -> None:
        """End the policy."""
        for each in (self.copier, self.settings):
            if each is not None:
                each.detach()

    def counts(self) -> CureCounts:
        """Return the effects so far."""
        copies, copied_bytes = (0, 0) if self.copier is None else self.copier.counts()
        connections, refused = (0, 0) if self.settings is None else self.settings.counts()
        return CureCounts(
            copies=copies, copied_bytes=copied_bytes, connections=connections, refused=refused
        )


@contextlib.contextmanager
def attached(policy: CurePolicy, target: CureTarget) -> Iterator[Attachment]:
    """Apply a policy to connections while the block runs.

    Raises `TcpsfError` without privileges, or if the kernel cannot apply it.
    """
    if len(target.ports) > MOST_PORTS:
        raise TcpsfError(
            f"cannot select {len(target.ports)} ports: expected at most {MOST_PORTS}",
            hint="select a control group, or run the command twice",
        )
    devices = chosen(target.devices) if policy.dup_tail else []
    with contextlib.ExitStack() as stack:
        with _plain_errors():
            copier = _copier(devices, target) if policy.dup_tail else None
            if copier is not None:
                stack.callback(copier.detach)
            settings = _settings(policy, target) if policy.changes_sockets else None
            if settings is not None:
                stack.callback(settings.detach)
        yield Attachment(
            policy=policy, target=target, devices=devices, copier=copier, settings=settings
        )


def _copier(devices: Sequence[NetDevice], target: CureTarget) -> _core.TailCopies:
    group = None if target.group is None else (target.group.identifier, target.group.level)
    places = [(device.index, device.header_bytes) for device in devices]
    return _core.TailCopies(devices=places, ports=list(target.ports), cgroup=group)


def _settings(policy: CurePolicy, target: CureTarget) -> _core.SocketSettings:
    group = target.group or hierarchy()
    minimum = None if policy.rto_min_ms is None else 1000 * policy.rto_min_ms
    return _core.SocketSettings(
        cgroup=str(group.folder),
        ports=list(target.ports),
        rto_min_us=minimum,
        initial_window=policy.initial_window,
    )


def listening_ports() -> set[int]:
    """Return the ports at which programs of this machine's network namespace listen."""
    found = set()
    for file in ("tcp", "tcp6"):
        with contextlib.suppress(FileNotFoundError):  # the kernel may not have IPv6
            lines = (Path("/proc/net") / file).read_text(encoding="ascii").splitlines()
            fields = (line.split() for line in lines[1:])
            found |= {int(each[1].rpartition(":")[2], 16) for each in fields if each[3] == _LISTEN}
    return found


@contextlib.contextmanager
def _plain_errors() -> Iterator[None]:
    """Convert errors of the system to `TcpsfError`."""
    try:
        yield
    except RuntimeError as error:
        message, hint = (*error.args, None)[:2]
        raise TcpsfError(str(message), hint=hint) from None
