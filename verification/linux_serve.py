"""Compare replies of `tcpsf serve --profile linux-6.18` with those of the kernel's TCP.

Each cell is a reply of a few segments over an emulated link without queue, with a fixed round-trip
time and a mask of the data segments that the link loses. A kernel's client fetches it from
`tcpsf serve`, and then from a small server with the kernel's TCP that writes the same bytes in the
same pieces. Both must send the same segments in the same order, and at the same times within one
jiffy (4 ms with HZ 250) plus the error of the emulator. Headers are compared too, flags included.
One difference is known and not judged: if Linux sends a group of segments (TSO) again as a whole,
the last of them has PSH.

Timers of Linux expire on ticks of the kernel's clock, and long ones on every 8th or 64th tick.
`tcpsf serve` uses the ticks of the kernel. The client connects at the same phase of the ticks in
both runs, so that the first data leaves in the middle of a jiffy. With a round-trip time of whole
jiffies, all later events are in the middle of a jiffy too.

A run is repeated if it was disturbed: the emulator delivered a packet late, the first data left in
another jiffy, or the server took long to respond to the request. None of the three depends on
what follows.

A cell is bimodal if both sides part after a retransmission and only one of them waits for its timer.
If both wait, their timers expired on different ticks: an idle processor of the kernel may put a timer of
more than 200 ms into a slot that is up to seven ticks later (`linux_cells.py`). Such a cell is repeated,
and it is different if all repetitions are so.
RACK ignores an acknowledgment of a retransmission that arrives sooner than the minimum round-trip
time (RFC 8985 section 6.2, step 2). On a path with a constant delay that is decided by microseconds
of the emulator's error and of the server's own processing, and both outcomes are right. Such a cell
is repeated with both servers. Each run of `tcpsf serve` must decide as the round-trip times in its
own capture require (`linux_cells.py` judges the kernel's runs in the same way). The shares of the
runs that wait are printed, not judged: a process needs other microseconds than the kernel to handle
a packet, and a minimum over several packets contains these differences.

    python verification/linux_serve.py [--segments 1-4] [--without-sack 5] [--rtt 20,100] [--every 1]

It needs root, TUN devices and `tshark` (Debian package `tshark`), and exits with 77 without them.
"""

# ruff: noqa: S603, S607, T201 (this module runs programs and prints verdicts)

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from _linux_live import JIFFY_S, ticks_ahead
from _live import CannotRunError, Verdicts, main
from _reply_programs import CLIENT, SERVER
from _serve_rounds import Outcome, decisions, shares
from _served_files import fit

from tcpsf.live.network import die_with_parent, enter

ERROR_S: Final = 0.001
"""Largest error of the emulator in a direction, and of the time of the first data, in seconds."""
RESPONSE_S: Final = 0.001
"""Longest time from the arrival of the request to the first data, in seconds."""
WHEEL_S: Final = 64 * JIFFY_S
"""Period after which the ticks of the timers of up to two seconds repeat."""
ATTEMPTS: Final = 6
REPEATS: Final = 4
"""Further runs of a bimodal cell with each server."""
SEGMENT: Final = 1448
GOAL: Final = 0.995
PSH_AGAIN: Final = "PSH of a retransmission"
"""The difference that is known."""
PORTS: Final = {"tcpsf": 80, "kernel": 9000}


