"""Figs. 17 to 20 as measured, with the curves of the models and the claims of the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import OWN, Axis, Figure, Point, Row, Section, Series, Table, TableCell
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.live_experiments import counted, lost
from tcpsf.live import estimates
from tcpsf.papers import short_flows as paper
from tcpsf.report.sheet import line
from tcpsf.reproduce.short_flows import fits
from tcpsf.reproduce.short_flows.fits import PathTransfers
from tcpsf.reproduce.short_flows.transfer_cells import (
    ADAPTIVE,
    LOSSY,
    PATHS,
    SENDERS,
    PathAndSender,
    Sender,
)

if TYPE_CHECKING:
    from tcpsf.live.experiment_result import Live

Cells = Mapping[PathAndSender, "Live"]
AllSeen = Mapping[PathAndSender, PathTransfers]
Read = Callable[[PathTransfers, fits.PathModel], stats.Estimate | None]
"""A quantity of a cell and a model in a table of fits."""

CURVE_BYTES = tuple(range(2000, paper.SIZES[-1] + 1, 2000))
ENOUGH = 20
"""Smallest number of transfers with a loss from which a path's results are judged."""
ALIKE = 0.05
"""Relative difference up to which two mean times are regarded as equal."""
NAMED = {"kernel": "the kernel", "ours": "tcpsf"}
HEADLINE = (
    "short-flows-lossless-kernel",
    "short-flows-short-kernel",
    "short-flows-steady-kernel",
    "short-flows-lossy-kernel",
    "short-flows-lossy-short-kernel",
)
"""Keys of the paper's main claims."""
WHY = (
    "the kernel's window grows by the segments acknowledged and not by the acknowledgments, and at loss "
    "rates of 0.02 "
    "to 0.3 % few transfers lose more than one segment, so that a model without loss stays close"
)


def sections(cells: Cells) -> tuple[Section, ...]:
    """Return the figures with their parameters, and the fits with their findings."""
    found = {cell: fits.seen(live) for cell, live in cells.items()}
    measured = Section(
        key="short-flows",
        title="Section 6: transfers of 1 to 128 000 bytes",
        text=(_kernel(cells), "Assumptions where the text is silent or ambiguous:"),
        items=paper.READINGS,
        figures=tuple(_figure(host, found) for host in PATHS),
        tables=(_paths(cells, found),),
    )
    fitted = Section(
        key="short-flows-fits",
        title="How the models fit",
        why=WHY,
        tables=(_off(found), _off_medians(found), _longer(found), _by_loss(found)),
        findings=tuple(_findings(cells, found)),
    )
    return measured, fitted


def _kernel(cells: Cells) -> str:
    parameters = next(live.server for cell, live in cells.items() if cell.sender == "kernel")
    settings = ", ".join(
        f"`{name}` {value}" for name, value in parameters.get("settings", {}).items()
    )
    return f"The kernel is Linux {parameters.get('kernel', 'of an unknown version')}; where it sends, {settings}."


def _figure(host: paper.Host, found: AllSeen) -> Figure:
    kernel, ours = (found[PathAndSender(host=host, sender=sender)] for sender in SENDERS)
    series = [
        _seen("kernel", "kernel, mean", kernel, stats.mean),
        _seen("kernel-median", "kernel, median", kernel, _median),
        _seen("ours", "tcpsf, mean", ours, stats.mean),
    ]
    sizes = np.asarray(CURVE_BYTES, dtype=np.float64)
    series += [
        line(model.key, model.label, CURVE_BYTES, model.seconds(sizes, kernel.path).tolist())
        for model in (fits.LOSSLESS, fits.STEADY, fits.SHORT, fits.SHORT_2)
    ]
    return Figure(
        key=host.key,
        title=f"{host.figure}: {host.name}"
        if host in paper.HOSTS
        else "A path with more loss, not in the paper",
        source=f"{paper.SHORT}, {host.figure}" if host in paper.HOSTS else OWN,
        caption=f"{len(kernel.seconds)} transfers from the kernel and {len(ours.seconds)} from tcpsf, grouped "
        f"by size in steps of {fits.BIN_BYTES // 1000} kB. The models use the path as measured with the kernel.",
        x=Axis(label="size", unit="bytes", scale="linear", low=0.0),
        y=Axis(label="time", unit="s", scale="linear", low=0.0),
        series=tuple(series),
    )


