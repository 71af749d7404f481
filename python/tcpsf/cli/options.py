"""Options that several commands have, and the group that lists its commands in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from tcpsf.cli import usage, verbosity
from tcpsf.cli.output import print_result
from tcpsf.cli.quantities import Bytes, Count, OneOf

Option = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Type of a decorator that adds an option to a command."""

FOLDER = click.Path(path_type=Path)

MOST_SEED = 2**64 - 1
MOST_WORKERS = 1024

PROFILES = ("linux-6.18", "linux-6.12", "rfc", "bsd", "ns2")
"""Names of the profiles; `_core.host_profiles` has the same."""

SEED = Count(most=MOST_SEED)

seed = click.option(
    "--seed",
    type=SEED,
    metavar="N",
    default=1,
    show_default=True,
    help="Random seed of the first run. The seed increases by one with each further run.",
)
workers = click.option(
    "--workers",
    type=Count(least=1, most=MOST_WORKERS),
    metavar="N",
    help="Number of parallel runs, up to 1024.  [default: one per core]",
)


def runs(default: int, text: str) -> Option:
    """Make the option `--runs`."""
    return click.option(
        "--runs",
        type=Count(least=1),
        metavar="N",
        default=default,
        show_default=True,
        help=text,
    )


def store(default: str) -> Option:
    """Make the option for the store of the runs; ``default`` describes the usual one."""
    return click.option(
        "--store",
        metavar="DIR|URL",
        help=f"Folder or fsspec URL of the runs.  [default: {default}]",
    )


settings = click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change a value of the scenario, e.g. workload.web.load=0.5 or link.0.rate=5Mb/s. An "
    "empty value removes the key. May be given several times.",
)
as_json = click.option("--json", "json", is_flag=True, help="Print JSON instead of text.")


def together(*options: Option) -> Option:
    """Combine several options into one decorator. The help lists them in the given order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def scale(full: str, quick: str) -> Option:
    """Make the options `--full` and `--quick`, which choose the scale of a report."""
    return together(
        click.option("--full", is_flag=True, callback=_one_scale, help=full),
        click.option(
            "--quick",
            is_flag=True,
            callback=_one_scale,
            expose_value=False,
            help=f"{quick}  [default]",
        ),
    )


def _one_scale(context: click.Context, option: click.Parameter, wanted: bool) -> bool:
    if wanted and context.meta.setdefault("tcpsf.scale", option.name) != option.name:
        raise click.UsageError("`--full` and `--quick` were both given; choose one", context)
    return wanted


def readings(text: str) -> Option:
    """Make the option that chooses a reading of the paper."""
    return click.option(
        "--readings",
        type=OneOf(["text", "closest"]),
        default="text",
        show_default=True,
        help=text,
    )


def force(what: str = "--out") -> Option:
    """Make the option that allows replacing the results of an earlier run."""
    return click.option("--force", is_flag=True, help=f"Allow {what} to replace earlier results.")


def out(text: str) -> Option:
    """Make the option for the folder of the results."""
    return click.option("--out", type=FOLDER, metavar="DIR", help=text)


def page(text: str) -> Option:
    """Make the option for a page with charts."""
    return click.option("--report", type=FOLDER, metavar="PAGE.html", help=text)


def pcap(text: str, *, places: Sequence[str], place: str, where: str, default_bytes: str) -> Option:
    """Make the options of a capture: the file, the vantage point, and the bytes of each packet.

    ``places`` are the vantage points, ``place`` is the metavariable, ``where`` the help text of
    `--pcap-at`, and ``default_bytes`` the default of `--pcap-bytes` as the help shows it.
    """
    return together(
        click.option("--pcap", type=FOLDER, metavar="FILE", help=text),
        click.option("--pcap-at", type=OneOf([*places, "both"]), metavar=place, help=where),
        click.option(
            "--pcap-bytes",
            type=Bytes(least=80, most=262_144),
            metavar="SIZE",
            help=f"Bytes of each packet that --pcap writes, from 80 to 262144.  [default: {default_bytes}]",
        ),
    )


class Command(click.Command):
    """A command with the options of every command, whose help is printed like a result.

    A standard output that cannot be written is therefore an error.
    """

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's parameters, then `--quiet` and `--verbose`, then `--help`."""
        found = super().get_params(ctx)
        return [*self.params, *verbosity.OPTIONS, *found[len(self.params) :]]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line, and report the settings if `--verbose` was given."""
        usage.remember(ctx, args)
        words = list(args)
        try:
            rest = super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise
        verbosity.report_settings(ctx, words)
        return rest

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return the help option, which prints with `print_result`."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = _show_help
        return option


def _show_help(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        print_result(context.get_help())
        context.exit()


class InOrder(Command, click.Group):
    """A group that lists its commands in the order of their definition."""

    command_class = Command
    group_class = type

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click passes it)
        """Return the names of the commands."""
        return list(self.commands)
