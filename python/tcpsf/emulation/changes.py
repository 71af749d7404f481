"""Changes of a link during a run, as the command line has them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tcpsf.errors import TcpsfError, suggestion

_EXAMPLES = {
    "--at": "e.g. `--at 10s:loss=100%`, or `--at 10s:2s:loss=100%` for 2 s",
    "--every": "e.g. `--every 60s:2s:loss=100%`",
}
_EXPECTED = {"--at": "TIME:SETTING=VALUE", "--every": "PERIOD:TIME:SETTING=VALUE"}


def read_change(option: str, text: str, names: Collection[str]) -> dict[str, Any]:
    """Return a change of `--at` or `--every` as the emulator has it.

    ``names`` are the options of a link. The emulator checks times and values.

    >>> read_change("--at", "10s:up-loss=100%", ["loss"])
    {'up': {'loss': '100%'}, 'at': '10s'}
    >>> read_change("--every", "60s:2s:loss=100%", ["loss"])
    {'both': {'loss': '100%'}, 'every': '60s', 'for': '2s'}
    """
    head, equals, value = text.partition("=")
    *times, setting = head.split(":")
    counts = (1, 2) if option == "--at" else (2,)
    if not equals or not value or len(times) not in counts or not all(times):
        raise TcpsfError(
            f"cannot read `{option} {text}`: expected {_EXPECTED[option]}", hint=_EXAMPLES[option]
        )
    direction, name = direction_of(setting)
    if name not in names:
        raise TcpsfError(
            f"cannot read `{option} {text}`: a link has no setting `{setting}`",
            hint=suggestion(name, names, "settings"),
        )
    keys = ("at", "for") if option == "--at" else ("every", "for")
    return {direction: {name: value}, **dict(zip(keys, times, strict=False))}


def direction_of(setting: str) -> tuple[str, str]:
    """Return the direction and the option of a setting.

    >>> direction_of("down-loss"), direction_of("loss")
    (('down', 'loss'), ('both', 'loss'))
    """
    for direction in ("up", "down"):
        if setting.startswith(f"{direction}-"):
            return direction, setting.removeprefix(f"{direction}-")
    return "both", setting


def read_changes(
    at: Sequence[str], every: Sequence[str], names: Collection[str]
) -> list[dict[str, Any]]:
    """Return the changes of all options `--at` and `--every`."""
    return [read_change("--at", text, names) for text in at] + [
        read_change("--every", text, names) for text in every
    ]
