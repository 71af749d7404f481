"""Analysis of captures: simulated runs whose losses are known, output of the command, errors."""

from __future__ import annotations

import gzip
import json
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import jsonschema
import polars as pl
import pytest
from conftest import Command

from tcpsf import Link, MaskLoss, Pcap, Scenario, SenderShare, Tcp, TcpsfError, Transfers, run
from tcpsf.captures import CaptureResult, analyze
from tcpsf.captures.capture_summary import CAUSES
from tcpsf.captures.explanation import REASONS, explanation

LINUX = "linux / full / iw=10"
RFC = "reno+sack / full / iw=10"


def scenario(
    *, sender: str, profile: Literal["rfc", "linux-6.18"], size: int, drops: str
) -> Scenario:
    """One transfer of which the n-th data segments are lost, over 50 ms in each direction."""
    return Scenario(
        name="loss",
        duration="20 s",
        tcp=Tcp(profile=profile),
        link=[
            Link(
                name="there",
                from_="a",
                to="b",
                rate="100Mbit",
                delay="25ms",
                loss=MaskLoss(drops=drops),
            ),
            Link(name="back", from_="b", to="a", rate="100Mbit", delay="25ms"),
        ],
        workload=[
            Transfers(
                name="one",
                from_="a",
                to="b",
                sizes=[size],
                senders=[SenderShare(sender=sender, share=1)],
                handshake=True,
            )
        ],
    )


def captured(folder: Path, **parts: Any) -> Path:
    """Capture the run at the sender."""
    path = folder / "run.pcapng"
    run(scenario(**parts), seed=1, pcap=Pcap(path=path, replace=True))
    return path


def causes(result: CaptureResult) -> list[str]:
    """Causes of the sender of the data, which opens the connection."""
    sent = result.tables.retransmissions.filter(direction="originator")
    return sent["cause"].to_list()


@pytest.mark.parametrize(
    ("sender", "profile", "segments", "drops", "expected"),
    [
        (LINUX, "linux-6.18", 10, "0,1", ["rack"]),
        (LINUX, "linux-6.18", 3, "1", ["rack_timer"]),
        (LINUX, "linux-6.18", 5, "0,0,0,0,1", ["tail_loss_probe"]),
        (LINUX, "linux-6.18", 1, "1", ["tail_loss_probe"]),
        (LINUX, "linux-6.18", 1, "1,1", ["tail_loss_probe", "timeout"]),
        (LINUX, "linux-6.18", 10, "1,0,0,1", ["rack", "recovery"]),
        (RFC, "rfc", 10, "0,1", ["sack"]),
        (RFC, "rfc", 2, "1", ["timeout"]),
        (RFC, "rfc", 1, "1,1", ["timeout", "timeout"]),
        ("reno+newreno / full / iw=10", "rfc", 10, "0,1", ["three_duplicates"]),
        (
            "reno+fack / full / iw=10",
            "rfc",
            10,
            "1,1,1,1",
            ["fack", "recovery", "recovery", "recovery"],
        ),
        ("reno+sack+er / full / iw=10", "rfc", 3, "0,1", ["early_retransmit"]),
        (RFC, "rfc", 2, "1,1", ["timeout", "slow_start"]),
    ],
)
def test_causes_of_simulated_losses(
    tmp_path: Path,
    sender: str,
    profile: str,
    segments: int,
    drops: str,
    expected: list[str],
) -> None:
    path = captured(tmp_path, sender=sender, profile=profile, size=1448 * segments, drops=drops)
    result = analyze(path)
    assert causes(result) == expected
    for row in result.tables.retransmissions.to_dicts():
        assert f"Cause: {row['cause']}, confidence" in " ".join(explanation(row))
    lost = drops.split(",").index("1")
    (episode,) = result.tables.episodes.filter(direction="originator").to_dicts()
    assert episode["cause"] == expected[0]
    assert episode["following"] == segments - lost - 1
    data = result.tables.flows.filter(direction="originator").row(0, named=True)
    assert (data["vantage"], data["unique_bytes"]) == ("sender", 1448 * segments)


