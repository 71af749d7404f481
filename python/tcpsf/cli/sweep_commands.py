"""The commands below `tcpsf sweep` and their options."""

from __future__ import annotations

from typing import Any

import click

from tcpsf.cli.options import (
    FOLDER,
    InOrder,
    Option,
    as_json,
    force,
    out,
    settings,
    store,
    together,
    workers,
)
from tcpsf.cli.quantities import BadValue, Count, OneOfParts
from tcpsf.errors import suggestion

SUFFIX = ".toml"

_file = click.argument("file", type=FOLDER, metavar="STUDY.toml")

_runs = click.option(
    "--runs",
    type=Count(least=1),
    metavar="N",
    help="Number of runs of each point, instead of the study's number or stopping rule.",
)


def _known_measures(
    context: click.Context, option: click.Parameter, keys: tuple[str, ...]
) -> tuple[str, ...]:
    """Refuse unknown measures before a run is simulated."""
    if not keys:
        return keys
    from tcpsf.measurements import MEASURES  # loads the statistics, which `--help` does not need

    known = [measure.key for measure in MEASURES]
    for key in keys:
        if key not in known:
            hint = suggestion(key, known, "measures")
            raise BadValue(key, f"unknown measure `{key}`", hint, option, context)
    return keys


_measures = click.option(
    "--measure",
    "measures",
    metavar="KEY",
    multiple=True,
    callback=_known_measures,
    help="Print this measure, such as p99_s. May be given several times.  [default: the study's]",
)


def _study_options() -> Option:
    """Make the options that define the study and its store."""
    return together(_file, store("STUDY.store beside the study"), _runs, settings)


class _RunByDefault(InOrder):
    """A group whose command `run` can be omitted: `tcpsf sweep STUDY.toml`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `run` if the first argument is a study."""
        first = next((word for word in args if not word.startswith("-")), "")
        if args and args[0] == first and first.endswith(SUFFIX) and first not in self.commands:
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group("sweep", cls=_RunByDefault)
def sweep() -> None:
    """Simulate a scenario at many points: a study.

    A study is a TOML file that names a scenario, the axes along which it varies, the number of runs
    or a stopping rule, and the results to keep. `tcpsf sweep STUDY.toml` means
    `tcpsf sweep run STUDY.toml`.
    """


@sweep.command()
@_study_options()
@click.option(
    "--shard",
    type=OneOfParts(),
    metavar="I/N",
    help="Simulate only part I of N, e.g. 3/8. The parts may use one store or several.",
)
@workers
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Simulate on a Dask cluster: the scheduler's address, e.g. tcp://HOST:8786, or `local`.",
)
@_measures
@as_json
@out("Write the results to this folder, as Parquet and JSON, with the plots as HTML and SVG.")
@force()
def run(**arguments: Any) -> None:
    """Simulate the missing runs of a study, and print its results.

    An interrupted command continues where it stopped.
    """
    from tcpsf.cli.study import run

    run(**arguments)


@sweep.command()
@_file
@force("FILE")
def init(**arguments: Any) -> None:
    """Write a commented study, to change and to run."""
    from tcpsf.cli.study import init

    init(**arguments)


@sweep.command()
@_study_options()
@as_json
def status(**arguments: Any) -> None:
    """Print how many runs of a study are stored and missing."""
    from tcpsf.cli.study import status

    status(**arguments)


@sweep.command()
@_study_options()
@_measures
@as_json
@out("Write the results to this folder, as Parquet and JSON, with the plots as HTML and SVG.")
@force()
def show(**arguments: Any) -> None:
    """Print the results of the points whose runs are complete."""
    from tcpsf.cli.study import show

    show(**arguments)


@sweep.command()
@_study_options()
@click.argument("sources", nargs=-1, required=True, metavar="STORE...")
def merge(**arguments: Any) -> None:
    """Copy the runs of a study from other stores, such as those of its shards."""
    from tcpsf.cli.study import merge

    merge(**arguments)
