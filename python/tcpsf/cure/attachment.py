"""Remedies that are attached to the kernel while a block runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tcpsf import _core
from tcpsf.cure.cgroups import hierarchy
from tcpsf.cure.devices import NetDevice, chosen
from tcpsf.cure.intact import require_intact_data
from tcpsf.cure.policy import CurePolicy
from tcpsf.cure.target import CureTarget
from tcpsf.errors import TcpsfError

MOST_PORTS = 16
MOST_PEERS = 16
_LISTEN = "0A"


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
    cut_writes: int
    """Writes that were cut."""
    cuts: int
    """Cuts in them."""


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
        connections, refused, cut_writes, cuts = (
            (0, 0, 0, 0) if self.settings is None else self.settings.counts()
        )
        return CureCounts(
            copies=copies,
            copied_bytes=copied_bytes,
            connections=connections,
            refused=refused,
            cut_writes=cut_writes,
            cuts=cuts,
        )


@dataclass(frozen=True, slots=True)
class TrialArm:
    """A remedy of trials."""

    trial: _core.RemedyTrial
    number: int
    """Number of the remedy, from 0 to 63."""


@contextlib.contextmanager
def measured(target: CureTarget) -> Iterator[_core.RemedyTrial]:
    """Measure connections while the block runs. Remedies of trials are attached afterwards.

    Raises the errors of `attached`.
    """
    _require_short(target)
    group = target.group or hierarchy()
    with _plain_errors():
        trial = _core.RemedyTrial(
            devices=_places(chosen(target.devices)),
            cgroup=str(group.folder),
            ports=list(target.ports),
            peers=_prefixes(target),
        )
    try:
        yield trial
    finally:
        trial.detach()


@contextlib.contextmanager
def attached(
    policy: CurePolicy, target: CureTarget, *, arm: TrialArm | None = None
) -> Iterator[Attachment]:
    """Apply a policy to connections while the block runs.

    With an arm, it is applied to the connections that the trial assigns to the arm. Raises
    `TcpsfError` without privileges, or if the kernel cannot apply the policy.
    """
    _require_short(target)
    if target.most_bytes is not None and not (policy.copies_tail or policy.cuts):
        raise TcpsfError(
            f"cannot apply the policy `{policy}` up to {target.most_bytes} bytes: its settings are those of "
            "whole connections",
            hint="leave out `--largest`, which is for `dup-tail`, `tail`, `tiny-tail` and `fs`",
        )
    devices = chosen(target.devices) if policy.copies_tail or arm is not None else []
    if policy.cuts:
        with _plain_errors():
            require_intact_data(policy, _settings)
    with contextlib.ExitStack() as stack:
        with _plain_errors():
            copier = _copier(devices, policy, target, arm) if policy.copies_tail else None
            if copier is not None:
                stack.callback(copier.detach)
            settings = _settings(policy, target, arm) if policy.changes_sockets else None
            if settings is not None:
                stack.callback(settings.detach)
        yield Attachment(
            policy=policy, target=target, devices=devices, copier=copier, settings=settings
        )


def _require_short(target: CureTarget) -> None:
    """Refuse a selection that is too long for a program."""
    if len(target.ports) > MOST_PORTS:
        raise TcpsfError(
            f"cannot select {len(target.ports)} ports: expected at most {MOST_PORTS}",
            hint="select a control group, or run the command twice",
        )
    if len(target.peers) > MOST_PEERS:
        raise TcpsfError(
            f"cannot select {len(target.peers)} peer prefixes: expected at most {MOST_PEERS}",
            hint="give shorter prefixes that contain them, or run the command twice",
        )


def _places(devices: Sequence[NetDevice]) -> list[tuple[int, int]]:
    return [(device.index, device.header_bytes) for device in devices]


def _prefixes(target: CureTarget) -> list[tuple[int, int]]:
    return [(prefix.address, prefix.length) for prefix in target.peers]


def _copier(
    devices: Sequence[NetDevice], policy: CurePolicy, target: CureTarget, arm: TrialArm | None
) -> _core.TailCopies:
    group = None if target.group is None else (target.group.identifier, target.group.level)
    return _core.TailCopies(
        devices=_places(devices),
        ports=list(target.ports),
        peers=_prefixes(target),
        cgroup=group,
        trial=None if arm is None else arm.trial,
        most_bytes=target.most_bytes,
        arm=0 if arm is None else arm.number,
        delay_ms=policy.copy_delay_ms,
    )


def _settings(
    policy: CurePolicy, target: CureTarget, arm: TrialArm | None = None
) -> _core.SocketSettings:
    group = target.group or hierarchy()
    minimum = None if policy.rto_min_ms is None else 1000 * policy.rto_min_ms
    return _core.SocketSettings(
        cgroup=str(group.folder),
        ports=list(target.ports),
        peers=_prefixes(target),
        rto_min_us=minimum,
        initial_window=policy.initial_window,
        tail=policy.tail_pieces,
        last_byte=policy.cuts_last_byte,
        fixed_size=policy.fixed_size,
        trial=None if arm is None else arm.trial,
        most_bytes=target.most_bytes,
        arm=0 if arm is None else arm.number,
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
