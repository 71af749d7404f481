"""Rules of every command: types of options, error lines, `--quiet`, `--verbose` and colour."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from conftest import Answer, Command

from tcpsf import __version__, _core
from tcpsf.cli import colour, quantities, verbosity
from tcpsf.cli.app import app
from tcpsf.cli.model_commands import Law
from tcpsf.cli.quantities import AsText, OneOf
from tcpsf.report import link_output

TCPSF = [sys.executable, "-m", "tcpsf"]
ESCAPE = "\x1b["

KINDS: dict[str, tuple[type[click.ParamType[object]], ...]] = {
    "TIME": (quantities.Seconds,),
    "RATE": (quantities.ByteRate,),
    "SIZE": (quantities.Bytes,),
    "P": (quantities.Probability,),
    "N": (quantities.Count, quantities.Number),
    "X": (quantities.Number,),
    "SIZE,...": (quantities.SizeList,),
    "P,...": (quantities.Probabilities,),
    "W,...": (quantities.CountList,),
    "I,...": (quantities.CountList,),
    "LAW": (Law,),
    "WHEN": (quantities.Seconds,),
    "FLOW": (quantities.ConnectionName,),
    "PREFIX": (quantities.AddressPrefix,),
}
"""Types by metavariable: a metavariable means the same in every command."""

BAD = {
    "TIME": ("5", "-1s", "soon", ""),
    "RATE": ("10", "0Mb/s", "1MB/s", "fast"),
    "SIZE": ("-1", "1.5", "10kx", ""),
    "P": ("1.5", "-0.1", "101%", "nan", "often", ""),
    "N": ("-1", "many", "nan", ""),
    "X": ("much", "inf", ""),
    "SIZE,...": ("10kx", "-1", ""),
    "P,...": ("0.1,2", "x", ""),
    "W,...": ("1", "5:1", "x", ""),
    "I,...": ("-1", "x"),
    "LAW": ("square",),
    "WHEN": ("5", "never"),
    "FLOW": ("web", "1.2.3", "10.0.0.1:99999", "1.2.3.4:5-:6-1.2.3.4:7", "2001:db8::1:443", ""),
    "PREFIX": ("abc", "10.0.0.0/33", "10.0.0.1/8", "2001:db8::/129", "10.0.0.0/", "fe80::1%1", ""),
}

MEASURED = re.compile(
    r"(time|timeout|delay|rtt|rto|grace|lifetime|spin|size|mtu|mss|header|cwnd|seed|runs|workers)"
)
"""Words in the names of options with a quantity."""

BAD_PARTS = {
    "queue": ("x", "0packets", "-3packets", "15kB/x", "15kB/0B", ""),
    "red": ("5kB", "30kB,90", "90kB,30kB", "5packets,30kB", "1kB,2kB,3", "1kB,2kB,0.1,4", ""),
    "codel": ("5ms", "5ms,x", "5,10", "100ms,5ms", "5ms,100h", "1ms,2ms,3ms", ""),
    "fq-codel": ("5ms", "5ms,x", "100ms,5ms", "5ms,100ms,0", "5ms,100ms,x", "1ms,2ms,3,4", ""),
    "balanced": ("0.4", "0.4,0.9", "0.4,0.9,x", "0.4,0.9,-1", "0.9,0.4,3", "0.4,2,3", ""),
    "loss-linear": ("0.1", "0.1@x", "2@15B", "0.1@0B", "0.1@1B@2B", ""),
    "loss-burst": ("0.1", "0.1,x", "2,3", "0.1,0.5", "0.1,3,4", ""),
    "loss-gilbert": ("0.1", "0.1,x", "2,0.3", "0.1,0.3,0.5,1,0", "0.1,0.3,", ""),
    "loss-mask": ("2", "1,,0", ",", "x", ""),
    "rate-trace": ("missing.txt", "/", ""),
    "police": ("5mbit", "5,15kB", "5mbit,15", "5mbit,1kB", "5mbit,15kB,3", ""),
    "shape": ("5mbit", "0mbit,15kB", "5mbit,x", "5mbit,0B", "5MB/s,15kB", ""),
    "loss-file": ("data:", "missing.txt", "data:missing.txt", "", "/"),
    "jitter": ("5ms", "square:5ms", "pareto:5ms,1", "pareto:5ms,x", "file:", "file:/", ""),
    "jitter-reorder": ("uniform", "uniform:100h", "normal:", "pareto:5ms,3,4", "file:x", ""),
    "reorder": ("0.01", "2,5ms", "0.01,5", "0.01,100h", "0.1,1ms,3", ""),
}
"""Values that options with several parts refuse."""


def commands(
    command: click.Command = app, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command with its words."""
    yield words, command
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            yield from commands(each, (*words, name))


