"""The command `tcpsf completion`."""

from __future__ import annotations

import click

from tcpsf.cli.completion import SHELLS
from tcpsf.cli.options import Command
from tcpsf.cli.quantities import OneOf


@click.command(cls=Command)
@click.argument("shell", type=OneOf(SHELLS), metavar="bash|zsh|fish")
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script with which a shell completes commands and options.

    For example, in ~/.bashrc or ~/.zshrc: eval "$(tcpsf completion bash)"

    A wheel contains these scripts. Shells that search the folder share/ of the installation find
    them there.
    """
    from tcpsf.cli.completion import script
    from tcpsf.cli.output import print_result

    print_result(script(context.find_root().command, shell).rstrip("\n"))
