"""`tcpsf completion`: the scripts with which shells complete the command line.

The scripts are those of click. A shell that has read one runs `tcpsf` with the environment variable
`COMPLETION` for each completion, so that the script need not change with the commands.
"""

from __future__ import annotations

import click

COMPLETION = "_TCPSF_COMPLETE"
"""Environment variable with which a shell requests completions, as click defines it."""

SHELLS = ("bash", "zsh", "fish")


def script(app: click.Command, shell: str) -> str:
    """Return the completion script of ``app`` for one of `SHELLS`.

    Unlike click, this does not run the shell to learn its version.
    """
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise LookupError(f"click has no completion for the shell {shell}")
    return ShellComplete.source(kind(app, {}, "tcpsf", COMPLETION))