ALL = dict(commands())
OPTIONS = {
    (words, option.opts[0]): option
    for words, command in ALL.items()
    for option in command.params
    if isinstance(option, click.Option)
}


def kind_of(option: click.Option) -> click.ParamType[object]:
    return option.type.kind if isinstance(option.type, AsText) else option.type


def error_of(answer: Answer) -> str:
    """The error; it has one line and a hint, and nothing else was printed."""
    assert (answer.status, answer.out) == (2, "")
    error, hint = answer.err.splitlines()
    assert error.startswith("error: ")
    assert re.match(r"hint: .", hint)
    return error.removeprefix("error: ")


class TestTypes:
    """Each kind of quantity has one type."""

    def test_the_type_follows_from_the_metavariable(self) -> None:
        checked = [option for option in OPTIONS.values() if option.metavar in KINDS]
        assert len(checked) > 100
        for option in checked:
            assert isinstance(kind_of(option), KINDS[str(option.metavar)]), option

    def test_a_quantity_has_its_metavariable(self) -> None:
        checked = 0
        for (words, name), option in OPTIONS.items():
            base = re.sub("^(--(up|down)-|--)", "", name)
            if MEASURED.search(base) and base not in BAD_PARTS.keys() | {"full", "sizes"}:
                checked += 1
                assert option.metavar in KINDS or option.is_flag, (words, name)
        assert checked > 50

    def test_no_type_of_click_reads_numbers_or_words(self) -> None:
        for place, option in OPTIONS.items():
            if not option.is_flag:
                named = (quantities._Quantity, quantities._List, AsText, OneOf, Law, click.Path)
                assert isinstance(option.type, named) or option.type is click.STRING, place

    def test_every_option_has_a_help_text(self) -> None:
        for place, option in OPTIONS.items():
            context = click.Context(ALL[place[0]])
            text = option.help or (option.get_help_record(context) or ("", ""))[1]
            assert len(text) > 8, place
            assert text.rstrip("]")[-1] in ".0123456789abcdefghijklmnopqrstuvwxyz)", place

    def test_defaults_have_no_decimals_that_say_nothing(self, tcpsf: Command) -> None:
        for words in ALL:
            for default in re.findall(r"\[default:\s+([^\]]+)\]", tcpsf(*words, "--help").out):
                assert not re.search(r"\d\.0\b", default), words

    @pytest.mark.parametrize("metavar", BAD)
    def test_bad_values(self, tcpsf: Command, metavar: str) -> None:
        found = {place: each for place, each in OPTIONS.items() if each.metavar == metavar}
        assert found
        for (words, name), option in found.items():
            for value in BAD[metavar]:
                if value == "" and option.default == "":
                    continue
                shown = value or "''"
                error = error_of(tcpsf(*words, f"{name}={value}"))
                assert error.startswith(f"`{name} {shown}`: "), error

    @pytest.mark.parametrize("name", sorted(BAD_PARTS))
    def test_bad_values_of_several_parts(self, tcpsf: Command, name: str) -> None:
        rest = ["--rate=1mbit", "--", "true"]
        if name == "balanced":
            rest.insert(0, "--queue=100packets")
        if name == "rate-trace":
            rest.remove("--rate=1mbit")
        for value in BAD_PARTS[name]:
            for way in ("", "up-", "down-"):
                typed = f"--{way}{name}"
                error = error_of(tcpsf("link", f"{typed}={value}", *rest))
                assert error.startswith(f"`{typed} {value or repr(value)}`: "), error

    @pytest.mark.parametrize(
        ("words", "error"),
        [
            (
                "reproduce smart-framing --only fig-3,fig-99",
                "`--only fig-3,fig-99`: no figure or table is called `fig-99`",
            ),
            ("reproduce all --only nope", "`--only nope`: no paper is called `nope`"),
            (
                "reproduce short-flows --only fig-17",
                "`--only fig-17`: `fig-17` is measured, not simulated",
            ),
            ("sweep none.toml --measure nope", "`--measure nope`: unknown measure `nope`"),
        ],
    )
    def test_an_unknown_word_names_its_option(self, tcpsf: Command, words: str, error: str) -> None:
        assert error_of(tcpsf(*words.split())) == error

    def test_an_option_is_named_as_it_was_typed(self, tcpsf: Command) -> None:
        for name in ("--header", "--overhead"):
            for typed in ([name, "1x"], [f"{name}=1x"]):
                assert error_of(tcpsf("model", "best-framing", *typed)).startswith(f"`{name} 1x`: ")
        assert error_of(tcpsf("reproduce", "short-flows", "live", "--rate", "0")) == (
            "`--rate 0`: `0` is not in the range 1 to 2000"
        )
        assert error_of(tcpsf("link", "--down-loss", "2", "--", "true")) == (
            "`--down-loss 2`: `2` is not a probability: it must lie between 0 and 1"
        )

    @pytest.mark.parametrize(
        ("words", "error"),
        [
            (
                "smart-framing --loss 1%,70%",
                "cannot compute smart_framing.classic: the value is 0.7",
            ),
            ("smart-framing --rtt 0s", "cannot compute smart_framing.classic: the value is 0"),
            ("short-flow --ack-every 0", "cannot compute short_flows.lossless: the value is 0"),
            ("best-framing --cwnd 10B", "cannot compute best_framing: the value is 10"),
            ("best-framing --overhead 2GB", "cannot compute best_framing: the value is 2000000000"),
        ],
    )
    def test_an_error_of_a_model_names_the_option(
        self, tcpsf: Command, words: str, error: str
    ) -> None:
        answer = tcpsf("model", *words.split())
        _, option, value = words.split()
        assert error_of(answer) == f"`{option} {value}`: {error}"
        assert f"hint: `{option}` must be " in answer.err
        joined = tcpsf("model", words.split()[0], f"{option}={value}")
        assert joined == answer

    def test_an_error_of_a_default_names_the_option(self, tcpsf: Command) -> None:
        """The window of 14 600 bytes is too small for this segment size."""
        error = error_of(tcpsf("model", "best-framing", "--mss", "20kB"))
        assert error == "`--cwnd 14600`: cannot compute best_framing: the value is 14600"

    def test_sizes_have_units_everywhere(self, tcpsf: Command) -> None:
        for words in (["link", "--mtu"], ["serve", "missing", "--mtu"], ["link", "--path-mtu"]):
            for size in ("1.3kB", "1300B", "1300"):
                assert "is not a size" not in tcpsf(*words, size, "--bad").err
        assert error_of(tcpsf("link", "--path-mtu", "67", "--", "true")) == (
            "`--path-mtu 67`: `67` is not in the range 68 to 65535"
        )

    def test_errors_of_click(self, tcpsf: Command) -> None:
        for words, error in (
            (["sim"], "missing argument `FILE.toml`"),
            (["sim", "x", "--sed", "1"], "no such option `--sed`"),
            (["sim", "x", "--seed"], "option `--seed` requires an argument"),
            (["proxy"], "missing option `--upstream`"),
            (["model", "pad"], "no such command `pad`"),
        ):
            assert error_of(tcpsf(*words)) == error


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_options_of_every_command(tcpsf: Command, words: tuple[str, ...]) -> None:
    wanted = tcpsf(*words, "--help")
    assert (wanted.status, wanted.err) == (0, "")
    for word in ("-q, --quiet", "-v, --verbose", "-h, --help"):
        assert word in wanted.out
    for before, after in (("-h", ""), ("-q", "-h"), ("--quiet", "--help")):
        assert tcpsf(*words, *filter(None, (before, after))) == wanted
    if words:
        assert tcpsf("-q", *words, "-h") == wanted
    for option in ("-v", "--verbose"):
        answer = tcpsf(*words, option, "--help")
        assert (answer.status, answer.out) == (0, wanted.out)
        assert f"tcpsf {__version__}, Python " in answer.err


