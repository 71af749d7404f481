"""Signals that ask the program to end: SIGTERM and SIGHUP end it as Ctrl-C does, and everything is cleaned up."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
"""The signals, and the line that is printed at the end."""


class Stopped(KeyboardInterrupt):
    """A signal has asked the program to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """Raise `Stopped` on the first signal. After it only Ctrl-C interrupts: otherwise cleaning up goes on.

    The exception can be raised between any two instructions, also inside the standard library,
    where cleaning up may then fail with an error of its own (`threading.Condition` releases a lock
    that it does not hold). So every error that leaves the block after a signal is raised as
    `Stopped`.
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
    """Let ``handler`` take the signals, and yield those that it takes.

    A signal that the caller ignores, as `nohup` does, stays ignored.
    """
    before = {
        number: found
        for number in WORDS
        if (found := signal.getsignal(number)) is not signal.SIG_IGN
    }
    if threading.current_thread() is not threading.main_thread():
        before = {}  # signals are the main thread's
    try:
        for number in before:
            signal.signal(number, handler)
        yield list(before)
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
