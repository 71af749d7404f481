"""`tcpsf cure trial` and `auto` with the kernel, and their candidates. Needs root, TUN devices and BPF, as CI has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cure_link import run_link

from tcpsf import TcpsfError
from tcpsf.cure.candidates import USUAL, advised


@pytest.mark.parametrize(
    ("loss", "verdict", "status"), [("6%", "keep", "0"), ("0%", "withdraw", "3")]
)
def test_a_trial_decides(tmp_path: Path, loss: str, verdict: str, status: str) -> None:
    run_link(tmp_path, "{python} trial.py", "crowd.py", options=("--down-loss", loss))
    lines = (tmp_path / "trial.json").read_text(encoding="utf-8").splitlines()
    found = {line["event"]: line for line in map(json.loads, lines)}
    assert found["trial"]["verdict"] == verdict, lines
    assert (tmp_path / "status").read_text(encoding="utf-8") == status
    before, without, remedied = found["trial"]["groups"]
    assert min(each["connections"] for each in (before, without, remedied)) >= 100
    # Each measured response is about a round trip of 20 ms, or longer by a repair.
    assert 0.02 <= without["median_s"]["value"] < 0.2
    # The receiver reports a duplicate if both the packet and its copy arrive, and nothing else here.
    arrive = (1 - int(loss.removesuffix("%")) / 100) ** 2
    assert remedied["dsacks"] > 0.9 * arrive
    assert max(before["dsacks"], without["dsacks"]) < 0.1


@pytest.mark.parametrize(("loss", "remedy", "status"), [("6%", "dup-tail", "0"), ("0%", None, "3")])
def test_auto_decides_for_a_prefix(
    tmp_path: Path, loss: str, remedy: str | None, status: str
) -> None:
    """`verification/cure_auto.py` has two prefixes with paths of their own."""
    run_link(tmp_path, "{python} auto.py", "crowd.py", options=("--down-loss", loss))
    assert (tmp_path / "status").read_text(encoding="utf-8") == status
    lines = (tmp_path / "auto.json").read_text(encoding="utf-8").splitlines()
    events = list(map(json.loads, lines))
    assert [each["event"] for each in events] == ["attached", "prefix", "trial", "summary"], lines
    assert {each["peers"] for each in events[1:3]} == {"100.64.0.0/24"}
    one, rest = events[-1]["prefixes"]
    assert (one["peers"], one["remedy"], one["tried"]) == ("100.64.0.0/24", remedy, "dup-tail")
    assert one["state"] == ("none" if remedy is None else "kept")
    assert min(one["in_trial"].values()) >= 100
    assert (rest["peers"], rest["connections"]) == ("others", 0)
    if remedy is not None:
        table = (tmp_path / "table").read_text(encoding="utf-8")
        assert re.search(r"100\.64\.0\.0/24 +kept +dup-tail ", table), table


def test_transfers_of_any_length_are_measured(tmp_path: Path) -> None:
    """The kernel has an event for some acknowledgments only, and the last may be without one."""
    sizes = [2, 700, 1449, 5000, 14_480, 60_000] * 3
    words = ("begin->attached", *map(str, sizes), "end->ended")
    outside = "{python} measured.py dup-tail"
    run_link(tmp_path, outside, "client.py", *words, options=())
    lines = (tmp_path / "trial.json").read_text(encoding="utf-8").splitlines()
    found = next(each for each in map(json.loads, lines) if each["event"] == "trial")
    before, *others = found["groups"]
    assert (before["connections"], before["transfers"]) == (len(sizes), len(sizes))
    assert [each["connections"] for each in others] == [0, 0]


def advice(path: Path, answer: str, recommended: str | None, helpful: tuple[str, ...]) -> Path:
    policies = {"fs": "fs(n=40, min=11)", "larger window": "iw=20", "dup-tail(delay=10ms)": None}
    remedies = [
        {"name": each, "verdict": "helps", "policy": policies.get(each, each)} for each in helpful
    ]
    data: dict[str, Any] = {
        "schema": "tcpsf.advise/1",
        "answer": answer,
        "recommended": recommended,
    }
    data |= {"remedies": [{"name": "none", "verdict": None, "policy": None}, *remedies]}
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_advice_names_the_candidates(tmp_path: Path) -> None:
    helpful = ("fs", "dup-tail(delay=10ms)", "tiny-tail", "larger window")
    file = advice(tmp_path / "advice.json", "remedy", "tiny-tail", helpful)
    assert list(map(str, advised(file))) == ["tiny-tail", "fs(n=40, min=11)", "iw=20"]
    assert advised(advice(file, "no remedy", None, ())) == []
    assert list(map(str, advised(advice(file, "not enough evidence", None, ())))) == list(USUAL)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"schema": "other"}',
        '{"schema": "tcpsf.advise/1", "answer": "remedy", "recommended": null}',
        (
            '{"schema": "tcpsf.advise/1", "answer": "remedy", "recommended": null, "remedies": '
            '[{"name": "fs", "verdict": "helps"}]}'
        ),
    ],
)
def test_other_files_are_no_advice(tmp_path: Path, content: str) -> None:
    file = tmp_path / "advice.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(TcpsfError, match="no output of `tcpsf advise --json`"):
        advised(file)
    with pytest.raises(TcpsfError, match="no such file"):
        advised(tmp_path / "none.json")
