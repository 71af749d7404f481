"""The base of the classes of a scenario: values are checked when an object is constructed."""

from __future__ import annotations

from tcpsf.errors import ScenarioError
from tcpsf.scenario import codec, display


class ScenarioPart:
    """A scenario, or a part of one. Its values are valid on their own.

    The constructor checks types, quantities, and that shares are from 0 to 1. It converts arrays,
    series and numbers of NumPy and Polars to tuples and numbers, and percentages to numbers. Raises
    `ScenarioError` with the name of the key. Rules about several values are checked when a
    `Scenario` is constructed.

    >>> from tcpsf import Link, PacketLoss
    >>> Link(name="up", from_="a", to="b", loss=PacketLoss(probability=0.5))
    Link(name='up', from_='a', to='b', loss=PacketLoss(probability=0.5))
    >>> Link(name="up", from_="a", to="b", rate="fast")
    Traceback (most recent call last):
    tcpsf.errors.ScenarioError: Link.rate: `fast` is not a rate above zero such as `10Mb/s` or `32kbit`
    """

    __slots__ = ()

    def __post_init__(self) -> None:
        cls: type = type(self)
        for key in codec.keys_of(cls).values():
            given = getattr(self, key.field)
            if type(given) in key.valid_types or (given is key.default and not key.required):
                continue
            try:
                value = codec.decode_key(key, given, self._path_of(key.name))
            except ScenarioError as error:
                raise ScenarioError(str(error), hint=error.hint or key.meaning()) from None
            if value is not given:
                object.__setattr__(self, key.field, value)

    def _path_of(self, key: str) -> str:
        """Return the path of a key in messages."""
        return f"{type(self).__name__}.{key}"

    def __repr__(self) -> str:
        return display.call(self)
