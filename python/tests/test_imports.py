"""No cycle among the modules of the package, with the packages themselves and imports for types.

The layers are in `pyproject.toml`, where import-linter checks them. It leaves out the package
`tcpsf` itself, whose names are imported at their first use.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import tcpsf

PACKAGE = Path(tcpsf.__file__).parent


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


def test_a_cycle_is_found(tmp_path: Path) -> None:
    package = tmp_path / "made"
    package.mkdir()
    (package / "__init__.py").write_text("from made.low import VALUE\n")
    (package / "low.py").write_text("def late():\n    from made import VALUE\n")
    assert imports(package) == {"made": {"made.low"}, "made.low": {"made"}}
    with pytest.raises(CycleError):
        TopologicalSorter(imports(package)).prepare()
