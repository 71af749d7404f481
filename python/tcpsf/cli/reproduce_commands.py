"""The commands below `tcpsf reproduce` and their options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
    store,
    workers,
)
from tcpsf.cli.quantities import BadValue, Count, Number, OneOf
from tcpsf.errors import TcpsfError


@click.group(cls=InOrder)
def reproduce() -> None:
    """Reproduce a paper's tables and figures and compare them with the published values."""


def _words(texts: tuple[str, ...]) -> tuple[str, ...]:
    words = tuple(word.strip() for text in texts for word in text.split(","))
    if not all(words):
        raise click.BadParameter("a key is empty")
    return words


def _checked(check: Callable[[Sequence[str]], object]) -> Callable[..., tuple[str, ...]]:
    """Make the callback of an option for keys, which ``check`` refuses with `TcpsfError`."""

    def callback(
        context: click.Context, option: click.Parameter, texts: tuple[str, ...]
    ) -> tuple[str, ...]:
        words = _words(texts)
        try:
            if words:
                check(words)
        except TcpsfError as error:
            raise BadValue(",".join(texts), str(error), error.hint or "", option, context) from None
        return words

    return callback


class _Keys(click.Option):
    """An option whose help lists the keys of a paper's figures and tables.

    The keys are looked up when the help is shown.
    """

    paper = ""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option and its help text."""
        from tcpsf.reproduce.catalogue import keys

        self.help = f"Only these figures and tables: {', '.join(keys(self.paper))}."
        return super().get_help_record(ctx)


def _only(paper: str) -> Option:
    """Make the option `--only`, which chooses figures and tables of a paper."""
    of_paper = type("_KeysOfPaper", (_Keys,), {"paper": paper})

    def check(words: Sequence[str]) -> None:
        from tcpsf.reproduce.catalogue import exhibits

        exhibits(paper, only=words)

    return click.option(
        "--only", cls=of_paper, metavar="KEY,...", multiple=True, callback=_checked(check)
    )


def _check_papers(words: Sequence[str]) -> None:
    from tcpsf.reproduce.catalogue import papers

    papers(words)


def _report(name: str) -> Option:
    """Make the option for the folder of a report."""
    return click.option(
        "--out",
        type=FOLDER,
        metavar="DIR",
        default=f"tcpsf-{name}",
        show_default=True,
        help="Folder for the report. Without --store, finished runs are kept there, and an "
        "interrupted command continues from them when it is repeated.",
    )


_store = store("the folder of --out")


_smart_framing_readings = readings(
    "Settings of the paper's text, or those that come closest to its numbers: initial timeout "
    "6 s, load including headers."
)


@reproduce.group("smart-framing", cls=InOrder, invoke_without_command=True)
@scale("The paper's own scale: 8 runs of 4000 s per point.", "4 runs of 400 s per point.")
@_only("smart-framing")
@_smart_framing_readings
@seed
@workers
@as_json
@_report("smart-framing")
@_store
@force()
@click.pass_context
def smart_framing(context: click.Context, /, **arguments: Any) -> None:
    """TCP Smart Framing (Mellia, Meo, Casetti, 2005).

    Without a command, the report has every simulated figure and table of the paper and of its
    draft. Each point has its 95 % confidence interval, and each claim of the papers a verdict.
    """
    if context.invoked_subcommand is None:
        from tcpsf.cli.paper_report import smart_framing

        smart_framing(**arguments)
        return
    _refuse_own(context, arguments)


def _refuse_own(context: click.Context, options: Iterable[str]) -> None:
    """Refuse a group's options in front of one of its commands, which has its own options."""
    for name in options:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"`--{name}` applies to the whole evaluation, "
                f"not to `{context.invoked_subcommand}`",
                context,
            )