def test_a_repair_that_is_lost(tmp_path: Path) -> None:
    drops = ",".join(["0", "1", *["0"] * 12, "1"])
    path = captured(tmp_path, sender=LINUX, profile="linux-6.18", size=30 * 1448, drops=drops)
    assert causes(analyze(path)) == ["rack", "lost_retransmission"]


@pytest.mark.parametrize("tail", ["dup-tail", "dup-tail(delay=10ms)"])
@pytest.mark.parametrize(("drops", "expected"), [("0", []), ("0,0,1,1", ["tail_loss_probe"])])
def test_copies_of_the_tail_are_no_retransmissions(
    tmp_path: Path, tail: str, drops: str, expected: list[str]
) -> None:
    path = captured(
        tmp_path, sender=f"linux / {tail} / iw=10", profile="linux-6.18", size=4000, drops=drops
    )
    result = analyze(path)
    data = result.tables.flows.filter(direction="originator").row(0, named=True)
    assert (data["duplicate_packets"], data["data_packets"]) == (1, 4 + len(expected))
    assert causes(result) == expected


def test_both_ends_of_one_capture_are_two_connections(tmp_path: Path) -> None:
    path = tmp_path / "both.pcapng"
    made = scenario(sender=LINUX, profile="linux-6.18", size=14480, drops="0,1")
    run(made, seed=1, pcap=Pcap(path=path, place="both"))
    flows = analyze(path).tables.flows.filter(direction="originator").sort("interface")
    assert flows["vantage"].to_list() == ["sender", "receiver"]
    assert flows["retransmitted_packets"].to_list() == [1, 1]