@dataclass(frozen=True, slots=True)
class Cell:
    """A reply and its losses."""

    segments: int
    mask: str
    rtt_ms: float
    sack: bool = True

    @property
    def set_name(self) -> str:
        """Name of the set that the cell belongs to."""
        sack = "" if self.sack else ", no SACK"
        return f"{self.segments} segments, RTT {self.rtt_ms:g} ms{sack}"

    def __str__(self) -> str:
        return f"{self.set_name}, mask {self.mask}"


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet of the server."""

    time_s: float
    """Time since the first data segment."""
    seq: int
    length: int
    flags: int
    window: int
    options: str
    """Kinds of the options in their order, with the values of those that do not vary."""

    @property
    def key(self) -> tuple[int, int, int]:
        """Values that identify a segment: its place, and its control bits without PSH."""
        return self.seq, self.length, self.flags & ~0x08


@dataclass(frozen=True, slots=True)
class Run:
    """Packets of a server in a cell, and the reason why the run does not count, if there is one."""

    packets: list[Packet]
    disturbed: str | None
    port: int
    """Port of the client."""
    begin_s: float
    """Wall-clock time of the first data, in seconds."""

    @property
    def sent(self) -> list[Packet]:
        """Segments with data or a FIN."""
        return [each for each in self.packets if each.length or each.flags & 0x01]

    @property
    def answer(self) -> Packet:
        """The SYN-ACK."""
        return next(each for each in self.packets if each.flags & 0x02)


class Laboratory:
    """Both servers in their network namespace, and the files that they serve."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files, self.replies = folder / "files", folder / "replies"
        self.capture = folder / "serve.pcapng"
        self.files.mkdir()
        self.replies.mkdir()
        (folder / "server.py").write_text(SERVER, encoding="utf-8")
        (folder / "client.py").write_text(CLIENT, encoding="utf-8")
        self.ahead_ns = ticks_ahead() * round(JIFFY_S * 1e9)
        self.address = ""
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        words = [sys.executable, "-m", "tcpsf", "serve", str(self.files), "--json", "--no-offload"]
        words += ["--pcap", str(self.capture), "--profile", "linux-6.18"]
        host = self._process(words, signal.SIGINT)
        first = b"" if host.stdout is None else host.stdout.readline()
        self.address = json.loads(first)["addresses"][0]
        self._process(
            [sys.executable, str(self.folder / "server.py"), str(self.replies)], signal.SIGTERM
        )
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End both servers, which completes the capture."""
        self._stack.close()

    def _process(self, words: Sequence[str], farewell: signal.Signals) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, preexec_fn=die_with_parent)

        def end() -> None:
            process.send_signal(farewell)
            process.wait(30)

        self._stack.callback(end)
        return process

    def prepare(self, segments: int) -> None:
        """Make a file whose response fills ``segments`` segments, the last one less 100 bytes.

        The kernel's server repeats the response of `tcpsf serve`.
        """
        total = segments * SEGMENT - 100
        response = fit(self.files / str(segments), (self.address, PORTS["tcpsf"]), total)
        (self.replies / str(segments)).write_bytes(response)

    def run(self, cell: Cell, server: str) -> Run:
        """Let one of the servers send the reply, until a run is not disturbed."""
        for attempt in range(ATTEMPTS):
            run = self._attempt(cell, server)
            if run.disturbed is None:
                return run
            time.sleep(0.1 * attempt)
        return run

    def _attempt(self, cell: Cell, server: str) -> Run:
        capture, statistics = self.folder / "link.pcapng", self.folder / "link.json"
        link = [sys.executable, "-m", "tcpsf", "link", "-q", "--delay", f"{cell.rtt_ms / 2}ms"]
        link += ["--down-loss-mask", cell.mask, "--pcap", str(capture), "--pcap-at", "outside"]
        link += ["--json", str(statistics), "--force", "--no-offload", "--spin", "200us", "--"]
        # Both clients send the same bytes. The first data leaves 1.5 round trips after the SYN.
        first_data_ns = round(WHEEL_S / 2 * 1e9 + JIFFY_S / 2 * 1e9)
        phase_ns = first_data_ns - round(1.5e6 * cell.rtt_ms) - self.ahead_ns
        address = self.address if server == "tcpsf" else "100.64.0.1"
        client = [sys.executable, str(self.folder / "client.py"), address, str(PORTS[server])]
        client += [str(cell.segments), str(phase_ns), str(round(WHEEL_S * 1e9))]
        client.append(str(cell.rtt_ms / 1e3 + 0.03))  # until the last acknowledgment has arrived
        client.append(str(int(cell.sack)))
        subprocess.run([*link, *client], check=True, timeout=120)
        found = json.loads(statistics.read_text(encoding="utf-8"))
        errors = (found[direction]["timing_error_max_s"] for direction in ("up", "down"))
        return self._read(capture, max(error or 0.0 for error in errors), PORTS[server])

    def _read(self, capture: Path, error_s: float, port: int) -> Run:
        rows = packets_of(capture)
        times = [float(row["frame.time_epoch"]) for row in rows]
        asked, data = (
            next(
                index
                for index, row in enumerate(rows)
                if row[side] == str(port) and int(row["tcp.len"]) > 0
            )
            for side in ("tcp.dstport", "tcp.srcport")
        )
        begin = times[data]
        packets = [
            Packet(
                at - begin,
                int(row["tcp.seq"]),
                int(row["tcp.len"]),
                int(row["tcp.flags"], 16),
                int(row["tcp.window_size_value"]),
                options_of(row["tcp.options"]),
            )
            for at, row in zip(times, rows, strict=True)
            if row["tcp.srcport"] == str(port)
        ]
        monotonic_s = begin - (time.time() - time.monotonic())
        late_s = (monotonic_s + self.ahead_ns / 1e9) % WHEEL_S - WHEEL_S / 2 - JIFFY_S / 2
        reasons = {
            f"the emulator was {error_s * 1e3:.1f} ms late": error_s > ERROR_S,
            f"the first data was {late_s * 1e3:.1f} ms late": abs(late_s) > ERROR_S,
            f"the response took {(begin - times[asked]) * 1e3:.1f} ms": begin - times[asked]
            > RESPONSE_S,
        }
        disturbed = next((reason for reason, holds in reasons.items() if holds), None)
        return Run(packets, disturbed, int(rows[data]["tcp.dstport"]), begin)


def packets_of(capture: Path) -> list[dict[str, str]]:
    """Read the TCP packets of a capture."""
    names = ["frame.time_epoch", "tcp.srcport", "tcp.dstport", "tcp.seq", "tcp.len", "tcp.flags"]
    names += ["tcp.window_size_value", "tcp.options"]
    fields = [word for name in names for word in ("-e", name)]
    output = subprocess.run(
        ["tshark", "-r", str(capture), "-Y", "tcp", "-T", "fields", *fields],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ).stdout
    return [dict(zip(names, line.split("\t"), strict=True)) for line in output.splitlines()]


def options_of(text: str) -> str:
    """Describe the options of a header: values of a SYN's, and the kinds of the others."""
    data, words = bytes.fromhex(text), []
    while data:
        kind = data[0]
        length = 1 if kind in (0, 1) else data[1]
        fixed = kind in (2, 3, 4)
        words.append(data[:length].hex() if fixed else str(kind))
        data = data[length:]
    return " ".join(words)


