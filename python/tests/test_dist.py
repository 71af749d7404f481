"""What `make dist` writes beside the wheels: archive, bill of materials, checksums."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import REPOSITORY

METADATA = """\
Metadata-Version: 2.4
Name: tcpsf
Version: 1.2.3
Requires-Dist: click>=8.2,<9
Requires-Dist: numpy (<3,>=2.2)
Requires-Dist: distributed>=2025.9 ; extra == 'dask'
License-Expression: Apache-2.0 OR MIT

Text.
"""


@pytest.fixture(scope="module")
def dist() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tcpsf_dist", REPOSITORY / "tools" / "dist.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wheel(folder: Path) -> Path:
    """A wheel with the bill of materials that maturin writes, of two crates."""
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "metadata": {"component": {"bom-ref": "path+file:///home/x/crates/py#1.2.3", "name": "py"}},
        "components": [{"bom-ref": "registry+x#libc@0.2.1", "name": "libc", "version": "0.2.1"}],
        "dependencies": [
            {"ref": "path+file:///home/x/crates/py#1.2.3", "dependsOn": ["registry+x#libc@0.2.1"]},
            {"ref": "registry+x#libc@0.2.1"},
        ],
    }
    file = folder / "tcpsf-1.2.3-cp311-abi3-manylinux2014_x86_64.whl"
    with zipfile.ZipFile(file, "w") as content:
        content.writestr("tcpsf-1.2.3.dist-info/METADATA", METADATA)
        content.writestr("tcpsf-1.2.3.dist-info/sboms/py.cyclonedx.json", json.dumps(bill))
    return file


def test_bill_of_materials(dist: ModuleType, tmp_path: Path) -> None:
    bill: dict[str, Any] = dist.bill_of_materials(wheel(tmp_path))
    about = bill["metadata"]["component"]
    assert (about["name"], about["version"]) == ("tcpsf", "1.2.3")
    parts = {each["name"]: each for each in bill["components"]}
    assert set(parts) == {"libc", "py", "click", "numpy"}
    assert parts["numpy"]["properties"][0]["value"] == "<3,>=2.2"
    assert "/home/x" not in json.dumps(bill)
    # Every reference is that of a component, and every component is reached from the package.
    graph = {each["ref"]: each.get("dependsOn", []) for each in bill["dependencies"]}
    reached, open_ = set[str](), [about["bom-ref"]]
    while open_:
        reached.add(open_[-1])
        open_ += graph.get(open_.pop(), [])
    assert reached == {about["bom-ref"], *(each["bom-ref"] for each in bill["components"])}


def test_the_archive_depends_only_on_the_files(dist: ModuleType, tmp_path: Path) -> None:
    for number in (1, 2):
        folder = tmp_path / str(number)
        for name in ("b/c.html", "a.html") if number == 1 else ("a.html", "b/c.html"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(name, encoding="utf-8")
            os.utime(folder / name, (number, number))
        dist.archive(folder, tmp_path / f"{number}.tar.gz", name="site")
    assert (tmp_path / "1.tar.gz").read_bytes() == (tmp_path / "2.tar.gz").read_bytes()
    with tarfile.open(tmp_path / "1.tar.gz") as found:
        assert found.getnames() == ["site/a.html", "site/b/c.html"]


def test_checksums_are_those_of_sha256sum(dist: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"two")
    (tmp_path / "a").write_bytes(b"")
    sums = tmp_path / dist.SUMS
    sums.write_text(dist.checksums(tmp_path), encoding="utf-8")
    check = ["/usr/bin/sha256sum", "--check", "--strict", sums.name]
    done = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "a: OK\nb: OK\n")
    assert dist.checksums(tmp_path) == sums.read_text(encoding="utf-8")


def test_the_toolchain_with_the_standard_library_of_a_target(
    dist: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "debian"):
        folder = tmp_path / name
        (folder / "lib").mkdir(parents=True)
        (folder / "rustc").write_text(f"#!/bin/sh\necho {folder}/lib\n", encoding="utf-8")
        (folder / "rustc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'first'}:{os.environ['PATH']}")
    monkeypatch.setattr(dist, "DEBIAN", tmp_path / "debian")
    target = "aarch64-unknown-linux-gnu"
    assert dist.toolchain(target) is None
    (tmp_path / "debian" / "lib" / "libstd-1234.rlib").touch()
    assert dist.toolchain(target) == tmp_path / "debian"
    (tmp_path / "first" / "lib" / "libstd-5678.rlib").touch()
    assert dist.toolchain(target) == tmp_path / "first"
