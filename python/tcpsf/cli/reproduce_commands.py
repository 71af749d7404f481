"""The commands below `tcpsf reproduce` and their options."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from tcpsf.cli.options import (
    FOLDER,
    InOrder,
    Option,
    as_json,
    force,
    out,
    readings,
    scale,
    seed,
    settings,
    workers,
)


@click.group(cls=InOrder)
def reproduce() -> None:
    """Reproduce a paper's tables and figures and compare them with the published values."""


def _words(
    _context: click.Context, _option: click.Parameter, texts: tuple[str, ...]
) -> tuple[str, ...]:
    words = tuple(word.strip() for text in texts for word in text.split(","))
    if not all(words):
        raise click.BadParameter("a key is empty")
    return words


class _Keys(click.Option):
    """An option whose help lists the keys of a paper's figures and tables, which are looked up when it is shown."""

    paper = ""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option and its text."""
        from tcpsf.reproduce.catalogue import keys

        self.help = f"These figures and tables alone: {', '.join(keys(self.paper))}."
        return super().get_help_record(ctx)


def _only(paper: str) -> Option:
    """Make the option that chooses among a report's parts."""
    of_paper = type("_KeysOfPaper", (_Keys,), {"paper": paper})
    return click.option("--only", cls=of_paper, metavar="KEY,...", multiple=True, callback=_words)


def _report(name: str) -> Option:
    """Make the option that names a folder for a report."""
    return click.option(
        "--out",
        type=FOLDER,
        metavar="DIR",
        default=f"tcpsf-{name}",
        show_default=True,
        help="Where the report goes. Finished runs are kept there, and an interrupted command goes on from them.",
    )


_smart_framing_readings = readings(
    "As the paper's text has it, or as brings its numbers nearest: first timeout 6 s, load with headers."
)


@reproduce.group("smart-framing", cls=InOrder, invoke_without_command=True)
@scale("The paper's own scale: 8 runs of 4000 s per point.", "4 runs of 400 s per point.")
@_only("smart-framing")
@_smart_framing_readings
@seed
@workers
@as_json
@_report("smart-framing")
@force()
@click.pass_context
def smart_framing(context: click.Context, /, **arguments: Any) -> None:
    """TCP Smart Framing (Mellia, Meo, Casetti, 2005).

    Without a command: every simulated figure and table of the paper and of its draft, each point
    with its 95 % interval, and what the papers claim of them with a verdict each.
    """
    if context.invoked_subcommand is None:
        from tcpsf.cli.evaluation import smart_framing

        smart_framing(**arguments)
        return
    _refuse_own(context, arguments)


def _refuse_own(context: click.Context, options: Iterable[str]) -> None:
    """Refuse a group's options in front of one of its commands, which has its own."""
    for name in options:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"`--{name}` belongs to the whole evaluation, not to `{context.invoked_subcommand}`",
                context,
            )


@smart_framing.command("table-1")
@scale("The paper's own scale: 8 runs of 4000 s per sender.", "4 runs of 200 s per sender.")
@_smart_framing_readings
@seed
@workers
@settings
@as_json
@out("Write the table there, as HTML and JSON.")
@force()
def table_1(**arguments: Any) -> None:
    """Completion times and fast retransmits by flow size.

    For Classic TCP, VS-TCP-SF and FS-TCP-SF, each cell with its 95 % interval and the published
    value.
    """
    from tcpsf.cli.reproduce import table_1

    table_1(**arguments)


@reproduce.command("all")
@scale("The papers' own scales; about an hour on two cores.", "Smaller ones; minutes.")
@click.option(
    "--only",
    metavar="PAPER,...",
    multiple=True,
    callback=_words,
    help="These papers alone: smart-framing, santa-cruz, packet-discard, short-flows.",
)
@click.option(
    "--live",
    is_flag=True,
    help="Also what is measured on live kernels, which needs root or namespaces of your own.",
)
@seed
@workers
@as_json
@_report("all")
@force()
def everything(**arguments: Any) -> None:
    """Every figure and table of every paper, and an index of them.

    Each paper's reports, one after the other, each in a folder of its own. The index lists every
    figure and table with its link and the verdicts on the claims that rest on it, and what was not
    run with the reason.
    """
    from tcpsf.cli.everything import command

    command(**arguments)


@reproduce.command("packet-discard")
@scale("48 runs of 10 s per point.", "6 runs of 10 s per point.")
@_only("packet-discard")
@readings(
    "TCP's timer as the paper's text has it (tick 500 ms), or as its Fig. 17 shows it (100 ms)."
)
@seed
@workers
@as_json
@_report("packet-discard")
@force()
def packet_discard(**arguments: Any) -> None:
    """Balanced packet discard (Cohen, Hamo, 2001).

    Every simulated figure and table of the paper, each point with its 95 % interval over start
    times, what the paper claims of them with a verdict each, and what hangs on choices that it does
    not state.
    """
    from tcpsf.cli.evaluation import packet_discard

    packet_discard(**arguments)