def waits(sent: Sequence[Packet], index: int, rtt_s: float) -> bool:
    """Return whether the segment at ``index`` waited for a timer.

    It follows a retransmission, and else leaves when that is acknowledged.
    """
    return sent[index].time_s - sent[index - 1].time_s > rtt_s + JIFFY_S + 2 * ERROR_S


def verdict(kernel: Sequence[Packet], ours: Sequence[Packet], rtt_s: float) -> tuple[str, float]:
    """Compare the segments of both servers.

    Returns "equal", "bimodal", "other tick" or "different", and the largest difference of a time in
    seconds up to the point where they part.
    """
    worst = 0.0
    for index, (a, b) in enumerate(zip(kernel, ours, strict=False)):
        late = abs(a.time_s - b.time_s)
        if a.key == b.key and late <= JIFFY_S + 2 * ERROR_S:
            worst = max(worst, late)
            continue
        earlier = {sent.seq for sent in ours[: max(index - 1, 0)]}
        follows_resent = index > 0 and ours[index - 1].seq in earlier
        if not follows_resent or late <= JIFFY_S + 2 * ERROR_S:
            return "different", worst
        waiting = [waits(sent, index, rtt_s) for sent in (kernel, ours)]
        return ("other tick" if all(waiting) else "bimodal"), worst
    return ("equal" if len(kernel) == len(ours) else "different"), worst


