"""Set-ups in which predictions of `tcpsf advise` are compared with live measurements.

The prediction is the time from the first packet of a reply until the receiver has all data. The client
measures from its request on. The difference is the time of the request and of the processing in both
programs. It is measured as that of the medians without a remedy, and subtracted.

The interval of a prediction contains those of all loss laws of the replay. Its end may be the
prediction for the true law: losses per byte have the exponent 1, which is the largest that a replay
has. A prediction is therefore right if the measured value is within 10 % of this interval, or if the
interval of the measurement overlaps with it.

Other work of the machine delays some replies by milliseconds, which matters if the prediction is a
single round trip. A further run without losses measures this error: its 99th percentile less its
median. The 10 % are increased by it.

If the replay without a remedy differs from the capture,
`tcpsf advise` recommends nothing. The predictions are then printed and not judged.

The interval of the law has a confidence of 95 %, so one prediction in twenty misses by chance. A
set-up with a miss is repeated with other random numbers. A prediction fails if it misses again.
"""

# ruff: noqa: S603, T201 (this module runs programs and prints verdicts)

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from _live import CannotRunError, Verdicts

from tcpsf import stats
from tcpsf.advice import Advice, advise, remedy
from tcpsf.distribution import Distribution
from tcpsf.live.network import die_with_parent, enter

SHARES: Final = (1.0, 0.6, 0.25)
"""Sizes of the replies of a set-up, as shares of the largest."""
GOAL: Final = 0.1
CONTROL: Final = 1000
"""Requests of the run without losses."""
PART: Final = 0.99


@dataclass(frozen=True, slots=True)
class LiveSetup:
    """A path, the replies, and the remedy that is predicted and measured."""

    loss: tuple[str, str]
    """Option of the link, and its value."""
    reply_bytes: int
    rtt_ms: float
    remedy: str
    sender: str
    """Sender with the remedy."""
    responses: int = 1
    """Responses on each connection."""
    rate: str | None = None
    """Rate of the link to the client, behind a buffer without a limit."""
    is_kernel: bool = False
    """Whether the kernel's TCP serves, with the remedy by `tcpsf cure`. Else `tcpsf serve` does."""

    def __str__(self) -> str:
        law = self.loss[0].removeprefix("--down-loss").strip("-") or "packet"
        rate = "" if self.rate is None else f"{self.rate}, "
        return (
            f"loss {law} {self.loss[1]}, {self.responses} × {self.reply_bytes} bytes, "
            f"RTT {self.rtt_ms:g} ms, {rate}{self.remedy}"
        )


PACKET: Final = ("--down-loss", "2%")
BYTE: Final = ("--down-loss-per-byte", "0.00002")
BURST: Final = ("--down-loss-burst", "2%,2")


