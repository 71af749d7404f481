"""Reference page of the Python API, generated from signatures and docstrings.

The command is ``python -m tcpsf.pages.python_reference``. A test fails when
``docs/reference/python.md`` differs from its output.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import tcpsf
from tcpsf import aio, paired, python_models, scenario, stats, summary
from tcpsf.run_report import flow_trace

INTRODUCTION = """\
# Python

<!-- Written by `python -m tcpsf.pages.python_reference` from the docstrings below `python/tcpsf/`. -->

```python
import tcpsf

scenario = tcpsf.Scenario.from_toml("scenarios/starter.toml")
result = tcpsf.run(scenario, seed=1)
print(result.summary())
for result in tcpsf.replicates(scenario, num_replicates=3):
    print(result.flows["sender_s"].mean())
```

Arguments after the first one are given by name. The package has type hints. Tables are Polars data
frames; [Tables](tables.md) explains their columns. In a notebook, scenarios and results show tables.
Results can be pickled, so that they pass between processes. [Models](../guides/models.md) describes
`tcpsf.models`, the papers' formulae as NumPy functions, and
[Models in Python](../guides/python-models.md) loss models, queues and controllers of your own.

The names of this page are attributes of the package `tcpsf`, unless another module is given.
"""

SCENARIO = """\
A scenario is built from these classes. [Scenario reference](scenario.md) has their keys, which are
the arguments of the constructors. A key that is a Python keyword has a trailing underscore: `from_`.
Where a number or a list is expected, NumPy numbers, arrays, Polars series and ranges are accepted.
"""

GROUPS: dict[str, tuple[str, ...]] = {
    "Simulating": ("run", "replicate", "replicates", "compare"),
    "Results": ("RunResult", "Summary", "Comparison", "Measurement", "Provenance"),
    "Studies": ("sweep", "Study", "StudyResults"),
    "Parts of a study": (
        "StudyAxis",
        "AxisPoint",
        "StudySample",
        "Replication",
        "StoppingRule",
        "StudyBaseline",
        "KeptResults",
        "StudyPlot",
    ),
    "Options of a run": ("Pcap", "Fold", "Batch", "Progress"),
    "Emulating": ("link", "LinkNetwork"),
    "Models in Python": ("LossModel", "QueueDiscipline", "CongestionController"),
    "Scenario": ("Scenario",),
    "Errors": ("TcpsfError", "ScenarioError", "StudyError", "OutputError"),
}
"""Public names that have a section, by the heading of their group."""

OTHERS: tuple[Any, ...] = (
    aio.link,
    aio.AsyncLinkNetwork,
    flow_trace.FlowTrace,
    flow_trace.LossRepair,
    python_models.PacketFacts,
    python_models.QueueFacts,
    python_models.ControllerStart,
    python_models.AckFacts,
    python_models.ReductionFacts,
    python_models.PythonModels,
    stats.Estimate,
    paired.Difference,
    summary.SummaryFold,
    summary.RunSummary,
    summary.Group,
    summary.Totals,
)
"""Functions and classes of other modules."""

CONSTRUCTED = ("Pcap", "SummaryFold")
"""Classes whose constructor is shown. Those of scenarios are on a page of their own."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef

MOST_COLUMNS = 88
"""Maximum length of a signature in one line."""


def page() -> str:
    """Return the reference page, as Markdown. Raises `LookupError` for a name without a place."""
    described = {name for names in GROUPS.values() for name in names}
    parts = set(scenario.__all__) - {"Scenario", "explain"}
    if missing := set(tcpsf.__all__) - described - parts - {"__version__"}:
        raise LookupError(f"no group of the page has: {', '.join(sorted(missing))}")
    sections = [INTRODUCTION]
    for heading, names in GROUPS.items():
        sections.append(f"## {heading}\n")
        sections += [_entry(getattr(tcpsf, name), name) for name in names]
        if heading == "Scenario":
            sections += ["### Parts of a scenario\n", SCENARIO, _parts(sorted(parts))]
    sections.append("## Other classes\n")
    sections += [_entry(found, _heading(found), module=found.__module__) for found in OTHERS]
    version = "`tcpsf.__version__` is the version of the package, as text.\n"
    return "\n".join([*sections, "## Version\n", version])


def _heading(found: Any) -> str:
    """Return the heading of a name of another module; a function has its module's name."""
    if inspect.isclass(found):
        return found.__name__
    return f"{found.__module__}.{found.__name__}".removeprefix("tcpsf.")


def _parts(names: Sequence[str]) -> str:
    """Return a table of the classes of a scenario, with links to their keys."""
    rows = ["| class | content |", "| --- | --- |"]
    for name in names:
        found = getattr(scenario, name)
        if inspect.isclass(found):
            first = inspect.cleandoc(found.__doc__ or "").split("\n\n")[0].replace("\n", " ")
            rows.append(f"| [`{name}`](scenario.md#{name.lower()}) | {first.replace('``', '`')} |")
        else:
            members = ", ".join(f"`{part.__name__}`" for part in found.__args__)
            rows.append(f"| `{name}` | One of {members}. |")
    return "\n".join(rows) + "\n"


