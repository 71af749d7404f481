"""Options of `tcpsf link` for what is at its ends: other networks, or an existing namespace."""

from __future__ import annotations

from collections.abc import Sequence

import click

from tcpsf.cli.options import Option, together
from tcpsf.cli.quantities import Count
from tcpsf.errors import TcpsfError

reach_options: Option = together(
    click.option(
        "--nat",
        is_flag=True,
        help="Let COMMAND reach hosts outside of this machine: by address translation or, without "
        "root, by a gateway where connections end. Names are resolved as on this machine.",
    ),
    click.option(
        "--netns",
        metavar="NAME|PATH",
        help="Attach the link to an existing network namespace, as its way out. Without COMMAND, "
        "the link ends with Ctrl-C. Needs root.",
    ),
    click.option(
        "--pid",
        type=Count(least=1),
        metavar="N",
        help="Attach the link to the network namespace of this process, e.g. of a container. "
        "Without COMMAND, the link ends with the process or Ctrl-C. Needs root.",
    ),
)
"""Decorator that adds the options."""


def existing_namespace(
    command: Sequence[str], netns: str | None, pid: int | None
) -> tuple[str, str] | None:
    """Return the kind and the value of the namespace that gets the link, `None` for a new one.

    Without one, a command is required.
    """
    if netns is not None and pid is not None:
        raise TcpsfError(
            f"cannot attach the link: `--netns {netns}` with `--pid {pid}`",
            hint="omit one of them",
        )
    if netns is not None:
        return "namespace", netns
    if pid is not None:
        return "process", str(pid)
    if not command:
        context = click.get_current_context()
        parameters = {parameter.name: parameter for parameter in context.command.params}
        raise click.MissingParameter(ctx=context, param=parameters["command"])
    return None
