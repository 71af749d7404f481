"""Devices through which responses leave."""

from __future__ import annotations

import fcntl
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from tcpsf.errors import TcpsfError

_SIOCGIFFLAGS, _SIOCGIFHWADDR = 0x8913, 0x8927
_LOOPBACK = 0x8
_UP = 0x1
_ETHERNET = 14
_HEADERS = {1: _ETHERNET, 772: _ETHERNET, 65534: 0, 512: 0, 768: 0, 769: 0, 776: 0, 778: 0}
"""Lengths of link-layer headers in bytes, by the kernel's type of the device (`ARPHRD_…`):
Ethernet, loopback, none (TUN, WireGuard), PPP and IP tunnels."""


@dataclass(frozen=True, slots=True)
class NetDevice:
    """A network device."""

    name: str
    index: int
    header_bytes: int
    """Length of its link-layer header in bytes."""


def chosen(names: Sequence[str]) -> list[NetDevice]:
    """Return the devices with these names; without names, all but loopback that are up.

    Raises `TcpsfError` for a name without a device, a device of another kind, or if there is none.
    """
    if names:
        return [_device(name) for name in names]
    found = [_device(name) for _, name in socket.if_nameindex() if _is_usual(name)]
    if not found:
        raise TcpsfError(
            "cannot apply `dup-tail`: no device but loopback is up", hint="e.g. `--device lo`"
        )
    return found


def _is_usual(name: str) -> bool:
    flags = _of_device(name, _SIOCGIFFLAGS)
    return bool(flags & _UP) and not flags & _LOOPBACK and _kind(name) in _HEADERS


def _device(name: str) -> NetDevice:
    known = {name: index for index, name in socket.if_nameindex()}
    if name not in known:
        raise TcpsfError(
            f"cannot use the device `{name}`: there is none",
            hint=f"the devices are {', '.join(known)}",
        )
    kind = _kind(name)
    if kind not in _HEADERS:
        raise TcpsfError(
            f"cannot use the device `{name}`: its kind {kind} is not known",
            hint="Ethernet, loopback, TUN, PPP and IP tunnels are",
        )
    return NetDevice(name, known[name], _HEADERS[kind])


def _kind(name: str) -> int:
    """Return the type of a device; the address family of its hardware address has it."""
    return _of_device(name, _SIOCGIFHWADDR)


def _of_device(name: str, request: int) -> int:
    """Return the first number of the answer to a request of netdevice(7)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        answer = fcntl.ioctl(one, request, struct.pack("16s16x", name.encode()))
    return int(struct.unpack_from("=H", answer, 16)[0])
