"""The keys of a scenario file, as `tcpsf explain` describes them.

Everything comes from the JSON Schema of scenario files (`tcpsf.scenario.schema`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tcpsf.errors import ScenarioError, nearest
from tcpsf.scenario.schema import json_schema

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMeaning:
    """A key, or a table of keys."""

    path: str
    """The path of the key, such as ``link.buffer.bytes``."""
    variant: str | None
    """The ``kind`` of the table that has the key, e.g. ``poisson``; ``None`` if all have it."""
    type: str
    text: str
    """Its meaning."""
    default: Any
    """Its default; ``None`` if it has none."""
    required: bool
    keys: tuple[KeyMeaning, ...]
    """The keys of a table; empty for a value."""


def find(path: str) -> tuple[KeyMeaning, ...]:
    """Return the keys at a path: several if tables of different kinds have the key.

    The path has the keys joined by dots. A name or index of an entry, as in ``link.bottleneck.rate``
    or ``link.0.rate``, is ignored. The empty path gives the top level. Raises `ScenarioError` for an
    unknown key.

    >>> [key.text for key in find("tcp.mss")]
    ['Maximum segment size: payload bytes of a full-sized segment.']
    >>> find("workload.web.load") == find("workload.load")
    True
    """
    schema = json_schema()
    definitions = schema.get("$defs", {})
    places = [_Place("", None, schema, required=True)]
    parts = [part for part in path.split(".") if part]
    at = 0
    while at < len(parts):
        inside = [child for place in places for child in place.children(definitions)]
        found = [child for child in inside if child.path.rpartition(".")[2] == parts[at]]
        if not found and at + 1 < len(parts) and any(place.is_list for place in places):
            at += 1  # the name or index of an entry
            found = [child for child in inside if child.path.rpartition(".")[2] == parts[at]]
        if not found:
            raise _unknown(parts[at], inside, path)
        places, at = found, at + 1
    return tuple(_merged([place.key(definitions) for place in places]))


def _unknown(part: str, inside: Sequence[_Place], path: str) -> ScenarioError:
    names = sorted({child.path.rpartition(".")[2] for child in inside})
    near = nearest(part, names)
    known = f"keys: {', '.join(names)}" if names else "this key has a value and no keys below it"
    return ScenarioError(
        f"cannot explain `{path}`: no key `{part}`",
        hint=f"did you mean `{near}`?" if near else known,
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """A key in the schema."""

    path: str
    variant: str | None
    schema: Schema
    required: bool

    @property
    def is_list(self) -> bool:
        return self.schema.get("type") == "array"

    def tables(self, definitions: Schema) -> Iterator[tuple[str | None, Schema]]:
        """Yield the tables that the key can have, with their kinds."""
        for schema in _alternatives(self.schema, definitions):
            if "properties" in schema:
                kind = schema["properties"].get("kind", {}).get("const")
                yield kind, schema

    def children(self, definitions: Schema) -> Iterator[_Place]:
        for kind, table in self.tables(definitions):
            for name, schema in table["properties"].items():
                path = f"{self.path}.{name}" if self.path else name
                required = name in table.get("required", ())
                yield _Place(path, kind or self.variant, schema, required)

    def key(self, definitions: Schema, *, deep: bool = True) -> KeyMeaning:
        children = self.children(definitions) if deep else iter(())
        own = [self.schema.get("description")]
        tables = [table.get("description") for _, table in self.tables(definitions)]
        return KeyMeaning(
            path=self.path,
            variant=self.variant,
            type=_type(self.schema, definitions),
            text=next((text for text in own + tables if text), ""),
            default=self.schema.get("default", self.schema.get("const")),
            required=self.required,
            keys=tuple(_merged([child.key(definitions, deep=False) for child in children])),
        )


def _alternatives(schema: Schema, definitions: Schema) -> Iterator[Schema]:
    """Yield the schemas without references, alternatives and lists around them."""
    if "$ref" in schema:
        yield from _alternatives(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    elif "oneOf" in schema or "anyOf" in schema:
        for part in schema.get("oneOf", schema.get("anyOf", ())):
            yield from _alternatives(part, definitions)
    elif schema.get("items"):
        yield from _alternatives(schema["items"], definitions)
    else:
        yield schema


def _merged(keys: Sequence[KeyMeaning]) -> Iterator[KeyMeaning]:
    """Yield keys that several kinds of a table share only once."""
    seen: dict[tuple[str, str], list[KeyMeaning]] = {}
    for key in keys:
        seen.setdefault((key.path, key.text), []).append(key)
    for same in seen.values():
        first = same[0]
        variants = {key.variant for key in same}
        variant = first.variant if len(variants) == 1 else None
        yield KeyMeaning(
            path=first.path,
            variant=variant,
            type=" or ".join(dict.fromkeys(key.type for key in same)),
            text=first.text,
            default=first.default if first.default != first.variant else None,
            required=all(key.required for key in same),
            keys=first.keys,
        )


def _type(schema: Schema, definitions: Schema) -> str:
    """Describe the type of a key in words."""
    if schema.get("type") == "array":
        tables = any("properties" in part for part in _alternatives(schema, definitions))
        return "a list of tables" if tables else "a list"
    parts = list(_alternatives(schema, definitions))
    if any("properties" in part for part in parts):
        return "a table"
    words = [_value_type(part) for part in parts]
    return " or ".join(dict.fromkeys(words))


def _value_type(schema: Schema) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(f'"{each}"' for each in schema["enum"])
    if "const" in schema:
        return f'"{schema["const"]}"'
    example = f' such as "{schema["examples"][0]}"' if schema.get("examples") else ""
    if "%" in schema.get("pattern", ""):
        return 'text such as "1%"'
    names = {
        "string": "text",
        "integer": "a whole number",
        "number": "a number",
        "boolean": "true or false",
        "array": "a list",
    }
    return names[schema["type"]] + example
