"""`tcpsf link --nat`, `--netns` and `--pid`, in namespaces that stand for a machine and the Internet.

Needs root, TUN devices, `ip`, `nsenter`, `curl` and `git`, as CI has them.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import signal
import socket
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
def started(words: list[str], ready: str) -> Iterator[subprocess.Popen[str]]:
    """Run a program, and wait for a line of its output."""
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line.startswith(ready), line + process.stdout.read()
            yield process
        finally:
            process.kill()


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
def machine(tmp_path: Path) -> Iterator[Namespace]:
    """A machine with a default route to servers, and a DNS server at a loopback address."""
    with contextlib.ExitStack() as stack:
        here, internet = (stack.enter_context(namespace()) for _ in range(2))
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


def resolver(where: Namespace, folder: Path, server: str) -> None:
    """Give a namespace a list of DNS servers."""
    file = folder / f"resolv.conf.{where.pid}"
    file.write_text(f"nameserver {server}\noptions timeout:1 attempts:2\n", encoding="utf-8")
    where.run("mount", "--bind", file, "/etc/resolv.conf")


def link(*options: object) -> list[object]:
    return [*TCPSF, "link", "-q", "--delay", "1ms", *options]


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


@pytest.mark.usefixtures("unchanged")
def test_tcp_udp_and_icmp_reach_hosts_outside(machine: Namespace) -> None:
    for server, address in ((SERVER, MACHINE), (f"[{SERVER_6}]", MACHINE_6)):
        page = machine.run(*link("--nat"), "--", "curl", "-s", f"http://{server}/")
        assert page.startswith(f"{address}\n")
        assert len(page) == len(address) + 1 + 200_000
    for server, address in ((SERVER, MACHINE), (SERVER_6, MACHINE_6)):
        echo = [sys.executable, "-c", ECHO, server]
        udp, icmp = machine.run(*link("--nat"), "--", *echo).splitlines()
        assert udp == f"datagram {address}"
        assert icmp == "reply"


ECHO = """
import os, socket, sys
to = sys.argv[1]
six = ":" in to
family = socket.AF_INET6 if six else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as udp:
    udp.settimeout(10)
    udp.sendto(b"datagram", (to, 7))
    print(udp.recv(100).decode())
protocol = socket.IPPROTO_ICMPV6 if six else socket.IPPROTO_ICMP
with socket.socket(family, socket.SOCK_RAW, protocol) as icmp:
    icmp.settimeout(10)
    body = bytes([128 if six else 8, 0, 0, 0, 18, 52, 0, 1])
    checksum = 0xFFFF - (0x0800 + 0x1234 + 1)
    icmp.sendto(body if six else body[:2] + checksum.to_bytes(2) + body[4:], (to, 0))
    while True:
        packet = icmp.recv(1000)
        head = packet if six else packet[20:]
        if head[0] == (129 if six else 0) and head[4:6] == body[4:6]:
            print("reply")
            break
"""


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("server", ["127.0.0.53", "198.51.100.53"])
def test_names_are_resolved_as_outside(machine: Namespace, tmp_path: Path, server: str) -> None:
    script = (
        "cat /etc/resolv.conf; getent ahosts server.example; getent hosts large.example;"
        "getent hosts none.example; echo $?"
    )
    outside = machine.run("sh", "-c", script)
    assert SERVER in outside
    resolver(machine, tmp_path, server)
    inside = machine.run(*link("--nat"), "--", "sh", "-c", script)
    there = "100.64.0.1" if server.startswith("127") else server
    assert inside.splitlines()[0] == f"nameserver {there}"
    assert resolved(inside) == resolved(outside)
    nested = machine.run(*link("--nat"), "--", *link("--loss", "1%"), "--", "sh", "-c", script)
    assert nested.splitlines()[0] == inside.splitlines()[0]
    assert resolved(nested) == resolved(outside)
    resolver(machine, tmp_path, "127.0.0.53")


def resolved(text: str) -> set[tuple[str, ...]]:
    """Return the addresses with their kinds. Their order depends on the own address (RFC 6724)."""
    lines = (line.split()[:2] for line in text.splitlines())
    return {tuple(words) for words in lines if words[0] not in {"nameserver", "options"}}


@pytest.mark.usefixtures("unchanged")
def test_git_and_curl_work_by_name(machine: Namespace, tmp_path: Path) -> None:
    clone = ["git", "clone", "-q", "git://server.example/work", tmp_path / "clone"]
    machine.run(*link("--nat"), "--", *clone)
    assert (tmp_path / "clone" / "file").read_text(encoding="utf-8") == "content\n" * 10_000
    page = machine.run(
        *link("--nat", "--rate", "50mbit"), "--", "curl", "-s", "http://server.example/"
    )
    assert page.startswith((MACHINE, MACHINE_6))


@pytest.mark.usefixtures("unchanged")
def test_nothing_remains_after_a_kill(machine: Namespace) -> None:
    before = machine.state()
    words = machine.words(*link("--nat", "--", "sh", "-c", "echo ready; exec sleep 60"))
    with started(words, "ready") as first, started(words, "ready") as second:
        for path in SETTINGS[:1]:
            assert machine.run("cat", path) == "1\n"
        assert machine.run(sys.executable, "-c", TABLES) != "0\n"
        first.kill()
        first.wait()
        # The second link still reaches the servers, and needs the settings.
        eventually(lambda: "tcpsf0" not in machine.run("ip", "-br", "link"))
        assert machine.run("cat", SETTINGS[0]) == "1\n"
        page = machine.run(*link("--nat"), "--", "curl", "-s", f"http://{SERVER}/")
        assert page.startswith(MACHINE)
        second.kill()
        second.wait()
        eventually(lambda: machine.state() == before)


@pytest.mark.usefixtures("unchanged")
def test_a_setting_that_was_on_stays_on(machine: Namespace) -> None:
    for value in (1, 0):
        for name in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"):
            machine.run("sh", "-c", f"echo {value} > /proc/sys/{name.replace('.', '/')}")
        state = machine.state()
        page = machine.run(*link("--nat"), "--", "curl", "-s", f"http://{SERVER}/")
        assert page.startswith(MACHINE)
        assert machine.state() == state


def test_what_is_missing_is_told(machine: Namespace) -> None:
    machine.run("ip", "route", "del", "default")
    machine.run("ip", "-6", "route", "del", "default")
    before = machine.state()
    assert machine.run(*link("--nat"), "--", "true", status=2) == (
        "error: cannot reach the network outside of this machine: Network is unreachable\n"
        "hint: there is no default route: `ip route`\n"
    )
    unprivileged = ["setpriv", "--reuid=65534", "--clear-groups", "--bounding-set=-all"]
    if shutil.which("setpriv"):
        answer = machine.run(*unprivileged, *link("--nat"), "--", "true", status=2)
        assert answer.startswith("error: cannot ")
        assert "hint: " in answer
    assert machine.state() == before


@pytest.fixture
def container(machine: Namespace) -> Iterator[Namespace]:
    """A namespace with an address of the machine's, and a default route that leads nowhere further."""
    with namespace() as inside:
        joined(machine, "veth0", inside, "eth0")
        addressed(machine, "veth0", "10.1.0.1/24")
        addressed(inside, "eth0", "10.1.0.2/24")
        inside.run("ip", "route", "add", "default", "via", "10.1.0.1")
        yield inside


