"""Signals that end the program: SIGTERM and SIGHUP are handled in the same way as Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
"""The handled signals, and the line that is printed at the end."""


class Stopped(KeyboardInterrupt):
    """Exception that ends the program after a signal."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """Raise `Stopped` on the first signal. During the cleanup after it, only Ctrl-C interrupts.

    The exception can be raised between any two instructions, also inside the standard library. The
    library's own cleanup may then fail: `threading.Condition` releases a lock that it does not
    hold. Therefore every error that leaves the block after a signal is raised as `Stopped`.
    """
    received: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        for each in handled:
            signal.signal(
                each, signal.default_int_handler if each == signal.SIGINT else signal.SIG_IGN
            )
        raise Stopped(number)

    with handling(stop) as handled:
        try:
            yield
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if received:
                raise Stopped(received[0]) from error
            raise


@contextlib.contextmanager
def handling(handler: Callable[[int, FrameType | None], None]) -> Iterator[list[signal.Signals]]:
    """Install ``handler`` for the signals, and yield the signals that it handles.

    A signal that the caller ignores, as `nohup` does, stays ignored.
    """
    before = {
        number: found
        for number in WORDS
        if (found := signal.getsignal(number)) is not signal.SIG_IGN
    }
    if threading.current_thread() is not threading.main_thread():
        before = {}  # only the main thread can set signal handlers
    try:
        for number in before:
            signal.signal(number, handler)
        yield list(before)
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
