"""Live kernels: a small measurement in namespaces of its own, every byte compared, and nothing left behind.

Needs root or user namespaces, and TUN devices; fails without, since CI has them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tcpsf import TcpsfError
from tcpsf.live.cell import check, measure
from tcpsf.live.experiment import Experiment, Kernel
from tcpsf.live.experiment_result import DOCUMENTED, Live
from tcpsf.live.sessions import Browsing
from tcpsf.papers import smart_framing as paper
from tcpsf.scenario import BurstLoss, LinearLoss, PacketLoss

SENDERS = tuple(variant.sender for variant in paper.VARIANTS)
LATENCY_MS = 20

LOSSY = Experiment(
    name="lossy",
    latency_ms=LATENCY_MS,
    loss=LinearLoss(probability=0.12, at="1500B"),
    senders=SENDERS,
    sizes=(119, 8015),
    rate=150.0,
    duration_s=1.0,
    seed=3,
)


KERNEL = replace(
    LOSSY,
    name="kernel",
    senders=(),
    kernel=Kernel(),
    latency_up_ms=10,
    loss=PacketLoss(probability=0.05),
    loss_up=PacketLoss(probability=0.02),
    receive_buffer=32_768,
    sizes=range(1, 64_001),
    rate=100.0,
)


PROXY = replace(
    LOSSY,
    name="proxy",
    through="proxy",
    browsing=Browsing(linger_s=0.3),
    sizes=(119, 8015, 26_641),
    rate=50.0,
)


@pytest.fixture(scope="module")
def lossy() -> Live:
    check()
    shares: list[float] = []
    live = measure(LOSSY, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    return live


def test_every_byte_arrives(lossy: Live) -> None:
    _, sizes = LOSSY.fetches()
    assert lossy.flows.height == len(sizes) > 100
    assert lossy.flows.columns == list(DOCUMENTED)
    assert lossy.flows["failure"].to_list() == [""] * len(sizes)
    assert lossy.flows["received_bytes"].to_list() == [sum(each) for each in sizes]
    assert lossy.flows["completion_s"].null_count() == 0


def test_every_flow_has_its_record(lossy: Live) -> None:
    flows = lossy.flows
    assert flows["variant"].null_count() == 0
    assert set(flows["ending"]) == {"finished"}
    quiet = flows.filter(pl.col("retransmitted_segments") == 0)
    assert (quiet["segments"] >= -(-(quiet["size_bytes"] + quiet["head_bytes"]) // 1448)).all()
    flows_of = Counter(flows["variant"])
    assert set(flows_of) == set(SENDERS)
    assert max(flows_of.values()) - min(flows_of.values()) <= 10


def test_the_path_delays_and_loses(lossy: Live) -> None:
    """Lower bounds only: the machine may be busy."""
    flows = lossy.flows
    least = LATENCY_MS / 1000
    assert min(flows["connect_s"]) >= least
    assert min(flows["first_byte_s"]) >= 2 * least
    assert min(flows["rto_first_s"]) >= 0.2
    down = lossy.link["down"]
    assert down["dropped_loss_packets"] > 0
    assert lossy.link["up"]["dropped_loss_packets"] == 0
    assert sum(flows["fast_retransmits"]) + sum(flows["timeouts"]) > 10
    assert sum(flows["retransmitted_segments"]) >= down["dropped_loss_packets"] // 2


def test_framing_cuts_finer(lossy: Live) -> None:
    mean = dict(
        lossy.flows.filter(pl.col("size_bytes") == 8015)
        .group_by("variant")
        .agg(pl.col("segments").mean())
        .rows()
    )
    classic, variable, fixed = (mean[sender] for sender in SENDERS)
    assert 6 <= classic < variable < fixed


def test_a_clean_path_has_nothing_to_recover() -> None:
    clean = Experiment(
        name="clean",
        latency_ms=0,
        loss=PacketLoss(probability=0.0),
        senders=SENDERS,
        sizes=(1650,),
        rate=50.0,
        duration_s=0.5,
        objects=3,
        acks="delayed",
        rto_min="1s",
    )
    live = measure(clean, progress=lambda _share: None)
    assert live.flows.height > 5
    assert set(live.flows["failure"]) == {""}
    assert live.flows["received_bytes"].to_list() == [3 * 1650] * live.flows.height
    assert live.flows["fast_retransmits"].sum() == 0
    assert live.link["down"]["dropped_loss_packets"] == 0


def test_the_server_has_a_time_of_its_own(lossy: Live) -> None:
    """From the SYN until both ends have closed: the handshake's first packet less, and the closing more."""
    flows = lossy.flows
    assert flows["server_s"].null_count() == 0
    assert (flows["server_s"] >= flows["completion_s"] - flows["connect_s"]).all()
    assert set(flows["objects"]) == {1}
    assert set(flows["idle_s"]) == {0.0}


def test_a_proxy_stands_between_browsers_and_the_kernel() -> None:
    """Fig. 8: browsers, the emulated path, a proxy with the senders, a server of the kernel's TCP."""
    live = measure(PROXY, progress=lambda _share: None)
    wanted, flows = PROXY.connections(), live.flows
    assert flows.columns == list(DOCUMENTED)
    assert flows.height == len(wanted.sizes) > 50
    assert flows["failure"].to_list() == [""] * flows.height
    assert flows["received_bytes"].to_list() == [sum(each) for each in wanted.sizes]
    assert flows["objects"].to_list() == [len(each) for each in wanted.sizes]
    assert max(flows["objects"]) > 1
    assert set(flows["variant"]) == set(SENDERS)
    assert set(flows["ending"]) == {"finished"}
    assert live.link["down"]["dropped_loss_packets"] > 0
    assert sum(flows["fast_retransmits"]) + sum(flows["timeouts"]) > 10
    # The proxy has passed on what the clients were given, and has dialled once for each and for the
    # first look.
    assert live.server["task"] == "proxy"
    assert live.server["upstream_connected"] == flows.height + 1
    assert live.server["upstream_failed"] == 0
    assert live.server["down_bytes"] == sum(flows["received_bytes"]) + sum(flows["head_bytes"])
    # Its time of a connection has the browser's idle times in it. Lower bounds only: the machine
    # may be busy.
    assert (flows["server_s"] >= flows["completion_s"] - flows["connect_s"] + 0.3).all()
    several = flows.filter((pl.col("objects") > 1) & (pl.col("idle_s") > 0))
    assert several.height > 5
    assert (several["idle_s"] < several["completion_s"]).all()


