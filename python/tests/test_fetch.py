"""`tcpsf fetch`: against the kernel's TCP, and with tcpsf's TCP at both ends of an emulated link. Needs root."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import resources
from pathlib import Path

import jsonschema
import polars as pl
import pytest
from conftest import Command

TCPSF = f"{sys.executable} -m tcpsf"
SANTA_CRUZ = "santa-cruz(n=3) / full / iw=1"
URL = "http://100.127.0.2/"
SIZE = 30_000

REFUSED = {
    "https": (
        ("https://100.127.0.2/",),
        "cannot fetch `https://100.127.0.2/`: `https` is not supported",
    ),
    "no scheme": (
        ("100.127.0.2/file",),
        "cannot fetch `100.127.0.2/file`: it is not an http:// URL",
    ),
    "no host": (("http:///file",), "cannot fetch `http:///file`: it is not an http:// URL"),
    "port": (
        ("http://100.127.0.2:99999/",),
        "cannot fetch `http://100.127.0.2:99999/`: port out of range 0-65535",
    ),
    "space": (
        ("http://100.127.0.2/a b",),
        "cannot fetch `http://100.127.0.2/a b`: it contains characters that must be",
    ),
    "line": (("http://100.127.0.2/a\r\nX: y",), "cannot fetch `http://100.127.0.2/a"),
    "user": (
        ("http://me@100.127.0.2/",),
        "cannot fetch `http://me@100.127.0.2/`: user names and passwords are not",
    ),
    "timeout": (
        (URL, "--timeout", "0s"),
        "cannot fetch: `--timeout 0s` leaves the server no time to answer",
    ),
    "sender": ((URL, "--sender", "renoo"), "cannot fetch: sender `renoo`"),
    "alternate": ((URL, "--alternate", "1s"), "cannot alternate: `--alternate 1s` with one sender"),
    "version": (
        (URL, "--address", "fd00::9"),
        "cannot fetch: `--address fd00::9` cannot reach 100.127.0.2: it is not",
    ),
    "address": (
        (URL, "--address", "127.0.0.1"),
        "cannot use the address `127.0.0.1`: it is a loopback address",
    ),
    "several": (
        (URL, "--out", "file", "--requests", "2"),
        "cannot write `--out file`: it is for one response, but got `--requests 2`",
    ),
    "standard output": (
        (URL, "--out", "-"),
        "cannot write `--out -`: standard output is used for the summary",
    ),
    "folder": ((URL, "--out", "no/file"), "cannot write `no/file`: `no` is not a folder"),
    "format": (
        (URL, "--records", "rows.csv"),
        "cannot write records `rows.csv`: unknown format `.csv`",
    ),
}


@pytest.mark.parametrize(("words", "problem"), REFUSED.values(), ids=REFUSED)
def test_bad_options(
    tcpsf: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    problem: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = tcpsf("fetch", *words)
    assert answer.status == 2
    assert answer.out == ""
    assert answer.err.startswith(f"error: {problem}")
    assert list(tmp_path.iterdir()) == []


def in_namespace(script: str, folder: Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a script in a network namespace of its own that forwards packets."""
    begun = "set -e\nip link set lo up\nsysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1\n"
    words = ["/usr/bin/unshare", "--net", "/bin/sh", "-c", begun + script]
    answer = subprocess.run(
        words, capture_output=True, text=True, timeout=120, check=False, cwd=folder
    )
    assert answer.returncode == status, (answer.stdout, answer.stderr)
    return answer


