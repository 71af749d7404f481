"""`tcpsf link`: options, output, files. Needs root and TUN devices, as CI has them; the emulator is tested in Rust."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from conftest import Answer

Command = Callable[..., Answer]

REFUSED = {
    "rate without a unit": (
        ["--rate", "10"],
        "`--rate 10`: `10` is not a rate above zero such as `10Mb/s` or `32kbit`",
        None,
    ),
    "one direction": (
        ["--up-delay", "fast"],
        "`--up-delay fast`: `fast` is not a duration such as `20ms` or `1.5s`",
        None,
    ),
    "probability": (["--loss", "two"], "`--loss two`: `two` is not a probability", "write it as `0.01` or `1%`"),
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
    "outside": (["--outside", "'"], "cannot read `--outside '`: no closing quotation", "quote it as for a shell"),
    "empty outside": (
        ["--outside", ""],
        "cannot run `--outside`: it is empty",
        "for example `--outside 'python3 -m http.server'`",
    ),
    "capture of nothing": (
        ["--pcap-at", "both"],
        "cannot capture: `--pcap-at both` without `--pcap`",
        "add `--pcap FILE`",
    ),
    "force of nothing": (["--force"], "cannot capture: `--force` without `--pcap`", "add `--pcap FILE`"),
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
def test_json_keeps_to_its_schema(tcpsf: Command, offload: bool) -> None:
    words = ["link", "--delay", "2ms", "--rate", "10mbit", "--up-queue", "9kB", "--seed", "7", "--json"]
    words += [] if offload else ["--no-offload"]
    answer = tcpsf(*words, "--", "sh", "-c", "echo said; exit 3")
    found = json.loads(answer.out.splitlines()[-1])
    schema = resources.files("tcpsf.report").joinpath("schema", "link.json").read_text(encoding="utf-8")
    jsonschema.Draft202012Validator.check_schema(json.loads(schema))
    jsonschema.validate(found, json.loads(schema))
    assert answer.out.startswith("said\n")
    assert (answer.status, found["exit_status"], found["seed"]) == (3, 3, 7)
    assert found["settings"]["both"] == {"rate": "10mbit", "delay": "2ms"}
    assert found["settings"]["up"] == {"queue": "9kB"}
    assert found["settings"]["offload"] is offload


def test_text_is_talk(tcpsf: Command) -> None:
    ping = (
        "import os, socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
        "[s.sendto(bytes(100), (os.environ['TCPSF_LINK_OUTSIDE'], 9)) for _ in range(5)]"
    )
    answer = tcpsf("link", "--up-rate", "8kbit", "--up-queue", "2packets", "--", sys.executable, "-c", ping)
    assert (answer.status, answer.out) == (0, "")
    lines = answer.err.splitlines()
    assert lines[0].startswith("Outside: 100.64.")
    rows = [line.rsplit(maxsplit=2) for line in lines]
    assert ["packets", "5"] in [row[:2] for row in rows]
    assert ["dropped, buffer full", "3"] in [row[:2] for row in rows]


def test_a_capture_is_whole_or_not_there(tcpsf: Command, tmp_path: Path) -> None:
    path = tmp_path / "link.pcapng"
    missing = tcpsf("link", "--pcap", path, "--", "/no/such/program")
    assert missing.status == 2
    assert "error: cannot start `/no/such/program`: No such file or directory\n" in missing.err
    assert list(tmp_path.iterdir()) == []
    assert tcpsf("link", "--pcap", path, "--pcap-at", "both", "--", "true").status == 0
    assert path.read_bytes().startswith(b"\n\r\r\n")
    again = tcpsf("link", "--pcap", path, "--", "true")
    assert (again.status, again.err.splitlines()[0]) == (
        2,
        f"error: cannot write capture `{path}`: it is there already",
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
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.kill(process.pid, number)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == status
    assert f"Exit status {status} after " in errors
    assert "Traceback" not in errors