def _median(times: Sequence[float]) -> stats.Estimate:
    return counted(float(np.median(times)))


def _seen(
    key: str,
    label: str,
    found: PathTransfers,
    read: Callable[[Sequence[float]], stats.Estimate | None],
) -> Series:
    points = tuple(Point(x=middle, y=read(times)) for middle, times in fits.by_size(found))
    return Series(key=key, label=label, points=points)


def _paths(cells: Cells, found: AllSeen) -> Table:
    rows = []
    for cell, live in cells.items():
        host, parameters = cell.host, found[cell].path
        there = host in paper.HOSTS
        rows.append(
            Row(
                label=cell.name,
                cells=(
                    TableCell(
                        ours=counted(live.flows.height), published=host.transfers if there else None
                    ),
                    TableCell(
                        ours=counted(1e3 * parameters.rtt_s),
                        published=host.rtt_ms if there else None,
                        unit="ms",
                    ),
                    TableCell(
                        ours=counted(1e3 * parameters.rto_s),
                        published=host.rto_ms if there else None,
                        unit="ms",
                    ),
                    TableCell(
                        ours=counted(100.0 * parameters.loss),
                        published=100.0 * host.loss if there else None,
                        unit="%",
                    ),
                    TableCell(ours=lost(live.link["up"]), published=None, unit="%"),
                    TableCell(
                        ours=counted(parameters.window / paper.KB),
                        published=host.window_kb if there else None,
                        unit="KB",
                    ),
                    TableCell(
                        ours=counted(parameters.mss),
                        published=paper.MSS if there else None,
                        unit="bytes",
                    ),
                ),
            )
        )
    return Table(
        key="short-flows-paths",
        title="Parameters of the models",
        source=paper.SHORT_SOURCE,
        caption="As measured: mean round trip and timer at the end of the connections, packets lost each way, the "
        "window that the clients offered at the end (median), payload of full-sized segments.",
        columns=("path, sender", "transfers", "RTT", "RTO", "loss", "loss back", "window", "MSS"),
        rows=tuple(rows),
        notes=(
            (
                "RTO: at least the round-trip time plus 200 ms for the kernel, and at least 200 ms for "
                "tcpsf; the host of the paper had shorter values. RTT: the value of the paper is above the "
                "ping of its Table 1 by 2 to 43 ms. MSS: timestamps take 12 bytes."
            ),
        ),
    )


def _off(found: AllSeen) -> Table:
    return _fits(
        found,
        notes=(
            (
                "Models (1) and (14) have no window limit; in Figs. 18 to 20 longer transfers reach the receiver's, "
                "which the model of 2000 includes."
            ),
        ),
        key="short-flows-off",
        title="Model error",
        caption="Mean |ln(time/model)| over the transfers: up to 0.2 close, up to 0.35 reasonable, above poor.",
        read=fits.off,
    )


def _off_medians(found: AllSeen) -> Table:
    return _fits(
        found,
        key="short-flows-off-medians",
        title="Model error against the medians",
        caption=f"Mean |ln(median/model)| over the sizes, in steps of {fits.BIN_BYTES // 1000} kB. With high "
        "loss, times of transfers of one size differ, so no curve is close to all of them. It may still "
        "be close to their medians.",
        read=fits.off_medians,
    )


def _longer(found: AllSeen) -> Table:
    return _fits(
        found,
        key="short-flows-longer",
        title="Measured time over the models' time",
        caption="Geometric mean over the transfers: above 1 if transfers take longer than the model.",
        read=fits.longer,
    )


