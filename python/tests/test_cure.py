"""`tcpsf cure`: names, refusals, and the kernel with remedies. Needs root, TUN devices and BPF, as CI has."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Command

from tcpsf import TcpsfError
from tcpsf.captures import CaptureResult, analyze
from tcpsf.cure import CurePolicy
from tcpsf.cure.candidates import USUAL, advised

PORT = 8080

SERVER = """
import os, socketserver, sys
class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        size = int(self.request.recv(100) or 0)
        self.request.sendall(b"x" * size)
        self.request.recv(1)  # the client closes first
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 128
    address_family = socketserver.socket.AF_INET6
Server(("::", 8080), Handler).serve_forever()
"""

CLIENT = """
import fcntl, os, pathlib, socket, struct, sys, time
address = os.environ["TCPSF_LINK_OUTSIDE" + os.environ["VERSION"]]
source = None
def add_address(text):
    # An alias of the device, with the requests SIOCSIFADDR and SIOCSIFNETMASK of netdevice(7).
    if ":" in text:
        request = struct.pack("16sIi", socket.inet_pton(socket.AF_INET6, text), 128, socket.if_nametoindex("tcpsf"))
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as one:
            fcntl.ioctl(one, 0x8916, request)
        return
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        for number, each in ((0x8916, text), (0x891C, "255.255.255.255")):
            ends = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(each))
            fcntl.ioctl(one, number, b"tcpsf:1".ljust(16, b"\\0") + ends)
for _ in range(400):
    try:
        socket.create_connection((address, 8080)).close()
        break
    except OSError:
        time.sleep(0.05)
for word in sys.argv[1:]:
    if word.startswith("from="):
        source = (word.removeprefix("from="), 0)
        add_address(source[0])
        continue
    if not word.isdecimal():
        name, _, awaited = word.partition("->")
        pathlib.Path(name).touch()
        while not pathlib.Path(awaited).exists():
            time.sleep(0.02)
        continue
    with socket.create_connection((address, 8080), source_address=source) as one:
        one.sendall(word.encode())
        data = b""
        while len(data) < int(word) and (part := one.recv(65536)):
            data += part
        assert data == b"x" * int(word), len(data)
"""

ATTACHED = """
import pathlib, signal, subprocess, sys, time
from tcpsf.live.network import die_with_parent
server = subprocess.Popen([sys.executable, "server.py"], preexec_fn=die_with_parent)
while not pathlib.Path("begin").exists():
    time.sleep(0.02)
cure = subprocess.Popen(
    [sys.executable, "-m", "tcpsf", "cure", "attach", "--policy", "dup-tail", "--port", "8080", "--json"],
    stdout=subprocess.PIPE,
)
cure.stdout.readline()
pathlib.Path("attached").touch()
while not pathlib.Path("kill").exists():
    time.sleep(0.02)
cure.send_signal(signal.SIGKILL)
cure.wait()
pathlib.Path("killed").touch()
server.wait()
"""

TRIAL = """
import pathlib, subprocess, sys
from tcpsf.live.network import die_with_parent
server = subprocess.Popen([sys.executable, "server.py"], preexec_fn=die_with_parent)
words = ["cure", "trial", "--policy", "dup-tail", "--port", "8080", "--anyway", "--json", "--for", "60s"]
done = subprocess.run([sys.executable, "-m", "tcpsf", *words], stdout=subprocess.PIPE)
pathlib.Path("trial.json").write_bytes(done.stdout)
pathlib.Path("status").write_text(str(done.returncode))
server.wait()
"""

MEASURED = """
import pathlib, signal, subprocess, sys, time
from tcpsf.live.network import die_with_parent
server = subprocess.Popen([sys.executable, "server.py"], preexec_fn=die_with_parent)
while not pathlib.Path("begin").exists():
    time.sleep(0.02)
words = ["cure", "trial", "--policy", sys.argv[1], "--port", "8080", "--json"]
trial = subprocess.Popen([sys.executable, "-m", "tcpsf", *words], stdout=subprocess.PIPE)
trial.stdout.readline()
pathlib.Path("attached").touch()
while not pathlib.Path("end").exists():
    time.sleep(0.02)
