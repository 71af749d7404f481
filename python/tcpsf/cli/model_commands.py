"""The commands below `tcpsf model` and their options."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import click

from tcpsf.cli.options import FOLDER, PROFILES, InOrder, as_json, force, out
from tcpsf.cli.quantities import (
    BadValue,
    ByteRate,
    Bytes,
    Count,
    CountList,
    Number,
    OneOf,
    Probabilities,
    Probability,
    Seconds,
    SizeList,
)
from tcpsf.cli.usage import typed, value_of
from tcpsf.errors import ModelError, TcpsfError


class Law(click.ParamType[str | float]):
    """Type of the option `--law`: the dependence of loss on packet size."""

    name = "law"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert `linear`, `constant` or an exponent."""
        if value in ("linear", "constant"):
            return value
        try:
            return float(value)
        except ValueError:
            raise BadValue(
                value,
                f"`{value}` is not `linear`, `constant` or a number",
                "an exponent is a number from 0 to 1, such as `0.5`",
                param,
                ctx,
            ) from None


def _seconds(name: str, default: str, help_text: str) -> Callable[..., Any]:
    return click.option(
        name, type=Seconds(), metavar="TIME", default=default, show_default=True, help=help_text
    )


def _number(name: str, default: float, help_text: str) -> Callable[..., Any]:
    return click.option(
        name,
        type=Number(),
        metavar="X",
        default=f"{default:g}",
        show_default=True,
        help=help_text,
    )


def _bytes(name: str, default: int, help_text: str, *more: str) -> Callable[..., Any]:
    return click.option(
        name,
        *more,
        type=Bytes(),
        metavar="SIZE",
        default=default,
        show_default=True,
        help=help_text,
    )


def _count(name: str, default: int, help_text: str) -> Callable[..., Any]:
    return click.option(
        name, type=Count(), metavar="N", default=default, show_default=True, help=help_text
    )


def _losses(default: str) -> Callable[..., Any]:
    return click.option(
        "--loss",
        type=Probabilities(),
        metavar="P,...",
        default=default,
        show_default=True,
        help="Loss probabilities.",
    )


ARGUMENT = re.compile(r"(?P<operation>cannot compute [\w.]+): `(?P<name>\w+)` (?P<problem>.+)")
"""Message of a `ModelError` about one argument."""

LEAST_WINDOW, MOST_WINDOW = 2, 64
"""Limits of the window in segments, for which the loss patterns are enumerated."""

law = click.option(
    "--law",
    type=Law(),
    metavar="LAW",
    default="linear",
    show_default=True,
    help="Dependence of loss on packet size: linear, constant, or an exponent from 0 to 1.",
)
rtt = _seconds("--rtt", "70ms", "Round-trip time.")
rto = _seconds("--rto", "1s", "Retransmission timeout.")
mss = _bytes("--mss", 1460, "Payload of a full-sized segment.")
ack_every = _number("--ack-every", 2.0, "Number of segments per acknowledgment.")
page = out("Write a page with the figure, and the JSON, to this folder.")
window_limit = _bytes("--window-limit", 65_535, "Maximum window.")


@click.group(cls=InOrder)
def model() -> None:
    """Compute the papers' closed-form models."""


def _show(sheet: str, arguments: Mapping[str, Any]) -> None:
    from tcpsf.cli import closed_model as work
    from tcpsf.report import model_sheets

    make = work.best_framing if sheet == "best_framing" else getattr(model_sheets, sheet)
    with _naming_options():
        work.show(make, line=_line(), **arguments)


@contextlib.contextmanager
def _naming_options() -> Iterator[None]:
    """Convert the names of arguments in the error of a model to the options as they were typed.

    The error begins with the option and its value: "`--rtt 0s`: cannot compute …".
    """
    try:
        yield
    except ModelError as error:
        context = click.get_current_context()
        options = {str(option.name): option for option in context.command.params}
        names = {f"`{name}`": f"`{typed(each, context)}`" for name, each in options.items()}

        def with_options(text: str) -> str:
            return re.sub(r"`\w+`", lambda found: names.get(found[0], found[0]), text)

        message = str(error)
        found = ARGUMENT.fullmatch(message)
        if found is not None and (option := options.get(found["name"])) is not None:
            place = f"{typed(option, context)} {value_of(option, context)}"
            message = f"`{place}`: {found['operation']}: the value {found['problem']}"
        hint = None if error.hint is None else with_options(error.hint)
        raise TcpsfError(with_options(message), hint=hint) from None