def outcomes(cell: Cell, runs: dict[str, Run], more: Sequence[tuple[str, Run]]) -> list[Outcome]:
    """Return for each run of a bimodal cell whether its packet after the common part waited."""
    kernel, ours = runs["kernel"].sent, runs["tcpsf"].sent
    pairs = enumerate(zip(kernel, ours, strict=False))
    index = next(i for i, (a, b) in pairs if abs(a.time_s - b.time_s) > JIFFY_S + 2 * ERROR_S)
    every = [*runs.items(), *more]
    return [
        Outcome(server, str(cell), waits(run.sent, index, cell.rtt_ms / 1e3), run.port, run.begin_s)
        for server, run in every
        if len(run.sent) > index
    ]


def header_differences(kernel: Run, ours: Run) -> Iterator[str]:
    """Yield the differences between the headers of equal segments."""
    a, b = kernel.answer, ours.answer
    for name in ("flags", "window", "options"):
        if getattr(a, name) != getattr(b, name):
            yield f"SYN-ACK {name}: {getattr(a, name)} and {getattr(b, name)}"
    seen: set[int] = set()
    for a, b in zip(kernel.sent, ours.sent, strict=False):
        if a.flags != b.flags:
            yield PSH_AGAIN if a.seq in seen else f"flags: {a.flags:#x} and {b.flags:#x}"
        seen.add(a.seq)
        for name in ("window", "options"):
            if getattr(a, name) != getattr(b, name):
                yield f"segment {name}: {getattr(a, name)} and {getattr(b, name)}"
    others = [[each for each in run.packets if each not in run.sent] for run in (kernel, ours)]
    if len(others[0]) != len(others[1]):
        yield f"packets without data: {len(others[0])} and {len(others[1])}"


def cells(
    segments: Sequence[int], rtts: Sequence[float], without_sack: Sequence[int]
) -> Iterator[Cell]:
    """Every mask of first transmissions. Without SACK, only the first of the ``rtts``."""
    sets = [(count, rtt, True) for count, rtt in itertools.product(segments, rtts)]
    sets += [(count, rtts[0], False) for count in without_sack]
    for count, rtt, sack in sets:
        for mask in itertools.product("01", repeat=count):
            yield Cell(count, ",".join(mask), rtt, sack)


def shown(packets: Sequence[Packet]) -> str:
    """Format packets for a line of output."""
    return json.dumps(
        [(round(each.time_s * 1e3, 1), each.seq, each.length, hex(each.flags)) for each in packets]
    )


def require() -> None:
    """Raise `CannotRunError` if this machine lacks something."""
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        raise CannotRunError("it needs root and /dev/net/tun")
    if shutil.which("tshark") is None:
        raise CannotRunError("`tshark` is not installed (Debian: tshark)")
    version = os.uname().release.split(".")
    if (int(version[0]), int(version[1])) < (6, 17):
        raise CannotRunError("the kernel is below 6.17, and the profile is that of 6.18")


def arguments() -> Any:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--segments", default="1-4", help="numbers of segments, as A-B or A,B")
    parser.add_argument("--without-sack", default="5", help="the same, for cells without SACK")
    parser.add_argument("--rtt", default="20,100", help="round-trip times in ms")
    parser.add_argument("--every", type=int, default=1, help="run one of each N cells")
    return parser.parse_args()


def numbers(text: str) -> list[int]:
    """Read numbers of segments: A-B or A,B."""
    first, _, last = text.partition("-")
    return list(range(int(first), int(last) + 1)) if last else [int(one) for one in text.split(",")]


