"""`tcpsf link --nat` and `--beside` of a user without privileges, in namespaces that stand for a machine and the Internet.

The fixtures need root, TUN devices, `ip`, `nsenter`, `setpriv`, `curl` and `git`, as CI has them.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from link_machine import (
    MACHINE,
    MACHINE_6,
    SERVER,
    SERVER_6,
    SIGNALS,
    TCPSF,
    Namespace,
    eventually,
    link,
    resolver,
    started,
    unprivileged,
)
from test_link_beside import SENDS, statistics
from test_link_reach import ECHO, resolved

PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
"""A Python that every user may run: that of the tests may be in a home folder."""

PING = "/proc/sys/net/ipv4/ping_group_range"

pytestmark = pytest.mark.usefixtures("unchanged")


def nat(*options: object) -> list[object]:
    return unprivileged(*link("--nat", *options), "--")


def python(script: str, *arguments: object) -> list[object]:
    return [PYTHON, "-c", script, *arguments]


def ping_allowed(machine: Namespace) -> None:
    """Let all groups use sockets for echo requests (icmp(7)), as systemd does."""
    machine.run("sh", "-c", f"echo 0 2147483647 > {PING}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which the user may write, and whose path the user may read."""
    for path in (tmp_path, *tmp_path.parents):
        if path == Path(tempfile.gettempdir()):
            break
        path.chmod(path.stat().st_mode | 0o005)
    made = tmp_path / "user"
    made.mkdir()
    made.chmod(0o777)
    return made


def test_tcp_udp_and_icmp_reach_hosts_outside(machine: Namespace) -> None:
    ping_allowed(machine)
    for server, address in ((SERVER, MACHINE), (f"[{SERVER_6}]", MACHINE_6)):
        page = machine.run(*nat(), "curl", "-s", f"http://{server}/")
        assert page.startswith(f"{address}\n")
        assert len(page) == len(address) + 1 + 200_000
    for server, address in ((SERVER, MACHINE), (SERVER_6, MACHINE_6)):
        udp, icmp = machine.run(*nat(), *python(ECHO, server)).splitlines()
        assert udp == f"datagram {address}"
        assert icmp == "reply"


LARGE = """
import os, socket, sys
with socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM) as udp:
    udp.settimeout(10)
    for size in (0, 1, 1400, 1473, 4000, 8000):
        data = os.urandom(size)
        udp.sendto(data, (sys.argv[1], 7))
        got, sender = udp.recvfrom(65535)
        assert got[:size] == data and got[size:size + 1] == b" ", size
        assert sender[:2] == (sys.argv[1], 7), sender
print("all")
"""


@pytest.mark.parametrize("server", [SERVER, SERVER_6])
def test_datagrams_of_any_length_pass(machine: Namespace, server: str) -> None:
    assert machine.run(*nat(), *python(LARGE, server)) == "all\n"


@pytest.mark.parametrize("server", ["127.0.0.53", "198.51.100.53"])
def test_names_are_resolved_as_outside(machine: Namespace, tmp_path: Path, server: str) -> None:
    script = (
        "cat /etc/resolv.conf; getent ahosts server.example; getent hosts large.example;"
        "getent hosts none.example; echo $?"
    )
    outside = machine.run("sh", "-c", script)
    resolver(machine, tmp_path, server)
    inside = machine.run(*nat(), "sh", "-c", script)
    there = "100.64.0.1" if server.startswith("127") else server
    assert inside.splitlines()[0] == f"nameserver {there}"
    assert resolved(inside) == resolved(outside)
    resolver(machine, tmp_path, "127.0.0.53")


def with_modules(folder: Path) -> list[object]:
    """Return words for a Python that the user may run, with the modules of these tests."""
    ask = [PYTHON, "-c", "import sys; print(sys.version_info[:2])"]
    found = subprocess.run(ask, check=True, capture_output=True, text=True).stdout
    if found != f"{sys.version_info[:2]}\n":
        pytest.skip(f"`{PYTHON}` has another version")
    paths = ":".join(path for path in sys.path if Path(path).is_dir())
    return ["env", f"PYTHONPATH={paths}", f"XDG_RUNTIME_DIR={folder}", PYTHON]


def test_links_inside_the_link_reach_hosts_outside(machine: Namespace, folder: Path) -> None:
    inner = [*with_modules(folder), *link("--loss", "1%")[1:], "--"]
    page = machine.run(*nat(), *inner, "curl", "-s", "http://server.example/")
    assert page.startswith((MACHINE, MACHINE_6))


