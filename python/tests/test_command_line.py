"""Rules of every command: types of options, error lines, and numbers in text output."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest
from conftest import Answer, Command

from tcpsf.cli import quantities
from tcpsf.cli.app import app
from tcpsf.cli.model_commands import Law
from tcpsf.cli.quantities import AsText, OneOf
from tcpsf.report import link_output

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
}

MEASURED = re.compile(
    r"(time|timeout|delay|rtt|rto|grace|lifetime|spin|size|mtu|mss|header|cwnd|seed|runs|workers)"
)
"""Words in the names of options with a quantity."""

SEVERAL_PARTS = {"queue", "red", "codel", "balanced", "loss-linear", "loss-burst", "loss-mask"} | {
    "reorder"
}
"""Options of a link whose value has several parts, which the emulator parses."""


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
            if MEASURED.search(base) and base not in SEVERAL_PARTS and base != "full":
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
            ("smart-framing --loss 70%", "cannot compute smart_framing.classic: `--loss` is 0.7"),
            ("smart-framing --rtt 0s", "cannot compute smart_framing.classic: `--rtt` is 0"),
            ("short-flow --ack-every 0", "cannot compute short_flows.lossless: `--ack-every` is 0"),
            ("best-framing --cwnd 10B", "cannot compute best_framing: `--cwnd` is 10"),
        ],
    )
    def test_an_error_of_a_model_names_the_option(
        self, tcpsf: Command, words: str, error: str
    ) -> None:
        answer = tcpsf("model", *words.split())
        assert error_of(answer) == error
        assert f"hint: `{words.split()[1]}` must be " in answer.err

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


class TestNumbers:
    """Thousands and minus signs are written in the same way in all text outputs."""

    def test_thousands(self) -> None:
        direction = dict.fromkeys(link_output.ROWS.values(), 12_345) | {
            "utilisation": 0.0, "timing_error_median_s": None, "timing_error_p99_s": None,
            "timing_error_max_s": None,
        }  # fmt: skip
        found = {
            "up": direction, "down": direction, "exit_status": 0, "duration_s": 1.0, "seed": 1,
            "outside_exit_status": None,
        }  # fmt: skip
        shown = link_output.as_text(found)
        assert "12\u202f345  12\u202f345" in shown
        assert "12345" not in shown

    def test_a_model(self, tcpsf: Command) -> None:
        assert "128\u202f000" in tcpsf("model", "short-flow").out