trial.send_signal(signal.SIGINT)
pathlib.Path("trial.json").write_bytes(trial.communicate()[0])
pathlib.Path("ended").touch()
server.wait()
"""

AUTO = """
import json, pathlib, signal, subprocess, sys
from tcpsf.live.network import die_with_parent
server = subprocess.Popen([sys.executable, "server.py"], preexec_fn=die_with_parent)
cure = [sys.executable, "-m", "tcpsf", "cure"]
words = ["auto", "--policy", "dup-tail", "--port", "8080", "--anyway", "--json", "--for", "60s"]
auto = subprocess.Popen([*cure, *words], stdout=subprocess.PIPE, text=True)
lines = []
for line in auto.stdout:
    lines.append(line)
    event = json.loads(line)
    if event["event"] == "trial" and event["verdict"] == "keep":
        pathlib.Path("table").write_bytes(subprocess.check_output([*cure, "status"]))
        auto.send_signal(signal.SIGINT)
pathlib.Path("auto.json").write_text("".join(lines))
pathlib.Path("status").write_text(str(auto.wait()))
server.wait()
"""

CROWD = """
import os, pathlib, socket, threading, time
address = os.environ["TCPSF_LINK_OUTSIDE"]
def fetch():
    while not pathlib.Path("status").exists():
        try:
            with socket.create_connection((address, 8080)) as one:
                one.sendall(b"700")
                left = 700
                while left and (part := one.recv(65536)):
                    left -= len(part)
        except OSError:
            time.sleep(0.05)
threads = [threading.Thread(target=fetch) for _ in range(12)]
for each in threads:
    each.start()
for each in threads:
    each.join()
"""

ENTER = """
import os, sys
from tcpsf.live.network import enter
enter()
os.execv(sys.executable, [sys.executable, "-m", "tcpsf", "link", *sys.argv[1:]])
"""


def over_link(
    folder: Path, outside: str, *words: str, options: tuple[str, ...] = (), version: str = ""
) -> CaptureResult:
    """Fetch responses over a link in a network namespace, and analyse the packets at the server."""
    capture = ("--pcap", "packets.pcapng", "--pcap-at", "outside")
    run_link(folder, outside, "client.py", *words, options=(*options, *capture), version=version)
    return analyze(folder / "packets.pcapng")


def run_link(
    folder: Path, outside: str, *client: str, options: tuple[str, ...], version: str = ""
) -> None:
    """Run a server and a client at both ends of a link in a network namespace."""
    programs = {"server": SERVER, "client": CLIENT, "attached": ATTACHED}
    programs |= {"trial": TRIAL, "crowd": CROWD, "measured": MEASURED, "auto": AUTO}
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    python = shlex.quote(sys.executable)
    link = ["-q", "--delay", "10ms", *options, "--outside", outside.format(python=python)]
    command = [sys.executable, "-c", ENTER, *link, "--", sys.executable, *client]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "VERSION": version}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (folder / "output").write_text(done.stdout, encoding="utf-8")


def run_with(policy: str, *options: str) -> str:
    """Return the command that runs the server with a policy."""
    words = shlex.join(["--policy", policy, "--json", *options])
    return f"{{python}} -m tcpsf cure run {words} -- {{python}} server.py"


def responses(found: CaptureResult) -> pl.DataFrame:
    """Rows of the server's direction of connections with a response."""
    return found.tables.flows.filter(
        pl.col("direction").cast(pl.String) == "responder", pl.col("unique_bytes") > 0
    )


def test_a_policy_is_printed_as_it_is_written() -> None:
    text = "tail(n=3)+dup-tail+rto-min(ms=20)+iw=20"
    policy = CurePolicy.parse(text)
    assert str(policy) == text
    assert (policy.copies_tail, policy.tail_pieces, policy.rto_min_ms) == (True, 3, 20)
    delayed = CurePolicy.parse("dup-tail(delay=10ms)")
    assert (str(delayed), delayed.copy_delay_ms) == ("dup-tail(delay=10ms)", 10)
    assert delayed.sender == "linux / full+dup-tail(delay=10ms) / iw=10"
    assert CurePolicy.parse(" iw=3 + tail ") == CurePolicy.parse("tail(n=4)+iw=3")
    assert CurePolicy.parse("iw=20+fs(n=64,min=21)").fixed_size == (64, 20, 21)
    assert not CurePolicy.parse("dup-tail").changes_sockets


@pytest.mark.parametrize(
    "text",
    [
        "",
        "vs(n=4)",
        "dup-tail+dup-tail",
        "iw=0",
        "iw=65",
        "iw(=3)",
        "rto-min(ms=500)",
        "rto-min",
        "tail(n=1)",
        "tail(n=15)",
        "tail(m=4)",
        "tail+tiny-tail",
        "fs(n=four)",
        "dup-tail(delay=10)",
        "dup-tail(delay=0ms)",
        "dup-tail(delay=2s)",
        "dup-tail(ms=10)",
    ],
)
def test_other_policies_are_refused(text: str) -> None:
    with pytest.raises(TcpsfError, match=r"cannot read the policy"):
        CurePolicy.parse(text)


