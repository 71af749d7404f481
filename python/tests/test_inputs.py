"""Values as people write them, in options, files and Python: units, per cents, seeds, NumPy's numbers, `-`."""

from __future__ import annotations

import codecs
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SMALL, Answer, Command

from tcpsf import (
    Link,
    PacketLoss,
    Scenario,
    TcpsfError,
    Transfers,
    replicate,
    run,
)
from tcpsf.runs import AHEAD, Job, results_of
from tcpsf.summary import SummaryFold

TCPSF = [sys.executable, "-m", "tcpsf"]

MOST_SEED = 2**64 - 1


def changed(tcpsf: Command, file: Path, *settings: str) -> Answer:
    """Simulate the small scenario with some values changed."""
    return tcpsf("sim", file, *(word for setting in settings for word in ("--set", setting)))


def first_line(answer: Answer) -> str:
    """The error; it has one line, a hint, and nothing else was printed."""
    assert (answer.status, answer.out) == (2, "")
    lines = answer.err.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("hint: ")
    return lines[0]


def test_bytes_per_second_are_not_bits(tcpsf: Command, small_file: Path) -> None:
    for text, meant in (
        ("1MB/s", "`8Mb/s` or `1Mb/s`"),
        ("2kB/s", "`16kb/s` or `2kb/s`"),
        ("8B/s", "`64b/s` or `8b/s`"),
    ):
        assert first_line(changed(tcpsf, small_file, f"link.there.rate={text}")) == (
            f"error: cannot set `link.there.rate`: link[0].rate: `{text}` is in bytes per second, "
            f"and a rate is in bits: did you mean {meant}?"
        )
    wanted = changed(tcpsf, small_file, "link.there.rate=2Mb/s")
    for text in ("2Mbps", "2000kbps", "2mbit", "0.002Gbps"):
        assert changed(tcpsf, small_file, f"link.there.rate={text}") == wanted


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("workload.web.load=inf", "workload[0].load: `inf` is not a finite number"),
        ("workload.web.load=nan", "workload[0].load: `nan` is not a finite number"),
        ("duration=999999999999h", "duration: `999999999999h` is too large: the most is 5124095h"),
        ('name="a\\u001b[31m"', "name: must not contain control characters"),
        (
            "link.there.buffer.bytes=100B",
            "link[0].buffer: cannot hold a packet of workload `web`, which has 1500 bytes",
        ),
        (
            "tcp.ack_every=300",
            "tcp.ack_every: expected a whole number from 0 to 255, found integer `300`",
        ),
    ],
)
def test_values_that_make_no_sense(
    tcpsf: Command, small_file: Path, setting: str, problem: str
) -> None:
    key = setting.partition("=")[0]
    assert (
        first_line(changed(tcpsf, small_file, setting)) == f"error: cannot set `{key}`: {problem}"
    )


def test_a_message_has_no_control_characters(tcpsf: Command, tmp_path: Path) -> None:
    assert first_line(tcpsf("sim", tmp_path / "a\x1b[31m\nb")).endswith(
        "a\\x1b[31m\\nb`: no such file"
    )


def test_a_probability_may_be_in_per_cent(tcpsf: Command, small_file: Path) -> None:
    loss = 'link.there.loss={{kind="packet",probability={}}}'
    wanted = changed(tcpsf, small_file, loss.format("0.07"))
    assert wanted.status == 0
    assert changed(tcpsf, small_file, loss.format('"7%"')) == wanted
    assert (
        changed(tcpsf, small_file, loss.format("0.5"), "link.there.loss.probability=7%") == wanted
    )
    assert PacketLoss(probability="7%").probability == 0.07  # type: ignore[arg-type]
    table = {"kind": "packet", "probability": "7%"}
    small = Scenario.from_toml_text(SMALL).with_value("link.there.loss", table)
    assert small.link[0].loss == PacketLoss(probability=0.07)
    refused = changed(tcpsf, small_file, "workload.web.load=often")
    assert "write numbers without quotes" in refused.err


