"""Errors that a person can act on: what was being done, what was wrong, and a hint."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any


class TcpsfError(Exception):
    """An error that a person can act on; the base class of the errors of tcpsf.

    The message is one line with the operation, the value and the reason. ``hint`` is a possible
    remedy or ``None``. The command line prints ``error: …`` and ``hint: …``, and exits with
    ``status``.

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


def reason(error: OSError) -> str:
    """Return the operating system's description of an error, in lower case."""
    return (error.strerror or str(error)).lower()


class ScenarioError(TcpsfError):
    """Raised for a scenario that cannot be simulated, or for a file that cannot be read.

    The message has the path of the key, such as ``link[0].rate``, the value and the reason.
    """


class StudyError(TcpsfError):
    """A study that cannot be used: which key, which value, and why."""


class ModelError(TcpsfError, ValueError):
    """An argument that a closed model cannot take: which one, its value, and what it may be."""


class OutputError(TcpsfError):
    """Raised if results cannot be written. No incomplete file remains."""


def suggestion(word: str, known: Iterable[str], what: str) -> str:
    """Return the hint of an unknown word: the nearest known one, or all of them.

    >>> suggestion("dealy", ["rate", "delay"], "keys"), suggestion("x", ["rate", "delay"], "keys")
    ('did you mean `delay`?', 'keys: rate, delay')
    """
    listed = list(known)
    near = nearest(word, listed)
    return f"did you mean `{near}`?" if near else f"{what}: {', '.join(listed)}"


def nearest(word: str, known: list[str]) -> str | None:
    """Return the one of ``known`` that ``word`` was most likely meant to be, if any is near.

    >>> nearest("dealy", ["rate", "delay", "buffer"])
    'delay'
    """
    import difflib

    found = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return found[0] if found else None
