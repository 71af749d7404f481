"""A network of one's own for a process: ``unshare(2)``, which Python has from 3.12 on only."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
from pathlib import Path

from tcpsf.errors import TcpsfError

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1

TUN = Path("/dev/net/tun")


def enter() -> None:
    """Move this process, which must have one thread, into a new network namespace that forwards packets.

    Without privilege it gets a user namespace as well, in which it is root.
    """
    try:
        _unshare(CLONE_NEWNET)
    except PermissionError:
        _enter_as_user()
    except OSError as error:
        raise TcpsfError(
            f"cannot make a network namespace: {_reason(error)}", hint="the kernel needs CONFIG_NET_NS"
        ) from None
    try:
        os.close(os.open(TUN, os.O_RDWR))
    except OSError as error:
        raise TcpsfError(
            f"cannot open `{TUN}`: {_reason(error)}",
            hint="load the module `tun`; in a container, hand the device in (`--device /dev/net/tun`)",
        ) from None
    for family in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
        with contextlib.suppress(FileNotFoundError):  # a kernel without IPv6
            _write(Path("/proc/sys/net") / family, "1", "let packets through from one device to the other")


def _enter_as_user() -> None:
    user, group = os.getuid(), os.getgid()
    try:
        _unshare(CLONE_NEWUSER | CLONE_NEWNET)
    except OSError as error:
        raise TcpsfError(
            f"cannot make a network namespace: {_reason(error)}",
            hint="run it as root, or let users have namespaces (sysctl kernel.unprivileged_userns_clone, "
            "user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)",
        ) from None
    what = "become root in a user namespace"
    _write(Path("/proc/self/setgroups"), "deny", what)
    _write(Path("/proc/self/uid_map"), f"0 {user} 1", what)
    _write(Path("/proc/self/gid_map"), f"0 {group} 1", what)


def die_with_parent() -> None:
    """Have the kernel end this process when its parent ends."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _unshare(what: int) -> None:
    if ctypes.CDLL(None, use_errno=True).unshare(what) != 0:
        number = ctypes.get_errno()
        raise (
            PermissionError(number, os.strerror(number))
            if number == errno.EPERM
            else OSError(number, os.strerror(number))
        )


def _write(file: Path, text: str, what: str) -> None:
    try:
        file.write_text(text, encoding="ascii")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise TcpsfError(
            f"cannot {what}: `{file}`: {_reason(error)}", hint="run it as root, outside of a container that forbids it"
        ) from None


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