def test_a_byte_order_mark_is_passed_over(tcpsf: Command, small_file: Path) -> None:
    wanted = tcpsf("sim", small_file)
    small_file.write_bytes(codecs.BOM_UTF8 + SMALL.encode())
    assert tcpsf("sim", small_file) == wanted
    assert Scenario.from_toml_text("\ufeff" + SMALL) == Scenario.from_toml_text(SMALL)


class TestSeeds:
    """Whole numbers of 64 bits."""

    @pytest.mark.parametrize(
        "words",
        [
            ["sim", "FILE"],
            ["demo"],
            ["reproduce", "smart-framing"],
            ["reproduce", "smart-framing", "table-1"],
            ["reproduce", "smart-framing", "table-2"],
            ["reproduce", "santa-cruz"],
            ["reproduce", "packet-discard"],
            ["reproduce", "short-flows"],
            ["reproduce", "short-flows", "live"],
        ],
        ids=" ".join,
    )
    @pytest.mark.parametrize("seed", [2**64, 10**30, -1])
    def test_others_are_refused(
        self,
        tcpsf: Command,
        small_file: Path,
        monkeypatch: pytest.MonkeyPatch,
        words: list[str],
        seed: int,
    ) -> None:
        monkeypatch.chdir(small_file.parent)
        answer = tcpsf(
            *(str(small_file) if word == "FILE" else word for word in words), "--seed", str(seed)
        )
        assert first_line(answer) == (
            f"error: `--seed {seed}`: `{seed}` is not in the range 0 to {MOST_SEED}"
        )
        assert list(small_file.parent.iterdir()) == [small_file]

    def test_the_last_of_several_runs_has_one_too(
        self, tcpsf: Command, small_file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(small_file.parent)
        problem = f"cannot simulate with seed {2**64}: it is not in the range 0 to {MOST_SEED}"
        assert tcpsf("sim", small_file, "--seed", MOST_SEED, "--json").status == 0
        for words in (
            ["sim", str(small_file), "--runs", "2"],
            ["demo"],
            ["reproduce", "santa-cruz"],
        ):
            answer = tcpsf(*words, "--seed", str(MOST_SEED))
            assert first_line(answer) == f"error: {problem}"
        assert list(small_file.parent.iterdir()) == [small_file]

    def test_in_python(self, small: Scenario) -> None:
        assert run(small).provenance.seed == 1
        assert run(small, seed=np.int64(7)).provenance.seed == 7
        assert [found.provenance.seed for found in replicate(small, seeds=np.arange(2))] == [0, 1]
        for seed in (-1, 2**64):
            with pytest.raises(
                TcpsfError, match=f"cannot simulate with seed {seed}: it is not in the range 0 to"
            ):
                run(small, seed=seed)
        with pytest.raises(
            TcpsfError, match=r"cannot simulate with seed `1\.5`: it is not a whole number"
        ):
            run(small, seed=1.5)  # type: ignore[arg-type]


def transfers(sizes: Any, **more: Any) -> Scenario:
    """One link each way, and transfers of these sizes."""
    there = Link(name="there", from_="a", to="b", rate="10Mb/s", delay="10ms")
    back = Link(name="back", from_="b", to="a", rate="10Mb/s", delay="10ms")
    page = Transfers(
        name="page", from_="a", to="b", sizes=sizes, sender="reno / full / iw=1", **more
    )
    return Scenario(name="x", duration="10s", link=(there, back), workload=(page,))


def test_numpys_arrays_and_numbers_are_lists_and_numbers() -> None:
    wanted = run(transfers((1000, 2000, 3000))).flows
    for sizes in (
        np.array([1000, 2000, 3000]),
        [np.int64(1000), np.int32(2000), 3000],
        range(1000, 4000, 1000),
        np.arange(1000, 4000, 1000),
    ):
        scenario = transfers(sizes)
        assert json.loads(scenario.to_json())["workload"][0]["sizes"] == [1000, 2000, 3000]
        assert run(scenario).flows.equals(wanted)
    plain = transfers((1000,))
    for value in (np.array([7, 8]), range(7, 9), [np.int64(7), 8]):
        assert plain.with_value("workload.page.sizes", value).workload[0].sizes == (7, 8)  # type: ignore[union-attr]


class TestManyRuns:
    """Jobs are taken as there is room for them."""

    def test_only_so_many_are_in_flight(self, small: Scenario) -> None:
        taken = 0

        def jobs() -> Any:
            nonlocal taken
            while True:
                taken += 1
                yield Job(scenario=small, seed=taken, fold=SummaryFold)

        results = results_of(jobs(), runs=10**9, workers=2)
        for number in range(3):
            assert next(results).provenance.seed == number + 1
            assert taken <= 2 + AHEAD + number + 1
        results.close()
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("tcpsf")]

    def test_a_billion_runs_need_no_memory(self, small_file: Path) -> None:
        """The address space is limited to some times of what one run needs."""
        script = f"ulimit -v 6000000; exec {sys.executable} -m tcpsf sim {small_file} --runs 1000000000 --set duration=1s"
        with subprocess.Popen(
            ["/bin/sh", "-c", script], stderr=subprocess.PIPE, text=True
        ) as process:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(5)
            process.terminate()
            _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (143, "terminated\n")

    def test_workers_have_a_limit(self, tcpsf: Command, small_file: Path, small: Scenario) -> None:
        answer = tcpsf("sim", small_file, "--workers", "100000")
        assert (
            first_line(answer)
            == "error: `--workers 100000`: `100000` is not in the range 1 to 1024"
        )
        with pytest.raises(TcpsfError, match="cannot run with 100000 workers"):
            replicate(small, seeds=[1], workers=100_000)


