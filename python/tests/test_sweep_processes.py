"""Studies with real processes: killed and resumed runs, Dask workers and schedulers that die."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from test_sweep import files_of

from tcpsf import Study, sweep

STUDY = """
name = "processes"
scenario = "small.toml"
set = { duration = "40s", "workload.web.load" = 0.5 }

[[axis]]
key = "link.there.buffer.bytes"
values = ["6kB", "15kB", "30kB", "60kB"]

[[axis]]
key = "workload.web.sender"
values = ["reno+sack / full / iw=1", "reno+sack / fs(n=4) / iw=1"]
labels = ["plain", "framed"]

[runs]
count = 5

[compare]
axis = "sender"
"""

RUNS = 40
LIMIT_S = 120.0
"""Time in which something happens that a test waits for; it takes a second or two."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study and its scenario."""
    from conftest import SMALL

    made = tmp_path_factory.mktemp("study")
    (made / "small.toml").write_text(SMALL, encoding="utf-8")
    (made / "study.toml").write_text(STUDY, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, bytes]:
    """The store of the study after one process with one thread."""
    store = folder / "expected"
    sweep(Study.from_toml(folder / "study.toml"), store=store, workers=1)
    return files_of(store)


def start(folder: Path, store: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start the command on the study, in a process group of its own."""
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "tcpsf", "sweep", "run", str(folder / "study.toml")),
            *("--store", str(store), *words),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen"
        time.sleep(0.01)


def stored(store: Path) -> int:
    """Count the runs in a store."""
    return len(list((store / "runs").glob("*.parquet"))) if (store / "runs").exists() else 0


def has(store: Path, runs: int) -> bool:
    """Return whether a store has at least this number of runs."""
    return stored(store) >= runs


def finish(process: subprocess.Popen[bytes]) -> tuple[str, str]:
    """Wait for the end of a process; return its output."""
    out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, err.decode()
    return out.decode(), err.decode()


def test_a_run_that_is_killed_twice_continues(
    folder: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    seen = 0
    for _ in range(2):
        process = start(folder, tmp_path, "--workers", "1")
        wait_until(partial(has, tmp_path, seen + 3), "three further runs")
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        seen = stored(tmp_path)
        assert seen < RUNS
    _, err = finish(start(folder, tmp_path))
    assert f"{RUNS} runs, {seen} of them already stored" in err
    assert files_of(tmp_path) == expected


def test_an_interrupted_run_says_how_to_continue(
    folder: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    process = start(folder, tmp_path, "--workers", "1")
    wait_until(partial(has, tmp_path, 2), "two runs")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out) == (130, b"")
    assert b"run the same command again to continue" in err
    assert not list(tmp_path.rglob("*.partial"))
    assert not list(tmp_path.rglob("*.lock"))
    finish(start(folder, tmp_path))
    assert files_of(tmp_path) == expected


def test_eight_shards_at_once_in_one_store(
    folder: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    parts = [start(folder, tmp_path, "--shard", f"{part}/8") for part in (5, 1, 8, 2, 7, 3, 6, 4)]
    for process in parts:
        finish(process)
    finish(start(folder, tmp_path))
    assert files_of(tmp_path) == expected


# ---- Dask


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Cluster:
    """A scheduler and workers as processes of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder, free_port()
        self.address = f"tcp://127.0.0.1:{self._port}"
        self.scheduler = self._start_scheduler()
        self.workers = [self.start_worker() for _ in range(2)]

    def _start_scheduler(self) -> subprocess.Popen[bytes]:
        started = self._start(
            "distributed.cli.dask_scheduler", "--port", str(self._port), "--no-dashboard"
        )
        wait_until(self._answers, "the scheduler's start")
        return started

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 1):
            return True
        return False

    def start_worker(self) -> subprocess.Popen[bytes]:
        """Start a worker, which connects to the scheduler again and again."""
        return self._start(
            "distributed.cli.dask_worker",
            self.address,
            *("--nthreads", "1", "--no-dashboard", "--local-directory", str(self._folder)),
        )

    def _start(self, module: str, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", module, *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a process and its children."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def restart(self) -> None:
        """Kill the scheduler and its workers, and start others at the same address."""
        for process in (self.scheduler, *self.workers):
            self.kill(process)
        self.scheduler = self._start_scheduler()
        self.workers = [self.start_worker() for _ in range(2)]

    def end(self) -> None:
        """Kill all processes."""
        for process in (*self.workers, self.scheduler):
            self.kill(process)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler with two workers."""
    pytest.importorskip("distributed")
    made = Cluster(tmp_path)
    try:
        yield made
    finally:
        made.end()


def test_a_worker_that_is_killed_costs_only_its_tasks(
    folder: Path, expected: dict[str, bytes], tmp_path: Path, cluster: Cluster
) -> None:
    store = tmp_path / "store"
    process = start(folder, store, "--dask", cluster.address)
    wait_until(partial(has, store, 2), "two runs")
    cluster.kill(cluster.workers[0])
    finish(process)
    assert files_of(store) == expected


def test_a_scheduler_that_is_restarted(
    folder: Path, expected: dict[str, bytes], tmp_path: Path, cluster: Cluster
) -> None:
    store = tmp_path / "store"
    process = start(folder, store, "--dask", cluster.address)
    wait_until(partial(has, store, 2), "two runs")
    cluster.restart()
    finish(process)
    assert files_of(store) == expected


def test_a_worker_with_another_simulator_is_refused(folder: Path) -> None:
    from tcpsf import TcpsfError
    from tcpsf.storage import MemoryFiles
    from tcpsf.studies.planning import plan_study
    from tcpsf.studies.tasks import StudyTask, simulate, this_simulator

    plan = plan_study(Study.from_toml(folder / "study.toml"), MemoryFiles())
    point = plan.points[0]
    run = (plan.key(point, 1), plan.scenario(point))
    assert len(simulate(StudyTask(this_simulator(), (run,), rows=False)).files) == 1
    with pytest.raises(TcpsfError, match=r"tcpsf 0.0.1 \(build abcdefab\)") as caught:
        simulate(StudyTask(("0.0.1", "abcdefabcdef"), (run,), rows=False))
    assert caught.value.hint == "install the same wheel on all workers"