def test_framing_without_an_effect_is_refused() -> None:
    with pytest.raises(TcpsfError, match="an initial window of 10 segments is not cut into 4"):
        CurePolicy.parse("fs")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("attach", "--policy", "dup-tail"), "expected the server's port or control group"),
        (("attach", "--policy", "dup-tail", "--port", "1"), "nothing listens there"),
        (("attach", "--policy", "dup-tail", "--cgroup", "."), "no folder of cgroup v2"),
        (("run", "--policy", "dup-tail", "--device", "none0", "--", "true"), "there is none"),
        (("run", "--policy", "iw=10", "--", "no-such-command"), "cannot run `no-such-command`"),
        (("detach",), "expected a process or `--all`"),
        (("detach", "1"), "cannot detach the remedy of process 1"),
    ],
)
def test_refusals(tcpsf: Command, words: tuple[str, ...], message: str) -> None:
    answer = tcpsf("cure", *words)
    assert answer.status == (127 if "no-such-command" in words else 2)
    assert message in answer.err
    assert "hint: " in answer.err


def test_the_exit_status_is_that_of_the_command(tcpsf: Command) -> None:
    selection = ("--port", "80", "--peer", "192.0.2.0/24", "--json")
    answer = tcpsf("cure", "run", "--policy", "iw=10", *selection, "--", "sh", "-c", "exit 7")
    assert answer.status == 7
    begun, ended = map(json.loads, answer.out.splitlines())
    assert (begun["event"], ended["event"]) == ("attached", "summary")
    assert begun["policy"] == "iw=10"
    assert (begun["ports"], begun["peers"]) == ([80], ["192.0.2.0/24"])
    assert not Path(begun["cgroup"]).exists()


@pytest.mark.parametrize("policy", ["dup-tail", "dup-tail(delay=5ms)"])
@pytest.mark.parametrize("version", ["", "6"])
def test_dup_tail_sends_the_last_segment_twice(tmp_path: Path, version: str, policy: str) -> None:
    sizes = (1, 700, 1448, 1449, 5000, 14480, 60000)
    found = over_link(tmp_path, run_with(policy), *map(str, sizes), version=version)
    rows = responses(found)
    assert sorted(rows["unique_bytes"]) == sorted(sizes)
    assert rows["retransmitted_packets"].sum() == 0
    assert min(rows["duplicate_packets"].to_list()) >= 1
    # The receiver has taken each copy: its checksum is right, and a DSACK reports it.
    clients = found.tables.flows.filter(pl.col("direction").cast(pl.String) == "originator")
    assert clients["dsack_packets"].sum() == rows["duplicate_packets"].sum()


@pytest.mark.parametrize(
    ("policy", "least_s"), [("dup-tail", 0.02), ("dup-tail(delay=30ms)", 0.05)]
)
def test_a_copy_replaces_its_original(tmp_path: Path, policy: str, least_s: float) -> None:
    """The first data packet of each connection is lost. A round trip takes 20 ms."""
    mask = ("--down-loss-mask", ";".join("1" * 5))
    found = over_link(tmp_path, run_with(policy), *["700"] * 5, options=mask)
    assert responses(found)["retransmitted_packets"].sum() == 0
    times = found.tables.transfers.filter(
        pl.col("direction").cast(pl.String) == "responder", pl.col("bytes") == 700
    )["completion_s"]
    assert len(times) == 5
    assert least_s <= min(times.to_list()) < least_s + 0.02


@pytest.mark.parametrize(
    ("policy", "segments"),
    [
        ("tail(n=4)", {1: 1, 2: 2, 1100: 4, 1448: 4, 1449: 5, 5000: 7, 14_480: 10}),
        ("tiny-tail", {1: 1, 2: 2, 1100: 2, 1448: 2, 1449: 2, 5000: 5, 14_480: 10}),
        ("fs(n=40, min=11)", {1: 1, 362: 1, 363: 2, 1100: 4, 3000: 9}),
    ],
)
def test_writes_are_cut(tmp_path: Path, policy: str, segments: dict[int, int]) -> None:
    """The segments are those of the sender with this name: see `docs/reference/senders.md`."""
    rows = responses(over_link(tmp_path, run_with(policy), *map(str, segments)))
    sent = rows.select("unique_bytes", "data_packets").rows()
    assert dict(sent) == segments
    assert rows["retransmitted_packets"].sum() == 0