@smart_framing.command("table-1")
@scale("The paper's own scale: 8 runs of 4000 s per sender.", "4 runs of 200 s per sender.")
@_smart_framing_readings
@seed
@workers
@settings
@as_json
@out("Write the table to this folder, as HTML and JSON.")
@force()
def table_1(**arguments: Any) -> None:
    """Completion times and fast retransmits by flow size.

    The table has columns for Classic TCP, VS-TCP-SF and FS-TCP-SF. Each cell has its 95 %
    confidence interval and the published value.
    """
    from tcpsf.cli.table_1_command import table_1

    table_1(**arguments)


@reproduce.command("all")
@scale("The papers' own scales: about an hour on two cores.", "Smaller scales: some minutes.")
@click.option(
    "--only",
    metavar="PAPER,...",
    multiple=True,
    callback=_checked(_check_papers),
    help="Only these papers: smart-framing, santa-cruz, packet-discard, short-flows.",
)
@click.option(
    "--live",
    is_flag=True,
    help="Include the measurements on live kernels. They need root, or your own user and network "
    "namespaces.",
)
@seed
@workers
@as_json
@_report("all")
@_store
@force()
def everything(**arguments: Any) -> None:
    """Reproduce every figure and table of every paper, and write an index of them.

    The command makes each paper's reports one after the other, each in its own folder. The index
    links every figure and table, with the verdicts on the claims that are based on it. It also
    lists reports that were not run, with the reason.
    """
    from tcpsf.cli.all_reports import command

    command(**arguments)


@reproduce.command("packet-discard")
@scale("48 runs of 10 s per point.", "6 runs of 10 s per point.")
@_only("packet-discard")
@readings(
    "Tick of TCP's timer: 500 ms as in the paper's text, or 100 ms as in its Fig. 17 (closest)."
)
@seed
@workers
@as_json
@_report("packet-discard")
@_store
@force()
def packet_discard(**arguments: Any) -> None:
    """Balanced packet discard (Cohen, Hamo, 2001).

    The report has every simulated figure and table of the paper. Each point has its 95 % confidence
    interval over start times, and each claim of the paper a verdict. The report also shows how
    the results depend on choices that the paper does not state.
    """
    from tcpsf.cli.paper_report import packet_discard

    packet_discard(**arguments)


@reproduce.command("santa-cruz")
@scale(
    "40 runs of 10 s for each case that the paper leaves open.",
    "8 runs of 10 s for each of these cases.",
)
@_only("santa-cruz")
@seed
@workers
@as_json
@_report("santa-cruz")
@_store
@force()
def santa_cruz(**arguments: Any) -> None:
    """TCP Santa Cruz (Parsa, Garcia-Luna-Aceves, 1999), with Vegas and Reno.

    The report has Tables 2 to 4 beside the published numbers, and congestion windows and queues
    over time. Each claim of the paper has a verdict. The report also has cases that the paper left
    as future work.
    """
    from tcpsf.cli.paper_report import santa_cruz

    santa_cruz(**arguments)


acks = click.option(
    "--acks",
    type=OneOf(["kernel", "delayed"]),
    default="kernel",
    show_default=True,
    help="Acknowledgments of the clients: the kernel's default, or delayed from the first segment "
    "on (TCP_QUICKACK off).",
)


def rate(default: float, *, proxied: float | None = None) -> Option:
    """Make the option for the number of transfers, or sessions through a proxy, per second.

    ``default`` applies to transfers and ``proxied`` to sessions.
    """
    return click.option(
        "--per-second",
        "--rate",
        "rate",
        type=Number(least=1, most=2000),
        metavar="N",
        default=f"{default:g}" if proxied is None else None,
        show_default=proxied is None,
        help=f"Number of transfers {'' if proxied is None else 'or sessions '}that start per "
        "second, from 1 to 2000; fewer if the machine is busy. --rate is an alias."
        + ("" if proxied is None else f"  [default: {default:g}; sessions: {proxied:g}]"),
    )


live_scale = scale(
    "15 s to more than a minute of transfers for each path.",
    "A few seconds of transfers for each path.",
)


