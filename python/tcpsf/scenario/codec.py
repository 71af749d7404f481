"""Conversion between plain data and the scenario's classes, with errors that name the key.

The annotations of the classes control both directions, so that a new field needs no change here.
Names, types, quantities and shares are checked. The simulator checks rules about a value or several
values, for example that a load is above zero or that a route exists.
"""

from __future__ import annotations

import dataclasses
import decimal
import functools
import math
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from tcpsf import _core
from tcpsf.errors import ScenarioError, nearest
from tcpsf.scenario.doc import SHARE, Doc, Quantity


@dataclasses.dataclass(frozen=True, slots=True)
class Key:
    """One key of a table: its name in TOML and JSON, its field, and its annotations."""

    name: str
    field: str
    declared: Any
    """The type with its annotations."""
    type: Any
    """The type without annotations."""
    wanted: _Declared
    required: bool
    default: Any
    doc: Doc
    quantity: Quantity | None
    valid_types: frozenset[type]
    """Types of which every value is valid."""

    def meaning(self) -> str | None:
        """Return the meaning of the key for a hint; ``None`` if it has no text."""
        if not self.doc.text:
            return None
        example = f"; such as `{self.quantity.example}`" if self.quantity else ""
        return f"`{self.name}`: {self.doc.text.rstrip('.')}{example}"


@functools.cache
def keys_of(cls: type) -> dict[str, Key]:
    """Return the keys of a scenario class by their TOML names, in the order of its fields."""
    hints = get_type_hints(cls, include_extras=True)
    keys = {}
    for field in dataclasses.fields(cls):
        declared = _unwrap(hints[field.name])
        required = (
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        )
        default = (
            field.default_factory()
            if field.default_factory is not dataclasses.MISSING
            else field.default
        )
        name = field.name.rstrip("_")
        keys[name] = Key(
            name=name,
            field=field.name,
            declared=hints[field.name],
            type=declared.type,
            wanted=declared,
            required=required,
            default=None if required else default,
            doc=declared.doc or Doc(""),
            quantity=declared.quantity,
            valid_types=frozenset(_valid_types(declared)),
        )
    return keys


def _valid_types(declared: _Declared) -> Iterator[type]:
    if declared.is_union:
        for part in declared.parts:
            yield from _valid_types(part)
    elif declared.is_table or (declared.type in (str, int, bool) and declared.quantity is None):
        yield declared.type


_SCALARS = frozenset((str, int, float, bool))


def encode(value: object) -> Any:
    """Convert a scenario object to dicts, lists and scalars, without absent keys."""
    if isinstance(value, tuple | list | range):
        # Lists of sizes can be long, and the loops of `set` and `map` are not in Python.
        return list(value) if _SCALARS.issuperset(map(type, value)) else list(map(encode, value))
    if isinstance(value, Mapping):
        return {name: encode(content) for name, content in value.items()}
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    kind = getattr(value, "kind", None)
    table: dict[str, Any] = {} if kind is None else {"kind": kind}
    for key in keys_of(type(value)).values():
        content = getattr(value, key.field)
        if type(content) in _SCALARS:
            table[key.name] = content
        elif content is not None and not (content == () and key.default == ()):
            table[key.name] = encode(content)
    return table


def decode(declared: Any, value: object, path: str = "") -> Any:
    """Build a value of the type ``declared`` from plain data, or from scenario objects.

    ``path`` is the key path for error messages.
    """
    return _decode(_unwrap(declared), value, path)


def decode_key(key: Key, value: object, path: str) -> Any:
    """Build the value of a key, as `decode` does."""
    return _decode(key.wanted, value, path)


def _decode(wanted: _Declared, value: object, path: str) -> Any:
    value = _plain(value)
    if wanted.type is Any:
        return value
    if wanted.origin is Mapping:
        return dict(_table(value, path))
    if wanted.is_union:
        return _decode_union(wanted, value, path)
    if wanted.origin is Literal:
        return _decode_choice(wanted.arguments, value, path)
    if wanted.origin in (tuple, Sequence):
        return _decode_list(wanted, value, path)
    if wanted.is_table:
        if type(value) is wanted.type:
            return value
        return _decode_table(wanted.type, value, path)
    return _decode_scalar(wanted, value, path)


