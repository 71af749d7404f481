"""`tcpsf lab`: loss models, predictions, and cells of the kernel. Needs root, TUN devices and BPF, as CI has."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Command

from tcpsf import TcpsfError
from tcpsf.cli.lab import read_loss, read_mix
from tcpsf.cure import CurePolicy
from tcpsf.lab import LabCell, LabMix, LabPath, predict


@pytest.mark.parametrize(
    ("text", "printed", "options"),
    [
        ("none", "none", []),
        ("2%", "2%", ["--down-loss", "0.02"]),
        ("0.02", "2%", ["--down-loss", "0.02"]),
        ("burst:2%,3", "burst:2%,3", ["--down-loss-burst", "0.02,3"]),
        ("byte:0.00002", "byte:2e-05", ["--down-loss-per-byte", "2e-05"]),
    ],
)
def test_a_loss_model_is_that_of_the_link(text: str, printed: str, options: list[str]) -> None:
    loss = read_loss(text)
    assert str(loss) == printed
    assert loss.options() == options


@pytest.mark.parametrize("text", ["", "2", "120%", "burst:2%", "2%,3", "linear:1%", "burst:2%,0.5"])
def test_other_loss_models_are_refused(text: str) -> None:
    with pytest.raises(TcpsfError, match="cannot read the loss model"):
        read_loss(text)


def cell(loss: str, policy: str | None, size: int = 1200) -> LabCell:
    path = LabPath(loss=read_loss(loss), rtt_s=0.04)
    return LabCell(
        path=path, size=size, policy=None if policy is None else CurePolicy.parse(policy)
    )


def test_the_prediction_is_that_of_the_sender() -> None:
    """2 % of the responses wait for a timer, so p99 is a timeout, and a copy repairs them."""
    plain, copied, intact = (
        predict(each, rate=60.0, seed=1)
        for each in (cell("2%", None), cell("2%", "dup-tail"), cell("none", None))
    )
    assert intact.times.quantile(0.999) == pytest.approx(0.04, abs=0.001)
    assert plain.times.quantile(0.5) == pytest.approx(0.04, abs=0.001)
    assert (plain.times.quantile(0.99) or 0.0) > 0.24
    assert copied.times.quantile(0.99) == pytest.approx(0.04, abs=0.001)


def test_sizes_that_alternate_are_predicted_together() -> None:
    """60 kB need four round trips, and 200 B one."""
    path = LabPath(loss=read_loss("none"), rtt_s=0.04)
    one, other, both = (
        predict(LabCell(path=path, size=size), rate=60.0, seed=1).times
        for size in (200, 60_000, LabMix("both", (200, 60_000)))
    )
    assert both.quantile(0.25) == one.quantile(0.5) == pytest.approx(0.04, abs=0.001)
    assert both.quantile(0.75) == pytest.approx(other.quantile(0.5), abs=0.0001)
    assert (other.quantile(0.5) or 0.0) > 0.1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("200\n1.2kB\n", "`1.2kB` is not a number of bytes"),
        ("0\n", "`0` is not a number of bytes"),
        ("200\n-5", "`-5` is not a number of bytes"),
        ("100000001", "`100000001` is not a number of bytes"),
        ("²", "`²` is not a number of bytes"),
        (b"\xff\xfe", "it is not text in UTF-8"),
        (None, "no such file"),
    ],
)
def test_other_files_of_sizes_are_refused(
    tmp_path: Path, text: str | bytes | None, message: str
) -> None:
    file = tmp_path / "sizes.txt"
    if text is not None:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(TcpsfError) as caught:
        read_mix(file)
    assert message in str(caught.value)
    assert caught.value.hint


def test_a_file_of_sizes_is_read(tmp_path: Path) -> None:
    file = tmp_path / "web.txt"
    file.write_text("200\n1200 \n\n14000", encoding="utf-8")
    assert read_mix(file) == LabMix("web", (200, 1200, 14_000))


def test_a_full_queue_is_predicted() -> None:
    """A response of two segments waits for its first one on a slow link, and for nothing else."""
    path = LabPath(loss=read_loss("none"), rtt_s=0.04, rate="1Mb/s", queue="15kB")
    found = predict(LabCell(path=path, size=2000), rate=10.0, seed=1)
    assert found.times.quantile(0.5) == pytest.approx(0.04 + 2172 * 8 / 1e6, abs=0.001)


def test_the_limits_of_the_link_are_those_of_the_scenario() -> None:
    path = LabPath(
        loss=read_loss("none"), rtt_s=0.04, rate="10mbit", queue="20packets", police="5mbit, 15kB"
    )
    assert path.options()[2:] == [
        *("--down-rate", "10mbit", "--down-police", "5mbit, 15kB", "--down-queue", "20packets")
    ]
    link = path.link()
    assert link["buffer"] == {"packets": 20}
    assert link["police"] == {"rate": "5mbit", "burst": "15kB"}
    assert str(path) == "10mbit, queue of 20packets, policer of 5mbit, 15kB"


def test_a_policer_drops_the_end_of_a_response() -> None:
    """15 kB pass at once. A response of 20 segments loses its last ones."""
    path = LabPath(loss=read_loss("none"), rtt_s=0.04, police="2mbit,15kB")
    short, long = (
        predict(LabCell(path=path, size=size), rate=2.0, seed=1) for size in (1200, 28_000)
    )
    assert short.times.quantile(0.99) == pytest.approx(0.04, abs=0.001)
    assert (long.times.quantile(0.5) or 0.0) > 0.1


def test_downloads_delay_the_responses() -> None:
    """Two downloads keep the queue of 60 kB full, which takes 48 ms at 10 Mb/s."""
    path = LabPath(loss=read_loss("none"), rtt_s=0.04, rate="10mbit", queue="60kB", downloads=2)
    found = predict(LabCell(path=path, size=1200), rate=60.0, seed=1)
    assert found.times.quantile(0.5) == pytest.approx(0.08, abs=0.01)
    assert found.unfinished <= 10


def test_the_handshake_measures_the_queue_of_downloads() -> None:
    """A Linux server had a 95th percentile of 711 ms (`verification/cure_map.py`).

    With the round-trip time of the empty path, timeouts would begin 35 ms earlier, and end at 450 ms.
    """
    path = LabPath(loss=read_loss("none"), rtt_s=0.04, rate="10mbit", queue="60kB", downloads=2)
    found = predict(LabCell(path=path, size=14_000), rate=8.7, seed=1, responses=5000)
    assert found.times.quantile(0.95) == pytest.approx(0.711, rel=0.1)


def test_small_packets_take_places_of_a_queue() -> None:
    """A Linux server had a 99th percentile of 567 ms (`verification/cure_map.py`)."""
    path = LabPath(loss=read_loss("none"), rtt_s=0.04, rate="2mbit", queue="10packets")
    found = predict(LabCell(path=path, size=1200), rate=140.6, seed=1)
    assert found.times.quantile(0.99) == pytest.approx(0.567, rel=0.1)


def run_lab(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `tcpsf lab` in a process of its own, which enters a network namespace."""
    command = [sys.executable, "-m", "tcpsf", "lab", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_cells_of_the_kernel(tmp_path: Path) -> None:
    page = tmp_path / "lab.html"
    answer = run_lab(
        *("--policy", "tiny-tail", "--loss", "none", "--rtt", "10ms", "--size", "700"),
        *("--requests", "60", "--rate", "100", "--json", "--report", str(page)),
    )
    assert answer.returncode == 0, answer.stderr
    plain, cut = map(json.loads, answer.stdout.splitlines())
    assert (plain["remedy"], cut["remedy"]) == ("none", "tiny-tail")
    assert (plain["failed"], cut["failed"]) == (0, 0)
    assert plain["measured_s"]["median"]["value"] >= 0.01
    assert plain["predicted_s"]["median"] == pytest.approx(0.01, abs=0.001)
    # The last byte of each response has a segment of its own. On a busy machine, some requests have an
    # acknowledgment of their own.
    assert cut["packets_per_request"] - plain["packets_per_request"] == pytest.approx(1, abs=0.4)
    assert "tiny-tail" in page.read_text(encoding="utf-8")


def test_downloads_beside_the_requests() -> None:
    answer = run_lab(
        *("--policy", "tail(n=4)", "--loss", "none", "--rtt", "20ms", "--size", "700"),
        *("--down-rate", "10mbit", "--down-queue", "60kB", "--downloads", "2"),
        *("--requests", "100", "--rate", "50", "--json"),
    )
    assert answer.returncode == 0, answer.stderr
    plain, cut = map(json.loads, answer.stdout.splitlines())
    for each in (plain, cut):
        assert (each["failed"], each["downloads"]) == (0, 2)
        # The queue of the downloads delays the responses.
        assert each["measured_s"]["median"]["value"] > 0.03
        # Most packets are those of the downloads.
        assert each["packets_per_request"] > 10
    assert "queue of 60kB, 2 downloads" in answer.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--downloads", "2"), "cannot run downloads over a link without a rate"),
        (("--down-police", "2mbit"), "is not of the form RATE,BURST"),
        (("--down-queue", "15000"), "`15000` is not a size"),
        (("--loss", "5"), "cannot read the loss model `5`"),
        (("--policy", "vs"), "cannot read the policy `vs`"),
        (("--path", "/{name}"), "only {size} may be in braces"),
    ],
)
def test_lab_refusals(tcpsf: Command, words: tuple[str, ...], message: str) -> None:
    answer = tcpsf("lab", *words)
    assert answer.status == 2
    assert message in answer.err
    assert "hint: " in answer.err