def live_out(name: str, *, proxied: bool = False) -> Option:
    """Make the option for the folder of a report that is measured on live kernels."""
    return click.option(
        "--out",
        type=FOLDER,
        metavar="DIR",
        default=None if proxied else f"tcpsf-{name}",
        show_default=not proxied,
        help="Folder for the report and the records. Finished paths are kept there, and an "
        "interrupted command continues from them when it is repeated."
        + (f"  [default: tcpsf-{name}; through the proxy tcpsf-{name}-proxy]" if proxied else ""),
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
    """Fast recoveries and timeouts of file transfers, on live kernels.

    The server is tcpsf's, with Classic, VS-TCP-SF and FS-TCP-SF in alternation, and sends files of
    10 Kbytes. The clients use this machine's kernel, over emulated paths. The command needs root,
    or your own user and network namespaces.
    """
    from tcpsf.cli.live_report import tables

    tables("table-2", **arguments)


@smart_framing.command("table-3")
@scale(
    "15 s to two minutes of transfers for each path.",
    "4 to 20 s of transfers for each path.",
)
@click.option(
    "--through",
    type=OneOf(["server", "proxy"]),
    default="server",
    show_default=True,
    help="Where the senders are: in tcpsf's file server, or, as in Fig. 8, in tcpsf's proxy "
    "between browsers and a server with the kernel's TCP. The proxy has sessions of several "
    "objects, and also objects of more than 10 kB.",
)
@click.option(
    "--law",
    "--loss",
    "loss",
    type=OneOf(["proportional", "per-byte"]),
    default="proportional",
    show_default=True,
    help="Dependence of the loss probability on packet size: proportional, or independent loss of "
    "each byte. --loss is an alias.",
)
@click.option(
    "--objects",
    type=Count(least=1, most=100),
    metavar="N",
    help="Number of objects per connection, one after the other, up to 100.  "
    "[default: 1; through the proxy sessions of browsers]",
)
@acks
@rate(600.0, proxied=200.0)
@seed
@as_json
@live_out("table-3", proxied=True)
@force()
def table_3(**arguments: Any) -> None:
    """Retransmission timer, timeouts and times of Web objects, on live kernels.

    Objects below 10 kB are sent through nine settings of an emulated link, with Classic, VS-TCP-SF
    and FS-TCP-SF in alternation. The report also has the draft's table of fast recoveries. The
    command needs root, or your own user and network namespaces.
    """
    from tcpsf.cli.live_report import tables

    tables("table-3", **arguments)


@reproduce.group("short-flows", cls=InOrder, invoke_without_command=True)
@scale(
    "5 runs of the paper's 4000 transfers per point.",
    "The paper's own scale: 4000 transfers per point.",
)
@_only("short-flows")
@readings(
    "Initial timeout of 1 s and fits over all transfers (text), or the settings that come closest "
    "to the paper's fits: 200 ms, and fits over transfers of more than one segment (closest)."
)
@seed
@workers
@as_json
@_report("short-flows")
@_store
@force()
@click.pass_context
def short_flows(context: click.Context, /, **arguments: Any) -> None:
    """Short TCP transfers (Cardwell, Savage, Anderson, 1998).

    Without a command, the report has every simulated figure of the paper, beside the closed-form
    models. Each point has its 95 % confidence interval, and each claim of the paper a verdict.
    Figs. 17 to 20 are measured by the command `live`.
    """
    if context.invoked_subcommand is None:
        from tcpsf.cli.paper_report import short_flows

        short_flows(**arguments)
        return
    _refuse_own(context, arguments)


@short_flows.command("live")
@scale(
    "30 s of transfers for each sender on each path.",
    "5 s of transfers for each sender on each path.",
)
@rate(80.0)
@seed
@as_json
@live_out("short-flows-live")
@force()
def short_flows_live(**arguments: Any) -> None:
    """Short transfers over emulated paths, on live kernels.

    Figs. 17 to 20 have transfers of 1 to 128 000 bytes and the four published round-trip times and
    loss rates. The senders are this machine's kernel and tcpsf's server. The report compares the
    times with the closed-form models. The command needs root, or your own user and network
    namespaces.
    """
    from tcpsf.cli.live_report import short_flows

    short_flows(**arguments)
