"""`tcpsf serve` and `tcpsf proxy`. Needs root and TUN devices, as CI has them; the host is tested in Rust."""

from __future__ import annotations

import contextlib
import http.server
import json
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Answer, Command

from tcpsf.cli.host import _listening, _resolved
from tcpsf.cure.policy import EXAMPLES
from tcpsf.errors import TcpsfError

SENDERS = ("reno+sack / full / iw=2", "cubic+rack+tlp+prr / dup-tail / iw=10")
VARIANTS = ("--sender", SENDERS[0], "--policy", "dup-tail")

UPSTREAM = ("--upstream", "127.0.0.1:9")

REFUSED = {
    "no folder": (
        ("serve", "missing"),
        "cannot serve `missing`: no such file or directory",
        "name a folder",
    ),
    "sender": (
        ("serve", ".", "--sender", "reno+sack / fs(n=1) / iw=1"),
        "cannot serve: sender `reno+sack / fs(n=1) / iw=1`: `1` is not a whole number from 2 to 64",
        "for example `reno+sack / fs(n=4) / iw=1`",
    ),
    "alternate alone": (
        ("serve", ".", "--alternate", "connection"),
        "cannot alternate: `--alternate connection` with one sender",
        "give `--sender` or `--policy` several times",
    ),
    "policy": (
        ("serve", ".", "--policy", "vs(n=4)"),
        "cannot read the policy `vs(n=4)`: `vs(n=4)` is no remedy that the kernel can apply",
        f"e.g. {EXAMPLES}; `tcpsf proxy --sender` applies all others",
    ),
    "alternate": (
        ("serve", ".", "--sender", SENDERS[0], "--sender", SENDERS[1], "--alternate", "often"),
        "`--alternate often`: `often` is not a duration such as `20ms` or `1.5s`",
        "write it with a unit, such as `20ms`, or as `connection`",
    ),
    "idle": (
        ("serve", ".", "--idle-timeout", "60"),
        "`--idle-timeout 60`: `60` is not a duration such as `20ms` or `1.5s`",
        "write it with a unit, such as `20ms`",
    ),
    "rto": (
        ("serve", ".", "--rto-min", "2s"),
        "cannot serve: `--rto-min 2s` and `--rto-initial 1s` are not 0.001s <= --rto-min <= --rto-initial <= 60s",
        "1s and 1s are RFC 6298's, 200ms and 1s Linux's",
    ),
    "connect timeout": (
        ("proxy", *UPSTREAM, "--connect-timeout", "0s"),
        "cannot proxy: `--connect-timeout 0s` leaves an upstream no time to answer",
        "name a time such as `10s`",
    ),
    "lifetime": (
        ("serve", ".", "--lifetime", "a day"),
        "`--lifetime a day`: `a day` is not a duration such as `20ms` or `1.5s`",
        "write it with a unit, such as `20ms`",
    ),
    "address": (
        ("serve", ".", "--address", "here", "--records", "rows.jsonl", "--pcap", "packets.pcapng"),
        "cannot serve: `here` is not an IP address",
        "e.g. 100.127.9.2, or give none to get a free one",
    ),
    "records": (
        ("serve", ".", "--records", "a.csv"),
        "cannot write records `a.csv`: unknown format `.csv`",
        "the file name must end in `.parquet` or `.jsonl`",
    ),
    "nowhere": (
        ("serve", ".", "--records", "no/a.jsonl"),
        "cannot write `no/a.jsonl`: `no` is not a folder",
        "choose another file",
    ),
    "listen": (
        ("proxy", "--listen", "here:80", *UPSTREAM),
        "cannot listen at `here:80`: `here` is not an IP address",
        "e.g. `--listen 100.64.1.2:80`",
    ),
    "two ports": (
        ("proxy", "--listen", ":80", "--listen", ":81", *UPSTREAM),
        "cannot listen at several ports: 80, 81",
        "run one proxy for each port",
    ),
    "no port": (
        ("proxy", "--upstream", "127.0.0.1"),
        "cannot relay to `127.0.0.1`: the port is missing",
        "e.g. `--upstream 127.0.0.1:8080`",
    ),
    "bad port": (
        ("proxy", "--upstream", "127.0.0.1:99999"),
        "cannot use `127.0.0.1:99999`: port 99999 is out of range",
        "ports are 1 to 65535",
    ),
}


