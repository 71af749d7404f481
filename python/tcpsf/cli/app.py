"""The commands with their options and help texts.

Each command imports the module that does its work when it is called, which keeps `--help` fast.
"""

from __future__ import annotations

from typing import Any

import click

from tcpsf.cli.advise_command import advise
from tcpsf.cli.analyze_command import analyze
from tcpsf.cli.completion_command import completion
from tcpsf.cli.cure_commands import cure
from tcpsf.cli.drill_command import drill
from tcpsf.cli.lab_command import lab
from tcpsf.cli.link_commands import link
from tcpsf.cli.model_commands import model
from tcpsf.cli.options import (
    FOLDER,
    PROFILES,
    InOrder,
    as_json,
    force,
    page,
    seed,
    together,
    workers,
)
from tcpsf.cli.quantities import AsText, Bytes, Count, OneOf, Seconds
from tcpsf.cli.reproduce_commands import reproduce
from tcpsf.cli.scenario_commands import (
    check,
    compare,
    examples,
    explain,
    explore,
    init,
    sim,
)
from tcpsf.cli.sweep_commands import sweep

TIME = AsText(Seconds())

SCHEMAS = (
    "scenario",
    "sim",
    "compare",
    "study",
    "study-status",
    "link",
    "link-control",
    "fetch",
    "drill",
    "analyze",
    "advise",
    "evaluation",
    "index",
    "table-1",
    "model",
    "model-report",
    "chain",
)
"""The schemas that `tcpsf schema` prints: of scenario files, and of JSON outputs."""


def _version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from tcpsf import __version__
        from tcpsf.cli.output import print_result

        print_result(f"tcpsf {__version__}")
        context.exit()


@click.group(cls=InOrder, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Print the version and exit.",
)
def app() -> None:
    """Simulate, emulate and serve TCP over lossy links.

    A scenario is a TOML file that describes a network, the traffic through it and the duration.
    """


for command in (sim, compare, sweep, explore, check, explain, examples, init):
    app.add_command(command)


app.add_command(link)


@app.command()
@seed
@workers
@click.option(
    "--out",
    type=FOLDER,
    metavar="DIR",
    default="tcpsf-demo",
    show_default=True,
    help="Folder for the page.",
)
def demo(**arguments: Any) -> None:
    """Show one lost segment and Table I, simulated and published.

    This is a small simulation of less than a minute on two cores. It prints the recovery from one
    lost segment with three senders. It also prints Table I, simulated with two sets of assumptions
    and as published, and writes a page with plots.
    """
    from tcpsf.cli.table_1_command import demo

    demo(**arguments)


_stack = together(
    click.option(
        "--alternate",
        type=AsText(Seconds(), also=("connection",)),
        metavar="WHEN",
        help="When to change to the next of several senders: with each `connection`, or after a "
        "time such as 10s.  [default: connection]",
    ),
    click.option(
        "--profile",
        type=OneOf(PROFILES),
        help="TCP of this system: sender, timers, receiver. --sender and --rto-... take precedence.  "
        "[default: linux-6.18 if a sender counts packets, as `linux` does; otherwise the RFCs with "
        "the default of --sender]",
    ),
    click.option(
        "--rto-initial",
        type=TIME,
        metavar="TIME",
        help="Retransmission timeout before the first RTT measurement.  "
        "[default: that of the profile, or 1s]",
    ),
    click.option(
        "--rto-min",
        type=TIME,
        metavar="TIME",
        help="Minimum retransmission timeout.  [default: that of the profile, or 1s]",
    ),
    click.option(
        "--mtu",
        type=Bytes(least=1280, most=65_535),
        metavar="SIZE",
        default=1500,
        show_default=True,
        help="Maximum packet size, from 1280 to 65535 bytes.",
    ),
    click.option(
        "--pcap",
        type=FOLDER,
        metavar="FILE",
        help="Write every packet's headers to this file, as pcapng.",
    ),
    click.option(
        "--offload/--no-offload",
        default=True,
        show_default=True,
        help="Use segmentation and checksum offload: full-sized segments cross the device in "
        "groups of up to 64 kB.",
    ),
)
"""The options that `serve`, `proxy` and `fetch` share."""

_host = together(
    click.option(
        "--sender",
        "senders",
        metavar="NAME",
        multiple=True,
        help='TCP variant of the server, e.g. "reno+sack / fs(n=4) / iw=1". If given several '
        "times, the variants alternate.  [default: reno+sack / full / iw=rfc6928]",
    ),
    click.option(
        "--policy",
        "policies",
        metavar="REMEDY",
        multiple=True,
        help="A further variant: the sender of Linux with remedies, as `tcpsf cure` names them, e.g. "
        '"dup-tail+rto-min(ms=20)".',
    ),
    click.option(
        "--max-connections",
        type=Count(least=1, most=1_000_000),
        metavar="N",
        default=16_384,
        show_default=True,
        help="Maximum number of concurrent connections, up to 1000000. When the limit is reached, an idle "
        "connection is closed, or new ones wait.",
    ),
    click.option(
        "--idle-timeout",
        type=TIME,
        metavar="TIME",
        help="Close a connection after this long without traffic.  "
        "[default: 60s; for a proxy 10min]",
    ),
    click.option(
        "--grace",
        type=Seconds(),
        metavar="TIME",
        default="10s",
        show_default=True,
        help="Time for open connections to finish after Ctrl-C.",
    ),
    click.option(
        "--lifetime",
        type=TIME,
        metavar="TIME",
        default="24h",
        show_default=True,
        help="Maximum duration of a connection.",
    ),
    click.option(
        "--records",
        type=FOLDER,
        metavar="FILE",
        help="Write a row for each connection to this file: .parquet or .jsonl.",
    ),
    page("Write a page with charts of the connections to this file, at the end."),
    _stack,
    as_json,
    force("--records, --report and --pcap"),
)
"""The options that `serve` and `proxy` share."""