BLOCK = """
import os, sys, tcpsf
os.chdir(sys.argv[2])
with tcpsf.link(nat=True, delay="5ms", beside=[{"delay": "1ms"}]) as net:
    net.run(["curl", "-s", "-o", "page", f"http://{sys.argv[1]}/"], check=True)
    net.run(["curl", "-s", "-o", "by_name", "http://server.example/"], check=True)
    source = ["--interface", net.beside[0].inside]
    net.run(["curl", "-s", *source, "-o", "second", f"http://{sys.argv[1]}/"], check=True)
for each in (net, net.beside[0]):
    print(each.result["down"]["delivered_bytes"] // 200_000)
"""


def test_a_block_of_python_reaches_hosts_outside(machine: Namespace, folder: Path) -> None:
    words = [*with_modules(folder), "-c", BLOCK, SERVER, folder]
    assert machine.run(*unprivileged(*words)) == "2\n1\n"
    for name in ("page", "by_name", "second"):
        assert len((folder / name).read_bytes()) > 200_000


def test_git_and_curl_work_by_name(machine: Namespace, folder: Path) -> None:
    clone = ["git", "clone", "-q", "git://server.example/work", folder / "clone"]
    machine.run(*nat(), *clone)
    assert (folder / "clone" / "file").read_text(encoding="utf-8") == "content\n" * 10_000
    page = machine.run(*nat("--rate", "50mbit"), "curl", "-s", "http://server.example/")
    assert page.startswith((MACHINE, MACHINE_6))


REFUSED = """
import errno, socket, sys
for host, port in (entry.rsplit("/", 1) for entry in sys.argv[1:]):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as tcp:
        tcp.settimeout(10)
        tcp_error = tcp.connect_ex((host, int(port)))
    with socket.socket(family, socket.SOCK_DGRAM) as udp:
        udp.settimeout(10)
        # All errors, also those that are no reason to give up (ip(7), IP_RECVERR).
        six = family == socket.AF_INET6
        udp.setsockopt(socket.IPPROTO_IPV6 if six else 0, 25 if six else 11, 1)
        udp.connect((host, int(port)))
        try:
            udp.send(b"datagram")
            udp.recv(100)
        except OSError as error:
            name = errno.errorcode.get(error.errno, str(error))
            print(errno.errorcode[tcp_error], name, flush=True)
"""


def test_refused_and_unreachable_destinations_are_such_inside(machine: Namespace) -> None:
    """The expected errors are those of a host whose router answers so (Linux, `icmp_err_convert`)."""
    machine.run("ip", "route", "add", "unreachable", "192.0.2.0/26")
    machine.run("ip", "route", "add", "prohibit", "192.0.2.64/26")
    machine.run("ip", "-6", "route", "add", "unreachable", "2001:db8:2::/48")
    closed = [f"{SERVER}/5", f"{SERVER_6}/5"]
    unreachable = ["192.0.2.1/80", "192.0.2.65/80", "2001:db8:2::1/80"]
    try:
        shown = machine.run(*nat(), *python(REFUSED, *closed, *unreachable))
    finally:
        for prefix in ("192.0.2.0/26", "192.0.2.64/26"):
            machine.run("ip", "route", "del", prefix)
        machine.run("ip", "-6", "route", "del", "2001:db8:2::/48")
    assert shown.splitlines() == [
        "ECONNREFUSED ECONNREFUSED",
        "ECONNREFUSED ECONNREFUSED",
        "EHOSTUNREACH EHOSTUNREACH",
        "EHOSTUNREACH EHOSTUNREACH",
        "EHOSTUNREACH EHOSTUNREACH",
    ]


