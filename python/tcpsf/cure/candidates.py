"""Remedies that `tcpsf cure auto` tries, and those that `tcpsf advise` has found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tcpsf.cure.policy import CurePolicy
from tcpsf.errors import TcpsfError, reason

USUAL = ("dup-tail", "tail(n=4)", "rto-min(ms=50)")
"""Remedies that are tried without advice, in this order."""

SCHEMA = "tcpsf.advise/1"


def advised(path: Path) -> list[CurePolicy]:
    """Return the remedies that the JSON output of `tcpsf advise` favours, the best first.

    There is none if no remedy helps, and those of `USUAL` if there was not enough evidence. Raises
    `TcpsfError` if the file cannot be read or is no such output.
    """
    data = _read(path)
    try:
        if data["answer"] == "not enough evidence":
            return [CurePolicy.parse(each) for each in USUAL]
        helpful = [each for each in data["remedies"] if each["verdict"] == "helps"]
        helpful.sort(key=lambda each: bool(each["name"] != data["recommended"]))
        policies = [each["policy"] for each in helpful if each["policy"] is not None]
    except (KeyError, TypeError):
        raise _no_advice(path) from None
    return [CurePolicy.parse(each) for each in policies]


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TcpsfError(
            f"cannot read the advice `{path}`: {reason(error)}",
            hint="`tcpsf advise CAPTURE --json > advice.json` writes it",
        ) from None
    except ValueError:
        data = None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise _no_advice(path)
    return data


def _no_advice(path: Path) -> TcpsfError:
    return TcpsfError(
        f"cannot read the advice `{path}`: it is no output of `tcpsf advise --json`",
        hint="`tcpsf advise CAPTURE --json > advice.json` of this version writes it",
    )
