"""Command `tcpsf lab`: options and help texts."""

from __future__ import annotations

from typing import Any

import click

from tcpsf import _core
from tcpsf.cli.options import FOLDER, Command, as_json, force, page, seed
from tcpsf.cli.quantities import AsText, ByteRate, Bytes, Count, Number, Parts, Seconds
from tcpsf.cli.readers import read_bytes_or_packets


@click.command(cls=Command, context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, metavar="[-- SERVER...]")
@click.option(
    "--policy",
    "policies",
    metavar="REMEDY",
    multiple=True,
    help="Remedy as for `tcpsf cure`. May be given several times.  [default: dup-tail, or tail(n=4) "
    "with --preload]",
)
@click.option(
    "--preload",
    is_flag=True,
    help="Apply remedies by a library that the server loads, without privileges, as `tcpsf cure run "
    "--preload` does.",
)
@click.option(
    "--loss",
    "losses",
    metavar="LOSS",
    multiple=True,
    help="Losses towards the client: none, 2%, burst:2%,3 or byte:0.00002. May be given several "
    "times.  [default: 2% of the packets]",
)
@click.option(
    "--rtt",
    "rtts_s",
    type=Seconds(),
    metavar="TIME",
    multiple=True,
    help="Round-trip time. May be given several times.  [default: 40ms]",
)
@click.option(
    "--size",
    "sizes",
    type=Bytes(least=1, most=100_000_000),
    metavar="SIZE",
    multiple=True,
    help="Size of a response. May be given several times.  [default: 1200 bytes]",
)
@click.option(
    "--mix",
    "mixes",
    type=FOLDER,
    metavar="FILE",
    multiple=True,
    help="Text file with sizes of responses in bytes, one per line, which alternate. The percentiles are "
    "those of all of them. May be given several times.",
)
@click.option(
    "--down-rate",
    "link_rate",
    type=AsText(ByteRate()),
    metavar="RATE",
    help="Rate of the link towards the client.  [default: unlimited]",
)
@click.option(
    "--down-queue",
    "link_queue",
    type=AsText(Parts("LIMIT", read_bytes_or_packets, example="`30kB` or `20packets`")),
    metavar="LIMIT",
    help="Size of its queue: 30kB or 20packets.  [default: unlimited]",
)
@click.option(
    "--down-police",
    "link_police",
    type=AsText(Parts("RATE,BURST", _core.bits_per_second, _core.bytes, example="`5mbit,15kB`")),
    metavar="RATE,BURST",
    help="Drop packets towards the client that exceed a token bucket, e.g. 5mbit,15kB.",
)
@click.option(
    "--downloads",
    type=Count(least=0, most=100),
    default="0",
    show_default=True,
    metavar="N",
    help="Number of long downloads beside the requests, on the same link and without a remedy.",
)
@click.option(
    "--requests",
    type=Count(least=10, most=1_000_000),
    default="1000",
    show_default=True,
    metavar="N",
    help="Number of requests with each remedy.",
)
@click.option(
    "--rate",
    type=Number(least=0.1, most=10_000.0),
    default="60",
    show_default=True,
    metavar="N",
    help="Mean number of requests per second. Each has a connection of its own.",
)
@click.option(
    "--port",
    type=Count(least=1, most=65_535),
    default="80",
    show_default=True,
    metavar="N",
    help="Port of the server.",
)
@click.option(
    "--path",
    default="/{size}",
    show_default=True,
    metavar="PATH",
    help="Path of the requests; the size of the response replaces {size}.",
)
@seed
@as_json
@page("Write a page with the table and the distributions to this file.")
@force("--report")
def lab(**arguments: Any) -> None:
    """Measure remedies on this machine, over emulated paths.

    A server answers requests over `tcpsf link`, without a remedy and with each, for all combinations of
    losses, round-trip times and sizes. SERVER is a command that listens at $TCPSF_LINK_OUTSIDE. The
    default is a small HTTP server of Python. The simulator's prediction is beside each measurement.
    Other traffic on the link is that of --downloads.

    The command needs root, TUN devices and BPF; with --preload, only TUN devices.

    For example: tcpsf lab --policy dup-tail --policy 'tail(n=4)' --loss 2% --loss byte:0.00002
    """
    from tcpsf.cli.lab import lab

    lab(**arguments)
