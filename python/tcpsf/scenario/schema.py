"""The JSON Schema of a scenario file, derived from the scenario's classes.

Editors with a TOML language server complete and check scenario files with it. The schema checks
names, types and the spelling of quantities. The simulator checks rules about several values, for
example that a route exists.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from typing import Any, Literal, Union, get_args, get_origin

from tcpsf.scenario.codec import Key, keys_of
from tcpsf.scenario.doc import Quantity
from tcpsf.scenario.model import Sizes
from tcpsf.scenario.scenario import Scenario

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_NUMBER = r"^\s*([0-9]+(\.[0-9]*)?|\.[0-9]+)\s*"
_BIT = r"([bB][iI][tT](/[sS])?|b/[sS]|b[pP][sS])"
PATTERNS = {
    "duration": _NUMBER + r"(ns|us|ms|s|min|h)\s*$",
    "rate": _NUMBER + r"[kKmMgG]?" + _BIT + r"\s*$",
    "size": _NUMBER + r"(B|kB|KiB|MB|MiB|GB)\s*$",
    "sender": r"^[^/]+/[^/]+/[^/]+$",
}
"""A regular expression for each kind of quantity. It accepts all values of the simulator."""

_PERCENT = r"^\s*[0-9.]+([eE][-+]?[0-9]+)?\s*%\s*$"


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a scenario file, with the keys of the TOML form."""
    definitions: dict[str, Any] = {}
    top = _reference(Scenario, definitions)
    return {"$schema": DIALECT, "title": "tcpsf scenario", **top, "$defs": definitions}


def _reference(cls: type, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return a reference to the schema of a class, and add it to ``definitions`` if missing."""
    if cls.__name__ not in definitions:
        definitions[cls.__name__] = {}
        definitions[cls.__name__] = _table(cls, definitions)
    return {"$ref": f"#/$defs/{cls.__name__}"}


def _table(cls: type, definitions: dict[str, Any]) -> dict[str, Any]:
    keys = keys_of(cls)
    properties = {key.name: _property(key, definitions) for key in keys.values()}
    required = [key.name for key in keys.values() if key.required]
    kind = getattr(cls, "kind", None)
    if kind is not None:
        properties = {"kind": {"const": kind}, **properties}
        required = ["kind", *required]
    if cls is Sizes:
        properties["file"] = {
            "type": "string",
            "description": "A file with sizes; its path is relative to the scenario's file.",
        }
    summary = inspect.cleandoc(cls.__doc__ or "").partition("\n")[0].replace("``", "`")
    return {
        "type": "object",
        "description": summary,
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _property(key: Key, definitions: dict[str, Any]) -> dict[str, Any]:
    found = _type(key.type, key.quantity, definitions)
    if key.is_share:
        found = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": _PERCENT}]}
    if key.doc.text:
        absent = f" If absent: {key.doc.absent}." if key.doc.absent else ""
        found["description"] = key.doc.text + absent
    if isinstance(key.default, str | bool | int | float):
        found["default"] = key.default
    return found


def _type(declared: Any, quantity: Quantity | None, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a declared type.

    An optional key may be absent, because TOML has no null.
    """
    origin = get_origin(declared)
    arguments = [part for part in get_args(declared) if part is not type(None)]
    if quantity is not None:
        return {
            "type": "string",
            "pattern": PATTERNS[quantity.name],
            "examples": [quantity.example],
        }
    if origin is Literal:
        return {"enum": arguments}
    if origin in (Union, types.UnionType):
        if len(arguments) == 1:
            return _type(arguments[0], None, definitions)
        return {"oneOf": [_type(part, None, definitions) for part in arguments]}
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return {"type": "array", "items": _type(arguments[0], None, definitions)}
        items = [_type(part, None, definitions) for part in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "items": False}
    if dataclasses.is_dataclass(declared) and isinstance(declared, type):
        return _reference(declared, definitions)
    if get_args(declared):  # Annotated: a quantity or a share inside a list
        return _type(arguments[0], None, definitions)
    return {"type": {str: "string", int: "integer", float: "number", bool: "boolean"}[declared]}
