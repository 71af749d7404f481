"""The command line: data on standard output, talk on standard error, errors in one line with a hint.

Exit status 0: done. 2: bad input or a result that could not be written. 128 and the number of a
signal: Ctrl-C (130), SIGTERM (143) or SIGHUP (129) has ended the program.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

import click

from tcpsf.cli.app import app
from tcpsf.cli.output import fill_standard_streams, one_line, plain_output, talk
from tcpsf.cli.signals import WORDS, ending
from tcpsf.errors import TcpsfError

COMPLETION = "_TCPSF_COMPLETE"
"""The variable by which a shell asks for completions, as click has it."""

SIGNALLED = 128
"""What shells add to the number of a signal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    fill_standard_streams()
    try:
        with ending():
            if COMPLETION in os.environ:
                from click.shell_completion import shell_complete

                with plain_output():
                    return shell_complete(app, {}, "tcpsf", COMPLETION, os.environ[COMPLETION])
            with app.make_context(
                "tcpsf", list(sys.argv[1:] if arguments is None else arguments)
            ) as context:
                app.invoke(context)
    except click.exceptions.Exit as answered:  # --help and --version
        return answered.exit_code
    except TcpsfError as error:
        return _complain(str(error), error.hint, error.status)
    except click.exceptions.NoArgsIsHelpError as error:
        talk(error.format_message())
        return 2
    except click.ClickException as error:
        return _misused(error)
    except KeyboardInterrupt as stopped:
        number = signal.Signals(getattr(stopped, "number", signal.SIGINT))
        talk(WORDS[number])
        return SIGNALLED + number
    return 0


def _complain(message: str, hint: str | None, status: int = 2) -> int:
    talk(f"error: {one_line(message)}" + ("" if hint is None else f"\nhint: {one_line(hint)}"))
    return status


def _misused(error: click.ClickException) -> int:
    message = error.format_message()
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "tcpsf"
    return _complain(
        f"{message[0].lower()}{message[1:].rstrip('.')}", f"`{command} --help` lists what there is"
    )
