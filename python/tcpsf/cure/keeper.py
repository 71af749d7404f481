"""A step that must also happen if this process is killed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def ensured(step: Callable[[], None]) -> Iterator[None]:
    """Do ``step`` at the end of the block, in a process of its own.

    That process waits for the end of this one, or of the block, so nothing prevents the step.
    """
    reader, writer = os.pipe()
    keeper = os.fork()
    if keeper == 0:
        _wait_and_do(step, reader, writer)
    os.close(reader)
    try:
        yield
    finally:
        os.close(writer)
        os.waitpid(keeper, 0)


def _wait_and_do(step: Callable[[], None], reader: int, writer: int) -> None:
    """Do a step when the other end of a pipe is closed. Does not return."""
    try:
        os.setsid()
        os.close(writer)
        # The reader of this command's output must see its end.
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):
            os.dup2(nothing, standard)
        os.read(reader, 1)
        step()
    finally:
        os._exit(0)
