r"""Man pages and completion scripts, which a wheel installs below ``share/``.

``python -m tcpsf.pages.man FOLDER`` writes them. The pages use the macros of man(7), which man-db
and mandoc read. Exit statuses and environment variables come from the tables of
``docs/reference/command-line.md``.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tcpsf import __version__
from tcpsf.cli.app import app
from tcpsf.cli.completion import script
from tcpsf.pages.commands import DocumentedCommand, documented

RULES = Path("docs/reference/command-line.md")
"""Page with the tables, in the folder from which the program is run."""

SCRIPTS = {
    "bash": "bash-completion/completions/tcpsf",
    "zsh": "zsh/site-functions/_tcpsf",
    "fish": "fish/vendor_completions.d/tcpsf.fish",
}
"""Place of each shell's script, where the shell looks for those of installed programs."""


def main(arguments: Sequence[str]) -> None:
    """Write all files, in place of those of an earlier call."""
    folder = Path(arguments[0])
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in files(RULES.read_text(encoding="utf-8")).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def files(rules: str) -> dict[str, str]:
    """Return the texts of all files by their paths. ``rules`` is the page with the tables."""
    found = {place: script(app, shell) for shell, place in SCRIPTS.items()}
    for command in documented():
        found[f"man/man1/{'-'.join(command.words)}.1"] = page(command, rules)
    return found


def page(command: DocumentedCommand, rules: str) -> str:
    """Return the man page of a command; that of `tcpsf` also has the tables of ``rules``."""
    return "\n".join([*_page(command, rules), ""])


def _page(command: DocumentedCommand, rules: str) -> Iterator[str]:
    title = "-".join(command.words)
    yield r".\" Written by `make docs` from the definitions of the command line."
    yield f'.TH {_plain(title.upper())} 1 "" "tcpsf {__version__}" "tcpsf manual"'
    yield ".SH NAME"
    yield rf"{_plain(title)} \- {_text(_lowered(command.summary.rstrip('.')))}"
    yield ".SH SYNOPSIS"
    yield rf"\fB{_plain(command.name)}\fR {_plain(command.usage)}"
    yield ".SH DESCRIPTION"
    for number, paragraph in enumerate(command.paragraphs):
        yield from [".PP", _text(paragraph)] if number else [_text(paragraph)]
    yield ".SH OPTIONS"
    for option, text in command.options:
        yield from (".TP", _option(option), _text(text))
    if command.commands:
        yield ".SH COMMANDS"
        for words, summary in command.commands:
            yield from (".TP", _reference(words.split()), _text(summary))
    if len(command.words) == 1:
        yield from _table(rules, "exit status", ".SH EXIT STATUS")
        yield from _table(rules, "variable", ".SH ENVIRONMENT")
    else:
        above = range(1, len(command.words))
        yield from (".SH SEE ALSO", ", ".join(_reference(command.words[:n]) for n in above))


def _table(page: str, heading: str, title: str) -> Iterator[str]:
    """Yield the rows of the table whose first column has a heading, as a list of terms."""
    yield title
    rows = re.search(rf"^\| {heading} \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", page, flags=re.MULTILINE)
    if rows is None:
        raise LookupError(f"the page has no table with the heading {heading!r}")
    for row in rows[1].splitlines():
        term, text = (cell.strip() for cell in row.strip("|").split("|"))
        yield from (".TP", _text(term), _text(re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)))


def _reference(words: Sequence[str]) -> str:
    return rf"\fB{_plain('-'.join(words))}\fR(1)"


def _lowered(summary: str) -> str:
    """Return a summary with a small initial, as the lists of apropos(1) have it."""
    if summary[1:2].isupper():
        return summary
    return summary[0].lower() + summary[1:]


def _option(record: str) -> str:
    """Return an option in bold with its metavariable in italics: ``-o, --out DIR``."""
    words = [
        rf"\fB{_plain(word.rstrip(','))}\fR{',' * word.endswith(',')}"
        if word.startswith("-")
        else rf"\fI{_plain(word)}\fR"
        for word in record.split()
    ]
    return _safe(" ".join(words))


def _text(text: str) -> str:
    """Return prose, with code in bold."""
    parts = text.split("`")
    return _safe(
        "".join(
            rf"\fB{_plain(part)}\fR" if number % 2 else part.replace("\\", r"\e")
            for number, part in enumerate(parts)
        )
    )


def _plain(text: str) -> str:
    """Return literal text; a plain hyphen would become a typographic one."""
    return text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")


def _safe(line: str) -> str:
    """Return a line that is no request, whatever it begins with."""
    return rf"\&{line}" if line.startswith((".", "'")) else line


if __name__ == "__main__":
    main(sys.argv[1:])