def _entry(found: Any, name: str, *, module: str | None = None) -> str:
    """Return the section of a function or a class."""
    origin = f"In `{module}`.\n\n" if module else ""
    if inspect.isfunction(found):
        signature = _code(_signature(_node(found), name.rpartition(".")[2]))
        return f"### {name}\n\n{origin}{signature}\n\n{_prose(found)}\n"
    fields, methods = _fields(found), _methods(found)
    parts = [f"### {name}\n\n{origin}{_head(found, name)}{_prose(found)}"]
    if fields:
        rows = "\n".join(f"| `{field}` | {kind} | {text} |" for field, kind, text in fields)
        parts.append(f"| attribute | type | meaning |\n| --- | --- | --- |\n{rows}")
    parts += [
        f"#### {name}.{method.name}\n\n{_code(_signature(method, method.name))}\n\n"
        f"{_prose(getattr(found, method.name))}"
        for method in methods
    ]
    return "\n\n".join(parts) + "\n"


def _head(cls: Any, name: str) -> str:
    """Return the constructor's call of a class that users construct."""
    if name not in CONSTRUCTED:
        return ""
    given = inspect.signature(cls).parameters.values()
    words = (
        each.name if each.default is each.empty else f"{each.name}={each.default!r}"
        for each in given
    )
    return _code(f"{name}(*, {', '.join(words)})") + "\n\n"


@cache
def _node(found: Any) -> Any:
    """Return the syntax tree of a function or a class."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(found))).body
    return node


def _signature(node: _Function, name: str) -> str:
    """Return a signature, with a line for each parameter if it is long."""
    arguments = node.args
    arguments.args = [each for each in arguments.args if each.arg not in ("self", "cls")]
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    whole = f"{name}({', '.join(_parameters(arguments))}){returned}"
    if len(whole) <= MOST_COLUMNS:
        return whole
    lines = "".join(f"    {each},\n" for each in _parameters(arguments))
    return f"{name}(\n{lines}){returned}"


def _parameters(arguments: ast.arguments) -> Iterator[str]:
    required = len(arguments.args) - len(arguments.defaults)
    for at, each in enumerate(arguments.args):
        default = None if at < required else arguments.defaults[at - required]
        yield _parameter(each, default)
    if arguments.kwonlyargs:
        yield "*"
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(each, default)
    if arguments.kwarg:
        yield f"**{ast.unparse(arguments.kwarg)}"


def _parameter(each: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(each) + ("" if default is None else f" = {ast.unparse(default)}")


def _fields(cls: Any) -> list[tuple[str, str, str]]:
    """Return the fields and properties of a class: name, type and documentation."""
    found = []
    body = _node(cls).body
    if cls.__name__ == "Scenario":
        return []
    for statement, following in zip(body, [*body[1:], None], strict=True):
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind) if name[0] != "_":
                found.append((name, _kind(kind), _text_of(following)))
            case ast.FunctionDef(name=name, returns=kind) if kind and _is_property(statement):
                found.append((name, _kind(kind), _text_of(statement.body[0])))
    return found


def _text_of(statement: ast.stmt | None) -> str:
    """Return the documentation that a statement holds, in one line."""
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return _linked(" ".join(inspect.cleandoc(text).split())).replace("|", "\\|")
    return ""


def _kind(annotation: ast.expr) -> str:
    return f"`{ast.unparse(annotation)}`".replace("|", "\\|")


def _is_property(node: _Function) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list)


def _methods(cls: Any) -> list[_Function]:
    """Return the public methods of a class that have a docstring."""
    return [
        node
        for node in _node(cls).body
        if isinstance(node, _Function) and not node.name.startswith("_") and not _is_property(node)
    ]


def _prose(found: Any) -> str:
    """Return a docstring as Markdown: examples as code, names of this page as links."""
    blocks = inspect.cleandoc(found.__doc__ or "").split("\n\n")
    return "\n\n".join(
        _code(block, "pycon") if block.startswith(">>>") else _linked(block) for block in blocks
    )


def _code(text: str, language: str = "python") -> str:
    return f"```{language}\n{text}\n```"


@cache
def _targets() -> dict[str, str]:
    """Return the anchors of the page by the names that docstrings use."""
    found = {name: name for names in GROUPS.values() for name in names}
    found |= {_heading(each): _heading(each) for each in OTHERS}
    for name in list(found):
        each = next((other for other in OTHERS if _heading(other) == name), None)
        each = each or getattr(tcpsf, name)
        if inspect.isclass(each):
            found |= {f"{name}.{method.name}": f"{name}.{method.name}" for method in _methods(each)}
    return {name: heading.lower().replace(".", "") for name, heading in found.items()}


def _linked(text: str) -> str:
    """Convert the markup of a docstring, with links from names to their sections."""

    def link(match: re.Match[str]) -> str:
        anchor = _targets().get(match[1])
        return f"[`{match[1]}`](#{anchor})" if anchor else match[0]

    return re.sub(r"(?<!`)`([\w.]+)`(?!`)", link, text).replace("``", "`")


if __name__ == "__main__":
    sys.stdout.write(page())
