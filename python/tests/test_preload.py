"""`tcpsf cure run --preload`: the calls of a program, its segments, refusals, and the end."""

from __future__ import annotations

import functools
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from conftest import Command
from cure_link import over_link, responses

from tcpsf.cure import CurePolicy, CureTarget
from tcpsf.cure.preload import preloaded
from tcpsf.cure.reach import require_preload
from tcpsf.errors import TcpsfError

CALLS = Path(__file__).with_name("preloaded_calls.py")
POLICIES = ("tail(n=4)", "tiny-tail", "fs(n=64, min=64)+rto-min(ms=20)")


@functools.cache
def results(part: str, policy: str | None = None) -> str:
    """Results of calls without the library, or with it."""
    command = [sys.executable, str(CALLS), part]
    if policy is None:
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    with preloaded(CurePolicy.parse(policy), CureTarget()) as found:
        environment = found.environment()
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True, env=environment
        )
        assert found.problem() is None
        if part == "uncut":
            assert found.counts().cut_writes == 0
        elif part in ("random_sequences", "edge_triggered"):
            assert found.counts().cut_writes > 0
    return done.stdout


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "part",
    [
        "random_sequences",
        "full_buffers",
        "edge_triggered",
        "several_threads",
        "forked_and_duplicated",
        "interrupted",
        "uncut",
        "errors",
    ],
)
def test_calls_have_the_results_of_plain_calls(part: str, policy: str) -> None:
    plain = results(part)
    assert plain
    assert results(part, policy) == plain


def run_with_library(policy: str) -> str:
    """Return the command that runs the server with a library, and without privileges."""
    options = f"--preload --policy '{policy}' --json"
    command = f"{{python}} -m tcpsf cure run {options} -- {{python}} server.py"
    return f"setpriv --bounding-set=-all --inh-caps=-all {command}"


@pytest.mark.parametrize(
    ("policy", "segments"),
    [
        ("tail(n=4)", {1: 1, 2: 2, 1100: 4, 1448: 4, 1449: 5, 5000: 7, 14_480: 10}),
        ("tiny-tail", {1: 1, 2: 2, 1100: 2, 1448: 2, 1449: 2, 5000: 5, 14_480: 10}),
        ("fs(n=40, min=11)", {1: 1, 362: 1, 363: 2, 1100: 4, 3000: 9}),
    ],
)
def test_segments_are_those_of_the_remedy_in_the_kernel(
    tmp_path: Path, policy: str, segments: dict[int, int]
) -> None:
    """The numbers are those of `test_cure.test_writes_are_cut`."""
    rows = responses(over_link(tmp_path, run_with_library(policy), *map(str, segments)))
    sent = rows.select("unique_bytes", "data_packets").rows()
    assert dict(sent) == segments
    assert rows["retransmitted_packets"].sum() == 0


def test_a_minimum_timeout_without_privileges(tmp_path: Path) -> None:
    outside = run_with_library("rto-min(ms=20)")
    mask = ("--down-loss-mask", "1")
    found = over_link(tmp_path, outside, *["500"] * 5, options=mask, version="6")
    again = pl.col("direction").cast(pl.String) == "responder"
    waits = found.tables.retransmissions.filter(again)["waited_s"]
    # Linux waits for at least 200 ms without the remedy.
    assert min(waits.to_list()) < 0.2


def test_nothing_remains_after_a_kill(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tcpsf", "cure", "run", "--preload", "--policy", "tail"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [*command, "--", "sh", "-c", f"touch {tmp_path}/begun; exec sleep 60"], env=environment
    )
    until(lambda: (tmp_path / "begun").exists())
    (folder,) = tmp_path.glob("tcpsf-preload-*")
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: not folder.exists())


def until(condition: object) -> None:
    """Wait until a condition holds."""
    assert callable(condition)
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--policy", "dup-tail"), "`dup-tail` needs privileges"),
        (("--policy", "tail+iw=20"), "`iw` needs privileges"),
        (("--policy", "tail", "--device", "lo"), "cannot select the device `lo`"),
        (("--policy", "tail", "--peer", "192.0.2.1"), "cannot select the peers `192.0.2.1/32`"),
    ],
)
def test_refusals(tcpsf: Command, words: tuple[str, ...], message: str) -> None:
    answer = tcpsf("cure", "run", "--preload", *words, "--", "true")
    assert answer.status == 2
    assert message in answer.err
    assert "hint: " in answer.err


def test_a_command_without_a_server_is_named(tcpsf: Command) -> None:
    answer = tcpsf("cure", "run", "--preload", "--policy", "tail", "--", "sh", "-c", "exit 7")
    assert answer.status == 7
    assert "tail(n=4) had no effect: no program that loaded the library listens" in answer.err


def elf(*, interpreter: bool, word: int = 2) -> bytes:
    """Return the headers of an ELF program with one entry."""
    header = b"\x7fELF" + bytes([word]) + bytes(27) + struct.pack("=Q", 64) + bytes(14)
    return (
        header + struct.pack("=HH", 56, 1) + bytes(6) + struct.pack("=I", 3 if interpreter else 1)
    )


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (elf(interpreter=False), "it is a static program"),
        (elf(interpreter=True) + bytes(2_000_000) + b"\xff Go buildinf:", "it is a Go program"),
        (elf(interpreter=True, word=1), "another word size"),
        (elf(interpreter=True), None),
        (b"\x7fELF", None),
        (b"#!{program}\n", "it is a static program"),
        (b"#!/usr/bin/env sh\n", None),
    ],
)
def test_programs_without_the_library(tmp_path: Path, content: bytes, problem: str | None) -> None:
    static = tmp_path / "static"
    static.write_bytes(elf(interpreter=False))
    program = tmp_path / "program"
    program.write_bytes(content.replace(b"{program}", bytes(static)))
    program.chmod(0o755)
    if problem is None:
        require_preload([str(program)])
        return
    with pytest.raises(TcpsfError, match=problem):
        require_preload([str(program)])
