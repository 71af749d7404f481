"""`tcpsf link`: options, output, files. Needs root and TUN devices, as CI has them; the emulator is tested in Rust."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from conftest import REPOSITORY, Answer, Command

LOSSY = REPOSITORY / "scenarios" / "lossy-access.toml"
ATM = REPOSITORY / "scenarios" / "atm-balanced-discard.toml"

REFUSED = {
    "rate without a unit": (
        ["--rate", "10"],
        "`--rate 10`: `10` is not a rate above zero such as `10Mb/s` or `32kbit`",
        "a rate is in bits per second, such as `10mbit` or `10Mb/s`",
    ),
    "one direction": (
        ["--up-delay", "fast"],
        "`--up-delay fast`: `fast` is not a duration such as `20ms` or `1.5s`",
        "write it with a unit, such as `20ms`",
    ),
    "probability": (
        ["--loss", "two"],
        "`--loss two`: `two` is not a probability",
        "write it as `0.01` or `1%`",
    ),
    "two losses": (
        ["--loss", "1%", "--loss-mask", "1"],
        "`--loss 1%`: there is `--loss-mask` as well",
        "a direction has one kind of loss; run one link inside another for two",
    ),
    "queue without a rate": (
        ["--queue", "150kB"],
        "`--queue 150kB`: packets never wait where there is no rate",
        "add `--rate`, for example `--rate 10mbit`",
    ),
    "outside": (
        ["--outside", "'"],
        "cannot read `--outside '`: no closing quotation",
        "quote the command as for a shell",
    ),
    "empty outside": (
        ["--outside", ""],
        "cannot run `--outside`: it is empty",
        "e.g. `--outside 'python3 -m http.server'`",
    ),
    "capture of nothing": (
        ["--pcap-at", "both"],
        "cannot capture: `--pcap-at both` without `--pcap`",
        "add `--pcap FILE`",
    ),
    "force of nothing": (
        ["--force"],
        "cannot replace files: `--force` without `--pcap`, `--json` or `--report`",
        "omit `--force`",
    ),
    "bytes per second": (
        ["--down-rate", "1MB/s"],
        "`--down-rate 1MB/s`: `1MB/s` is in bytes per second, and a rate is in bits: did you mean `8Mb/s` or `1Mb/s`?",
        "a rate is in bits per second, such as `10mbit` or `10Mb/s`",
    ),
    "queue smaller than a packet": (
        ["--rate", "1mbit", "--queue", "10B"],
        "`--queue 10B`: it cannot hold a packet of 1500 bytes, and would drop each of them",
        "make it larger, for example `--queue 100packets`",
    ),
    "long delay": (
        ["--delay", "1000h"],
        "`--delay 1000h`: `1000h` is more than 600s, the most that there is",
        "write a shorter time, such as `20ms`",
    ),
    "long spin": (
        ["--spin", "10h"],
        "`--spin 10h`: `10h` is more than 1s, the most that there is",
        "write a shorter time, such as `20ms`",
    ),
    "large seed": (
        ["--seed", str(10**23)],
        f"`--seed {10**23}`: `{10**23}` is not in the range 0 to {2**64 - 1}",
        f"give an integer from 0 to {2**64 - 1}",
    ),
    "statistics on standard output": (
        ["--json", "-"],
        "cannot write `--json -`: standard output belongs to COMMAND",
        "give a file or another descriptor: `--json /dev/fd/3 3>&1 1>&2`",
    ),
    "statistics without a file": (
        ["--json"],
        "cannot write `--json --`: `--` is not a file",
        "e.g. `--json FILE`",
    ),
    "an option for a file": (
        ["--json", "--no-offload"],
        "cannot write `--json --no-offload`: `--no-offload` is not a file",
        "e.g. `--json FILE`",
    ),
    "scenario without a link": (
        ["--up-from", "lossy.toml"],
        "cannot read `--up-from lossy.toml`: expected FILE:LINK",
        "e.g. `--up-from scenarios/lossy-access.toml:access-down`",
    ),
    "unknown link": (
        ["--from", f"{LOSSY}:middle"],
        f"`--from {LOSSY}:middle`: there is no link `middle`",
        "the scenario's links: `core-down`, `access-down`, `access-up`, `core-up`",
    ),
    "link of cells": (
        ["--down-from", f"{ATM}:switch"],
        f"`--down-from {ATM}:switch`: the link sends cells",
        "a real link carries packets; take a link without `cells`",
    ),
    "no scenario": (
        ["--from", "none.toml:link"],
        "cannot read scenario `none.toml`: no such file",
        "give a TOML file with a scenario, or `-` for standard input",
    ),
    "packets on standard output": (
        ["--pcap", "-"],
        "cannot write `--pcap -`: standard output belongs to COMMAND",
        "give a file or another descriptor: `--pcap /dev/fd/3 3>&1 1>&2`",
    ),
}


@pytest.mark.parametrize(("options", "problem", "hint"), REFUSED.values(), ids=REFUSED)
def test_bad_options(tcpsf: Command, options: list[str], problem: str, hint: str | None) -> None:
    wanted = f"error: {problem}\n" + ("" if hint is None else f"hint: {hint}\n")
    assert tcpsf("link", *options, "--", "true") == Answer(2, "", wanted)


def test_no_command(tcpsf: Command) -> None:
    answer = tcpsf("link", "--delay", "1ms")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("error: missing argument")


@pytest.mark.parametrize("offload", [True, False])
def test_json_keeps_to_its_schema(tcpsf: Command, tmp_path: Path, offload: bool) -> None:
    file = tmp_path / "link.json"
    words = [
        "link",
        "--delay",
        "2ms",
        "--rate",
        "10mbit",
        "--up-queue",
        "9kB",
        "--seed",
        "7",
        "--json",
        str(file),
    ]
    words += [] if offload else ["--no-offload"]
    answer = tcpsf(*words, "--", "sh", "-c", "printf said; exit 3")
    found = json.loads(file.read_text(encoding="utf-8"))
    assert list(tmp_path.iterdir()) == [file]
    schema = (
        resources.files("tcpsf.report").joinpath("schema", "link.json").read_text(encoding="utf-8")
    )
    jsonschema.Draft202012Validator.check_schema(json.loads(schema))
    jsonschema.validate(found, json.loads(schema))
    assert answer.out == "said"
    assert found["outside_exit_status"] is None
    assert (answer.status, found["exit_status"], found["seed"]) == (3, 3, 7)
    assert found["settings"]["both"] == {"rate": "10mbit", "delay": "2ms"}
    assert found["settings"]["up"] == {"queue": "9kB"}
    assert found["settings"]["down"] == {"queue": "125000B"}  # 100 ms
    assert found["settings"]["offload"] is offload


def test_the_page_has_the_statistics(tcpsf: Command, tmp_path: Path) -> None:
    page, file = tmp_path / "page.html", tmp_path / "link.json"
    script = [sys.executable, "-c", DATAGRAMS]
    words = ["--up-loss", "0.3", "--delay", "1ms", "--json", file, "--report", page]
    assert tcpsf("link", *words, "--", *script).status == 0
    up = json.loads(file.read_text(encoding="utf-8"))["up"]
    content = page.read_text(encoding="utf-8")
    table = content.partition('id="figure-packets"')[2].partition("</figure>")[0]
    lost = re.search(r'data-value="lost".*?data-value="([^"]*)"', table, re.DOTALL)
    assert lost is not None
    assert float(lost[1]) == up["dropped_loss_packets"] > 0
    for chart in ("throughput", "packet-rate", "losses"):
        assert f'id="figure-{chart}"' in content
    assert 'id="figure-utilisation"' not in content  # no direction has a rate
    assert "://" not in content
    answer = tcpsf("link", "--report", page, "--", *script)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(f"error: cannot write `{page}`: it already exists\n")


DATAGRAMS = """
import os, socket
to = (os.environ["TCPSF_LINK_OUTSIDE"], 9)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    for number in range(300):
        try:
            sender.sendto(bytes(200), to)
        except ConnectionRefusedError:
            pass
