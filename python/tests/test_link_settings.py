"""Presets, the round-trip time and the default queue of `tcpsf link`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY, Answer, Command

from tcpsf import _core
from tcpsf.emulation.link_settings import complete
from tcpsf.emulation.presets import PRESETS


def options_of(tcpsf: Command, tmp_path: Path, *words: str) -> dict[str, Any]:
    """The settings in the file of `--json`."""
    file = tmp_path / "link.json"
    answer = tcpsf("link", *words, "--json", str(file), "--force", "--", "true")
    assert answer.status == 0, answer.err
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["settings"]
    return found


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_link_with_finite_queues(tcpsf: Command, tmp_path: Path, name: str) -> None:
    found = options_of(tcpsf, tmp_path, "--preset", name)
    preset = PRESETS[name]
    assert found["both"] == dict(preset.both)
    rtt_s = 2 * _core.nanoseconds(preset.both["delay"]) / 1e9
    for way in ("up", "down"):
        if "rate" in found[way]:
            rate = _core.bits_per_second(found[way]["rate"]) / 8
            queue_s = _core.bytes(found[way]["queue"]) / rate
            assert queue_s == pytest.approx(max(0.1, rtt_s), rel=0.25), (name, way)
    page = (REPOSITORY / "docs" / "reference" / "link.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
    for text in {*preset.both.values(), *preset.up.values(), *preset.down.values()}:
        assert f"`{text}`" in row, (name, text)


def test_options_replace_values_of_a_preset() -> None:
    given = {"both": {"rate": "5mbit", "loss-burst": "0.01,3"}, "up": {"queue": "none"}}
    found, changes = complete(given, preset="leo", rtt=None, mtu=1500)
    assert found == {
        "both": {"delay": "25ms", "rate": "5mbit", "loss-burst": "0.01,3"},
        "up": {"queue": "none"},
        "down": {"queue": "1088kB"},
    }
    assert [change["both"] for change in changes] == [
        {"delay": "20ms"},
        {"delay": "25ms"},
        {"delay": "30ms"},
        {"delay": "25ms"},
    ]
    assert {(change["at"], change["every"]) for change in changes} == {
        (f"{15 * number}s", "60s") for number in (1, 2, 3, 4)
    }
    assert complete({"down": {"delay": "9ms"}}, preset="leo", rtt=None, mtu=1500)[1] == []


def test_the_default_queue_is_100_ms_at_the_rate() -> None:
    def queues(**given: dict[str, str]) -> tuple[str | None, str | None]:
        found, _ = complete(given, preset=None, rtt=None, mtu=1500)
        return found["up"].get("queue"), found["down"].get("queue")

    assert queues(both={"rate": "10mbit"}) == ("125000B", "125000B")
    assert queues(both={"rate": "10mbit"}, up={"rate": "1gbit"}) == ("12500000B", "125000B")
    assert queues(both={"rate": "64kbit"}) == ("15000B", "15000B")  # ten packets
    assert queues(both={"rate": "10mbit", "queue": "none"}) == (None, None)
    assert queues(both={"rate": "none"}, down={"rate": "1mbit"}) == (None, "15000B")
    assert queues(both={"from": "a.toml:b", "rate": "1mbit"}) == (None, None)


def test_traces_and_shapers_have_a_default_queue(tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    trace.write_text("0s 30mbit\n1s 10mbit\n2s repeat\n", encoding="utf-8")

    def queue(**both: str) -> str | None:
        options = {name.replace("_", "-"): text for name, text in both.items()}
        return complete({"both": options}, preset=None, rtt=None, mtu=1500)[0]["up"].get("queue")

    assert queue(rate_trace=str(trace)) == "250000B"
    assert queue(rate_trace=str(trace), shape="8mbit,15kB") == "100000B"
    assert queue(rate="100mbit", shape="8mbit,15kB") == "100000B"
    assert queue(police="8mbit,15kB") is None
    assert queue(rate_trace=str(tmp_path / "missing")) is None  # the emulator explains it


def test_a_discipline_replaces_the_others_of_its_group() -> None:
    given = {"both": {"rate": "8mbit", "fq-codel": "5ms,100ms"}, "up": {"codel": "5ms,100ms"}}
    found, _ = complete(given, preset="dsl", rtt=None, mtu=1500)
    assert found["up"]["codel"] == "5ms,100ms"
    assert found["both"]["fq-codel"] == "5ms,100ms"
    assert found["down"] == {"queue": "141kB"}


def test_the_length_of_the_queue_is_printed(tcpsf: Command) -> None:
    words = ["--rate", "10mbit", "--up-rate", "1mbit", "--", "true"]
    shown = tcpsf("link", *words).err
    line = "Queue: up 15 kB, down 125 kB. Use `--queue` for another limit, or `--queue none`."
    assert shown.splitlines()[1] == line
    assert "Queue" not in tcpsf("link", "--queue", "9kB", *words).err


def test_half_of_the_round_trip_is_the_delay(tcpsf: Command, tmp_path: Path) -> None:
    found = options_of(tcpsf, tmp_path, "--rtt", "41ms", "--up-delay", "1ms")
    assert _core.nanoseconds(found["both"]["delay"]) == 20_500_000
    assert found["up"] == {"delay": "1ms"}
    assert tcpsf("link", "--rtt", "41ms", "--delay", "1ms", "--", "true") == Answer(
        2,
        "",
        "error: `--rtt 41ms`: there is `--delay` as well\n"
        "hint: give one of them; `--rtt` is the delay of both directions\n",
    )


@pytest.mark.parametrize("option", ["rate-trace", "rate"])
def test_a_rate_of_both_directions_replaces_those_of_a_preset(option: str) -> None:
    directions, _ = complete({"both": {option: "given"}}, preset="lte", rtt=None, mtu=1500)
    assert directions["both"][option] == "given"
    assert not {"rate", "rate-trace"} & {*directions["up"], *directions["down"]}
