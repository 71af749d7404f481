"""The command `tcpsf reproduce smart-framing`: its files, interruptions and errors."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

import jsonschema
import pytest
from conftest import Command
from test_cli import schema
from test_evaluation import TINY

from tcpsf.reproduce.smart_framing import SCALES
from tcpsf.runs import Progress


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCALES, "quick", TINY)


WORDS = ("reproduce", "smart-framing", "--only", "fig-3,overhead")


@pytest.mark.usefixtures("tiny")
def test_the_command_writes_it_all(tcpsf: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = tcpsf(*WORDS, "--out", out)
    assert answer.status == 0
    assert answer.err == f"9 runs\n\nThe report: {(out / 'smart-framing.html').as_uri()}\n"
    assert "Protocol overhead (overhead)" in answer.out
    conclusion = json.loads((out / "report.json").read_text(encoding="utf-8"))["conclusion"]
    page = (out / "smart-framing.html").read_text(encoding="utf-8")
    assert len(conclusion) == 3
    for sentence in conclusion.values():
        assert sentence in answer.out.replace("\n", " ")
        assert re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(sentence)) in page
    files = {"smart-framing.html", "report.json", "provenance.json", "data", ".runs"}
    assert {path.name for path in out.iterdir()} == files
    assert {path.stem for path in (out / "data").iterdir()} == {"fig-3", "overhead", "findings"}
    refused = tcpsf(*WORDS, "--out", out)
    assert (refused.status, refused.out) == (2, "")
    assert "it contains earlier results" in refused.err
    again = tcpsf(*WORDS[:3], "overhead", "--json", "--out", out, "--force")
    assert again.err.startswith("9 runs, 9 of them already finished\n")
    assert json.loads(again.out) == json.loads((out / "report.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(again.out), schema("evaluation"))
    assert {path.stem for path in (out / "data").iterdir()} == {"overhead", "findings"}
    assert {path.name for path in out.iterdir()} == files
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    assert tcpsf(*WORDS, "--out", out, "--force").status == 0
    assert (out / "notes.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.usefixtures("tiny")
def test_interrupted_and_called_again(
    tcpsf: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def interrupting(_what: str) -> Iterator[Callable[[Progress], None]]:
        def move(progress: Progress) -> None:
            if progress.finished > 2:
                raise KeyboardInterrupt

        yield move

    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr("tcpsf.cli.paper_report.bar", interrupting)
        answer = tcpsf(*WORDS, "--out", out, "--workers", "1")
    assert (answer.status, answer.out) == (130, "")
    assert (
        answer.err
        == f"9 runs\nfinished runs are kept in `{out}`; run the same command again to continue\ninterrupted\n"
    )
    kept = len(list((out / ".runs").iterdir()))
    assert kept > 2
    assert not (out / "report.json").exists()
    answer = tcpsf(*WORDS, "--out", out)
    assert answer.status == 0
    assert answer.err.startswith(f"9 runs, {kept} of them already finished\n")


@pytest.mark.usefixtures("tiny")
def test_a_folder_with_something_else(tcpsf: Command, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work", encoding="utf-8")
    answer = tcpsf(*WORDS, "--out", tmp_path, "--force")
    assert answer.status == 2
    assert "it exists and contains other files" in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    answer = tcpsf(*WORDS, "--out", tmp_path / "thesis.tex" / "out")
    assert answer.status == 2
    assert "is not a folder" in answer.err


def test_a_disk_that_fills_up(tmp_path: Path) -> None:
    """The kernel refuses to write beyond a limit, as it would on a full disk."""
    out = tmp_path / "out"

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    answer = subprocess.run(
        [sys.executable, "-m", "tcpsf", *WORDS, "--workers", "1", "--out", out],
        capture_output=True,
        text=True,
        preexec_fn=little_room,
        check=False,
    )
    assert (answer.returncode, answer.stdout) == (2, "")
    told, error, hint = answer.stderr.splitlines()
    assert told == "15 runs"
    assert error.startswith(f"error: cannot write `{out}/.runs/")
    assert error.endswith(".parquet`: file too large")
    assert hint.startswith("hint: finished runs are kept")
    assert [path.name for path in out.rglob("*")] == [".runs"]


@pytest.mark.usefixtures("tiny")
def test_bad_words(tcpsf: Command, tmp_path: Path) -> None:
    answer = tcpsf(*WORDS[:3], "fig-44", "--out", tmp_path / "out")
    assert answer.status == 2
    assert answer.err.startswith(
        "error: `--only fig-44`: no figure or table is called `fig-44`\nhint: "
    )
    answer = tcpsf("reproduce", "smart-framing", "--only", "fig-2,", "--out", tmp_path / "out")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("error: `--only`: a key is empty\nhint: ")
    assert not (tmp_path / "out").exists()
    answer = tcpsf("reproduce", "smart-framing", "--seed", "3", "table-1")
    assert answer.status == 2
    assert answer.err.startswith(
        "error: `--seed` applies to the whole evaluation, not to `table-1`\n"
    )


@pytest.mark.usefixtures("tiny")
def test_runs_are_kept_in_a_chosen_store(tcpsf: Command, tmp_path: Path) -> None:
    store = tmp_path / "shared" / "papers.store"
    first, second = tmp_path / "first", tmp_path / "second"
    assert tcpsf(*WORDS, "--out", first, "--store", store).status == 0
    runs = list((store / "runs").glob("*.parquet"))
    assert len(runs) == 9
    assert list((first / ".runs").iterdir()) == []
    # A report in another folder needs no run.
    again = tcpsf(*WORDS, "--json", "--out", second, "--store", store)
    assert again.err.startswith("9 runs, 9 of them already finished\n")
    assert sorted((store / "runs").glob("*.parquet")) == sorted(runs)
    reports = [
        json.loads((out / "report.json").read_text(encoding="utf-8")) for out in (first, second)
    ]
    for report in reports:
        for key in ("started", "seconds"):
            del report["provenance"][key]
    assert reports[0] == reports[1]


def test_a_store_that_cannot_be_opened_is_refused(tcpsf: Command, tmp_path: Path) -> None:
    answer = tcpsf(*WORDS, "--out", tmp_path / "out", "--store", "nowhere://bucket/folder")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("error: cannot open `nowhere://bucket/folder`: ")
    assert not (tmp_path / "out").exists()
