"""Commands that are stopped, and standard streams that are closed or full: one line, a status, nothing left behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from conftest import Answer, Command

from tcpsf import staging
from tcpsf.cli.output import MARK, results_folder
from tcpsf.cli.signals import Stopped, ending
from tcpsf.errors import OutputError
from tcpsf.staging import partial_file, partial_folder, shared_folder, temporary_folder

TCPSF = [sys.executable, "-m", "tcpsf"]

WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}

LONG = ("--set", "duration=1000000s")


def until(holds: Callable[[], object], process: subprocess.Popen[str]) -> None:
    """Wait until something holds while a process runs."""
    while not holds():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def stopped(words: list[str], number: int, begun: Callable[[], object], folder: Path) -> Answer:
    """Start a command, send it a signal when it has begun, and return what it answered."""
    with subprocess.Popen(
        [*TCPSF, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            until(begun, process)
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    return Answer(process.returncode, out, err)


@pytest.mark.parametrize("number", WORDS)
def test_sim_is_stopped(small_file: Path, number: signal.Signals) -> None:
    folder = small_file.parent
    words = ["sim", str(small_file), *LONG, "--out", "new/out", "--pcap", "run.pcapng"]

    def begun() -> bool:
        file = folder / ".run.pcapng.partial"
        return file.exists() and file.stat().st_size > 0

    assert stopped(words, number, begun, folder) == Answer(128 + number, "", f"{WORDS[number]}\n")
    assert list(folder.iterdir()) == [small_file]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "words", [["demo"], ["reproduce", "smart-framing", "table-1", "--full"]], ids=" ".join
)
def test_demo_and_table_1_are_stopped(
    tmp_path: Path, words: list[str], number: signal.Signals
) -> None:
    answer = stopped(
        [*words, "--out", "page"], number, (tmp_path / ".page.partial").exists, tmp_path
    )
    assert answer == Answer(128 + number, "", f"{WORDS[number]}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_reproduce_is_stopped_and_keeps_finished_runs(
    tmp_path: Path, number: signal.Signals
) -> None:
    kept = tmp_path / "report" / ".runs"
    words = ["reproduce", "santa-cruz", "--full", "--out", "report"]
    answer = stopped(words, number, lambda: kept.is_dir() and any(kept.iterdir()), tmp_path)
    assert (answer.status, answer.out) == (128 + number, "")
    assert answer.err.endswith(
        f"finished runs are kept in `report`; run the same command again to continue\n{WORDS[number]}\n"
    )
    assert [path.name for path in (tmp_path / "report").iterdir()] == [".runs"]
    assert not list(kept.glob("*.partial"))


@pytest.mark.parametrize("number", WORDS)
def test_a_measurement_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """Its folder among the temporary ones goes, and so do its processes, which hold the pipes open."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    words = ["reproduce", "short-flows", "live", "--out", "report"]
    answer = stopped(words, number, lambda: list(tmp_path.glob("tcpsf-live-*/progress")), tmp_path)
    assert (answer.status, answer.out) == (128 + number, "")
    assert answer.err.endswith(f"{WORDS[number]}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_an_error_while_a_signal_is_handled_is_no_error() -> None:
    """The standard library may fail when the exception is raised inside it."""

    def fail_on_a_signal() -> None:
        try:
            os.kill(os.getpid(), signal.SIGHUP)
        finally:
            raise RuntimeError("release unlocked lock")

    with pytest.raises(Stopped) as stopped, ending():
        fail_on_a_signal()
    assert stopped.value.number == signal.SIGHUP


def test_earlier_results_stay_when_their_replacement_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal may come between the two renames that replace a folder of results."""
    target = tmp_path / "out"
    target.mkdir()
    (target / MARK).write_text("earlier", encoding="utf-8")
    rename = Path.replace

    def interrupted(path: Path, where: Path) -> Path:
        moved = rename(path, where)
        if path == target:
            monkeypatch.undo()
            raise Stopped(signal.SIGTERM)
        return moved

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(Stopped), results_folder(target, replace=True) as folder:
        (folder / MARK).write_text("new", encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (target / MARK).read_text(encoding="utf-8") == "earlier"


@pytest.mark.parametrize("partial", [partial_folder, partial_file])
def test_a_signal_while_a_place_is_claimed_leaves_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    partial: Callable[..., contextlib.AbstractContextManager[Path]],
) -> None:
    def interrupted(_lock: int) -> bool:
        monkeypatch.undo()
        raise Stopped(signal.SIGHUP)

    monkeypatch.setattr(staging, "_locked", interrupted)
    with pytest.raises(Stopped), partial(tmp_path / "out"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_an_error_without_a_signal_stays_an_error() -> None:
    with pytest.raises(RuntimeError), ending():
        raise RuntimeError("release unlocked lock")


def test_an_ignored_signal_stays_ignored(small_file: Path) -> None:
    """As under `nohup`."""

    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    words = [*TCPSF, "sim", str(small_file), "--runs", "20", "--set", "duration=200s", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=ignore) as process:
        for _ in range(20):
            process.send_signal(signal.SIGHUP)
            time.sleep(0.02)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert len(json.loads(out)["seeds"]) == 20


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_serve_prints_its_counts_and_writes_its_records(
    tmp_path: Path, number: signal.Signals
) -> None:
    """In a network namespace of its own."""
    rows = tmp_path / "rows.parquet"
    words = [
        "/usr/bin/unshare",
        "--net",
        *TCPSF,
        "serve",
        str(tmp_path),
        "--records",
        str(rows),
        "--json",
    ]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["event"] == "listening"
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, err) == (0, "")
    assert json.loads(out)["event"] == "summary"
    assert pl.read_parquet(rows).height == 0
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


class TestLeftovers:
    """What a killed process leaves is removed by the next one; what a living one writes is not."""

    def test_the_next_run_removes_them(self, tcpsf: Command, small_file: Path) -> None:
        folder = small_file.parent
        words = [
            "sim",
            str(small_file),
            *LONG,
            "--out",
            str(folder / "out"),
            "--pcap",
            str(folder / "run.pcapng"),
        ]
        with subprocess.Popen([*TCPSF, *words], stderr=subprocess.PIPE, text=True) as process:
            until(lambda: (folder / ".run.pcapng.partial").exists(), process)
            process.kill()
        assert {".out.partial", ".run.pcapng.partial"} <= {path.name for path in folder.iterdir()}
        again = tcpsf("sim", small_file, "--out", folder / "out", "--pcap", folder / "run.pcapng")
        assert again.status == 0
        assert sorted(path.name for path in folder.iterdir()) == ["out", "run.pcapng", "small.toml"]
        assert not (folder / "out" / "parts").exists()

    def test_two_processes_do_not_write_one_output(self, tcpsf: Command, small_file: Path) -> None:
        folder = small_file.parent
        words = [
            "sim",
            str(small_file),
            *LONG,
            "--out",
            str(folder / "out"),
            "--pcap",
            str(folder / "run.pcapng"),
        ]
        with subprocess.Popen([*TCPSF, *words], stderr=subprocess.PIPE, text=True) as process:
            until(lambda: (folder / ".run.pcapng.partial").exists(), process)
            for option, name in (("--out", "out"), ("--pcap", "run.pcapng")):
                assert tcpsf("sim", small_file, option, folder / name) == Answer(
                    2,
                    "",
                    f"error: cannot write `{folder / name}`: another tcpsf process is writing it\n"
                    "hint: wait until it ends, or choose another path\n",
                )
            process.kill()

    def test_a_lock_ends_with_its_block(self, tmp_path: Path) -> None:
        for claim in (partial_file, partial_folder):
            with claim(tmp_path / "x") as path:
                assert path.parent == tmp_path
                with (
                    pytest.raises(OutputError, match="another tcpsf process"),
                    claim(tmp_path / "x"),
                ):
                    pass
                assert path.exists()
            assert list(tmp_path.iterdir()) == []

    def test_temporary_folders(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        dead = tmp_path / "tcpsf-live-dead"
        dead.mkdir()
        (dead / "records").write_text("…", encoding="utf-8")
        (tmp_path / "other").mkdir()
        with temporary_folder("tcpsf-live-") as first:
            assert not dead.exists()
            with temporary_folder("tcpsf-live-") as second:
                assert first.is_dir()
                assert second.is_dir()
        assert [path.name for path in tmp_path.iterdir()] == ["other"]

    def test_partial_files_of_finished_work(self, tmp_path: Path) -> None:
        left = tmp_path / "run.json.1-2.partial"
        left.touch()
        with shared_folder(tmp_path):
            assert not left.exists()
            left.touch()
            with shared_folder(tmp_path):
                assert left.exists(), "the other process may be writing it"


STREAMS = {
    "standard input closed": ("sim - <&-", 2, "cannot read scenario `-`: missing key `name`"),
    "standard input not open for reading": (
        "sim - 0>/dev/null",
        2,
        "cannot read scenario `-`: bad file descriptor",
    ),
    "standard output closed": (
        "sim {file} >&-",
        2,
        "cannot write to standard output: bad file descriptor",
    ),
    "help, standard output full": (
        "--help >/dev/full",
        2,
        "cannot write to standard output: no space left on device",
    ),
    "help of a command": (
        "model padhye --help >/dev/full",
        2,
        "cannot write to standard output: no space left on dev",
    ),
    "help, standard output closed": (
        "sim -h >&-",
        2,
        "cannot write to standard output: bad file descriptor",
    ),
    "version, standard output closed": (
        "--version >&-",
        2,
        "cannot write to standard output: bad file descriptor",
    ),
    "standard error closed": ("sim nothing.toml 2>&-", 2, ""),
    "both closed": ("sim {file} >&- 2>&-", 2, ""),
    "standard error full": ("sim nothing.toml 2>/dev/full", 2, ""),
    "all closed": ("sim {file} <&- >&- 2>&-", 2, ""),
    "standard error closed, nothing to say": ("sim {file} 2>&- >/dev/null", 0, ""),
}


@pytest.mark.parametrize(("command", "status", "told"), STREAMS.values(), ids=STREAMS)
def test_closed_and_full_streams(small_file: Path, command: str, status: int, told: str) -> None:
    script = f"{sys.executable} -m tcpsf {command.format(file=small_file)}"
    answer = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (status, "")
    assert answer.stderr.startswith(f"error: {told}" if told else "")
    assert len(answer.stderr.splitlines()) == (2 if told else 0)


def test_a_closed_standard_output_is_not_a_results_file(small_file: Path) -> None:
    """Otherwise a file that is opened next would get its number, and what is printed."""
    folder = small_file.parent
    script = f"{sys.executable} -m tcpsf sim {small_file} --out {folder}/out >&-"
    assert (
        subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=False).returncode == 2
    )
    for file in (folder / "out").glob("*.json"):
        json.loads(file.read_text(encoding="utf-8"))


def test_a_folder_that_may_not_be_entered(small_file: Path) -> None:
    """Not even by root, without the capability."""
    locked = small_file.parent / "locked"
    locked.mkdir(mode=0)
    setpriv = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-all"]
    for option, name in (("--out", "out"), ("--pcap", "run.pcapng")):
        words = [*setpriv, *TCPSF, "sim", str(small_file), option, str(locked / name)]
        answer = subprocess.run(words, capture_output=True, text=True, check=False)
        assert (answer.returncode, answer.stdout) == (2, "")
        lines = answer.stderr.splitlines()
        assert lines[0].startswith("error: cannot write ")
        assert lines[0].endswith(f"`{locked / name}`: permission denied")
        assert len(lines) == 2
    locked.chmod(0o700)
    assert list(locked.iterdir()) == []