class TestStandardStreams:
    """`-` as a file."""

    def test_a_scenario_from_standard_input(self, tcpsf: Command, small_file: Path) -> None:
        wanted = tcpsf("sim", small_file)
        for text in (SMALL.encode(), codecs.BOM_UTF8 + SMALL.encode()):
            answer = subprocess.run(
                [*TCPSF, "sim", "-"], input=text, capture_output=True, check=False
            )
            assert (answer.returncode, answer.stdout.decode()) == (0, wanted.out)
        for text in (b"name = ", b"\xff"):
            answer = subprocess.run(
                [*TCPSF, "sim", "-"], input=text, capture_output=True, check=False
            )
            assert (answer.returncode, answer.stdout) == (2, b"")
            assert answer.stderr.startswith(b"error: cannot read scenario `-`: ")

    def test_a_capture_to_standard_output(self, tcpsf: Command, small_file: Path) -> None:
        file = small_file.parent / "run.pcapng"
        wanted = tcpsf("sim", small_file, "--pcap", file)
        answer = subprocess.run(
            [*TCPSF, "sim", str(small_file), "--pcap", "-"], capture_output=True, check=False
        )
        assert (answer.returncode, answer.stdout) == (0, file.read_bytes())
        assert answer.stderr.decode() == wanted.out

    def test_a_reader_of_a_capture_that_leaves_early(self, small_file: Path) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        words = [*TCPSF, "sim", str(small_file), "--pcap", "-"]
        answer = subprocess.run(
            words, stdout=writing, stderr=subprocess.PIPE, text=True, check=False
        )
        os.close(writing)
        assert answer.returncode == 2
        assert answer.stderr.startswith("error: cannot write capture `/dev/stdout`: broken pipe\n")

    def test_captures_that_cannot_go_there(
        self, tcpsf: Command, small_file: Path, tmp_path: Path
    ) -> None:
        with (tmp_path / "out").open("wb") as out:
            words = [*TCPSF, "sim", str(small_file), "--pcap", "-"]
            answer = subprocess.run(
                words, stdout=out, stderr=subprocess.PIPE, text=True, check=False
            )
        assert (answer.returncode, (tmp_path / "out").read_bytes()) == (2, b"")
        assert answer.stderr.startswith(
            "error: cannot write capture `-`: standard output is not a pipe\nhint: "
        )
        words = [*TCPSF, "sim", str(small_file), "--pcap", "-", "--json"]
        answer = subprocess.run(words, capture_output=True, text=True, check=False)
        assert (answer.returncode, answer.stdout) == (2, "")
        assert answer.stderr.startswith(
            "error: cannot write both `--json` and `--pcap -` to standard output\nhint: "
        )
        assert first_line(tcpsf("serve", ".", "--pcap", "-")).startswith(
            "error: cannot write `--pcap -`"
        )


