"""Command `tcpsf advise`: options and help texts."""

from __future__ import annotations

from typing import Any

import click

from tcpsf.cli.options import FOLDER, Command, as_json, force, page, runs, seed, workers
from tcpsf.cli.quantities import Count, OneOf


@click.command(cls=Command)
@click.argument("file", type=FOLDER, metavar="FILE")
@click.option(
    "--direction",
    type=OneOf(["originator", "responder"]),
    help="End of the connections that sends the data: the one that opened them, or the other.  "
    "[default: the one in whose direction losses cost more time]",
)
@click.option(
    "--port",
    type=Count(least=1, most=65_535),
    metavar="N",
    help="Consider only connections to this TCP port.  [default: all]",
)
@click.option(
    "--sender",
    metavar="NAME",
    help='Congestion control and loss recovery of the senders, e.g. "linux" or "reno+sack".  '
    "[default: inferred from the capture]",
)
@click.option(
    "--remedy",
    "remedies",
    metavar="NAME",
    multiple=True,
    help='Remedy to replay: the framing of a sender such as "tail(n=3)", or "iw=20". May be given '
    "several times.  [default: framing, tail framing, copies of the tail, a lower minimum timeout, a "
    "larger initial window]",
)
@seed
@runs(20, "Number of runs with each remedy and each loss law. Runs with the same seed are a pair.")
@workers
@as_json
@page("Write a page with the answer and a chart to this file.")
@force("--report")
def advise(**arguments: Any) -> None:
    """Advise which remedy for losses would help, from a capture.

    FILE is a capture as for `tcpsf analyze`. The transfers of one direction are simulated with the loss
    law that fits the capture, without a remedy and with each one. The answer may be that no remedy
    helps, or that there is not enough evidence.

    For example: tcpsf advise server.pcap --port 443
    """
    from tcpsf.cli.advise import command

    command(**arguments)
