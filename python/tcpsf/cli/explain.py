"""`tcpsf explain`: the meaning of a key of scenario files."""

from __future__ import annotations

import json

from tcpsf import text
from tcpsf.cli.output import print_result
from tcpsf.scenario.keys import KeyMeaning, find


def command(*, key: str) -> None:
    """Print the meaning of a key, and the keys below it."""
    print_result("\n\n".join(_entry(each) for each in find(key)))


def _entry(key: KeyMeaning) -> str:
    items = [_item(key, key.path)] if key.path else []
    items += [_item(each, each.path.rpartition(".")[2]) for each in key.keys]
    return "\n\n".join(items)


def _item(key: KeyMeaning, name: str) -> str:
    kind = f" (kind {json.dumps(key.variant)})" if key.variant else ""
    return text.item(f"{name}{kind}: {key.type}{_presence(key)}", key.text)


def _presence(key: KeyMeaning) -> str:
    if key.required:
        return ", required"
    return "" if key.default is None else f", default {json.dumps(key.default)}"
