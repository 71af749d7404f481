"""Errors that a person can act on: what was being done, what was wrong, and a hint."""

from __future__ import annotations

from functools import partial
from typing import Any


class TcpsfError(Exception):
    """One line about what went wrong, and what to do about it.

    The command line prints it as ``error: …`` and ``hint: …`` and exits with ``status``.

    >>> error = TcpsfError("cannot read `a.toml`: no such file", hint="see `scenarios/`")
    >>> print(error, "|", error.hint)
    cannot read `a.toml`: no such file | see `scenarios/`
    """

    def __init__(self, message: str, *, hint: str | None = None, status: int = 2) -> None:
        super().__init__(message)
        self.hint = hint
        self.status = status

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), hint=self.hint, status=self.status), self.args


class ScenarioError(TcpsfError):
    """A scenario that cannot be simulated: which key, which value, and why."""


class StudyError(TcpsfError):
    """A study that cannot be used: which key, which value, and why."""


class ModelError(TcpsfError, ValueError):
    """An argument that a closed model cannot take: which one, its value, and what it may be."""


class OutputError(TcpsfError):
    """Results that could not be written. Nothing half-written is left behind."""


def nearest(word: str, known: list[str]) -> str | None:
    """Return the one of ``known`` that ``word`` was most likely meant to be, if any is near.

    >>> nearest("dealy", ["rate", "delay", "buffer"])
    'delay'
    """
    import difflib

    found = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return found[0] if found else None
