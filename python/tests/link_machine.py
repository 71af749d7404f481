"""Namespaces that stand for a machine, a container and the Internet, for tests of `tcpsf link --nat`.

Needs root, TUN devices, `ip`, `nsenter` and `git`. `conftest` has the fixtures.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

GIT, UNSHARE = (shutil.which(name) or name for name in ("git", "unshare"))
SERVERS = Path(__file__).with_name("small_internet.py")
TCPSF = [sys.executable, "-m", "tcpsf"]
MACHINE, MACHINE_6 = "203.0.113.2", "2001:db8::2"
SERVER, SERVER_6 = "198.51.100.7", "2001:db8:1::7"
SETTINGS = (
    "/proc/sys/net/ipv4/conf/wan/forwarding",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sys/net/ipv6/conf/wan/forwarding",
    "/proc/sys/net/ipv6/conf/wan/force_forwarding",
    "/proc/sys/net/ipv6/conf/all/forwarding",
)
SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGKILL)
"""Signals that end a link."""

TABLES = """
import socket
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as netlink:
    # NFT_MSG_GETTABLE of all families, as a list.
    kind, flags = 10 << 8 | 1, 0x301
    head = (20).to_bytes(4, "little") + kind.to_bytes(2, "little") + flags.to_bytes(2, "little")
    netlink.send(head + bytes(12))
    print(netlink.recv(65536).count(b"tcpsf"))
"""
"""Prints how many tables have a name with `tcpsf`."""


@dataclass(frozen=True)
class Namespace:
    """A network namespace with its own mounts, which a process holds."""

    pid: int

    def words(self, *words: object) -> list[str]:
        return ["nsenter", "-t", str(self.pid), "-n", "-m", *map(str, words)]

    def run(self, *words: object, status: int = 0) -> str:
        done = subprocess.run(
            self.words(*words), capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == status, (words, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def state(self) -> tuple[str, ...]:
        """Return all that a link could leave behind."""
        settings = [self.run("sh", "-c", f"cat {path} 2>&1 || true") for path in SETTINGS]
        return (
            *settings,
            self.run("ip", "-br", "link"),
            self.run("ip", "route", "show", "table", "all"),
            self.run("ip", "rule"),
            self.run(sys.executable, "-c", TABLES),
            self.run("cat", "/etc/resolv.conf"),
        )


@contextlib.contextmanager
def namespace() -> Iterator[Namespace]:
    with subprocess.Popen(
        [UNSHARE, "-n", "-m", "sh", "-c", "ip link set lo up; echo ready; exec sleep 600"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield Namespace(process.pid)
        finally:
            process.kill()


@contextlib.contextmanager
def started(
    words: list[str], ready: str, *, stdin: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Run a program with those that it starts, and wait for a line of its output."""
    with subprocess.Popen(
        words,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line.startswith(ready), line + process.stdout.read()
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def joined(one: Namespace, name: str, other: Namespace, peer: str) -> None:
    one.run("ip", "link", "add", name, "type", "veth", "peer", "name", peer, "netns", other.pid)
    for where, device in ((one, name), (other, peer)):
        # Without link-local addresses, whose routes appear seconds later.
        where.run("ip", "link", "set", device, "addrgenmode", "none")
        where.run("ip", "link", "set", device, "up")


def addressed(where: Namespace, device: str, *addresses: str) -> None:
    for address in addresses:
        where.run("ip", "address", "add", address, "dev", device, *(["nodad"] * (":" in address)))


@pytest.fixture
def internet() -> Iterator[Namespace]:
    """A namespace for the hosts outside of the machine."""
    with namespace() as made:
        yield made


@pytest.fixture
def machine(internet: Namespace, tmp_path: Path) -> Iterator[Namespace]:
    """A machine with a default route to servers, and a DNS server at a loopback address."""
    with contextlib.ExitStack() as stack:
        here = stack.enter_context(namespace())
        joined(here, "wan", internet, "eth0")
        addressed(here, "wan", f"{MACHINE}/24", f"{MACHINE_6}/64")
        addressed(internet, "eth0", "203.0.113.1/24", "2001:db8::1/64")
        addressed(internet, "lo", f"{SERVER}/32", f"{SERVER_6}/128", "198.51.100.53/32")
        here.run("ip", "route", "add", "default", "via", "203.0.113.1")
        here.run("ip", "-6", "route", "add", "default", "via", "2001:db8::1")
        servers = [sys.executable, SERVERS]
        web = internet.words(*servers, "web", SERVER, SERVER_6)
        stack.enter_context(started(web, "ready"))
        stack.enter_context(started(internet.words(*servers, "dns", "198.51.100.53"), "ready"))
        stack.enter_context(started(here.words(*servers, "dns", "127.0.0.53"), "ready"))
        resolver(here, tmp_path, "127.0.0.53")
        repositories = tmp_path / "repositories"
        made = repositories / "work"
        subprocess.run([GIT, "init", "-q", made], check=True)
        (made / "file").write_text("content\n" * 10_000, encoding="utf-8")
        subprocess.run([GIT, "-C", made, "add", "file"], check=True)
        author = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        subprocess.run([GIT, "-C", made, *author, "commit", "-qm", "first"], check=True)
        daemon = [GIT, "daemon", "--export-all", f"--base-path={repositories}", "--reuseaddr"]
        verbose = [*daemon, f"--listen={SERVER}", "--verbose", repositories]
        stack.enter_context(started(internet.words(*verbose), "["))
        yield here


def resolver(where: Namespace, folder: Path, server: str, *, timeout_s: int = 1) -> None:
    """Give a namespace a list of DNS servers."""
    file = folder / f"resolv.conf.{where.pid}"
    file.write_text(
        f"nameserver {server}\noptions timeout:{timeout_s} attempts:2\n", encoding="utf-8"
    )
    where.run("mount", "--bind", file, "/etc/resolv.conf")


def link(*options: object) -> list[object]:
    return [*TCPSF, "link", "-q", "--delay", "1ms", *options]


def unprivileged(*words: object) -> list[object]:
    """The command as a user without privileges."""
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"]
    return [*user, "--inh-caps=-all", *words]


@pytest.fixture
def unchanged(machine: Namespace) -> Iterator[None]:
    """Checks that a test leaves nothing behind."""
    before = machine.state()
    assert before[-2] == "0\n"
    yield
    assert machine.state() == before


def eventually(check: Callable[[], bool]) -> None:
    for _ in range(100):
        if check():
            return
        time.sleep(0.1)
    raise AssertionError(check)


@pytest.fixture
def container(machine: Namespace) -> Iterator[Namespace]:
    """A namespace with an address of the machine's, and a default route that leads nowhere further."""
    with namespace() as inside:
        joined(machine, "veth0", inside, "eth0")
        addressed(machine, "veth0", "10.1.0.1/24")
        addressed(inside, "eth0", "10.1.0.2/24")
        inside.run("ip", "route", "add", "default", "via", "10.1.0.1")
        yield inside
