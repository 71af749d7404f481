"""Colour of text on a terminal.

The environment variable `NO_COLOR` (no-color.org) switches colour off, and `FORCE_COLOR` or
`CLICOLOR_FORCE` switches it on where the output is not a terminal. `NO_COLOR` takes precedence.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO

import click

LABELS = {"error": "red", "warning": "yellow", "hint": "cyan"}
"""Words at the beginning of a message's line, and their colours."""

VERDICTS = {
    "does not hold": "red",
    "holds": "green",
    "undecided": "yellow",
    "passed": "green",
    "failed": "red",
    "not applicable": "yellow",
    "unreadable": "red",
}
"""Verdicts on claims and on scripts, and their colours."""

_LABEL = re.compile(rf"^({'|'.join(LABELS)})(?=: )", re.MULTILINE)
_VERDICT = re.compile(rf"^({'|'.join(VERDICTS)})(?=  )", re.MULTILINE)
_SIGNIFICANT = re.compile(r"(?<=[ (])(\*(?=  |$)|significant(?=, adjusted p))", re.MULTILINE)
_NOT = re.compile(r"not significant(?=, adjusted p)")


def is_wanted(stream: TextIO) -> bool:
    """Return whether text on a stream has colour."""
    if os.environ.get("NO_COLOR"):
        return False
    if any(
        os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")
    ):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def results(text: str) -> str:
    """Colour the verdicts and the marks of significant differences, for standard output."""
    if not is_wanted(sys.stdout):
        return text
    text = _VERDICT.sub(lambda found: _bold(found[0], VERDICTS[found[0]]), text)
    kept = _NOT.split(text)
    marked = [_SIGNIFICANT.sub(lambda found: _bold(found[0], "cyan"), part) for part in kept]
    return "not significant".join(marked)


def labels(text: str) -> str:
    """Colour the words `error`, `warning` and `hint` of a message, for standard error."""
    if not is_wanted(sys.stderr):
        return text
    return _LABEL.sub(lambda found: _bold(found[0], LABELS[found[0]]), text)


def dim(text: str) -> str:
    """Return text in a weaker colour, for standard error."""
    return click.style(text, dim=True) if is_wanted(sys.stderr) else text


def _bold(text: str, colour: str) -> str:
    return click.style(text, fg=colour, bold=True)
