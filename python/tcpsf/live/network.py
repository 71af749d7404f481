"""A separate network namespace for a process, and the initial window of a route.

Python offers these functions only in recent versions, or not at all.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import socket
import struct
from pathlib import Path

from tcpsf.errors import TcpsfError, reason

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCGIFADDR = 0x8913, 0x8914, 0x8915
_IFF_UP = 1
_NLM_F_REQUEST, _NLM_F_ACK, _NLM_F_REPLACE, _NLM_F_CREATE = 0x1, 0x4, 0x100, 0x400
_RTM_NEWROUTE, _RTA_DST, _RTA_OIF, _RTA_METRICS, _RTAX_INITCWND = 24, 1, 4, 8, 11
_RT_TABLE_MAIN, _RTPROT_STATIC, _RT_SCOPE_LINK = 254, 4, 253

TUN = Path("/dev/net/tun")


def enter() -> None:
    """Move this process into a new network namespace that forwards packets.

    The process must have one thread. An unprivileged process also gets a user namespace, in which
    it is root. Raises `TcpsfError` if this is not possible.
    """
    try:
        _unshare(CLONE_NEWNET)
    except PermissionError:
        _enter_as_user()
    except OSError as error:
        raise TcpsfError(
            f"cannot make a network namespace: {reason(error)}", hint=_limit(error)
        ) from None
    try:
        os.close(os.open(TUN, os.O_RDWR))
    except PermissionError as error:
        raise TcpsfError(
            f"cannot open `{TUN}`: {reason(error)}",
            hint=f"run it as root, or allow all users to open it, as on most systems: "
            f"`chmod 666 {TUN}`",
        ) from None
    except OSError as error:
        raise TcpsfError(
            f"cannot open `{TUN}`: {reason(error)}",
            hint="load the module `tun`; in a container, pass the device (`--device /dev/net/tun`)",
        ) from None
    for family in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
        with contextlib.suppress(FileNotFoundError):  # the kernel may not have IPv6
            _write(
                Path("/proc/sys/net") / family,
                "1",
                "forward packets between devices",
            )


def _limit(error: OSError) -> str:
    """Return a hint for an error other than missing privilege."""
    if error.errno in (errno.ENOSPC, errno.EUSERS):
        return (
            "there are too many namespaces: raise the limits "
            "`sysctl user.max_net_namespaces user.max_user_namespaces`"
        )
    return "the kernel needs CONFIG_NET_NS"


def _enter_as_user() -> None:
    user, group = os.getuid(), os.getgid()
    try:
        _unshare(CLONE_NEWUSER | CLONE_NEWNET)
    except OSError as error:
        raise TcpsfError(
            f"cannot make a network namespace: {reason(error)}",
            hint="run it as root, or allow users to make namespaces (sysctl "
            "kernel.unprivileged_userns_clone, user.max_user_namespaces, "
            "kernel.apparmor_restrict_unprivileged_userns)",
        ) from None
    what = "become root in a user namespace"
    _write(Path("/proc/self/setgroups"), "deny", what)
    _write(Path("/proc/self/uid_map"), f"0 {user} 1", what)
    _write(Path("/proc/self/gid_map"), f"0 {group} 1", what)


def die_with_parent(number: signal.Signals = signal.SIGKILL) -> None:
    """Make the kernel send a signal to this process when its parent ends."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def move_thread() -> None:
    """Move the calling thread alone into a new network namespace with a loopback device.

    The namespace ends with the thread and its sockets. Raises `OSError` or `TcpsfError` without
    privileges.
    """
    _unshare(CLONE_NEWNET)
    turn_loopback_on()


def turn_loopback_on() -> None:
    """Enable 127.0.0.1 in this network namespace, with the full range of local ports."""
    what = "turn the loopback device on"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            (flags,) = struct.unpack_from(
                "16xH", fcntl.ioctl(one, _SIOCGIFFLAGS, struct.pack("16sH14x", b"lo", 0))
            )
            fcntl.ioctl(one, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))
        except OSError as error:
            raise TcpsfError(
                f"cannot {what}: {reason(error)}", hint="it needs its own network namespace"
            ) from None
    _write(Path("/proc/sys/net/ipv4/ip_local_port_range"), "1024 65535", what)


def set_initial_window(outside: str, inside: str, segments: int) -> None:
    """Set the kernel's initial window for connections to ``inside``, in segments.

    The route leads through the device with the address ``outside``. The setting is ``initcwnd`` of
    ip-route(8), which is only accessible by rtnetlink(7).
    """
    address = socket.inet_aton(inside)
    metric = _attribute(_RTAX_INITCWND, struct.pack("=I", segments))
    body = struct.pack(
        "=BBBBBBBBI", socket.AF_INET, 32, 0, 0, _RT_TABLE_MAIN, _RTPROT_STATIC, _RT_SCOPE_LINK, 1, 0
    )
    body += _attribute(_RTA_DST, address)
    body += _attribute(_RTA_OIF, struct.pack("=I", _device_at(outside)))
    body += _attribute(_RTA_METRICS, metric)
    flags = _NLM_F_REQUEST | _NLM_F_ACK | _NLM_F_CREATE | _NLM_F_REPLACE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as one:
        one.send(struct.pack("=IHHII", 16 + len(body), _RTM_NEWROUTE, flags, 1, 0) + body)
        answer = one.recv(4096)
    # The kernel acknowledges the message with an error message of error number 0.
    (error,) = struct.unpack_from("=i", answer, 16)
    if error:
        raise TcpsfError(
            f"cannot set an initial window of {segments} segments for `{inside}`: "
            f"{os.strerror(-error).lower()}",
            hint="the process must be root in its network namespace",
        )


def _attribute(kind: int, content: bytes) -> bytes:
    length = 4 + len(content)
    return struct.pack("=HH", length, kind) + content + bytes(-length % 4)


def _device_at(address: str) -> int:
    """Return the index of the device with an address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        for number, name in socket.if_nameindex():
            with contextlib.suppress(OSError):  # the device may have no address
                answer = fcntl.ioctl(one, _SIOCGIFADDR, struct.pack("16s24x", name.encode()))
                if answer[20:24] == socket.inet_aton(address):
                    return number
    raise TcpsfError(f"cannot find the link's device: no device has the address `{address}`")


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
            f"cannot {what}: `{file}`: {reason(error)}",
            hint="run it as root; a container may not allow it",
        ) from None
