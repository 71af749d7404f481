"""Cost of a loss by framing of a short reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tcpsf.evaluation.data import Axis, Figure, Section
from tcpsf.models import best_framing as bf
from tcpsf.models.sender import Detection
from tcpsf.report.sheet import line


def section() -> Section:
    """Return the section on the best segmentation of a reply of 1200 bytes."""
    return Section(
        key="best-framing",
        title="The best segmentation of a reply of 1200 bytes",
        text=(
            (
                "Mean time beyond a round trip of 50 ms. Every pattern of losses is enumerated, and retransmissions "
                "arrive. The project's documentation explains the senders on the page “The best framing”."
            ),
        ),
        figures=best_framing_figures(),
    )


EXPONENTS = tuple(round(0.1 * n, 1) for n in range(11))


def best_framing_figures() -> tuple[Figure, ...]:
    """Figures of the cost of a loss by framing.

    They range from a loss rate independent of packet size to one proportional to the size.
    """
    return (
        _costs(bf.linux(rtt=0.05), "rack", "RACK-TLP, Linux's timers"),
        _costs(bf.duplicates(), "duplicates", "Three duplicates, timer 1 s"),
    )


def _costs(sender: Detection, key: str, title: str) -> Figure:
    costs: dict[str, list[float]] = {}
    for exponent in EXPONENTS:
        case = bf.ReplyCase(size=1200, rtt=0.05, loss=0.01, law=exponent, sender=sender)
        for each in bf.compare(case):
            costs.setdefault(each.framing.name, []).append(1000.0 * (each.mean_s - each.lossless_s))
    groups = _alike(costs)
    return Figure(
        key=f"best-{key}",
        title=title,
        source="This project",
        caption="A full-sized packet is lost with a probability of 1 %.",
        x=Axis(
            label="exponent of packet size in the loss rate (0: no effect of size, 1: proportional)",
            unit="",
            scale="linear",
            low=0.0,
            high=1.0,
        ),
        y=Axis(label="mean cost of loss", unit="ms", scale="log"),
        series=tuple(
            line(_key(names[0]), names[0], EXPONENTS, costs[names[0]]) for names in groups
        ),
        notes=tuple(
            f"Equal to the curve of {first}: {', '.join(others)}."
            for first, *others in groups
            if others
        ),
    )


def _alike(costs: Mapping[str, Sequence[float]]) -> list[list[str]]:
    """List the framings in order, with those of equal cost grouped."""
    groups: list[list[str]] = []
    for name in _ORDER:
        if name not in costs:
            continue
        same = next(
            (group for group in groups if np.allclose(costs[group[0]], costs[name], rtol=1e-3)),
            None,
        )
        if same is None:
            groups.append([name])
        else:
            same.append(name)
    return groups


_ORDER = ("full-sized", "FS", "halves", "tiny tail", "tail guard", "FIN guard", "best")


def _key(name: str) -> str:
    return name.lower().replace(" ", "-")