@pytest.mark.parametrize(("words", "problem", "hint"), REFUSED.values(), ids=REFUSED)
def test_bad_options(
    tcpsf: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    problem: str,
    hint: str | None,
) -> None:
    monkeypatch.chdir(tmp_path)
    wanted = f"error: {problem}\n" + ("" if hint is None else f"hint: {hint}\n")
    assert tcpsf(*words) == Answer(2, "", wanted)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_not_replaced_unasked(tcpsf: Command, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("mine\n")
    answer = tcpsf("serve", tmp_path, "--records", rows)
    assert answer.err == (
        f"error: cannot write `{rows}`: it already exists\n"
        "hint: choose another file with `--records`, or replace it with `--force`\n"
    )
    assert rows.read_text() == "mine\n"


def test_places_to_listen_at_and_to_relay_to() -> None:
    assert _listening([]) == ([], 80)
    assert _listening(["100.64.1.2", "[fd00::2]:80"]) == (["100.64.1.2", "fd00::2"], 80)
    assert _listening([":8080"]) == ([], 8080)
    assert _resolved("127.0.0.1:80") == ["127.0.0.1:80"]
    assert _resolved("[::1]:80") == ["[::1]:80"]
    with pytest.raises(TcpsfError, match="the host is missing"):
        _resolved(":80")


@dataclass
class Running:
    """A host that runs, and what it printed."""

    process: subprocess.Popen[str]
    begun: dict[str, Any]
    summary: dict[str, Any] = field(default_factory=dict)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=30)
        assert (self.process.returncode, err) == (0, "")
        self.summary = json.loads(out)


@contextlib.contextmanager
def running(*words: str) -> Iterator[Running]:
    command = [sys.executable, "-m", "tcpsf", *words, "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.communicate()[1]
            host = Running(process, json.loads(line))
            yield host
            if process.poll() is None:
                host.stop()
        finally:
            process.kill()


def fetched(url: str, **headers: str) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as answer:  # noqa: S310
        body: bytes = answer.read()
    return body


@pytest.mark.parametrize("offload", ["--offload", "--no-offload"])
def test_files_are_served_and_recorded(tmp_path: Path, offload: str) -> None:
    content = bytes(range(256)) * 4000
    (tmp_path / "file").write_bytes(content)
    rows, packets = tmp_path / "rows.jsonl", tmp_path / "packets.pcapng"
    with running(
        "serve", str(tmp_path), offload, "--records", str(rows), "--pcap", str(packets), *VARIANTS
    ) as host:
        urls = host.begun["urls"]
        assert len(urls) == len(host.begun["addresses"]) >= 1
        for url in urls:
            assert fetched(f"{url}file") == content
            assert fetched(f"{url}file", Range="bytes=5-9") == content[5:10]
        host.stop()
    count = 2 * len(urls)
    assert (
        host.summary["event"],
        host.summary["responses_2xx"],
        host.summary["failed_connections"],
    ) == (
        "summary",
        count,
        0,
    )
    frame = pl.read_ndjson(rows)
    assert frame["connection"].to_list() == list(range(count))
    assert frame["sender"].to_list() == [SENDERS[number % 2] for number in range(count)]
    assert frame["ending"].to_list() == ["finished"] * count
    assert frame.filter(pl.col("sent_bytes") > len(content)).height == len(urls)
    assert all(value > 0 for name in ("completion_s", "handshake_s") for value in frame[name])
    assert packets.read_bytes()[:4] == b"\n\r\r\n"


def test_columns_are_documented(tmp_path: Path) -> None:
    rows = tmp_path / "rows.parquet"
    with running("serve", str(tmp_path), "--records", str(rows)) as host:
        fetched(host.begun["urls"][0])
        host.stop()
    reference = (Path(__file__).parents[2] / "docs/reference/tables.md").read_text(encoding="utf-8")
    section = reference.partition("## `connections`")[2].partition("\n## ")[0]
    frame = pl.read_parquet(rows)
    assert frame.height == 1
    missing = [name for name in frame.columns if f"`{name}`" not in section]
    assert missing == []
    assert not list(tmp_path.glob(".*"))


class _Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"hello " * 50_000
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


def test_a_proxy_before_a_server() -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Hello) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with running(
            "proxy", "--listen", ":8081", "--upstream", f"127.0.0.1:{server.server_port}"
        ) as host:
            address = host.begun["addresses"][0]
            for _ in range(3):
                assert fetched(f"http://{address}:8081/") == b"hello " * 50_000
            host.stop()
        server.shutdown()
    assert (host.summary["upstream_connected"], host.summary["upstream_failed"]) == (3, 0)
    assert host.summary["down_bytes"] > 3 * 300_000


ADDRESSES = """
set -e
ip link set lo up
ip tuntap add dev lan mode tap
ip link set lan up
ip address add 192.0.2.2/24 dev lan
ip address add 2001:db8::2/64 dev lan nodad
ip route add default via 192.0.2.1
ip route add default via 2001:db8::1
ip neighbour add 192.0.2.53 lladdr 02:00:00:00:00:35 dev lan
"""
"""A machine with a network, a router and a neighbour, in a network namespace of the test's own."""

