"""The class `Scenario`, its check, its conversion from and to TOML, and changes of values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Self

from tcpsf import _core
from tcpsf.errors import ScenarioError, nearest
from tcpsf.scenario import codec, display, files
from tcpsf.scenario.model import ScenarioKeys

EXCLUSIVE = {"sender": "senders", "senders": "sender"}
"""Keys of a workload of which only one is given."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Scenario(ScenarioKeys):
    """A network, its traffic and the duration.

    A scenario that exists can be simulated. The constructor, `from_toml`, `from_dict` and
    `with_value` raise `ScenarioError` with the path of the key, such as ``link[0].rate``.

    >>> from tcpsf import Link, Scenario, Transfers
    >>> scenario = Scenario(
    ...     name="one flow",
    ...     duration="10s",
    ...     link=(Link(name="there", from_="a", to="b", rate="10Mb/s", delay="50ms"),
    ...           Link(name="back", from_="b", to="a", rate="10Mb/s", delay="50ms")),
    ...     workload=(Transfers(name="one", from_="a", to="b", sender="reno / full / iw=1",
    ...                         sizes=(14_600,)),),
    ... )
    >>> scenario.with_value("link.there.delay", "20ms").link[0].delay
    '20ms'
    >>> Scenario.from_toml_text(scenario.to_toml()) == scenario
    True
    >>> scenario.with_value("workload.one.to", "c")
    Traceback (most recent call last):
    tcpsf.errors.ScenarioError: workload[0].to: there is no node `c`
    """

    def __post_init__(self) -> None:
        ScenarioKeys.__post_init__(self)
        try:
            _core.Simulation(self.to_json(), seed=1)
        except ValueError as error:
            message, hint = error.args
            raise ScenarioError(message, hint=hint or explain(_path(message))) from None

    def _path_of(self, key: str) -> str:
        return key

    def __repr__(self) -> str:
        links, workloads = len(self.link), len(self.workload)
        return (
            f"<Scenario {self.name!r}: {links} link{'s' * (links != 1)}, "
            f"{workloads} workload{'s' * (workloads != 1)}, {self.duration}>"
        )

    def _repr_html_(self) -> str:
        return display.as_html(self)

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> Self:
        """Read a scenario file. Paths of other files are relative to its folder.

        Raises `ScenarioError` if the file cannot be read or is not a scenario.
        """
        path = Path(path)
        try:
            return cls.from_toml_text(files.read_text(path), base=path.parent)
        except ScenarioError as error:
            raise ScenarioError(
                f"cannot read scenario `{path}`: {error}", hint=error.hint
            ) from None

    @classmethod
    def from_toml_text(cls, text: str, *, base: str | PathLike[str] = ".") -> Self:
        """Read a scenario from TOML text. Paths of other files are relative to ``base``.

        Raises `ScenarioError` if the text is not TOML or not a scenario.
        """
        return cls.from_dict(files.parse_toml(text), base=base)

    @classmethod
    def from_dict(cls, data: dict[str, Any], *, base: str | PathLike[str] = ".") -> Self:
        """Build a scenario from plain data with the keys of the TOML form.

        Paths of other files are relative to ``base``. Raises `ScenarioError` for an unknown or
        missing key, or an invalid value.
        """
        inlined = files.inline_files(data, Path(base))
        try:
            scenario: Self = codec.decode(cls, inlined)
        except ScenarioError as error:
            raise ScenarioError(str(error), hint=error.hint or explain(_path(str(error)))) from None
        return scenario

    def to_dict(self) -> dict[str, Any]:
        """Return plain data with the keys of the TOML form, without absent keys."""
        data: dict[str, Any] = codec.encode(self)
        return {key: value for key, value in data.items() if value != {}}

    def to_json(self) -> str:
        """Return the scenario as JSON, which the simulator reads."""
        return json.dumps(self.to_dict())

    def to_toml(self) -> str:
        """Return the scenario as TOML."""
        import tomli_w

        return tomli_w.dumps(self.to_dict())

    def with_value(self, path: str, value: object) -> Self:
        """Return a copy with one value changed; ``None`` removes the key.

        ``path`` has the keys, joined by dots. Entries of lists are given by name or by index
        from 0: ``workload.web.load``, ``link.0.rate``, ``tcp.mss``. A workload has either
        ``sender`` or ``senders``, so that each of them replaces the other. Raises `ScenarioError`
        if there is no such key, or if the result is not valid. `with_values` changes several values
        at once.
        """
        return self.with_values({path: value})

    def with_values(self, values: Mapping[str, object]) -> Self:
        """Return a copy with several values changed, in their order, by their paths.

        Only the result is checked, so that keys which exclude each other can be exchanged. Paths,
        values and errors are those of `with_value`.
        """
        data = self.to_dict()
        for path, value in values.items():
            _change(data, path, value)
        return self.from_dict(data)


def _change(data: dict[str, Any], path: str, value: object) -> None:
    *parents, last = path.split(".")
    target: Any = data
    for depth, part in enumerate(parents):
        target = _child(target, part, ".".join(parents[:depth]))
    if not isinstance(target, dict):
        what = "a list; append an entry's name" if isinstance(target, list) else "not a table"
        raise ScenarioError(f"`{path}` is not a key", hint=f"`{'.'.join(parents)}` is {what}")
    if value is None:
        target.pop(last, None)
    else:
        target[last] = codec.encode(value)
        if last in EXCLUSIVE:
            target.pop(EXCLUSIVE[last], None)


def _child(target: Any, part: str, where: str) -> Any:
    """Return the entry ``part`` of a table or list. A missing table is created empty."""
    if isinstance(target, dict):
        return target.setdefault(part, {})
    if not isinstance(target, list):
        raise ScenarioError(f"`{where}` has no key `{part}`: it is the value `{target}`")
    if part.isdigit() and int(part) < len(target):
        return target[int(part)]
    names = [entry["name"] for entry in target if isinstance(entry, dict) and "name" in entry]
    for entry in target:
        if isinstance(entry, dict) and entry.get("name") == part:
            return entry
    near = nearest(part, names)
    listed = ", ".join(f"`{name}`" for name in names) or f"indexes 0 to {len(target) - 1}"
    raise ScenarioError(
        f"`{where}` has no entry `{part}`",
        hint=f"did you mean `{near}`?" if near else f"entries: {listed}",
    )


def explain(path: str) -> str | None:
    """Return the meaning of the key at an error's path, for a hint; ``None`` if it is unknown.

    >>> explain("link[0].rate")
    '`rate`: Transmission rate in bits per second, headers included; such as `10Mb/s`'
    """
    key = codec.walk(Scenario, path)
    return None if key is None else key.meaning()


def _path(message: str) -> str:
    """Return the path at the beginning of an error's message."""
    return message.split(": ", 1)[0]
