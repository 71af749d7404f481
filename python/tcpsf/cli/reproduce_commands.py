"""The commands below `tcpsf reproduce` and their options."""

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
    readings,
    scale,
    seed,
    settings,
    workers,
)


@click.group(cls=InOrder)
def reproduce() -> None:
    """Reproduce a paper's tables and figures and compare them with the published values."""


def _words(_context: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    words = tuple(word.strip() for text in texts for word in text.split(","))
    if not all(words):
        raise click.BadParameter("a key is empty")
    return words


def _only(keys: str) -> Option:
    """Make the option that chooses among a report's parts."""
    text = f"These figures and tables alone: {keys}"
    return click.option("--only", metavar="KEY,...", multiple=True, callback=_words, help=text)


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
@_only("fig-2, fig-3, fig-4, fig-5, fig-6, fig-7, fig-14, table-1, overhead, draft-table, matrix.")
@_smart_framing_readings
@seed
@workers
@as_json
@_report("smart-framing")
@force()
@click.pass_context
def smart_framing(context: click.Context, /, **arguments: Any) -> None:
    """TCP Smart Framing (Mellia, Meo, Casetti, 2005).

    Without a command: every simulated figure and table of the paper and of its draft, each point with its 95 %
    interval, and what the papers claim of them with a verdict each.
    """
    if context.invoked_subcommand is None:
        from tcpsf.cli.evaluation import smart_framing

        smart_framing(**arguments)
        return
    for name in arguments:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"`--{name}` belongs to the whole evaluation, not to `{context.invoked_subcommand}`", context
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

    For Classic TCP, VS-TCP-SF and FS-TCP-SF, each cell with its 95 % interval and the published value.
    """
    from tcpsf.cli.reproduce import table_1

    table_1(**arguments)


@reproduce.command("packet-discard")
@scale("48 runs of 10 s per point.", "6 runs of 10 s per point.")
@_only(
    "fig-3, fig-6 to fig-9, fig-12 to fig-18, fig-20, fig-20-fine, policies, "
    "recovery-bound, sensitivity, packets, queues, padding, framing-atm."
)
@readings("TCP's timer as the paper's text has it (tick 500 ms), or as its Fig. 17 shows it (100 ms).")
@seed
@workers
@as_json
@_report("packet-discard")
@force()
def packet_discard(**arguments: Any) -> None:
    """Balanced packet discard (Cohen, Hamo, 2001).

    Every simulated figure and table of the paper, each point with its 95 % interval over start times, what the paper
    claims of them with a verdict each, and what hangs on choices that it does not state.
    """
    from tcpsf.cli.evaluation import packet_discard

    packet_discard(**arguments)


@reproduce.command("santa-cruz")
@scale("40 runs of 10 s where the paper leaves something open.", "8 runs of 10 s there.")
@_only(
    "table-2, fig-8, fig-9, delta, table-3, table-3-split, fig-11, table-4, table-4-9, fig-13, readings, readings-3, "
    "readings-4, direction, direction-reordered, several-losses, ack-loss, no-back-off, fairness, coexistence, "
    "wireless, delayed-acks, small-window, path-change, out-of-order."
)
@seed
@workers
@as_json
@_report("santa-cruz")
@force()
def santa_cruz(**arguments: Any) -> None:
    """TCP Santa Cruz (Parsa, Garcia-Luna-Aceves, 1999), with Vegas and Reno.

    Tables 2 to 4 with the published numbers beside, congestion windows and queues against time, what the paper claims
    with a verdict each; and what it left for later.
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


def rate(default: float) -> Option:
    """Make the option that says how many transfers are begun per second."""
    return click.option(
        "--rate",
        type=click.FloatRange(min=1, max=2000),
        metavar="N",
        default=default,
        show_default=f"{default:g}",
        help="Transfers begun per second; fewer where the machine is busy.",
    )


live_scale = scale("15 s to over a minute for each path.", "A few seconds for each path.")


def live_out(name: str) -> Option:
    """Make the option that names a folder for what is measured."""
    return click.option(
        "--out",
        type=FOLDER,
        metavar="DIR",
        default=f"tcpsf-{name}",
        show_default=True,
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

    Files of 10 Kbytes, our server with Classic, VS-TCP-SF and FS-TCP-SF by turns, this machine's kernel as clients,
    emulated paths between them. Needs root, or namespaces of your own.
    """
    from tcpsf.cli.testbed import tables

    tables("table-2", loss="proportional", objects=1, **arguments)


@smart_framing.command("table-3")
@live_scale
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
    default=1,
    show_default=True,
    help="Objects that a connection carries, one after the other.",
)
@acks
@rate(600.0)
@seed
@as_json
@live_out("table-3")
@force()
def table_3(**arguments: Any) -> None:
    """Timer, timeouts and times of Web objects, on live kernels.

    Objects below 10 kB through nine settings of an emulated link, with Classic, VS-TCP-SF and FS-TCP-SF by turns. Needs
    root, or namespaces of your own.
    """
    from tcpsf.cli.testbed import tables

    tables("table-3", **arguments)


@reproduce.command("short-flows")
@scale("30 s of transfers for each sender on each path.", "5 s of them.")
@rate(80.0)
@seed
@as_json
@live_out("short-flows")
@force()
def short_flows(**arguments: Any) -> None:
    """Short TCP transfers, live (Cardwell et al., 1998).

    Figs. 17 to 20: sizes of 1 to 128 000 bytes, the four published round trips and loss rates, this machine's kernel
    and our server as senders. The closed models are held against the times. Needs root, or namespaces of your own.
    """
    from tcpsf.cli.testbed import short_flows

    short_flows(**arguments)