def test_the_kernel_sends_as_it_is_told() -> None:
    """An initial window of two, nothing kept of earlier connections, loss and delay both ways, a bounded window."""
    live = measure(KERNEL, progress=lambda _share: None)
    _, sizes = KERNEL.fetches()
    flows = live.flows
    assert flows.columns == list(DOCUMENTED)
    assert flows["failure"].to_list() == [""] * len(sizes)
    assert flows["received_bytes"].to_list() == [sum(each) for each in sizes]
    assert set(flows["variant"]) == {KERNEL.variants[0]} == {"kernel reno / iw=2"}
    # The link ends with the last client, whose farewell it may have lost.
    endings = Counter(flows["ending"])
    assert set(endings) <= {"finished", "open"}
    assert endings["finished"] > 0.8 * flows.height
    assert live.server["settings"]["tcp_no_metrics_save"] == "1"
    assert live.link["down"]["dropped_loss_packets"] > 0
    assert live.link["up"]["dropped_loss_packets"] > 0
    resent = flows["retransmitted_segments"]
    assert sum(resent) >= live.link["down"]["dropped_loss_packets"] // 2
    assert flows["segment_bytes"].max() == 1448
    assert max(flows["window_bytes"].drop_nulls(), default=0) < 2 * 32_768
    assert min(flows["srtt_s"]) >= 0.03
    # Two segments at first: what is longer takes three round trips at the least, the handshake's
    # included.
    quiet = flows.filter((resent == 0) & (pl.col("size_bytes") > 3 * 1448))
    assert quiet.height > 10
    assert min(quiet["completion_s"]) >= 3 * 0.03
    # Those that a window of ten would have brought in two.
    assert quiet.filter(pl.col("size_bytes") < 10_000).height > 0


def test_a_larger_initial_window_is_one() -> None:
    clean = replace(
        KERNEL,
        kernel=Kernel(congestion="cubic", initial_window=10),
        loss=PacketLoss(probability=0.0),
        loss_up=None,
        receive_buffer=None,
        latency_ms=100,
        latency_up_ms=0,
        sizes=(12_000,),
        duration_s=0.3,
    )
    live = measure(clean, progress=lambda _share: None)
    assert live.flows.height > 5
    # A window of two would need four round trips.
    assert min(live.flows["completion_s"]) < 3 * 0.1


def test_a_congestion_control_that_the_kernel_lacks_is_told() -> None:
    with pytest.raises(TcpsfError, match="cannot send with the kernel's `vegan`") as caught:
        measure(replace(KERNEL, kernel=Kernel(congestion="vegan")), progress=lambda _share: None)
    assert "tcp_available_congestion_control" in str(caught.value.hint)


def test_what_the_server_refuses_is_told() -> None:
    with pytest.raises(TcpsfError, match=r"`tcpsf serve` failed: .*vegan") as caught:
        measure(replace(LOSSY, senders=("vegan / full / iw=1",)), progress=lambda _share: None)
    assert "\n" not in str(caught.value)


def test_what_the_proxy_refuses_is_told() -> None:
    with pytest.raises(TcpsfError, match=r"`tcpsf proxy` failed: .*vegan") as caught:
        measure(replace(PROXY, senders=("vegan / full / iw=1",)), progress=lambda _share: None)
    assert "\n" not in str(caught.value)


def test_what_the_link_refuses_is_told() -> None:
    short = BurstLoss(probability=0.01, run=0.5)
    with pytest.raises(TcpsfError, match=r"behind `tcpsf link` failed: .*--down-loss-burst"):
        measure(replace(LOSSY, loss=short), progress=lambda _share: None)


@pytest.mark.parametrize("experiment", ["LOSSY", "KERNEL", "PROXY"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_behind(number: signal.Signals, experiment: str, tmp_path: Path) -> None:
    """Interrupted or killed in the middle: no process, no device."""
    before = _devices()
    program = (
        "from dataclasses import replace\n"
        f"from test_live import {experiment}\n"
        "from tcpsf.live.cell import measure\n"
        f"measure(replace({experiment}, duration_s=60.0), progress=lambda share: print(share, flush=True))\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as caller:
        assert caller.stdout is not None
        for line in caller.stdout:
            if float(line) > 0:
                break
        assert _processes(tmp_path), "server, link and clients"
        caller.send_signal(number)
        caller.communicate(timeout=30)
    until = time.monotonic() + 10
    while _processes(tmp_path) and time.monotonic() < until:
        time.sleep(0.05)
    assert _processes(tmp_path) == []
    assert _devices() == before
    if number == signal.SIGINT:
        assert list(tmp_path.iterdir()) == []


def _devices() -> set[str]:
    return {path.name for path in Path("/sys/class/net").iterdir()}


def _processes(folder: Path) -> list[str]:
    """The command lines of processes that work in this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"{folder}{os.sep}" in words:
            found.append(words.replace("\0", " "))
    return found