@reproduce.command("santa-cruz")
@scale("40 runs of 10 s where the paper leaves something open.", "8 runs of 10 s there.")
@_only("santa-cruz")
@seed
@workers
@as_json
@_report("santa-cruz")
@force()
def santa_cruz(**arguments: Any) -> None:
    """TCP Santa Cruz (Parsa, Garcia-Luna-Aceves, 1999), with Vegas and Reno.

    Tables 2 to 4 with the published numbers beside, congestion windows and queues against time,
    what the paper claims with a verdict each; and what it left for later.
    """
    from tcpsf.cli.evaluation import santa_cruz

    santa_cruz(**arguments)


acks = click.option(
    "--acks",
    type=click.Choice(["kernel", "delayed"]),
    default="kernel",
    show_default=True,
    help="The clients acknowledge as their kernel does, or delay from the first segment on (TCP_QUICKACK off).",
)


def rate(default: float, *, proxied: float | None = None) -> Option:
    """Make the option that says how many transfers, or through a proxy sessions, are begun per second."""
    return click.option(
        "--rate",
        type=click.FloatRange(min=1, max=2000),
        metavar="N",
        default=default if proxied is None else None,
        show_default=f"{default:g}" + ("" if proxied is None else f"; sessions: {proxied:g}"),
        help=f"Transfers {'' if proxied is None else 'or sessions '}begun per second; fewer where the machine is busy.",
    )


live_scale = scale("15 s to over a minute for each path.", "A few seconds for each path.")


def live_out(name: str, *, proxied: bool = False) -> Option:
    """Make the option that names a folder for what is measured."""
    return click.option(
        "--out",
        type=FOLDER,
        metavar="DIR",
        default=None if proxied else f"tcpsf-{name}",
        show_default=f"tcpsf-{name}; through the proxy tcpsf-{name}-proxy" if proxied else True,
        help="Where report and records go. Finished paths are kept there; an interrupted command goes on from them.",
    )


@smart_framing.command("table-2")
@live_scale
@acks
@rate(600.0)
@seed
@as_json
@live_out("table-2")
@force()
def table_2(**arguments: Any) -> None:
    """Fast recoveries and timeouts of files, on live kernels.

    Files of 10 Kbytes, our server with Classic, VS-TCP-SF and FS-TCP-SF by turns, this machine's
    kernel as clients, emulated paths between them. Needs root, or namespaces of your own.
    """
    from tcpsf.cli.testbed import tables

    tables("table-2", **arguments)


@smart_framing.command("table-3")
@scale("15 s to two minutes of transfers for each path.", "4 to 20 s of them.")
@click.option(
    "--through",
    type=click.Choice(["server", "proxy"]),
    default="server",
    show_default=True,
    help="Who has the senders: our file server; or, as in Fig. 8, our proxy between browsers and a server of the "
    "kernel's TCP, with sessions of several objects, and objects of more than 10 kB.",
)
@click.option(
    "--loss",
    type=click.Choice(["proportional", "per-byte"]),
    default="proportional",
    show_default=True,
    help="How a packet's chance to be lost goes with its size: in proportion, or each byte is hit independently.",
)
@click.option(
    "--objects",
    type=click.IntRange(min=1, max=100),
    metavar="N",
    show_default="1; through the proxy sessions of browsers",
    help="Objects that a connection carries, one after the other.",
)
@acks
@rate(600.0, proxied=200.0)
@seed
@as_json
@live_out("table-3", proxied=True)
@force()
def table_3(**arguments: Any) -> None:
    """Timer, timeouts and times of Web objects, on live kernels.

    Objects below 10 kB through nine settings of an emulated link, with Classic, VS-TCP-SF and
    FS-TCP-SF by turns, and the draft's table of fast recoveries beside. Needs root, or namespaces
    of your own.
    """
    from tcpsf.cli.testbed import tables

    tables("table-3", **arguments)


@reproduce.group("short-flows", cls=InOrder, invoke_without_command=True)
@scale(
    "5 runs of the paper's 4000 transfers per point.",
    "The paper's own scale: 4000 transfers per point.",
)
@_only("short-flows")
@readings(
    "With a timeout of 1 s and fits over all transfers, or as brings the paper's fits nearest: 200 ms, and fits over "
    "those of more than one segment."
)
@seed
@workers
@as_json
@_report("short-flows")
@force()
@click.pass_context
def short_flows(context: click.Context, /, **arguments: Any) -> None:
    """Short TCP transfers (Cardwell, Savage, Anderson, 1998).

    Without a command: every simulated figure of the paper, each point with its 95 % interval, the
    closed models beside them, and what the paper claims with a verdict each. Figs. 17 to 20 are
    measured: `live`.
    """
    if context.invoked_subcommand is None:
        from tcpsf.cli.evaluation import short_flows

        short_flows(**arguments)
        return
    _refuse_own(context, arguments)


@short_flows.command("live")
@scale("30 s of transfers for each sender on each path.", "5 s of them.")
@rate(80.0)
@seed
@as_json
@live_out("short-flows-live")
@force()
def short_flows_live(**arguments: Any) -> None:
    """Short transfers over emulated paths, on live kernels.

    Figs. 17 to 20: sizes of 1 to 128 000 bytes, the four published round trips and loss rates, this
    machine's kernel and our server as senders. The closed models are held against the times. Needs
    root, or namespaces of your own.
    """
    from tcpsf.cli.testbed import short_flows

    short_flows(**arguments)
