"""Check that two builds of tcpsf give the same results, and compare their speed.

``compare_builds.py BEFORE AFTER [--papers] [--no-speed]``: each argument is a Python interpreter in
whose environment one build is installed. `make compare BASE=REVISION` makes the first one. Exit
status 0: equal, and no more than 3 % slower; 1: something differs; 2: wrong arguments.

The program compares:

- all rows of every scenario in `scenarios/` with three seeds;
- the captures of three scenarios, byte for byte without comments;
- the statistics of a link with a fixed seed, as root;
- with ``--papers`` every number of ``reproduce PAPER --quick --json``.
"""

# ruff: noqa: T201 (the program prints its findings)

from __future__ import annotations

import argparse
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "verification"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benches"))

from _measure import ProcessError, our_counts
from _ns2_network import scenario
from scaling import greedy

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"
SEEDS = (1, 2, 3)
CAPTURED = ("one-short-flow", "lossy-access", "santa-cruz-basic")
PAPERS = ("smart-framing", "santa-cruz", "packet-discard", "short-flows")
SLOWER = 1.03
TURNS = 5
COSTS = ("cpu_s", "peak_mb")
WEB_S = 1500.0
GREEDY_SHARE = 0.1
"""Share of the simulated time that `benches/scaling.py` takes for the same network."""

DIGESTS = """
import hashlib, json, sys
from tcpsf import Scenario, run
found = {}
for path in sys.argv[2:]:
    for seed in json.loads(sys.argv[1]):
        result = run(Scenario.from_toml(path), seed=seed)
        for name in ("flows", "recoveries", "links", "samples", "packets"):
            table = getattr(result, name, None)
            if table is not None:
                text = table.write_csv().encode()
                found[f"{path.rsplit('/')[-1]}, seed {seed}, {name}"] = hashlib.sha256(text).hexdigest()
print(json.dumps(found))
"""

DATAGRAMS = """
import os, socket, time
to = (os.environ["TCPSF_LINK_OUTSIDE"], 9)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    for number in range(2000):
        try:
            sender.sendto(bytes(200 + number % 1000), to)
        except ConnectionRefusedError:
            pass
        time.sleep(0.0005)
"""


class BuildError(RuntimeError):
    """A build failed to run something."""


def call(python: str, *words: str) -> str:
    """Run a build's interpreter, and return its standard output.

    Raises BuildError with the last line of its standard error if it fails.
    """
    done = subprocess.run([python, *words], capture_output=True, text=True, check=False)  # noqa: S603 (the user's)
    if done.returncode not in (0, 1) or (done.returncode and not done.stdout):
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise BuildError(f"run {python} {words[0]}: exit status {done.returncode}: {last}")
    return done.stdout


def digests(python: str) -> dict[str, str]:
    """A digest of each table of each run."""
    paths = [str(path) for path in sorted(SCENARIOS.glob("*.toml"))]
    return dict(json.loads(call(python, "-c", DIGESTS, json.dumps(SEEDS), *paths)))


def without_comments(capture: bytes) -> Iterator[bytes]:
    """The blocks of a pcapng file of one byte order, packets without their options."""
    at = 0
    while at < len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        block = capture[at : at + length]
        if kind == 6:
            (stored,) = struct.unpack_from("<I", block, 20)
            yield block[8 : 28 + stored]
        elif kind == 1:
            yield block[8:16]
        at += length


def captures(python: str) -> dict[str, bytes]:
    """The packets of each captured scenario."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in CAPTURED:
            file = Path(folder, f"{name}.pcapng")
            call(python, "-m", "tcpsf", "sim", str(SCENARIOS / f"{name}.toml"), "--pcap", str(file))
            found[f"{name}, capture"] = b"".join(without_comments(file.read_bytes()))
    return found


def link(python: str) -> dict[str, int]:
    """Counts of the packets that a link with a fixed seed dropped, copied and changed, outwards."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "link.json")
        options = (
            "--loss-burst",
            "0.1,2",
            "--duplicate",
            "5%",
            "--corrupt",
            "3%",
            "--reorder",
            "4%,3ms",
        )
        words = ("link", *options, "--seed", "7", "--no-offload", "--json", str(file))
        call(python, "-m", "tcpsf", *words, "--", sys.executable, "-c", DATAGRAMS)
        up = json.loads(file.read_text(encoding="utf-8"))["up"]
    return {
        f"link, {name}": count
        for name, count in up.items()
        if isinstance(count, int) and "queue" not in name
    }


def numbers(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The leaves of a JSON value, by their paths, without texts and run times."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in ("seconds", "version", "drawing", "drawings", "commit", "out"):
                yield from numbers(item, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from numbers(item, f"{path}[{index}]")
    elif isinstance(value, int | float):
        yield path, value


def papers(python: str) -> dict[str, float]:
    """Every number of each paper's report at quick scale."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for paper in PAPERS:
            print(f"  {python}: {paper}", file=sys.stderr)
            words = ("reproduce", paper, "--quick", "--json", "--out", str(Path(folder, paper)))
            found |= numbers(json.loads(call(python, "-m", "tcpsf", *words)), paper)
    return found


def differences(title: str, before: dict[str, Any], after: dict[str, Any]) -> int:
    """Print how many values are equal and the first that are not; return the number of those."""
    names = sorted(before.keys() | after.keys())
    wrong = [name for name in names if before.get(name) != after.get(name)]
    print(f"{title}: {len(names) - len(wrong)} equal, {len(wrong)} different")
    for name in wrong[:10]:
        print(f"  {name}: {str(before.get(name))[:40]} before, {str(after.get(name))[:40]} after")
    return len(wrong) if names else 1


def slower(before: str, after: str) -> int:
    """Compare CPU time and memory in turns; return the number of cases over the limit."""
    missed = 0
    for title, description in (
        ("load 0.8", scenario(load=0.8, duration_s=WEB_S)),
        ("10 000 flows", greedy(rate_gbps=1.0, flows=10_000, share=GREEDY_SHARE)),
    ):
        turns = []
        for turn in range(TURNS):
            pair = [before, after] if turn % 2 else [after, before]
            found = {python: our_counts(description, "links", python=python) for python in pair}
            turns.append({item: found[after][item] / found[before][item] for item in COSTS})
        cpu, memory = ([turn[item] for turn in turns] for item in COSTS)
        ratio = statistics.median(cpu)
        missed += ratio > SLOWER
        print(
            f"{title}: CPU time after / before {ratio:.3f} ({min(cpu):.3f} to {max(cpu):.3f}), "
            f"peak memory {statistics.median(memory):.3f}"
        )
    return missed


def main(words: Sequence[str]) -> int:
    """Compare, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("before", help="interpreter of the first build")
    parser.add_argument("after", help="interpreter of the second build")
    parser.add_argument(
        "--papers", action="store_true", help="also every paper's report (minutes each)"
    )
    parser.add_argument("--no-speed", action="store_true", help="leave out CPU time and memory")
    options = parser.parse_args(words)
    kinds: list[tuple[str, Callable[[str], dict[str, Any]]]] = [
        ("rows", digests),
        ("captures", captures),
    ]
    if os.geteuid() == 0:
        kinds.append(("link", link))
    else:
        print("link: not compared (root is needed)")
    if options.papers:
        kinds.append(("papers", papers))
    try:
        wrong = sum(
            differences(title, compared(options.before), compared(options.after))
            for title, compared in kinds
        )
        missed = 0 if options.no_speed else slower(options.before, options.after)
    except (BuildError, ProcessError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return int(wrong > 0 or missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