class TestQuiet:
    """With `--quiet` there are only errors on standard error."""

    @pytest.mark.parametrize("place", ["before", "after", "group"])
    def test_messages(
        self, tcpsf: Command, tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from tcpsf.evaluation.plan import Scale
        from tcpsf.reproduce.smart_framing.table_1 import SCALES

        monkeypatch.setitem(SCALES, "quick", Scale("quick", 2, "10s"))
        words = ["reproduce", "smart-framing", "table-1", "--out", str(tmp_path / "out")]
        wanted = tcpsf(*words)
        assert "The page: " in wanted.err
        at = {"before": 0, "group": 2, "after": len(words)}[place]
        assert tcpsf(*words[:at], "-q", *words[at:], "--force") == Answer(0, wanted.out, "")

    def test_errors_remain(self, tcpsf: Command) -> None:
        for words in (["-q", "sim", "none.toml"], ["sim", "--quiet", "none.toml"]):
            assert error_of(tcpsf(*words)) == "cannot read scenario `none.toml`: no such file"
        assert error_of(tcpsf("-q", "sim", "--seed", "x")) == "`--seed x`: `x` is not an integer"

    def test_it_ends_with_the_command(self, tcpsf: Command, tmp_path: Path) -> None:
        assert tcpsf("-q", "init", tmp_path / "a.toml") == Answer(0, "", "")
        assert tcpsf("init", tmp_path / "b.toml").err.startswith("wrote ")

    def test_statistics_of_a_link(self) -> None:
        answer = run_piped("link", "-q", "--delay", "1ms", "--", "echo", "data")
        assert (answer.status, answer.out, answer.err) == (0, "data\n", "")
        loud = run_piped("link", "--delay", "1ms", "--", "echo", "-q")
        assert (loud.status, loud.out) == (0, "-q\n")
        assert loud.err.startswith("Outside: ")

    def test_the_summary_beside_a_capture(self, small_file: Path) -> None:
        words = [*TCPSF, "sim", "--pcap", "-", str(small_file)]
        loud, quiet = (
            subprocess.run([*words, *more], capture_output=True, check=False)
            for more in ([], ["-q"])
        )
        assert loud.stderr.startswith(b"small: 1 run")
        assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, loud.stdout, b"")

    def test_no_progress_bar(self, small_file: Path) -> None:
        words = ("sim", str(small_file), "--set", "duration=2000s", "--json")
        assert "simulating" in on_a_terminal(*words)[1]
        assert on_a_terminal(*words, "-q")[1] == ""


