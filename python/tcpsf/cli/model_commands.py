"""The commands below `tcpsf model` and their options."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any

import click

from tcpsf.cli.options import FOLDER, InOrder, as_json, force, out
from tcpsf.cli.quantities import ByteRate, Bytes, Counts, Probabilities, Probability, Seconds, Sizes


class Law(click.ParamType[str | float]):
    """How loss depends on size."""

    name = "law"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a word or an exponent."""
        if value in ("linear", "constant"):
            return value
        try:
            return float(value)
        except ValueError:
            self.fail(
                f"`{value}` is neither linear, constant nor an exponent such as 0.5", param, ctx
            )


def _seconds(name: str, default: str, told: str) -> Callable[..., Any]:
    return click.option(
        name, type=Seconds(), metavar="TIME", default=default, show_default=True, help=told
    )


def _number(name: str, default: float, told: str) -> Callable[..., Any]:
    return click.option(
        name, type=float, metavar="X", default=default, show_default=f"{default:g}", help=told
    )


def _bytes(name: str, default: int, told: str, *more: str) -> Callable[..., Any]:
    return click.option(
        name, *more, type=Bytes(), metavar="SIZE", default=default, show_default=True, help=told
    )


def _count(name: str, default: int, told: str) -> Callable[..., Any]:
    return click.option(name, type=int, metavar="N", default=default, show_default=True, help=told)


def _losses(default: str) -> Callable[..., Any]:
    return click.option(
        "--loss",
        type=Probabilities(),
        metavar="P,...",
        default=default,
        show_default=True,
        help="Loss probabilities.",
    )


LEAST_WINDOW, MOST_WINDOW = 2, 64
"""Segments of a window for which the patterns of losses are played through."""

law = click.option(
    "--law",
    type=Law(),
    metavar="LAW",
    default="linear",
    show_default=True,
    help="Loss by size: linear, constant, or an exponent from 0 to 1.",
)
rtt = _seconds("--rtt", "70ms", "Round trip.")
rto = _seconds("--rto", "1s", "Retransmission timeout.")
mss = _bytes("--mss", 1460, "Payload of a full-sized segment.")
ack_every = _number("--ack-every", 2.0, "Segments that an acknowledgement covers.")
page = out("Write a page with the figure there, and the JSON.")
window_limit = _bytes("--window-limit", 65_535, "Largest window.")


@click.group(cls=InOrder)
def model() -> None:
    """Compute the papers' closed models."""


def _show(sheet: str, arguments: Mapping[str, Any]) -> None:
    from tcpsf.cli import model as work
    from tcpsf.report import model_sheets

    make = work.best_framing if sheet == "best_framing" else getattr(model_sheets, sheet)
    work.show(make, line=_line(), **arguments)


def _line() -> str:
    """The command line that gives the same values."""
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
@_count("--segments", 4, "N_sf: small segments to a full-sized one.")
@_count("--threshold", 4, "Full-sized segments of window that end the region.")
@_number("--alpha", 1.32, "Growth of a segment, variable size.")
@_seconds("--rtt", "200ms", "Round trip.")
@_seconds("--rto", "1.5s", "Retransmission timeout.")
@mss
@_bytes("--header", 40, "Header of a segment; --overhead is the same.", "--overhead", "overhead")
@click.option(
    "--reading",
    type=click.Choice(["A", "B"]),
    default="A",
    show_default=True,
    help="How to read the paper's timeout state of Classic (A or B; see docs/concepts/models.md).",
)
@click.option(
    "--wait",
    type=click.Choice(["last", "whole"]),
    default="last",
    show_default=True,
    help="Time in a timeout: the last interval, as (1) prints it, or the whole wait.",
)
@click.option(
    "--counted",
    type=click.Choice(["printed", "all"]),
    default="printed",
    show_default=True,
    help="Rewards as printed, or with the new segments before a loss.",
)
@click.option("--net", is_flag=True, help="Throughput without headers.")
@click.option(
    "--chain",
    is_flag=True,
    help="States and transitions of Figs. 9 to 11 for one loss (default 0.05).",
)
@as_json
@page
@force()
@click.pass_context
def smart_framing(context: click.Context, /, *, chain: bool, **arguments: Any) -> None:
    """The small-window region of Smart Framing.

    Throughput, gain and waste of Classic TCP, VS-TCP-SF and FS-TCP-SF (Mellia, Meo, Casetti 2005,
    section V).
    """
    if not chain:
        _show("smart_framing", arguments)
        return
    from tcpsf.cli import model as work

    chosen = context.get_parameter_source("loss") is click.core.ParameterSource.COMMANDLINE
    work.chains(chosen=chosen, line=_line(), **arguments)


