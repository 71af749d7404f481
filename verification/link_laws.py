"""Test the laws of `tcpsf link` on captures of live links, and compare with virtual time.

    python verification/link_laws.py [--packets 1000000] [--rate 50000] [--seed 1] [--only LAW,LAW]

For each law a live link carries a million datagrams. χ² and Kolmogorov–Smirnov tests compare the captures
with the law. The level of all tests together is 0.1 %, divided by their number (Bonferroni). The
link of the same seed in virtual time gets the captured arrivals: it must deliver the same packets in the
same order with the same bits, and none later than the live link did. It needs root, TUN devices and cargo.
"""

# ruff: noqa: T201 (this program prints verdicts)

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import _link_delays as delays
import _link_losses as losses
from _link_captures import LinkRun, build, run_link
from _live import Verdicts, main

LEVEL: Final = 0.001
"""Probability that any of the tests fails although every law holds."""
TESTS: Final = 25
"""Number of tests that share the level, at most."""

FOLDER: Final = "FOLDER"

Check = Callable[[LinkRun], Iterator[tuple[str, float | bool]]]
"""Yields statements, each with a p-value or with whether it is true."""


@dataclass(frozen=True, slots=True)
class LinkLaw:
    """Options of a link and the check of its captures. `FOLDER` is the folder of its files."""

    name: str
    options: dict[str, str]
    check: Check
    sizes: tuple[int, ...] = (80,)
    files: dict[str, str] = field(default_factory=dict)
    """Contents of files that the options name."""


LAWS: Final = (
    LinkLaw("independent loss", {"loss": "2%"}, losses.independent),
    LinkLaw(
        "loss per byte", {"loss-per-byte": "5e-5"}, losses.per_byte, sizes=(60, 200, 600, 1400)
    ),
    LinkLaw("bursts of losses", {"loss-burst": "2%,3"}, losses.bursts),
    LinkLaw("Gilbert-Elliott", {"loss-gilbert": "0.02,0.2,0.8,0.001"}, losses.gilbert_elliott),
    LinkLaw(
        "losses from a file",
        {"loss-file": "FOLDER/losses"},
        losses.of_file,
        files={"losses": losses.FILE},
    ),
    LinkLaw("duplicates", {"duplicate": "3%"}, losses.duplicates),
    LinkLaw("corruption", {"corrupt": "5%"}, losses.corruption),
    LinkLaw("reordering", {"delay": "5ms", "reorder": "2%,20ms"}, delays.reordering),
    LinkLaw("uniform jitter", {"delay": "20ms", "jitter-reorder": "uniform:3ms"}, delays.uniform),
    LinkLaw("normal jitter", {"delay": "20ms", "jitter-reorder": "normal:3ms"}, delays.normal),
    LinkLaw(
        "normal jitter in order",
        {"delay": "20ms", "jitter": "normal:3ms"},
        delays.in_order,
    ),
    LinkLaw("Pareto jitter", {"delay": "5ms", "jitter-reorder": "pareto:3ms,3"}, delays.pareto),
    LinkLaw(
        "measured jitter",
        {"delay": "5ms", "jitter-reorder": "file:FOLDER/delays"},
        delays.measured,
        files={"delays": delays.FILE},
    ),
    LinkLaw(
        "rate trace",
        {"rate-trace": "FOLDER/trace", "queue": "none"},
        delays.rate_trace,
        files={"trace": delays.TRACE},
        sizes=(80, 400, 120),
    ),
    LinkLaw("policer", {"police": "60mbit,15kB"}, losses.policer, sizes=(80, 400, 120)),
)


def judge(law: LinkLaw, options: argparse.Namespace, decide: Path, verdicts: Verdicts) -> None:
    """Run a live link, and report what its captures show."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in law.files.items():
            (folder / file).write_text(content, encoding="utf-8")
        given = {key: text.replace(FOLDER, name) for key, text in law.options.items()}
        made = run_link(
            decide,
            folder,
            given,
            count=options.packets,
            rate=options.rate,
            sizes=law.sizes,
            seed=options.seed,
        )
    given_texts = ", ".join(f"--{key} {value}" for key, value in law.options.items())
    sent = int(made.sent.sum())
    print(
        f"{law.name} ({given_texts}): {sent} of {options.packets} datagrams reached the link, and "
        f"{len(made.deliveries)} packets were delivered; lateness p99 {1e6 * made.up['timing_error_p99_s']:.0f} µs"
    )
    verdicts.report(
        "virtual time delivers the same packets, in order and bit by bit", holds=made.same
    )
    for statement, found in law.check(made):
        if isinstance(found, bool):
            verdicts.report(statement, holds=found)
        else:
            verdicts.report(f"{statement}: p = {found:.3g}", holds=found >= LEVEL / TESTS)


def work(verdicts: Verdicts) -> None:
    """Judge each law."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--packets", type=int, default=1_000_000, help="datagrams for each law")
    parser.add_argument("--rate", type=int, default=50_000, help="datagrams per second")
    parser.add_argument("--seed", type=int, default=1, help="random seed of the links")
    parser.add_argument("--only", default="", help="names of laws, separated by commas")
    options = parser.parse_args()
    wanted = set(options.only.split(",")) - {""}
    if unknown := wanted - {law.name for law in LAWS}:
        parser.error(f"no law `{min(unknown)}`; there are: {', '.join(law.name for law in LAWS)}")
    decide = build()
    for law in LAWS:
        if not wanted or law.name in wanted:
            judge(law, options, decide, verdicts)


if __name__ == "__main__":
    sys.exit(main(work))
