"""A progress bar with the remaining time, on standard error if this is a terminal.

There is no bar with `--quiet`.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from tcpsf.cli import colour, verbosity
from tcpsf.runs import Progress


@contextlib.contextmanager
def bar(what: str, *, unit: str = "runs") -> Iterator[Callable[[Progress], None] | None]:
    """Yield a function that updates the bar, or ``None`` if there is no bar."""
    if verbosity.is_quiet() or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[finished]}/{task.fields[runs]} " + unit),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
    )
    console = Console(stderr=True, no_color=not colour.is_wanted(sys.stderr))
    with RichProgress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=1.0, finished=0, runs="?")

        def move(state: Progress) -> None:
            progress.update(task, completed=state.done, finished=state.finished, runs=state.runs)

        yield move