_PLAIN = (str, int, float, bool, tuple, list, dict)


def _plain(value: object) -> object:
    """Convert ranges, arrays, series and numbers of NumPy and Polars to lists and numbers."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, range):
        return list(value)
    for name in ("tolist", "to_list"):
        convert = getattr(value, name, None)
        if callable(convert):
            return convert()
    return value


def _from_percent(value: str) -> float | None:
    """Convert `1%` to 0.01; ``None`` for another text.

    >>> _from_percent("0.07%"), _from_percent("1e-3 %"), _from_percent("many")
    (0.0007, 1e-05, None)
    """
    found = re.fullmatch(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*%\s*", value)
    try:
        return float(decimal.Decimal(found[1]) / 100) if found else None
    except decimal.DecimalException:
        return None


def walk(root: type, path: str) -> Key | None:
    """Find the key at an error's path, such as ``workload[1].sizes.fixed``."""
    candidates: list[type] = [root]
    found: Key | None = None
    for part in path.split("."):
        name = part.split("[", 1)[0]
        found = next((keys[name] for cls in candidates if name in (keys := keys_of(cls))), None)
        if found is None:
            return None
        candidates = [
            cls
            for known in candidates
            if name in keys_of(known)
            for cls in _tables_in(keys_of(known)[name].type)
        ]
    return found


def _tables_in(declared: Any) -> list[type]:
    found = _unwrap(declared)
    if found.is_table:
        return [found.type]
    return [cls for part in found.arguments for cls in _tables_in(part)]


class _Declared(NamedTuple):
    """A type without ``Annotated``, and its annotations."""

    type: Any
    origin: Any
    arguments: tuple[Any, ...]
    parts: tuple[_Declared, ...]
    """The options of a union without ``None``, or the types of the entries of a list."""
    is_union: bool
    is_table: bool
    doc: Doc | None
    quantity: Quantity | None
    """The quantity, also of an optional type."""
    is_share: bool
    """Whether the value is a number from 0 to 1, which may be written as a percentage."""


@functools.cache
def _unwrap(declared: Any) -> _Declared:
    extras: list[Any] = []
    while get_origin(declared) is Annotated:
        declared, *more = get_args(declared)
        extras += more
    origin, arguments = get_origin(declared), get_args(declared)
    quantities = [extra for extra in extras if isinstance(extra, Quantity)]
    is_union = origin in (Union, types.UnionType)
    parts = (
        tuple(_unwrap(part) for part in arguments if part not in (type(None), Ellipsis))
        if is_union or origin in (tuple, Sequence)
        else ()
    )
    if is_union:
        quantities += filter(None, (part.quantity for part in parts))
    return _Declared(
        type=declared,
        origin=origin,
        arguments=arguments,
        parts=parts,
        is_union=is_union,
        is_table=isinstance(declared, type) and dataclasses.is_dataclass(declared),
        doc=next((extra for extra in extras if isinstance(extra, Doc)), None),
        quantity=next(iter(quantities), None),
        is_share=SHARE in extras,
    )


def _decode_union(wanted: _Declared, value: object, path: str) -> Any:
    if value is None and type(None) in wanted.arguments:
        return None
    if len(wanted.parts) == 1:
        return _decode(wanted.parts[0], value, path)
    options = [part.type for part in wanted.parts]
    if type(value) in options:
        return value
    table = _table(value, path)
    kinds = {option.kind: option for option in options}
    if "kind" not in table:
        raise ScenarioError(f"{path}: no `kind` given", hint=f"kinds: {_listed(kinds)}")
    kind = table["kind"]
    if kind not in kinds:
        raise ScenarioError(
            f"{path}.kind: unknown kind `{kind}`", hint=_suggestion(str(kind), list(kinds), "kinds")
        )
    rest = {name: content for name, content in table.items() if name != "kind"}
    return _decode_table(kinds[kind], rest, path)


