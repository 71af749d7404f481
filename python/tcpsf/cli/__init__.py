"""The command line: data on standard output, talk on standard error, errors in one line with a hint.

Exit status 0: done. 2: bad input or a result that could not be written. 130: interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from tcpsf.cli.app import app
from tcpsf.errors import TcpsfError

INTERRUPTED = 130
"""128 + SIGINT, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    try:
        with app.make_context("tcpsf", list(sys.argv[1:] if arguments is None else arguments)) as context:
            app.invoke(context)
    except click.exceptions.Exit as answered:  # --help and --version
        return answered.exit_code
    except TcpsfError as error:
        return _complain(str(error), error.hint)
    except click.exceptions.NoArgsIsHelpError as error:
        sys.stderr.write(f"{error.format_message()}\n")
        return 2
    except click.ClickException as error:
        return _misused(error)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    return 0


def _complain(message: str, hint: str | None) -> int:
    sys.stderr.write(f"error: {message}\n")
    if hint is not None:
        sys.stderr.write(f"hint: {hint}\n")
    return 2


def _misused(error: click.ClickException) -> int:
    message = error.format_message()
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "tcpsf"
    return _complain(f"{message[0].lower()}{message[1:].rstrip('.')}", f"`{command} --help` lists what there is")
