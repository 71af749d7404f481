"""The command line: data on standard output, talk on standard error, errors in one line with a hint.

Exit status 0: done. 2: bad input or a result that could not be written. 130: interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tcpsf.errors import TcpsfError

INTERRUPTED = 130
"""128 + SIGINT, as shells have it. Typer turns Ctrl-C into this status."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    from typer.exceptions import TyperException

    from tcpsf.cli.app import app

    try:
        status = app(args=None if arguments is None else list(arguments), prog_name="tcpsf", standalone_mode=False)
    except TcpsfError as error:
        return _complain(str(error), error.hint)
    except TyperException as error:
        return _misused(error)
    if status == INTERRUPTED:
        sys.stderr.write("interrupted\n")
    return status or 0


def _complain(message: str, hint: str | None) -> int:
    sys.stderr.write(f"error: {message}\n")
    if hint is not None:
        sys.stderr.write(f"hint: {hint}\n")
    return 2


def _misused(error: Exception) -> int:
    """Report a wrong command line; asking for nothing gets the help."""
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stderr.write(f"{message}\n")
        return 2
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "tcpsf"
    return _complain(f"{message[0].lower()}{message[1:].rstrip('.')}", f"`{command} --help` lists what there is")