@pytest.mark.parametrize("ended", ["by a signal", "by a kill", "with the process"])
def test_a_container_gets_the_link_as_its_way_out(
    machine: Namespace, container: Namespace, tmp_path: Path, ended: str
) -> None:
    before, routes = machine.state(), container.run("ip", "route", "show", "table", "all")
    held = subprocess.Popen(container.words("sleep", "60"))
    file = tmp_path / "link.json"
    options = ["--nat", "--json", file, "--pid", held.pid]
    words = machine.words(*TCPSF, "link", "--delay", "1ms", *options)
    with held, started(words, "Outside:") as process:
        assert container.run("curl", "-s", f"http://{SERVER}/").startswith(MACHINE)
        assert container.run("curl", "-s", f"http://[{SERVER_6}]/").startswith(MACHINE_6)
        assert "eth0" in container.run("ip", "route", "get", "10.1.0.1")
        second = machine.run(*link("--pid", held.pid), status=2)
        assert second.startswith("error: cannot attach a link to a network namespace")
        if ended == "by a kill":
            process.kill()
        elif ended == "by a signal":
            process.send_signal(signal.SIGINT)
        else:
            held.kill()
        status = process.wait(timeout=30)
        held.kill()
    eventually(lambda: machine.state() == before)
    eventually(lambda: container.run("ip", "route", "show", "table", "all") == routes)
    if ended != "by a kill":
        assert status == 0
        found = json.loads(file.read_text(encoding="utf-8"))
        assert (found["command"], found["firewall_dropped_packets"]) == ([], 0)
        assert found["down"]["delivered_bytes"] > 400_000


@pytest.mark.usefixtures("unchanged")
def test_a_command_runs_in_an_existing_namespace(machine: Namespace, container: Namespace) -> None:
    path = f"/proc/{container.pid}/ns/net"
    page = machine.run(
        *link("--nat", "--netns", path), "--", "curl", "-s", "http://server.example/"
    )
    assert page.startswith((MACHINE, MACHINE_6))
    device = machine.run(*link("--netns", path), "--", "ip", "-br", "-4", "address")
    assert re.search(r"eth0\S* +UP +10\.1\.0\.2/24", device)
    assert re.search(r"^tcpsf +\S+ +100\.64\.0\.2/18", device, re.MULTILINE)


@pytest.mark.parametrize(
    ("options", "problem", "hint"),
    [
        (
            ["--netns", "none"],
            "cannot open network namespace `/run/netns/none`: No such file or directory",
            "give a name of `ip netns list`, or a path such as `/proc/PID/ns/net`",
        ),
        (
            ["--pid", "4194304"],
            "cannot find process 4194304: No such process",
            "`ps -e` lists the processes",
        ),
        (
            ["--netns", "one", "--pid", "2"],
            "cannot attach the link: `--netns one` with `--pid 2`",
            "omit one of them",
        ),
        (
            ["--netns", "/proc/self/ns/net"],
            "cannot attach a link to network namespace `/proc/self/ns/net`: invalid input parameter",
            "it is the namespace of `tcpsf` itself: give another one",
        ),
    ],
)
def test_a_namespace_that_cannot_be_used_is_told(
    machine: Namespace, options: list[str], problem: str, hint: str
) -> None:
    assert machine.run(*link(*options), status=2) == f"error: {problem}\nhint: {hint}\n"


def test_the_machine_of_these_tests_is_not_this_one(machine: Namespace) -> None:
    with contextlib.suppress(OSError), socket.socket() as probe:
        probe.settimeout(1)
        probe.bind((MACHINE, 0))
        raise AssertionError("the address of the simulated machine exists here")
    assert MACHINE in machine.run("ip", "address")
