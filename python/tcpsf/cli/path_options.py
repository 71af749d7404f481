"""Options of `tcpsf link` that each link of a command has for itself, and further links."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import click

from tcpsf.cli import usage
from tcpsf.cli.line_options import line_options
from tcpsf.cli.options import FOLDER, SEED, Option, force, page, pcap, together
from tcpsf.cli.quantities import AsText, Bytes, OneOf, Seconds
from tcpsf.emulation.presets import PRESETS
from tcpsf.errors import TcpsfError

TIME = AsText(Seconds())
BESIDE = "--beside"
OF_THE_COMMAND = ("--outside", BESIDE, "--nat", "--netns", "--pid")
"""Options that a further link does not have."""

path_options: Option = together(
    click.option(
        "--mtu",
        type=Bytes(least=1280, most=65_535),
        metavar="SIZE",
        default=1500,
        show_default=True,
        help="Maximum packet size, from 1280 to 65535 bytes.",
    ),
    click.option(
        "--preset",
        type=OneOf(tuple(PRESETS)),
        metavar="KIND",
        help=f"Begin with a link like this kind of access: {', '.join(PRESETS)}. Other options replace its "
        "values.",
    ),
    click.option(
        "--rtt",
        type=TIME,
        metavar="TIME",
        help="Round-trip time: each direction has half of it as its delay.",
    ),
    click.option(
        "--at",
        metavar="CHANGE",
        multiple=True,
        help="Change an option of the link at a time, e.g. 10s:loss=100% or 10s:up-rate=1mbit, or only for a "
        "time, e.g. 10s:2s:loss=100%. May be given several times.",
    ),
    click.option(
        "--every",
        metavar="CHANGE",
        multiple=True,
        help="Change an option of the link in each period for a time, e.g. 60s:2s:loss=100%. May be given "
        "several times.",
    ),
    click.option(
        "--name",
        metavar="NAME",
        help="Name of the link, with which `set`, `show` and `stats` reach it while it runs.",
    ),
    click.option(
        "--seed", type=SEED, metavar="N", default=1, show_default=True, help="Random seed."
    ),
    click.option(
        "--spin",
        type=TIME,
        metavar="TIME",
        help="Busy-wait this long before each deadline, e.g. 200us. More precise, and uses up to one "
        "core.",
    ),
    click.option(
        "--offload/--no-offload",
        default=True,
        show_default=True,
        help="Exchange TCP segments with the kernel in groups of up to 64 kB. On the link they are "
        "single packets in both cases.",
    ),
)
"""Decorator that adds options of the link, except those of one direction."""

file_options: Option = together(
    pcap(
        "Write packets to this file, as pcapng for Wireshark, with comments.",
        places=("inside", "outside"),
        place="END",
        where="Capture inside (at COMMAND's end), outside, or at both ends.  [default: inside]",
        default_bytes="all",
    ),
    click.option(
        "--json",
        type=FOLDER,
        metavar="FILE",
        help="Write the statistics to this file as one line of JSON.",
    ),
    page("Write a page with the statistics to this file."),
    force("--pcap, --json and --report"),
)
"""Decorator that adds the files that a link writes."""

beside_option: Option = click.option(
    BESIDE,
    metavar="OPTIONS",
    multiple=True,
    help="Add a link to COMMAND's network, with options of its own, e.g. '--name lte --preset lte'. "
    "Packets from its address pass it. May be given several times. Without root it needs --nat or "
    "--outside.",
)
"""Decorator that adds the option of further links."""


@click.command(BESIDE, add_help_option=False)
@line_options
@path_options
@file_options
def _further() -> None:
    """Hold the options of a further link."""


def further_links(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return the options of each further link; their texts are split as by a shell.

    Raises `TcpsfError` if a text cannot be split or an option is invalid.
    """
    return [_options_of(text) for text in texts]


def _options_of(text: str) -> dict[str, Any]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise TcpsfError(
            f"cannot read `{BESIDE} {text}`: {str(error).lower()}",
            hint="quote the options as for a shell",
        ) from None
    if not words:
        raise TcpsfError(
            f"cannot read `{BESIDE}`: it has no options",
            hint=f"e.g. `{BESIDE} '--name lte --preset lte'`",
        )
    context = click.Context(_further, info_name="tcpsf link")
    usage.remember(context, words)
    try:
        _further.parse_args(context, words)
    except click.ClickException as error:
        message, hint = usage.explained(error)
        if isinstance(error, click.NoSuchOption) and error.option_name in OF_THE_COMMAND:
            hint = f"it is an option of the command, not of one link: give it before `{BESIDE}`"
        raise TcpsfError(f"`{BESIDE}`: {message}", hint=hint) from None
    return dict(context.params)
