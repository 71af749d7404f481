"""Bad input gets one line that names the key and the value, a hint, status 2, and leaves nothing behind."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SMALL, Answer, Command

from tcpsf import Scenario

CASES = {
    "unknown key": (
        'rate = "2Mb/s"',
        'rat = "2Mb/s"',
        "unknown key `link[0].rat`",
        "did you mean `rate`?",
    ),
    "unknown key at the top": (
        'name = "small"',
        'nam = "small"',
        "unknown key `nam`",
        "did you mean `name`?",
    ),
    "missing key": (
        'duration = "20s"\n',
        "",
        "missing key `duration`",
        "Simulated time, such as `20ms`",
    ),
    "negative rate": (
        '"2Mb/s"',
        '"-1Mb/s"',
        "link[0].rate: `-1Mb/s` is not a rate above zero such as `10Mb/s` or `32kbit`",
        "`rate`: Transmission rate in bits per second, headers included; such as `10Mb/s`",
    ),
    "rate without a unit": (
        '"2Mb/s"',
        "2",
        "link[0].rate: `2` is not text such as `10Mb/s`",
        "a rate needs a unit and quotes",
    ),
    "loss above 1": (
        'buffer = { bytes = "15kB" }',
        'loss = { kind = "packet", probability = 1.5 }',
        "link[0].loss.probability: `1.5` is not a number from 0 to 1",
        "`probability`: Probability that a packet is lost, 0 to 1",
    ),
    "unknown loss": (
        'buffer = { bytes = "15kB" }',
        'loss = { kind = "pocket" }',
        "link[0].loss.kind: unknown kind `pocket`",
        "did you mean `packet`?",
    ),
    "sender": (
        "fs(n=4)",
        "fs(n=1)",
        "workload[0].sender: sender `reno+sack / fs(n=1) / iw=1`: `1` is not a whole number from 2 to 64",
        None,
    ),
    "not TOML": (
        'name = "small"',
        "name = small",
        "not TOML: invalid value (at line 1, column 8)",
        'text and quantities need quotes: `rate = "10Mb/s"`',
    ),
    "no such node": (
        'name = "web"\nkind = "poisson"\nfrom = "a"',
        'name = "web"\nkind = "poisson"\nfrom = "c"',
        None,
        None,
    ),
    "a route over a link that does not exist": (
        "[tcp]",
        '[[route]]\nfrom = "a"\nto = "b"\nvia = ["thre"]\n\n[tcp]',
        "route[0].via[0]: there is no link `thre`",
        "did you mean `there`?",
    ),
    "load of a link that does not exist": (
        'of = "there"',
        'of = "ther"',
        "workload[0].of: there is no link `ther`",
        "did you mean `there`?",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_scenario_that_makes_no_sense(
    tcpsf: Command, small_file: Path, tmp_path: Path, case: str
) -> None:
    before, after, message, hint = CASES[case]
    assert before in SMALL
    small_file.write_text(SMALL.replace(before, after, 1), encoding="utf-8")
    answer = tcpsf("sim", small_file, "--out", tmp_path / "out")
    assert answer.status == 2
    assert answer.out == ""
    lines = answer.err.splitlines()
    assert lines[0].startswith(f"error: cannot read scenario `{small_file}`: ")
    if message is not None:
        assert lines[0].endswith(f"`: {message}")
    if hint is not None:
        assert lines[1] == f"hint: {hint}"
    assert len(lines) == 2
    assert lines[1].startswith("hint: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.toml"]


def test_a_class_file_that_does_not_parse(tcpsf: Command, small_file: Path, tmp_path: Path) -> None:
    (tmp_path / "classes.txt").write_text("119\none hundred\n", encoding="utf-8")
    text = SMALL.replace("{ classes = [500, 5000, 50000] }", '{ file = "classes.txt" }')
    small_file.write_text(text, encoding="utf-8")
    assert tcpsf("sim", small_file) == Answer(
        2,
        "",
        f"error: cannot read scenario `{small_file}`: workload[0].sizes.file: `classes.txt`, line 2: "
        "`one hundred` is not a size in bytes\n"
        "hint: expected one size in bytes per line, or two columns: size and cumulative "
        "probability; `#` starts a comment\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["sim"], "missing argument `FILE.toml`", "`tcpsf sim --help` lists commands and options"),
        (
            ["sim", "none.toml"],
            "cannot read scenario `none.toml`: no such file",
            "give a TOML file with a scenario, or `-` for standard input",
        ),
        (["sim", "."], "cannot read scenario `.`: it is a folder, not a file", None),
        (["simm"], "no such command `simm`", "did you mean `sim`?"),
        (
            ["sim", "FILE", "--runs", "0"],
            "`--runs 0`: `0` is below 1",
            "give an integer of at least 1",
        ),
        (
            ["sim", "FILE", "--set", "x"],
            "cannot read `--set x`: expected KEY=VALUE",
            "e.g. `--set workload.web.load",
        ),
        (
            ["sim", "FILE", "--set", "link.there.rat=1"],
            "cannot set `link.there.rat`: unknown key `link[0].rat`",
            "did you mean `rate`?",
        ),
        (
            ["sim", "FILE", "--set", "workload.web.load=-0.5"],
            "workload[0].load: -0.5 is not a number above zero",
            "`load`: Offered load of the link `of`",
        ),
    ],
)
def test_a_command_line_that_makes_no_sense(
    tcpsf: Command, small_file: Path, arguments: list[str], message: str, hint: str | None
) -> None:
    answer = tcpsf(*(str(small_file) if argument == "FILE" else argument for argument in arguments))
    assert answer.status == 2
    assert answer.out == ""
    lines = answer.err.splitlines()
    assert lines[0].startswith("error: ")
    assert message in lines[0]
    assert len(lines) == (1 if hint is None else 2)
    if hint is not None:
        assert lines[1].startswith(f"hint: {hint}")


STREAM_HINT = "hint: redirect standard output to a file, or do not close it\n"


class TestOutput:
    """Results on disk: whole or not at all."""

    def test_a_folder_that_holds_something_else_is_left_alone(
        self, tcpsf: Command, small_file: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "out"
        out.mkdir()
        (out / "thesis.tex").write_text("…", encoding="utf-8")
        for force in ([], ["--force"]):
            answer = tcpsf("sim", small_file, "--out", out, *force)
            assert answer == Answer(
                2,
                "",
                f"error: cannot write results to `{out}`: it exists and contains other files\n"
                "hint: choose another folder\n",
            )
        assert [path.name for path in out.iterdir()] == ["thesis.tex"]

    def test_earlier_results_are_replaced_only_by_force(
        self, tcpsf: Command, small_file: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "out"
        assert tcpsf("sim", small_file, "--out", out).status == 0
        before = (out / "summary.json").read_bytes()
        refused = tcpsf("sim", small_file, "--out", out, "--seed", "2")
        assert refused.status == 2
        assert (
            "it contains earlier results\nhint: choose another folder, or replace them with `--force`"
            in refused.err
        )
        assert (out / "summary.json").read_bytes() == before
        assert tcpsf("sim", small_file, "--out", out, "--seed", "2", "--force").status == 0
        assert (out / "summary.json").read_bytes() != before
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "small.toml"]

    def test_a_file_in_the_way(self, tcpsf: Command, small_file: Path) -> None:
        answer = tcpsf("sim", small_file, "--out", small_file / "out")
        assert answer.status == 2
        assert answer.err.splitlines()[0] == (
            f"error: cannot write results to `{small_file / 'out'}`: `{small_file}` is not a folder"
        )

    def test_a_folder_that_must_not_be_written(self, tcpsf: Command, small_file: Path) -> None:
        # Not even root may make a folder there.
        answer = tcpsf("sim", small_file, "--out", "/proc/self/out")
        assert answer.status == 2
        assert answer.err.startswith("error: cannot write results to `/proc/self/out`: ")
        assert len(answer.err.splitlines()) == 2

    @pytest.mark.parametrize("limit", [100, 2_000, 6_000])
    def test_a_disk_that_fills_up(self, small_file: Path, tmp_path: Path, limit: int) -> None:
        """The kernel refuses to write beyond a limit, as it would on a full disk."""
        out = tmp_path / "out"

        def little_room() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        answer = subprocess.run(
            [sys.executable, "-m", "tcpsf", "sim", small_file, "--out", out],
            capture_output=True,
            text=True,
            preexec_fn=little_room,
            check=False,
        )
        assert answer.returncode == 2, answer.stderr
        assert answer.stdout == ""
        lines = answer.stderr.splitlines()
        assert lines[0].startswith(f"error: cannot write results to `{out}`: ")
        assert "file too large" in lines[0].lower()
        assert len(lines) == 2
        assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]

    def test_a_full_disk(self, small_file: Path, tmp_path: Path) -> None:
        """A real one, of 64 kB, in a mount namespace of its own."""
        disk = tmp_path / "disk"
        disk.mkdir()
        command = (
            f"mount -t tmpfs -o size=64k tmpfs {disk} && {sys.executable} -m tcpsf sim {small_file} --out {disk}/out; "
            f'status=$?; ls -A {disk}; exit "$status"'
        )
        answer = subprocess.run(
            ["/usr/bin/unshare", "--mount", "sh", "-c", command],
            capture_output=True,
            text=True,
            check=False,
        )
        assert answer.returncode == 2, answer.stderr
        lines = answer.stderr.splitlines()
        assert lines[0].startswith(f"error: cannot write results to `{disk}/out`: ")
        assert "no space left" in lines[0].lower()
        assert len(lines) == 2
        assert answer.stdout == "", "something was left on the disk, or printed"

    def test_standard_output_that_is_full(self, small_file: Path) -> None:
        with Path("/dev/full").open("w", encoding="utf-8") as full:
            answer = subprocess.run(
                [sys.executable, "-m", "tcpsf", "sim", small_file],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        assert (answer.returncode, answer.stderr) == (
            2,
            "error: cannot write to standard output: no space left on device\n" + STREAM_HINT,
        )

    def test_a_reader_that_leaves_early(self, small_file: Path) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        answer = subprocess.run(
            [sys.executable, "-m", "tcpsf", "sim", small_file],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        os.close(writing)
        assert (answer.returncode, answer.stderr) == (0, "")


def test_the_small_scenario_is_what_the_fixture_says(small_file: Path, small: Scenario) -> None:
    """So that the cases above fail for their own reason."""
    assert Scenario.from_toml(small_file).link == small.link
