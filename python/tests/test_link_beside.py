"""`tcpsf link --beside`: a command with several networks. Needs root and TUN devices."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Command
from link_machine import (
    MACHINE,
    SERVER,
    TCPSF,
    Namespace,
    eventually,
    link,
    namespace,
    started,
    unprivileged,
)

SENDS = """
import os, socket, sys
# Which link, the family, and how many datagrams.
for number, (suffix, count) in enumerate([("", 3), ("_2", 5), ("_3", 7)]):
    for six, family in (("", socket.AF_INET), ("6", socket.AF_INET6)):
        with socket.socket(family, socket.SOCK_DGRAM) as udp:
            how = sys.argv[1]
            to = os.environ[f"TCPSF_LINK_OUTSIDE{six}"]
            if how == "address":
                udp.bind((os.environ[f"TCPSF_LINK_INSIDE{six}{suffix}"], 0))
            elif how == "device":
                device = "tcpsf" + suffix.replace("_", "-")
                udp.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
            else:
                to = os.environ[f"TCPSF_LINK_OUTSIDE{six}{suffix}"]
            for _ in range(count):
                udp.sendto(b"x" * 100, (to, 9))
"""

MPTCP = """
import os, socket, subprocess, sys, threading, time
PROTOCOL = 262
size = int(sys.argv[2])
if sys.argv[1] == "serve":
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, PROTOCOL) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("", 7010))
        server.listen()
        client, _ = server.accept()
        with client:
            client.sendall(bytes(size))
            client.recv(1)
else:
    inside = os.environ["TCPSF_LINK_INSIDE_2"]
    words = ["ip", "mptcp", "endpoint", "add", inside, "dev", "tcpsf-2", "subflow"]
    subprocess.run(words, check=True)
    end = time.monotonic() + 10
    while True:
        try:
            client = socket.socket(socket.AF_INET, socket.SOCK_STREAM, PROTOCOL)
            client.connect((os.environ["TCPSF_LINK_OUTSIDE"], 7010))
            break
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.1)
    left = size
    while left:
        left -= len(client.recv(min(left, 65536)))
