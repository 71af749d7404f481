"""The checks of `make release-check` that need no installation."""

from __future__ import annotations

import hashlib
import importlib
import sys
import tarfile
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZipFile

import pytest
from conftest import REPOSITORY


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    sys.path.insert(0, str(REPOSITORY / "tools"))
    try:
        return importlib.import_module("release")
    finally:
        sys.path.pop(0)


@pytest.fixture
def release(tool: ModuleType, tmp_path: Path) -> Any:
    """A release with one file and its checksum."""
    version = tool.version()
    wheel = tmp_path / f"tcpsf-{version}-cp311-abi3-manylinux2014_x86_64.whl"
    wheel.write_bytes(b"wheel")
    line = f"{hashlib.sha256(b'wheel').hexdigest()}  {wheel.name}\n"
    (tmp_path / "SHA256SUMS").write_text(line, encoding="utf-8")
    return tool.Release(folder=tmp_path, version=version)


def test_a_good_release(tool: ModuleType, release: Any) -> None:
    assert tool.check_sums(release) == "1 files"
    assert tool.check_version(release).startswith("1 files of version ")
    assert release.wheel().name.endswith(".whl")


def test_faults_of_checksums(tool: ModuleType, release: Any) -> None:
    release.wheel().write_bytes(b"other")
    with pytest.raises(tool.CheckError, match="sha256sum"):
        tool.check_sums(release)
    (release.folder / "more").write_bytes(b"")
    with pytest.raises(tool.CheckError, match="checksums and files differ: more"):
        tool.check_sums(release)
    (release.folder / "SHA256SUMS").unlink()
    with pytest.raises(tool.CheckError, match="hint: make dist"):
        tool.check_sums(release)


def test_a_release_without_the_playground(
    tool: ModuleType, release: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    page = tmp_path_factory.mktemp("site") / "index.html"
    page.write_text("page", encoding="utf-8")
    site = release.folder / "tcpsf-site.tar.gz"
    with ZipFile(release.wheel(), "w") as wheel, tarfile.open(site, "w:gz") as archive:
        wheel.writestr("tcpsf/__init__.py", "")
        archive.add(page, "tcpsf-site/index.html")
    with pytest.raises(
        tool.CheckError, match=r"in tcpsf-.*\.whl, tcpsf-site\.tar\.gz; hint: make web"
    ):
        tool.check_playground(release)
    with ZipFile(release.wheel(), "a") as wheel, tarfile.open(site, "w:gz") as archive:
        wheel.write(page, tool.PLAYGROUND)
        archive.add(page, "tcpsf-site/play/index.html")
    assert tool.check_playground(release) == "in 1 wheels and the site"


def test_another_version(tool: ModuleType, release: Any) -> None:
    (release.folder / "tcpsf-9.9.9.tar.gz").write_bytes(b"")
    with pytest.raises(tool.CheckError, match=r"files: tcpsf-9\.9\.9\.tar\.gz"):
        tool.check_version(release)
    release.wheel().unlink()
    with pytest.raises(tool.CheckError, match="no manylinux wheel"):
        release.wheel()


def test_changelog(tool: ModuleType, release: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "ROOT", release.folder)
    changelog = release.folder / "CHANGELOG.md"
    section = f"## [{release.version}] - 2026-01-02\n"
    changelog.write_text(f"# C\n\n## [Unreleased]\n\n{section}\n- x\n", encoding="utf-8")
    assert tool.check_changelog(release) == f"[{release.version}] - 2026-01-02"
    changelog.write_text(f"## [Unreleased]\n\n- y\n\n{section}", encoding="utf-8")
    with pytest.raises(tool.CheckError, match="unreleased changes"):
        tool.check_changelog(release)
    changelog.write_text("## [Unreleased]\n", encoding="utf-8")
    with pytest.raises(tool.CheckError, match="has no section"):
        tool.check_changelog(release)


def test_commands_of_the_readme(tool: ModuleType) -> None:
    systems = sys.modules[tool.RootSystem.__module__]
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    found = [each.strip() for each in systems.COMMANDS.findall(text)]
    assert "tcpsf sim scenarios/linux-server.toml --seed 1 --pcap server.pcapng" in found
    assert "tcpsf sweep init mine.toml" in found
