"""Command `tcpsf drill`: options and help texts."""

from __future__ import annotations

from typing import Any

import click

from tcpsf.cli.options import FOLDER, Command, as_json
from tcpsf.cli.quantities import OneOf

PROFILES = ("linux-6.18", "linux-6.12", "rfc")
"""Names of the profiles; `_core.drill_profiles` has the same."""


@click.command(cls=Command)
@click.argument("files", type=FOLDER, nargs=-1, required=True, metavar="FILE.pkt...")
@click.option(
    "--profile",
    type=OneOf(PROFILES),
    default="linux-6.18",
    show_default=True,
    help="Configuration of the TCP: linux-6.18, linux-6.12 or rfc.",
)
@click.option(
    "--sender",
    metavar="NAME",
    help='TCP variant instead of that of the profile, e.g. "reno+sack / full / iw=10".',
)
@click.option(
    "-D",
    "--define",
    "definitions",
    metavar="NAME=VALUE",
    multiple=True,
    help="Replace a word of the scripts by a value. May be given several times.",
)
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Override a setting of the scripts, e.g. tolerance_usecs=10000. May be given several times.",
)
@click.option(
    "--strict-psh",
    is_flag=True,
    help="Compare the flag PSH also on packets of several segments.",
)
@click.option("--trace", is_flag=True, help="Print every event with its time.")
@as_json
def drill(**arguments: Any) -> None:
    """Play packetdrill scripts against tcpsf's TCP, in virtual time.

    A script states which packets arrive, which system calls are made, and which packets must leave
    at which time. The command needs neither root nor a kernel. Of a folder, all .pkt files below it
    are played.

    Each script passes, fails, is not applicable because it needs something that tcpsf does not
    have, or cannot be read. The exit status is 2 if one cannot be read, otherwise 1 if one fails or
    none passes, and otherwise 0.
    """
    from tcpsf.cli.drill import command

    command(**arguments)
