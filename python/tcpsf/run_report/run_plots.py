"""Charts of runs: distributions of completion times, and quantities over time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tcpsf import text
from tcpsf.chart import Axis, CurveStyle, Plot, plot
from tcpsf.errors import TcpsfError
from tcpsf.run_report.observed import DROPS

if TYPE_CHECKING:
    import polars as pl

    from tcpsf.distribution import Distribution
    from tcpsf.run_report.flow_trace import FlowTrace
    from tcpsf.run_report.observed import Observation
    from tcpsf.summed import GroupReport, SummedRuns

PLACES = 250
"""Maximum number of times at which distribution functions are computed."""
MOST_CLASSES = 16
"""Maximum number of size classes with a panel each."""
SMALL = 0.02
"""Share of the largest queue. Links with at most this queue have no chart on a page."""
TIME = Axis(label="time", unit="s")
RESPONSES = {
    "fast-retransmit": "fast retransmit",
    "timeout": "timeout",
    "syn-timeout": "timeout of the SYN",
    "ecn": "reduction by a mark (ECN)",
}
MARKED = "point"
"""Style of losses and recoveries."""
KEYS = {
    "queue": "reno",
    "utilisation": "fs",
    "throughput": "fs",
    "congestion window": "fs",
    "lost packets": "vs",
    "recoveries": "fs",
    "fast retransmit": "lt",
    "timeout": "vs",
    "timeout of the SYN": "vegas",
    "reduction by a mark (ECN)": "ppd",
    "dropped, buffer full": "vs",
    "dropped early": "vegas",
    "lost on the link": "plain",
}
"""Colours of quantities, losses and recoveries, which are the same in all charts."""


def completion_times(found: SummedRuns, *, by_class: bool = False) -> Plot:
    """Return the distribution functions of the completion times, by sender.

    The panels are the workloads or, with ``by_class``, their size classes. Raises `TcpsfError` if
    no flow is complete.
    """
    groups = [(each, found.times(each.group)) for each in found.groups() if each.completed]
    if by_class:
        groups = [(each, times) for each, times in groups if each.group.size_class is not None]
    if not groups:
        what = "no flow of a size class" if by_class else "no flow"
        raise TcpsfError(
            f"cannot draw completion times: {what} is complete", hint="simulate a longer time"
        )
    several = len({each.group.workload for each, _ in groups}) > 1
    panels: dict[str, dict[str, list[Distribution]]] = {}
    for each, times in groups:
        title = _class_title(each, found, several=several) if by_class else each.group.workload
        panels.setdefault(title, {}).setdefault(each.group.variant, []).append(times)
    rows = [row for title, senders in panels.items() for row in distribution_rows(title, senders)]
    runs = text.count(found.runs, "run")
    return plot(
        rows,
        x_axis=Axis(label="completion time at the sender", unit="s", scale="log"),
        y_axis=Axis(label="share of the flows", low=0.0, high=1.0),
        style="step",
        title="Completion times by size class" if by_class else "Completion times",
        caption=f"Share of the complete flows of {runs} whose completion time is at most the time "
        "on the axis.",
        key="completion-times-by-class" if by_class else "completion-times",
    )


def number_of_classes(found: SummedRuns) -> int:
    """Return the number of size classes with complete flows, over all workloads."""
    return len(
        {
            (each.group.workload, each.group.size_class)
            for each in found.groups()
            if each.completed and each.group.size_class is not None
        }
    )


def _class_title(each: GroupReport, found: SummedRuns, *, several: bool) -> str:
    """Title of the panel of a class: its number, and its mean size over all senders."""
    group = each.group
    alike = [
        other
        for other in found.groups()
        if other.group.workload == group.workload and other.group.size_class == group.size_class
    ]
    done = sum(other.completed for other in alike)
    size = sum((other.size_bytes or 0.0) * other.completed for other in alike) / done
    start = f"{group.workload}, class" if several else "class"
    return f"{start} {group.size_class}: {text.plain(size, 0)} bytes"


def distribution_rows(
    title: str, senders: Mapping[str, Sequence[Distribution]]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a panel: the share of each sender's flows at common times.

    A sender has one or more distributions.
    """
    places = _places([times for parts in senders.values() for times in parts])
    for sender, parts in senders.items():
        flows = sum(map(len, parts))
        yield {"x": places[0] * 0.95, "y": 0.0, "series": sender, "panel": title}
        for place in places:
            done = sum(times.up_to(place) for times in parts)
            yield {"x": place, "y": done / flows, "series": sender, "panel": title}


def _places(parts: Sequence[Distribution]) -> list[float]:
    """Times at which distribution functions are computed: all times, or `PLACES` quantiles."""
    if all(times.is_exact for times in parts):
        distinct = {value for times in parts for value in times.ordered()}
        if len(distinct) <= PLACES:
            return [value / 1e9 for value in sorted(distinct)]
    shares = [number / PLACES for number in range(PLACES + 1)]
    ends = [[times.quantile(share) or 0.0 for share in shares] for times in parts]
    low, high = min(row[0] for row in ends), max(row[-1] for row in ends)
    even = (low * (high / low) ** share for share in shares) if low > 0 else iter(())
    # Quantiles have the steps of the functions, and even distances their tails.
    merged = sorted({*(value for row in ends for value in row), *even})
    return _thinned(merged, PLACES)


