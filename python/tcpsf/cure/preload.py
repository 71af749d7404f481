"""Remedies of a command that is started with a library (``LD_PRELOAD``), without privileges."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tcpsf import _core
from tcpsf.cure.attachment import CureCounts
from tcpsf.cure.devices import NetDevice
from tcpsf.cure.keeper import ensured
from tcpsf.cure.policy import CurePolicy
from tcpsf.cure.target import CureTarget
from tcpsf.errors import TcpsfError, reason

_TCP_RTO_MIN_US = 45
_WITHOUT = "run the command as root without `--preload`, or use `tcpsf proxy --sender`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preloaded:
    """A policy for programs that load the library."""

    policy: CurePolicy
    target: CureTarget
    session: _core.PreloadSession
    devices: Sequence[NetDevice] = ()

    def environment(self) -> Mapping[str, str]:
        """Return the environment of a command that loads the library."""
        found = dict(os.environ)
        for name, value in self.session.environment():
            above = found.get(name) if name == "LD_PRELOAD" else None
            found[name] = f"{value}:{above}" if above else str(value)
        return found

    def detach(self) -> None:
        """End the policy. Programs that run continue without it."""
        self.session.detach()

    def counts(self) -> CureCounts:
        """Return the effects so far."""
        _, _, refused, cut_writes, cuts = self.session.counts()
        return CureCounts(
            copies=0,
            copied_bytes=0,
            connections=0,
            refused=refused,
            cut_writes=cut_writes,
            cuts=cuts,
        )

    def problem(self) -> str | None:
        """Return a reason why the policy had no effect, if there is one."""
        processes, listeners, *_ = self.session.counts()
        if not processes:
            return "no program has loaded the library"
        return None if listeners else "no program that loaded the library listens at such a port"


@contextlib.contextmanager
def preloaded(policy: CurePolicy, target: CureTarget) -> Iterator[Preloaded]:
    """Write the library to a temporary folder while the block runs.

    Raises `TcpsfError` for a remedy that needs privileges or another kernel, and if the folder cannot
    be used.
    """
    require_no_privileges(policy)
    _require_known(target)
    with _folder() as folder:
        minimum = policy.rto_min_ms
        try:
            session = _core.PreloadSession(
                folder=folder,
                ports=list(target.ports),
                rto_min_us=None if minimum is None else 1000 * minimum,
                tail=policy.tail_pieces,
                last_byte=policy.cuts_last_byte,
                fixed_size=policy.fixed_size,
            )
        except OSError as error:
            raise TcpsfError(
                f"cannot write the library to `{folder}`: {reason(error)}",
                hint="set TMPDIR to another folder",
            ) from None
        yield Preloaded(policy=policy, target=target, session=session)


def require_no_privileges(policy: CurePolicy) -> None:
    """Raise `TcpsfError` for a remedy that a library cannot apply."""
    for name in ("dup-tail", "iw"):
        if name in policy.remedies:
            raise TcpsfError(
                f"cannot apply the policy `{policy}` with `--preload`: `{name}` needs privileges",
                hint=_WITHOUT,
            )
    if policy.rto_min_ms is not None and not _sets_minimum():
        raise TcpsfError(
            f"cannot apply the policy `{policy}` with `--preload`: this kernel has no TCP_RTO_MIN_US",
            hint=f"Linux 6.15 has it; {_WITHOUT}",
        )


def _require_known(target: CureTarget) -> None:
    """Refuse a selection that a library cannot make."""
    if target.devices:
        raise TcpsfError(
            f"cannot select the device `{target.devices[0]}` with `--preload`: the library does not "
            "know devices",
            hint="leave out `--device`",
        )
    if target.most_bytes is not None:
        raise TcpsfError(
            f"cannot select responses up to {target.most_bytes} bytes with `--preload`: the library cuts "
            "each write",
            hint="leave out `--largest`; as root, `tcpsf cure run` without `--preload` selects them",
        )
    if target.peers:
        raise TcpsfError(
            f"cannot select the peers `{target.peers[0]}` with `--preload`: the library does not know "
            "them when a server listens",
            hint="leave out `--peer`; as root, `tcpsf cure run` without `--preload` selects peers",
        )


def _sets_minimum() -> bool:
    """Return whether a program may set the minimum of the retransmission timeout."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        try:
            one.setsockopt(socket.IPPROTO_TCP, _TCP_RTO_MIN_US, 100_000)
        except OSError:
            return False
    return True


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """Make a folder from which programs load a library, and remove it at the end."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="tcpsf-preload-"))
        flags = os.statvfs(folder).f_flag
    except OSError as error:
        raise TcpsfError(
            f"cannot make a temporary folder: {reason(error)}", hint="set TMPDIR to another folder"
        ) from None
    with ensured(lambda: shutil.rmtree(folder, ignore_errors=True)):
        if flags & os.ST_NOEXEC:
            raise TcpsfError(
                f"cannot load a library from `{folder}`: the file system permits no programs (noexec)",
                hint="set TMPDIR to another folder",
            )
        folder.chmod(0o711)  # a program that changes its user loads the library again
        yield folder
