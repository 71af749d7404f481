"""The simulated part of the short-flow paper: its figures and tables, and its claims about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tcpsf.errors import TcpsfError
from tcpsf.evaluation.evaluate import (
    Evaluation,
    Heading,
    chosen,
    command_of,
    plan_of,
    scale_of,
    seeds_of,
)
from tcpsf.evaluation.exhibit import Exhibit
from tcpsf.evaluation.plan import Scale
from tcpsf.papers import short_flows as paper
from tcpsf.papers import short_flows_simulated as simulated
from tcpsf.reproduce.short_flows import (
    alternatives,
    events,
    explanations,
    figure_3,
    histograms,
    limits,
    measured_paths,
    sensitivity,
    sweeps,
    transaction,
)
from tcpsf.reproduce.short_flows.trials import Readings, Setting

SCALES = {
    "quick": Scale("quick", 1, f"{simulated.duration_s(simulated.TRIALS)}s"),
    "full": Scale("full", 5, f"{simulated.duration_s(simulated.TRIALS)}s"),
}
"""Scales; a run has the paper's 4000 transfers for each point.

The paper found that 10 000 transfers give the same results.
"""

READ: dict[Readings, str] = {
    "text": "T₀ and the minimum timeout are 1 s.",
    "closest": "T₀ and the minimum timeout are 200 ms. Fits use transfers of more than one segment.",
}

HEADLINE = (
    "fig-7-short",
    "fig-11-fits-14",
    "fig-7-lossless",
    "fig-7-steady",
    "fig-14-binomial",
    "fig-15-binomial",
)
"""Keys of the paper's main claims."""

MEASURED = tuple(host.key for host in paper.HOSTS)
"""Figures that `transfers` measures on live kernels."""

WHY: dict[Readings, str] = {
    "text": (
        "more than half of the transfers of 10 kB lose nothing, so the median is the minimum time, while "
        "(14) includes timeouts in its average; and nearly all reductions are timeouts, while (6) expects only a part"
    ),
    "closest": "medians of small transfers are steps of whole round trips and timeouts, and (4) has no slow start",
}


def _sections(readings: Readings) -> tuple[Heading, ...]:
    return (
        Heading("transaction", "Section 3.1: a transfer packet by packet", ()),
        Heading(
            "alternatives",
            "Section 3.2: alternative ways to send, with loss",
            (),
            why="each of several flows has a handshake in which a lost packet costs 6 s",
        ),
        Heading("phases", "Section 4.2: the phases of a transfer", ()),
        Heading(
            "spread",
            "Section 5.2: distribution of times",
            (
                "Trials are transfers that do not overlap: 4000 per run, one every 20 s. Assumptions:",
            ),
            simulated.READINGS,
            why="a lost SYN costs 6 s, which explains a standard deviation of 2 to 3 s only",
        ),
        Heading("sizes", "Section 5.2: size, MSS, round trip and loss", (), why=WHY[readings]),
        Heading(
            "events",
            "Section 5.3: reductions of the window",
            (),
            why="several losses of one window are one reduction of it, and (6) is taken from congestion avoidance",
        ),
        Heading(
            "explanations",
            "Section 5.4: reasons for the fit of the steady-state model",
            (),
            why="(4) gives half to two thirds of (14) up to 3 % loss, and 128 kB take more than eight round trips",
        ),
        Heading("paths", "Section 6: the paths of Table 1", ()),
        Heading(
            "limits",
            "Section 7: effects outside the models",
            (),
            why="by (2) a modem's line is full after 4.6 kB, and the senders differ in how they grow and recover",
        ),
        Heading("sensitivity", "Sensitivity to unstated assumptions", ()),
    )


def prepare(
    *,
    scale: Scale | Literal["quick", "full"] = "quick",
    readings: Readings = "text",
    seed: int = 1,
    only: Sequence[str] = (),
) -> Evaluation:
    """Find the necessary runs and return the evaluation.

    Runs use the seeds ``seed``, ``seed + 1``, … ``readings`` selects the timer of TCP and the
    models, and the points over which fits are taken. ``only`` names figures and tables by their
    keys, such as ``fig-7``.

    >>> len(prepare(only=["fig-7"]).plan.runs)
    8
    """
    for word in only:
        if word in MEASURED:
            raise TcpsfError(
                f"`{word}` is measured, not simulated",
                hint="use `tcpsf reproduce short-flows live`",
            )
    scale = scale_of(scale, SCALES)
    setting = Setting(
        readings=readings, trials=simulated.trials_in(int(scale.duration.removesuffix("s")))
    )
    exhibits = chosen(_exhibits(setting), only)
    return Evaluation(
        title="Short TCP transfers: models and simulations reproduced",
        subtitle=f"{paper.CITATION}. {READ[readings]}",
        headings=_sections(readings),
        headline=HEADLINE,
        scale=scale,
        exhibits=exhibits,
        plan=plan_of(exhibits, seeds=seeds_of(seed, scale)),
        command=command_of("short-flows", scale=scale, seed=seed, readings=readings, only=only),
    )


def _exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    return (
        *transaction.exhibits(setting),
        *alternatives.exhibits(setting),
        *figure_3.exhibits(setting),
        *histograms.exhibits(setting),
        *sweeps.exhibits(setting),
        *events.exhibits(setting),
        *explanations.exhibits(setting),
        *measured_paths.exhibits(setting),
        *limits.exhibits(setting),
        *sensitivity.exhibits(setting),
    )