def test_cells_without_privileges() -> None:
    answer = run_lab(
        *("--preload", "--loss", "none", "--rtt", "10ms", "--size", "700"),
        *("--requests", "60", "--rate", "100", "--json"),
    )
    assert answer.returncode == 0, answer.stderr
    plain, cut = map(json.loads, answer.stdout.splitlines())
    assert cut["remedy"] == "tail(n=4)"
    assert cut["packets_per_request"] - plain["packets_per_request"] == pytest.approx(3, abs=0.4)
    refused = run_lab("--preload", "--policy", "dup-tail")
    assert refused.returncode == 2
    assert "`dup-tail` needs privileges" in refused.stderr


def test_sizes_of_a_file_alternate(tmp_path: Path) -> None:
    file = tmp_path / "web.txt"
    file.write_text("100\n20000\n", encoding="utf-8")
    answer = run_lab(
        *("--preload", "--loss", "none", "--rtt", "10ms", "--mix", str(file)),
        *("--requests", "60", "--rate", "100", "--json"),
    )
    assert answer.returncode == 0, answer.stderr
    plain, _ = map(json.loads, answer.stdout.splitlines())
    assert (plain["mix"], plain["bytes"]) == ("web", None)
    assert plain["bytes_per_request"] == pytest.approx((100 + 20_000) / 2, rel=0.15)


def test_a_server_that_does_not_listen_is_refused() -> None:
    answer = run_lab("--requests", "20", "--rate", "100", "--", "false")
    assert answer.returncode == 2
    assert "was answered" in answer.stderr
    assert "hint: " in answer.stderr