class TestCommand:
    def test_summary(self, tcpsf: Command, tmp_path: Path) -> None:
        path = captured(tmp_path, sender=LINUX, profile="linux-6.18", size=14480, drops="0,1")
        answer = tcpsf("analyze", path)
        assert (answer.status, answer.err) == (0, "")
        lines = answer.out.splitlines()
        assert lines[0].startswith(f"{path}: ")
        assert lines[0].endswith("1 connection")
        assert any(line.startswith("RACK, at once") for line in lines)

    def test_json_follows_the_schema(self, tcpsf: Command, tmp_path: Path) -> None:
        path = captured(tmp_path, sender=RFC, profile="rfc", size=1448, drops="1")
        data = json.loads(tcpsf("analyze", path, path, "--json").out)
        schema = _schema()
        jsonschema.validate(data, schema)
        assert len(data["captures"]) == 2
        cause = data["captures"][0]["causes"][0]
        assert (cause["cause"], cause["episodes"], cause["episodes_at_the_tail"]) == (
            "timeout",
            1,
            1,
        )
        assert cause["delay_s"]["max"] == pytest.approx(cause["delay_s"]["total"], rel=1e-6)
        assert set(schema["$defs"]["cause"]["enum"]) == set(CAUSES) == set(REASONS)

    def test_tables(self, tcpsf: Command, tmp_path: Path) -> None:
        path = captured(tmp_path, sender=LINUX, profile="linux-6.18", size=14480, drops="0,1")
        out = tmp_path / "out"
        assert tcpsf("analyze", path, "--out", out).status == 0
        assert sorted(file.name for file in out.iterdir()) == [
            "episodes.parquet",
            "flows.parquet",
            "losses.parquet",
            "provenance.json",
            "retransmissions.parquet",
            "transfers.parquet",
            "transmissions.parquet",
        ]
        found = pl.read_parquet(out / "retransmissions.parquet")
        assert found.drop("capture").equals(analyze(path).tables.retransmissions)
        assert "contains earlier results" in tcpsf("analyze", path, "--out", out).err
        assert tcpsf("analyze", path, "--out", out, "--force").status == 0

    def test_explanation(self, tcpsf: Command, tmp_path: Path) -> None:
        path = captured(tmp_path, sender=LINUX, profile="linux-6.18", size=1448, drops="1")
        frame = analyze(path).tables.retransmissions["frame"][0]
        text = tcpsf("analyze", path, "--explain", str(frame)).out
        assert "Cause: tail_loss_probe, confidence" in text
        first = tcpsf("analyze", path, "--explain", "1").out
        assert "It opens a connection." in first
        assert "It is the first packet of its connection so far." in first
        answer = tcpsf("analyze", path, "--explain", "3").out
        assert "SYN ACK" not in answer
        assert "ACK" in answer
        last = tcpsf("analyze", path, "--explain", str(frame + 1)).out
        assert "for the first time." in last
        refused = tcpsf("analyze", path, "--explain", "999")
        assert refused.status == 2
        assert "packets are counted from 1" in refused.err

    def test_stated_facts(self, tcpsf: Command, tmp_path: Path) -> None:
        path = captured(tmp_path, sender=LINUX, profile="linux-6.18", size=1448, drops="1")
        text = tcpsf("analyze", path, "--sender", "rfc", "--vantage", "receiver").out
        assert "Place of the capture (stated), by directions with data: at the sender 1" in text
        assert "Senders (stated), by directions with data: rfc 1" in text
        assert causes(analyze(path, sender="rfc")) == ["timeout"]
        data = json.loads(tcpsf("analyze", path, "--sender", "rfc", "--json").out)
        assert data["captures"][0]["stated"] == {"vantage": "auto", "sender": "rfc"}
        with pytest.raises(TcpsfError, match="expected one of `auto`"):
            analyze(path, sender="bsd")  # type: ignore[arg-type]

    def test_compressed_and_cut(self, tcpsf: Command, tmp_path: Path) -> None:
        path = captured(tmp_path, sender=LINUX, profile="linux-6.18", size=14480, drops="0,1")
        compressed = tmp_path / "run.pcapng.gz"
        compressed.write_bytes(gzip.compress(path.read_bytes()))
        assert analyze(compressed).tables.flows.equals(analyze(path).tables.flows)
        cut = tmp_path / "cut.pcapng"
        cut.write_bytes(path.read_bytes()[:-10])
        answer = tcpsf("analyze", cut)
        assert answer.status == 0
        assert "Reading ended at byte " in answer.out


def test_other_files_are_refused(tcpsf: Command, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("no capture at all")
    answer = tcpsf("analyze", path)
    assert answer.status == 2
    assert "neither pcap nor pcapng: the file begins with the bytes 6e 6f 20" in answer.err
    with pytest.raises(TcpsfError, match="no such file"):
        analyze(tmp_path / "missing")


def _schema() -> Any:
    file = resources.files("tcpsf.report").joinpath("schema", "analyze.json")
    return json.loads(file.read_text(encoding="utf-8"))


def waits(folder: Path, **parts: Any) -> dict[str, float]:
    """What the sender of a run waited for, in seconds."""
    path = captured(folder, **parts)
    row = analyze(path).tables.flows.filter(direction="originator").row(0, named=True)
    return {name: row[name] for name in row if name.endswith("_limited_s")} | {
        "recovery_s": row["recovery_s"],
        "idle_s": row["idle_s"],
    }


def test_what_a_sender_waits_for(tmp_path: Path) -> None:
    slow_start = waits(tmp_path, sender=LINUX, profile="linux-6.18", size=144_800, drops="0")
    assert slow_start["congestion_limited_s"] > 0.1
    assert slow_start["window_limited_s"] == slow_start["recovery_s"] == 0.0
    lossy = waits(tmp_path, sender=LINUX, profile="linux-6.18", size=1448, drops="1")
    assert lossy["recovery_s"] > 0.2
    assert lossy["congestion_limited_s"] == 0.0
