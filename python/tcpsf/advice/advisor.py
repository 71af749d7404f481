"""Advice from a capture: its transfers replayed with remedies for losses.

`advise` selects the transfers, fits the loss law, and replays them with their own sizes, round-trip
times, segment sizes, windows and kinds of sender, without a remedy and with each one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

from tcpsf import stats
from tcpsf.advice.advice_result import Advice, Check, differing
from tcpsf.advice.law_variants import variants
from tcpsf.advice.path_losses import loss_factors, with_classes
from tcpsf.advice.population import Direction, Population, population
from tcpsf.advice.remedy_list import NONE, REMEDIES, Remedy
from tcpsf.advice.replay import ReplayPlan
from tcpsf.advice.setups import setups
from tcpsf.advice.verdicts import hull, results
from tcpsf.captures import CaptureResult, CaptureTables, analyze
from tcpsf.captures.law import LossLaw
from tcpsf.captures.laws import loss_laws
from tcpsf.distribution import Distribution
from tcpsf.errors import TcpsfError
from tcpsf.runs import Progress, checked_seed

RUNS = 20
"""Default number of runs with each remedy and each loss law."""

CHECKED = (("median", 0.5), ("p95", 0.95), ("p99", 0.99))
"""Percentiles in which the replay of the present sender is compared with the capture."""


def advise(
    path: str | PathLike[str],
    *,
    direction: Direction | None = None,
    port: int | None = None,
    sender: str | None = None,
    remedies: Sequence[Remedy] = REMEDIES,
    runs: int = RUNS,
    seed: int = 1,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Advice:
    """Analyse a capture, and replay its transfers with remedies for losses.

    ``direction`` is the end that sends the data (default: that in which losses cost more time), and
    ``port`` restricts the connections to those of a service. ``sender`` is the congestion control and
    loss recovery of all senders, such as ``reno+sack``, instead of the inferred ones. There are
    ``runs`` runs with each remedy and loss law, with consecutive seeds from ``seed`` on. ``workers``
    and ``progress`` are those of `replicate`. Raises `TcpsfError` if the capture cannot be read, or
    has too little data for a replay.
    """
    return advise_on(
        analyze(path),
        name=str(path),
        direction=direction,
        port=port,
        sender=sender,
        remedies=remedies,
        runs=runs,
        seed=seed,
        workers=workers,
        progress=progress,
    )


def advise_on(
    found: CaptureResult,
    *,
    name: str,
    direction: Direction | None = None,
    port: int | None = None,
    sender: str | None = None,
    remedies: Sequence[Remedy] = REMEDIES,
    runs: int = RUNS,
    seed: int = 1,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Advice:
    """Replay the transfers of an analysed capture. The arguments are those of `advise`."""
    checked_seed(seed + runs - 1)
    listed = (NONE, *remedies)
    for at, each in enumerate(listed):
        if each.name in [other.name for other in listed[:at]]:
            raise TcpsfError(f"remedy `{each.name}` is given twice", hint="give each remedy once")
    chosen = population(name, found, direction=direction, port=port)
    tables = _tables(found, chosen)
    law = _law(name, tables, chosen)
    factors = loss_factors(tables, law) if law.evidence == "enough" else None
    chosen = replace(
        chosen,
        transfers=with_classes(chosen.transfers, factors),
        losses_differ=factors is not None,
    )
    plan = ReplayPlan(
        parts=setups(chosen, sender=sender),
        laws=variants(law),
        remedies=listed,
        initial_window=chosen.initial_window,
        seeds=tuple(range(seed, seed + runs)),
    )
    arms = plan.replay(workers=workers, progress=progress)
    checks = tuple(_checks(chosen, [each[0] for each in arms]))
    return Advice(
        name=name,
        population=chosen,
        law=law,
        laws=tuple(plan.laws),
        setups=tuple(plan.parts),
        seeds=tuple(plan.seeds),
        transfers=plan.transfers,
        results=results(listed, plan.laws, arms, lack=_lack(law, checks)),
        checks=checks,
        unfinished=sum(arm.unfinished for each in arms for arm in each),
    )


def _tables(found: CaptureResult, chosen: Population) -> CaptureTables:
    """Return the rows of the connections whose transfers are replayed."""
    if chosen.port is None:
        return found.tables
    kept = chosen.transfers.select("flow").unique()
    return CaptureTables(*(each.join(kept, on="flow", how="semi") for each in found.tables))


def _law(name: str, tables: CaptureTables, chosen: Population) -> LossLaw:
    """Fit the losses of the connections whose transfers are replayed."""
    laws = [law for law in loss_laws(tables) if law.direction == chosen.direction]
    if not laws or not laws[0].losses:
        raise TcpsfError(
            f"cannot advise on `{name}`: no loss of data is visible in it, only retransmissions "
            "that were not necessary",
            hint="`tcpsf analyze` lists the causes of the retransmissions",
        )
    return laws[0]


def _lack(law: LossLaw, checks: Sequence[Check]) -> str | None:
    """Return why a replay can decide nothing, if so."""
    if law.evidence != "enough":
        return "the capture has too few losses"
    different = ", ".join(each.name for each in differing(checks))
    if different:
        return f"the replay differs from the capture ({different})"
    return None


def _checks(chosen: Population, arms: Sequence[Any]) -> list[Check]:
    """Compare the capture with the replay without a remedy, for each law the first arm."""
    times = Distribution((chosen.transfers["completion_s"] * 1e9).round().cast(int).to_list())
    found = []
    for name, part in CHECKED:
        captured = stats.quantile_of_one(times, part)
        values = [arm.sender_percentile(part) for arm in arms]
        if captured is not None:
            found.append(
                Check(
                    name=name,
                    captured=captured,
                    replayed=values[0],
                    over_laws=hull(values),
                )
            )
    return found