TAKEN = {
    "192.0.2.2": "it belongs to this machine",
    "192.0.2.1": "it is a gateway of this machine",
    "192.0.2.53": "it is in use: another machine on the network has it",
    "192.0.2.255": "it is the broadcast address of a network of this machine",
    "127.0.0.1": "it is a loopback address, which never leaves the kernel",
    "0.1.2.3": "no host can have it",
    "224.0.0.1": "it is a multicast address",
    "255.255.255.255": "it is the broadcast address",
    "::1": "it is a loopback address, which never leaves the kernel",
    "2001:db8::1": "it is a gateway of this machine",
    "2001:db8::2": "it belongs to this machine",
}


def in_a_machine(script: str) -> str:
    """Run a script in the namespace and return what it printed, both ways."""
    words = ["/usr/bin/unshare", "--net", "/bin/sh", "-c", ADDRESSES + script]
    answer = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False
    )
    assert answer.returncode == 0, answer.stdout
    return answer.stdout


def test_addresses_that_others_have_are_refused(tmp_path: Path) -> None:
    command = f"{sys.executable} -m tcpsf"
    script = "ip -brief address > before\n"
    for address in TAKEN:
        script += f"{command} serve . --address {address} && exit 9 || echo status $?\n"
    script += f"{command} proxy --listen 192.0.2.1:80 --upstream 127.0.0.1:9 && exit 9 || echo status $?\n"
    told = in_a_machine(f"cd {tmp_path}\n{script}ip -brief address | cmp - before").splitlines()
    for address, reason in (*TAKEN.items(), ("192.0.2.1", TAKEN["192.0.2.1"])):
        error, hint, status, *told = told
        assert error == f"error: cannot use the address `{address}`: {reason}"
        assert hint.startswith("hint: use a free address")
        assert status == "status 2"
    assert told == []


def test_the_kernels_end_has_an_address_of_its_own_range(tmp_path: Path) -> None:
    """And a second host does not get the same address."""
    command = f"{sys.executable} -m tcpsf"
    script = f"""cd {tmp_path}
echo content > file
mkfifo begun
{command} serve . --address 192.0.2.3 --address 2001:db8::3 --json > begun & first=$!
read line < begun
ip -brief address show dev tcpsf0
ip route get 192.0.2.1 | head -n 1
{sys.executable} -c 'import urllib.request as r; print(r.urlopen("http://192.0.2.3/file").read())'
{sys.executable} -c 'import urllib.request as r; print(r.urlopen("http://[2001:db8::3]/file").read())'
{command} serve . --address 192.0.2.3 && exit 9 || echo status $?
kill $first
wait $first
ip -brief link show dev tcpsf0 2> /dev/null && exit 9 || echo gone
"""
    told = in_a_machine(script).splitlines()
    assert told[0].split()[2:] == ["100.127.0.1/32", "fd74:6370:7366:1::1/128"]
    assert told[1].startswith("192.0.2.1 dev lan ")
    assert told[2:4] == ["b'content\\n'"] * 2
    assert told[4].startswith(
        "error: cannot use the address `192.0.2.3`: it is in use: a device of this machine leads"
    )
    assert told[6:] == ["status 2", "gone"]


WRITER = """
import socket, time
with socket.create_server(("", 8080)) as listener:
    for _ in range(2):
        stream, _ = listener.accept()
        with stream:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(60):
                stream.sendall(time.monotonic_ns().to_bytes(100))
                time.sleep(0.01)
"""
"""An upstream that writes 100 bytes every 10 ms, for two connections. What it writes is the time."""

READER = """
import socket, statistics, sys, time
for address in sys.argv[1:]:
    with socket.create_connection((address, 8080), timeout=20) as stream:
        delays = []
        while message := stream.recv(100, socket.MSG_WAITALL):
            delays.append(time.monotonic_ns() - int.from_bytes(message))
    print(len(delays), statistics.median(delays) / 1e6)
"""
"""A client that prints the number of messages from each address and the median of their delays in milliseconds."""


