"""The options `--quiet` and `--verbose`: how much a command prints to standard error.

With `--quiet` only errors are printed. With `--verbose` the records of Python's `logging` that the
package makes are printed too, each with the time since the start.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import click

from tcpsf.cli.colour import dim
from tcpsf.cli.streams import one_line, to_stderr

if TYPE_CHECKING:
    import logging

Level = Literal["quiet", "verbose"]

LOGGER = "tcpsf"
"""Name of the logger above those of the modules."""


@dataclass
class _State:
    """Options of the command that runs."""

    level: Level | None = None
    handler: logging.Handler | None = None
    began_s: float = field(default_factory=time.monotonic)


_state = _State()


def begin() -> None:
    """Forget the options of an earlier command in this process."""
    end()
    _state.level = None
    _state.began_s = time.monotonic()


def end() -> None:
    """Stop printing the records of the package."""
    if _state.handler is not None:
        import logging

        logging.getLogger(LOGGER).removeHandler(_state.handler)
        logging.getLogger(LOGGER).setLevel(logging.NOTSET)
        _state.handler = None


def is_quiet() -> bool:
    """Return whether only errors are printed."""
    return _state.level == "quiet"


def detail(message: str, *values: object) -> None:
    """Log a detail, which `--verbose` prints. ``values`` are inserted as by `logging`."""
    if _state.level == "verbose":
        import logging

        logging.getLogger(f"{LOGGER}.cli").debug(message, *values)


def _choose(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    level: Level = "quiet" if option.name == "quiet" else "verbose"
    if _state.level not in (None, level):
        raise click.UsageError("`--quiet` and `--verbose` were both given; choose one", context)
    _state.level = level
    if level == "verbose":
        _print_records()


OPTIONS = (
    click.Option(
        ["-q", "--quiet"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_choose,
        help="Print only errors to standard error.",
    ),
    click.Option(
        ["-v", "--verbose"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_choose,
        help="Print details of the work to standard error.",
    ),
)
"""The options of every command. They may also precede the command: `tcpsf -q sim …`."""


def _print_records() -> None:
    """Print the records of the package, once."""
    if _state.handler is not None:
        return
    import logging

    class Handler(logging.Handler):
        """Prints records with the time since the start of the command."""

        def emit(self, record: logging.LogRecord) -> None:
            """Print one record."""
            elapsed = time.monotonic() - _state.began_s
            to_stderr(dim(f"[{elapsed:7.3f} s] {one_line(record.getMessage())}"))

    _state.handler = Handler()
    logger = logging.getLogger(LOGGER)
    logger.addHandler(_state.handler)
    logger.setLevel(logging.DEBUG)
    from tcpsf import __version__

    detail(
        "tcpsf %s, Python %s, %s, %s processors",
        __version__,
        platform.python_version(),
        platform.platform(terse=True),
        os.cpu_count(),
    )


def report_settings(context: click.Context, words: Sequence[str]) -> None:
    """Log the values of a command's arguments and options, defaults included."""
    command = context.command
    if _state.level != "verbose" or not command.params or _has_command(context, words):
        return
    shown = []
    for parameter in command.params:
        value = context.params.get(parameter.name or "")
        if value is None or value == () or (value is False and not parameter.secondary_opts):
            continue
        name = parameter.opts[0] if isinstance(parameter, click.Option) else ""
        if isinstance(value, bool):
            name, value = (name if value else parameter.secondary_opts[0]), ""
        text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        default = context.get_parameter_source(parameter.name or "") in (
            click.core.ParameterSource.DEFAULT,
            click.core.ParameterSource.DEFAULT_MAP,
        )
        shown.append(f"{name} {text}".strip() + (" (default)" if default else ""))
    detail("%s: %s", context.command_path, "; ".join(shown) or "no settings")


def _has_command(context: click.Context, words: Sequence[str]) -> bool:
    """Return whether the words of a group name one of its commands."""
    if not isinstance(context.command, click.Group):
        return False
    _, rest, _ = context.command.make_parser(context).parse_args(list(words))
    return bool(rest)


def report_end(status: int) -> None:
    """Log the exit status, and the time and memory that the command used."""
    if _state.level == "verbose":
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        unit = 1 if sys.platform == "darwin" else 1024  # bytes or kilobytes
        detail(
            "exit status %d; CPU time %.2f s, maximum memory %.0f MB",
            status,
            used.ru_utime + used.ru_stime,
            used.ru_maxrss * unit / 1e6,
        )