"""


@pytest.mark.parametrize(
    ("options", "same"),
    [
        (
            ["--up-from", f"{LOSSY}:access-down", "--queue", "none"],
            [
                "--up-rate",
                "2Mb/s",
                "--up-delay",
                "15ms",
                "--up-loss-burst",
                "0.02,1.5",
                "--queue",
                "none",
            ],
        ),
        (
            ["--from", f"{LOSSY}:access-down", "--up-loss", "0.3", "--queue", "none"],
            ["--rate", "2Mb/s", "--delay", "15ms", "--up-loss", "0.3", "--queue", "none"],
        ),
    ],
)
def test_a_scenarios_link_is_that_of_the_options(
    tcpsf: Command, tmp_path: Path, options: list[str], same: list[str]
) -> None:
    file = tmp_path / "link.json"
    found = []
    for words in (options, same):
        command = [sys.executable, "-c", DATAGRAMS]
        assert tcpsf("link", *words, "--seed", "5", "--json", str(file), "--", *command).status == 0
        up = json.loads(file.read_text(encoding="utf-8"))["up"]
        found.append({name: count for name, count in up.items() if name.startswith("dropped_loss")})
        file.unlink()
    assert found[0] == found[1]
    if "--up-loss" in same:
        assert found[0]["dropped_loss_packets"] > 50


def test_text_is_talk(tcpsf: Command) -> None:
    ping = (
        "import os, socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
        "[s.sendto(bytes(100), (os.environ['TCPSF_LINK_OUTSIDE'], 9)) for _ in range(5)]"
    )
    answer = tcpsf(
        "link", "--up-rate", "8kbit", "--up-queue", "2packets", "--", sys.executable, "-c", ping
    )
    assert (answer.status, answer.out) == (0, "")
    lines = answer.err.splitlines()
    assert lines[0].startswith("Outside: 100.64.")
    rows = [line.rsplit(maxsplit=2) for line in lines]
    assert ["packets", "5"] in [row[:2] for row in rows]
    assert ["dropped, buffer full", "3"] in [row[:2] for row in rows]


def test_a_capture_is_whole_or_not_there(tcpsf: Command, tmp_path: Path) -> None:
    path = tmp_path / "link.pcapng"
    missing = tcpsf("link", "--pcap", path, "--", "/no/such/program")
    assert missing.status == 127
    assert "error: cannot start `/no/such/program`: No such file or directory\n" in missing.err
    assert list(tmp_path.iterdir()) == []
    assert tcpsf("link", "--pcap", path, "--pcap-at", "both", "--", "true").status == 0
    assert path.read_bytes().startswith(b"\n\r\r\n")
    again = tcpsf("link", "--pcap", path, "--", "true")
    assert (again.status, again.err.splitlines()[0]) == (
        2,
        f"error: cannot write capture `{path}`: it already exists",
    )
    assert tcpsf("link", "--pcap", path, "--force", "--", "true").status == 0
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_told(tcpsf: Command) -> None:
    answer = tcpsf("link", "--pcap", "/no/such/folder/link.pcapng", "--", "true")
    assert answer.status == 2
    assert answer.err.startswith(
        "error: cannot write capture `/no/such/folder/link.pcapng`: `/no/such/folder` is not a"
    )


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals_go_to_the_command(number: signal.Signals, status: int) -> None:
    words = [sys.executable, "-m", "tcpsf", "link", "--", "sh", "-c", "echo ready; exec sleep 60"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.kill(process.pid, number)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == status
    assert f"Exit status {status} after " in errors
    assert "Traceback" not in errors


SENDER = """
import os, socket, sys
address = os.environ["TCPSF_LINK_OUTSIDE"], int(sys.argv[1])
socket.create_connection(address).sendall(bytes(1000))
"""
"""Sends one segment and ends."""


@pytest.mark.parametrize(("option", "value"), [("mask", "1"), ("mask-all", "0,0,0,1")])
def test_data_of_a_command_that_has_ended_are_retransmitted(
    tcpsf: Command, option: str, value: str
) -> None:
    """The segment with the data is lost, or the FIN."""
    with socket.socket() as server:
        server.bind(("", 0))
        server.listen()
        server.settimeout(20)
        port = str(server.getsockname()[1])
        command = (sys.executable, "-c", SENDER, port)
        assert tcpsf("link", "-q", f"--up-loss-{option}", value, "--", *command).status == 0
        connection, _ = server.accept()
        connection.settimeout(20)
        received = 0
        while data := connection.recv(10_000):
            received += len(data)
        connection.close()
    assert received == 1000


def test_packets_that_no_link_delivers_are_not_awaited_for_ever(tcpsf: Command) -> None:
    with socket.socket() as server:
        server.bind(("", 0))
        server.listen()
        port = str(server.getsockname()[1])
        words = ["--up-loss-mask-all", "0,0" + ",1" * 40, "--", sys.executable, "-c", SENDER, port]
        start = time.monotonic()
        assert tcpsf("link", "-q", *words).status == 0
        assert time.monotonic() - start > 3  # the limit


def test_a_command_that_cannot_be_run_has_the_status_that_shells_give(
    tcpsf: Command, tmp_path: Path
) -> None:
    file = tmp_path / "data"
    file.write_text("no program", encoding="utf-8")
    answer = tcpsf("link", "--", file)
    assert answer.status == 126
    assert f"error: cannot start `{file}`: Permission denied\n" in answer.err


def test_an_earlier_file_of_statistics_is_replaced_only_by_force(
    tcpsf: Command, tmp_path: Path
) -> None:
    file = tmp_path / "link.json"
    file.write_text("mine\n", encoding="utf-8")
    refused = tcpsf("link", "--json", file, "--", "true")
    assert (refused.status, file.read_text(encoding="utf-8")) == (2, "mine\n")
    assert tcpsf("link", "--json", file, "--force", "--", "true").status == 0
    assert json.loads(file.read_text(encoding="utf-8"))["exit_status"] == 0


def test_statistics_go_to_another_descriptor(tmp_path: Path) -> None:
    script = f"{sys.executable} -m tcpsf link --json /dev/fd/3 -- printf said 3>&1 >'{tmp_path}/out' 2>&1"
    answer = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(answer.stdout)["exit_status"] == 0
    assert "said" in (tmp_path / "out").read_text(encoding="utf-8")


def test_an_outside_program_that_dies_is_told(tcpsf: Command, tmp_path: Path) -> None:
    file = tmp_path / "link.json"
    warning = (
        "warning: the program of `--outside` ended with exit status 7 before the command did\n"
    )
    for more in ([], ["--json", file]):
        answer = tcpsf("link", "--outside", "sh -c 'exit 7'", *more, "--", "sleep", "0.5")
        assert answer.status == 0
        assert answer.err.endswith(warning)
    assert json.loads(file.read_text(encoding="utf-8"))["outside_exit_status"] == 7
    assert "warning" not in tcpsf("link", "--outside", "sleep 60", "--", "sleep", "0.1").err
