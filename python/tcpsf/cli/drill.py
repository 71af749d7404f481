"""`tcpsf drill`: play packetdrill scripts against tcpsf's TCP."""

from __future__ import annotations

import json as json_format
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from tcpsf import __version__, _core
from tcpsf.cli import verbosity
from tcpsf.cli.colour import results
from tcpsf.cli.output import print_message, print_result
from tcpsf.errors import TcpsfError, reason

SCHEMA = "tcpsf.drill/1"

VERDICTS = {
    "passed": "passed",
    "failed": "failed",
    "not_applicable": "not applicable",
    "unreadable": "unreadable",
}
"""Verdicts in the data, and their words in the text."""

WIDTH = max(map(len, VERDICTS.values()))


def command(
    *,
    files: Sequence[Path],
    profile: str,
    sender: str | None,
    definitions: Sequence[str],
    settings: Sequence[str],
    strict_psh: bool,
    trace: bool,
    json: bool,
) -> None:
    """Play each script, and print the verdicts."""
    defined = dict(_pairs("-D", definitions))
    overrides = list(_pairs("--set", settings))
    reports: list[dict[str, Any]] = []
    for file in _scripts(files):
        report = _play(
            file,
            profile=profile,
            sender=sender,
            definitions=defined,
            settings=overrides,
            strict_psh=strict_psh,
            trace=trace,
        )
        reports.append(report)
        if not json:
            print_result(results("\n".join(_lines(report))))
    found = Counter(report["verdict"] for report in reports)
    counts = {verdict: found[verdict] for verdict in VERDICTS}
    if json:
        head = {"schema": SCHEMA, "version": __version__, "profile": profile, "sender": sender}
        print_result(json_format.dumps(head | {"counts": counts, "scripts": reports}))
    else:
        print_result(", ".join(f"{counts[key]} {word}" for key, word in VERDICTS.items()))
    status = _status(counts)
    if status:
        raise click.exceptions.Exit(status)


def _status(counts: dict[str, int]) -> int:
    """Return the exit status. A check that checked nothing fails."""
    if counts["unreadable"]:
        return 2
    if counts["failed"]:
        return 1
    if not counts["passed"]:
        print_message("no script passed: none is applicable")
        return 1
    return 0


def _pairs(option: str, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield name and value of each ``NAME=VALUE``."""
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals):
            raise TcpsfError(
                f"`{option} {word}`: `{word}` is not NAME=VALUE",
                hint=f"write it as `{option} NAME=VALUE`",
            )
        yield name, value


def _scripts(files: Sequence[Path]) -> Iterator[Path]:
    """Yield the files, and of each folder the scripts below it in the order of their names."""
    for file in files:
        if not file.is_dir():
            yield file
            continue
        below = sorted(file.rglob("*.pkt"))
        if not below:
            raise TcpsfError(
                f"cannot play `{file}`: no .pkt file in this folder",
                hint="give scripts, or a folder of scripts",
            )
        yield from below


def _play(file: Path, *, sender: str | None, **options: Any) -> dict[str, Any]:
    """Play one script and return its report as plain data."""
    try:
        script = file.read_bytes()
    except OSError as error:
        raise TcpsfError(
            f"cannot read script `{file}`: {reason(error)}",
            hint="give a script in the language of packetdrill",
        ) from None
    try:
        report: dict[str, Any] = json_format.loads(
            _core.play_script(str(file), script, sender=sender, **options)
        )
    except ValueError as error:
        raise TcpsfError(
            f"`--sender {sender}`: {error}",
            hint="docs/reference/senders.md has the grammar of senders",
        ) from None
    verbosity.detail("`%s`: %s events of %s", file, *report["events"])
    return report


def _lines(report: dict[str, Any]) -> Iterator[str]:
    """Yield the lines about one script."""
    yield from (f"    {line}" for line in report["trace"])
    yield from (f"    print: {line}" for line in report["printed"] if report["trace"])
    where = report["file"] if report["line"] is None else f"{report['file']}:{report['line']}"
    problem = "" if report["problem"] is None else f": {report['problem']}"
    yield f"{VERDICTS[report['verdict']]:<{WIDTH}}  {where}{problem}"
    for name in ("expected", "actual"):
        if report[name] is not None:
            yield f"    {name:<9} {report[name]}"
    if report["trace"]:
        yield from (
            f"    note      line {note['line']}: {note['text']}" for note in report["notes"]
        )
