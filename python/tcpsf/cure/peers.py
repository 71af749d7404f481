"""Prefixes of the addresses of peers, IPv4 and IPv6."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

_BITS, _BITS_BEFORE_V4 = 128, 96
_MAPPED = 0xFFFF << 32


@dataclass(frozen=True, slots=True)
class PeerPrefix:
    """Addresses whose first bits are equal.

    An IPv4 address counts as the IPv6 address to which it is mapped (``::ffff:0:0/96``, RFC 4291
    section 2.5.5.2), as in the kernel's sockets. So `192.0.2.0/24` also contains the peers of a
    dual-stack listener.
    """

    address: int
    """First address, of 128 bits."""
    length: int
    """Number of the equal bits, from 0 to 128."""

    @classmethod
    def parse(cls, text: str) -> PeerPrefix:
        """Read a prefix such as `192.0.2.0/24` or `2001:db8::/32`, or an address.

        Raises `ValueError` with the problem if it is no prefix, or if bits behind it are set.
        """
        word = text.strip()
        address, slash, length = word.partition("/")
        try:
            first = ipaddress.ip_address(address)
        except ValueError:
            raise ValueError(f"`{address}` is no IPv4 or IPv6 address") from None
        if isinstance(first, ipaddress.IPv6Address) and first.scope_id is not None:
            raise ValueError(f"`{address}` has a zone, which a prefix has not")
        bits = first.max_prefixlen
        if not slash:
            length = str(bits)
        if not (length.isascii() and length.isdecimal() and int(length) <= bits):
            raise ValueError(f"`/{length}` is no length from 0 to {bits}")
        network = ipaddress.ip_network((first, int(length)), strict=False)
        if network.network_address != first:
            raise ValueError(f"bits behind the first {length} are set; the prefix is `{network}`")
        if first.version == 4:
            return cls(_MAPPED | int(first), _BITS_BEFORE_V4 + int(length))
        return cls(int(first), int(length))

    @classmethod
    def of(cls, address: int, *, v4: int, v6: int) -> PeerPrefix:
        """Return the prefix of an address of 128 bits, with the length for its family."""
        is_v4 = address >> 32 == 0xFFFF
        length = _BITS_BEFORE_V4 + v4 if is_v4 else v6
        behind = _BITS - length
        return cls(address >> behind << behind, length)

    def __str__(self) -> str:
        if self.length >= _BITS_BEFORE_V4 and self.address >> 32 == 0xFFFF:
            four = ipaddress.IPv4Address(self.address & 0xFFFF_FFFF)
            return f"{four}/{self.length - _BITS_BEFORE_V4}"
        return f"{ipaddress.IPv6Address(self.address)}/{self.length}"


ALL = PeerPrefix(0, 0)
"""The prefix of all addresses."""
