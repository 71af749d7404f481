"""The group `tcpsf cure`: its commands with their options and help texts."""

from __future__ import annotations

from typing import Any

import click

from tcpsf.cli.options import FOLDER, InOrder, as_json, together
from tcpsf.cli.quantities import Count

_policy = click.option(
    "--policy",
    metavar="REMEDY",
    required=True,
    help="Remedies, joined by `+`: dup-tail, rto-min(ms=N), iw=N.",
)

_target = together(
    _policy,
    click.option(
        "--port",
        "ports",
        type=Count(least=1, most=65_535),
        metavar="N",
        multiple=True,
        help="Port of the server. May be given several times.",
    ),
    click.option(
        "--device",
        "devices",
        metavar="NAME",
        multiple=True,
        help="Device through which responses leave, for `dup-tail`. May be given several times.  "
        "[default: all that are up, without loopback]",
    ),
    as_json,
)
"""The options that `run` and `attach` share."""


@click.group(cls=InOrder)
def cure() -> None:
    """Change how the kernel sends for a running server.

    The server is not changed and not restarted: BPF programs apply the remedy below it. It ends with
    the command. The commands need root, or the capabilities CAP_BPF and CAP_NET_ADMIN.
    """


@cure.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...")
@_target
def run(**arguments: Any) -> None:
    """Run a command with a remedy for all its connections.

    The exit status is that of COMMAND. Programs that COMMAND starts have the remedy, too.

    For example: tcpsf cure run --policy dup-tail -- nginx -g 'daemon off;'
    """
    from tcpsf.cli.cure import run

    run(**arguments)


@cure.command()
@_target
@click.option(
    "--cgroup",
    type=FOLDER,
    metavar="DIR",
    help="Control group (cgroup v2) of the server, e.g. that of a systemd service.",
)
@click.option(
    "--anyway",
    is_flag=True,
    help="Attach the remedy even if nothing listens at the ports yet.",
)
def attach(**arguments: Any) -> None:
    """Apply a remedy to a running server, until Ctrl-C.

    `dup-tail` applies to existing connections, too. `rto-min` and `iw` apply to new ones.

    For example: tcpsf cure attach --policy 'dup-tail+rto-min(ms=20)' --port 443
    """
    from tcpsf.cli.cure import attach

    attach(**arguments)


@cure.command()
@as_json
def status(**arguments: Any) -> None:
    """List the attached remedies of this network namespace."""
    from tcpsf.cli.cure import status

    status(**arguments)


@cure.command()
@click.argument("processes", nargs=-1, metavar="[PID]...", type=Count(least=1))
@click.option("--all", "everything", is_flag=True, help="Detach all remedies.")
def detach(**arguments: Any) -> None:
    """End remedies, by the processes that attached them.

    A command that `tcpsf cure run` has started continues without the remedy.
    """
    from tcpsf.cli.cure import detach

    detach(**arguments)
