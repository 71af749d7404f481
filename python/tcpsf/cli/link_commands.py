"""The group `tcpsf link`: the emulator, and requests to running links."""

from __future__ import annotations

from typing import Any

import click

from tcpsf.cli.line_options import line_options, settable_options
from tcpsf.cli.options import InOrder, as_json
from tcpsf.cli.path_options import beside_option, file_options, path_options
from tcpsf.cli.reach_options import reach_options


class _RunByDefault(InOrder):
    """A group that is a command itself, unless the first word is the name of one of its commands.

    The options of the link precede COMMAND, so `tcpsf link -- set` runs a program called `set`.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options of the link, or keep the words of a command of the group."""
        if args and args[0] in self.commands:
            ctx.obj = tuple(args)
            if ctx.resilient_parsing:  # a shell completes the words of the inner command
                ctx.args = list(args)
            return []
        ctx.obj = ()
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command of the group, or the link."""
        if not ctx.obj:
            return click.Command.invoke(self, ctx)
        name, *words = ctx.obj
        command = self.commands[name]
        with command.make_context(name, words, parent=ctx) as inner:
            return command.invoke(inner)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the parts of the usage line of the link."""
        return click.Command.collect_usage_pieces(self, ctx)


def _requests(context: click.Context, _argument: click.Parameter, word: str) -> list[str]:
    """Complete the first word after `link` to a request, if no option of a link precedes it."""
    given = map(context.get_parameter_source, context.params)
    if click.core.ParameterSource.COMMANDLINE in given:
        return []
    return [name for name in context.command.commands if name.startswith(word)]  # type: ignore[attr-defined]


@click.group(
    cls=_RunByDefault,
    invoke_without_command=True,
    context_settings={"allow_interspersed_args": False},
)
@click.argument("command", nargs=-1, metavar="-- COMMAND...", shell_complete=_requests)
@line_options
@reach_options
@path_options
@click.option(
    "--outside",
    metavar="COMMAND",
    help="Run this command, e.g. a server, at the other end while COMMAND runs. Without root, it "
    "is the only thing that COMMAND can reach.",
)
@beside_option
@file_options
def link(**arguments: Any) -> None:
    """Run a command behind an emulated link, in real time.

    COMMAND runs in its own network namespace, and the link is the only connection to the outside.
    COMMAND reaches servers on this machine at the address in the environment variable
    TCPSF_LINK_OUTSIDE, which is 100.64.0.1 if that address is free. With --nat it also reaches
    other hosts. Links can be nested. With --beside, COMMAND has several links, each with an address of
    its own.

    With --netns or --pid, the link is the way out of an existing network namespace, such as that of
    a container. COMMAND may then be omitted.

    The exit status is that of COMMAND. It is 127 if COMMAND does not exist, 126 if it cannot be
    run, and 2 for bad options.

    Every option of the link, from --from to --reorder, also exists for one direction: as --up-...
    (from COMMAND outwards) and as --down-... (towards COMMAND). There, the value `none` removes the
    setting for both directions.

    If the first word is `set`, `show` or `stats`, the command is a request to a running link with a
    --name.

    For example: tcpsf link --delay 20ms --rate 10mbit --nat -- curl https://example.org/
    """
    from tcpsf.cli.link import command

    command(**arguments)


_name = click.argument("name", metavar="NAME")


@link.command("set")
@_name
@settable_options
def set_(**arguments: Any) -> None:
    """Change options of a running link.

    The change takes effect between two packets. It drops no packet: the packet in transmission ends
    at the old rate, those in the queue are sent at the new one, and packets that leave the line have
    the new delay. A smaller queue keeps what it has. The value `none` removes an option.

    For example: tcpsf link set NAME --loss 2% --down-rate 1mbit
    """
    from tcpsf.cli.link_control import set_options

    set_options(**arguments)


@link.command()
@click.argument("name", metavar="[NAME]", required=False)
@as_json
def show(**arguments: Any) -> None:
    """Print the settings of a running link, or of all links of this user."""
    from tcpsf.cli.link_control import show

    show(**arguments)


@link.command()
@_name
@as_json
@click.option("--watch", is_flag=True, help="Print rates, queues and drops again each second.")
def stats(**arguments: Any) -> None:
    """Print the statistics of a running link up to now."""
    from tcpsf.cli.link_control import stats

    stats(**arguments)
