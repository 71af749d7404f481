"""Check that `tcpsf cure auto` decides for each network of clients on its own.

A server of the kernel's TCP answers clients in two networks, each behind a `tcpsf link` of its own. With
independent losses of 4 % on the path of the first and none on that of the second, auto must keep a copy
of the last segment for the first prefix and no remedy for the second. Without losses on both paths, and
with a queue that the clients of both fill, it must end by itself without a remedy. The number of
connections until each verdict is printed.

    python verification/cure_auto.py [--only 1,2]

It needs root, TUN devices and BPF, and exits with 77 without them.
"""

# ruff: noqa: S603, T201 (this module runs programs and prints verdicts)

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from _live import CannotRunError, Verdicts, main

from tcpsf.live.network import die_with_parent, enter, turn_loopback_on

HERE: Final = Path(__file__).parent
LONGEST_S: Final = 1200.0
"""Longest time until the verdicts."""
LONGEST_TRIAL: Final = "300s"
"""Longest time of a trial."""
FIRST, SECOND = "100.64.0.0/24", "100.64.64.0/24"
"""Prefixes of the clients: links take blocks of 18 bits, one after the other."""


@dataclass(frozen=True, slots=True)
class AutoCase:
    """Paths of two networks, and the remedies that are right."""

    name: str
    paths: tuple[tuple[str, ...], tuple[str, ...]]
    pause_ms: int
    """Mean time between a response and the next request of a client."""
    remedies: dict[str, str | None]
    """Remedies by prefix at the end."""


FULL: Final = ("--down-rate", "4Mb/s", "--down-queue", "15kB")

CASES: Final = (
    AutoCase(
        "losses of 4 %, and none",
        (("--down-loss", "4%"), ()),
        100,
        {FIRST: "dup-tail", SECOND: None},
    ),
    AutoCase("no losses", ((), ()), 100, {FIRST: None, SECOND: None}),
    AutoCase("full queues of 15 kB at 4 Mb/s", (FULL, FULL), 0, {FIRST: None, SECOND: None}),
)


@contextmanager
def ended(process: subprocess.Popen[Any], *, after_s: float = 0.0) -> Iterator[None]:
    """End a process behind the block, if it has not ended after some time."""
    try:
        yield
    finally:
        with suppress(subprocess.TimeoutExpired):
            process.wait(after_s)
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def start(words: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a program that ends with this one."""
    return subprocess.Popen(
        [sys.executable, *words], preexec_fn=die_with_parent, text=True, **options
    )


def await_devices(count: int) -> None:
    """Wait until there is this number of devices besides loopback."""
    end_s = time.monotonic() + 30
    while sum(name != "lo" for _, name in socket.if_nameindex()) < count:
        if time.monotonic() > end_s:
            message = "the links have no devices"
            raise CannotRunError(message)
        time.sleep(0.1)


def run(case: AutoCase, folder: Path, *, seed: int) -> tuple[list[dict[str, Any]], int]:
    """Run auto until it ends or the remedies are right, and return its events and exit status."""
    end = folder / "end"
    client = [sys.executable, str(HERE / "_trial_client.py"), "1200", "12"]
    with ExitStack() as stack:
        for number, path in enumerate(case.paths):
            link = ["-m", "tcpsf", "link", "-q", "--delay", "20ms", *path, "--no-offload"]
            link += ["--seed", str(2 * seed + number)]
            link += ["--", *client, str(case.pause_ms), str(end)]
            stack.enter_context(ended(start(link), after_s=60.0))
            await_devices(number + 1)
        environment = {**os.environ, "TCPSF_LINK_OUTSIDE": "0.0.0.0"}  # noqa: S104
        # Python's traceback of the interruption does not matter.
        server = start(["-m", "tcpsf.lab.server"], env=environment, stderr=subprocess.DEVNULL)
        stack.enter_context(ended(server))
        words = ["-m", "tcpsf", "cure", "auto", "-q", "--json", "--anyway", "--port", "80"]
        words += ["--for", LONGEST_TRIAL]
        auto = start(words, stdout=subprocess.PIPE)
        stack.enter_context(ended(auto, after_s=30.0))
        stack.callback(end.touch)
        events = list(until_right(auto, case))
    return events, auto.returncode


def until_right(auto: subprocess.Popen[str], case: AutoCase) -> Iterator[dict[str, Any]]:
    """Yield the events of auto, and stop it when both prefixes have their verdicts."""
    kept: dict[str, str] = {}
    withdrawn: dict[str, int] = {}
    deadline_s = time.monotonic() + LONGEST_S
    is_stopped = False
    for line in auto.stdout or ():
        event = json.loads(line)
        yield event
        if event["event"] == "trial" and event["verdict"] == "keep":
            kept[event["peers"]] = event["policy"]
        elif event["event"] == "trial":
            kept.pop(event["peers"], None)
            withdrawn[event["peers"]] = withdrawn.get(event["peers"], 0) + 1
        wanted = {name: remedy for name, remedy in case.remedies.items() if remedy is not None}
        nones = [name for name, remedy in case.remedies.items() if remedy is None]
        is_right = wanted and all(kept.get(name) == each for name, each in wanted.items())
        is_right = is_right and all(withdrawn.get(name, 0) == 3 for name in nones)
        if not is_stopped and (is_right or time.monotonic() > deadline_s):
            auto.send_signal(signal.SIGINT)
            is_stopped = True


def judge(verdicts: Verdicts, case: AutoCase, events: list[dict[str, Any]], status: int) -> None:
    """Print the verdicts of auto, and whether they are right."""
    for event in events:
        if event["event"] == "trial":
            counts = [group["connections"] for group in event["groups"]]
            effect = [
                1e3 * (event["effect"] or {}).get(end, 0.0) for end in ("value", "low", "high")
            ]
            print(
                f"  {event['peers']}, {event['policy']}: {event['verdict']} ({event['reason']}) after "
                f"{' + '.join(map(str, counts))} connections; effect {effect[0]:.2f} ms "
                f"({effect[1]:.2f} to {effect[2]:.2f})"
            )
    last = events[-1]
    found = {each["peers"]: each for each in last.get("prefixes", ())}
    for name, remedy in case.remedies.items():
        one = found.get(name, {})
        verdicts.report(
            f"{case.name}, {name}: {one.get('remedy') or 'none'} after {one.get('connections')} "
            f"connections ({one.get('state')})",
            holds=name in found
            and one["remedy"] == remedy
            and one["state"] == ("none" if remedy is None else "kept"),
        )
        if remedy is not None and name in found:
            with_ms, without_ms = (1e3 * one["p99_s"][group] for group in ("remedied", "without"))
            verdicts.report(
                f"{case.name}, {name}: p99 falls from {without_ms:.0f} to {with_ms:.0f} ms",
                holds=without_ms >= 4 * with_ms,
            )
    expected = 0 if any(case.remedies.values()) else 3
    verdicts.report(f"{case.name}: exit status {status}", holds=status == expected)


def work(verdicts: Verdicts) -> None:
    """Run the cases."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(map(str, range(1, len(CASES) + 1))))
    options = parser.parse_args()
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        message = "it needs root and /dev/net/tun"
        raise CannotRunError(message)
    enter()
    turn_loopback_on()
    for number in map(int, options.only.split(",")):
        with tempfile.TemporaryDirectory() as name:
            judge(verdicts, CASES[number - 1], *run(CASES[number - 1], Path(name), seed=number))


if __name__ == "__main__":
    sys.exit(main(work))
