"""Check that `tcpsf cure trial` keeps a remedy where it helps, and withdraws it where it does not.

A server of the kernel's TCP answers clients over `tcpsf link`: without losses, with independent losses
of 2 %, and with a queue that its clients fill. On the first and the last path a copy of the last segment
has no useful effect or harms, so the trial must withdraw it. On the second it must keep it, and the
99th percentile of the completion time must fall to a fourth. The number of connections until the
verdict is printed.

    python verification/cure_trial.py [--only 1,2]

It needs root, TUN devices and BPF, and exits with 77 without them.
"""

# ruff: noqa: S603 (this module runs programs and prints verdicts)

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from _live import CannotRunError, Verdicts, main

from tcpsf.live.network import enter

HERE: Final = Path(__file__).parent
LONGEST: Final = "900s"
"""Longest time of a trial."""


@dataclass(frozen=True, slots=True)
class TrialPath:
    """A path, its clients, and the verdict that is right."""

    name: str
    options: tuple[str, ...]
    policy: str
    clients: int
    pause_ms: int
    """Mean time between a response and the next request."""
    verdict: str
    gain: float | None = None
    """Least factor by which the 99th percentile falls."""


PATHS: Final = (
    TrialPath("no losses", (), "dup-tail", 16, 100, "withdraw"),
    TrialPath("2 % of the packets", ("--down-loss", "2%"), "dup-tail", 16, 100, "keep", 4.0),
    TrialPath(
        "full queue of 15 kB at 4 Mb/s",
        ("--down-rate", "4Mb/s", "--down-queue", "15kB"),
        "dup-tail",
        16,
        0,
        "withdraw",
    ),
)


def run(path: TrialPath, folder: Path, *, seed: int) -> dict[str, Any]:
    """Run a trial, and return its last comparison."""
    out, end = folder / "trial.json", folder / "end"
    python = shlex.quote(sys.executable)
    words = [sys.executable, "-m", "tcpsf", "cure", "trial", "-q", "--json", "--anyway"]
    words += ["--policy", path.policy, "--port", "80", "--for", LONGEST]
    trial = f"({shlex.join(words)} > {out}; touch {end})"
    outside = f"{trial} & exec {python} -m tcpsf.lab.server"
    link = [sys.executable, "-m", "tcpsf", "link", "-q", "--delay", "20ms", *path.options]
    link += ["--seed", str(seed), "--no-offload", "--outside", f"sh -c {shlex.quote(outside)}"]
    client = [sys.executable, str(HERE / "_trial_client.py"), "1200", str(path.clients)]
    subprocess.run([*link, "--", *client, str(path.pause_ms), str(end)], check=True, timeout=1200)
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    found: dict[str, Any] = next(each for each in lines if each["event"] == "trial")
    return found


def judge(verdicts: Verdicts, path: TrialPath, found: dict[str, Any]) -> None:
    """Print the verdict of the trial, and whether it is right."""
    before, without, remedied = found["groups"]
    counts = [group["connections"] for group in (before, without, remedied)]
    p99 = [1e3 * group["p99_s"]["value"] for group in (without, remedied)]
    effect = [1e3 * found["effect"][end] for end in ("value", "low", "high")]
    verdicts.report(
        f"{path.name}, {path.policy}: {found['verdict']} ({found['reason']}) after "
        f"{' + '.join(map(str, counts))} connections; effect {effect[0]:.2f} ms "
        f"({effect[1]:.2f} to {effect[2]:.2f})",
        holds=found["verdict"] == path.verdict,
    )
    if path.gain is not None:
        verdicts.report(
            f"{path.name}: p99 falls from {p99[0]:.0f} to {p99[1]:.0f} ms",
            holds=p99[0] >= path.gain * p99[1],
        )


def work(verdicts: Verdicts) -> None:
    """Run the trials."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(map(str, range(1, len(PATHS) + 1))))
    options = parser.parse_args()
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        message = "it needs root and /dev/net/tun"
        raise CannotRunError(message)
    enter()
    for number in map(int, options.only.split(",")):
        with tempfile.TemporaryDirectory() as name:
            judge(verdicts, PATHS[number - 1], run(PATHS[number - 1], Path(name), seed=number))


if __name__ == "__main__":
    sys.exit(main(work))
