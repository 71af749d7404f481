"""The commands and their options. Only names and help live here; the work is in modules imported when called."""

from __future__ import annotations

from typing import Any

import click

from tcpsf.cli.model_commands import model
from tcpsf.cli.options import (
    FOLDER,
    SEED,
    InOrder,
    Option,
    as_json,
    force,
    out,
    pcap,
    seed,
    settings,
    together,
    workers,
)
from tcpsf.cli.quantities import Seconds
from tcpsf.cli.reproduce_commands import reproduce

SCHEMAS = (
    "scenario",
    "sim",
    "link",
    "fetch",
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
        from tcpsf.cli.output import say

        say(f"tcpsf {__version__}")
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

    A scenario is a TOML file: a network, what is sent through it, and for how long.
    """


@app.command()
@click.argument("file", type=FOLDER, metavar="FILE.toml")
@seed
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="Number of independent runs.",
)
@workers
@settings
@as_json
@out("Write all tables there, as Parquet.")
@pcap(
    "Write every packet there, as pcapng for Wireshark, with comments; - is standard output.",
    places=("sender", "receiver"),
    place="HOST",
    where="Capture at the sender of a flow's data, the receiver or both.  [default: sender]",
    kept="128",
)
@force("--out and --pcap")
def sim(**arguments: Any) -> None:
    """Run a scenario and summarise its flows and links.

    With - as FILE.toml the scenario is read from standard input.
    """
    from tcpsf.cli.sim import command

    command(**arguments)


LINE_OPTIONS = {
    "rate": ("RATE", "How fast the line sends, e.g. 10mbit.  [default: infinitely fast]"),
    "delay": ("TIME", "How long each packet travels, one way, e.g. 20ms."),
    "queue": (
        "SIZE",
        "What may wait for the line: 150kB, 100packets, or 150kB/256B in chunks.  [default: everything]",
    ),
    "red": (
        "MIN,MAX[,P]",
        "Random early detection: 30kB,90kB,0.1 or 5packets,15packets. Marks what is ECN-capable.",
    ),
    "codel": (
        "TARGET,TIME",
        "Controlled delay (RFC 8289), e.g. 5ms,100ms. Marks what is ECN-capable.",
    ),
    "balanced": (
        "LT,UT,GAP",
        "Drop what finds more than LT of --queue taken, or UT for GAP packets after a connection's loss: 0.4,0.9,25.",
    ),
    "loss": ("P", "Lose each packet with this probability: 0.01 or 1%."),
    "loss-per-byte": ("P", "Lose a packet if one of its bytes is hit: 1-(1-P)^bytes."),
    "loss-linear": ("P@SIZE", "Lose packets in proportion to their size, e.g. 0.01@1500B."),
    "loss-burst": ("P,RUN", "Lose this share of packets, in runs of RUN on average."),
    "loss-mask": (
        "1,0,...",
        "Lose just these of the TCP segments that carry data: 1 is lost, none after the last.",
    ),
    "duplicate": ("P", "Send a packet twice with this probability."),
    "corrupt": ("P", "Flip one bit of a packet with this probability."),
    "path-mtu": (
        "BYTES",
        'Drop larger packets and send ICMP "too big"; packets without DF pass.',
    ),
    "reorder": (
        "P,TIME",
        "Delay a packet by TIME with this probability while others pass it, e.g. 0.01,5ms.",
    ),
}
"""What a direction of a link does: how its value is written, and what it means."""


def _line_options(name: str, metavar: str, text: str) -> Option:
    """Make it three times: for both directions, and hidden for one."""
    return together(
        click.option(f"--{name}", metavar=metavar, help=text),
        *(
            click.option(f"--{direction}-{name}", metavar=metavar, hidden=True)
            for direction in ("down", "up")
        ),
    )


@app.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND...")
@together(*(_line_options(name, *told) for name, told in LINE_OPTIONS.items()))
@click.option(
    "--mtu",
    type=click.IntRange(1280, 65_535),
    metavar="BYTES",
    default=1500,
    show_default=True,
    help="Largest packet.",
)
@click.option("--seed", type=SEED, metavar="N", default=1, show_default=True, help="Random seed.")
@click.option(
    "--spin",
    metavar="TIME",
    help="Busy-wait this long before each deadline, e.g. 200us: more exact, and uses up to one core.",
)
@click.option(
    "--offload/--no-offload",
    default=True,
    show_default=True,
    help="Take and give full-sized TCP segments up to 64 kB at a time. On the link they are packets either way.",
)
@click.option(
    "--outside",
    metavar="COMMAND",
    help="Run this at the other end while COMMAND runs, e.g. a server. Without root, nothing else can be reached.",
)
@pcap(
    "Write packets there, as pcapng for Wireshark, with comments.",
    places=("inside", "outside"),
    place="END",
    where="Capture inside (at COMMAND's end), outside or both.  [default: inside]",
    kept="all",
)
@click.option(
    "--json", type=FOLDER, metavar="FILE", help="Write the statistics there as one line of JSON."
)
@force("--pcap and --json")
def link(**arguments: Any) -> None:
    """Run a command behind an emulated link, in real time.

    COMMAND runs in a network namespace of its own whose only way out leads through the link. It
    reaches what listens here at the address in TCPSF_LINK_OUTSIDE, 100.64.0.1 if that is free.
    Links may run inside each other.

    The exit status is that of COMMAND; 127 if there is no such command, 126 if it cannot be run, 2
    for bad options.

    Every option about the line up to --reorder also exists as --up-... (from COMMAND outwards) and
    --down-... for one direction, where `none` removes what is given for both.

    For example: tcpsf link --delay 20ms --rate 10mbit -- curl http://100.64.0.1:8000/
    """
    from tcpsf.cli.link import command

    command(**arguments)


@app.command()
@seed
@workers
@click.option(
    "--out",
    type=FOLDER,
    metavar="DIR",
    default="tcpsf-demo",
    show_default=True,
    help="Where the page goes.",
)
def demo(**arguments: Any) -> None:
    """Show one lost segment and Table I, simulated and published.

    A small simulation, under a minute on two cores. Prints the first loss with three senders and
    the table, simulated with two sets of assumptions and as published, and writes a page with
    plots.
    """
    from tcpsf.cli.reproduce import demo

    demo(**arguments)


_stack = together(
    click.option(
        "--alternate",
        metavar="WHEN",
        help="When several senders take turns: with each `connection`, or after a time such as 10s.  "
        "[default: connection]",
    ),
    click.option(
        "--rto-initial",
        metavar="TIME",
        default="1s",
        show_default=True,
        help="Retransmission timeout before the first round-trip measurement.",
    ),
    click.option(
        "--rto-min",
        metavar="TIME",
        default="1s",
        show_default=True,
        help="Minimum retransmission timeout.",
    ),
    click.option(
        "--mtu",
        type=click.IntRange(min=1280, max=65_535),
        metavar="BYTES",
        default=1500,
        show_default=True,
        help="Largest packet.",
    ),
    click.option(
        "--pcap", type=FOLDER, metavar="FILE", help="Write every packet's headers there, as pcapng."
    ),
    click.option(
        "--offload/--no-offload",
        default=True,
        show_default=True,
        help="Use segmentation and checksum offload: full-sized segments cross the device up to 64 kB at a time.",
    ),
)
"""The options that `serve`, `proxy` and `fetch` share."""

_host = together(
    click.option(
        "--sender",
        "senders",
        metavar="NAME",
        multiple=True,
        help='TCP variant of the server, e.g. "reno+sack / fs(n=4) / iw=1"; several take turns.  '
        "[default: reno+sack / full / iw=rfc6928]",
    ),
    click.option(
        "--max-connections",
        type=click.IntRange(min=1, max=1_000_000),
        metavar="N",
        default=16_384,
        show_default=True,
        help="Connections at a time. When the limit is reached, an idle connection is closed, or new ones wait.",
    ),
    click.option(
        "--idle-timeout",
        metavar="TIME",
        help="Close a connection after this long without traffic.  [default: 60s; for a proxy 10min]",
    ),
    click.option(
        "--grace",
        type=Seconds(bare=True),
        metavar="TIME",
        default="10s",
        show_default=True,
        help="Time for open connections to finish after Ctrl-C.",
    ),
    click.option(
        "--lifetime",
        metavar="TIME",
        default="24h",
        show_default=True,
        help="Longest duration of a connection.",
    ),
    click.option(
        "--records",
        type=FOLDER,
        metavar="FILE",
        help="Write a row for each connection there: .parquet or .jsonl.",
    ),
    _stack,
    as_json,
    force("--records and --pcap"),
)
"""The options that `serve` and `proxy` share."""


@app.command()
@click.argument("folder", type=FOLDER, metavar="DIR")
@click.option(
    "--address",
    "addresses",
    metavar="IP",
    multiple=True,
    help="IPv4 or IPv6 address to serve at, which nobody else has; may be given several times.  "
    "[default: a free one of each]",
)
@click.option("--port", type=click.IntRange(1, 65_535), metavar="N", default=80, show_default=True)
@_host
def serve(**arguments: Any) -> None:
    """Serve a folder's files over HTTP with tcpsf's own TCP.

    The server is reached through a TUN device: this machine, and those that it forwards packets
    for, can fetch from it. It needs root, or a network namespace of your own. Ctrl-C, SIGTERM and
    SIGHUP end it in an orderly way.
    """
    from tcpsf.cli.host import serve

    serve(**arguments)


@app.command()
@click.option(
    "--listen",
    metavar="IP[:PORT]",
    multiple=True,
    help="Address that clients connect to, which nobody else has; may be given several times, with one port.  "
    "[default: a free address, port 80]",
)
@click.option(
    "--upstream",
    metavar="HOST:PORT",
    required=True,
    help="Server to connect to, over the kernel's TCP.",
)
@click.option(
    "--connect-timeout",
    metavar="TIME",
    default="10s",
    show_default=True,
    help="Time for the upstream to answer.",
)
@_host
def proxy(**arguments: Any) -> None:
    """TCP proxy whose client side uses tcpsf's own TCP.

    A performance-enhancing proxy: it ends a client's connection and passes the bytes on, both ways
    and unchanged, over a connection to the upstream. Ctrl-C, SIGTERM and SIGHUP end it in an
    orderly way.
    """
    from tcpsf.cli.host import proxy

    proxy(**arguments)


@app.command()
@click.argument("url", metavar="URL")
@click.option(
    "--requests", type=click.IntRange(1, 10_000_000), metavar="N", default=1, show_default=True
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, 10_000),
    metavar="N",
    default=1,
    show_default=True,
    help="Number of requests that are under way at the same time.",
)
@click.option(
    "--sender",
    "senders",
    metavar="NAME",
    multiple=True,
    help='TCP variant of this end, e.g. "santa-cruz(n=3) / full / iw=1"; several take turns.  '
    "[default: reno+sack / full / iw=rfc6928]",
)
@click.option(
    "--timeout",
    metavar="TIME",
    default="60s",
    show_default=True,
    help="Longest time for a request, from the SYN.",
)
@click.option(
    "--address",
    metavar="IP",
    help="IPv4 or IPv6 address of this client, which nobody else has.  [default: a free one]",
)
@click.option("--out", type=FOLDER, metavar="FILE", help="Write the response's body there.")
@click.option(
    "--records",
    type=FOLDER,
    metavar="FILE",
    help="Write a row for each request there: .parquet or .jsonl.",
)
@_stack
@as_json
@force("--out, --records and --pcap")
def fetch(**arguments: Any) -> None:
    """Fetch a URL over HTTP with tcpsf's own TCP, and measure how long it takes.

    Each request has a connection of its own. With `tcpsf serve` at the other end, both ends have a
    TCP of ours: TCP Santa Cruz needs that. It needs root, or a network namespace of your own; the
    server must have a route back.
    """
    from tcpsf.cli.fetch import fetch

    fetch(**arguments)


@app.command()
@click.argument("name", type=click.Choice(SCHEMAS), metavar="[NAME]", default="scenario")
def schema(name: str) -> None:
    """Print the JSON Schema of scenario files, or of a command's JSON output.

    Editors check and complete a scenario with it: save it beside the file, and begin the file with
    `#:schema scenario.schema.json` (Taplo, Even Better TOML).

    NAME is scenario, or the output's: sim, link, fetch, evaluation (reproduce), index (reproduce
    all), table-1, model, model-report or chain (model smart-framing --chain).

    For example: tcpsf schema > scenario.schema.json
    """
    from tcpsf.cli.schema import schema

    schema(name=name)


app.add_command(reproduce)
app.add_command(model)
