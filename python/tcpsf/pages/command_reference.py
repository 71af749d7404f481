"""Reference of all commands, generated from the definitions of the command line.

The command is ``python -m tcpsf.pages.command_reference``. A test fails when
``docs/reference/commands.md`` differs from its output.
"""

from __future__ import annotations

import re
import sys

from tcpsf.pages.commands import DocumentedCommand, documented

INTRODUCTION = """\
# Commands

<!-- Written by `python -m tcpsf.pages.command_reference` from the definitions in `python/tcpsf/cli/`. -->

`tcpsf COMMAND -h` prints the section of a command. The wheel also contains them as man pages:
`man tcpsf-sim`. [Command line](command-line.md) has the rules for quantities, errors, output and
colour. Every command has the options `-q`, `-v` and `-h`, which the sections below leave out.
"""

COMMON = ("-q, --quiet", "-v, --verbose", "-h, --help")
"""Options of every command."""


def page() -> str:
    """Return the page, as Markdown."""
    commands = list(documented())
    rows = "\n".join(
        f"| [`{each.name}`](#{_anchor(each.name)}) | {_prose(each.summary)} |"
        for each in commands
        if len(each.words) == 2
    )
    table = f"| command | purpose |\n| --- | --- |\n{rows}\n"
    return "\n".join([INTRODUCTION, table, *(_section(each) for each in commands)])


def _section(command: DocumentedCommand) -> str:
    parts = [
        f"{'#' * min(len(command.words) + 1, 4)} {command.name}",
        f"```text\n{command.name} {command.usage}\n```",
        *map(_prose, command.paragraphs),
    ]
    options = [record for record in command.options if record[0] not in COMMON]
    if options:
        rows = "\n".join(
            f"| `{_cell(option)}` | {_prose(_cell(text))} |" for option, text in options
        )
        parts.append(f"| option | effect |\n| --- | --- |\n{rows}")
    if command.commands and len(command.words) > 1:
        parts.append(
            "\n".join(
                f"- [`{name}`](#{_anchor(name)}): {_prose(summary)}"
                for name, summary in command.commands
            )
        )
    return "\n\n".join(parts) + "\n"


def _anchor(heading: str) -> str:
    return heading.replace(" ", "-")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _prose(text: str) -> str:
    """Return a help text as Markdown: options, quantities with symbols and URLs as code."""
    parts = text.split("`")
    for number in range(0, len(parts), 2):
        parts[number] = re.sub(
            r"(?<![\w`-])(--?[a-z][\w.-]*[\w]|https?:\S+|\S*[_*^<>]\S*)", r"`\1`", parts[number]
        )
    return "`".join(parts)


if __name__ == "__main__":
    sys.stdout.write(page())
