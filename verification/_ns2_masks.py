"""Single flows with given losses in our simulator and in ns-2."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence

from _ns2_network import SENDER, run_ours_masked
from _verdicts import NOT_JUDGED, Line
from ns2.run_ns2 import Transfer, run_masks

# ns-2's name of a sender → ours.
MASKS_SENDERS: dict[str, str] = {
    "sack1": SENDER,
    "tahoe": "tahoe / full / iw=1",
    "fack": "reno+fack / full / iw=1",
}
MASKS_TOLERANCE_S = 1e-6


def mask_cases(count: int) -> list[tuple[int, tuple[int, ...]]]:
    """Flows of 1 to 40 packets and the numbers of the packets that each loses.

    The losses are independent, with a probability of 3 to 30 %. Each flow loses at least one packet.
    """
    draw = random.Random(1)  # noqa: S311 (cases, not secrets)
    cases = []
    for _ in range(count):
        packets = draw.randint(1, 40)
        share = draw.choice((0.03, 0.08, 0.15, 0.3))
        lost = tuple(i for i in range(90) if draw.random() < share)
        cases.append((packets, lost or (draw.randrange(packets),)))
    return cases


def window_cases(count: int) -> list[tuple[int, tuple[int, ...]]]:
    """Flows of 60 to 300 packets that lose 1 to 12 of 15 packets in a row."""
    draw = random.Random(2)  # noqa: S311 (cases, not secrets)
    cases = []
    for _ in range(count):
        packets, first = draw.randint(60, 300), draw.randrange(30, 60)
        lost = {draw.randrange(first, first + 15) for _ in range(draw.randint(2, 12))}
        cases.append((packets, tuple(sorted(lost))))
    return cases


def compare_masks(*, count: int, name: str) -> list[Line]:
    """Compare single flows with given losses; ``name`` is ns-2's name of the sender."""
    cases = mask_cases(count)
    if name == "fack":
        cases += window_cases(count // 4)
    theirs = run_masks(cases, sender=name)
    ours = [
        run_ours_masked(sender=MASKS_SENDERS[name], packets=packets, lost=lost)
        for packets, lost in cases
    ]
    if name != "fack":
        return _compare_transfers(name, cases, theirs, ours)
    # ns2/README.md: after a timeout, and at the end of a recovery, ns-2's Fack is not the paper's.
    same = [i for i in range(len(cases)) if not theirs[i].timeouts and not theirs[i].outside]
    other = sorted(set(range(len(cases))) - set(same))
    shipped = run_masks(cases, sender="fack-shipped")
    repaired = [i for i in same if theirs[i].fast_retransmits]
    return [
        *_compare_transfers(
            "fack",
            [cases[i] for i in same],
            [theirs[i] for i in same],
            [ours[i] for i in same],
        ),
        _mean_times("fack: the other flows, s", theirs, ours, other),
        _mean_times("fack as shipped: recovery alone, s", shipped, ours, repaired),
    ]


def _mean_times(
    what: str, theirs: Sequence[Transfer], ours: Sequence[Transfer], chosen: Sequence[int]
) -> Line:
    """Information: the mean completion times of some of the flows."""
    reference, us = (
        statistics.fmean(side[i].completion_s for i in chosen) for side in (theirs, ours)
    )
    note = f"{len(chosen)} flows"
    return Line(what=what, reference=reference, ours=us, note=note, verdict=NOT_JUDGED)


def _compare_transfers(
    name: str,
    cases: Sequence[tuple[int, tuple[int, ...]]],
    theirs: Sequence[Transfer],
    ours: Sequence[Transfer],
) -> list[Line]:
    count = len(cases)
    judged: dict[str, Callable[[Transfer], float]] = {
        "completion time, s": lambda flow: flow.completion_s,
        "fast retransmits": lambda flow: flow.fast_retransmits,
        "timeouts": lambda flow: flow.timeouts,
        "packets sent": lambda flow: flow.sent_packets,
    }
    lines = []
    for what, value in judged.items():
        other = [
            i
            for i in range(count)
            if not abs(value(theirs[i]) - value(ours[i])) < MASKS_TOLERANCE_S
        ]
        note = f"{len(other)} of {count} flows differ"
        if other:
            packets, lost = cases[other[0]]
            note += f", e.g. {packets}:{','.join(map(str, lost))}"
        lines.append(
            Line(
                what=f"{name}: {what}, mean",
                reference=statistics.fmean(map(value, theirs)),
                ours=statistics.fmean(map(value, ours)),
                note=note,
                verdict="DIFFER" if other else "agree",
            )
        )
    return lines
