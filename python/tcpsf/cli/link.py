"""`tcpsf link`: run a command behind an emulated link."""

from __future__ import annotations

import contextlib
import json as json_format
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn

import click

from tcpsf import _core
from tcpsf.cli import verbosity
from tcpsf.cli.file_checks import put, staged_file, staged_page
from tcpsf.cli.line_options import LINE_OPTIONS, SETTABLE
from tcpsf.cli.output import print_message
from tcpsf.cli.reach_options import existing_namespace
from tcpsf.emulation.changes import read_changes
from tcpsf.emulation.link_requests import socket_path
from tcpsf.emulation.link_settings import complete, queue_text
from tcpsf.errors import TcpsfError
from tcpsf.pcap import plain_write_errors, staged
from tcpsf.report import link_output as output
from tcpsf.report.link_page import link_page
from tcpsf.scenario import Scenario

FROM = "from"
"""Option that names a link of a scenario; the emulator gets the link itself."""

WHOLE = 65_535
"""Bytes; the maximum length of a packet."""


def command(
    *,
    command: Sequence[str],
    mtu: int,
    seed: int,
    spin: str | None,
    offload: bool,
    outside: str | None,
    nat: bool,
    netns: str | None,
    pid: int | None,
    pcap: Path | None,
    pcap_at: Literal["inside", "outside", "both"] | None,
    pcap_bytes: int | None,
    force: bool,
    json: Path | None,
    report: Path | None,
    name: str | None,
    preset: str | None,
    rtt: str | None,
    at: Sequence[str],
    every: Sequence[str],
    **line: str | None,
) -> None:
    """Make the link, run the command, print statistics and exit with the command's status."""
    target = existing_namespace(command, netns, pid)
    _check_files(
        pcap, json, report, (("--pcap-at", pcap_at), ("--pcap-bytes", pcap_bytes)), force=force
    )
    given = directions_of(line)
    directions, changes = complete(given, preset=preset, rtt=rtt, mtu=mtu)
    changes += read_changes(at, every, SETTABLE)
    common: dict[str, Any] = {"mtu": mtu, "seed": seed, "spin": spin, "offload": offload}
    settings = {**directions, **common, **({"changes": changes} if changes else {})}
    control = None if name is None else (name, str(socket_path(name)))
    other_end = None if outside is None else _words(outside)
    with contextlib.ExitStack() as stack:
        statistics = stack.enter_context(staged_file("--json", json, replace=force))
        page = stack.enter_context(staged_page(report, replace=force))
        capture = None
        if pcap is not None:
            staging = stack.enter_context(staged(pcap, replace=force))
            stack.enter_context(plain_write_errors(pcap))
            capture = (str(staging), pcap_at or "inside", pcap_bytes or WHOLE)
        with _plain_errors():
            emulation = _core.Emulation(
                json_format.dumps({**settings, **_options(directions)}),
                own=other_end is not None,
                nat=nat,
                target=target,
                up=_template("up", directions),
                down=_template("down", directions),
            )
            print_message(output.ends(emulation.ends))
            if (queues := queue_text(directions, given)) is not None:
                print_message(queues)
            found = _run(emulation, list(command), other_end, capture, control)
        put(statistics, json, lambda: json_format.dumps(output.as_dict(found, settings)) + "\n")
        put(page, report, lambda: link_page(found, settings, command=command))
    _conclude(found, briefly=statistics is not None)


def _conclude(found: dict[str, Any], *, briefly: bool) -> NoReturn:
    """Print the statistics, or only warnings, and exit with the command's status."""
    for message in output.warnings(found) if briefly else [output.as_text(found)]:
        print_message(message)
    raise click.exceptions.Exit(found["exit_status"])


def _run(
    emulation: _core.Emulation,
    command: list[str],
    outside: list[str] | None,
    capture: tuple[str, str, int] | None,
    control: tuple[str, str] | None,
) -> dict[str, Any]:
    """Run the command, and return the statistics."""
    verbosity.detail("command starts: %s", shlex.join(command))
    found: dict[str, Any] = json_format.loads(
        emulation.run(command, outside=outside, capture=capture, control=control)
    )
    verbosity.detail(
        "command ended with exit status %d after %.3f s",
        found["exit_status"],
        found["duration_s"],
    )
    return found


def _check_files(
    pcap: Path | None,
    json: Path | None,
    report: Path | None,
    about_pcap: Sequence[tuple[str, object]],
    *,
    force: bool,
) -> None:
    """Refuse options without effect, and standard output as a file.

    Standard output belongs to the command.
    """
    if pcap is None:
        for option, value in about_pcap:
            if value is not None:
                raise TcpsfError(
                    f"cannot capture: `{option} {value}` without `--pcap`", hint="add `--pcap FILE`"
                )
        if force and json is None and report is None:
            raise TcpsfError(
                "cannot replace files: `--force` without `--pcap`, `--json` or `--report`",
                hint="omit `--force`",
            )
    for option, path in (("--pcap", pcap), ("--json", json), ("--report", report)):
        if path is None or not str(path).startswith("-"):
            continue
        if str(path) != "-":  # click takes the next word as the file, even if it is an option
            raise TcpsfError(
                f"cannot write `{option} {path}`: `{path}` is not a file",
                hint=f"e.g. `{option} FILE`",
            )
        raise TcpsfError(
            f"cannot write `{option} {path}`: standard output belongs to COMMAND",
            hint=f"give a file or another descriptor: `{option} /dev/fd/3 3>&1 1>&2`",
        )


def directions_of(line: Mapping[str, str | None]) -> dict[str, dict[str, str]]:
    """Group the options of the link by direction."""
    found: dict[str, dict[str, str]] = {}
    for direction, prefix in (("both", ""), ("up", "up_"), ("down", "down_")):
        values = {name: line.get(prefix + name.replace("-", "_")) for name in LINE_OPTIONS}
        found[direction] = {name: value for name, value in values.items() if value is not None}
    return found


def _options(directions: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Return the options of each direction without the name of a scenario's link."""
    return {
        direction: {name: value for name, value in options.items() if name != FROM}
        for direction, options in directions.items()
    }


def _template(
    direction: Literal["up", "down"], directions: Mapping[str, Mapping[str, str]]
) -> tuple[str, str, str, str] | None:
    """Return the link with which a direction begins: scenario, name, option and its value."""
    for prefix, options in ((f"{direction}-", directions[direction]), ("", directions["both"])):
        named = options.get(FROM)
        if named is None:
            continue
        if named == "none":
            return None
        option = f"--{prefix}{FROM}"
        file, _, name = named.rpartition(":")
        if not file or not name:
            raise TcpsfError(
                f"cannot read `{option} {named}`: expected FILE:LINK",
                hint=f"e.g. `{option} scenarios/lossy-access.toml:access-down`",
            )
        return Scenario.from_toml(file).to_json(), name, option, named
    return None


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise TcpsfError(
            f"cannot read `--outside {text}`: {str(error).lower()}",
            hint="quote the command as for a shell",
        ) from None
    if not words:
        raise TcpsfError(
            "cannot run `--outside`: it is empty",
            hint="e.g. `--outside 'python3 -m http.server'`",
        )
    return words


@contextlib.contextmanager
def _plain_errors() -> Iterator[None]:
    """Convert errors of the emulator to `TcpsfError`."""
    try:
        yield
    except (ValueError, RuntimeError) as error:
        message, hint, status = (*error.args, None, None)[:3]
        raise TcpsfError(str(message), hint=hint, status=status or 2) from None
