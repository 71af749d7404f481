"""Finished work on disk: what it is filed under, and files that are whole or not there."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from functools import cache
from pathlib import Path

from tcpsf import _core


def digest(content: object) -> str:
    """Digest plain data."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@cache
def build() -> str:
    """Digest what simulates, serves and emulates: two builds of one version may differ."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()


def write(path: Path, content: bytes) -> None:
    """Write a file. It gets its name when all of it is written, so nobody reads half of one."""
    partial = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
