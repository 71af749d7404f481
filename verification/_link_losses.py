"""Checks of losses, duplicates, corruption and policing in the captures of a link."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

import numpy as np
from _distribution_tests import Numbers, binomial, chi_squared, chi_squared_above, geometric
from _link_captures import LinkRun
from numpy.typing import NDArray

Findings = Iterator[tuple[str, float | bool]]
BLOCK: Final = 50
"""Consecutive packets whose losses are counted together."""
_random = random.Random(25)  # noqa: S311 (a fixed file)
ENTRIES: Final = [_random.random() < 0.03 for _ in range(1009)]
FILE: Final = "\n".join(str(int(entry)) for entry in ENTRIES) + "\n"
"""A file of losses. The number of its entries is a prime."""


def in_blocks(hits: NDArray[np.bool_], share: float) -> float:
    """Return the p-value of independent hits: their number in a block is binomial."""
    blocks = len(hits) // BLOCK
    counts = hits[: blocks * BLOCK].reshape(blocks, BLOCK).sum(axis=1)
    return chi_squared(
        np.bincount(counts, minlength=BLOCK + 1).astype(float), blocks * binomial(BLOCK, share)
    )


def independent(run: LinkRun) -> Findings:
    """Check `--loss 2%`."""
    lost = run.lost
    yield (
        f"losses in {BLOCK} packets are binomial with 2 %, {lost.mean():.4%} of all",
        in_blocks(lost, 0.02),
    )


def per_byte(run: LinkRun) -> Findings:
    """Check `--loss-per-byte 5e-5`: a packet is lost with 1 − (1 − p)^bytes."""
    lost = run.lost
    sizes = run.arrivals["size"][run.sent]
    observed: list[float] = []
    expected: list[float] = []
    for size in np.unique(sizes):
        count, share = int((sizes == size).sum()), 1 - (1 - 5e-5) ** int(size)
        hit = int(lost[sizes == size].sum())
        observed += [hit, count - hit]
        expected += [count * share, count * (1 - share)]
    # The number of packets of each size is given, so half of the cells are free.
    statistic = sum((a - b) ** 2 / b for a, b in zip(observed, expected, strict=True))
    yield (
        "the loss of each of four sizes is that of its bytes",
        chi_squared_above(statistic, len(observed) // 2),
    )


def lengths(hits: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the lengths of all runs of hits between other packets."""
    edges = np.diff(np.concatenate([[0], hits.astype(np.int8), [0]]))
    return np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)


def of_runs(hits: NDArray[np.bool_], end: float, most: int) -> float:
    """Return the p-value of runs with geometric lengths. The first and the last run are cut off."""
    found = lengths(hits)[1:-1]
    counts = np.bincount(np.minimum(found, most + 1), minlength=most + 2)[1:].astype(float)
    return chi_squared(counts, len(found) * geometric(most, end))


def bursts(run: LinkRun) -> Findings:
    """Check `--loss-burst 2%,3`: two states, of which one loses all packets."""
    lost = run.lost
    # The share s of losses and the mean length m: r = 1 / m, p = r s / (1 − s).
    back = 1 / 3
    into = back * 0.02 / 0.98
    yield (
        f"bursts are geometric with mean 3, {lengths(lost).mean():.4f} here",
        of_runs(lost, back, 40),
    )
    yield "the gaps between bursts are geometric as well", of_runs(~lost, into, 1000)


def gilbert_elliott(run: LinkRun) -> Findings:
    """Check `--loss-gilbert 0.02,0.2,0.8,0.001` by words of four packets, which are far apart."""
    into, back, bad, good = 0.02, 0.2, 0.8, 0.001
    # The states of words that are 60 packets apart are independent to (1 − p − r)^56 = 10⁻⁶.
    lost = run.lost
    count = len(lost) // 60
    words = lost[: count * 60].reshape(count, 60)[:, :4] @ np.array([8, 4, 2, 1])
    change = np.array([[1 - into, into], [back, 1 - back]])
    share = np.array([good, bad])
    probabilities = []
    for word in range(16):
        state: Numbers = np.array([back, into]) / (into + back)
        for place, bit in enumerate(f"{word:04b}"):
            state = state @ change if place else state
            state = state * (share if bit == "1" else 1 - share)
        probabilities.append(float(state.sum()))
    counts = np.bincount(words, minlength=16).astype(float)
    yield (
        "the patterns of losses in four packets have the law's probabilities",
        chi_squared(counts, count * np.array(probabilities)),
    )


def of_file(run: LinkRun) -> Findings:
    """Check `--loss-file`: the n-th packet of any kind has the n-th entry."""
    places = np.flatnonzero(run.sent)
    wanted = np.resize(np.array(ENTRIES), len(run.sent))[places]
    lost = run.lost
    same = bool(np.array_equal(lost, wanted)) and bool(lost.any())
    yield f"exactly the packets of the file are lost, {int(lost.sum())}", same


def duplicates(run: LinkRun) -> Findings:
    """Check `--duplicate 3%`."""
    copies = run.copies[run.sent]
    yield "each packet is delivered once or twice", bool(np.isin(copies, [1, 2]).all())
    yield f"duplicates in {BLOCK} packets are binomial with 3 %", in_blocks(copies == 2, 0.03)


def corruption(run: LinkRun) -> Findings:
    """Check `--corrupt 5%`: packets stay in order, and one bit of a damaged one differs."""
    yield "all packets are delivered", len(run.arrivals) == len(run.deliveries)
    if len(run.arrivals) != len(run.deliveries):
        return
    changed = run.arrivals["data"] ^ run.deliveries["data"]
    bits = np.bitwise_count(changed).sum(axis=1)
    short = run.arrivals["size"] <= changed.shape[1]
    yield "at most one bit of a packet differs", bool((bits <= 1).all())
    hits = bits[run.sent] == 1
    yield f"damaged packets in {BLOCK} are binomial with 5 %", in_blocks(hits, 0.05)
    rows = changed[run.sent & short & (bits == 1)]
    per_bit = np.unpackbits(rows, axis=1).sum(axis=0).astype(float)
    yield (
        "each of the 640 bits is damaged equally often",
        chi_squared(per_bit, np.full(len(per_bit), len(rows) / len(per_bit))),
    )


def policer(run: LinkRun) -> Findings:
    """Check `--police 60mbit,15kB` by tokens in units of 10⁻⁹ bits, computed from the arrivals."""
    rate, burst = 60_000_000, 15_000 * 8_000_000_000
    level, before = burst, 0
    conform = np.zeros(len(run.arrivals), dtype=np.bool_)
    arrivals = zip(run.arrivals["time"].tolist(), run.arrivals["size"].tolist(), strict=True)
    for number, (time, size) in enumerate(arrivals):
        level, before = min(burst, level + (time - before) * rate), time
        needed = size * 8_000_000_000
        if needed <= level:
            level -= needed
            conform[number] = True
    wanted = conform[run.sent]
    dropped = int((~wanted).sum())
    yield (
        f"exactly the packets without tokens are dropped, {dropped}",
        bool(np.array_equal(~run.lost, wanted)),
    )
    yield "the policer dropped 1 % of the packets at least", dropped >= 0.01 * len(wanted)
