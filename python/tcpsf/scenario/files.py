"""Reading scenario files, and the size files that they refer to."""

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


def inline_size_files(data: dict[str, Any], base: Path) -> dict[str, Any]:
    """Replace every ``sizes = { file = … }`` by the numbers in the file.

    The scenario is then independent of other files.
    """
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
