"""Commands with their options, read from the definitions of the command line.

`tcpsf.pages.man` and `tcpsf.pages.command_reference` write them as man pages and as Markdown.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass

import click

from tcpsf.cli.app import app


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentedCommand:
    """A command, as its help describes it."""

    words: tuple[str, ...]
    """Words that call the command, from `tcpsf` on."""

    usage: str
    """Arguments that follow the words."""

    paragraphs: tuple[str, ...]
    """Description without line breaks; the first paragraph is a summary of one sentence."""

    options: tuple[tuple[str, str], ...]
    """Each option with its metavariable, and its text."""

    commands: tuple[tuple[str, str], ...]
    """Words of each command of a group, and its summary."""

    @property
    def name(self) -> str:
        """Return the words with spaces between them."""
        return " ".join(self.words)

    @property
    def summary(self) -> str:
        """Return the first paragraph."""
        return self.paragraphs[0]


def documented() -> Iterator[DocumentedCommand]:
    """Yield `tcpsf` and every command below it, a group before its commands."""
    yield from _below(app, "tcpsf")


def _below(command: click.Command, name: str) -> Iterator[DocumentedCommand]:
    context = click.Context(command, info_name=name, **app.context_settings)
    inner = list(command.commands.items()) if isinstance(command, click.Group) else []
    yield DocumentedCommand(
        words=tuple(name.split()),
        usage=" ".join(command.collect_usage_pieces(context)),
        paragraphs=_paragraphs(command),
        options=tuple(
            record
            for option in command.get_params(context)
            if isinstance(option, click.Option)
            and (record := option.get_help_record(context)) is not None
        ),
        commands=tuple((f"{name} {word}", _paragraphs(each)[0]) for word, each in inner),
    )
    for word, each in inner:
        yield from _below(each, f"{name} {word}")


def _paragraphs(command: click.Command) -> tuple[str, ...]:
    blocks = inspect.cleandoc(command.help or "").split("\n\n")
    return tuple(" ".join(block.split()) for block in blocks)