class TestVerbose:
    """With `--verbose` there are details on standard error."""

    def test_sim(self, tcpsf: Command, small_file: Path, tmp_path: Path) -> None:
        words = ["sim", str(small_file), "--runs", "2", "--seed", "7"]
        wanted = tcpsf(*words)
        out = tmp_path / "out"
        for answer in (
            tcpsf("-v", *words, "--out", out),
            tcpsf(*words, "--verbose", "--out", out, "--force"),
        ):
            assert (answer.status, answer.out) == (0, wanted.out)
            for line in answer.err.splitlines():
                assert re.match(r"\[ *\d+\.\d{3} s\] .", line), line
            for detail in (
                f"tcpsf sim: {small_file}; --seed 7; --runs 2; --out {out}",
                "scenario `small` from ",
                "`small`, seed 7: run starts",
                "`small`, seed 8: run ends after ",
                f"wrote folder `{out}`",
                "exit status 0; CPU time ",
            ):
                assert answer.err.count(detail) == 1, detail
        assert tcpsf(*words) == wanted  # also after a verbose command in the same process

    def test_defaults_and_flags(self, tcpsf: Command) -> None:
        answer = tcpsf("serve", "missing", "-v", "--no-offload")
        assert "tcpsf serve: missing; --port 80 (default); " in answer.err
        assert "; --no-offload" in answer.err
        assert "exit status 2; " in answer.err

    def test_the_settings_of_a_group_with_and_without_a_command(self, tcpsf: Command) -> None:
        words = ("--only", "fig-7", "--out", "/dev/null/out")
        own = tcpsf("reproduce", "short-flows", "-v", *words).err
        assert "] tcpsf reproduce short-flows: --only fig-7; " in own
        below = tcpsf("reproduce", "-v", "short-flows", "live", "--per-second", "0").err
        assert "reproduce short-flows:" not in below

    def test_a_reason_to_choose(self, tcpsf: Command) -> None:
        for words in (["-q", "-v", "sim"], ["-v", "sim", "-q"], ["sim", "--quiet", "--verbose"]):
            error = next(
                line for line in tcpsf(*words).err.splitlines() if line.startswith("error: ")
            )
            assert error == "error: `--quiet` and `--verbose` were both given; choose one"
        assert verbosity._state.handler is None