def _fits(
    found: AllSeen, *, key: str, title: str, caption: str, read: Read, notes: tuple[str, ...] = ()
) -> Table:
    return Table(
        key=key,
        title=title,
        source=paper.SHORT_SOURCE,
        caption=caption,
        columns=("path, sender", *(model.label for model in fits.MODELS)),
        rows=tuple(
            Row(
                label=cell.name,
                cells=tuple(
                    TableCell(ours=read(each, model), published=None) for model in fits.MODELS
                ),
            )
            for cell, each in found.items()
        ),
        notes=notes,
    )


def _by_loss(found: AllSeen) -> Table:
    rows = []
    for cell, each in found.items():
        parts = [
            TableCell(ours=fits.off(each, model, where=where), published=None)
            for where in (each.clean, each.lossy)
            for model in (fits.LOSSLESS, fits.LOSSLESS_2, fits.SHORT)
        ]
        counts = [
            TableCell(ours=counted(float(where.sum())), published=None)
            for where in (each.clean, each.lossy)
        ]
        rows.append(Row(label=cell.name, cells=(counts[0], *parts[:3], counts[1], *parts[3:])))
    return Table(
        key="short-flows-by-loss",
        title="Transfers with and without a loss",
        source=paper.SHORT_SOURCE,
        caption="Mean |ln(time/model)| over the transfers without a detected loss, and over those with a "
        "retransmission. The loss of an acknowledgment is rarely detected.",
        columns=(
            "path, sender",
            "without",
            *("(1), r = 1.5", "(1), r = 2", "(14), r = 1.5"),
            "with",
            *("(1), with loss", "(1), r = 2, with loss", "(14), with loss"),
        ),
        rows=tuple(rows),
        notes=(
            (
                "With r = 1.5 the models take longer than a transfer without a loss, which hides a part of "
                "the cost of a loss. r = 2 shows this cost."
            ),
        ),
    )


def _findings(cells: Cells, found: AllSeen) -> Iterator[Finding]:
    for sender in SENDERS:
        yield from _as_the_text_says(sender, found)
    yield from _acknowledgments(cells, found)
    for sender in SENDERS:
        yield from _losses(sender, found)


def _on(hosts: tuple[paper.Host, ...], sender: Sender, found: AllSeen) -> dict[str, PathTransfers]:
    return {host.figure: found[PathAndSender(host=host, sender=sender)] for host in hosts}


def _as_the_text_says(sender: Sender, found: AllSeen) -> Iterator[Finding]:
    hosts = _on(paper.HOSTS, sender, found)
    who = f"{NAMED[sender]} sending, four hosts"
    for model, parameters in ((fits.LOSSLESS, "(1)"), (fits.SHORT, "(14)")):
        yield judge.finding(
            key=f"short-flows-{model.key}-{sender}",
            claim=f"{parameters} with w = 2 and r = 1.5 is a reasonably close fit ({who})",
            source=paper.SHORT_SOURCE,
            published="reasonably close",
            judged=judge.all_below(
                {name: fits.off(each, model) for name, each in hosts.items()}, paper.FAIR, ""
            ),
        )
    yield judge.finding(
        key=f"short-flows-steady-{sender}",
        claim=f"the fit of the steady-state model (4) is poor in each case ({who})",
        source=paper.SHORT_SOURCE,
        published="poor",
        judged=judge.all_above(
            {name: fits.off(each, fits.STEADY) for name, each in hosts.items()}, paper.FAIR, ""
        ),
    )
    yield judge.finding(
        key=f"short-flows-steady-short-{sender}",
        claim=f"(4) predicts too short a time, ln(time/model) is above 0 ({who})",
        source=paper.SHORT_SOURCE,
        published="a short transfer time",
        judged=judge.all_above(
            {name: fits.bias(each, fits.STEADY) for name, each in hosts.items()}, 0.0, ""
        ),
    )


