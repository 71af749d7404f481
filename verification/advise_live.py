"""Compare predictions of `tcpsf advise` with live measurements.

In each set-up, `tcpsf serve` sends replies with the TCP of Linux 6.18 over `tcpsf link`, which loses
data by a given law. The link captures the packets at the server. `tcpsf advise` predicts the 99th
percentile of the completion time with a remedy from this capture alone. Then the server has this
remedy, the link has other random numbers, and the client measures the same percentile.

The prediction is the time from the first packet of a reply until the receiver has all data. The client
measures from its request on. The difference is the time of the request and of the processing in both
programs. It is measured as that of the medians without a remedy, and subtracted.

The interval of a prediction contains those of all loss laws of the replay. Its end may be the
prediction for the true law: losses per byte have the exponent 1, which is the largest that a replay
has. A prediction is therefore right if the measured value is within 10 % of this interval, or if the
interval of the measurement overlaps with it. If the replay without a remedy differs from the capture,
`tcpsf advise` recommends nothing. The predictions are then printed and not judged.

    python verification/advise_live.py [--only 1,2] [--requests 2500] [--rate 60]

It needs root and TUN devices, and exits with 77 without them. A set-up takes two minutes.
"""

# ruff: noqa: S603, T201 (this module runs programs and prints verdicts)

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from _live import CannotRunError, Verdicts, main

from tcpsf import stats
from tcpsf.advice import Advice, advise, remedy
from tcpsf.distribution import Distribution
from tcpsf.live.network import die_with_parent, enter

HERE: Final = Path(__file__).parent
SHARES: Final = (1.0, 0.6, 0.25)
"""Sizes of the replies of a set-up, as shares of the largest."""
GOAL: Final = 0.1
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

SETUPS: Final = (
    LiveSetup(PACKET, 1_100, 20, "dup-tail", "linux / dup-tail"),
    LiveSetup(PACKET, 1_100, 100, "rto-min(ms=20)", "linux / rto-min(ms=20)"),
    LiveSetup(PACKET, 5_000, 40, "tail(n=4)", "linux / tail(n=4)"),
    LiveSetup(PACKET, 14_000, 100, "dup-tail", "linux / dup-tail", 5),
    LiveSetup(PACKET, 60_000, 40, "iw=20", "linux / full / iw=20"),
    LiveSetup(BYTE, 1_100, 20, "tail(n=4)", "linux / tail(n=4)"),
    LiveSetup(BYTE, 4_000, 60, "tiny-tail", "linux / tiny-tail", 5),
    LiveSetup(BYTE, 14_000, 40, "fs", "linux / fs(n=40, min=11)"),
    LiveSetup(BURST, 4_000, 40, "dup-tail(delay=10ms)", "linux / dup-tail(delay=10ms)"),
    LiveSetup(BURST, 14_000, 100, "rto-min(ms=20)", "linux / rto-min(ms=20)"),
    LiveSetup(PACKET, 14_000, 40, "dup-tail", "linux / dup-tail", rate="10Mb/s"),
    LiveSetup(PACKET, 4_000, 60, "dup-tail", "linux / dup-tail", 5, rate="5Mb/s"),
)


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
    setup: LiveSetup, sender: str, folder: Path, options: argparse.Namespace, seed: int
) -> list[float]:
    """Measure the response times with a sender in seconds. The packets are in `server.pcapng`."""
    files = folder / "files"
    files.mkdir(exist_ok=True)
    for share in SHARES:
        (files / f"{share:g}").write_bytes(b"x" * round(setup.reply_bytes * share))
    out, settings = folder / "times.json", folder / "client.json"
    with real_time(), server(files, sender) as address:
        wanted = {"address": address, "files": [f"{share:g}" for share in SHARES], "seed": seed}
        wanted |= {
            "responses": setup.responses,
            "requests": options.requests,
            "rate": options.rate,
            "out": str(out),
        }
        settings.write_text(json.dumps(wanted), encoding="utf-8")
        link = [sys.executable, "-m", "tcpsf", "link", "-q", "--delay", f"{setup.rtt_ms / 2}ms"]
        if setup.rate is not None:
            link += ["--down-rate", setup.rate]
        link += [*setup.loss, "--seed", str(seed), "--no-offload", "--force"]
        link += ["--pcap", str(folder / "server.pcapng"), "--pcap-at", "outside"]
        link += ["--pcap-bytes", "128B", "--"]
        client = [sys.executable, str(HERE / "_advise_client.py"), str(settings)]
        subprocess.run([*link, *client], check=True, timeout=300)
    times = json.loads(out.read_text(encoding="utf-8"))
    failed = sum(each is None for each in times)
    if failed > len(times) // 1000:
        message = f"{failed} of {len(times)} requests failed"
        raise CannotRunError(message)
    return [each for each in times if each is not None]


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


def judged(found: Advice, name: str, measured: stats.Estimate) -> tuple[str, bool]:
    """Compare the prediction for a remedy with the measurement."""
    (result,) = (each for each in found.results if each.remedy.name == name)
    p99 = result.measures["p99_s"]
    if p99.value is None or p99.over_laws is None:
        return f"{name}: no prediction", False
    predicted, (low, high) = p99.value.value, p99.over_laws
    distance = max(low - measured.value, measured.value - high)
    overlaps = measured.low <= high and low <= measured.high
    holds = overlaps or distance <= GOAL * measured.value
    text = (
        f"{name}: predicted {1e3 * predicted:.0f} [{1e3 * low:.0f},{1e3 * high:.0f}] ms, measured "
        f"{1e3 * measured.value:.0f} [{1e3 * measured.low:.0f},{1e3 * measured.high:.0f}] ms"
    )
    return text, holds


def work(verdicts: Verdicts) -> None:
    """Measure the set-ups, and print two verdicts for each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(map(str, range(1, len(SETUPS) + 1))))
    parser.add_argument("--requests", type=int, default=2500)
    parser.add_argument("--rate", type=float, default=60.0)
    options = parser.parse_args()
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        message = "it needs root and /dev/net/tun"
        raise CannotRunError(message)
    enter()
    for number in map(int, options.only.split(",")):
        setup = SETUPS[number - 1]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            plain = measure(setup, "linux", folder, options, seed=2 * number)
            found = advise(folder / "server.pcapng", remedies=[remedy(setup.remedy)])
            remedied = measure(setup, setup.sender, folder, options, seed=2 * number + 1)
        print(f"{number}. {setup}: {found.answer}", flush=True)
        before_s = request_s(found, plain)
        print(f"   request and processing: {1e3 * before_s:.1f} ms", flush=True)
        for each, times in (("none", plain), (setup.remedy, remedied)):
            text, holds = judged(found, each, percentile(times, before_s))
            if found.is_replay_like_capture:
                verdicts.report(text, holds=holds)
            else:
                print(f"  not judged, the replay differs from the capture: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main(work))
