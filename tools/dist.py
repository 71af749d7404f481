"""Build everything that is published: ``python tools/dist.py FOLDER``, after `make site`.

- wheels for manylinux2014 (glibc 2.17 or newer) by `.ci/wheel`: for x86-64, and for each other
  processor of `TARGETS` for which a toolchain has Rust's standard library: the one on the `PATH`, or
  Debian's in `DEBIAN`;
- the source distribution;
- the site as an archive;
- a software bill of materials (CycloneDX 1.5): the crates of the wheel, and its Python packages;
- `SHA256SUMS` of all of these, as `sha256sum --check` reads it.
"""

# ruff: noqa: S603, T201 (the program runs others, and prints what it does)

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
"""Targets of wheels. The first one is required."""

DEBIAN = Path("/usr/bin")
"""Folder with the programs of Debian's Rust toolchain."""

DEBIAN_LIBRARY = "rustc-web cargo-web libstd-rust-web-dev:arm64"
"""Debian's packages with a recent Rust toolchain, and the standard library for aarch64."""

SUMS = "SHA256SUMS"


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    site = ROOT / "out" / "site"
    if not (site / "index.html").exists():
        sys.exit("error: cannot find the site in `out/site`\nhint: run `make site` before")
    if not (site / "play" / "index.html").exists():
        sys.exit(
            "error: cannot package the playground: `out/site/play` has no page\nhint: `make web` names what it needs"
        )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for target in TARGETS:
        programs = toolchain(target)
        if programs is None and target != TARGETS[0]:
            print(f"== no wheel for {target}: no Rust here has a standard library for it")
            print(f"   rustup target add {target}")
            print("   or on Debian: dpkg --add-architecture arm64; apt-get update;")
            print(f"   apt-get install {DEBIAN_LIBRARY}")
            continue
        print(f"== wheel for {target}", flush=True)
        command = [str(ROOT / ".ci" / "wheel"), sys.executable, str(folder), target]
        run(command, first=programs)
    run([sys.executable, "-m", "maturin", "sdist", "--out", str(folder)])
    (wheel, *_) = sorted(folder.glob("*x86_64.whl"))
    stem = "-".join(wheel.name.split("-")[:2])
    archive(site, folder / f"{stem}-site.tar.gz", name=f"{stem}-site")
    bill = bill_of_materials(wheel)
    (folder / f"{stem}.cdx.json").write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")
    (folder / SUMS).write_text(checksums(folder), encoding="utf-8")
    print((folder / SUMS).read_text(encoding="utf-8"), end="")


def run(command: list[str], *, first: Path | None = None) -> None:
    """Run a program in the folder of the repository, and end if it fails.

    Programs of the folder ``first`` hide those with the same name on the `PATH`.
    """
    path = os.pathsep.join([*([str(first)] if first else []), os.environ["PATH"]])
    done = subprocess.run(command, cwd=ROOT, check=False, env={**os.environ, "PATH": path})
    if done.returncode != 0:
        sys.exit(f"error: `{' '.join(command[:4])}` failed with exit status {done.returncode}")


def toolchain(target: str) -> Path | None:
    """Return the folder of a `rustc` that has the standard library of a target."""
    for compiler in (shutil.which("rustc"), str(DEBIAN / "rustc")):
        if compiler and Path(compiler).exists() and has_standard_library(compiler, target):
            return Path(compiler).parent
    return None


def has_standard_library(compiler: str, target: str) -> bool:
    """Return whether a Rust compiler can build for a target."""
    command = [compiler, "--print", "target-libdir", "--target", target]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return any(Path(found.stdout.strip()).glob("libstd-*.rlib"))


def archive(source: Path, file: Path, *, name: str) -> None:
    """Write the files of a folder as a compressed archive. The same files give the same bytes."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for path in sorted(each for each in source.rglob("*") if each.is_file()):
            entry = tarfile.TarInfo(f"{name}/{path.relative_to(source)}")
            entry.size = path.stat().st_size
            with path.open("rb") as data:
                tar.addfile(entry, data)
    with file.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
        packed.write(content.getvalue())


def bill_of_materials(wheel: Path) -> dict[str, Any]:
    """Return the bill of materials of a wheel.

    The wheel has one of its crates, which maturin writes. This one also has the Python packages
    that the wheel needs, with their ranges of versions, and no path of this machine.
    """
    with zipfile.ZipFile(wheel) as content:
        (name,) = [name for name in content.namelist() if name.endswith(".cyclonedx.json")]
        (about,) = [name for name in content.namelist() if name.endswith(".dist-info/METADATA")]
        text = re.sub(r"path\+file://[^\"#]*/crates/", "path:crates/", content.read(name).decode())
        metadata = message_from_string(content.read(about).decode())
    bill: dict[str, Any] = json.loads(text)
    package, version = metadata["Name"], metadata["Version"]
    crate = bill["metadata"]["component"]
    needed = [
        _component(each) for each in metadata.get_all("Requires-Dist", []) if "extra ==" not in each
    ]
    bill["metadata"]["component"] = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{package}@{version}",
        "name": package,
        "version": version,
        "licenses": [{"expression": metadata["License-Expression"] or metadata["License"]}],
        "purl": f"pkg:pypi/{package}@{version}",
        "hashes": [{"alg": "SHA-256", "content": _sha256(wheel)}],
    }
    bill["components"] += [crate, *needed]
    used = [crate["bom-ref"], *(each["bom-ref"] for each in needed)]
    bill["dependencies"].append({"ref": f"pkg:pypi/{package}@{version}", "dependsOn": used})
    return bill


def _component(requirement: str) -> dict[str, Any]:
    """Return the component of a required Python package, such as ``click>=8.2,<9``."""
    found = re.match(r"([\w.-]+)\s*(.*)", requirement.split(";")[0].strip())
    if found is None:
        raise ValueError(f"cannot read the requirement {requirement!r}")
    name = found[1].lower()
    ranges = ",".join(sorted(found[2].strip("() ").replace(" ", "").split(",")))
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}",
        "name": name,
        "scope": "required",
        "purl": f"pkg:pypi/{name}",
        "properties": [{"name": "tcpsf:versions", "value": ranges}],
    }


def checksums(folder: Path) -> str:
    """Return the SHA-256 of every file of a folder, a line each."""
    files = sorted(each for each in folder.iterdir() if each.is_file() and each.name != SUMS)
    return "".join(f"{_sha256(each)}  {each.name}\n" for each in files)


def _sha256(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


if __name__ == "__main__":
    main()