ENDS = """
import os, socket, struct, sys, threading
host = sys.argv[1]
def connected(port):
    made = socket.create_connection((host, port), timeout=20)
    return made
# Half-close: the data that follows the end of ours.
data = os.urandom(3_000_000)
with connected(7) as tcp:
    def send():
        tcp.sendall(data)
        tcp.shutdown(socket.SHUT_WR)
    sender = threading.Thread(target=send)
    sender.start()
    got = b""
    while part := tcp.recv(65536):
        got += part
    sender.join()
assert got == data + b" 3000000 bytes, " + sys.argv[2].encode() + b" resets", got[3_000_000:]
# A reset by the server.
with connected(9) as tcp:
    tcp.sendall(b"r")
    try:
        tcp.recv(1)
        print("no reset")
    except ConnectionResetError:
        print("reset")
# A reset by the client.
with connected(7) as tcp:
    tcp.sendall(b"r")
    assert tcp.recv(1) == b"r"
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
for _ in range(200):
    with connected(7) as tcp:
        tcp.shutdown(socket.SHUT_WR)
        answer = tcp.recv(100).decode()
    if f"{sys.argv[2]} resets" not in answer:
        break
print(answer.strip())
"""


def test_ends_and_resets_pass_in_both_directions(machine: Namespace) -> None:
    for number, server in enumerate((SERVER, SERVER_6)):
        shown = machine.run(*nat(), *python(ENDS, server, number))
        assert shown.splitlines() == ["reset", f"0 bytes, {number + 1} resets"]


MANY = """
import asyncio, os, sys
async def one(number):
    reader, writer = await asyncio.open_connection(sys.argv[1], 7)
    connected.append(number)
    while len(connected) < count:
        await asyncio.sleep(0.01)
    data = bytes([number % 256]) * (5000 + number)
    writer.write(data)
    writer.write_eof()
    got = await reader.read(-1)
    assert got.startswith(data) and got[len(data):].startswith(f" {len(data)} bytes".encode())
    writer.close()
async def main():
    await asyncio.wait_for(asyncio.gather(*(one(number) for number in range(count))), 50)
connected, count = [], 200
asyncio.run(main())
print(len(connected))
"""


def test_200_connections_at_once(machine: Namespace) -> None:
    assert machine.run(*nat(), *python(MANY, SERVER)) == "200\n"


def test_the_law_of_the_link_applies(machine: Namespace, folder: Path) -> None:
    file = folder / "link.json"
    options = ["--delay", "30ms", "--down-loss-mask", "0,1,0,0,0,1", "--json", file]
    words = [*TCPSF, "link", "-q", "--nat", *options, "--"]
    curl = ["curl", "-s", "-o", "/dev/null", "-w", "%{time_connect} %{size_download}"]
    shown = machine.run(*unprivileged(*words), *curl, f"http://{SERVER}/")
    connected, size = shown.split()
    assert float(connected) >= 0.06
    assert int(size) == 200_000 + len(MACHINE) + 1
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["down"]["dropped_loss_packets"] == 2
    assert found["down"]["delivered_bytes"] > 200_000
    assert found["firewall_dropped_packets"] is None


def test_the_kind_of_reach_is_told(machine: Namespace) -> None:
    words = [*TCPSF, "link", "--nat", "--", "true"]
    told = "Without root, connections to other hosts end at the outer end: "
    assert told in machine.run(*unprivileged(*words))
    assert told not in machine.run(*words)


def test_a_program_at_the_outer_end_has_its_address(machine: Namespace) -> None:
    serve = f"{PYTHON} -m http.server 8000"
    fetch = "curl -s --retry-connrefused --retry 9 http://$TCPSF_LINK_OUTSIDE:8000/ | head -1;"
    words = nat("--outside", serve)
    shown = machine.run(*words, "sh", "-c", f"{fetch} curl -s http://{SERVER}/ | head -1")
    assert shown.splitlines()[0].startswith("<!DOCTYPE")
    assert MACHINE in shown.splitlines()


def test_all_links_of_a_command_reach_hosts_outside(machine: Namespace) -> None:
    script = (
        f"curl -s http://{SERVER}/ | head -1; curl -s --interface $TCPSF_LINK_INSIDE_2 "
        "http://server.example/ | head -1; ip -brief address"
    )
    shown = machine.run(*nat("--beside", "--delay 3ms"), "sh", "-c", script)
    assert shown.splitlines()[0] == MACHINE
    assert shown.splitlines()[1] in {MACHINE, MACHINE_6}
    assert "tcpsf-2" in shown


def test_two_links_at_once_do_not_disturb_each_other(machine: Namespace) -> None:
    fetch = f"curl -s http://{SERVER}/ | head -1; exec sleep 60"
    words = machine.words(*nat("--delay", "1ms"), "sh", "-c", fetch)
    with started(words, MACHINE) as first, started(words, MACHINE) as second:
        first.kill()
        first.wait()
        page = machine.run(*nat("--delay", "2ms"), "curl", "-s", f"http://[{SERVER_6}]/")
        assert page.startswith(f"{MACHINE_6}\n")
        assert second.poll() is None
        second.kill()


