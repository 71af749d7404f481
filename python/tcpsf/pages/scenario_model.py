"""Classes of a scenario, generated from the schema that the simulator exports.

The command is ``python -m tcpsf.pages.scenario_model``. `make docs` writes its output to
``python/tcpsf/scenario/model.py``, and a test fails when the two differ.
"""

from __future__ import annotations

import json
import keyword
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

from tcpsf import _core

INTRODUCTION = '''\
"""The classes of a scenario: the network and the traffic.

`make docs` writes this file from the simulator's types in ``crates/sim/src/scenario.rs`` and
``crates/sim/src/scenario/``. Change it there.

The fields of these classes have the names of the keys in a TOML file and of the simulator's own
type. A name that is a Python keyword has a trailing underscore (``from_``). Quantities are text
with a unit (``"20ms"``). Flow sizes are integers in bytes. Probabilities are numbers from 0 to 1,
or text such as ``"1%"``. A field for a list accepts any sequence, and stores a tuple.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from tcpsf.scenario.doc import SHARE, Doc, Quantity
from tcpsf.scenario.part import ScenarioPart
'''

ROOT = "ScenarioKeys"
"""Name of the class with the keys at the top of a file. `Scenario` adds the methods."""

LAST = ("samples", "trace")
"""Keys of `ROOT` that stand last. Files of results have the keys of a scenario in this order."""

PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
"""Python's names of the types of JSON."""

BASE = "ScenarioPart"
"""Class of all tables, which checks their values and gives the short representation."""

DECORATOR = "@dataclass(frozen=True, slots=True, kw_only=True, repr=False)"

Schema = dict[str, Any]


def module() -> str:
    """Return the source of the module, not yet formatted."""
    schema: Schema = json.loads(_core.scenario_schema())
    known: dict[str, Schema] = {**schema.pop("$defs"), ROOT: schema}
    for key in LAST:
        schema["properties"][key] = schema["properties"].pop(key)
    parts = [INTRODUCTION.rstrip()]
    parts += [_quantity(name, found) for name, found in known.items() if _is_quantity(found)]
    in_unions = set[str]()
    for name, found in known.items():
        if _is_union(found):
            members = [_target(option) for option in found["anyOf"]]
            parts += [*_union(name, members, known), f"{name} = {' | '.join(members)}"]
            in_unions.update(members)
    for name, found in known.items():
        if found.get("type") == "object" and name not in in_unions:
            parts.append(_class(name, found, found["properties"], known))
    return "\n\n".join(parts) + "\n"


def _union(name: str, members: list[str], known: dict[str, Schema]) -> Iterator[str]:
    """Return the classes of a table with a kind, below a class with the keys that all have."""
    tables = [known[member]["properties"] for member in members]
    shared = {
        key: found
        for key, found in tables[0].items()
        if all(table.get(key) == found for table in tables)
    }
    if shared:
        about = {"description": f"Keys of every kind of {name.lower()}."}
        yield _class(f"_{name}", {**known[members[0]], **about}, shared, known)
    for member, table in zip(members, tables, strict=True):
        required = known[member]["required"]
        own = sorted(table.keys() - shared.keys(), key=list(table).index)
        own.sort(key=lambda key: key not in required)
        base = f"_{name}" if shared else BASE
        yield _class(member, known[member], {key: table[key] for key in own}, known, base=base)


def _is_quantity(schema: Schema) -> bool:
    """Return whether a definition is text with a pattern, or a number that text may express."""
    options = schema.get("anyOf", [schema])
    return any("pattern" in option for option in options)


def _quantity(name: str, schema: Schema) -> str:
    declared = "float, SHARE"
    if "examples" in schema:
        declared = f'str, Quantity("{name.lower()}", {_text(schema["examples"][0])})'
    return f'{name} = Annotated[{declared}]\n"""{_docstring(schema)}"""'


def _is_union(schema: Schema) -> bool:
    """Return whether a definition is a choice of tables."""
    return all("$ref" in option for option in schema.get("anyOf", [{}]))


def _class(
    name: str, schema: Schema, keys: Schema, known: dict[str, Schema], *, base: str = BASE
) -> str:
    required = schema.get("required", [])
    lines = list[str]()
    for key, found in keys.items():
        if "const" in found:
            lines.append(f"{key}: ClassVar[str] = {_text(found['const'])}")
        else:
            lines.append(_field(key, found, known, required=key in required))
    body = textwrap.indent("\n".join(lines), "    ")
    doc = textwrap.indent(_docstring(schema), "    ")
    return f'{DECORATOR}\nclass {name}({base}):\n    """{doc.lstrip()}"""\n\n{body}\n'


def _field(key: str, schema: Schema, known: dict[str, Schema], *, required: bool) -> str:
    declared, default = _type(schema, known), schema.get("default")
    if not required and default is None:
        declared += " | None"
    doc, _, absent = schema["description"].partition("\n\nAbsent: ")
    meaning = f", absent={_text(absent.rstrip('.'))}" if absent else ""
    name = f"{key}_" if keyword.iskeyword(key) else key
    value = "" if required else f" = {_default(schema)}"
    return f"{name}: Annotated[{declared}, Doc({_wrapped(doc)}{meaning})]{value}"


def _default(schema: Schema) -> str:
    """Return the expression of a default value. An empty table is a new object of its class."""
    default = schema.get("default")
    if default == {}:
        return f"field(default_factory={_target(schema)})"
    return _text(default) if isinstance(default, str) else repr(() if default == [] else default)


def _type(schema: Schema, known: dict[str, Schema]) -> str:
    """Return the annotation of a value, without `None`."""
    if "$ref" in schema:
        name = _target(schema)
        if known[name].get("type") == "object" or _is_quantity(known[name]):
            return name
        return name if "anyOf" in known[name] else _type(known[name], known)
    if "oneOf" in schema:
        return f"Literal[{', '.join(_text(option['const']) for option in schema['oneOf'])}]"
    if "enum" in schema:
        return f"Literal[{', '.join(map(_text, schema['enum']))}]"
    if "prefixItems" in schema:
        return f"tuple[{', '.join(_type(item, known) for item in schema['prefixItems'])}]"
    if schema["type"] == "array":
        return f"Sequence[{_type(schema['items'], known)}]"
    return PLAIN[schema["type"]]


def _target(schema: Schema) -> str:
    """Return the name of the definition that a schema refers to."""
    return str(schema["$ref"]).removeprefix("#/$defs/")


def _docstring(schema: Schema) -> str:
    """Return the description in lines of at most 96 columns."""
    paragraphs = [
        textwrap.fill(part, 96, break_long_words=False, break_on_hyphens=False)
        for part in schema["description"].split("\n\n")
    ]
    return "\n\n".join(paragraphs) + ("\n    " if len(paragraphs) > 1 else "")


def _wrapped(text: str) -> str:
    """Return a string in parts that fit on a line."""
    lines = textwrap.wrap(text, 84, break_long_words=False, break_on_hyphens=False)
    return "\n".join(_text(f"{line} ") for line in lines[:-1]) + "\n" + _text(lines[-1])


def _text(text: str) -> str:
    """Return a string literal in double quotes where it has none inside."""
    return repr(text) if '"' in text else f'"{text}"'


if __name__ == "__main__":
    sys.stdout.write(module())
