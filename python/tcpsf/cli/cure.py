"""`tcpsf cure`: remedies for running servers."""

from __future__ import annotations

import json as json_format
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, Generic, TypeVar

import click

from tcpsf.cli import verbosity
from tcpsf.cli.output import print_message, print_result
from tcpsf.cli.signals import handling
from tcpsf.cure import Attachment, CurePolicy, CureTarget, PeerPrefix, attached
from tcpsf.cure.attachment import TrialArm, listening_ports
from tcpsf.cure.cgroups import group_at, new_group
from tcpsf.cure.control import DETACH, STATUS, CureControl, ask, controlled, running
from tcpsf.cure.preload import Preloaded, preloaded
from tcpsf.cure.reach import require_preload
from tcpsf.errors import TcpsfError, reason
from tcpsf.live.network import die_with_parent
from tcpsf.text import plain, table

SLICE_S = 0.2
"""Longest time between a signal and its effect, in seconds."""

_LIBRARY_REACH = """\
{policy} for {target}, by a library
It reaches what dynamically linked programs write by send, sendto, sendmsg, sendmmsg, write and writev.
It does not reach sendfile, splice, io_uring, streams of stdio, TLS in the kernel, static programs and Go
programs. As root, `tcpsf cure run` without --preload reaches them."""


def run(
    *,
    command: Sequence[str],
    policy: str,
    ports: Sequence[int],
    peers: Sequence[PeerPrefix],
    devices: Sequence[str],
    largest: int | None,
    preload: bool,
    json: bool,
) -> None:
    """Run a command with a remedy, and exit with its status."""
    wanted = CurePolicy.parse(policy)
    target = CureTarget(ports=ports, peers=peers, devices=devices, most_bytes=largest)
    status = _run_with_library if preload else _run_in_group
    raise click.exceptions.Exit(status(command, wanted, target, json=json))


def _run_in_group(
    command: Sequence[str], policy: CurePolicy, target: CureTarget, *, json: bool
) -> int:
    """Run a command in a control group with a remedy."""
    with new_group() as group:
        entrance = group.folder / "cgroup.procs"
        chosen = replace(target, group=group)
        with session(policy, chosen, json=json) as current:
            return _run_in(
                command,
                current,
                enter=lambda: entrance.write_text(str(os.getpid()), encoding="ascii"),
            )


def _run_with_library(
    command: Sequence[str], policy: CurePolicy, target: CureTarget, *, json: bool
) -> int:
    """Run a command that loads the library with a remedy."""
    require_preload(command)
    with preloaded(policy, target) as found, in_session(found, json=json) as current:
        status = _run_in(command, current, environment=found.environment())
        problem = found.problem()
        if problem is not None:
            print_message(f"{policy} had no effect: {problem}. The guide names its limits.")
        return status


def attach(
    *,
    policy: str,
    ports: Sequence[int],
    peers: Sequence[PeerPrefix],
    devices: Sequence[str],
    largest: int | None,
    cgroup: Path | None,
    anyway: bool,
    json: bool,
) -> None:
    """Apply a remedy to running servers until a signal or a request."""
    wanted = CurePolicy.parse(policy)
    running = running_target(
        ports=ports, peers=peers, devices=devices, cgroup=cgroup, anyway=anyway
    )
    target = replace(running, most_bytes=largest)
    with session(wanted, target, json=json) as current, handling(current.stop):
        while not current.signals and not current.control.serve(SLICE_S):
            pass


def running_target(
    *,
    ports: Sequence[int],
    peers: Sequence[PeerPrefix],
    devices: Sequence[str],
    cgroup: Path | None,
    anyway: bool,
) -> CureTarget:
    """Return the connections of a running server.

    Raises `TcpsfError` if nothing selects them, or, without ``anyway``, if nothing listens.
    """
    if not ports and cgroup is None:
        raise TcpsfError(
            "cannot attach a remedy: expected the server's port or control group",
            hint="e.g. `--port 443`, or `--cgroup /sys/fs/cgroup/system.slice/nginx.service`",
        )
    silent = sorted(set(ports) - listening_ports())
    if silent and not anyway:
        raise TcpsfError(
            f"cannot attach a remedy to port {silent[0]}: nothing listens there on this machine",
            hint="start the server first, or give `--anyway`; on another machine, run the command "
            "there; in a container, give its `--cgroup`, and run it in its network namespace",
        )
    group = None if cgroup is None else group_at(cgroup)
    return CureTarget(ports=ports, peers=peers, group=group, devices=devices)


