"""The commands and their options. Only names and help live here; the work is in the modules they import when called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="The first and last packets of a TCP connection: TCP Smart Framing and its relatives, simulated.",
)
reproduce = typer.Typer(no_args_is_help=True, help="Make a paper's table again, beside the published numbers.")
smart_framing = typer.Typer(no_args_is_help=True, help="TCP Smart Framing (Mellia, Meo, Casetti, 2005).")
app.add_typer(reproduce, name="reproduce")
reproduce.add_typer(smart_framing, name="smart-framing")

Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the first run; further runs take the next ones.")]
Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, show_default=False, help="Runs at a time [default: one a core]."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON in place of text.")]
Force = Annotated[bool, typer.Option("--force", help="Let --out replace earlier results.")]


def _version(wanted: bool) -> None:
    if wanted:
        from tcpsf import __version__

        typer.echo(f"tcpsf {__version__}")
        raise typer.Exit


@app.callback()
def tcpsf(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Hold the options that stand before a command."""


@app.command()
def sim(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The scenario.")],
    seed: Seed = 1,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Independent runs.")] = 1,
    workers: Workers = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            show_default=False,
            help="Change a value, e.g. workload.web.load=0.5 or link.0.rate=5Mb/s; an empty value removes the key. "
            "May be given several times.",
        ),
    ] = None,
    json: Json = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", show_default=False, help="Write all tables there, as Parquet."),
    ] = None,
    force: Force = False,
) -> None:
    """Simulate a scenario: flows by class, and links."""
    from tcpsf.cli.sim import command

    command(file=file, seed=seed, runs=runs, workers=workers, changes=set_ or [], json=json, out=out, force=force)


@app.command()
def demo(
    seed: Seed = 1,
    workers: Workers = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the page goes.")] = Path("tcpsf-demo"),
) -> None:
    """Show Table I of the Smart Framing paper beside ours.

    A small run, under a minute on two cores. Prints the table and writes a page with a plot.
    """
    from tcpsf.cli.reproduce import demo

    demo(seed=seed, workers=workers, out=out)


@smart_framing.command("table-1")
def table_1(
    full: Annotated[
        bool,
        typer.Option("--full/--quick", help="The paper's own scale, 8 runs of 4000 s a sender; or 4 of 200 s."),
    ] = False,
    seed: Seed = 1,
    workers: Workers = None,
    json: Json = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", show_default=False, help="Write the table there, as HTML and JSON."),
    ] = None,
    force: Force = False,
) -> None:
    """Completion times and fast retransmits by flow size.

    For Classic TCP, VS-TCP-SF and FS-TCP-SF, each cell with its 95 % interval and the published value.
    """
    from tcpsf.cli.reproduce import table_1

    table_1(full=full, seed=seed, workers=workers, json=json, out=out, force=force)