@contextmanager
def real_time() -> Iterator[None]:
    """Give the programs that start in this block real-time priority, if the system permits it."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    with suppress(OSError):  # a container may not allow it
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


@contextmanager
def served(
    setup: LiveSetup, files: Path, *, remedied: bool
) -> Iterator[tuple[str | None, list[str]]]:
    """Serve files, and yield the address with options of the link.

    The kernel's server runs at the outside end of the link, whose address the client knows. It has
    no files: the path of a request is the size of the response.
    """
    if setup.is_kernel:
        python = shlex.quote(sys.executable)
        command = f"{python} -m tcpsf.lab.server"
        if remedied:
            command = f"{python} -m tcpsf cure run -q --policy '{setup.remedy}' -- {command}"
        yield None, ["--outside", command]
        return
    with server(files, setup.sender if remedied else "linux") as address:
        yield address, []


@contextmanager
def server(folder: Path, sender: str) -> Iterator[str]:
    """Run `tcpsf serve` with a sender, and yield its address."""
    words = [sys.executable, "-m", "tcpsf", "serve", str(folder), "--json", "--sender", sender]
    process = subprocess.Popen(
        [*words, "--profile", "linux-6.18", "--no-offload", "--grace", "1s"],
        stdout=subprocess.PIPE,
        preexec_fn=die_with_parent,
    )
    try:
        first = b"" if process.stdout is None else process.stdout.readline()
        yield json.loads(first)["addresses"][0]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def measure(
    setup: LiveSetup,
    folder: Path,
    options: argparse.Namespace,
    seed: int,
    *,
    remedied: bool = False,
) -> list[float]:
    """Measure the response times in seconds. The packets are in `server.pcapng`."""
    files = folder / "files"
    files.mkdir(exist_ok=True)
    sizes = [round(setup.reply_bytes * share) for share in SHARES]
    for size in sizes:
        (files / str(size)).write_bytes(b"x" * size)
    out, settings = folder / "times.json", folder / "client.json"
    with real_time(), served(setup, files, remedied=remedied) as (address, outside):
        wanted = {"address": address, "port": 80, "paths": [f"/{size}" for size in sizes]}
        wanted |= {
            "responses": setup.responses,
            "requests": options.requests,
            "rate": options.rate,
            "seed": seed,
            "out": str(out),
        }
        settings.write_text(json.dumps(wanted), encoding="utf-8")
        link = [sys.executable, "-m", "tcpsf", "link", "-q", "--delay", f"{setup.rtt_ms / 2}ms"]
        if setup.rate is not None:
            link += ["--down-rate", setup.rate, "--down-queue", "none"]
        link += [*setup.loss, "--seed", str(seed), "--no-offload", "--force"]
        link += ["--pcap", str(folder / "server.pcapng"), "--pcap-at", "outside"]
        link += ["--pcap-bytes", "128B", *outside, "--"]
        client = [sys.executable, "-m", "tcpsf.lab.client", str(settings)]
        subprocess.run([*link, *client], check=True, timeout=300)
    times = json.loads(out.read_text(encoding="utf-8"))
    failed = sum(each is None for each in times)
    if failed > len(times) // 1000:
        message = f"{failed} of {len(times)} requests failed"
        raise CannotRunError(message)
    return [each for each in times if each is not None]


def machine_error_s(
    setup: LiveSetup, folder: Path, options: argparse.Namespace, seed: int
) -> float:
    """Measure by how much other work of the machine delays the 99th percentile, in seconds."""
    lossless = replace(setup, loss=("--down-loss", "0%"))
    fewer = argparse.Namespace(**vars(options) | {"requests": CONTROL})
    times = sorted(measure(lossless, folder, fewer, seed))
    return times[round(PART * (len(times) - 1))] - statistics.median(times)


def request_s(found: Advice, plain: Sequence[float]) -> float:
    """Measure the time of a request and of the processing in seconds, by the medians."""
    median = found.results[0].measures["median_s"].value
    return statistics.median(plain) - (0.0 if median is None else median.value)


def percentile(times: Sequence[float], request_s: float) -> stats.Estimate:
    """Estimate the 99th percentile of the time until the receiver has all data, in seconds."""
    found = stats.quantile_of_one(
        Distribution(max(0, round((each - request_s) * 1e9)) for each in times), PART
    )
    if found is None:
        message = "no request was answered"
        raise CannotRunError(message)
    return found


def judged(found: Advice, name: str, measured: stats.Estimate, error_s: float) -> tuple[str, bool]:
    """Compare the prediction for a remedy with the measurement, which has an error."""
    (result,) = (each for each in found.results if each.remedy.name == name)
    p99 = result.measures["p99_s"]
    if p99.value is None or p99.over_laws is None:
        return f"{name}: no prediction", False
    predicted, (low, high) = p99.value.value, p99.over_laws
    distance = max(low - measured.value, measured.value - high)
    overlaps = measured.low <= high and low <= measured.high
    holds = overlaps or distance <= GOAL * measured.value + error_s
    text = (
        f"{name}: predicted {1e3 * predicted:.0f} [{1e3 * low:.0f},{1e3 * high:.0f}] ms, measured "
        f"{1e3 * measured.value:.0f} [{1e3 * measured.low:.0f},{1e3 * measured.high:.0f}] ms"
    )
    return text, holds


def compared(
    number: int, setup: LiveSetup, options: argparse.Namespace, *, seed: int
) -> list[tuple[str, str, bool]]:
    """Compare the predictions of a set-up, without and with the remedy.

    Each has its name, a line, and whether it holds. There is none if the replay differs from the capture.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        error_s = machine_error_s(setup, folder, options, seed=2 * seed)
        plain = measure(setup, folder, options, seed=2 * seed)
        found = advise(folder / "server.pcapng", remedies=[remedy(setup.remedy)])
        remedied = measure(setup, folder, options, seed=2 * seed + 1, remedied=True)
    before_s = request_s(found, plain)
    low, high = found.law.exponent_interval or (float("nan"), float("nan"))
    print(f"{number}. {setup}: {found.answer}", flush=True)
    print(f"   exponent of the loss {low:.2f} to {high:.2f}", flush=True)
    print(
        f"   request and processing: {1e3 * before_s:.1f} ms, error of the machine at the 99th "
        f"percentile: {1e3 * error_s:.1f} ms",
        flush=True,
    )
    judgements = []
    for each, times in (("none", plain), (setup.remedy, remedied)):
        text, holds = judged(found, each, percentile(times, before_s), error_s)
        if found.is_replay_like_capture:
            judgements.append((each, text, holds))
        else:
            print(f"  not judged, the replay differs from the capture: {text}", flush=True)
    return judgements


def judge_setups(verdicts: Verdicts, setups: Sequence[LiveSetup]) -> None:
    """Measure set-ups by the options of the command line, and print two verdicts for each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(map(str, range(1, len(setups) + 1))))
    parser.add_argument("--requests", type=int, default=2500)
    parser.add_argument("--rate", type=float, default=60.0)
    options = parser.parse_args()
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        message = "it needs root and /dev/net/tun"
        raise CannotRunError(message)
    enter()
    for number in map(int, options.only.split(",")):
        predictions = compared(number, setups[number - 1], options, seed=number)
        if not all(holds for _, _, holds in predictions):
            for _, text, holds in predictions:
                print(f"  {'held' if holds else 'MISSED'}: {text}", flush=True)
            print("   repeated with other random numbers, because a prediction missed", flush=True)
            again = compared(number, setups[number - 1], options, seed=number + len(setups))
            missed = {name for name, _, holds in predictions if not holds}
            predictions = [each for each in again if each[0] in missed]
        for _, text, holds in predictions:
            verdicts.report(text, holds=holds)