Applied = TypeVar("Applied", bound=Attachment | Preloaded)
"""A policy that is in force."""


class CureSession(Generic[Applied]):
    """A policy that is in force, and the requests and signals that end it."""

    def __init__(self, attachment: Applied) -> None:
        self.attachment = attachment
        self.control: CureControl
        self.signals: list[int] = []
        self._started_s = time.time()
        self._forward: Callable[[int], None] | None = None

    def stop(self, number: int, _frame: FrameType | None) -> None:
        """Take a signal."""
        self.signals.append(number)
        if self._forward is not None:
            self._forward(number)

    def forward(self, to: Callable[[int], None]) -> None:
        """Pass further signals on."""
        self._forward = to

    def state(self) -> dict[str, Any]:
        """Return the state as plain data."""
        counts = self.attachment.counts()
        target = self.attachment.target
        return {
            "pid": os.getpid(),
            "policy": str(self.attachment.policy),
            "mechanism": "library" if isinstance(self.attachment, Preloaded) else "bpf",
            "ports": list(target.ports),
            "peers": list(map(str, target.peers)),
            "largest_bytes": target.most_bytes,
            "cgroup": None if target.group is None else str(target.group.folder),
            "devices": [device.name for device in self.attachment.devices],
            "running_s": round(time.time() - self._started_s, 3),
            "copies": counts.copies,
            "copied_bytes": counts.copied_bytes,
            "connections": counts.connections,
            "refused_settings": counts.refused,
            "cut_writes": counts.cut_writes,
            "cuts": counts.cuts,
        }


@contextmanager
def session(
    policy: CurePolicy, target: CureTarget, *, json: bool, arm: TrialArm | None = None
) -> Iterator[CureSession[Attachment]]:
    """Attach a policy, announce it, and sum up its effects at the end."""
    with (
        attached(policy, target, arm=arm) as found,
        in_session(found, json=json) as current,
    ):
        yield current


@contextmanager
def in_session(attachment: Applied, *, json: bool) -> Iterator[CureSession[Applied]]:
    """Announce a policy, and sum up its effects at the end."""
    current = CureSession(attachment)
    with controlled(current.state) as current.control:
        if json:
            print_result(json_format.dumps({"event": "attached"} | current.state()))
        else:
            print_message(_announcement(current.attachment))
        try:
            yield current
        finally:
            _sum_up(current.state(), json=json)


def _announcement(found: Attachment | Preloaded) -> str:
    if isinstance(found, Preloaded):
        return _LIBRARY_REACH.format(policy=found.policy, target=found.target)
    policy, places = found.policy, ", ".join(device.name for device in found.devices)
    lines = [f"{policy} for {found.target}" + (f" at {places}" if places else "")]
    if policy.copies_tail:
        lines.append(
            "dup-tail copies the last segment of each write. It does not see packets with IPv6 "
            "extension headers, and devices that are made later."
        )
    if policy.cuts:
        lines.append(
            "Cuts need TCP_NODELAY, which is set for the server's sockets. They do not reach data "
            "that waits for the congestion window."
        )
    if policy.changes_sockets:
        late = [name for name in policy.remedies if name != "dup-tail"]
        lines.append(f"Only connections that are accepted from now on have {_joined(late)}.")
    return "\n".join(lines)


