"""Reading scenario files, and the files that they refer to: sizes, masks, delays, rates."""

from __future__ import annotations

import tomllib
from os import PathLike
from pathlib import Path
from typing import Any

from tcpsf.errors import ScenarioError


def read_text(path: Path) -> str:
    """Read a text file. Raises `ScenarioError` with the reason if this fails."""
    try:
        # Some editors write a byte order mark at the beginning of a file.
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ScenarioError(
            "no such file", hint="give a TOML file with a scenario, or `-` for standard input"
        ) from None
    except IsADirectoryError:
        raise ScenarioError("it is a folder, not a file") from None
    except UnicodeDecodeError:
        raise ScenarioError("it is not text in UTF-8") from None
    except OSError as error:
        raise ScenarioError(f"{error.strerror}".lower()) from None


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raises `ScenarioError` with the position of a syntax error."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        raise ScenarioError(
            f"not TOML: {message[0].lower()}{message[1:]}",
            hint='text and quantities need quotes: `rate = "10Mb/s"`',
        ) from None


TEXTS = {"loss": "drops", "jitter": "delays", "rate_trace": "text"}
"""Tables of a link that may name a text file as ``file``, and the key with the text itself."""

MAX_TEXT_BYTES = 64 << 20
"""Maximum size of a text file of a link, as in the emulator."""


def inline_files(data: dict[str, Any], base: Path) -> dict[str, Any]:
    """Replace every ``file = …`` in ``sizes`` and in tables of links by the file's content.

    The scenario is then independent of other files.
    """
    return _inline_text_files(_inline_size_files(data, base), base)


def _inline_text_files(data: dict[str, Any], base: Path) -> dict[str, Any]:
    links = data.get("link")
    if not isinstance(links, list):
        return data
    inlined = []
    for i, link in enumerate(links):
        tables = {}
        for name, key in TEXTS.items():
            table = link.get(name) if isinstance(link, dict) else None
            if isinstance(table, dict) and "file" in table:
                tables[name] = _with_text(table, f"link[{i}].{name}.file", key, base)
        inlined.append({**link, **tables} if tables else link)
    return {**data, "link": inlined}


def _with_text(table: dict[str, Any], where: str, key: str, base: Path) -> dict[str, Any]:
    rest = {name: value for name, value in table.items() if name != "file"}
    if key in rest:
        raise ScenarioError(
            f"{where}: there is `{key}` as well", hint=f"give the file, or the text as `{key}`"
        )
    name = table["file"]
    if not isinstance(name, str | PathLike):
        raise ScenarioError(f"{where}: `{name}` is not text", hint="give the path of a text file")
    path = base / name
    try:
        text = _read_limited(path)
    except ScenarioError as error:
        raise ScenarioError(
            f"{where}: cannot read `{name}`: {error}",
            hint="the path is relative to the scenario's file",
        ) from None
    # A line break at the end makes a text of one line recognisable as a file's.
    return {**rest, key: text if text.endswith("\n") else text + "\n"}


def _read_limited(path: Path) -> str:
    if path.is_file() and path.stat().st_size > MAX_TEXT_BYTES:
        raise ScenarioError(f"it has more than {MAX_TEXT_BYTES} bytes")
    return read_text(path)


def _inline_size_files(data: dict[str, Any], base: Path) -> dict[str, Any]:
    workloads = data.get("workload")
    if not isinstance(workloads, list):
        return data
    inlined = [
        _inlined(entry, f"workload[{i}].sizes.file", base) for i, entry in enumerate(workloads)
    ]
    return {**data, "workload": inlined}


def _inlined(workload: Any, where: str, base: Path) -> Any:
    sizes = workload.get("sizes") if isinstance(workload, dict) else None
    if not isinstance(sizes, dict) or "file" not in sizes:
        return workload
    name = sizes["file"]
    rest = {key: value for key, value in sizes.items() if key != "file"}
    if not isinstance(name, str | PathLike):
        raise ScenarioError(f"{where}: `{name}` is not text", hint="give the path of a size file")
    return {**workload, "sizes": {**rest, **_read_sizes(base / name, where, str(name))}}


def _read_sizes(path: Path, where: str, name: str) -> dict[str, Any]:
    try:
        text = read_text(path)
    except ScenarioError as error:
        raise ScenarioError(
            f"{where}: cannot read `{name}`: {error}",
            hint="the path is relative to the scenario's file",
        ) from None
    rows: list[list[str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        columns = line.split("#", 1)[0].replace(",", " ").split()
        if columns:
            rows.append([str(number), *columns])
    hint = (
        "expected one size in bytes per line, or two columns: size and cumulative probability; "
        "`#` starts a comment"
    )
    if not rows:
        raise ScenarioError(f"{where}: `{name}` contains no sizes", hint=hint)
    width = len(rows[0]) - 1
    points: list[Any] = []
    for line_number, *columns in rows:
        try:
            points.append(_point(columns, width))
        except ValueError:
            shown = " ".join(columns)
            raise ScenarioError(
                f"{where}: `{name}`, line {line_number}: `{shown}` is not {_wanted(width)}",
                hint=hint,
            ) from None
    return {"classes": points} if width == 1 else {"cdf": points}


def _point(columns: list[str], width: int) -> int | list[int | float]:
    if len(columns) != width or width > 2:
        raise ValueError
    return int(columns[0]) if width == 1 else [int(columns[0]), float(columns[1])]


def _wanted(width: int) -> str:
    return "a size in bytes" if width == 1 else "a size and a probability"
