"""Finished runs on disk: their digests, and files that are written completely or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from functools import cache
from pathlib import Path

from tcpsf import _core


def digest(content: object) -> str:
    """Return the SHA-256 of plain data, in hexadecimal."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@cache
def build() -> str:
    """Return the SHA-256 of the compiled module, because builds of one version can differ."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()


def write(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, and rename it when it is complete."""
    partial = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
