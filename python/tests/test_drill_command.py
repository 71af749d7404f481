"""`tcpsf drill`: verdicts, output and exit status."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import REPOSITORY, Command

from tcpsf import __version__, _core
from tcpsf.cli import drill
from tcpsf.cli.drill_command import PROFILES

SCRIPTS = REPOSITORY / "scripts" / "packetdrill"

RESET = "0 < . 1:1(0) ack 9 win 100\n+0 > R 9:9(0)\n"
"""A script that passes: a segment to a closed port."""

FAILING = "0 < . 1:1(0) ack 9 win 100\n+0 > R 8:8(0)\n"
OTHER = "0 < . 1:1(0) win 5 <md5 00,nop,nop>\n"
UNREADABLE = "0 < Q 1:1(0)\n"


def written(folder: Path, **scripts: str) -> list[str]:
    """Write scripts and return their names."""
    for name, text in scripts.items():
        (folder / f"{name}.pkt").write_text(text, encoding="utf-8")
    return [str(folder / f"{name}.pkt") for name in scripts]


def schema() -> Any:
    file = resources.files("tcpsf.report").joinpath("schema", "drill.json")
    return json.loads(file.read_text(encoding="utf-8"))


def test_profiles_are_those_of_the_player() -> None:
    assert list(PROFILES) == _core.drill_profiles()
    assert schema()["properties"]["profile"]["enum"] == list(PROFILES)


def test_verdicts(tcpsf: Command, tmp_path: Path) -> None:
    good, bad, other = written(tmp_path, good=RESET, bad=FAILING, other=OTHER)
    answer = tcpsf("drill", good, bad, other)
    assert (answer.status, answer.err) == (1, "")
    assert answer.out.splitlines() == [
        f"passed          {good}",
        f"failed          {bad}:2: sequence number 9 instead of 8",
        "    expected  0 > R 8:8(0)",
        "    actual    0 > R 9:9(0) win 0",
        f"not applicable  {other}:1: MD5 signatures are not implemented",
        "1 passed, 1 failed, 1 not applicable, 0 unreadable",
    ]


@pytest.mark.parametrize(
    ("scripts", "status"),
    [
        ({"a": RESET}, 0),
        ({"a": RESET, "b": OTHER}, 0),
        ({"a": OTHER}, 1),
        ({"a": RESET, "b": FAILING}, 1),
        ({"a": FAILING, "b": UNREADABLE}, 2),
    ],
)
def test_exit_status(tcpsf: Command, tmp_path: Path, scripts: dict[str, str], status: int) -> None:
    answer = tcpsf("drill", *written(tmp_path, **scripts))
    assert answer.status == status
    nothing = set(scripts.values()) == {OTHER}
    assert answer.err == ("no script passed: none is applicable\n" if nothing else "")


def test_an_unreadable_script_names_the_column(tcpsf: Command, tmp_path: Path) -> None:
    (name,) = written(tmp_path, a=UNREADABLE)
    first, _ = tcpsf("drill", name).out.splitlines()
    assert first.startswith(f"unreadable      {name}:1: column 5: expected flags")
    assert first.endswith("got `Q`")


def test_json_follows_its_schema(tcpsf: Command, tmp_path: Path) -> None:
    names = written(tmp_path, a=RESET, b=FAILING, c=OTHER, d=UNREADABLE)
    answer = tcpsf("drill", *names, "--json", "--trace", "--profile", "rfc")
    found = json.loads(answer.out)
    jsonschema.validate(found, schema())
    assert (answer.status, found["version"], found["profile"]) == (2, __version__, "rfc")
    assert found["counts"] == {"passed": 1, "failed": 1, "not_applicable": 1, "unreadable": 1}
    assert [script["verdict"] for script in found["scripts"]] == list(drill.VERDICTS)
    assert found["scripts"][0]["events"] == [2, 2]
    assert found["scripts"][0]["trace"][-1].strip() == "0 > R 9:9(0) win 0"


def test_a_folder_stands_for_its_scripts(tcpsf: Command, tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    names = written(tmp_path, a=RESET, c=RESET) + written(below, b=RESET)
    lines = tcpsf("drill", tmp_path).out.splitlines()
    assert sorted(lines[:-1]) == sorted(f"passed          {name}" for name in names)
    own = tcpsf("drill", SCRIPTS)
    assert own.status == 0
    assert own.out.splitlines()[-1].endswith(" passed, 0 failed, 0 not applicable, 0 unreadable")


def test_words_and_settings_of_the_command_line(tcpsf: Command, tmp_path: Path) -> None:
    late = "0 < . 1:NEXT(0) ack 9 win 100\n+.01 > R 9:9(0)\n"
    (name,) = written(tmp_path, a=late)
    assert tcpsf("drill", name).status == 2
    early = tcpsf("drill", name, "-D", "NEXT=1")
    assert early.status == 1
    assert "the packet left 0.01 s too early (tolerance 0.004 s)" in early.out
    assert tcpsf("drill", name, "--define", "NEXT=1", "--set", "tolerance_usecs=10000").status == 0


def test_trace(tcpsf: Command) -> None:
    answer = tcpsf("drill", SCRIPTS / "handshake" / "syn-ack-again.pkt", "--trace")
    assert "       1.1 > S. 0:0(0) ack 1 win 65535 <mss 1460>" in answer.out
    assert "       0.1 < S 0:0(0) win 20000 <mss 1000>" in answer.out


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (
            ["none.pkt"],
            "cannot read script `none.pkt`: no such file or directory",
            "give a script in the language of packetdrill",
        ),
        (["x", "-D", "A"], "`-D A`: `A` is not NAME=VALUE", "write it as `-D NAME=VALUE`"),
        (
            ["x", "--set", "=1"],
            "`--set =1`: `=1` is not NAME=VALUE",
            "write it as `--set NAME=VALUE`",
        ),
        (
            ["x", "--profile", "linux"],
            "`--profile linux`: `linux` is not one of `linux-6.18`, `linux-6.12`, `rfc`",
            "did you mean `linux-6.18`?",
        ),
    ],
)
def test_errors(tcpsf: Command, words: list[str], error: str, hint: str) -> None:
    answer = tcpsf("drill", *words)
    assert answer.status == 2
    first, second = answer.err.splitlines()
    assert first == f"error: {error}"
    assert second.startswith("hint: ")
    assert hint.split("`")[0] in second


def test_errors_of_files_and_senders(tcpsf: Command, tmp_path: Path) -> None:
    answer = tcpsf("drill", tmp_path)
    assert answer.status == 2
    assert answer.err.startswith(f"error: cannot play `{tmp_path}`: no .pkt file in this folder\n")
    (name,) = written(tmp_path, a=RESET)
    sender = tcpsf("drill", name, "--sender", "fast")
    assert sender.status == 2
    assert sender.err.startswith("error: `--sender fast`: ")
    assert tcpsf("drill", name, "--sender", "reno+sack / full / iw=3").status == 0