def _thinned(values: Sequence[float], most: int) -> list[float]:
    step = max(1, -(-len(values) // most))
    kept = list(values[::step])
    return kept if kept[-1] == values[-1] else [*kept, values[-1]]


def queue(seen: Observation, *, links: Sequence[str] = ()) -> Plot:
    """Return the queue of each link over time, with marks where packets are lost."""
    import polars as pl

    names = _chosen(seen, links)
    rows: list[pl.DataFrame] = []
    for name in names:
        own = seen.samples.filter(pl.col("object") == name, pl.col("quantity") == "queue_bytes")
        line = own.select(x="time_s", y=pl.col("value") * 1e-3)
        rows.append(_labelled(line, "queue", name))
        drops = seen.drops.filter(pl.col("link") == name)
        for column, label in DROPS.items():
            lost = drops.filter(pl.col("column") == column).select(x="time_s")
            if lost.height and line.height:
                at = lost.sort("x").join_asof(line.sort("x"), on="x", strategy="nearest")
                rows.append(_labelled(at, label, name))
    return _over_time(
        pl.concat(rows),
        y_axis=Axis(label="queue", unit="kB"),
        title="Queues",
        caption="Queue of each link, with the packet in transmission. A mark means that packets are "
        "lost.",
        key="queues",
    )


def filled_queues(seen: Observation) -> list[str]:
    """Return the links whose maximum queue is more than `SMALL` of the largest one."""
    import polars as pl

    own = seen.samples.filter(pl.col("quantity") == "queue_bytes")
    most: dict[str, float] = dict(own.group_by("object").agg(pl.col("value").max()).iter_rows())
    least = SMALL * max(most.values(), default=0.0)
    return [name for name in seen.charted if most.get(name, 0.0) > least]


def rates(seen: Observation) -> set[str]:
    """Return the charts of rates that a page needs: utilisation, throughput or both.

    The utilisation of links without a rate does not exist.
    """
    import polars as pl

    used = seen.links.filter(pl.col("link").is_in(list(seen.charted)))["utilisation"]
    shown = {"utilisation"} if used.null_count() < len(used) else set()
    return shown | ({"throughput"} if used.null_count() else set())


def utilisation(seen: Observation, *, links: Sequence[str] = ()) -> Plot:
    """Return the share of the time in which each link with a rate transmits."""
    import polars as pl

    names = _chosen(seen, links)
    rows = seen.links.filter(pl.col("link").is_in(names), pl.col("utilisation").is_not_null())
    if not rows.height:
        raise TcpsfError(
            "cannot draw the utilisation: no link has a rate", hint="draw the throughput"
        )
    return plot(
        _by_link(rows, pl.col("utilisation") * 100, "utilisation"),
        x_axis=TIME,
        style="step",
        keys=KEYS,
        y_axis=Axis(label="utilisation", unit="%", low=0.0, high=100.0),
        title="Utilisation",
        caption=f"Share of the time in which a link transmits, in intervals of {_width(seen)}.",
        key="utilisation",
    )


def throughput(seen: Observation, *, links: Sequence[str] = ()) -> Plot:
    """Return the bits per second that arrive at the end of each link, with headers."""
    import polars as pl

    rows = seen.links.filter(pl.col("link").is_in(_chosen(seen, links)))
    return plot(
        _by_link(rows, pl.col("throughput_bps") * 1e-6, "throughput"),
        x_axis=TIME,
        style="step",
        keys=KEYS,
        y_axis=Axis(label="throughput", unit="Mb/s"),
        title="Throughput",
        caption="Bits that arrive at the end of a link, with headers, in intervals of "
        f"{_width(seen)}.",
        key="throughput",
    )


def has_losses(seen: Observation) -> bool:
    """Return whether the run has a lost packet or a recovery."""
    lost = any(seen.links[column].sum() > 0 for column in DROPS)
    return lost or any(map(any, seen.counts.values()))


def losses(seen: Observation) -> Plot:
    """Return the numbers of losses of all links and of recoveries of all flows over time.

    Raises `TcpsfError` if the run has none.
    """
    import numpy as np
    import polars as pl

    starts = np.asarray(seen.edges)[:-1]
    rows = []
    summed = seen.links.group_by("time_s", maintain_order=True).agg(pl.col(*DROPS).sum())
    for column, label in DROPS.items():
        if summed[column].sum() > 0:
            part = pl.DataFrame({"x": starts, "y": summed[column]})
            rows.append(_labelled(part, "lost packets", label))
    for cause, label in RESPONSES.items():
        counted = np.asarray(seen.counts[cause])
        if counted.any():
            part = pl.DataFrame({"x": starts, "y": counted})
            rows.append(_labelled(part, "recoveries", label))
    if not rows:
        raise TcpsfError(
            "cannot draw losses: the run has no loss and no recovery", hint="draw the throughput"
        )
    return plot(
        pl.concat(rows),
        x_axis=TIME,
        y_axis=Axis(label="events in an interval"),
        style="step",
        keys=KEYS,
        title="Losses and recoveries",
        caption="Lost packets of all links, and recoveries of all flows, in intervals of "
        f"{_width(seen)}.",
        key="losses",
    )


def windows(seen: Observation) -> Plot:
    """Return the congestion windows of the sampled flows, with their recoveries.

    Raises `TcpsfError` if no flow is sampled.
    """
    import polars as pl

    own = seen.samples.filter(pl.col("quantity") == "cwnd_bytes")
    names = seen.windows()
    if not names:
        raise TcpsfError(
            "cannot draw congestion windows: no flow is sampled",
            hint="name its workload in `samples.workloads`, or draw one flow with `ladder`",
        )
    numbers = {name: number for number, name in seen.objects.items()}
    rows = []
    for name in names:
        line = own.filter(pl.col("object") == name)
        number = numbers.get(name)
        title = name if number is None else f"flow {number} of {name.rpartition('/')[0]}"
        rows.append(
            _labelled(line.select(x="time_s", y=pl.col("value") * 1e-3), "congestion window", title)
        )
        rows += _responses(seen.recoveries.filter(pl.col("flow") == number), title)
    return _over_time(
        pl.concat(rows),
        y_axis=Axis(label="congestion window", unit="kB"),
        title="Congestion windows" if len(names) > 1 else f"Congestion window of {title}",
        caption="A mark is at the window before the recovery.",
        key="windows",
    )


def window_of(flow: FlowTrace) -> Plot:
    """Return the congestion window of the traced flow over time, with its recoveries."""
    import polars as pl

    rows = [{"x": row["time_s"], "y": row["cwnd_bytes"] * 1e-3} for row in flow.rows]
    line = pl.DataFrame(rows, schema={"x": pl.Float64, "y": pl.Float64})
    schema = {"time_s": pl.Float64, "cwnd_bytes": pl.Float64, "cause": pl.String}
    found = pl.DataFrame(
        [{name: each[name] for name in schema} for each in flow.recoveries],
        schema=schema,
        strict=False,
    )
    return _over_time(
        pl.concat([_labelled(line, "congestion window", ""), *_responses(found, "")]),
        y_axis=Axis(label="congestion window", unit="kB"),
        title=f"Congestion window of flow {flow.row['flow']}",
        caption="Window at each event of a packet. A mark is at the window before the recovery.",
        key="window-of-flow",
    )


def _by_link(rows: pl.DataFrame, value: pl.Expr, series: str) -> pl.DataFrame:
    """Rows of a chart with a panel for each link, from the beginning of each interval."""
    import polars as pl

    return rows.select(x="begin_s", y=value, series=pl.lit(series), panel="link")


def _responses(found: pl.DataFrame, panel: str) -> Iterator[pl.DataFrame]:
    """Yield the marks of recoveries, by cause."""
    import polars as pl

    for cause, label in RESPONSES.items():
        own = found.filter(pl.col("cause") == cause)
        if own.height:
            points = own.select(x="time_s", y=pl.col("cwnd_bytes").cast(pl.Float64) * 1e-3)
            yield _labelled(points, label, panel)


def _labelled(rows: pl.DataFrame, series: str, panel: str) -> pl.DataFrame:
    import polars as pl

    return rows.select(
        pl.col("x").cast(pl.Float64),
        pl.col("y").cast(pl.Float64),
        series=pl.lit(series),
        panel=pl.lit(panel),
    )


def _over_time(rows: pl.DataFrame, *, y_axis: Axis, title: str, caption: str, key: str) -> Plot:
    """Return steps over time, with marks of losses and recoveries."""
    style: dict[str, CurveStyle] = dict.fromkeys((*DROPS.values(), *RESPONSES.values()), "point")
    style |= {"queue": "step", "congestion window": "step"}
    return plot(
        rows,
        x_axis=TIME,
        y_axis=y_axis,
        style=style,
        keys=KEYS,
        title=title,
        caption=caption,
        key=key,
    )


def _chosen(seen: Observation, wanted: Iterable[str]) -> list[str]:
    """Return the links of a chart; without ``wanted``, all links. Raises `TcpsfError`."""
    known = seen.charted
    for name in wanted:
        if name not in known:
            listed = ", ".join(f"`{each}`" for each in known)
            raise TcpsfError(
                f"cannot draw link `{name}`: the charts have no such link",
                hint=f"expected {listed}",
            )
    return [name for name in known if name in set(wanted)] if wanted else list(known)


def _width(seen: Observation) -> str:
    return length_of_time(seen.edges[1] - seen.edges[0])


def length_of_time(seconds: float) -> str:
    """Return a length of time with three significant digits and a suitable unit.

    >>> length_of_time(0.0125), length_of_time(2.297e-05), length_of_time(1.45)
    ('12.5 ms', '23 µs', '1.45 s')
    """
    unit, factor = ("s", 1.0) if seconds >= 1 else ("ms", 1e3) if seconds >= 1e-3 else ("µs", 1e6)
    return f"{seconds * factor:.3g} {unit}"
