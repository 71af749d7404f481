"""Prefixes of the addresses of peers."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from tcpsf.cure import PeerPrefix


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("192.0.2.0/24", "192.0.2.0/24"),
        ("192.0.2.7", "192.0.2.7/32"),
        (" 0.0.0.0/0 ", "0.0.0.0/0"),
        ("2001:DB8:0::/32", "2001:db8::/32"),
        ("2001:db8::1", "2001:db8::1/128"),
        ("::/0", "::/0"),
        ("::ffff:192.0.2.0/120", "192.0.2.0/24"),
    ],
)
def test_a_prefix_is_printed_as_it_is_written(text: str, printed: str) -> None:
    assert str(PeerPrefix.parse(text)) == printed
    assert PeerPrefix.parse(printed) == PeerPrefix.parse(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("abc", "`abc` is no IPv4 or IPv6 address"),
        ("", "`` is no IPv4 or IPv6 address"),
        ("10.0.0.0/33", "`/33` is no length from 0 to 32"),
        ("10.0.0.0/", "`/` is no length from 0 to 32"),
        ("10.0.0.0/-1", "`/-1` is no length from 0 to 32"),
        ("10.0.0.0/255.0.0.0", "`/255.0.0.0` is no length from 0 to 32"),
        ("2001:db8::/129", "`/129` is no length from 0 to 128"),
        ("10.0.0.1/8", "bits behind the first 8 are set; the prefix is `10.0.0.0/8`"),
        ("2001:db8::1/32", "bits behind the first 32 are set; the prefix is `2001:db8::/32`"),
        ("fe80::1%eth0", "`fe80::1%eth0` has a zone, which a prefix has not"),
    ],
)
def test_other_texts_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        PeerPrefix.parse(text)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("address", "printed"),
    [("::ffff:192.0.2.7", "192.0.2.0/24"), ("2001:db8:1:2::3", "2001:db8:1::/48")],
)
def test_an_address_has_a_prefix_by_its_family(address: str, printed: str) -> None:
    assert str(PeerPrefix.of(int(ip_address(address)), v4=24, v6=48)) == printed