"""


@pytest.fixture
def here() -> Iterator[Namespace]:
    with namespace() as made:
        yield made


def statistics(folder: Path, *names: str) -> list[dict[str, Any]]:
    return [json.loads((folder / name).read_text(encoding="utf-8")) for name in names]


@pytest.mark.parametrize("how", ["address", "device", "destination"])
def test_the_source_selects_the_link(here: Namespace, tmp_path: Path, how: str) -> None:
    files = [tmp_path / str(number) for number in range(3)]
    further = [f"--beside=--json {file} --delay 2ms" for file in files[1:]]
    command = [sys.executable, "-c", SENDS, how]
    here.run(*link("--json", files[0], *further), "--", *command)
    found = statistics(tmp_path, "0", "1", "2")
    assert [each["up"]["delivered_packets"] for each in found] == [6, 10, 14]
    assert [each["up"]["delivered_bytes"] for each in found] == [
        count * (100 + 8 + 20) + count * (100 + 8 + 40) for count in (3, 5, 7)
    ]
    ends = [each["ends"]["inside"] for each in found]
    assert len(set(ends)) == 3


def test_each_link_has_its_name_and_its_seed(here: Namespace, tmp_path: Path) -> None:
    # A loss on the second link alone, made by its name while the command runs.
    script = (
        f"{' '.join(TCPSF)} link set two --up-loss 100% >&2;"
        f"{' '.join(TCPSF)} link show two --json; {sys.executable} -c '{SENDS}' address"
    )
    one, two = tmp_path / "one", tmp_path / "two"
    words = link("--name", "one", "--json", one, "--beside", f"--name two --seed 7 --json {two}")
    three = ["--beside", "--delay 1ms"]
    shown = here.run(*words, *three, "--", "sh", "-c", script)
    answer = json.loads(next(line for line in shown.splitlines() if line.startswith("{")))
    assert (answer["name"], answer["command"][:2]) == ("two", ["sh", "-c"])
    first, second = statistics(tmp_path, "one", "two")
    assert (first["name"], second["name"]) == ("one", "two")
    assert (first["seed"], second["seed"]) == (1, 7)
    assert (first["up"]["dropped_loss_packets"], first["up"]["delivered_packets"]) == (0, 6)
    assert (second["up"]["dropped_loss_packets"], second["up"]["delivered_packets"]) == (10, 0)
    assert [change["source"] for change in second["changes"]] == ["control"]
    assert first["changes"] == []
    assert first["command"] == second["command"]


def has_mptcp() -> bool:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_mptcp(), reason="this kernel has no Multipath TCP")
def test_multipath_tcp_uses_both_links(here: Namespace, tmp_path: Path) -> None:
    size = 1_500_000
    one, two = tmp_path / "one", tmp_path / "two"
    path = ["--rate", "8mbit", "--delay", "5ms", "--queue", "100kB"]
    further = f"--rate 8mbit --delay 8ms --queue 100kB --json {two}"
    serve = f"{sys.executable} -c '{MPTCP}' serve {size}"
    command = [sys.executable, "-c", MPTCP, "fetch", size]
    options = ["--json", one, "--beside", further, "--outside", serve]
    here.run(*link(*path, *options), "--", *command)
    found = statistics(tmp_path, "one", "two")
    shares = [each["down"]["delivered_bytes"] / size for each in found]
    assert min(shares) > 0.2, shares


@pytest.mark.usefixtures("unchanged")
def test_all_links_reach_hosts_outside(machine: Namespace) -> None:
    script = (
        f"curl -s http://{SERVER}/ | head -1; curl -s --interface $TCPSF_LINK_INSIDE_2 "
        f"http://server.example/ | head -1; ip -brief address"
    )
    shown = machine.run(*link("--nat", "--beside", "--delay 3ms"), "--", "sh", "-c", script)
    assert shown.splitlines()[:2] == [MACHINE] * 2
    assert "tcpsf-2" in shown


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_remains_after_a_signal(here: Namespace, number: signal.Signals) -> None:
    before = here.run("ip", "-br", "link")
    words = link("--beside", "--delay 1ms", "--beside", "--loss 1%")
    command = here.words(*words, "--", "sh", "-c", "echo ready; exec sleep 60")
    with started(command, "ready") as process:
        assert here.run("ip", "-br", "link").count("tcpsf") == 3
        process.send_signal(number)
        status = process.wait(timeout=30)
    assert status == (128 + number if number == signal.SIGTERM else -number)
    eventually(lambda: here.run("ip", "-br", "link") == before)


def test_the_exit_status_and_the_text_of_each_link(here: Namespace) -> None:
    words = [*TCPSF, "link", "--name", "one", "--beside", "--name two --rate 5mbit"]
    shown = here.run(*words, "--", "sh", "-c", "exit 3", status=3)
    assert shown.count("one: Outside: ") == shown.count("two: Outside: ") == 1
    assert "two: Queue: up 62.5 kB, down 62.5 kB" in shown
    assert "one: Exit status 3" in shown
    assert "two: Exit status 3" in shown
    here.run(*link("--beside", "--delay 1ms"), "--", "/does/not/exist", status=127)


@pytest.mark.parametrize(
    ("options", "problem", "hint"),
    [
        (
            ["--beside", ""],
            "cannot read `--beside`: it has no options",
            "e.g. `--beside '--name lte --preset lte'`",
        ),
        (
            ["--beside", "--name 'x"],
            "cannot read `--beside --name 'x`: no closing quotation",
            "quote the options as for a shell",
        ),
        (
            ["--beside", "--rate 10"],
            "`--beside`: `--rate 10`: `10` is not a rate above zero such as `10Mb/s` or `32kbit`",
            "a rate is in bits per second, such as `10mbit` or `10Mb/s`",
        ),
        (
            ["--beside", "--nat"],
            "`--beside`: no such option `--nat`",
            "it is an option of the command, not of one link: give it before `--beside`",
        ),
        (
            ["--beside", "--delay 1ms more"],
            "`--beside`: got unexpected extra argument (more)",
            "`tcpsf link --help` lists commands and options",
        ),
        (
            ["--name", "x", "--beside", "--name x"],
            "cannot make the links: two of them have `--name x`",
            "give each link another one",
        ),
        (
            ["--beside", "--queue 10kB"],
            "`--queue 10kB`: packets never wait where there is no rate",
            "add `--rate`, for example `--rate 10mbit`",
        ),
        (
            ["--beside", "--delay 1ms"] * 8,
            "cannot make link 9 of the command: quota exceeded",
            "a command has at most eight links",
        ),
    ],
)
def test_options_that_cannot_be_used_are_told(
    tcpsf: Command, options: list[str], problem: str, hint: str
) -> None:
    answer = tcpsf("link", *options, "--", "true")
    assert (answer.status, answer.err) == (2, f"error: {problem}\nhint: {hint}\n")


def test_users_without_root_are_told() -> None:
    words = unprivileged(*TCPSF, "link", "--beside", "--loss 1%", "--", "true")
    done = subprocess.run(
        [*map(str, words)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot ")
    assert "hint: run it as root; or give the program that the command talks to" in done.stderr