class TestModel:
    """Options of `tcpsf model`: with units, and as before."""

    @pytest.mark.parametrize(
        ("words", "same"),
        [
            ("short-flow --size 10kB --loss 5%", "short-flow --size 10000 --loss 0.05"),
            ("best-framing --rate 10mbit --size 1.2kB", "best-framing --rate 10Mb/s --size 1200"),
            ("best-framing --loss 2% --overhead 52", "best-framing --loss 0.02 --header 52"),
            ("padhye --mss 1.46kB --rtt 0.07s", "padhye --mss 1460.0 --rtt 70ms"),
            ("smart-framing --header 52", "smart-framing --overhead 52.0"),
        ],
    )
    def test_units(self, tcpsf: Command, words: str, same: str) -> None:
        one, other = tcpsf("model", *words.split()), tcpsf("model", *same.split())
        assert one == other
        assert one.status == 0

    @pytest.mark.parametrize(
        "window", ["0", "1", "-1", "5:1", "", ",", "65", "4:1000000000", "1e3", "x"]
    )
    def test_windows_that_make_no_sense(self, tcpsf: Command, window: str) -> None:
        shown = window or "''"
        assert first_line(tcpsf("model", "packet-discard", "--window", window)).startswith(
            f"error: `--window {shown}`: "
        )

    def test_bytes_per_second_with_a_unit_are_not_bits(self, tcpsf: Command) -> None:
        assert "did you mean `8Mb/s` or `1Mb/s`?" in first_line(
            tcpsf("model", "best-framing", "--rate", "1MB/s")
        )


def test_one_scale(tcpsf: Command) -> None:
    for words in (
        ["smart-framing"], ["smart-framing", "table-1"], ["santa-cruz"], ["packet-discard"], ["short-flows"],
        ["short-flows", "live"],
    ):  # fmt: skip
        for scales in (["--quick", "--full"], ["--full", "--quick"]):
            answer = tcpsf("reproduce", *words, *scales)
            assert first_line(answer) == "error: `--full` and `--quick` were both given; choose one"


def test_completion(monkeypatch: pytest.MonkeyPatch, tcpsf: Command) -> None:
    for shell, word in (
        ("bash", "complete -o nosort"),
        ("zsh", "#compdef tcpsf"),
        ("fish", "complete --no-files"),
    ):
        monkeypatch.setenv("_TCPSF_COMPLETE", f"{shell}_source")
        answer = subprocess.run(TCPSF, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stderr
        assert word in answer.stdout
    monkeypatch.setenv("COMP_WORDS", "tcpsf re")
    for shell, word, wanted in (
        ("bash", "1", "plain,reproduce\n"),
        ("zsh", "1", "plain\nreproduce\nReproduce a paper's tables and figures and"),
        ("fish", "re", "plain,reproduce\tReproduce a paper's tables"),
    ):
        monkeypatch.setenv("_TCPSF_COMPLETE", f"{shell}_complete")
        monkeypatch.setenv("COMP_CWORD", word)
        shown = tcpsf()
        assert (shown.status, shown.err) == (0, "")
        assert shown.out.startswith(wanted)


def test_short_help(tcpsf: Command) -> None:
    for words in ([], ["sim"], ["reproduce", "smart-framing"], ["model", "padhye"]):
        assert tcpsf(*words, "-h") == tcpsf(*words, "--help")
