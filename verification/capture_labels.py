"""Compare the causes that `tcpsf analyze` finds with labels that another program gave.

    python verification/capture_labels.py FOLDER

FOLDER has captures `NAME.trace` and, beside each, the labels `NAME.labels.log` of TCPRS (a Zeek log;
it is missing if no retransmission was seen). Every label must be matched, or the packets must
contradict it: then the difference is printed with the evidence. The numbers of retransmissions are
printed beside those of `tshark` and `tcptrace`, if these programs are installed.
"""

# ruff: noqa: S603, T201 (this program runs other programs and prints verdicts)

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from _verdicts import judged

from tcpsf import captures
from tcpsf.captures.explanation import REASONS

LABELS: Final = {
    0: "none",
    1: "timeout",
    2: "three duplicates",
    3: "three duplicates",
    5: "in a recovery",
    6: "none",
    12: "early retransmit",
    13: "SACK",
    14: "timeout",
    15: "timeout",
    16: "FACK",
}
"""Names of the labels by the field `rtype`. TCPRS has no RACK and no tail loss probes."""

CAUSES: Final = {
    "three_duplicates": "three duplicates",
    "sack": "SACK",
    "fack": "FACK",
    "early_retransmit": "early retransmit",
    "timeout": "timeout",
    "syn_timeout": "timeout",
    "syn_ack_timeout": "timeout",
    "recovery": "in a recovery",
    "slow_start": "in a recovery",
    "lost_retransmission": "in a recovery",
}
"""Names of our causes in the terms of the labels."""

ALLOWED: Final = 0.01
"""Largest share of labels that may differ without evidence: causes of low confidence."""

TSHARK: Final = "tcp.analysis.retransmission || tcp.analysis.out_of_order"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A label that our cause does not match."""

    capture: str
    label: str
    row: dict[str, Any]

    @property
    def has_evidence(self) -> bool:
        """Whether the packets decide: the rule of our cause is fulfilled."""
        return bool(self.row["confidence"] != "low")

    def __str__(self) -> str:
        row = self.row
        return (
            f"{self.capture}, packet {row['frame']}: label {self.label}, ours {row['cause']} "
            f"({row['confidence']}). {REASONS[row['cause']]} Waited {1e3 * row['waited_s']:.0f} ms of "
            f"{1e3 * row['rto_s']:.0f} ms, {1e3 * row['since_ack_s']:.1f} ms after an acknowledgment; "
            f"{row['duplicates']} duplicates, {row['sacked_above']} segments above, the highest "
            f"{row['forward']} after it."
        )


def main() -> int:
    """Compare all captures of the folder."""
    if len(sys.argv) != 2:
        print("needs a folder with captures and labels as its argument")
        return 77
    folder = Path(sys.argv[1])
    names = sorted(path.stem for path in folder.glob("*.trace"))
    if not names:
        print(f"no captures `*.trace` in `{folder}`")
        return 2
    pairs: Counter[tuple[str, str]] = Counter()
    differences: list[Difference] = []
    counts: Counter[str] = Counter()
    for name in names:
        compare(folder, name, pairs, differences, counts)
    show(pairs, differences, counts)
    labelled = sum(pairs.values())
    without = sum(not one.has_evidence for one in differences)
    failed = judged(
        [
            (f"{labelled} labels were compared", labelled > 0),
            ("every label has its retransmission", counts["missing"] == 0),
            (
                f"{without} of {labelled} labels differ without evidence, at most {ALLOWED:.0%}",
                without <= ALLOWED * labelled,
            ),
        ]
    )
    return 1 if failed else 0


def compare(
    folder: Path,
    name: str,
    pairs: Counter[tuple[str, str]],
    differences: list[Difference],
    counts: Counter[str],
) -> None:
    """Compare one capture."""
    result = captures.analyze(folder / f"{name}.trace")
    start_ns = result.facts.start_ns or 0
    rows = {
        ((start_ns + round(row["at_s"] * 1e9) + 500) // 1000, row["seq"]): row
        for row in result.tables.retransmissions.to_dicts()
    }
    counts["ours"] += len(rows)
    for peer, number in peers(folder / f"{name}.trace"):
        counts[peer] += number
    for key, rtype in labels(folder / f"{name}.labels.log"):
        counts["labels"] += 1
        row = rows.pop(key, None)
        if row is None:
            counts["missing"] += 1
            continue
        label, ours = LABELS[rtype], CAUSES.get(row["cause"], row["cause"])
        pairs[label, ours] += 1
        if label not in (ours, "none"):
            differences.append(Difference(capture=name, label=label, row=row))
    counts["not labelled"] += len(rows)


def labels(path: Path) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield time in microseconds, sequence number and kind of each label."""
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            fields = line.split("\t")
            yield (round(float(fields[0]) * 1e6), int(fields[7])), int(fields[12])


def peers(capture: Path) -> Iterator[tuple[str, int]]:
    """Yield the numbers of retransmissions by other programs."""
    tshark, tcptrace = shutil.which("tshark"), shutil.which("tcptrace")
    if tshark is not None:
        command = [tshark, "-n", "-r", str(capture), "-Y", TSHARK, "-T", "fields"]
        command += ["-e", "tcp.analysis.out_of_order"]
        lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        found = lines.splitlines()
        yield "tshark, retransmissions", sum(not line.strip() for line in found)
        yield "tshark, out of order", sum(bool(line.strip()) for line in found)
    if tcptrace is not None:
        command = [tcptrace, "-n", "-l", str(capture)]
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        yield "tcptrace", sum(int(n) for n in re.findall(r"rexmt data pkts: +(\d+)", text))


def show(
    pairs: Counter[tuple[str, str]], differences: list[Difference], counts: Counter[str]
) -> None:
    """Print the table of pairs, the differences, and the counts beside those of peers."""
    for (label, ours), count in sorted(pairs.items()):
        mark = "" if label in (ours, "none") else "  differs"
        print(f"label {label:18} ours {ours:18} {count:5}{mark}")
    print()
    for one in differences:
        print(one)
    print()
    for what, count in counts.items():
        print(f"{what:26} {count:6}")


if __name__ == "__main__":
    sys.exit(main())
