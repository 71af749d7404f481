"""The argument ``FILE.toml`` of commands that simulate, with the changes of ``--set``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tcpsf.cli import verbosity
from tcpsf.cli.setting import changed, parsed
from tcpsf.errors import ScenarioError, reason
from tcpsf.scenario import Scenario

STANDARD = Path("-")
"""The path that stands for standard input."""


def read(file: Path, settings: Sequence[str]) -> Scenario:
    """Read the scenario from a file or from standard input, and apply the settings."""
    scenario = _from_standard_input() if file == STANDARD else Scenario.from_toml(file)
    changes = parsed(settings)
    scenario = changed(scenario, changes)
    for path, value in changes.items():
        verbosity.detail("set `%s` to %r", path, value)
    verbosity.detail(
        "scenario `%s` from `%s`: %s, number of links %d, of workloads %d",
        scenario.name,
        file,
        scenario.duration,
        len(scenario.link),
        len(scenario.workload),
    )
    return scenario


@contextlib.contextmanager
def simulating(file: Path) -> Iterator[None]:
    """Name the file in an error of its scenario that the block raises."""
    try:
        yield
    except ScenarioError as error:
        raise ScenarioError(f"cannot simulate `{file}`: {error}", hint=error.hint) from None


def _from_standard_input() -> Scenario:
    try:
        return Scenario.from_toml_text(sys.stdin.buffer.read().decode("utf-8-sig"))
    except OSError as error:
        hint = "redirect a file or a pipe to standard input, or give the name of a file"
        raise ScenarioError(f"cannot read scenario `-`: {reason(error)}", hint=hint) from None
    except UnicodeDecodeError:
        raise ScenarioError("cannot read scenario `-`: it is not text in UTF-8") from None
    except ScenarioError as error:
        raise ScenarioError(f"cannot read scenario `-`: {error}", hint=error.hint) from None
