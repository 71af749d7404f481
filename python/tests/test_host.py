"""`tcpsf serve` and `tcpsf proxy`. Needs root and TUN devices, as CI has them; the host is tested in Rust."""

from __future__ import annotations

import contextlib
import http.server
import json
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Answer

from tcpsf.cli.host import _listening, _resolved
from tcpsf.errors import TcpsfError

Command = Callable[..., Answer]

SENDERS = ("reno+sack / full / iw=2", "reno+sack / fs(n=4) / iw=1")

UPSTREAM = ("--upstream", "127.0.0.1:9")

REFUSED = {
    "no folder": (("serve", "missing"), "cannot serve `missing`: no such file or directory", "name a folder"),
    "sender": (
        ("serve", ".", "--sender", "reno+sack / fs(n=1) / iw=1"),
        "cannot serve: sender `reno+sack / fs(n=1) / iw=1`: `1` is not a whole number from 2 to 64",
        None,
    ),
    "alternate alone": (
        ("serve", ".", "--alternate", "connection"),
        "cannot alternate: `--alternate connection` with one sender",
        "name several `--sender`",
    ),
    "alternate": (
        ("serve", ".", "--sender", SENDERS[0], "--sender", SENDERS[1], "--alternate", "often"),
        "cannot serve: alternate: `often` is not a duration such as `20ms` or `1.5s`",
        None,
    ),
    "idle": (
        ("serve", ".", "--idle-timeout", "60"),
        "cannot serve: idle_timeout: `60` is not a duration such as `20ms` or `1.5s`",
        None,
    ),
    "rto": (
        ("serve", ".", "--rto-min", "2s"),
        "cannot serve: rto_min `2s` and rto_initial `1s` are not 1 ms <= rto_min <= rto_initial <= 60 s",
        "1s and 1s are RFC 6298's, 200ms and 1s Linux's",
    ),
    "lifetime": (
        ("serve", ".", "--lifetime", "a day"),
        "cannot serve: lifetime: `a day` is not a duration such as `20ms` or `1.5s`",
        None,
    ),
    "address": (
        ("serve", ".", "--address", "here", "--records", "rows.jsonl", "--pcap", "packets.pcapng"),
        "cannot serve: `here` is not an IP address",
        None,
    ),
    "records": (
        ("serve", ".", "--records", "a.csv"),
        "cannot write records `a.csv`: no format ends in `.csv`",
        "`.parquet` or `.jsonl`",
    ),
    "nowhere": (
        ("serve", ".", "--records", "no/a.jsonl"),
        "cannot write `no/a.jsonl`: `no` is not a folder",
        "name another file",
    ),
    "listen": (
        ("proxy", "--listen", "here:80", *UPSTREAM),
        "cannot listen at `here:80`: `here` is not an IP address",
        "e.g. `--listen 100.64.1.2:80`",
    ),
    "two ports": (
        ("proxy", "--listen", ":80", "--listen", ":81", *UPSTREAM),
        "cannot listen at several ports: 80, 81",
        "run a proxy for each",
    ),
    "no port": (
        ("proxy", "--upstream", "127.0.0.1"),
        "cannot relay to `127.0.0.1`: it names no port",
        "e.g. `--upstream 127.0.0.1:8080`",
    ),
    "bad port": (
        ("proxy", "--upstream", "127.0.0.1:99999"),
        "cannot make sense of `127.0.0.1:99999`: `99999` is no port",
        "1 to 65535",
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
        f"error: cannot write `{rows}`: it is there already\n"
        "hint: name another file with `--records`, or let `--force` replace it\n"
    )
    assert rows.read_text() == "mine\n"


def test_places_to_listen_at_and_to_relay_to() -> None:
    assert _listening([]) == ([], 80)
    assert _listening(["100.64.1.2", "[fd00::2]:80"]) == (["100.64.1.2", "fd00::2"], 80)
    assert _listening([":8080"]) == ([], 8080)
    assert _resolved("127.0.0.1:80") == ["127.0.0.1:80"]
    assert _resolved("[::1]:80") == ["[::1]:80"]
    with pytest.raises(TcpsfError, match="it names no host"):
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
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
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
    senders = [word for name in SENDERS for word in ("--sender", name)]
    with running("serve", str(tmp_path), offload, "--records", str(rows), "--pcap", str(packets), *senders) as host:
        urls = host.begun["urls"]
        assert len(urls) == len(host.begun["addresses"]) >= 1
        for url in urls:
            assert fetched(f"{url}file") == content
            assert fetched(f"{url}file", Range="bytes=5-9") == content[5:10]
        host.stop()
    count = 2 * len(urls)
    assert (host.summary["event"], host.summary["responses_2xx"], host.summary["failed_connections"]) == (
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
        with running("proxy", "--listen", ":8081", "--upstream", f"127.0.0.1:{server.server_port}") as host:
            address = host.begun["addresses"][0]
            for _ in range(3):
                assert fetched(f"http://{address}:8081/") == b"hello " * 50_000
            host.stop()
        server.shutdown()
    assert (host.summary["upstream_connected"], host.summary["upstream_failed"]) == (3, 0)
    assert host.summary["down_bytes"] > 3 * 300_000
