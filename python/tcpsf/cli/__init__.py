"""The command line: results on standard output, messages on standard error.

An error is one line with a hint. The exit status is 0 for success, 2 for bad input or a result that
cannot be written, and 128 plus the signal's number when a signal ends the program: 130 for Ctrl-C,
143 for SIGTERM, 129 for SIGHUP.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

import click

from tcpsf.cli import usage, verbosity
from tcpsf.cli.app import app
from tcpsf.cli.completion import COMPLETION
from tcpsf.cli.output import plain_output, print_error
from tcpsf.cli.signals import WORDS, ending
from tcpsf.cli.streams import fill_standard_streams, to_stderr
from tcpsf.errors import TcpsfError

SIGNALLED = 128
"""Offset that shells add to a signal's number to form an exit status."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    fill_standard_streams()
    verbosity.begin()
    try:
        status = _run(list(sys.argv[1:] if arguments is None else arguments))
        verbosity.report_end(status)
    finally:
        verbosity.end()
    return status


def _run(arguments: list[str]) -> int:
    try:
        with ending():
            if COMPLETION in os.environ:
                from click.shell_completion import shell_complete

                with plain_output():
                    return shell_complete(app, {}, "tcpsf", COMPLETION, os.environ[COMPLETION])
            with app.make_context("tcpsf", arguments) as context:
                app.invoke(context)
    except click.exceptions.Exit as answered:  # --help and --version
        return answered.exit_code
    except TcpsfError as error:
        print_error(str(error), error.hint)
        return error.status
    except click.exceptions.NoArgsIsHelpError as error:
        to_stderr(error.format_message())
        return 2
    except click.ClickException as error:
        print_error(*usage.explained(error))
        return 2
    except KeyboardInterrupt as stopped:
        number = signal.Signals(getattr(stopped, "number", signal.SIGINT))
        to_stderr(WORDS[number])
        return SIGNALLED + number
    return 0