@model.command("short-flow")
@click.option(
    "--size",
    type=Sizes(),
    metavar="SIZE,...",
    default="1000,10000,32000,128000",
    show_default=True,
    help="Sizes of the transfer.",
)
@_losses("0.05")
@rtt
@rto
@mss
@_number("--initial-window", 1.0, "Segments of the first window.")
@ack_every
@_seconds("--delayed-ack", "100ms", "Delay of the first acknowledgement.")
@window_limit
@as_json
@page
@force()
def short_flow(**arguments: Any) -> None:
    """Time of a short transfer.

    Without loss (1), at the steady rate (4), by the short-flow model (14) and by its refinement of
    2000 (Cardwell, Savage, Anderson 1998, 2000).
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
    """Steady rate with timeouts.

    Padhye, Firoiu, Towsley, Kurose 1998.
    """
    _show("padhye", arguments)


@model.command()
@_losses("0.0001,0.001,0.01,0.02,0.05,0.1,0.2")
@rtt
@mss
@_number("--ack-every", 1.0, "Segments that an acknowledgement covers.")
@as_json
@page
@force()
def mathis(**arguments: Any) -> None:
    """Steady rate without timeouts.

    Mathis, Semke, Mahdavi, Ott 1997.
    """
    _show("mathis", arguments)


@model.command("packet-discard")
@click.option(
    "--window",
    type=Counts(least=LEAST_WINDOW, most=MOST_WINDOW),
    metavar="W,...",
    default="4:16",
    show_default=True,
    help="Segments; 4:16 is 4 to 16.",
)
@click.option(
    "--lost",
    type=Counts(least=0, most=MOST_WINDOW, empty=True),
    metavar="I,...",
    default="",
    help="One pattern: places lost, from 0.",
)
@click.option(
    "--losses", "most_losses", type=click.IntRange(1, 6), metavar="N", default=4, show_default=True,
    help="Patterns of up to so many losses.",
)  # fmt: skip
@as_json
@page
@force()
def packet_discard(**arguments: Any) -> None:
    """Losses that Reno repairs without its timer.

    Cohen, Hamo 2001, section 2.2.
    """
    _show("packet_discard", arguments)


@model.command("best-framing")
@_bytes("--size", 1200, "Size of the body.")
@_bytes("--cwnd", 14_600, "Window.")
@_seconds("--rtt", "50ms", "Round trip.")
@click.option(
    "--loss", type=Probability(), metavar="P", default=0.01, show_default=True,
    help="Loss of a packet with a full-sized segment.",
)  # fmt: skip
@law
@click.option(
    "--sender",
    type=click.Choice(["linux", "duplicates"]),
    default="linux",
    show_default=True,
    help="RACK-TLP with Linux's timers, or three duplicates.",
)
@_seconds("--rto", "1s", "Timeout, with --sender duplicates.")
@_seconds("--rto-min", "200ms", "Smallest timeout, with --sender linux.")
@mss
@_bytes("--header", 40, "Header of a packet; --overhead is the same.", "--overhead", "header")
@click.option(
    "--rate", type=ByteRate(), metavar="RATE",
    help="Rate of the line, e.g. 10mbit; without a unit, bytes per second.  [default: infinitely fast]",
)  # fmt: skip
@click.option(
    "--window-counts",
    type=click.Choice(["bytes", "packets"]),
    help="What the window counts.  [default: packets with linux, else bytes]",
)
@click.option(
    "--objective",
    type=click.Choice(["mean", "p99"]),
    default="mean",
    show_default=True,
    help="Minimise the mean or the 99th percentile.",
)
@_count("--most-segments", 8, "Segments of a cut, to 12.")
@as_json
@page
@force()
def best_framing(**arguments: Any) -> None:
    """The cut of a body that loss delays least.

    Every pattern of losses is played through, for Smart Framing, for guards of the tail and for the
    best cut.
    """
    _show("best_framing", arguments)


@model.command()
@as_json
@click.option(
    "--out",
    type=FOLDER,
    metavar="DIR",
    default="tcpsf-models",
    show_default=True,
    help="Where the page goes.",
)
@force()
def report(**arguments: Any) -> None:
    """A page of the papers' closed figures.

    With what their texts conclude, each with a verdict.
    """
    from tcpsf.cli import model as work

    work.report(line=_line(), **arguments)
