"""Changes of a running link: schedules and the control socket. Needs root and TUN devices, as CI has them."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import Answer, Command

from tcpsf.cli.link_watch import frame
from tcpsf.emulation import link_requests as control

COMMAND = [sys.executable, "-m", "tcpsf", "link"]

SO_RCVBUFFORCE = 33
"""Option of socket(7); the module `socket` does not have it."""

SENDER = """
import os, socket, sys, time
outside = (os.environ["TCPSF_LINK_OUTSIDE"], int(sys.argv[1]))
sent, data = 0, socket.create_connection(outside)
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    datagrams.sendto(sent.to_bytes(8) + bytes(sent % 1400), outside)
    data.sendall(bytes(1000))
    sent += 1
    time.sleep(0.0005)
data.close()
print(sent)
"""
"""Sends datagrams of many sizes, and as much data over TCP."""


@pytest.fixture(autouse=True)
def sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the sockets is empty."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "tcpsf"


def schema(name: str) -> Any:
    folder = resources.files("tcpsf.report")
    found = json.loads(folder.joinpath("schema", f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(found)
    return found


@contextlib.contextmanager
def link(*words: str, command: tuple[str, ...] = ("cat",)) -> Iterator[subprocess.Popen[str]]:
    """A link called `test`, which ends with the block."""
    started = subprocess.Popen(
        [*COMMAND, "-q", "--name", "test", *words, "--", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 20
        while "test" not in control.running():
            assert started.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield started
    finally:
        if started.poll() is None:
            started.communicate(timeout=20)
        for stream in (started.stdin, started.stdout):
            if stream is not None:
                stream.close()


def balance(line: dict[str, Any]) -> None:
    """Offered = delivered + dropped + held."""
    for unit in ("packets", "bytes"):
        dropped = sum(line[f"dropped_{why}_{unit}"] for why in ("buffer", "early", "loss"))
        held = line[f"held_{unit}"]
        assert line[f"offered_{unit}"] == line[f"delivered_{unit}"] + dropped + held


def test_requests_and_answers_keep_to_the_schema(sockets: Path) -> None:
    law = schema("link-control")
    with link("--rate", "1mbit", "--up-loss", "1%") as started:
        assert control.running() == ["test"]
        answers = [
            control.ask("test", "show"),
            control.ask("test", "set", {"both": {"loss": "2%"}, "down": {"rate": "2mbit"}}),
            control.ask("test", "stats"),
        ]
        for answer in answers:
            jsonschema.validate(answer, law)
        assert answers[0]["pid"] == started.pid
        assert answers[0]["up"] == {"rate": "1mbit", "loss": "1%", "queue": "15000B"}
        assert answers[1]["up"] == {"rate": "1mbit", "loss": "2%", "queue": "15000B"}
        assert answers[1]["down"] == {"rate": "2mbit", "loss": "2%", "queue": "15000B"}
        assert (sockets.stat().st_mode & 0o777, list(sockets.iterdir())) == (
            0o700,
            [sockets / "test.link"],
        )
    assert list(sockets.iterdir()) == []


def test_commands(tcpsf: Command) -> None:
    with link("--delay", "1ms"):
        answer = tcpsf("link", "set", "test", "--loss", "5%", "--up-delay", "2ms")
        assert (answer.status, answer.out) == (0, "")
        shown = json.loads(tcpsf("link", "show", "test", "--json").out)
        assert shown["up"] == {"delay": "2ms", "loss": "5%"}
        assert json.loads(tcpsf("link", "show", "--json").out) == [shown]
        assert "loss" in tcpsf("link", "show").out
        found = json.loads(tcpsf("link", "stats", "test", "--json").out)
        balance(found["up"])
        assert tcpsf("link", "stats", "test").out.startswith("test after ")
        refused = tcpsf("link", "set", "test", "--queue", "9kB")
        assert refused == Answer(
            2,
            "",
            "error: `--queue 9kB`: packets never wait where there is no rate\n"
            "hint: add `--rate`, for example `--rate 10mbit`\n",
        )
        twice = tcpsf("link", "--name", "test", "--", "true")
        assert twice == Answer(
            2,
            "",
            "Outside: " + twice.err.split("Outside: ")[1].split("\n")[0] + "\n"
            "error: cannot make link `test`: a link of this name is running\n"
            "hint: choose another name\n",
        )


def test_the_view_shows_each_second(tcpsf: Command) -> None:
    """On a pseudo-terminal the numbers are drawn again, and the view ends with the link."""
    with link("--delay", "1ms"):
        assert tcpsf("link", "stats", "test", "--watch") == Answer(
            2,
            "",
            "error: cannot watch a link: standard output is not a terminal\n"
            "hint: `tcpsf link stats test --json` prints the statistics once\n",
        )
        reader, writer = os.openpty()
        view = subprocess.Popen([*COMMAND, "stats", "test", "--watch"], stdout=writer)
        os.close(writer)
        shown = b""
        while shown.count(b"delivered, Mb/s") < 2:
            shown += os.read(reader, 4096)
        assert shown.count(b"\x1b[H") >= 2
    with contextlib.suppress(OSError):  # a terminal without a writer gives EIO
        while os.read(reader, 4096):
            pass
    os.close(reader)
    assert view.wait(timeout=10) == 0


def test_the_view_has_rates_between_two_answers() -> None:
    line = dict.fromkeys(
        [
            "offered_bytes",
            "delivered_bytes",
            "queue_packets",
            "queue_bytes",
            "dropped_buffer_packets",
            "dropped_early_packets",
            "dropped_loss_packets",
            "marked_packets",
            "too_big_packets",
        ],
        0,
    )
    before = {"name": "test", "time_s": 1.0, "up": line, "down": line}
    later = line | {"delivered_bytes": 250_000, "queue_bytes": 3000, "dropped_loss_packets": 7}
    text = frame(before, {"name": "test", "time_s": 3.0, "up": later, "down": line})
    rows = {row[0]: row[1:] for row in (re.split(r"\s{2,}", each) for each in text.splitlines())}
    assert rows["delivered, Mb/s"] == ["1.00", "0.00"]
    assert rows["queue, kB"] == ["3.0", "0.0"]
    assert rows["lost (per second)"] == ["7 (4)", "0 (0)"]


def test_a_command_may_be_called_set(tcpsf: Command, tmp_path: Path) -> None:
    program = tmp_path / "set"
    program.write_text("#!/bin/sh\nexit 5\n", encoding="utf-8")
    program.chmod(0o755)
    assert tcpsf("link", "--", str(program)).status == 5
    assert tcpsf("link", "-q", "--", "set").status == 127
    assert tcpsf("link", "set").err.startswith("error: missing argument")


REFUSED = {
    "no link": (
        ["set", "none", "--loss", "1%"],
        "cannot reach link `none`: no such link is running",
        "start it with `tcpsf link --name NAME`",
    ),
    "no option": (
        ["set", "test"],
        "cannot change link `test`: no option was given",
        "e.g. `tcpsf link set test --loss 2%`",
    ),
    "name with a slash": (
        ["--name", "../x", "--", "true"],
        "cannot use `../x` as the name of a link: expected up to 40 letters, digits, `_`, `.` and `-`",
        "e.g. `--name lossy`",
    ),
    "time alone": (
        ["--at", "10s", "--", "true"],
        "cannot read `--at 10s`: expected TIME:SETTING=VALUE",
        "e.g. `--at 10s:loss=100%`, or `--at 10s:2s:loss=100%` for 2 s",
    ),
    "period alone": (
        ["--every", "10s:loss=1%", "--", "true"],
        "cannot read `--every 10s:loss=1%`: expected PERIOD:TIME:SETTING=VALUE",
        "e.g. `--every 60s:2s:loss=100%`",
    ),
    "unknown setting": (
        ["--at", "10s:los=1%", "--", "true"],
        "cannot read `--at 10s:los=1%`: a link has no setting `los`",
        "did you mean `loss`?",
    ),
    "long outage": (
        ["--every", "2s:3s:loss=1%", "--", "true"],
        "`--loss 1%`: the change lasts as long as its period",
        "for example `--at 10s:loss=100%` or `--every 60s:2s:loss=100%`",
    ),
    "value": (
        ["--at", "10s:loss=two", "--", "true"],
        "`--loss two`: `two` is not a probability",
        "write it as `0.01` or `1%`",
    ),
    "another kind of queue": (
        ["--rate", "1mbit", "--at", "10s:codel=5ms,100ms", "--", "true"],
        "`--codel 5ms,100ms`: the use of CoDel cannot change while the link carries packets",
        "start the link with `--codel`; a target of 599s switches it off",
    ),
}


def test_a_file_is_read_from_the_folder_of_the_request(
    tcpsf: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with link("--jitter", "uniform:1ms"):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "delays").write_text("1ms\n2ms\n", encoding="utf-8")
        assert tcpsf("link", "set", "test", "--jitter-reorder", "file:delays").status == 0
        shown = control.ask("test", "show")["up"]
        assert shown == {"jitter-reorder": f"file:{tmp_path}/delays"}
        answer = tcpsf("link", "set", "test", "--loss-file", "missing")
        path = tmp_path / "missing"
        assert answer.err.startswith(f"error: `--loss-file {path}`: cannot read `{path}`: no such")
        assert control.ask("test", "show")["up"] == shown


@pytest.mark.parametrize(("words", "problem", "hint"), REFUSED.values(), ids=REFUSED)
def test_bad_input(tcpsf: Command, words: list[str], problem: str, hint: str) -> None:
    assert tcpsf("link", *words) == Answer(2, "", f"error: {problem}\nhint: {hint}\n")


def test_a_schedule_loses_packets_at_its_times(tcpsf: Command, tmp_path: Path) -> None:
    """Datagrams every 5 ms: those in the outages are lost, and no other."""
    script = (
        "import os, socket, time\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for i in range(1000):\n"
        "    s.sendto(bytes(10), (os.environ['TCPSF_LINK_OUTSIDE'], 9)); time.sleep(0.005)\n"
    )
    file = tmp_path / "link.json"
    words = ["--at", "2s:1s:up-loss=100%", "--at", "3.5s:up-delay=9ms", "--json", str(file)]
    assert tcpsf("link", "-q", *words, "--", sys.executable, "-c", script).status == 0
    found = json.loads(file.read_text(encoding="utf-8"))
    jsonschema.validate(found, schema("link"))
    balance(found["up"])
    lost = found["up"]["dropped_loss_packets"]
    assert 50 <= lost <= 210, lost  # 200 without delays of the sender
    times = [change["time_s"] for change in found["changes"]]
    assert [round(each, 1) for each in times] == [2.0, 3.0, 3.5]
    assert [change["up"] for change in found["changes"]] == [
        {"loss": "100%"},
        {"loss": None},
        {"delay": "9ms"},
    ]
    assert all(change["source"] == "schedule" for change in found["changes"])
    series = found["series"]
    before, after = (
        next(
            count
            for each, count in zip(series["time_s"], series["up"][column], strict=True)
            if each >= limit
        )
        for column, limit in (("dropped_loss_packets", 1.9), ("dropped_loss_packets", 3.4))
    )
    assert (before, after) == (0, lost)


def test_a_thousand_changes_lose_no_packet(tmp_path: Path) -> None:
    file = tmp_path / "link.json"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver, socket.socket() as server:
        receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
        receiver.bind(("", 0))
        port = receiver.getsockname()[1]
        server.bind(("", port))
        server.listen()
        server.settimeout(30)
        command = (sys.executable, "-c", SENDER, str(port), "8")
        words = ("--rate", "100mbit", "--delay", "5ms", "--json", str(file))
        with link(*words, command=command) as started:
            connection, _ = server.accept()
            connection.settimeout(30)
            chosen = random.Random(7)  # noqa: S311 (repeatable)
            changes = 0
            while changes < 1000:
                options = {
                    "rate": chosen.choice(["none", "20mbit", "50mbit", "1gbit"]),
                    "delay": f"{chosen.randrange(1, 40)}ms",
                    "loss": chosen.choice(["none", "2%"]),
                    "reorder": chosen.choice(["none", "0.1,3ms"]),
                }
                if options["rate"] != "none":
                    options["queue"] = chosen.choice(["none", "1MB", "5MB"])
                else:
                    options["queue"] = "none"
                control.ask("test", "set", {"up": options})
                changes += 1
            received = 0
            while data := connection.recv(1 << 20):
                received += len(data)
            out, _ = started.communicate(timeout=30)
            sent = int(out)
            connection.close()
        receiver.setblocking(False)
        numbers = []
        with contextlib.suppress(BlockingIOError):
            while True:
                numbers.append(int.from_bytes(receiver.recv(2000)[:8]))
    found = json.loads(file.read_text(encoding="utf-8"))
    jsonschema.validate(found, schema("link"))
    up = found["up"]
    balance(up)
    assert len(found["changes"]) == 1000
    assert up["missed_packets"] == up["dropped_buffer_packets"] == up["held_packets"] == 0
    assert received == 1000 * sent
    assert len(set(numbers)) == len(numbers)
    # The law lost some datagrams and some segments; every other datagram arrived.
    missing = sent - len(numbers)
    assert 0 < missing <= up["dropped_loss_packets"]
    assert sent > 1000


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_remains_after_a_signal(sockets: Path, number: signal.Signals) -> None:
    with link() as started:
        started.send_signal(number)
        started.wait(timeout=20)
    if number == signal.SIGKILL:
        assert (sockets / "test.link").exists()  # the kernel does not remove it
    # A command that was about to start has the socket until it is killed as well.
    deadline = time.monotonic() + 10
    while control.running() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert control.running() == []
    assert list(sockets.iterdir()) == []


def test_a_killed_link_leaves_its_name(tcpsf: Command) -> None:
    with link() as started:
        started.kill()
        started.wait(timeout=20)
    assert tcpsf("link", "-q", "--name", "test", "--", "true").status == 0


def test_the_socket_withstands_any_bytes(sockets: Path) -> None:
    chosen = random.Random(3)  # noqa: S311 (repeatable)
    with link("--delay", "1ms"):
        for size in [1, 10, 1000, 100_000, *(chosen.randrange(5000) for _ in range(60))]:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(5)
                connection.connect(str(sockets / "test.link"))
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    connection.sendall(chosen.randbytes(size))
                    if chosen.random() < 0.5:
                        connection.sendall(b"\n")
                        connection.recv(10)
        idle = [socket.socket(socket.AF_UNIX) for _ in range(50)]
        for each in idle:
            each.connect(str(sockets / "test.link"))
        assert control.ask("test", "show")["up"] == {"delay": "1ms"}
        for each in idle:
            each.close()


def test_a_folder_of_others_is_refused(sockets: Path) -> None:
    sockets.mkdir()
    sockets.chmod(0o777)
    with pytest.raises(Exception, match="others can change it"):
        control.folder()


def test_an_inner_command_changes_its_own_link(tmp_path: Path) -> None:
    """The socket is a file, so the command behind the link reaches it, also inside another link."""
    words = [*COMMAND, "-q", "--name", "outer", "--", *COMMAND, "-q", "--name", "inner", "--"]
    words += [
        "sh",
        "-c",
        f'"{sys.executable}" -m tcpsf link set outer --loss 1% && {" ".join(COMMAND)} show --json',
    ]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=60, check=True, env=dict(os.environ)
    )
    assert [each["name"] for each in json.loads(done.stdout)] == ["inner", "outer"]
    assert json.loads(done.stdout)[1]["up"] == {"loss": "1%"}
    assert list(tmp_path.glob("tcpsf/*")) == []
