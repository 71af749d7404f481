"""`tcpsf cure`: names, refusals, and the kernel with remedies. Needs root, TUN devices and BPF, as CI has."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import pytest
from conftest import Command
from cure_link import over_link, responses, run_with

from tcpsf import TcpsfError
from tcpsf.cure import CurePolicy

PORT = 8080


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
    # The process of the link stamps the packets. If it reads an original late, that copy seems early.
    assert least_s <= median(times.to_list())
    assert min(times.to_list()) < least_s + 0.02


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


@pytest.mark.parametrize(
    ("policy", "column", "counts"),
    [
        ("dup-tail", "duplicate_packets", [1, 1, 1, 0, 0]),
        ("tail(n=4)", "data_packets", [4, 6, 7, 4, 7]),
    ],
)
def test_a_remedy_is_for_short_responses(
    tmp_path: Path, policy: str, column: str, counts: list[int]
) -> None:
    sizes = ["700", "4000", "5000", "5001", "10000"]
    command = run_with(policy, "--largest", "5kB")
    rows = responses(over_link(tmp_path, command, *sizes)).sort("flow")
    assert rows[column].to_list() == counts


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


def test_settings_are_for_responses_of_any_size(tcpsf: Command) -> None:
    words = ("cure", "run", "--policy", "rto-min(ms=20)", "--largest", "5kB", "--", "true")
    answer = tcpsf(*words)
    assert answer.status == 2
    assert answer.err.startswith(
        "error: cannot apply the policy `rto-min(ms=20)` up to 5000 bytes: its settings are those of whole "
        "connections\nhint: leave out `--largest`"
    )


def test_nothing_remains_after_a_kill(tmp_path: Path) -> None:
    outside = "{python} attached.py"
    words = ["700", "begin->attached", *["700"] * 4, "kill->killed", *["700"] * 3]
    rows = responses(over_link(tmp_path, outside, *words)).sort("flow")
    assert rows["duplicate_packets"].to_list() == [0, 1, 1, 1, 1, 0, 0, 0]