def _line() -> str:
    """Return the command line that gives the same values."""
    context = click.get_current_context()
    words = context.command_path.split()
    for option in context.command.params:
        name = option.name or ""
        given = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if given and name not in ("json", "out", "force"):
            value = context.params[name]
            words += (
                [option.opts[0]]
                if value is True
                else [option.opts[0], _written(value, option.type)]
            )
    return shlex.join(words)


def _written(value: Any, kind: click.ParamType[Any]) -> str:
    if isinstance(value, tuple):
        return ",".join(f"{each:.15g}" for each in value)
    return (
        f"{value:g}s"
        if isinstance(kind, Seconds)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


@model.command("smart-framing")
@_losses("0.001,0.01,0.02,0.05,0.08,0.1,0.12,0.15,0.2")
@law
@_count("--segments", 4, "N_sf: number of small segments in a full-sized segment.")
@_count("--threshold", 4, "Upper end of the region: window in full-sized segments.")
@_number("--alpha", 1.32, "Growth factor of the segment size of VS-TCP-SF.")
@_seconds("--rtt", "200ms", "Round-trip time.")
@_seconds("--rto", "1.5s", "Retransmission timeout.")
@mss
@_bytes("--header", 40, "Header of a segment; --overhead is an alias.", "--overhead", "overhead")
@click.option(
    "--reading",
    type=OneOf(["A", "B"]),
    default="A",
    show_default=True,
    help="Reading of Classic's timeout state in the paper (A or B; see docs/concepts/models.md).",
)
@click.option(
    "--wait",
    type=OneOf(["last", "whole"]),
    default="last",
    show_default=True,
    help="Duration of a timeout: only the last interval, as printed in (1), or the whole wait.",
)
@click.option(
    "--counted",
    type=OneOf(["printed", "all"]),
    default="printed",
    show_default=True,
    help="Rewards (segments per state) as printed, or including the new segments before a loss.",
)
@click.option("--net", is_flag=True, help="Compute the throughput without headers.")
@click.option(
    "--chain",
    is_flag=True,
    help="Print the states and transitions of Figs. 9 to 11 for one loss probability "
    "(default 0.05).",
)
@as_json
@page
@force()
@click.pass_context
def smart_framing(context: click.Context, /, *, chain: bool, **arguments: Any) -> None:
    """Smart Framing in the small-window region.

    The model gives throughput, gain and waste of Classic TCP, VS-TCP-SF and FS-TCP-SF (Mellia, Meo,
    Casetti 2005, section V).
    """
    if not chain:
        _show("smart_framing", arguments)
        return
    from tcpsf.cli import closed_model as work

    chosen = context.get_parameter_source("loss") is click.core.ParameterSource.COMMANDLINE
    with _naming_options():
        work.chains(chosen=chosen, line=_line(), **arguments)


@model.command("short-flow")
@click.option(
    "--size",
    type=SizeList(),
    metavar="SIZE,...",
    default="1000,10000,32000,128000",
    show_default=True,
    help="Sizes of the transfer.",
)
@_losses("0.05")
@rtt
@rto
@mss
@_number("--initial-window", 1.0, "Initial window in segments.")
@ack_every
@_seconds("--delayed-ack", "100ms", "Delay of the first acknowledgment.")
@window_limit
@as_json
@page
@force()
def short_flow(**arguments: Any) -> None:
    """Completion time of a short transfer.

    The command computes four models of Cardwell, Savage and Anderson (1998, 2000): no loss (1),
    steady-state rate (4), the short-flow model (14), and its refinement of 2000.
    """
    _show("short_flow", arguments)


@model.command()
@_losses("0.0001,0.001,0.01,0.02,0.05,0.1,0.2")
@rtt
@rto
@mss
@window_limit
@ack_every
@as_json
@page
@force()
def padhye(**arguments: Any) -> None:
    """Steady-state rate with timeouts.

    Padhye, Firoiu, Towsley, Kurose 1998.
    """
    _show("padhye", arguments)


@model.command()
@_losses("0.0001,0.001,0.01,0.02,0.05,0.1,0.2")
@rtt
@mss
@_number("--ack-every", 1.0, "Number of segments per acknowledgment.")
@as_json
@page
@force()
def mathis(**arguments: Any) -> None:
    """Steady-state rate without timeouts.

    Mathis, Semke, Mahdavi, Ott 1997.
    """
    _show("mathis", arguments)


@model.command("packet-discard")
@click.option(
    "--window",
    type=CountList(least=LEAST_WINDOW, most=MOST_WINDOW),
    metavar="W,...",
    default="4:16",
    show_default=True,
    help="Windows in segments, from 2 to 64; 4:16 is 4 to 16.",
)
@click.option(
    "--lost",
    type=CountList(least=0, most=MOST_WINDOW, empty=True),
    metavar="I,...",
    default="",
    help="A single pattern: indexes of the lost segments in the window, from 0.",
)
@click.option(
    "--losses", "most_losses", type=Count(least=1, most=6), metavar="N", default=4, show_default=True,
    help="Maximum number of losses in a pattern, up to 6.",
)  # fmt: skip
@as_json
@page
@force()
def packet_discard(**arguments: Any) -> None:
    """Loss patterns that Reno repairs without a timeout.

    Cohen, Hamo 2001, section 2.2.
    """
    _show("packet_discard", arguments)


def _take_profile(
    context: click.Context, _option: click.Parameter, profile: str | None
) -> str | None:
    """Make the values of a profile the defaults of the options for detection and timeouts."""
    if profile is None:
        return None
    import json

    from tcpsf import _core

    table = next(each for each in json.loads(_core.profiles()) if each["profile"] == profile)
    linux = _core.counts_packets(_core.sender_of_profile(profile))
    name = "rto_min" if linux else "rto"
    context.default_map = {
        "sender": "linux" if linux else "duplicates",
        name: table["rto_min"],
    }
    return profile


@model.command("best-framing")
@_bytes("--size", 1200, "Size of the body.")
@_bytes("--cwnd", 14_600, "Congestion window.")
@_seconds("--rtt", "50ms", "Round-trip time.")
@click.option(
    "--loss", type=Probability(), metavar="P", default=0.01, show_default=True,
    help="Loss probability of a packet with a full-sized segment.",
)  # fmt: skip
@law
@click.option(
    "--profile",
    type=OneOf(PROFILES),
    is_eager=True,
    callback=_take_profile,
    help="TCP of this system: --sender with its minimum timeout. Explicit options take precedence.",
)
@click.option(
    "--sender",
    type=OneOf(["linux", "duplicates"]),
    default="linux",
    show_default=True,
    help="Loss detection: RACK-TLP with Linux's timers, or three duplicate acknowledgments.",
)
@_seconds("--rto", "1s", "Retransmission timeout, with --sender duplicates.")
@_seconds("--rto-min", "200ms", "Minimum retransmission timeout, with --sender linux.")
@mss
@_bytes("--header", 40, "Header of a packet; --overhead is an alias.", "--overhead", "header")
@click.option(
    "--rate", type=ByteRate(), metavar="RATE",
    help="Rate of the link, e.g. 10mbit.  [default: unlimited]",
)  # fmt: skip
@click.option(
    "--window-counts",
    type=OneOf(["bytes", "packets"]),
    help="Unit of the congestion window.  [default: packets with linux, else bytes]",
)
@click.option(
    "--objective",
    type=OneOf(["mean", "p99"]),
    default="mean",
    show_default=True,
    help="Minimise the mean or the 99th percentile.",
)
@_count("--most-segments", 8, "Maximum number of segments of a body, at most 12.")
@as_json
@page
@force()
def best_framing(**arguments: Any) -> None:
    """Segmentation of a body that minimises the delay from loss.

    The model enumerates every loss pattern, for Smart Framing, for methods that protect the last
    segments, and for the best segmentation.
    """
    del arguments["profile"]  # the values of the other options contain it
    _show("best_framing", arguments)


@model.command()
@as_json
@click.option(
    "--out",
    type=FOLDER,
    metavar="DIR",
    default="tcpsf-models",
    show_default=True,
    help="Folder for the page.",
)
@force()
def report(**arguments: Any) -> None:
    """Write a page with the papers' closed-form figures.

    The page also has the papers' conclusions, each with a verdict.
    """
    from tcpsf.cli import closed_model as work

    work.report(line=_line(), **arguments)
