"""Captures: what is in the file is tested in Rust and by `verification/wireshark.py`; here, how one gets it."""

from __future__ import annotations

import resource
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Answer, Command

from tcpsf import OutputError, Pcap, Scenario, TcpsfError, run


def blocks(path: Path) -> list[tuple[int, bytes]]:
    """The blocks of a pcapng file: type and body."""
    content, found, at = path.read_bytes(), [], 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        found.append((kind, content[at + 8 : at + length - 4]))
        at += length
    return found


def test_a_run_is_captured_and_comes_out_the_same(small: Scenario, tmp_path: Path) -> None:
    path = tmp_path / "run.pcapng"
    captured = run(small, seed=3, pcap=Pcap(path=path))
    plain = run(small, seed=3)
    assert captured.flows.equals(plain.flows)
    assert captured.links.equals(plain.links)
    kinds = [kind for kind, _ in blocks(path)]
    assert kinds[:3] == [0x0A0D0D0A, 1, 4]
    assert set(kinds[3:]) == {6}
    segments = int(plain.flows["segments"].sum())
    # Each data segment, and about one acknowledgement for each.
    assert 1.5 * segments < len(kinds) < 2.1 * segments
    assert b"seed 3" in blocks(path)[0][1]
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.pcapng"]


def test_the_same_seed_gives_the_same_bytes(small: Scenario, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a", "b", "c")]
    for path, seed in zip(files, (1, 1, 2), strict=True):
        run(small, seed=seed, pcap=Pcap(path=path))
    one, same, other = (path.read_bytes() for path in files)
    assert one == same
    assert one != other


def test_places(small: Scenario, tmp_path: Path) -> None:
    names = {}
    for place in ("sender", "receiver", "both"):
        path = tmp_path / place
        run(small, seed=1, pcap=Pcap(path=path, place=place))
        names[place] = [body[12:13] for kind, body in blocks(path) if kind == 1]
    assert names == {"sender": [b"a"], "receiver": [b"b"], "both": [b"a", b"b"]}


def test_the_command(tcpsf: Command, small_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.pcapng"
    assert tcpsf("sim", small_file, "--pcap", path).out == tcpsf("sim", small_file).out
    packets = [body for kind, body in blocks(path) if kind == 6]
    assert max(struct.unpack_from("<I", body, 12)[0] for body in packets) == 128
    before = path.read_bytes()
    refused = tcpsf("sim", small_file, "--pcap", path, "--seed", "2")
    assert refused == Answer(
        2,
        "",
        f"error: cannot write capture `{path}`: it already exists\n"
        "hint: choose another file, or replace it with `--force`\n",
    )
    assert path.read_bytes() == before
    changed = tcpsf(
        "sim", small_file, "--pcap", path, "--pcap-at", "both", "--pcap-bytes", "80", "--force"
    )
    assert (changed.status, changed.err) == (0, "")
    packets = [body for kind, body in blocks(path) if kind == 6]
    assert max(struct.unpack_from("<I", body, 12)[0] for body in packets) == 80
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["run.pcapng", "small.toml"]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            ["--pcap", "x", "--runs", "3"],
            "cannot write capture `x`: a capture has one run, but got `--runs 3`",
            "omit `--runs`",
        ),
        (
            ["--pcap-at", "both"],
            "cannot capture: `--pcap-at both` without `--pcap`",
            "add `--pcap FILE`",
        ),
        (
            ["--pcap-bytes", "99"],
            "cannot capture: `--pcap-bytes 99` without `--pcap`",
            "add `--pcap FILE`",
        ),
        (
            ["--pcap", "x", "--pcap-bytes", "79"],
            "`--pcap-bytes 79`: `79` is not in the range 80 to 262144",
            "write it as `1.5kB`",
        ),
        (
            ["--pcap", "x", "--pcap-at", "here"],
            "`--pcap-at here`: `here` is not one of `sender`, `receiver`, `both`",
            "choose one of `sender`",
        ),
        (
            ["--pcap", "none/x"],
            "cannot write capture `none/x`: `none` is not a folder",
            "choose another file",
        ),
        (
            ["--pcap", "/proc/self/x"],
            "cannot write capture `/proc/self/x`: ",
            "no capture is kept; choose another",
        ),
        (
            ["--pcap", "/dev/null"],
            "cannot write capture `/dev/null`: it exists and is not a capture",
            "choose another",
        ),
        (
            ["--pcap", ".", "--force"],
            "cannot write capture `.`: it exists and is not a capture",
            "choose another",
        ),
        (
            ["--pcap", "x", "--set", "tcp.mss=65456", "--set", "link.there.buffer="],
            "cannot write capture `x`: workload `web` has segments of 65456 bytes: with their headers they exceed",
            "an `mss` of 65455 is the largest that fits",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input(
    tcpsf: Command,
    small_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
    hint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = tcpsf("sim", small_file, *arguments)
    assert (answer.status, answer.out) == (2, "")
    error, told = answer.err.splitlines()
    assert error.startswith(f"error: {message}")
    assert told.startswith(f"hint: {hint}")
    assert [entry.name for entry in tmp_path.iterdir()] == ["small.toml"]


def test_a_file_that_is_no_capture_is_left_alone(tcpsf: Command, small_file: Path) -> None:
    before = small_file.read_bytes()
    answer = tcpsf("sim", small_file, "--pcap", small_file, "--force")
    assert (
        answer.err.splitlines()[0]
        == f"error: cannot write capture `{small_file}`: it exists and is not a capture"
    )
    assert small_file.read_bytes() == before


def test_a_disk_that_fills_up(small_file: Path, tmp_path: Path) -> None:
    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    path = tmp_path / "run.pcapng"
    answer = subprocess.run(
        [sys.executable, "-m", "tcpsf", "sim", small_file, "--pcap", path],
        capture_output=True,
        text=True,
        preexec_fn=little_room,
        check=False,
    )
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == (
        f"error: cannot write capture `{path}`: file too large\nhint: no capture is kept; choose another file\n"
    )
    assert [entry.name for entry in tmp_path.iterdir()] == ["small.toml"]


def test_a_run_that_fails_leaves_nothing(small: Scenario, tmp_path: Path) -> None:
    class FoldError(Exception):
        pass

    class Fold:
        def add(self, batch: object) -> None:
            del batch
            assert list(tmp_path.iterdir()), "the file is being written"
            raise FoldError

        def finish(self, **_: object) -> None: ...

    from tcpsf.runs import Job, run_jobs

    job = Job(scenario=small, seed=1, fold=Fold, pcap=Pcap(path=tmp_path / "run.pcapng"))
    with pytest.raises(FoldError):
        run_jobs([job])
    assert list(tmp_path.iterdir()) == []


def test_python_refuses_too(small: Scenario, tmp_path: Path) -> None:
    with pytest.raises(TcpsfError, match="cannot capture 300000 bytes of a packet"):
        Pcap(path=tmp_path / "x", snap_len=300_000)
    (tmp_path / "x").write_text("something", encoding="utf-8")
    with pytest.raises(OutputError, match="it exists and is not a capture"):
        run(small, seed=1, pcap=Pcap(path=tmp_path / "x", replace=True))
