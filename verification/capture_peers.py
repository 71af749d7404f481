"""Compare the counts of `tcpsf analyze` with those of `tcptrace` and `tshark`, flow by flow.

    python verification/capture_peers.py [FOLDER]

The captures are those of simulated runs with losses, reordering and lost acknowledgments, and those
of FOLDER (`*.trace`, `*.pcap`, `*.pcapng`). The counts of each direction of each connection must be
equal, or a rule that is stated here must explain the difference exactly. Differences without such a
rule are printed and counted.
"""

# ruff: noqa: S603, T201 (this program runs other programs and prints verdicts)

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias

import _capture_frames
from _verdicts import judged
from capture_simulated import NETWORKS, SENDERS, scenario

from tcpsf import Pcap, captures, run

Row: TypeAlias = Mapping[str, Any]
Ends: TypeAlias = tuple[str, int, str, int]
"""Addresses and ports of source and destination."""

RUNS: Final = (
    ("linux", "10 % on both halves"),
    ("linux", "reordering"),
    ("reno+sack / fs(n=4) / iw=1", "a quarter of the ACKs"),
    ("reno+newreno / full / iw=4", "bursts of 3"),
)
"""Senders and networks of the simulated runs."""

EQUAL: Final = {
    "total_packets": "packets",
    "pure_acks_sent": "pure_acks",
    "sack_pkts_sent": "sack_packets",
    "dsack_pkts_sent": "dsack_packets",
    "actual_data_pkts": "data_packets",
    "actual_data_bytes": "payload_bytes",
    "pushed_data_pkts": "pushes",
    "max_win_adv": "window_max_bytes",
    "zero_win_adv": "zero_windows",
    "max_segm_size": "largest_payload_bytes",
    "min_segm_size": "smallest_payload_bytes",
    "initial_window_bytes": "initial_window_bytes",
    "initial_window_pkts": "initial_window_packets",
    "resets_sent": "resets",
}
"""Counts of tcptrace that are ours by definition."""

ALLOWED: Final = 0.001
"""Largest share of compared counts that may differ without a rule."""


@dataclass(slots=True)
class Counts:
    """Numbers of comparisons by count and by their result."""

    equal: Counter[str] = field(default_factory=Counter)
    explained: Counter[tuple[str, str]] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)

    def add(
        self, what: str, where: str, theirs: int, ours: int, rules: Mapping[str, Container[int]]
    ) -> None:
        """Compare a count. ``rules`` have the values that each of them expects."""
        if theirs == ours:
            self.equal[what] += 1
            return
        rule = next((rule for rule, expected in rules.items() if theirs in expected), None)
        if rule is None:
            self.unexplained.append(f"{where}: {what} {theirs}, ours {ours}")
        else:
            self.explained[what, rule] += 1


def main() -> int:
    """Compare all captures."""
    if missing := [name for name in ("tcptrace", "tshark") if shutil.which(name) is None]:
        print(f"needs {' and '.join(missing)}")
        return 77
    found = {"tcptrace": Counts(), "tshark": Counts()}
    with TemporaryDirectory() as name:
        for capture in simulated(Path(name)):
            compare(capture, found)
    for folder in sys.argv[1:]:
        listed = [
            path for end in ("trace", "pcap", "pcapng") for path in Path(folder).glob(f"*.{end}")
        ]
        for capture in sorted(listed):
            compare(capture, found)
    return 1 if judged(statements(found)) else 0


def simulated(folder: Path) -> Iterator[Path]:
    """Yield captures of simulated runs, as files that old programs read."""
    for number, (sender, network) in enumerate(RUNS):
        made = scenario(
            next(one for one in SENDERS if one.name == sender),
            next(one for one in NETWORKS if one.name == network),
        )
        run(made, seed=1, pcap=Pcap(path=folder / "run.pcapng", replace=True))
        path = folder / f"simulated-{number}.pcap"
        _capture_frames.write_pcap(path, _capture_frames.frames(folder / "run.pcapng"))
        yield path


def compare(capture: Path, found: Mapping[str, Counts]) -> None:
    """Compare one capture with both programs."""
    flows = captures.analyze(capture).tables.flows.sort("flow").to_dicts()
    ours: defaultdict[Ends, list[Row]] = defaultdict(list)
    for row in flows:
        ours[ends(row)].append(row)
    programs: tuple[tuple[str, Callable[[Path], Iterator[tuple[Ends, Row]]], Any], ...] = (
        ("tcptrace", tcptrace, of_tcptrace),
        ("tshark", tshark, of_tshark),
    )
    for program, read, add in programs:
        seen: Counter[Ends] = Counter()
        for key, theirs in read(capture):
            rows = ours[key]
            where = f"{capture.name}, {key[0]}:{key[1]} to {key[2]}:{key[3]}, number {seen[key]}"
            if seen[key] < len(rows):
                add(found[program], where, theirs, rows[seen[key]])
            else:
                # A packet after the end of a connection, or a single packet without an answer.
                found[program].explained["connections", "late or single packets"] += 1
            seen[key] += 1


def ends(row: Row) -> Ends:
    """Ends of a direction in our table."""
    return row["source"], row["source_port"], row["destination"], row["destination_port"]