def run_piped(*words: str, **environment: str) -> Answer:
    done = subprocess.run(
        [*TCPSF, *words], capture_output=True, text=True, check=False, env=changed(environment)
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def changed(environment: dict[str, str]) -> dict[str, str]:
    """The environment with changes, and without variables about colour."""
    own = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TERM")
    return {key: value for key, value in os.environ.items() if key not in own} | environment


def on_a_terminal(*words: str, **environment: str) -> tuple[int, str]:
    """Exit status, and the text on a terminal to which standard error is connected."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*TCPSF, *words],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=changed({"TERM": "xterm", **environment}),
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # Linux reports the end of a terminal as an error
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    return process.wait(), shown.decode()


class TestColour:
    """Colour is for terminals, and for users who want it."""

    ERROR = "error: cannot read scenario `none.toml`: no such file"

    @pytest.mark.parametrize(
        ("environment", "coloured"),
        [
            ({}, True),
            ({"NO_COLOR": "1"}, False),
            ({"NO_COLOR": ""}, True),
            ({"TERM": "dumb"}, False),
            ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
            ({"TERM": "dumb", "CLICOLOR_FORCE": "1"}, True),
        ],
        ids=str,
    )
    def test_errors_on_a_terminal(self, environment: dict[str, str], coloured: bool) -> None:
        status, shown = on_a_terminal("sim", "none.toml", **environment)
        assert status == 2
        assert (ESCAPE in shown) == coloured
        assert re.sub(r"\x1b\[\d+m", "", shown).startswith(self.ERROR)

    @pytest.mark.parametrize(
        ("environment", "coloured"),
        [
            ({}, False),
            ({"FORCE_COLOR": "0"}, False),
            ({"FORCE_COLOR": "1"}, True),
            ({"CLICOLOR_FORCE": "1"}, True),
            ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ],
        ids=str,
    )
    def test_errors_in_a_pipe(self, environment: dict[str, str], coloured: bool) -> None:
        answer = run_piped("sim", "none.toml", **environment)
        assert (ESCAPE in answer.err) == coloured
        assert answer.status == 2

    def test_verdicts(self, tmp_path: Path) -> None:
        words = ("model", "report", "--force", "--out", str(tmp_path / "out"))
        plain = run_piped(*words).out
        assert ESCAPE not in plain
        shown = run_piped(*words, FORCE_COLOR="1").out
        assert re.sub(r"\x1b\[\d+m", "", shown) == plain
        for verdict, code in (("holds", 32), ("does not hold", 31)):
            verdicts = len(re.findall(rf"^{verdict}  ", plain, re.MULTILINE))
            assert verdicts > 0
            assert shown.count(f"{ESCAPE}{code}m{ESCAPE}1m{verdict}{ESCAPE}0m") == verdicts
        found = run_piped(*words, "--json", FORCE_COLOR="1").out
        assert ESCAPE not in found
        assert json.loads(found)["schema"] == "tcpsf.model-report/2"

    def test_marks_of_significance(self, monkeypatch: pytest.MonkeyPatch) -> None:
        table = "mean, s  38.4 ±4.5  *\nmedian   1.0 ±2.0\n\n*: significant. p-values are"
        summary = (
            "lower (significant, adjusted p < 0.001)\nlower (not significant, adjusted p = 0.1)"
        )
        marked = with_colour(monkeypatch, colour.results)
        assert marked(table).count(ESCAPE) == 3
        assert marked(table).endswith("\n\n*: significant. p-values are")
        assert marked(summary).count(ESCAPE) == 3
        assert marked(summary).endswith("(not significant, adjusted p = 0.1)")


def with_colour(
    monkeypatch: pytest.MonkeyPatch, function: Callable[[str], str]
) -> Callable[[str], str]:
    monkeypatch.setattr(colour, "is_wanted", lambda _stream: True)
    return function


class TestNumbers:
    """Thousands and minus signs are written in the same way in all text outputs."""

    def test_thousands(self) -> None:
        direction = dict.fromkeys(link_output.ROWS.values(), 12_345) | {
            "utilisation": 0.0, "timing_error_median_s": None, "timing_error_p99_s": None,
            "timing_error_max_s": None,
        }  # fmt: skip
        found = {
            "up": direction, "down": direction, "exit_status": 0, "duration_s": 1.0, "seed": 1,
            "outside_exit_status": None, "firewall_dropped_packets": None,
        }  # fmt: skip
        shown = link_output.as_text(found)
        assert "12\u202f345  12\u202f345" in shown
        assert "12345" not in shown

    def test_no_commas(self) -> None:
        sources = Path(_core.__file__).parent.rglob("*.py")
        commas = re.compile(r"\{[^{}\n:]+:[<>^]?\d*,")
        found = [path.name for path in sources if commas.search(path.read_text(encoding="utf-8"))]
        assert found == ["text.py"]

    def test_a_model(self, tcpsf: Command) -> None:
        assert "128\u202f000" in tcpsf("model", "short-flow").out
