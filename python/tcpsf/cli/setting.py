"""The option ``--set KEY=VALUE``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from tcpsf.errors import ScenarioError, TcpsfError
from tcpsf.scenario import Scenario


def parsed(settings: Iterable[str]) -> dict[str, Any]:
    """Split settings into keys and values, for `Scenario.with_values`.

    A value is read as TOML, or as text if it is not valid TOML. An empty value, here ``None``,
    removes the key.

    >>> parsed(["workload.web.load=0.5", "link.0.rate=5Mb/s", "samples="])
    {'workload.web.load': 0.5, 'link.0.rate': '5Mb/s', 'samples': None}
    """
    changes = {}
    for setting in settings:
        path, equals, text = setting.partition("=")
        if not equals or not path.strip():
            raise TcpsfError(
                f"cannot read `--set {setting}`: expected KEY=VALUE",
                hint="e.g. `--set workload.web.load=0.5`",
            )
        changes[path.strip()] = _value(text.strip())
    return changes


def changed(scenario: Scenario, values: Mapping[str, object]) -> Scenario:
    """Return a scenario with values changed, by their paths."""
    if not values:
        return scenario
    try:
        return scenario.with_values(values)
    except ScenarioError as error:
        paths = ", ".join(f"`{path}`" for path in values)
        raise ScenarioError(f"cannot set {paths}: {error}", hint=error.hint) from None


def _value(text: str) -> object:
    if not text:
        return None
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