def _decode_table(cls: type, value: object, path: str) -> Any:
    table = _table(value, path)
    keys = keys_of(cls)
    for name in table:
        if name not in keys:
            where = f"{path}.{name}" if path else name
            raise ScenarioError(
                f"unknown key `{where}`", hint=_suggestion(name, list(keys), "known keys")
            )
    fields = {}
    for key in keys.values():
        where = f"{path}.{key.name}" if path else key.name
        if key.name in table:
            fields[key.field] = _decode(key.wanted, table[key.name], where)
        elif key.required:
            raise ScenarioError(f"missing key `{where}`", hint=_hint_for(key))
    return cls(**fields)


def _decode_list(wanted: _Declared, value: object, path: str) -> tuple[Any, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ScenarioError(
            f"{path}: `{_shown(value)}` is not a list", hint="lists are written `[a, b]`"
        )
    items = wanted.parts
    if wanted.origin is Sequence or Ellipsis in wanted.arguments:
        kind = items[0].type
        if kind in (int, str) and {kind}.issuperset(map(type, value)):
            return tuple(value)  # lists of sizes can be long
        return tuple(_decode(items[0], item, f"{path}[{i}]") for i, item in enumerate(value))
    if len(items) != len(value):
        raise ScenarioError(f"{path}: expected {len(items)} entries, got {len(value)}")
    return tuple(
        _decode(item, part, f"{path}[{i}]")
        for i, (item, part) in enumerate(zip(items, value, strict=True))
    )


def _decode_choice(choices: tuple[Any, ...], value: object, path: str) -> Any:
    if value not in choices:
        raise ScenarioError(
            f"{path}: `{_shown(value)}` is not one of {_listed(choices)}",
            hint=_suggestion(str(value), [str(choice) for choice in choices], "choices"),
        )
    return value


def _decode_scalar(wanted: _Declared, value: object, path: str) -> Any:
    if wanted.type is float:
        if isinstance(value, str) and wanted.is_share:
            value = value if (share := _from_percent(value)) is None else share
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _decode_number(wanted, value, path)
    if type(value) is wanted.type:
        parse = None if wanted.quantity is None else PARSERS.get(wanted.quantity.name)
        if parse is not None:
            _parsed(parse, value, path)
        return value
    words = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
    expected, hint = words[wanted.type], None
    if wanted.type is float and isinstance(value, str):
        hint = 'write numbers without quotes; a probability may also be written as `"1%"`'
    if wanted.quantity is not None:
        expected = f"text such as `{wanted.quantity.example}`"
        if isinstance(value, int | float):
            hint = f"a {wanted.quantity.name} needs a unit and quotes"
    raise ScenarioError(f"{path}: `{_shown(value)}` is not {expected}", hint=hint)


def _decode_number(wanted: _Declared, value: float, path: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ScenarioError(f"{path}: `{_shown(value)}` is not a finite number")
    if wanted.is_share and not 0.0 <= number <= 1.0:
        raise ScenarioError(f"{path}: `{_shown(value)}` is not a number from 0 to 1")
    return number


PARSERS: Mapping[str, Callable[[str], int]] = {
    "duration": _core.nanoseconds,
    "rate": _core.bits_per_second,
    "size": _core.bytes,
}
"""The simulator's parsers, by the name of the quantity."""


def _parsed(parse: Callable[[str], int], value: Any, path: str) -> None:
    try:
        parse(value)
    except ValueError as error:
        raise ScenarioError(f"{path}: {error}") from None


def _table(value: object, path: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ScenarioError(
            f"{path or 'scenario'}: `{_shown(value)}` is not a table",
            hint="tables are written `{ key = value }`",
        )
    return value


def _hint_for(key: Key) -> str | None:
    example = f", such as `{key.quantity.example}`" if key.quantity else ""
    return f"{key.doc.text.rstrip('.')}{example}" if key.doc.text else None


def _suggestion(word: str, known: list[str], what: str) -> str:
    near = nearest(word, known)
    return f"did you mean `{near}`?" if near else f"{what}: {_listed(known)}"


def _listed(names: Iterable[object]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _shown(value: object) -> str:
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
    return text if len(text) <= 40 else text[:37] + "…"
