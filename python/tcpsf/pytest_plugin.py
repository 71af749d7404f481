"""A fixture of pytest for tests behind an emulated link. pytest finds it by its entry point."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from tcpsf.emulation.link_network import LinkNetwork, LinkOption, link


@pytest.fixture
def tcpsf_link() -> Iterator[Callable[..., LinkNetwork]]:
    """Return a function that makes emulated links, which end with the test.

    Its options and its result are those of `tcpsf.link`.

        def test_download(tcpsf_link):
            net = tcpsf_link(delay="20ms", loss=0.01)
            net.run(["curl", f"http://{net.outside}:8000/"], check=True)
    """
    with contextlib.ExitStack() as stack:

        def make(**options: LinkOption) -> LinkNetwork:
            return stack.enter_context(link(**options))

        yield make
