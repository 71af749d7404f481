"""Command `tcpsf analyze`: options and help texts."""

from __future__ import annotations

from typing import Any

import click

from tcpsf.captures import PLACES, SENDERS
from tcpsf.cli.options import FOLDER, Command, as_json, force, out, page
from tcpsf.cli.quantities import ConnectionName, Count, OneOf


@click.command(cls=Command)
@click.argument("files", type=FOLDER, nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--explain",
    "frame",
    type=Count(least=1, most=2**63 - 1),
    metavar="N",
    help="Print what the packet with this number was, and why a retransmission was made.",
)
@click.option(
    "--vantage",
    type=OneOf(list(PLACES)),
    default="auto",
    show_default=True,
    help="Position of the capture with respect to the end that accepts connections.",
)
@click.option(
    "--sender",
    type=OneOf(list(SENDERS)),
    default="auto",
    show_default=True,
    help="Rules of the senders: those of Linux from 4.20 on, or of the RFCs without RACK.",
)
@page("Write a page with the costs, completion times, flow lengths and time-sequence plots.")
@click.option(
    "--flow",
    "flows",
    type=ConnectionName(),
    multiple=True,
    metavar="FLOW",
    help="Connection that --report draws: its number, or its ends ADDRESS:PORT-ADDRESS:PORT, of which "
    "one is enough. May be given several times.  [default: the longest loss episodes]",
)
@click.option(
    "--sizes",
    type=FOLDER,
    metavar="FILE",
    help="Write 15 classes of flow lengths, which a scenario reads as `sizes`.",
)
@out("Write the tables flows, episodes, retransmissions, transmissions and losses as Parquet.")
@as_json
@force("--out, --report and --sizes")
def analyze(**arguments: Any) -> None:
    """Analyse captures: what repaired each loss, the time that it cost, and the loss law.

    FILE is a pcap or pcapng file, which may be compressed with gzip or zstd, or `-` for standard
    input. A damaged file is read up to the damage. The capture may have been made at the sender, at
    the receiver or in between.

    For example: tcpdump -i eth0 -s 128 -w - tcp | tcpsf analyze -
    """
    from tcpsf.cli.analyze import command

    command(**arguments)