def of_tcptrace(counts: Counts, where: str, theirs: Row, ours: Row) -> None:
    """Compare the counts of one direction with those of tcptrace."""
    for name, column in EQUAL.items():
        late = {"a late packet is another connection": [ours[column] - 1]}
        counts.add(name, where, theirs[name], ours[column], late if column in LATE else {})
    syns, fins = max(0, ours["syns"] - 1), max(0, ours["fins"] - 1)
    again, before = ours["retransmitted_packets"], ours["reordered_packets"]
    again_bytes = ours["retransmitted_bytes"]
    # A retransmission that fills a gap in the capture is out of order, and its data is unique.
    whole = again + before + syns + ours["keep_alives"] + ours["window_probes"]
    in_gaps = theirs["outoforder_pkts"] - before
    gap_bytes = theirs["unique_bytes_sent"] - ours["unique_bytes"]
    gaps = "data in gaps of the capture is out of order"
    counts.add(
        "rexmt_data_pkts",
        where,
        theirs["rexmt_data_pkts"],
        again,
        {
            "repeated SYNs, probes and keep-alives count": range(again, whole + 1),
            gaps: [whole - in_gaps],
        },
    )
    counts.add(
        "outoforder_pkts",
        where,
        theirs["outoforder_pkts"],
        before,
        {gaps: [before + whole - theirs["rexmt_data_pkts"]]},
    )
    counts.add(
        "rexmt_data_bytes",
        where,
        theirs["rexmt_data_bytes"],
        again_bytes,
        {
            "SYNs, FINs and probes have sequence numbers": range(
                again_bytes, again_bytes + whole - again - before + fins + 1
            ),
            gaps: range(again_bytes - gap_bytes, again_bytes - gap_bytes + syns + fins + 1),
        },
    )
    counts.add(
        "unique_bytes_sent",
        where,
        theirs["unique_bytes_sent"],
        ours["unique_bytes"],
        {gaps: [ours["payload_bytes"] + syns + fins - theirs["rexmt_data_bytes"]]},
    )


LATE: Final = ("packets", "resets")
"""Counts to which a packet after the end of a connection adds one."""


def of_tshark(counts: Counts, where: str, theirs: Row, ours: Row) -> None:
    """Compare the counts of one direction with those of tshark."""
    counts.add("packets", where, theirs["packets"], ours["packets"], {})
    counts.add("payload bytes", where, theirs["payload"], ours["payload_bytes"], {})
    syns = max(0, ours["syns"] - 1)
    again = ours["retransmitted_packets"] + ours["reordered_packets"]
    counts.add(
        "retransmission or out_of_order",
        where,
        theirs["again"],
        again,
        {
            "repeated SYNs count": [again + syns],
            "the sequence number of an ACK revealed it": [again + syns + theirs["revealed"]],
        },
    )


def tcptrace(capture: Path) -> Iterator[tuple[Ends, Row]]:
    """Yield the directions that tcptrace lists, with their counts."""
    command = ["tcptrace", "-n", "-l", "--csv", str(capture)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    header: list[str] = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if not header:
            header = line.split(",")
            continue
        row = dict(zip(header, (cell.strip() for cell in line.split(",")), strict=False))
        a = row["host_a"], int(row["port_a"])
        b = row["host_b"], int(row["port_b"])
        for key, end in (((*a, *b), "_a2b"), ((*b, *a), "_b2a")):
            values = {name[: -len(end)]: row[name] for name in row if name.endswith(end)}
            yield key, {name: int(text) for name, text in values.items() if text.isdecimal()}


def tshark(capture: Path) -> Iterator[tuple[Ends, Row]]:
    """Yield the directions that tshark lists, with their counts."""
    fields = ["tcp.stream", "ip.src", "tcp.srcport", "ip.dst", "tcp.dstport", "tcp.len"]
    flags = ["tcp.analysis.retransmission", "tcp.analysis.out_of_order"]
    fields += [*flags, "tcp.flags.fin", "tcp.seq"]
    command = ["tshark", "-n", "-r", str(capture), "-Y", "tcp", "-T", "fields"]
    command += [word for name in fields for word in ("-e", name)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows: dict[tuple[str, Ends], Counter[str]] = {}
    data_ends: Counter[tuple[str, Ends]] = Counter()
    for line in text.splitlines():
        stream, source, sport, destination, dport, length, *found, fin, seq = line.split("\t")
        key = stream, (source, int(sport), destination, int(dport))
        row = rows.setdefault(key, Counter())
        row.update(packets=1, payload=int(length), again=any(found))
        # It is called a retransmission, but the capture has its data for the first time.
        row.update(revealed=any(found) and int(seq) >= max(1, data_ends[key]))
        if int(length) or fin in ("1", "True"):
            end = int(seq) + int(length) + (fin in ("1", "True"))
            data_ends[key] = max(data_ends[key], end)
    for (_, ends_of), row in rows.items():
        yield ends_of, row


def statements(found: Mapping[str, Counts]) -> Iterator[tuple[str, bool]]:
    """Print the counts of each program, and yield what must hold."""
    for program, counts in found.items():
        print(f"\n{program}")
        names = sorted({*counts.equal, *(what for what, _ in counts.explained)})
        for name in names:
            print(f"  {name:32} equal {counts.equal[name]:6}")
            for (what, rule), number in sorted(counts.explained.items()):
                if what == name:
                    print(f"  {'':32} {rule}: {number}")
        for line in counts.unexplained:
            print(f"  {line}")
        compared = counts.equal.total() + counts.explained.total() + len(counts.unexplained)
        yield f"{program}: {compared} counts were compared", compared > 0
        yield (
            f"{program}: {len(counts.unexplained)} counts differ without a rule, at most {ALLOWED:.1%}",
            len(counts.unexplained) <= ALLOWED * compared,
        )


if __name__ == "__main__":
    sys.exit(main())
