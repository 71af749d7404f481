"""Write the verdicts of `tcpsf drill` on suites of packetdrill scripts as a page.

``drill_verdicts.py --suite NAME FOLDER REVISION [--suite …] [--profile linux-6.18] PAGE``: each folder
is a checkout of a suite. The page has the names of the scripts with their verdicts, and reasons. It
has nothing else of the scripts.
"""

# ruff: noqa: S603 (the program runs tcpsf)

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import subprocess
import sys
from pathlib import Path

CAUSES = {
    "cwnd-moderation-ecn-enter-cwr-no-moderation-700": (
        "the kernel differs from the script, too. PRR adds a packet when SND.UNA advances "
        "(RFC 9937 §6.2), so the window is 5; Linux 6.18 has the same"
    ),
    "fr-4pkt-fack-last-mss": (
        "the script expects RACK's timer after 40 ms, the others of the suite after 27 ms: a quarter of "
        "the round trip and 2 ms. Both cannot hold"
    ),
    "shutdown-rdwr-write-queue-close": (
        "the kernel differs from the script, too. The script sends a FIN above the congestion window; "
        "in Linux 6.18 it waits for the window, or for the tail loss probe"
    ),
    "gro-mss-option": (
        "the kernel differs from the script, too. The arriving packet acknowledges the initial sequence "
        "number, which is old; Linux 6.18 drops its data"
    ),
    "tcp_ooo_rcv_mss": (
        "the window follows the memory of a packet that a network device has joined; tcpsf counts the "
        "memory of its segments"
    ),
    "tcp_rcv_toobig": (
        "the window follows the memory of a packet that a network device has joined; tcpsf counts the "
        "memory of its segments"
    ),
    "tcp_advmss_pmtu_ipv4": (
        "a second connection uses the path MTU that the first one learnt; tcpsf keeps it for one "
        "connection"
    ),
}
"""Causes of failures, by the name of the script."""

HEAD = """\
# Verdicts on scripts of others

This page lists the verdicts of `tcpsf drill --profile {profile}` on public suites of packetdrill
scripts. The scripts are not part of tcpsf. `tools/drill_verdicts.py` writes the page from checkouts.

| suite | scripts | applicable | passed | failed | share of the applicable |
| --- | ---: | ---: | ---: | ---: | ---: |
{rows}

A script is not applicable if it needs something that tcpsf's TCP or the player does not have; the
table gives what. [The reference](drill.md) lists what the player has. Our own scripts about Linux
are in `scripts/packetdrill/`, and `verification/packetdrill_scripts.py` plays them against a kernel.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Suite:
    """A suite: its name, its folder, and the revision of the checkout."""

    name: str
    folder: Path
    revision: str


@dataclasses.dataclass(frozen=True, slots=True)
class Script:
    """A script with its verdict."""

    name: str
    verdict: str
    problem: str


def play(suite: Suite, profile: str) -> list[Script]:
    """Play all scripts of a suite."""
    command = Path(sys.executable).with_name("tcpsf")
    done = subprocess.run(
        [command, "drill", suite.folder, "--profile", profile, "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    if not done.stdout:
        sys.exit(done.stderr)
    found = []
    for each in json.loads(done.stdout)["scripts"]:
        name = Path(each["file"]).relative_to(suite.folder).with_suffix("").as_posix()
        found.append(Script(name, each["verdict"], each["problem"] or ""))
    return sorted(found, key=lambda script: script.name)


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def row(suite: Suite, scripts: list[Script]) -> str:
    """Row of a suite in the table of totals."""
    counts = collections.Counter(script.verdict for script in scripts)
    failed = counts["failed"] + counts["unreadable"]
    applicable = counts["passed"] + failed
    share = f"{counts['passed'] / applicable:.1%}" if applicable else "–"
    columns = (suite.name, len(scripts), applicable, counts["passed"], failed, share)
    return "| " + " | ".join(str(column) for column in columns) + " |"


def section(suite: Suite, scripts: list[Script]) -> str:
    """Part of the page about a suite."""
    lines = [f"\n## {suite.name}\n", f"Revision: {suite.revision}.\n"]
    failed = [script for script in scripts if script.verdict in ("failed", "unreadable")]
    if failed:
        lines += ["| failed | difference | cause |", "| --- | --- | --- |"]
        for script in failed:
            cause = CAUSES.get(script.name.rsplit("/", 1)[-1], "not known yet")
            lines.append(f"| `{script.name}` | {cell(script.problem)} | {cause} |")
        lines.append("")
    lines += [
        "Passed: " + ", ".join(f"`{s.name}`" for s in scripts if s.verdict == "passed") + ".",
        "",
    ]
    reasons: dict[str, list[str]] = {}
    for script in scripts:
        if script.verdict == "not_applicable":
            reasons.setdefault(script.problem, []).append(script.name)
    if reasons:
        lines += ["| not applicable, because | scripts |", "| --- | --- |"]
        for reason, names in sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0])):
            lines.append(f"| {cell(reason)} | {', '.join(f'`{name}`' for name in names)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--suite", nargs=3, action="append", required=True, metavar=("NAME", "FOLDER", "REVISION")
    )
    parser.add_argument("--profile", default="linux-6.18")
    parser.add_argument("page", type=Path)
    arguments = parser.parse_args()
    suites = [Suite(name, Path(folder), revision) for name, folder, revision in arguments.suite]
    played = [(suite, play(suite, arguments.profile)) for suite in suites]
    rows = "\n".join(row(suite, scripts) for suite, scripts in played)
    parts = [HEAD.format(profile=arguments.profile, rows=rows)]
    parts += [section(suite, scripts) for suite, scripts in played]
    arguments.page.write_text("".join(parts))


if __name__ == "__main__":
    main()
