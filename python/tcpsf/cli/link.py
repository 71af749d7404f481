"""`tcpsf link`: a command behind an emulated link."""

from __future__ import annotations

import contextlib
import json as json_format
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import click

from tcpsf import _core
from tcpsf.cli.app import LINE_OPTIONS
from tcpsf.cli.output import say
from tcpsf.errors import TcpsfError
from tcpsf.pcap import plainly, staged
from tcpsf.report import link as report

WHOLE = 65_535
"""More than any packet has."""


def command(
    *,
    command: Sequence[str],
    mtu: int,
    seed: int,
    spin: str | None,
    offload: bool,
    outside: str | None,
    pcap: Path | None,
    pcap_at: Literal["inside", "outside", "both"] | None,
    pcap_bytes: int | None,
    force: bool,
    json: bool,
    **line: str | None,
) -> None:
    """Make the link, run, tell what happened, and end with the command's exit status."""
    if pcap is None:
        for option, value in (("--pcap-at", pcap_at), ("--pcap-bytes", pcap_bytes), ("--force", force or None)):
            if value is not None:
                named = option if value is True else f"{option} {value}"
                raise TcpsfError(f"cannot capture: `{named}` without `--pcap`", hint="add `--pcap FILE`")
    settings: dict[str, Any] = {**_directions(line), "mtu": mtu, "seed": seed, "spin": spin, "offload": offload}
    other_end = None if outside is None else _words(outside)
    with contextlib.ExitStack() as stack:
        capture = None
        if pcap is not None:
            staging = stack.enter_context(staged(pcap, replace=force))
            stack.enter_context(plainly(pcap))
            capture = (str(staging), pcap_at or "inside", pcap_bytes or WHOLE)
        with _plain_errors():
            emulation = _core.Emulation(json_format.dumps(settings), own=other_end is not None)
            sys.stderr.write(f"{report.ends(emulation.ends)}\n")
            sys.stderr.flush()
            found = json_format.loads(emulation.run(list(command), outside=other_end, capture=capture))
    if json:
        say(json_format.dumps(report.as_dict(found, settings)))
    else:
        sys.stderr.write(f"{report.as_text(found)}\n")
    raise click.exceptions.Exit(found["exit_status"])


def _directions(line: Mapping[str, str | None]) -> dict[str, dict[str, str]]:
    """Sort the options of the line by what they are for."""
    found: dict[str, dict[str, str]] = {}
    for direction, prefix in (("both", ""), ("up", "up_"), ("down", "down_")):
        values = {name: line[prefix + name.replace("-", "_")] for name in LINE_OPTIONS}
        found[direction] = {name: value for name, value in values.items() if value is not None}
    return found


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise TcpsfError(
            f"cannot read `--outside {text}`: {str(error).lower()}", hint="quote it as for a shell"
        ) from None
    if not words:
        raise TcpsfError("cannot run `--outside`: it is empty", hint="for example `--outside 'python3 -m http.server'`")
    return words


@contextlib.contextmanager
def _plain_errors() -> Iterator[None]:
    """Turn what the emulator says into one line and a hint."""
    try:
        yield
    except (ValueError, RuntimeError) as error:
        message, hint = _message(error)
        raise TcpsfError(message, hint=hint) from None


def _message(error: Exception) -> tuple[str, Any]:
    return error.args if len(error.args) == 2 else (str(error), None)
