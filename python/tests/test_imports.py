"""Imports without cycles, and names of modules and classes that have one meaning.

The layers are in `pyproject.toml`, where import-linter checks them. It leaves out the package
`tcpsf` itself, whose names are imported at their first use.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import tcpsf

PACKAGE = Path(tcpsf.__file__).parent

OF_A_PAPER = {"packet_discard", "santa_cruz", "short_flows", "smart_framing"}
"""Modules of several packages that are named after a paper."""
OF_EVERY_PAPER = {"contents", "exhibit_parts", "sensitivity"}
"""Modules that have the same responsibility in the folder of each paper."""
CLASSES_OF_EVERY_PAPER = {"Setting", "Variation"}
"""Classes that have the same responsibility in the folder of each paper."""


def files(package: Path) -> dict[str, Path]:
    """Source files by the name of their module; a stub stands for a compiled module."""
    found = {}
    for file in sorted((*package.rglob("*.py"), *package.rglob("*.pyi"))):
        parts = file.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports(package: Path) -> dict[str, set[str]]:
    """Modules of the package that each of its modules imports."""
    modules = files(package)
    return {
        name: set(_imported(ast.parse(file.read_text(encoding="utf-8")), modules)) - {name}
        for name, file in modules.items()
    }


def _imported(tree: ast.Module, modules: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                for name in (f"{node.module}.{alias.name}", f"{node.module}"):
                    if name in modules:
                        yield name
                        break


def test_no_modules_import_each_other() -> None:
    found = imports(PACKAGE)
    assert "tcpsf.scenario" in found["tcpsf.runs"]
    assert "tcpsf.runs" in found["tcpsf"]
    TopologicalSorter(found).prepare()


def repeated(names: Iterator[str]) -> set[str]:
    """The names that occur more than once."""
    return {name for name, count in Counter(names).items() if count > 1}


def test_a_module_has_a_name_of_its_own() -> None:
    names = (path.stem for path in PACKAGE.rglob("*.py") if path.stem != "__init__")
    assert repeated(names) == OF_A_PAPER | OF_EVERY_PAPER
    for name in OF_EVERY_PAPER:
        found = {path.parent.parent.name for path in PACKAGE.rglob(f"{name}.py")}
        assert found == {"reproduce"}


def test_a_public_class_has_a_name_of_its_own() -> None:
    names = (
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert repeated(names) == CLASSES_OF_EVERY_PAPER


def test_a_cycle_is_found(tmp_path: Path) -> None:
    package = tmp_path / "made"
    package.mkdir()
    (package / "__init__.py").write_text("from made.low import VALUE\n")
    (package / "low.py").write_text("def late():\n    from made import VALUE\n")
    assert imports(package) == {"made": {"made.low"}, "made.low": {"made"}}
    with pytest.raises(CycleError):
        TopologicalSorter(imports(package)).prepare()