def _joined(words: Sequence[str]) -> str:
    """Join words as in a sentence."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _sum_up(state: dict[str, Any], *, json: bool) -> None:
    if json:
        print_result(json_format.dumps({"event": "summary"} | state))
        return
    words = []
    if state["devices"]:
        words.append(f"{plain(state['copies'], 0)} packets sent twice")
    is_library = state["mechanism"] == "library"
    if state["cut_writes"] or is_library:
        words.append(f"{plain(state['cut_writes'], 0)} writes cut")
    if state["connections"] or not (state["devices"] or is_library):
        words.append(f"{plain(state['connections'], 0)} connections changed")
    if state["refused_settings"]:
        words.append(f"{plain(state['refused_settings'], 0)} settings refused by the kernel")
    print_message(f"{state['policy']}: " + ", ".join(words))


def _run_in(
    command: Sequence[str],
    session: CureSession[Any],
    *,
    enter: Callable[[], object] | None = None,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Run a command, and return its exit status as a shell does. ``enter`` runs before it."""

    def prepare() -> None:
        if enter is not None:
            enter()
        die_with_parent(signal.SIGTERM)

    with handling(session.stop):
        try:
            process = subprocess.Popen(list(command), preexec_fn=prepare, env=environment)  # noqa: S603
        except OSError as error:
            status = 127 if isinstance(error, FileNotFoundError) else 126
            raise TcpsfError(
                f"cannot run `{shlex.join(command)}`: {reason(error)}",
                hint="give the command as for a shell, after `--`",
                status=status,
            ) from None
        session.forward(lambda number: _pass_on(process, number))
        for number in session.signals:
            _pass_on(process, number)
        ended = os.pidfd_open(process.pid)
        try:
            _until_ended(process, ended, session)
        finally:
            os.close(ended)
    code = process.wait()
    verbosity.detail("command ended with %d", code)
    return 128 - code if code < 0 else code


def _until_ended(process: subprocess.Popen[bytes], ended: int, session: CureSession[Any]) -> None:
    """Answer requests until the command has ended."""
    while process.poll() is None:
        if session.control.serve(SLICE_S, until=ended):
            session.attachment.detach()
            print_message("The remedy ends. The command continues without it.")


def _pass_on(process: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to the command, unless it was a key that the terminal sends to both."""
    is_key = number == signal.SIGINT and sys.stdin is not None and sys.stdin.isatty()
    if not is_key and process.poll() is None:
        process.send_signal(number)


def status(*, json: bool) -> None:
    """List the attached remedies."""
    found = [state for process in running() if (state := ask(process, STATUS)) is not None]
    if json:
        print_result(json_format.dumps(found))
        return
    if not found:
        print_message("No remedy is attached in this network namespace.")
        return
    rows = [
        [
            str(each["pid"]),
            each["policy"],
            each["mechanism"],
            ", ".join(map(str, each["ports"])) or "all",
            ", ".join(each["peers"]) or "all",
            each["cgroup"] or "all",
            ", ".join(each["devices"]),
            f"{each['running_s']:.0f} s",
            plain(each["copies"], 0),
            plain(each["connections"], 0),
        ]
        for each in found
    ]
    head = [
        "process",
        "policy",
        "mechanism",
        "ports",
        "peers",
        "control group",
        "devices",
        "for",
        "copies",
        "connections",
    ]
    print_result(table([head, *rows], left=range(1, 7)))
    with_prefixes = [each for each in found if "prefixes" in each]
    if with_prefixes:
        from tcpsf.cli.cure_prefixes import prefix_table

        for each in with_prefixes:
            print_result(f"\nProcess {each['pid']} by prefix of the peers:")
            print_result(prefix_table(each["prefixes"], each["further_prefixes"]))


def detach(*, processes: Sequence[int], everything: bool) -> None:
    """End remedies."""
    known = running()
    wanted = known if everything else list(processes)
    if not processes and not everything:
        raise TcpsfError(
            "cannot detach: expected a process or `--all`", hint="`tcpsf cure status` lists them"
        )
    for process in wanted:
        if process not in known or ask(process, DETACH) is None:
            raise TcpsfError(
                f"cannot detach the remedy of process {process}: it has none, or is of another user",
                hint="`tcpsf cure status` lists them",
            )
        print_message(f"process {process}: detached")
