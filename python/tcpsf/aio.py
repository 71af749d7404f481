"""Asynchronous versions of functions of the package."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from typing import Any

from tcpsf.emulation import link_network
from tcpsf.emulation.link_network import LinkNetwork, LinkOption


class AsyncLinkNetwork:
    """The asynchronous version of `LinkNetwork`, which `aio.link` makes."""

    name: str
    """Name of the link, for `tcpsf link set`."""
    outside: str
    """Address of the outside: programs in the caller's network namespace are reached at it."""
    inside: str
    """Address of the commands behind the link."""
    outside_v6: str | None
    """IPv6 address of the outside, or `None` without IPv6."""
    inside_v6: str | None
    """IPv6 address of the commands, or `None` without IPv6."""
    device: str
    """Network device of the link, to which a program behind it may bind a socket."""
    beside: tuple[AsyncLinkNetwork, ...]
    """The further links of the option ``beside``, in order. Commands are behind all links."""

    def __init__(self, network: LinkNetwork) -> None:
        self._network = network
        self.name = network.name
        self.outside = network.outside
        self.inside = network.inside
        self.outside_v6 = network.outside_v6
        self.inside_v6 = network.inside_v6
        self.device = network.device
        self.beside = tuple(AsyncLinkNetwork(each) for each in network.beside)

    @property
    def result(self) -> dict[str, Any] | None:
        """After the block, the statistics of the run (``report/schema/link.json``)."""
        return self._network.result

    async def popen(
        self, command: Sequence[str | os.PathLike[str]], **arguments: Any
    ) -> asyncio.subprocess.Process:
        """Start a command behind the link.

        ``arguments`` are those of `asyncio.create_subprocess_exec`, except ``preexec_fn``.
        """
        return await asyncio.create_subprocess_exec(*command, **self._network.arguments(arguments))

    async def run(
        self, command: Sequence[str | os.PathLike[str]], **arguments: Any
    ) -> asyncio.subprocess.Process:
        """Run a command behind the link until it ends. Returns its process, with `returncode`.

        If the task is cancelled, the command is killed.
        """
        process = await self.popen(command, **arguments)
        try:
            await process.wait()
        except asyncio.CancelledError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            raise
        return process

    async def set(self, **options: LinkOption) -> dict[str, Any]:
        """Change options of the link, as `LinkNetwork.set` does."""
        return await asyncio.to_thread(self._network.set, **options)

    async def stats(self) -> dict[str, Any]:
        """Return the statistics up to now (``report/schema/link-control.json``)."""
        return await asyncio.to_thread(self._network.stats)


@contextlib.asynccontextmanager
async def link(**options: LinkOption) -> AsyncIterator[AsyncLinkNetwork]:
    """Make an emulated link for a block of asynchronous code.

    Options and errors are those of `link`.

        async with tcpsf.aio.link(delay="20ms") as net:
            process = await net.run(["curl", f"http://{net.outside}:8000/"])
    """
    made = link_network.link(**options)
    found = await asyncio.to_thread(made.__enter__)
    try:
        yield AsyncLinkNetwork(found)
    finally:
        await asyncio.to_thread(made.__exit__, None, None, None)
