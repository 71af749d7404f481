"""`tcpsf explain`: the meaning of a key of scenario files."""

from __future__ import annotations

import json

from tcpsf import text
from tcpsf.cli.output import print_result
from tcpsf.scenario.keys import Key, find


def command(*, key: str) -> None:
    """Print the meaning of a key, and the keys below it."""
    print_result("\n\n".join(_entry(each) for each in find(key)))


def _entry(key: Key) -> str:
    items = [_item(key, key.path)] if key.path else []
    items += [_item(each, each.path.rpartition(".")[2]) for each in key.keys]
    return "\n\n".join(items)


def _item(key: Key, name: str) -> str:
    kind = f" (kind {json.dumps(key.variant)})" if key.variant else ""
    return text.item(f"{name}{kind}: {key.type}{_presence(key)}", key.text)


def _presence(key: Key) -> str:
    if key.required:
        return ", required"
    return "" if key.default is None else f", default {json.dumps(key.default)}"
