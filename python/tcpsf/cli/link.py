"""`tcpsf link`: run a command behind an emulated link."""

from __future__ import annotations

import contextlib
import json as json_format
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from tcpsf import _core
from tcpsf.cli import verbosity
from tcpsf.cli.file_checks import put, staged_file, staged_page
from tcpsf.cli.line_options import LINE_OPTIONS, SETTABLE
from tcpsf.cli.output import print_message
from tcpsf.cli.path_options import further_links
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Link:
    """The options of one link."""

    settings: dict[str, Any]
    """The settings as the file of ``--json`` has them."""
    given: dict[str, dict[str, str]]
    """The options of each direction as given."""
    name: str | None
    pcap: Path | None
    pcap_at: Literal["inside", "outside", "both"]
    pcap_bytes: int
    force: bool
    json: Path | None
    report: Path | None

    @property
    def directions(self) -> dict[str, dict[str, str]]:
        """The options of each direction."""
        return {way: self.settings[way] for way in ("both", "up", "down")}

    @property
    def control(self) -> tuple[str, str] | None:
        """The name and the socket for requests."""
        return None if self.name is None else (self.name, str(socket_path(self.name)))

    def for_emulator(self) -> tuple[str, dict[str, tuple[str, str, str, str] | None]]:
        """Return the settings as JSON, and the link of a scenario for each direction."""
        text = json_format.dumps({**self.settings, **_options(self.directions)})
        return text, {
            "up": _template("up", self.directions),
            "down": _template("down", self.directions),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """The files of a link while they are written."""

    statistics: Path | None
    page: Path | None
    capture: tuple[str, str, int] | None


def command(
    *,
    command: Sequence[str],
    outside: str | None,
    nat: bool,
    netns: str | None,
    pid: int | None,
    beside: Sequence[str],
    **options: Any,
) -> None:
    """Make the links, run the command, print statistics and exit with the command's status."""
    target = existing_namespace(command, netns, pid)
    links = [_read(**options), *(_read(**further) for further in further_links(beside))]
    _check_distinct(links)
    controls = [link.control for link in links]
    other_end = None if outside is None else _words(outside)
    with contextlib.ExitStack() as stack:
        files = [_files(stack, link) for link in links]
        with _plain_errors():
            text, templates = links[0].for_emulator()
            emulation = _core.Emulation(
                text, own=other_end is not None, nat=nat, target=target, **templates
            )
            for link in links[1:]:
                text, templates = link.for_emulator()
                emulation.add(text, **templates)
            for link, ends in zip(links, emulation.ends, strict=True):
                name = output.title(link.name, len(links))
                print_message(name + output.ends(ends))
                if (queues := queue_text(link.directions, link.given)) is not None:
                    print_message(name + queues)
            if emulation.has_gateway:
                print_message(output.GATEWAY)
            captures = [each.capture for each in files]
            found = _run(emulation, list(command), other_end, captures, controls)
        for link, each, results in zip(links, files, found, strict=True):
            _write(link, each, results, command)
    for number, (link, each, results) in enumerate(zip(links, files, found, strict=True)):
        title = output.title(link.name, len(links))
        if each.statistics is not None:
            for warning in output.warnings(results):
                print_message(title + warning)
        else:
            print_message(("\n" if number else "") + title + output.as_text(results))
    raise click.exceptions.Exit(found[0]["exit_status"])


def _read(
    *,
    mtu: int,
    seed: int,
    spin: str | None,
    offload: bool,
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
) -> _Link:
    """Return the options of a link, checked as far as the emulator does not."""
    _check_files(
        pcap, json, report, (("--pcap-at", pcap_at), ("--pcap-bytes", pcap_bytes)), force=force
    )
    given = directions_of(line)
    directions, changes = complete(given, preset=preset, rtt=rtt, mtu=mtu)
    changes += read_changes(at, every, SETTABLE)
    common: dict[str, Any] = {"mtu": mtu, "seed": seed, "spin": spin, "offload": offload}
    return _Link(
        settings={**directions, **common, **({"changes": changes} if changes else {})},
        given=given,
        name=name,
        pcap=pcap,
        pcap_at=pcap_at or "inside",
        pcap_bytes=pcap_bytes or WHOLE,
        force=force,
        json=json,
        report=report,
    )


def _check_distinct(links: Sequence[_Link]) -> None:
    """Refuse a name or a file that two links have."""
    for option in ("name", "pcap", "json", "report"):
        values = [getattr(link, option) for link in links]
        for value in values:
            if value is not None and values.count(value) > 1:
                raise TcpsfError(
                    f"cannot make the links: two of them have `--{option} {value}`",
                    hint="give each link another one",
                )


def _files(stack: contextlib.ExitStack, link: _Link) -> _Files:
    """Return the files to write to. They get their names at the end of the block."""
    statistics = stack.enter_context(staged_file("--json", link.json, replace=link.force))
    page = stack.enter_context(staged_page(link.report, replace=link.force))
    capture = None
    if link.pcap is not None:
        staging = stack.enter_context(staged(link.pcap, replace=link.force))
        stack.enter_context(plain_write_errors(link.pcap))
        capture = (str(staging), link.pcap_at, link.pcap_bytes)
    return _Files(statistics=statistics, page=page, capture=capture)


def _write(link: _Link, files: _Files, found: dict[str, Any], command: Sequence[str]) -> None:
    """Write the statistics and the page of a link."""
    put(
        files.statistics,
        link.json,
        lambda: json_format.dumps(output.as_dict(found, link.settings)) + "\n",
    )
    put(files.page, link.report, lambda: link_page(found, link.settings, command=command))


def _run(
    emulation: _core.Emulation,
    command: list[str],
    outside: list[str] | None,
    captures: Sequence[tuple[str, str, int] | None],
    names: Sequence[tuple[str, str] | None],
) -> list[dict[str, Any]]:
    """Run the command, and return the statistics of each link."""
    verbosity.detail("command starts: %s", shlex.join(command))
    found: list[dict[str, Any]] = [
        json_format.loads(text)
        for text in emulation.run(command, outside=outside, captures=captures, names=names)
    ]
    verbosity.detail(
        "command ended with exit status %d after %.3f s",
        found[0]["exit_status"],
        found[0]["duration_s"],
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
