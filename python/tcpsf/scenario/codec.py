"""Conversion between plain data and the scenario's classes, with errors that name the key.

The annotations of the classes control both directions, so that a new field needs no change here.
Only names and shapes are checked. The simulator checks the values, for example that a rate is above
zero or that a route exists.
"""

from __future__ import annotations

import contextlib
import dataclasses
import decimal
import functools
import math
import re
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from tcpsf.errors import ScenarioError, nearest
from tcpsf.scenario.doc import SHARE, Doc, Quantity


@dataclasses.dataclass(frozen=True, slots=True)
class Key:
    """One key of a table: its name in TOML and JSON, its field, and its annotations."""

    name: str
    field: str
    type: Any
    required: bool
    default: Any
    doc: Doc
    quantity: Quantity | None
    is_share: bool
    """Whether the value is a share of 1, which may be written as a percentage."""


@functools.cache
def keys_of(cls: type) -> dict[str, Key]:
    """Return the keys of a scenario class by their TOML names, in the order of its fields."""
    hints = get_type_hints(cls, include_extras=True)
    keys = {}
    for field in dataclasses.fields(cls):
        declared, doc, quantity = _unwrap(hints[field.name])
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
            type=declared,
            required=required,
            default=None if required else default,
            doc=doc or Doc(""),
            quantity=quantity,
            is_share=_is_share(hints[field.name]),
        )
    return keys


def encode(value: object) -> Any:
    """Convert a scenario object to dicts, lists and scalars, without absent keys."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kind = getattr(value, "kind", None)
        table: dict[str, Any] = {} if kind is None else {"kind": kind}
        for key in keys_of(type(value)).values():
            content = encode(getattr(value, key.field))
            if content is not None and not (content == [] and key.default == ()):
                table[key.name] = _from_percent(content) if key.is_share else content
        return table
    value = _plain(value)
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {name: encode(item) for name, item in value.items()}
    return value


def check_leaves(data: object, path: str = "") -> None:
    """Refuse values that JSON cannot represent: numbers that are not finite, and other objects."""
    if isinstance(data, Mapping):
        for name, content in data.items():
            check_leaves(content, f"{path}.{name}" if path else name)
    elif isinstance(data, list):
        for number, item in enumerate(data):
            check_leaves(item, f"{path}[{number}]")
    elif isinstance(data, float) and not math.isfinite(data):
        raise ScenarioError(f"{path}: `{data}` is not a finite number")
    elif not isinstance(data, str | int | float | None):
        raise ScenarioError(f"{path}: `{_shown(data)}` is not text, a number, a list or a table")


def decode(declared: Any, value: object, path: str = "") -> Any:
    """Build a value of the type ``declared`` from plain data.

    ``path`` is the key path for error messages.
    """
    value = _plain(value)
    declared, _, quantity = _unwrap(declared)
    if declared is Any:
        return value
    origin = get_origin(declared)
    if origin is Mapping:
        return dict(_table(value, path))
    if origin in (Union, types.UnionType):
        return _decode_union(declared, value, path)
    if origin is Literal:
        return _decode_choice(get_args(declared), value, path)
    if origin is tuple:
        return _decode_list(get_args(declared), value, path)
    if dataclasses.is_dataclass(declared):
        return _decode_table(declared, value, path)  # type: ignore[arg-type]
    return _decode_scalar(declared, value, path, quantity)


def _plain(value: object) -> object:
    """Convert ranges, and arrays and numbers of NumPy, to lists and numbers."""
    if isinstance(value, range):
        return list(value)
    to_list = getattr(value, "tolist", None)
    return to_list() if callable(to_list) else value


def _from_percent(value: object) -> object:
    """Convert `1%` to 0.01. Other values are returned unchanged.

    >>> _from_percent("0.07%"), _from_percent("1e-3 %"), _from_percent(0.5), _from_percent("many")
    (0.0007, 1e-05, 0.5, 'many')
    """
    if isinstance(value, str) and (
        found := re.fullmatch(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*%\s*", value)
    ):
        with contextlib.suppress(decimal.DecimalException):
            return float(decimal.Decimal(found[1]) / 100)
    return value


def _is_share(declared: Any) -> bool:
    """Return whether a value is a share of 1, which may be written as a percentage."""
    if get_origin(declared) is Annotated and SHARE in declared.__metadata__:
        return True
    return get_origin(declared) in (Annotated, Union, types.UnionType) and any(
        map(_is_share, get_args(declared))
    )


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
    declared, _, _ = _unwrap(declared)
    if dataclasses.is_dataclass(declared) and isinstance(declared, type):
        return [declared]
    return [cls for part in get_args(declared) for cls in _tables_in(part)]


def _unwrap(declared: Any) -> tuple[Any, Doc | None, Quantity | None]:
    """Return a type without ``Annotated``, and its annotations.

    The quantity is also found in an optional type.
    """
    doc = quantity = None
    while get_origin(declared) is Annotated:
        declared, *extras = get_args(declared)
        doc = next((extra for extra in extras if isinstance(extra, Doc)), doc)
        quantity = next((extra for extra in extras if isinstance(extra, Quantity)), quantity)
    if get_origin(declared) in (Union, types.UnionType):
        for part in get_args(declared):
            if get_origin(part) is Annotated:
                quantity = next((e for e in get_args(part) if isinstance(e, Quantity)), quantity)
    return declared, doc, quantity


def _decode_union(declared: Any, value: object, path: str) -> Any:
    options = [part for part in get_args(declared) if part is not type(None)]
    if value is None and len(options) < len(get_args(declared)):
        return None
    if len(options) == 1:
        return decode(options[0], value, path)
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
            content = _from_percent(table[key.name]) if key.is_share else table[key.name]
            fields[key.field] = decode(key.type, content, where)
        elif key.required:
            raise ScenarioError(f"missing key `{where}`", hint=_hint_for(key))
    return cls(**fields)


def _decode_list(items: tuple[Any, ...], value: object, path: str) -> tuple[Any, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ScenarioError(
            f"{path}: `{_shown(value)}` is not a list", hint="lists are written `[a, b]`"
        )
    if len(items) == 2 and items[1] is Ellipsis:
        return tuple(decode(items[0], item, f"{path}[{i}]") for i, item in enumerate(value))
    if len(items) != len(value):
        raise ScenarioError(f"{path}: expected {len(items)} entries, got {len(value)}")
    return tuple(
        decode(item, part, f"{path}[{i}]")
        for i, (item, part) in enumerate(zip(items, value, strict=True))
    )


def _decode_choice(choices: tuple[Any, ...], value: object, path: str) -> Any:
    if value not in choices:
        raise ScenarioError(
            f"{path}: `{_shown(value)}` is not one of {_listed(choices)}",
            hint=_suggestion(str(value), [str(choice) for choice in choices], "choices"),
        )
    return value


def _decode_scalar(declared: Any, value: object, path: str, quantity: Quantity | None) -> Any:
    if declared is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is declared:
        return value
    wanted = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}[
        declared
    ]
    hint = None
    if declared is float and isinstance(value, str):
        hint = 'write numbers without quotes; a probability may also be written as `"1%"`'
    if quantity is not None:
        wanted = f"text such as `{quantity.example}`"
        if isinstance(value, int | float):
            hint = f"a {quantity.name} needs a unit and quotes"
    raise ScenarioError(f"{path}: `{_shown(value)}` is not {wanted}", hint=hint)


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
