"""The example scenarios that the package contains."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable

from tcpsf.errors import ScenarioError, suggestion


def names() -> list[str]:
    """Return the names of the examples, without a suffix."""
    found = (each.name for each in folder().iterdir())
    return sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml"))


def folder() -> Traversable:
    """Return the folder with the examples and the size files that they read."""
    return resources.files("tcpsf").joinpath("examples")


def example(name: str) -> Traversable:
    """Return the file of an example. Raises `ScenarioError` for an unknown name."""
    known = names()
    if name not in known:
        raise ScenarioError(
            f"cannot find example `{name}`",
            hint=suggestion(name, known, "examples"),
        )
    return folder().joinpath(f"{name}.toml")
