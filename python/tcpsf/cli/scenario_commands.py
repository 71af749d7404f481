"""Commands that read, run or explain scenario files: options and help texts."""

from __future__ import annotations

from typing import Any

import click

from tcpsf.cli.options import (
    FOLDER,
    Command,
    as_json,
    force,
    out,
    page,
    pcap,
    runs,
    seed,
    settings,
    workers,
)
from tcpsf.cli.quantities import Count

MOST_FLOW = 2**63 - 1
"""Maximum of `--flow`."""


@click.command(cls=Command)
@click.argument("file", type=FOLDER, metavar="FILE.toml")
@seed
@runs(1, "Number of independent runs.")
@workers
@settings
@as_json
@out("Write all tables to this folder, as Parquet.")
@pcap(
    "Write every packet to this file, as pcapng for Wireshark, with comments; - is standard "
    "output.",
    places=("sender", "receiver"),
    place="HOST",
    where="Capture at the sender of a flow's data, at the receiver, or at both.  [default: sender]",
    default_bytes="128",
)
@page("Write a page with the summary and charts of the runs to this file.")
@click.option(
    "--flow",
    type=Count(most=MOST_FLOW),
    metavar="N",
    help="Number of the flow in the first run whose packets --report draws.  [default: a flow with "
    "a loss]",
)
@force("--out, --pcap and --report")
def sim(**arguments: Any) -> None:
    """Run a scenario and summarise its flows and links.

    With - as FILE.toml the scenario is read from standard input.
    """
    from tcpsf.cli.sim import command

    command(**arguments)


@click.command(cls=Command)
@click.argument("file", type=FOLDER, metavar="FILE.toml")
@click.option(
    "--sender",
    "senders",
    metavar="SENDER",
    multiple=True,
    required=True,
    help="Sender to compare, e.g. 'reno+sack / fs(n=4) / iw=1'. Given several times, the first one "
    "is the baseline. Given once, the baseline is the scenario as it is.",
)
@click.option(
    "--workload",
    "workloads",
    metavar="NAME",
    multiple=True,
    help="Change the sender of this workload only. May be given several times.  [default: all]",
)
@seed
@runs(16, "Number of runs of each sender. Runs with the same seed are a pair.")
@workers
@settings
@as_json
@out("Write the comparison to this folder, as Parquet and JSON.")
@force("--out")
def compare(**arguments: Any) -> None:
    """Compare senders in a scenario, with the same random numbers.

    Arrivals, flow sizes and random losses are the same for each sender. The output has completion
    times, recoveries, packets and links, with differences, 95 % intervals and their significance.
    """
    from tcpsf.cli.compare import command

    command(**arguments)


@click.command(cls=Command)
@click.argument("files", type=FOLDER, nargs=-1, required=True, metavar="FILE.toml...")
@settings
def check(**arguments: Any) -> None:
    """Check scenario files without running them.

    The exit status is 2 if a file is not a valid scenario.
    """
    from tcpsf.cli.check import command

    command(**arguments)


@click.command(cls=Command)
@click.argument("key", default="", metavar="[KEY]")
def explain(key: str) -> None:
    """Explain a key of scenario files, e.g. link.buffer, and list the keys below it.

    Without KEY, the keys of the top level are listed.
    """
    from tcpsf.cli.explain import command

    command(key=key)


@click.command(cls=Command)
@click.argument("file", type=FOLDER, metavar="FILE.toml")
@seed
@settings
@click.option(
    "--flow",
    type=Count(most=MOST_FLOW),
    metavar="N",
    help="Number of the flow whose packets are shown, as in the table `flows`.  [default: the first "
    "flow]",
)
@click.option(
    "--port",
    type=Count(most=65_535),
    metavar="N",
    default=0,
    show_default="a free port",
    help="TCP port on the loopback address.",
)
@click.option(
    "--browser/--no-browser",
    "open_browser",
    default=True,
    show_default=True,
    help="Open the page in the browser of this machine's display, if there is one.",
)
def explore(**arguments: Any) -> None:
    """Open a scenario in the playground, a page that simulates in the browser.

    The page shows the packets of one flow, of which packets can be dropped and delayed, and many
    flows at a bottleneck. It is served on the loopback address until Ctrl-C, and loads nothing from
    other hosts. With - as FILE.toml the scenario is read from standard input.
    """
    from tcpsf.cli.explore import command

    command(**arguments)


@click.command(cls=Command)
@click.argument("name", required=False, metavar="[NAME]")
def examples(name: str | None) -> None:
    """List the example scenarios, or print one of them."""
    from tcpsf.cli.examples import show

    show(name=name)


@click.command(cls=Command)
@click.argument("file", type=FOLDER, metavar="FILE.toml")
@click.option(
    "--example",
    metavar="NAME",
    default="starter",
    show_default=True,
    help="Example to copy; `tcpsf examples` lists all of them.",
)
@force("FILE.toml")
def init(**arguments: Any) -> None:
    """Write a commented scenario to a file, to be changed."""
    from tcpsf.cli.examples import init

    init(**arguments)
