"""Shared functions of the benchmarks that use separate network namespaces."""

# ruff: noqa: S603, S607 (this module starts ip, sysctl and given commands)

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

CANNOT_RUN = 77
"""Exit status if a prerequisite is missing."""


class BenchError(RuntimeError):
    """A prerequisite is missing, or a program failed."""


def ip(*words: str) -> None:
    """Run `ip` of iproute2."""
    try:
        done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    except OSError as error:
        raise BenchError(f"ip: {error} (Debian's iproute2)") from error
    if done.returncode != 0:
        raise BenchError(
            f"ip {' '.join(words)}: {done.stderr.strip()} (it needs root and Debian's iproute2)"
        )


@contextmanager
def namespace(name: str) -> Iterator[list[str]]:
    """Create a network namespace; yields the command prefix that runs a program in it."""
    full = f"tcpsf-bench-{os.getpid()}-{name}"
    ip("netns", "add", full)
    inside = ["ip", "netns", "exec", full]
    try:
        ip("-n", full, "link", "set", "lo", "up")
        # Every kernel has Reno. The port range is larger than the number of connections.
        settings = (
            "net.ipv4.tcp_congestion_control=reno",
            "net.ipv4.ip_local_port_range=1024 65000",
        )
        subprocess.run([*inside, "sysctl", "-qw", *settings], check=True)
        yield inside
    finally:
        ip("netns", "del", full)


def check_machine() -> None:
    """Check that this machine can create TUN devices and network namespaces."""
    if not Path("/dev/net/tun").exists():
        raise BenchError("the kernel has no TUN devices (no /dev/net/tun)")
    with namespace("probe"):
        pass


def join(server: Sequence[str], client: Sequence[str]) -> None:
    """Connect two namespaces by a veth pair, with the addresses of peers/src/lib.rs."""
    ends = ((client[-1], "10.77.0.1/24"), (server[-1], "10.77.0.2/24"))
    ip(
        "-n",
        ends[0][0],
        "link",
        "add",
        "veth0",
        "type",
        "veth",
        "peer",
        "name",
        "veth0",
        "netns",
        ends[1][0],
    )
    for name, address in ends:
        ip("-n", name, "address", "add", address, "dev", "veth0")
        ip("-n", name, "link", "set", "veth0", "up")


@contextmanager
def running(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a program and wait for its first line of output; the program is killed at the end."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options) as process:
        try:
            if not line_of(process.stdout):
                raise BenchError(f"run {' '.join(command)}: it ended without output")
            yield process
        finally:
            process.kill()


def line_of(output: IO[str] | None) -> str:
    """The next line of a program's output; empty at the end."""
    return output.readline() if output else ""
