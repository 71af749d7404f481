"""`tcpsf link --nat`, `--netns` and `--pid`, in namespaces that stand for a machine and the Internet.

Needs root, TUN devices, `ip`, `nsenter`, `curl` and `git`, as CI has them.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from link_machine import (
    MACHINE,
    MACHINE_6,
    SERVER,
    SERVER_6,
    SETTINGS,
    SIGNALS,
    TABLES,
    TCPSF,
    Namespace,
    eventually,
    link,
    resolver,
    started,
)


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


@pytest.mark.parametrize("number", SIGNALS)
def test_nothing_remains_after_a_signal(machine: Namespace, number: signal.Signals) -> None:
    before = machine.state()
    words = machine.words(*link("--nat", "--", "sh", "-c", "echo ready; exec sleep 60"))
    with started(words, "ready") as process:
        process.send_signal(number)
        status = process.wait(timeout=30)
    assert status == (-number if number == signal.SIGKILL else 128 + number)
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
    assert machine.state() == before


@pytest.mark.parametrize("ended", [*SIGNALS, None], ids=lambda ended: ended and ended.name)
def test_a_container_gets_the_link_as_its_way_out(
    machine: Namespace, container: Namespace, tmp_path: Path, ended: signal.Signals | None
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
        if ended is None:
            held.kill()
        else:
            process.send_signal(ended)
        status = process.wait(timeout=30)
        held.kill()
    eventually(lambda: machine.state() == before)
    eventually(lambda: container.run("ip", "route", "show", "table", "all") == routes)
    if ended == signal.SIGKILL:
        assert status == -ended
    else:
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
