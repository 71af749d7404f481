"""`tcpsf link set`, `show` and `stats`: requests to running links."""

from __future__ import annotations

import json as json_format
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tcpsf import text
from tcpsf.cli import link_watch
from tcpsf.cli.link import directions_of
from tcpsf.cli.output import print_message, print_result
from tcpsf.emulation.link_requests import ask, running
from tcpsf.errors import TcpsfError
from tcpsf.report import link_output


def set_options(*, name: str, **line: str | None) -> None:
    """Change options of a link, and print those in force."""
    options = {
        way: {each: _with_path(each, value) for each, value in given.items()}
        for way, given in directions_of(line).items()
        if given
    }
    if not options:
        raise TcpsfError(
            f"cannot change link `{name}`: no option was given",
            hint=f"e.g. `tcpsf link set {name} --loss 2%`",
        )
    print_message(_settings(ask(name, "set", options)))


def show(*, name: str | None, json: bool) -> None:
    """Print the settings of one link, or of all."""
    answers = [ask(each, "show") for each in ([name] if name is not None else running())]
    if json:
        print_result(json_format.dumps(answers[0] if name is not None else answers))
    elif answers:
        print_result("\n\n".join(_settings(answer) for answer in answers))
    else:
        print_message("No link with a name is running.")


def stats(*, name: str, json: bool, watch: bool) -> None:
    """Print the statistics of a link up to now, or again each second."""
    if watch and json:
        raise TcpsfError(
            "cannot watch a link: `--watch` and `--json` were both given", hint="omit one of them"
        )
    if watch:
        return link_watch.watch(name)
    answer = ask(name, "stats")
    if json:
        return print_result(json_format.dumps(answer))
    head = f"{name} after {text.seconds(answer['time_s'])} s."
    return print_result(f"{head}\n\n{text.table(link_output.rows(answer), left=[0])}")


_FILES = {"rate-trace": "", "loss-file": "data:", "jitter": "file:", "jitter-reorder": "file:"}
"""Options that name a file, and the prefix of its path."""


def _with_path(option: str, value: str) -> str:
    """Return the value with an absolute path: the emulator may have another working directory."""
    prefix = _FILES.get(option)
    if prefix is None or value == "none":
        return value
    if value.startswith(prefix):
        return prefix + str(Path(value.removeprefix(prefix)).absolute())
    return str(Path(value).absolute()) if option == "loss-file" else value


def _settings(answer: Mapping[str, Any]) -> str:
    """Text of the settings in force."""
    names = dict.fromkeys([*answer["up"], *answer["down"]])
    rows = [["", "up", "down"]]
    rows += [[each, *(answer[way].get(each, "–") for way in ("up", "down"))] for each in names]
    head = f"{answer['name']}: {shlex.join(answer['command'])} (process {answer['pid']})"
    ends = link_output.ends(
        tuple(answer["ends"][key] for key in ("outside", "inside", "outside_v6", "inside_v6"))
    )
    if not names:
        return f"{head}\n{ends}\nNo option is in force."
    return f"{head}\n{ends}\n\n{text.table(rows, left=[0])}"