def _acknowledgments(cells: Cells, found: AllSeen) -> Iterator[Finding]:
    where = f"{paper.SHORT}, {ADAPTIVE.figure}"
    adaptive, delayed = (
        {sender: PathAndSender(host=ADAPTIVE, sender=sender, acks=acks) for sender in SENDERS}
        for acks in ("kernel", "delayed")
    )
    for sender in SENDERS:
        yield judge.finding(
            key=f"fig-17-lower-{sender}",
            claim=f"a receiver that acknowledges every packet at first makes for a time below (1) with r = 1.5: "
            f"ln(time/model) is below 0 ({NAMED[sender]} sending)",
            source=where,
            published="slightly lower",
            judged=judge.is_below(fits.bias(found[adaptive[sender]], fits.LOSSLESS), 0.0, ""),
        )
    tighter = [fits.off(found[each["ours"]], fits.LOSSLESS) for each in (adaptive, delayed)]
    yield judge.finding(
        key="fig-17-delayed",
        claim="with delayed acknowledgments from the first one on, the error of (1) with r = 1.5 is smaller "
        "(tcpsf sending)",
        source=where,
        published="suspected",
        judged=judge.is_above(stats.apart(*tighter), 0.0, ""),
    )
    ratio = stats.quotient(
        *(estimates.completion_s(cells[each["kernel"]].answered) for each in (delayed, adaptive))
    )
    yield judge.finding(
        key="fig-17-kernel-counts-segments",
        claim=f"for a kernel that counts acknowledged segments the times are the same: mean times within {ALIKE:.0%}",
        source=OWN,
        published="",
        judged=judge.is_within(ratio, 1.0 - ALIKE, 1.0 + ALIKE, "times"),
    )
    hosts = _on(paper.HOSTS, "kernel", found)
    yield judge.finding(
        key="short-flows-doubling",
        claim="so r = 2 is nearer to the kernel's transfers than r = 1.5, in (1), at all four",
        source=OWN,
        published="",
        judged=judge.all_above(
            {
                name: fits.nearer(each, fits.LOSSLESS_2, fits.LOSSLESS)
                for name, each in hosts.items()
            },
            0.0,
            "",
        ),
    )


def _losses(sender: Sender, found: AllSeen) -> Iterator[Finding]:
    who = NAMED[sender]
    last = paper.HOSTS[-1]
    wide = found[PathAndSender(host=last, sender=sender)]
    parts = [fits.spread(wide, where) for where in (wide.lossy, wide.clean)]
    yield judge.finding(
        key=f"fig-20-variance-{sender}",
        claim="the large variance of Fig. 20 is due to loss: transfers with a loss are farther from the "
        f"median of those without ({who} sending)",
        source=f"{paper.SHORT}, {last.figure}",
        published="due to the loss rate",
        judged=judge.is_above(stats.apart(*parts), 0.0, ""),
    )
    every = _on(PATHS, sender, found)
    yield judge.finding(
        key=f"short-flows-clean-{sender}",
        claim=f"(1) is a very close fit where nothing is lost (r = 1.5, all five paths, {who} sending)",
        source=f"{paper.SHORT}, section 8",
        published="very close",
        judged=judge.all_below(
            {name: fits.off(each, fits.LOSSLESS, where=each.clean) for name, each in every.items()},
            paper.CLOSE,
            "",
        ),
    )
    yield judge.finding(
        key=f"short-flows-lossy-{sender}",
        claim=f"(1) is a poor fit where something is lost (r = 1.5, paths with {ENOUGH} such transfers, "
        f"{who} sending)",
        source=f"{paper.SHORT}, section 8",
        published="poor",
        judged=judge.all_above(
            {
                name: fits.off(each, fits.LOSSLESS, where=each.lossy)
                for name, each in every.items()
                if each.lossy.sum() >= ENOUGH
            },
            paper.FAIR,
            "",
        ),
    )
    lossy = every[LOSSY.figure]
    for model, parameters in (
        (fits.SHORT, "(14) fits"),
        (fits.STEADY, "(4) fits surprisingly closely"),
    ):
        yield judge.finding(
            key=f"short-flows-lossy-{model.key}-{sender}",
            claim=f"{parameters} at {100.0 * LOSSY.loss:g} % loss too (medians by size, {who} sending)",
            source=f"{paper.SHORT}, section 8",
            published="0 to 15 % loss"
            if model is fits.SHORT
            else "simulated, moderate to high loss",
            judged=judge.is_below(fits.off_medians(lossy, model), paper.FAIR, ""),
        )
