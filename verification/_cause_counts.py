"""Precision and recall of the causes of retransmissions, with their intervals."""

# ruff: noqa: T201 (this module prints the counts)

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import Any, Final

from _capture_frames import Frame, repeated

from tcpsf.intervals import wilson

REQUIRED: Final = 0.99
"""Precision and recall that a capture at the sender must reach."""
FEWEST: Final = 30
"""Smallest number of retransmissions of a cause that is judged. Of fewer than 100, one may be
wrong."""
QUANTILE: Final = NormalDist().inv_cdf(0.975)

MISSING: Final = "not found"
"""Our cause of a retransmission that we do not list."""
NONE: Final = "no retransmission"
"""True cause of a packet that is no retransmission, but that we list."""

Pairs = Counter[tuple[str, str]]
"""Numbers of retransmissions by true cause and by ours."""


def matched(
    seen: Sequence[Frame],
    judged: Iterable[tuple[Frame, str | None]],
    rows: Iterable[dict[str, Any]],
) -> tuple[list[dict[str, Any]], int]:
    """Return the retransmissions among some packets of a capture, with both causes.

    ``judged`` has these packets with their true causes, and ``rows`` are the retransmissions that the
    analysis found. The number is that of retransmissions without a trace in the capture: it has
    neither an earlier transmission nor later data.
    """
    found = {row["frame"]: row for row in rows}
    visible = set(repeated(seen))
    compared: list[dict[str, Any]] = []
    invisible = 0
    for frame, true in judged:
        row = found.get(frame.number)
        if true is not None and frame.number not in visible:
            invisible += 1
        elif row is not None:
            compared.append({**row, "true": true or NONE, "ours": row["cause"]})
        elif true is not None:
            compared.append({"frame": frame.number, "true": true, "ours": MISSING})
    return compared, invisible


def report(title: str, pairs: Pairs, *, judged: bool) -> int:
    """Print precision and recall of each cause, and return the number that are too low."""
    print(f"\n{title}")
    failed = 0
    for cause in sorted({cause for pair in pairs for cause in pair} - {MISSING, NONE}):
        both = pairs[cause, cause]
        true = sum(count for (there, _), count in pairs.items() if there == cause)
        ours = sum(count for (_, here), count in pairs.items() if here == cause)
        low = true >= FEWEST and not (is_enough(both, true) and is_enough(both, ours))
        verdict = ("FAILS" if low else "holds" if true >= FEWEST else "few") if judged else ""
        failed += judged and low
        print(
            f"  {cause:20} true {true:6}  precision {share(both, ours):24} "
            f"recall {share(both, true):24} {verdict}"
        )
    for (there, here), count in sorted(pairs.items(), key=lambda item: -item[1]):
        if there != here:
            print(f"    true {there}, ours {here}: {count}")
    return failed


def is_enough(part: int, whole: int) -> bool:
    """Return whether a share is as large as required, or only one is wrong."""
    return part >= min(REQUIRED * whole, whole - 1) and whole > 0


def share(part: int, whole: int) -> str:
    """Return a share in percent with its 95 % interval."""
    if not whole:
        return "–"
    low, high = wilson(part / whole, whole, QUANTILE)
    return f"{part / whole:.2%} [{100 * low:.1f}, {100 * high:.1f}]"
