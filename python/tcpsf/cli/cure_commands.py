"""The group `tcpsf cure`: its commands with their options and help texts."""

from __future__ import annotations

from typing import Any

import click

from tcpsf.cli.options import FOLDER, InOrder, as_json, together
from tcpsf.cli.quantities import AddressPrefix, Bytes, Count, Probability, Seconds

_policy = click.option(
    "--policy",
    metavar="REMEDY",
    required=True,
    help="Remedies, joined by `+`: dup-tail, dup-tail(delay=Nms), rto-min(ms=N), iw=N, and one of tail(n=N), tiny-tail "
    "and fs(n=N, min=N).",
)

_selection = together(
    click.option(
        "--port",
        "ports",
        type=Count(least=1, most=65_535),
        metavar="N",
        multiple=True,
        help="Port of the server. May be given several times.",
    ),
    click.option(
        "--peer",
        "peers",
        type=AddressPrefix(),
        metavar="PREFIX",
        multiple=True,
        help="Only connections with peers of this prefix, e.g. 192.0.2.0/24 or 2001:db8::/32. May be "
        "given several times.",
    ),
    click.option(
        "--device",
        "devices",
        metavar="NAME",
        multiple=True,
        help="Device through which responses leave, for `dup-tail` and trials. May be given several "
        "times.  [default: all that are up, without loopback]",
    ),
    as_json,
)
"""The options that all commands that attach a policy share."""

_largest = click.option(
    "--largest",
    type=Bytes(least=1, most=1 << 30),
    metavar="SIZE",
    help="Only responses of at most this size, e.g. 20kB, for `dup-tail` and cuts: bytes that are not "
    "acknowledged at the end of a write.",
)

_running = together(
    _selection,
    click.option(
        "--cgroup",
        type=FOLDER,
        metavar="DIR",
        help="Control group (cgroup v2) of the server, e.g. that of a systemd service.",
    ),
    click.option(
        "--anyway",
        is_flag=True,
        help="Attach the remedy even if nothing listens at the ports yet.",
    ),
)
"""The options for a server that is running."""

_trial = together(
    _running,
    click.option(
        "--for",
        "longest_s",
        type=Seconds(),
        metavar="TIME",
        help="Longest time of a trial.  [default: until there is a verdict]",
    ),
    click.option(
        "--least-gain",
        type=Probability(),
        default="1%",
        show_default=True,
        metavar="SHARE",
        help="Least useful reduction of the mean completion time.",
    ),
)
"""The options of a trial."""


@click.group(cls=InOrder)
def cure() -> None:
    """Change how the kernel sends for a running server.

    The server is not changed and not restarted: BPF programs apply the remedy below it. It ends with
    the command. The commands need root, or the capabilities CAP_BPF and CAP_NET_ADMIN. Without them,
    run --preload starts a server with a library.
    """


@cure.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...")
@_policy
@click.option(
    "--preload",
    is_flag=True,
    help="Apply the remedy by a library that COMMAND loads, without privileges: tail(n=N), "
    "tiny-tail, fs(n=N, min=N) and rto-min(ms=N).",
)
@_largest
@_selection
def run(**arguments: Any) -> None:
    """Run a command with a remedy for all its connections.

    The exit status is that of COMMAND. Programs that COMMAND starts have the remedy, too. With
    --preload, programs must be dynamically linked.

    For example: tcpsf cure run --policy dup-tail -- nginx -g 'daemon off;'
    """
    from tcpsf.cli.cure import run

    run(**arguments)


@cure.command()
@_policy
@_largest
@_running
def attach(**arguments: Any) -> None:
    """Apply a remedy to a running server, until Ctrl-C.

    `dup-tail` applies to existing connections, too. The other remedies apply to new ones.

    For example: tcpsf cure attach --policy 'dup-tail+rto-min(ms=20)' --port 443
    """
    from tcpsf.cli.cure import attach

    attach(**arguments)


@cure.command()
@_policy
@_trial
def trial(**arguments: Any) -> None:
    """Compare connections with a remedy and without it.

    First all connections are measured as they are. Then half of the new connections get the remedy, at
    random. The trial ends when the mean completion time is known to be shorter (keep), or known not to
    be usefully shorter (withdraw). The remedy ends with the trial. The exit status is 0 for keep, 3 for
    withdraw and 4 for not enough data.

    For example: tcpsf cure trial --policy dup-tail --port 443
    """
    from tcpsf.cli.cure_trial import trial

    trial(**arguments)


@cure.command()
@click.option(
    "--policy",
    "policies",
    metavar="REMEDY",
    multiple=True,
    help="Remedy to try. May be given several times.  [default: dup-tail, tail(n=4), "
    "rto-min(ms=50)]",
)
@click.option(
    "--advice",
    type=FOLDER,
    metavar="FILE",
    help="Try the remedies that `tcpsf advise --json` favours.",
)
@click.option(
    "--prefix-v4",
    type=Count(most=32),
    default=24,
    show_default=True,
    metavar="N",
    help="Length of the prefixes of IPv4 clients in bits.",
)
@click.option(
    "--prefix-v6",
    type=Count(most=128),
    default=48,
    show_default=True,
    metavar="N",
    help="Length of the prefixes of IPv6 clients in bits.",
)
@_trial
def auto(**arguments: Any) -> None:
    """Try remedies for each network of clients in turn, and keep the first that helps.

    Clients are grouped by prefixes of their addresses. A prefix with 100 connections has trials of its
    own, and the others have trials together. A remedy with the verdict keep is applied to 15 of 16
    connections of the prefix, and withdrawn if the comparison with the others changes. Then the next
    one is tried. The command ends when no remedy is left for any prefix, with the exit status 3, or
    with Ctrl-C. The exit status is then 0 if a remedy is kept, and otherwise 4.

    For example: tcpsf cure auto --port 443
    """
    from tcpsf.cli.cure_auto import auto

    auto(**arguments)


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
