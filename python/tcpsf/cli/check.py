"""`tcpsf check`: check scenario files without running them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from tcpsf.cli import scenario_file
from tcpsf.cli.output import print_error, print_result
from tcpsf.errors import ScenarioError
from tcpsf.scenario import Greedy, Poisson, Scenario


def command(*, files: Sequence[Path], settings: Sequence[str]) -> None:
    """Check each file. Exit status 2 if one is not a valid scenario."""
    failed = 0
    for file in files:
        try:
            scenario = scenario_file.read(file, settings)
        except ScenarioError as error:
            failed += 1
            print_error(str(error), error.hint)
        else:
            print_result(f"{file}: valid\n{_contents(scenario)}")
    if failed:
        raise click.exceptions.Exit(2)


def _contents(scenario: Scenario) -> str:
    """List the links and workloads, one per line."""
    lines = [f"  {scenario.name}, {scenario.duration}"]
    for link in scenario.link:
        rate = link.rate or "no rate limit"
        lines.append(f"  link `{link.name}`: {link.from_} to {link.to}, {rate}, {link.delay}")
    for load in scenario.workload:
        senders = [load.sender] if load.sender else [each.sender for each in load.senders or ()]
        profile = (load.tcp.profile if load.tcp else None) or scenario.tcp.profile
        senders = senders or [f"the sender of {profile}"]
        count = (
            f"{load.flows} endless flows"
            if isinstance(load, Greedy)
            else "Poisson arrivals"
            if isinstance(load, Poisson)
            else f"{len(load.sizes)} transfers"
        )
        lines.append(
            f"  workload `{load.name}`: {load.from_} to {load.to}, {count}, {' and '.join(senders)}"
        )
    return "\n".join(lines)