@app.command()
@click.argument("folder", type=FOLDER, metavar="DIR")
@click.option(
    "--address",
    "addresses",
    metavar="IP",
    multiple=True,
    help="IPv4 or IPv6 address of the server, not used by another host. May be given several "
    "times.  [default: a free address of each version]",
)
@click.option(
    "--port",
    type=Count(least=1, most=65_535),
    metavar="N",
    default=80,
    show_default=True,
    help="TCP port of the server.",
)
@_host
def serve(**arguments: Any) -> None:
    """Serve a folder's files over HTTP with tcpsf's own TCP.

    The server is reached through a TUN device. Clients are programs on this machine, and hosts for
    which this machine forwards packets. The command needs root, or its own network namespace. On
    Ctrl-C, SIGTERM or SIGHUP it lets open connections finish, then prints a summary.
    """
    from tcpsf.cli.host import serve

    serve(**arguments)


@app.command()
@click.option(
    "--listen",
    metavar="IP[:PORT]",
    multiple=True,
    help="Address that clients connect to, not used by another host. May be given several times, "
    "all with the same port.  [default: a free address, port 80]",
)
@click.option(
    "--upstream",
    metavar="HOST:PORT",
    required=True,
    help="Server to connect to, over the kernel's TCP.",
)
@click.option(
    "--connect-timeout",
    type=TIME,
    metavar="TIME",
    default="10s",
    show_default=True,
    help="Maximum time to connect to the upstream.",
)
@_host
def proxy(**arguments: Any) -> None:
    """TCP proxy whose client side uses tcpsf's own TCP.

    This is a performance-enhancing proxy. It terminates the client's connection and relays the
    bytes, in both directions and unchanged, over a connection to the upstream. On Ctrl-C, SIGTERM
    or SIGHUP it lets open connections finish, then prints a summary.
    """
    from tcpsf.cli.host import proxy

    proxy(**arguments)


@app.command()
@click.argument("url", metavar="URL")
@click.option(
    "--requests",
    type=Count(least=1, most=10_000_000),
    metavar="N",
    default=1,
    show_default=True,
    help="Number of requests.",
)
@click.option(
    "--concurrency",
    type=Count(least=1, most=10_000),
    metavar="N",
    default=1,
    show_default=True,
    help="Maximum number of concurrent requests.",
)
@click.option(
    "--sender",
    "senders",
    metavar="NAME",
    multiple=True,
    help='TCP variant of this client, e.g. "santa-cruz(n=3) / full / iw=1". If given several '
    "times, the variants alternate.  [default: reno+sack / full / iw=rfc6928]",
)
@click.option(
    "--timeout",
    type=TIME,
    metavar="TIME",
    default="60s",
    show_default=True,
    help="Maximum time for a request, from the SYN.",
)
@click.option(
    "--address",
    metavar="IP",
    help="IPv4 or IPv6 address of this client, not used by another host.  "
    "[default: a free address]",
)
@click.option("--out", type=FOLDER, metavar="FILE", help="Write the response's body to this file.")
@click.option(
    "--records",
    type=FOLDER,
    metavar="FILE",
    help="Write a row for each request to this file: .parquet or .jsonl.",
)
@_stack
@as_json
@force("--out, --records and --pcap")
def fetch(**arguments: Any) -> None:
    """Fetch a URL over HTTP with tcpsf's own TCP, and measure how long it takes.

    Each request has its own connection. TCP Santa Cruz needs tcpsf's TCP at both ends, so that the
    server must be `tcpsf serve`. The command needs root, or its own network namespace. The server
    needs a route to this client.
    """
    from tcpsf.cli.fetch import fetch

    fetch(**arguments)


@app.command()
@click.argument("name", type=OneOf(SCHEMAS), metavar="[NAME]", default="scenario")
def schema(name: str) -> None:
    """Print the JSON Schema of scenario files, or of a command's JSON output.

    Editors check and complete a scenario with it: save it beside the file, and begin the file with
    `#:schema scenario.schema.json` (Taplo, Even Better TOML).

    NAME is scenario, or the output's: sim, link, link-control (requests to a link), fetch, drill,
    analyze, advise, evaluation (reproduce), index (reproduce all), table-1, model, model-report or
    chain (model smart-framing --chain).

    For example: tcpsf schema > scenario.schema.json
    """
    from tcpsf.cli.schema_command import schema

    schema(name=name)


app.add_command(cure)
app.add_command(lab)
app.add_command(drill)
app.add_command(analyze)
app.add_command(advise)
app.add_command(reproduce)
app.add_command(model)
app.add_command(completion)