@pytest.mark.parametrize("how", ["address", "device", "destination"])
def test_the_source_selects_the_link(machine: Namespace, folder: Path, how: str) -> None:
    files = [folder / str(number) for number in range(3)]
    further = [f"--beside=--json {file} --delay 2ms" for file in files[1:]]
    words = link("--json", files[0], "--outside", "sleep 60", *further)
    machine.run(*unprivileged(*words), "--", *python(SENDS, how))
    found = statistics(folder, "0", "1", "2")
    assert [each["up"]["delivered_packets"] for each in found] == [6, 10, 14]
    assert len({each["ends"]["inside"] for each in found}) == 3


def processes() -> set[str]:
    """Return the processes of our user."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_uid == 65534:
                found.add(path.name)
    return found


@pytest.mark.parametrize("number", SIGNALS)
def test_nothing_remains_after_a_signal(machine: Namespace, number: signal.Signals) -> None:
    before, state = processes(), machine.state()
    fetch = f"curl -s http://{SERVER}/ | head -1; exec sleep 60"
    words = machine.words(*nat("--beside", "--delay 1ms"), "sh", "-c", fetch)
    with started(words, MACHINE) as process:
        # All is in namespaces of the user's own.
        assert machine.state() == state
        process.send_signal(number)
        status = process.wait(timeout=30)
    assert status == (-number if number == signal.SIGKILL else 128 + number)
    eventually(lambda: processes() <= before)


def spent_s(group: int) -> float:
    """Return the CPU time of a process group in seconds."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            fields = path.read_text(encoding="utf-8").rpartition(")")[2].split()
            ticks += (int(fields[11]) + int(fields[12])) * (int(fields[2]) == group)
    return ticks / os.sysconf("SC_CLK_TCK")


def lowest_free(process: int) -> int:
    """Return the number of the next descriptor of a process, once it opens and closes no more."""
    found = [0, 1]
    while found[-1] != found[-2]:
        time.sleep(0.3)
        used = {int(each.name) for each in Path(f"/proc/{process}/fd").iterdir()}
        found.append(min(set(range(len(used) + 1)) - used))
    return found[-1]


def test_a_connection_waits_for_a_descriptor(machine: Namespace) -> None:
    fetch = f"echo ready; read line; exec curl -s http://{SERVER}/"
    words = machine.words(*nat(), "sh", "-c", fetch)
    with started(words, "ready", stdin=subprocess.PIPE) as process:
        limit = ["prlimit", "--pid", process.pid]
        machine.run(*unprivileged(*limit, f"--nofile={lowest_free(process.pid)}:"))
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        time.sleep(0.5)
        before = spent_s(process.pid)
        time.sleep(1)
        assert spent_s(process.pid) - before < 0.5
        assert not select.select([process.stdout], [], [], 0)[0], process.stdout.read(300)
        machine.run(*unprivileged(*limit, "--nofile=1024:"))
        assert process.stdout.readline() == f"{MACHINE}\n"


def test_echo_requests_that_the_system_does_not_permit_are_answered_so(machine: Namespace) -> None:
    machine.run("sh", "-c", f"echo 1 0 > {PING}")
    shown = machine.run(*nat(), *python(PROHIBITED, SERVER))
    assert shown == "3 13\n"


PROHIBITED = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as icmp:
    icmp.settimeout(10)
    icmp.sendto(bytes([8, 0, 0xE5, 0xCA, 18, 52, 0, 1]), (sys.argv[1], 0))
    packet = icmp.recv(1000)
    print(packet[20], packet[21])
"""


def test_a_machine_without_a_route_is_told(machine: Namespace) -> None:
    machine.run("ip", "route", "del", "default")
    machine.run("ip", "-6", "route", "del", "default")
    try:
        answer = machine.run(*nat(), "true", status=2)
    finally:
        machine.run("ip", "route", "add", "default", "via", "203.0.113.1")
        machine.run("ip", "-6", "route", "add", "default", "via", "2001:db8::1")
    assert answer == (
        "error: cannot reach the network outside of this machine: Network is unreachable\n"
        "hint: there is no default route: `ip route`\n"
    )