def test_a_long_response_is_intact_when_it_is_cut(tmp_path: Path) -> None:
    sizes = ("100000", "1000000")
    rows = responses(over_link(tmp_path, run_with("tail(n=14)+dup-tail"), *sizes))
    assert sorted(rows["unique_bytes"]) == [100_000, 1_000_000]


def test_a_minimum_timeout_and_a_window(tmp_path: Path) -> None:
    found = over_link(
        tmp_path,
        run_with("rto-min(ms=20)+iw=20"),
        *["500"] * 5,
        "60000",
        options=("--down-loss-mask", "1"),
    )
    again: dict[str, Any] = {"direction": "responder"}
    waits = found.tables.retransmissions.filter(**again)["waited_s"]
    # Linux waits for at least 200 ms without the remedy.
    assert min(waits.to_list()) < 0.2
    assert responses(found)["initial_window_packets"].max() == 20


OTHER = {"": "100.64.32.9", "6": "fd74:6370:7366::6440:2009"}
"""Second address of the client by the version of IP. The server has one socket for both versions."""


@pytest.mark.parametrize(
    ("version", "peer"),
    [
        ("", "100.64.32.0/24"),
        ("", "100.64.32.9"),
        ("", "::ffff:100.64.32.0/115"),
        ("6", "fd74:6370:7366::6440:2000/118"),
    ],
)
def test_a_remedy_is_for_some_peers(tmp_path: Path, version: str, peer: str) -> None:
    policy = run_with("dup-tail+tail(n=4)", "--peer", "192.0.2.0/24", "--peer", peer)
    words = ("700", "700", f"from={OTHER[version]}", "700", "700", "700")
    rows = responses(over_link(tmp_path, policy, *words, version=version)).sort("flow")
    assert rows["duplicate_packets"].to_list() == [0, 0, 4, 4, 4]
    assert rows["data_packets"].to_list() == [1, 1, 8, 8, 8]


def test_a_minimum_timeout_is_for_some_peers(tmp_path: Path) -> None:
    words = (*["500"] * 15, f"from={OTHER['']}", *["500"] * 15)
    policy = run_with("rto-min(ms=20)", "--peer", OTHER[""])
    options = ("--down-loss", "20%", "--seed", "1")
    tables = over_link(tmp_path, policy, *words, options=options).tables
    timer = pl.col("cause").cast(pl.String).is_in(["tail_loss_probe", "timeout"])
    again = tables.retransmissions.filter(pl.col("direction").cast(pl.String) == "responder", timer)
    peers = tables.flows.filter(pl.col("direction").cast(pl.String) == "responder")
    found = again.join(peers.select("flow", "destination"), on="flow")
    least = dict(found.group_by("destination").agg(pl.col("waited_s").min()).rows())
    assert len(least) == 2
    assert all((wait < 0.2) == (OTHER[""] in peer) for peer, wait in least.items()), least


def test_a_remedy_has_few_prefixes(tcpsf: Command) -> None:
    peers = [f"--peer=192.0.2.{each}" for each in range(17)]
    answer = tcpsf("cure", "run", "--policy", "dup-tail", *peers, "--", "true")
    assert answer.status == 2
    assert answer.err.startswith(
        "error: cannot select 17 peer prefixes: expected at most 16\nhint: "
    )


def test_nothing_remains_after_a_kill(tmp_path: Path) -> None:
    outside = "{python} attached.py"
    words = ["700", "begin->attached", *["700"] * 4, "kill->killed", *["700"] * 3]
    rows = responses(over_link(tmp_path, outside, *words)).sort("flow")
    assert rows["duplicate_packets"].to_list() == [0, 1, 1, 1, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("loss", "verdict", "status"), [("6%", "keep", "0"), ("0%", "withdraw", "3")]
)
def test_a_trial_decides(tmp_path: Path, loss: str, verdict: str, status: str) -> None:
    run_link(tmp_path, "{python} trial.py", "crowd.py", options=("--down-loss", loss))
    lines = (tmp_path / "trial.json").read_text(encoding="utf-8").splitlines()
    found = {line["event"]: line for line in map(json.loads, lines)}
    assert found["trial"]["verdict"] == verdict, lines
    assert (tmp_path / "status").read_text(encoding="utf-8") == status
    before, without, remedied = found["trial"]["groups"]
    assert min(each["connections"] for each in (before, without, remedied)) >= 100
    # Each measured response is about a round trip of 20 ms, or longer by a repair.
    assert 0.02 <= without["median_s"]["value"] < 0.2
    # The receiver reports a duplicate if both the packet and its copy arrive, and nothing else here.
    arrive = (1 - int(loss.removesuffix("%")) / 100) ** 2
    assert remedied["dsacks"] > 0.9 * arrive
    assert max(before["dsacks"], without["dsacks"]) < 0.1


