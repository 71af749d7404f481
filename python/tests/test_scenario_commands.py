"""The commands `check`, `explain`, `examples` and `init`."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Command

from tcpsf.scenario.keys import find
from tcpsf.scenario.packaged import names


def test_check_names_each_file_and_fails_for_one(tcpsf: Command, small_file: Path) -> None:
    answer = tcpsf("check", small_file, small_file.parent / "none.toml")
    assert answer.status == 2
    assert f"{small_file}: valid\n  small, 20s\n" in answer.out
    assert "none.toml`: no such file" in answer.err
    answer = tcpsf("check", small_file, "--set", "link.there.rate=5MBs")
    assert (answer.status, answer.out) == (2, "")
    assert "link[0].rate: `5MBs`" in answer.err


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("", ["name: text, required", "workload: a list of tables, required"]),
        ("link.bottleneck.rate", ['link.rate: text such as "10Mb/s"', "Transmission rate"]),
        ("workload.load", ['workload.load (kind "poisson"): a number']),
        ("tcp", ["tcp: a table", "rto_min: text"]),
    ],
)
def test_explain_gives_type_and_meaning(tcpsf: Command, key: str, parts: list[str]) -> None:
    answer = tcpsf("explain", key)
    assert (answer.status, answer.err) == (0, "")
    assert max(map(len, answer.out.splitlines())) <= 90
    for part in parts:
        assert part in answer.out


def test_explain_refuses_unknown_keys(tcpsf: Command) -> None:
    answer = tcpsf("explain", "link.rat")
    assert (answer.status, answer.out) == (2, "")
    assert (
        answer.err == "error: cannot explain `link.rat`: no key `rat`\nhint: did you mean `rate`?\n"
    )
    assert "no keys below it" in tcpsf("explain", "tcp.mss.x").err


def test_every_key_of_the_schema_can_be_explained() -> None:
    open_keys = [find("")[0]]
    seen = 0
    while open_keys:
        for child in open_keys.pop().keys:
            found = find(child.path)
            assert found
            assert all(key.text or key.path.endswith(".kind") for key in found)
            open_keys += [key for key in found if key.keys]
            seen += 1
    assert seen > 80


def test_every_example_can_be_written_checked_and_simulated(tcpsf: Command, tmp_path: Path) -> None:
    listed = tcpsf("examples").out
    assert "starter" in names()
    for name in names():
        assert f"{name}\n    " in listed
        file = tmp_path / f"{name}-copy.toml"
        assert tcpsf("init", file, "--example", name).status == 0
        assert tcpsf("check", file).status == 0
        assert tcpsf("examples", name).out.strip()
    (tmp_path / "starter-copy.toml").unlink()
    starter = tmp_path / "starter-copy.toml"
    assert tcpsf("init", starter).status == 0
    assert f"tcpsf sim {starter}" in starter.read_text(encoding="utf-8")
    assert tcpsf("sim", starter, "--set", "duration=10s").status == 0


def test_init_keeps_existing_files(tcpsf: Command, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("name = 'mine'\n", encoding="utf-8")
    answer = tcpsf("init", file)
    assert answer.status == 2
    assert "it already exists" in answer.err
    assert file.read_text(encoding="utf-8") == "name = 'mine'\n"
    assert tcpsf("init", file, "--force").status == 0
    answer = tcpsf("init", tmp_path / "a.toml", "--example", "startre")
    assert "did you mean `starter`?" in answer.err
    assert not (tmp_path / "a.toml").exists()