def test_a_proxy_adds_no_round_trip_to_small_writes(tmp_path: Path) -> None:
    command = f"{sys.executable} -m tcpsf"
    (tmp_path / "writer.py").write_text(WRITER)
    (tmp_path / "reader.py").write_text(READER)
    script = f"""cd {tmp_path}
sysctl -q -w net.ipv4.ip_forward=1
mkfifo begun
{sys.executable} writer.py & writer=$!
{command} proxy --listen 192.0.2.3:8080 --upstream 127.0.0.1:8080 --json > begun & proxy=$!
read line < begun
{command} link --delay 50ms -- {sys.executable} reader.py 192.0.2.2 192.0.2.3 > delays
wait $writer
kill $proxy
wait $proxy
"""
    in_a_machine(script)
    told = [line.split() for line in (tmp_path / "delays").read_text().splitlines()]
    (direct_count, direct), (proxy_count, through_proxy) = told
    assert (direct_count, proxy_count) == ("60", "60")
    # Waiting for acknowledgments would add a round trip less the time between two writes, half of
    # it on average.
    assert float(through_proxy) - float(direct) < 20


def test_a_full_disk_ends_the_capture_and_not_the_server(tmp_path: Path) -> None:
    """The disk is a small one in a mount namespace of the test's own."""
    command = f"{sys.executable} -m tcpsf"
    (tmp_path / "disk").mkdir()
    (tmp_path / "inside.sh").write_text(f"""cd {tmp_path}
mount -t tmpfs -o size=16k none disk
mkdir folder
head -c 200000 /dev/zero > folder/file
mkfifo begun
{command} serve folder --address 192.0.2.3 --pcap disk/packets.pcapng --json > begun 2> told & server=$!
exec 3< begun
read line <&3
for fetch in $(seq 10); do
    {sys.executable} -c 'import urllib.request as r; print(len(r.urlopen("http://192.0.2.3/file").read()))'
done
kill $server
wait $server
echo status $?
cat told
cat <&3
""")
    *fetches, status, warning, summary = in_a_machine(
        f"unshare --mount sh -e {tmp_path}/inside.sh"
    ).splitlines()
    assert fetches == ["200000"] * 10
    assert status == "status 0"
    assert warning == (
        "warning: cannot write `disk/packets.pcapng`: no space left on device. "
        "The capture has stopped; its file is incomplete."
    )
    counts = json.loads(summary)
    assert (counts["event"], counts["responses_2xx"]) == ("summary", 10)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet"])
def test_a_full_disk_loses_records_and_not_the_server(tmp_path: Path, name: str) -> None:
    """The disk is a small one in a mount namespace of the test's own; Parquet is written at the end."""
    command = f"{sys.executable} -m tcpsf"
    (tmp_path / "disk").mkdir()
    (tmp_path / "inside.sh").write_text(f"""cd {tmp_path}
mount -t tmpfs -o size=16k none disk
mkdir folder
echo content > folder/file
mkfifo begun
{command} serve folder --address 192.0.2.3 --records disk/{name} --json > begun 2> told & server=$!
exec 3< begun
read line <&3
test {name} = rows.jsonl || head -c 12k /dev/zero > disk/filler
fetch='import urllib.request as r; [r.urlopen("http://192.0.2.3/file").read() for _ in range(20)]; print("fetched")'
for times in $(seq 4); do
    {sys.executable} -c "$fetch"
    sleep 0.5
done
kill $server
wait $server || echo status $?
cat told
test {name} = rows.parquet || cp disk/{name} kept
cat <&3
""")
    lines = in_a_machine(f"unshare --mount sh -e {tmp_path}/inside.sh").splitlines()
    *fetches, status, told_last, hint, summary = [
        line for line in lines if not line.startswith("warning: ")
    ]
    warnings = [line for line in lines if line.startswith("warning: ")]
    assert (fetches, status) == (["fetched"] * 4, "status 2")
    counts = json.loads(summary)
    assert (counts["event"], counts["responses_2xx"]) == ("summary", 80)
    found = re.fullmatch(
        rf"error: (\d+) of 80 records are lost: cannot write `disk/{name}`: no space left on device",
        told_last,
    )
    assert found is not None, told_last
    assert hint == "hint: choose a file on a disk with free space"
    if name == "rows.parquet":
        assert (int(found[1]), warnings) == (80, [])
        return
    assert warnings == [
        f"warning: cannot write `disk/{name}`: no space left on device. Records are being lost."
    ]
    rows = [json.loads(line) for line in (tmp_path / "kept").read_text().splitlines()]
    assert 0 < len(rows) == 80 - int(found[1])
    assert {row["ending"] for row in rows} == {"finished"}


def test_grace_has_a_unit(tcpsf: Command) -> None:
    for grace in ("10s", "0.5s", "200ms"):
        answer = tcpsf("serve", "missing", "--grace", grace)
        assert answer.err.startswith("error: cannot serve `missing`: no such file")
    for grace in ("soon", "10"):
        answer = tcpsf("serve", ".", "--grace", grace)
        assert answer.err.splitlines() == [
            f"error: `--grace {grace}`: `{grace}` is not a duration such as `20ms` or `1.5s`",
            "hint: write it with a unit, such as `20ms`",
        ]
