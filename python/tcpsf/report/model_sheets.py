"""A sheet for each closed model: its table, its figure, its arguments."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from tcpsf.errors import ModelError
from tcpsf.evaluation.data import Axis, Figure
from tcpsf.models import best_framing as bf
from tcpsf.models import packet_discard as pd
from tcpsf.models import short_flows as sf
from tcpsf.models import smart_framing as small
from tcpsf.report.chains import Chains, Named
from tcpsf.report.sheet import LOSS, Column, Sheet, bar, line

MELLIA = "Mellia et al. 2005, section V"
CARDWELL = "Cardwell, Savage, Anderson 1998"
PADHYE = "Padhye et al. 1998"
COHEN = "Cohen, Hamo 2001, section 2.2"

MOST_PATTERNS = 200_000


def smart_framing(
    *,
    loss: Sequence[float],
    law: small.Law,
    segments: int,
    threshold: int,
    alpha: float,
    rtt: float,
    rto: float,
    mss: float,
    overhead: float,
    reading: Literal["A", "B"],
    wait: small.Wait,
    counted: small.Counted,
    net: bool,
) -> Sheet:
    """Throughput, gain and waste of the three senders in the small-window region."""
    path = {"rtt": rtt, "rto": rto, "mss": mss, "overhead": overhead}
    p = np.asarray(loss, dtype=np.float64)
    classic = small.classic(p, threshold=threshold, reading=reading, wait=wait, **path)
    fixed = small.fixed_size(
        p, law=law, segments=segments, threshold=threshold, wait=wait, counted=counted, **path
    )
    variable = small.variable_size(
        p, law=law, alpha=alpha, segments=segments, wait=wait, counted=counted, **path
    )
    gains = {
        "vs": small.gain_percent(variable, classic, net=net),
        "fs": small.gain_percent(fixed, classic, net=net),
    }
    passages = {"classic": classic, "vs": variable, "fs": fixed}
    columns, values = _small_window_columns(p, passages, gains, net=net)
    arguments = {
        "law": law, "segments": segments, "threshold": threshold, "alpha": alpha, "rtt_s": rtt, "rto_s": rto,
        "mss_bytes": mss, "overhead_bytes": overhead, "reading": reading, "wait": wait, "counted": counted, "net": net,
    }  # fmt: skip
    wastes = {
        "classic": ("Classic", 100.0 * classic.waste_fraction),
        "vs": ("VS-TCP-SF", 100.0 * variable.waste_fraction),
        "fs": ("FS-TCP-SF", 100.0 * fixed.waste_fraction),
    }
    labelled = {"vs": ("VS-TCP-SF", gains["vs"]), "fs": ("FS-TCP-SF", gains["fs"])}
    title = "Gain in the small-window region"
    figures = (
        _over_loss("gain", title, "gain over Classic", "%", loss, labelled),
        _over_loss("waste", "Bandwidth wasted", "waste", "% of the sent bytes", loss, wastes),
    )
    return _sheet(
        "smart-framing", "The small-window region", MELLIA, arguments, columns, values, figures
    )


def _small_window_columns(
    loss: Any, passages: Mapping[str, small.Passage], gains: Mapping[str, Any], *, net: bool
) -> tuple[list[Column], list[Any]]:
    """Return the columns of the table and their values."""
    columns = [Column(key="loss", label="loss")]
    values = [loss]
    labels = {"classic": "Classic", "vs": "VS", "fs": "FS"}
    for key, passage in passages.items():
        rate = passage.net_throughput_Bps if net else passage.throughput_Bps
        columns += [
            Column(key=f"{key}_throughput_Bps", label=labels[key], unit="B/s"),
            Column(key=f"{key}_waste_percent", label=f"{labels[key]} waste", unit="%"),
        ]
        values += [rate, 100.0 * passage.waste_fraction]
    for key, gain in gains.items():
        columns.append(Column(key=f"{key}_gain_percent", label=f"{key.upper()} gain", unit="%"))
        values.append(gain)
    return columns, values


def small_window_chains(
    *,
    loss: float,
    law: small.Law = "linear",
    segments: int = 4,
    threshold: int = 4,
    alpha: float = 1.32,
    rtt: float = 0.2,
    rto: float = 1.5,
    mss: float = 1460.0,
    overhead: float = 40.0,
    reading: Literal["A", "B"] = "A",
    wait: small.Wait = "last",
    counted: small.Counted = "printed",
) -> Chains:
    """Chains of Figs. 9 to 11 for one loss probability."""
    path = {"rtt": rtt, "rto": rto, "mss": mss, "overhead": overhead}
    classic = small.classic(loss, threshold=threshold, reading=reading, wait=wait, **path)
    fixed = small.fixed_size(
        loss, law=law, segments=segments, threshold=threshold, wait=wait, counted=counted, **path
    )
    variable = small.variable_size(
        loss, law=law, alpha=alpha, segments=segments, wait=wait, counted=counted, **path
    )
    return Chains(
        arguments={
            "loss": loss, "law": law, "segments": segments, "threshold": threshold, "alpha": alpha, "rtt_s": rtt,
            "rto_s": rto, "mss_bytes": mss, "overhead_bytes": overhead, "reading": reading, "wait": wait,
            "counted": counted,
        },
        chains=(
            Named(key="classic", label="Classic TCP", figure="Fig. 9", chain=classic.chain),
            Named(key="fs", label="FS-TCP-SF", figure="Fig. 10", chain=fixed.chain),
            Named(key="vs", label="VS-TCP-SF", figure="Fig. 11", chain=variable.chain),
        ),
    )  # fmt: skip


def short_flow(
    *,
    size: Sequence[float],
    loss: Sequence[float],
    rtt: float,
    rto: float,
    mss: float,
    initial_window: float,
    ack_every: float,
    delayed_ack: float,
    window_limit: float,
) -> Sheet:
    """Time of a transfer by each model, for every size and loss."""
    pairs = np.array(list(itertools.product(size, loss)), dtype=np.float64)
    s, p = pairs[:, 0], pairs[:, 1]
    common: dict[str, Any] = {
        "rtt": rtt,
        "mss": mss,
        "ack_every": ack_every,
        "delayed_ack": delayed_ack,
    }
    start = {"initial_window": initial_window}
    times = {
        "lossless_s": ("no loss (1)", sf.lossless(s, **common, **start)),
        "steady_state_s": (
            "steady state (4)",
            sf.steady_state(s, p, rto=rto, window_limit=window_limit, **common),
        ),
        "short_flow_s": ("short flow (14)", sf.short_flow(s, p, rto=rto, **common, **start)),
        "latency_s": (
            "latency, 2000",
            sf.latency(s, p, rto=rto, window_limit=window_limit, **common, **start).total_s,
        ),
    }
    columns = [
        Column(key="size_bytes", label="size", unit="bytes"),
        Column(key="loss", label="loss"),
    ]
    columns += [Column(key=key, label=label, unit="s") for key, (label, _) in times.items()]
    arguments = {
        "rtt_s": rtt, "rto_s": rto, "mss_bytes": mss, "initial_window": initial_window, "ack_every": ack_every,
        "delayed_ack_s": delayed_ack, "window_limit_bytes": window_limit,
    }  # fmt: skip
    values = [s, p, *(y for _, y in times.values())]
    return _sheet(
        "short-flow",
        "Time of a short transfer",
        CARDWELL,
        arguments,
        columns,
        values,
        (_transfer_times(size, loss, times),),
    )


def _transfer_times(
    size: Sequence[float], loss: Sequence[float], times: Mapping[str, tuple[str, Any]]
) -> Figure:
    """Plot the times against the size, or against the loss if it has more values.

    The times are those of all pairs of a size and a loss, with the loss as the inner loop.
    """
    pairs = np.array(list(itertools.product(size, loss)), dtype=np.float64)
    s, p = pairs[:, 0], pairs[:, 1]
    by_size = len(size) >= len(loss)
    axis = Axis(label="size", unit="bytes", scale="log") if by_size else LOSS
    shown = (p == loss[0]) if by_size else (s == size[0])
    x = (s if by_size else p)[shown]
    fixed = f"loss {loss[0]:g}" if by_size else f"{size[0]:g} bytes"
    return Figure(
        key="transfer-time",
        title="Time of a transfer",
        source=CARDWELL,
        caption=f"At {fixed}.",
        x=axis,
        y=Axis(label="time", unit="s", scale="linear", low=0.0),
        series=tuple(
            line(key, label, list(x), list(y[shown])) for key, (label, y) in times.items()
        ),
    )


def padhye(
    *,
    loss: Sequence[float],
    rtt: float,
    rto: float,
    mss: float,
    window_limit: float,
    ack_every: float,
) -> Sheet:
    """Rate of an endless flow with timeouts (Padhye et al. 1998)."""
    p = np.asarray(loss, dtype=np.float64)
    path: dict[str, Any] = {
        "rtt": rtt,
        "rto": rto,
        "mss": mss,
        "window_limit": window_limit,
        "ack_every": ack_every,
    }
    rates = {
        "approximate_Bps": ("approximate", sf.padhye(p, **path)),
        "full_Bps": ("full", sf.padhye(p, form="full", **path)),
    }
    arguments = {
        "rtt_s": rtt, "rto_s": rto, "mss_bytes": mss, "window_limit_bytes": window_limit, "ack_every": ack_every,
    }  # fmt: skip
    return _rates(
        "padhye", "Steady rate, with timeouts", f"{PADHYE}, (32) and (33)", arguments, loss, rates
    )


def mathis(*, loss: Sequence[float], rtt: float, mss: float, ack_every: float) -> Sheet:
    """Rate of congestion avoidance without timeouts (Mathis et al. 1997)."""
    rates = {"rate_Bps": ("rate", sf.mathis(loss, rtt=rtt, mss=mss, ack_every=ack_every))}
    arguments = {"rtt_s": rtt, "mss_bytes": mss, "ack_every": ack_every}
    return _rates(
        "mathis", "Steady rate, without timeouts", "Mathis et al. 1997", arguments, loss, rates
    )


def packet_discard(*, window: Sequence[int], lost: Sequence[int], most_losses: int) -> Sheet:
    """Losses that Reno repairs without a timeout: one pattern, or the share of all patterns."""
    return _one_pattern(window, lost) if lost else _all_patterns(window, most_losses)


def _one_pattern(window: Sequence[int], lost: Sequence[int]) -> Sheet:
    rows: tuple[tuple[float | str, ...], ...] = tuple(
        (
            float(w),
            ", ".join(map(str, lost)),
            *(_repaired(pd.recovers(w, lost, ssthresh_rule=r)) for r in _RULES),
        )
        for w in window
    )
    return Sheet(
        model="packet-discard",
        title="Losses from one window of Reno",
        source=COHEN,
        arguments={"window": list(window), "lost": list(lost)},
        columns=(
            Column(key="window", label="window", unit="segments"),
            Column(key="lost", label="lost"),
            Column(key="recovers_cwnd", label="half the window"),
            Column(key="recovers_flight", label="half in flight"),
        ),
        rows=rows,
        figures=(),
    )


Shares = Mapping[int, Sequence[tuple[int, int, float, float]]]
"""Windows, their numbers of patterns, and the percentages that each rule repairs, by losses."""


def _all_patterns(window: Sequence[int], most_losses: int) -> Sheet:
    shares: dict[int, list[tuple[int, int, float, float]]] = {}
    for count in range(1, most_losses + 1):
        shares[count] = []
        for w in window:
            if count <= w:
                patterns = _patterns(w, count)
                good = [int(pd.recovers(w, patterns, ssthresh_rule=rule).sum()) for rule in _RULES]
                by_cwnd, by_flight = (100.0 * each / len(patterns) for each in good)
                shares[count].append((w, len(patterns), by_cwnd, by_flight))
    return Sheet(
        model="packet-discard",
        title="Losses from one window of Reno",
        source=COHEN,
        arguments={"window": list(window), "most_losses": most_losses},
        columns=(
            Column(key="window", label="window", unit="segments"),
            Column(key="losses", label="losses"),
            Column(key="patterns", label="patterns"),
            Column(key="recovers_cwnd_percent", label="repaired, half the window", unit="%"),
            Column(key="recovers_flight_percent", label="repaired, half in flight", unit="%"),
        ),
        rows=tuple(
            (float(w), float(count), float(patterns), cwnd, flight)
            for count, rows in shares.items()
            for w, patterns, cwnd, flight in rows
        ),
        figures=(_repaired_shares(shares),),
    )


def _repaired_shares(shares: Shares) -> Figure:
    return Figure(
        key="repaired",
        title="Patterns of losses that are repaired without the timer",
        source=COHEN,
        caption="The window is halved at each loss.",
        x=Axis(label="window", unit="segments", scale="linear"),
        y=Axis(label="share of the patterns", unit="%", scale="linear", low=0.0, high=100.0),
        series=tuple(
            line(
                f"n{count}",
                f"{count} lost",
                [float(row[0]) for row in rows],
                [row[2] for row in rows],
            )
            for count, rows in shares.items()
            if rows
        ),
    )


_RULES: tuple[pd.Rule, ...] = ("cwnd", "flight")


def _repaired(good: pd.Truth) -> str:
    return "repaired" if bool(good) else "timeout"


def _patterns(window: int, count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    total = 1
    for i in range(count):
        total = total * (window - i) // (i + 1)
    if total > MOST_PATTERNS:
        raise ModelError(
            f"cannot compute packet_discard: `window` is {window}: {total} patterns of {count} losses",
            hint=f"the maximum is {MOST_PATTERNS}; reduce `--losses`, or give one pattern with "
            "`--lost`",
        )
    return np.array(list(itertools.combinations(range(window), count)), dtype=np.float64)


def best_framing(case: bf.ReplyCase, *, objective: bf.Objective, most_segments: int) -> Sheet:
    """Every policy and the best framing, in increasing order of time."""
    found = bf.compare(case, objective=objective, most_segments=most_segments)
    columns = (
        Column(key="framing", label="framing"),
        Column(key="cuts_bytes", label="segments", unit="bytes"),
        Column(key="packets", label="packets"),
        Column(key="mean_s", label="mean", unit="s"),
        Column(key="p99_s", label="99th percentile", unit="s"),
        Column(key="extra_mean_s", label="mean cost of loss", unit="s"),
    )
    rows = tuple(
        (
            each.framing.name,
            _cuts(each.framing),
            float(each.framing.packets),
            each.mean_s,
            each.p99_s,
            each.mean_s - each.lossless_s,
        )
        for each in found
    )
    figure = Figure(
        key="best-framing",
        title="Cost of loss, by framing",
        source="This project",
        caption="Mean time minus the time without loss.",
        x=Axis(label="framing", unit="", scale="category"),
        y=Axis(label="mean cost of loss", unit="ms", scale="linear"),
        series=(
            bar(
                "cost",
                "cost",
                [row[0] for row in rows],
                [1000.0 * (o.mean_s - o.lossless_s) for o in found],
            ),
        ),
    )
    sender = case.sender
    arguments: dict[str, Any] = {
        "size_bytes": case.size, "cwnd_bytes": case.cwnd, "rtt_s": case.rtt, "loss": case.loss, "law": case.law,
        "sender": "linux" if sender.rack else "duplicates", "rto_s": sender.rto, "mss_bytes": case.mss,
        "header_bytes": case.header, "window_counts": case.window_counts, "objective": objective,
    }  # fmt: skip
    return Sheet(
        model="best-framing",
        title="Best segmentation of a body",
        source="every pattern of losses enumerated",
        arguments=arguments,
        columns=columns,
        rows=rows,
        figures=(figure,),
        notes=(
            "Retransmissions always arrive. A guard is a packet after the body whose own loss delays nothing.",
        ),
    )


def _cuts(framing: bf.Framing) -> str:
    parts = [
        f"{size}×{count}" if count > 1 else str(size)
        for size, count in (
            (size, len(list(same))) for size, same in itertools.groupby(framing.cuts)
        )
    ]
    return "+".join(parts) + ("" if framing.guard is None else f" (+{framing.guard or 'FIN'})")


def _rates(
    model: str,
    title: str,
    source: str,
    arguments: Mapping[str, Any],
    loss: Sequence[float],
    rates: Mapping[str, tuple[str, Any]],
) -> Sheet:
    figure = Figure(
        key=f"{model}-rate",
        title="Rate against loss",
        source=source,
        caption="",
        x=Axis(label="loss", unit="", scale="log" if min(loss) > 0 else "linear"),
        y=Axis(label="rate", unit="B/s", scale="log"),
        series=tuple(line(key, label, loss, list(y)) for key, (label, y) in rates.items()),
    )
    columns = [Column(key="loss", label="loss")]
    columns += [Column(key=key, label=label, unit="B/s") for key, (label, _) in rates.items()]
    values = [np.asarray(loss), *(y for _, y in rates.values())]
    return _sheet(model, title, source, arguments, columns, values, (figure,))


def _over_loss(
    key: str,
    title: str,
    what: str,
    unit: str,
    loss: Sequence[float],
    curves: Mapping[str, tuple[str, Any]],
) -> Figure:
    return Figure(
        key=key,
        title=title,
        source=MELLIA,
        caption="",
        x=LOSS,
        y=Axis(label=what, unit=unit, scale="linear"),
        series=tuple(line(name, label, loss, list(y)) for name, (label, y) in curves.items()),
    )


def _sheet(
    model: str,
    title: str,
    source: str,
    arguments: Mapping[str, Any],
    columns: Sequence[Column],
    values: Sequence[Any],
    figures: tuple[Figure, ...],
) -> Sheet:
    rows = tuple(tuple(float(value) for value in row) for row in zip(*values, strict=True))
    return Sheet(
        model=model,
        title=title,
        source=source,
        arguments=arguments,
        columns=tuple(columns),
        rows=rows,
        figures=figures,
    )