def served(options: str = "") -> str:
    """Start `tcpsf serve`, and wait until it listens; `$server` is its process."""
    return f"""
mkfifo begun
{TCPSF} serve . --json {options} > begun & server=$!
trap 'kill $server 2> /dev/null || true' EXIT
read line < begun
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(bytes(number * number % 251 for number in range(SIZE)))
    return tmp_path


def test_both_ends_are_ours_over_a_lossy_link(folder: Path) -> None:
    """TCP Santa Cruz is used, the body is right byte by byte, and each request has a row at both ends."""
    link = f"{TCPSF} link --delay 5ms --loss 3% --seed 1 --"
    fetch = f'{TCPSF} fetch {URL}file --sender "{SANTA_CRUZ}" --rto-min 200ms'
    script = served(f'--records server.jsonl --sender "{SANTA_CRUZ}" --rto-min 200ms')
    script += f"{link} {fetch} --out one --pcap one.pcapng 2> /dev/null\n"
    script += f"{link} {fetch} --requests 20 --records client.jsonl --json\n"
    script += "kill $server\nwait $server\n"
    answer = in_namespace(script, folder)
    assert (folder / "one").read_bytes() == (folder / "file").read_bytes()
    found = next(json.loads(line) for line in answer.stdout.splitlines() if line.startswith("{"))
    assert (found["requests"], found["complete"], found["failed"], found["statuses"]) == (
        20,
        20,
        {},
        {"200": 20},
    )
    schema = (
        resources.files("tcpsf.report").joinpath("schema", "fetch.json").read_text(encoding="utf-8")
    )
    jsonschema.validate(found, json.loads(schema))
    (each,) = found["senders"]
    assert each["body_bytes"] == 20 * SIZE
    assert each["handshake_s"]["p50"]["value"] >= 0.01
    rows = pl.read_ndjson(folder / "client.jsonl")
    assert rows["body_bytes"].to_list() == [SIZE] * 20
    assert rows.filter(~(pl.col("handshake_s") <= pl.col("first_byte_s"))).height == 0
    assert rows.filter(~(pl.col("first_byte_s") <= pl.col("completion_s"))).height == 0
    # RFC 6994: kind 253, length 4, and TCP Santa Cruz's number. Both SYNs have it, so it is used.
    assert (folder / "one.pcapng").read_bytes().count(b"\xfd\x04\x53\x43") >= 2
    # The server took every connection, and repaired losses.
    server = pl.read_ndjson(folder / "server.jsonl")
    assert server.height == 21
    assert server["retransmitted_segments"].sum() > 0


def test_the_kernels_tcp_serves(folder: Path) -> None:
    """And of several senders each has its turn."""
    script = f"""
mkfifo ready
{sys.executable} -u -m http.server 8080 > ready 2> /dev/null & server=$!
read line < ready
{TCPSF} fetch http://100.127.0.1:8080/file --out one --pcap one.pcapng
{TCPSF} fetch http://100.127.0.1:8080/file --requests 30 --concurrency 5 --json \
    --sender "reno / full / iw=2" --sender "reno+sack / fs(n=4) / iw=1"
{TCPSF} fetch http://100.127.0.1:8080/missing
kill $server
"""
    answer = in_namespace(script, folder)
    assert (folder / "one").read_bytes() == (folder / "file").read_bytes()
    assert (folder / "one.pcapng").stat().st_size > 1000
    assert "1 of 1 request complete (status 200: 1)" in answer.stdout
    assert "1 of 1 request complete (status 404: 1)" in answer.stdout
    found = next(json.loads(line) for line in answer.stdout.splitlines() if line.startswith("{"))
    assert [(each["sender"], each["complete"]) for each in found["senders"]] == [
        ("reno / full / iw=2", 15),
        ("reno+sack / fs(n=4) / iw=1", 15),
    ]


def test_failures_are_one_line(folder: Path) -> None:
    """A server that is not there, one that never answers, and one that closes early."""
    early = (
        "import socket; s = socket.create_server(('', 8081)); print(flush=True); c = s.accept()[0]; c.recv(999); "
        "c.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 9\\r\\n\\r\\nhalf'); c.close()"
    )
    script = f"""
set +e
{TCPSF} fetch http://100.127.0.1:8080/file --out body
echo status $?
{TCPSF} fetch http://192.0.2.9/ --timeout 300ms --address 100.127.3.2
echo status $?
mkfifo ready
{sys.executable} -c "{early}" > ready & server=$!
read line < ready
{TCPSF} fetch http://100.127.0.1:8081/ --out body
echo status $?
wait $server
"""
    answer = in_namespace(script, folder)
    assert [line for line in answer.stdout.splitlines() if line.startswith("status")] == [
        "status 1"
    ] * 3
    assert answer.stderr.splitlines() == [
        "error: 1 request of 1 failed (refused: 1): `http://100.127.0.1:8080/file`",
        "hint: check that a server is running at this address and port",
        "error: 1 request of 1 failed (timed-out: 1): `http://192.0.2.9/`",
        (
            "hint: if no packets arrive at all, the server has no route to this client; "
            "see the guide on serving"
        ),
        "error: 1 request of 1 failed (incomplete: 1): `http://100.127.0.1:8081/`",
    ]
    assert not (folder / "body").exists()
    assert not list(folder.glob(".*"))


def test_a_signal_ends_it_with_what_there_is(folder: Path) -> None:
    script = (
        served()
        + f"""
{TCPSF} fetch {URL}file --requests 10000000 --records rows.parquet --address 100.127.9.2 > out 2> err & client=$!
sleep 2
kill -TERM $client
set +e
wait $client
echo status $?
kill $server
wait $server
"""
    )
    answer = in_namespace(script, folder)
    assert "status 143" in answer.stdout
    assert "requests complete (status 200: " in (folder / "out").read_text(encoding="utf-8")
    assert (folder / "err").read_text(encoding="utf-8") == "terminated\n"
    assert pl.read_parquet(folder / "rows.parquet").height > 10
