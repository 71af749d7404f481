"""Errors of the command line itself: one line that names the option as it was typed, and a hint."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import click

from tcpsf.cli.quantities import BadValue

WORDS = "tcpsf.words"
"""Key of the typed words in the data of a click context."""

QUOTED = re.compile(r"'([^']*)'")
"""A name in an error of click. The errors of tcpsf have backticks."""


def remember(context: click.Context, words: Sequence[str]) -> None:
    """Store the words of the command line for error messages."""
    context.meta.setdefault(WORDS, tuple(words))


def explained(error: click.ClickException) -> tuple[str, str]:
    """Return the message and the hint for an error of click."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    command = context.command_path if context is not None else "tcpsf"
    help_hint = f"`{command} --help` lists commands and options"
    if isinstance(error, BadValue):
        shown = str(error.value)
        return f"{_place(error, shown)}: {error.message}", error.hint or help_hint
    near = " or ".join(f"`{name}`" for name in getattr(error, "possibilities", None) or ())
    if isinstance(error, click.NoSuchOption):
        return (
            f"no such option `{error.option_name}`",
            f"did you mean {near}?" if near else help_hint,
        )
    if near:
        message = _plain(error.format_message().partition(" Did you mean")[0])
        return message, f"did you mean {near}?"
    if isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter):
        return f"{_place(error)}: {_plain(error.message)}", help_hint
    return _plain(error.format_message()), help_hint


def typed(parameter: click.Parameter, context: click.Context | None) -> str:
    """Return the name of an option as it was typed, or its first name."""
    names = [*parameter.opts, *parameter.secondary_opts]
    words = context.meta.get(WORDS, ()) if context is not None else ()
    given = [word.partition("=")[0] for word in words]
    return next((word for word in reversed(given) if word in names), names[0])


def value_of(parameter: click.Parameter, context: click.Context) -> str:
    """Return the value of an option as it was typed, or its default."""
    words = context.meta.get(WORDS, ())
    names = [*parameter.opts, *parameter.secondary_opts]
    found = str(parameter.default)
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name in names:
            found = value if equals else following
    return found


def _place(error: click.BadParameter, value: str | None = None) -> str:
    """Return the option, with its value if that is known, in backticks."""
    if error.param is None:
        return "the command line"
    if isinstance(error.param, click.Argument):
        return f"`{error.param.human_readable_name.strip('[]')}`"
    name = typed(error.param, error.ctx)
    return f"`{name}`" if value is None else f"`{name} {value if value else shlex.quote(value)}`"


def _plain(message: str) -> str:
    """Begin with a lower-case letter, and put names in backticks."""
    return QUOTED.sub(r"`\1`", f"{message[:1].lower()}{message[1:].rstrip('.')}")
