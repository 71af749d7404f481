"""The standard streams of the process, and text for standard error."""

from __future__ import annotations

import contextlib
import os
import sys
import unicodedata
from typing import TextIO

BREAKS = {"Cc", "Zl", "Zp"}
"""Unicode's categories of control characters, line separators and paragraph separators."""


def fill_standard_streams() -> None:
    """Open the standard streams that the caller has closed.

    Otherwise a file that is opened later would get their descriptors, and printed text would go
    into that file. Writing to a standard output that was closed fails, as in other programs. Text
    for a closed standard error is discarded.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # `open` returns the lowest free descriptor, which is this one.
            os.set_inheritable(os.open(os.devnull, flags), True)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def to_stderr(text: str) -> None:
    """Print text to standard error. A failure to print it is ignored."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except OSError:
        abandon(sys.stderr)


def abandon(stream: TextIO) -> None:
    """Discard the buffer of a stream, which Python would otherwise write again at exit."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def one_line(text: str) -> str:
    r"""Return a message with line breaks and control characters escaped.

    Names of files can contain them.

    >>> one_line("a\nb\u2028c")
    'a\\nb\\u2028c'
    """
    return "".join(
        repr(each)[1:-1] if unicodedata.category(each) in BREAKS else each for each in text
    )
