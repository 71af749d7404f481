"""Incomplete captures as input of `tcpsf advise` and `tcpsf analyze`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Command
from test_advise import captured, is_from_server, kept

from tcpsf import PacketLoss, Sizes

NO_PACKETS = bytes.fromhex("d4c3b2a1 02000400 00000000 00000000 ffff0000 01000000")
"""Header of a pcap file with a link type of Ethernet."""

ENDED = "reading ended at byte 24: the file ends within a packet header, 10 bytes after its start"


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("complete")
    return captured(folder, PacketLoss(probability=0.05), Sizes(classes=[1200]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (NO_PACKETS, "it has no packet"),
        (
            NO_PACKETS + bytes(10),
            f"it has no packet, and {ENDED}",
        ),
    ],
)
def test_a_capture_without_packets(
    tcpsf: Command, tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "server.pcap"
    path.write_bytes(content)
    answer = tcpsf("advise", path)
    assert (answer.status, answer.out) == (2, "")
    first, hint = answer.err.splitlines()
    assert first == f"error: cannot advise on `{path}`: {message}"
    assert hint.startswith("hint: check the interface and the filter")


def test_the_answer_states_where_a_damaged_file_ends(
    tcpsf: Command, capture: Path, tmp_path: Path
) -> None:
    path = tmp_path / "cut.pcapng"
    content = capture.read_bytes()
    path.write_bytes(content[: len(content) * 3 // 4 + 1])
    words = ("--runs", "2", "--remedy", "dup-tail")
    lines = tcpsf("advise", path, *words).out.splitlines()
    (ended,) = (line for line in lines if line.startswith("- Reading ended at byte "))
    assert ": the file ends within a block" in ended
    assert "Reading ended" not in tcpsf("advise", capture, *words).out


def test_the_summary_states_that_a_direction_is_missing(
    tcpsf: Command, capture: Path, tmp_path: Path
) -> None:
    half = kept(capture, tmp_path / "half.pcapng", is_from_server)
    note = "connections have packets of one direction only: lost time and most causes need both"
    lines = tcpsf("analyze", half).out.splitlines()
    (found,) = (line for line in lines if line.endswith(note))
    (data,) = json.loads(tcpsf("analyze", half, "--json").out)["captures"]
    assert found == f"{data['one_sided_connections']} {note}".replace(",", " ")
    assert data["one_sided_connections"] == data["connections"] > 100
    assert note not in tcpsf("analyze", capture).out