@pytest.mark.parametrize(("loss", "remedy", "status"), [("6%", "dup-tail", "0"), ("0%", None, "3")])
def test_auto_decides_for_a_prefix(
    tmp_path: Path, loss: str, remedy: str | None, status: str
) -> None:
    """`verification/cure_auto.py` has two prefixes with paths of their own."""
    run_link(tmp_path, "{python} auto.py", "crowd.py", options=("--down-loss", loss))
    assert (tmp_path / "status").read_text(encoding="utf-8") == status
    lines = (tmp_path / "auto.json").read_text(encoding="utf-8").splitlines()
    events = list(map(json.loads, lines))
    assert [each["event"] for each in events] == ["attached", "prefix", "trial", "summary"], lines
    assert {each["peers"] for each in events[1:3]} == {"100.64.0.0/24"}
    one, rest = events[-1]["prefixes"]
    assert (one["peers"], one["remedy"], one["tried"]) == ("100.64.0.0/24", remedy, "dup-tail")
    assert one["state"] == ("none" if remedy is None else "kept")
    assert min(one["in_trial"].values()) >= 100
    assert (rest["peers"], rest["connections"]) == ("others", 0)
    if remedy is not None:
        table = (tmp_path / "table").read_text(encoding="utf-8")
        assert re.search(r"100\.64\.0\.0/24 +kept +dup-tail ", table), table


def test_transfers_of_any_length_are_measured(tmp_path: Path) -> None:
    """The kernel has an event for some acknowledgments only, and the last may be without one."""
    sizes = [2, 700, 1449, 5000, 14_480, 60_000] * 3
    words = ("begin->attached", *map(str, sizes), "end->ended")
    outside = "{python} measured.py dup-tail"
    run_link(tmp_path, outside, "client.py", *words, options=())
    lines = (tmp_path / "trial.json").read_text(encoding="utf-8").splitlines()
    found = next(each for each in map(json.loads, lines) if each["event"] == "trial")
    before, *others = found["groups"]
    assert (before["connections"], before["transfers"]) == (len(sizes), len(sizes))
    assert [each["connections"] for each in others] == [0, 0]


def advice(path: Path, answer: str, recommended: str | None, helpful: tuple[str, ...]) -> Path:
    policies = {"fs": "fs(n=40, min=11)", "larger window": "iw=20", "dup-tail(delay=10ms)": None}
    remedies = [
        {"name": each, "verdict": "helps", "policy": policies.get(each, each)} for each in helpful
    ]
    data: dict[str, Any] = {
        "schema": "tcpsf.advise/1",
        "answer": answer,
        "recommended": recommended,
    }
    data |= {"remedies": [{"name": "none", "verdict": None, "policy": None}, *remedies]}
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_advice_names_the_candidates(tmp_path: Path) -> None:
    helpful = ("fs", "dup-tail(delay=10ms)", "tiny-tail", "larger window")
    file = advice(tmp_path / "advice.json", "remedy", "tiny-tail", helpful)
    assert list(map(str, advised(file))) == ["tiny-tail", "fs(n=40, min=11)", "iw=20"]
    assert advised(advice(file, "no remedy", None, ())) == []
    assert list(map(str, advised(advice(file, "not enough evidence", None, ())))) == list(USUAL)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"schema": "other"}',
        '{"schema": "tcpsf.advise/1", "answer": "remedy", "recommended": null}',
        (
            '{"schema": "tcpsf.advise/1", "answer": "remedy", "recommended": null, "remedies": '
            '[{"name": "fs", "verdict": "helps"}]}'
        ),
    ],
)
def test_other_files_are_no_advice(tmp_path: Path, content: str) -> None:
    file = tmp_path / "advice.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(TcpsfError, match="no output of `tcpsf advise --json`"):
        advised(file)
    with pytest.raises(TcpsfError, match="no such file"):
        advised(tmp_path / "none.json")