def compare(laboratory: Laboratory, cell: Cell, waited: list[Outcome]) -> tuple[str, list[str]]:
    """Run a cell, print a line, and return its verdict and the differences of headers.

    Repeats a bimodal cell, and appends to ``waited`` whether each run waited for a timer.
    """
    for _ in range(ATTEMPTS):
        runs = {server: laboratory.run(cell, server) for server in ("kernel", "tcpsf")}
        disturbed = [f"{server}: {run.disturbed}" for server, run in runs.items() if run.disturbed]
        kernel, ours = runs["kernel"], runs["tcpsf"]
        result, worst = verdict(kernel.sent, ours.sent, cell.rtt_ms / 1e3)
        if disturbed:
            result = "disturbed"
        if result != "other tick":
            break
    else:
        result = "different"
    print(f"{result:9} {cell}: up to {worst * 1e3:.1f} ms apart {'; '.join(disturbed)}", flush=True)
    if result == "bimodal":
        more = [(server, laboratory.run(cell, server)) for _ in range(REPEATS) for server in runs]
        undisturbed = [(server, run) for server, run in more if run.disturbed is None]
        waited += outcomes(cell, runs, undisturbed)
    if result in ("different", "bimodal"):
        print(f"    kernel {shown(kernel.sent)}\n    tcpsf  {shown(ours.sent)}")
    return result, sorted(set(header_differences(kernel, ours))) if result == "equal" else []


def work(verdicts: Verdicts) -> None:
    """Run the cells, and print a verdict for each set and one for the headers."""
    options = arguments()
    require()
    segments, without_sack = numbers(options.segments), numbers(options.without_sack)
    rtts = [float(word) for word in options.rtt.split(",")]
    enter()
    with contextlib.suppress(OSError):  # a container may not allow it
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    counts: dict[str, Counter[str]] = {}
    headers: Counter[str] = Counter()
    waited: list[Outcome] = []
    with tempfile.TemporaryDirectory() as name, Laboratory(Path(name)) as laboratory:
        for count in {*segments, *without_sack}:
            laboratory.prepare(count)
        for cell in itertools.islice(cells(segments, rtts, without_sack), 0, None, options.every):
            result, differences = compare(laboratory, cell, waited)
            counts.setdefault(cell.set_name, Counter())[result] += 1
            headers.update(differences)
        laboratory.stop()
        decided = decisions(waited, laboratory.capture)
    total: Counter[str] = Counter()
    for name, tally in counts.items():
        total += tally
        verdicts.report(f"{name}: {sentence(tally)}", holds=tally["different"] == 0)
    for difference, number in headers.most_common():
        print(f"         {number} cells: {difference}")
    known = headers.pop(PSH_AGAIN, 0)
    verdicts.report(
        f"headers are equal in all {total['equal']} equal cells, except {PSH_AGAIN} in {known}",
        holds=not headers,
    )
    if waited:
        judge_bimodal(verdicts, waited, decided)
    judged = sum(total.values()) - total["disturbed"]
    verdicts.report(
        f"all sets: {sentence(total)}",
        holds=judged > 0
        and total["equal"] + total["bimodal"] >= GOAL * judged
        and total["disturbed"] <= 0.05 * judged,
    )


def judge_bimodal(
    verdicts: Verdicts, waited: Sequence[Outcome], decided: tuple[int, int, int]
) -> None:
    """Print how often both servers waited, and the verdict on the decisions of `tcpsf serve`."""
    for server, (number, of) in shares(waited).items():
        print(f"         bimodal cells: {server} waited in {number} of {of} runs")
    same, clear, runs = decided
    verdicts.report(
        f"bimodal cells: {same} of the {clear} runs of tcpsf with clear round-trip times decide as "
        f"these require ({runs - clear} others are too close)",
        holds=same >= GOAL * clear and 2 * clear >= runs,
    )


def sentence(count: Counter[str]) -> str:
    """Describe the verdicts of a set of cells."""
    return (
        f"{count['equal']} of {sum(count.values())} cells equal, {count['bimodal']} bimodal, "
        f"{count['different']} different, {count['disturbed']} disturbed"
    )


if __name__ == "__main__":
    sys.exit(main(work))
