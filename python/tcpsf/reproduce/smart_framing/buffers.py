"""Section VI: a buffer that allocates its memory in chunks (Fig. 14)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tcpsf import stats
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Axis, Figure
from tcpsf.evaluation.exhibit import Exhibit, Part, bars, series
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Case, Runs
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_figures as figures
from tcpsf.reproduce import web_runs
from tcpsf.reproduce.smart_framing.exhibit_parts import (
    FRAMED,
    GAIN,
    JOURNAL,
    SECONDS,
    Setting,
    unstable,
)
from tcpsf.summary import RunSummary

ByChunk = Mapping[int, Mapping[str, Sequence[RunSummary]]]

ABOUT_175 = (162.5, 187.5)
"""Range of "175" in per cent: the values that round to 175 in steps of 25."""


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return Fig. 14, a buffer with chunks of memory."""
    direct = {
        chunk: {v.key: _direct(v, chunk, setting) for v in paper.VARIANTS}
        for chunk in figures.CHUNKS
    }
    spread = {
        chunk: {
            v.key: setting.case(
                figures.access_scenario(sender=v.sender, chunk=chunk, duration=setting.duration)
            )
            for v in paper.VARIANTS
        }
        for chunk in figures.CHUNKS
    }

    def of(runs: Runs, cases: Mapping[int, Mapping[str, Case]]) -> ByChunk:
        return {
            chunk: {key: runs.of(case) for key, case in each.items()}
            for chunk, each in cases.items()
        }

    top = tuple(case for each in direct.values() for case in each.values())
    bottom = tuple(case for each in spread.values() for case in each.values())
    return (
        Exhibit(
            key="fig-14-top",
            section="buffers",
            cases=top,
            build=lambda runs: _top(of(runs, direct)),
            shown={"chunks of 512 bytes": direct[512]["fs"].scenario},
        ),
        Exhibit(
            key="fig-14-bottom",
            section="buffers",
            cases=(*top, *bottom),
            build=lambda runs: _bottom(of(runs, spread), of(runs, direct)),
            shown={"ten access nodes": spread[1]["fs"].scenario},
        ),
    )


def _direct(variant: paper.Variant, chunk: int, setting: Setting) -> Case:
    if chunk == 1:
        return setting.base(variant)
    return setting.case(
        figures.chunk_scenario(sender=variant.sender, chunk=chunk, duration=setting.duration)
    )


def _figure(key: str, title: str, caption: str, runs: ByChunk, notes: tuple[str, ...]) -> Figure:
    chunks = [str(chunk) for chunk in runs]
    lines = tuple(
        series(
            variant.key,
            variant.label,
            chunks,
            [web_runs.mean_time(each[variant.key]) for each in runs.values()],
        )
        for variant in paper.VARIANTS
    )
    return Figure(
        key=key,
        title=title,
        source=f"{JOURNAL}, Fig. 14 ({key.rsplit('-', maxsplit=1)[-1]})",
        caption=caption,
        x=Axis(label="chunk", unit="bytes", scale="category"),
        y=SECONDS,
        series=lines,
        notes=(*notes, *unstable(lines)),
    )


def _gain_figure(figure: Figure, runs: ByChunk) -> Figure:
    """Plot the same runs as gains over Classic."""
    return Figure(
        key=f"{figure.key}-gain",
        title=f"{figure.title}: gain over Classic",
        source=f"this project, from the runs of {figure.source}",
        caption="Reduction of the mean completion time relative to Classic, in paired runs with the same arrivals.",
        x=figure.x,
        y=GAIN,
        series=tuple(
            bars(
                variant.key,
                variant.label,
                [str(chunk) for chunk in runs],
                list(_gains(runs, variant).values()),
            )
            for variant in FRAMED
        ),
    )


def _top(runs: ByChunk) -> Part:
    figure = _figure(
        "fig-14-top",
        "Memory in chunks, sources at the bottleneck",
        "Mean completion time at 80 % load; a buffer of 150 000 bytes gives each packet whole chunks.",
        runs,
        figures.READINGS[3:],
    )
    return Part(figures=(figure, _gain_figure(figure, runs)), findings=tuple(_claims_top(runs)))


def _bottom(runs: ByChunk, direct: ByChunk) -> Part:
    figure = _figure(
        "fig-14-bottom",
        "Memory in chunks, sources behind ten access nodes",
        "The same with access links of 1.5 Mb/s and 1 ms before the bottleneck.",
        runs,
        figures.READINGS[2:],
    )
    return Part(
        figures=(figure, _gain_figure(figure, runs)), findings=tuple(_claims_bottom(runs, direct))
    )


def _gains(runs: ByChunk, variant: paper.Variant) -> dict[str, stats.Estimate | None]:
    return {
        f"{chunk} bytes": web_runs.gain(each[variant.key], each["classic"])
        for chunk, each in runs.items()
    }


def _claims_top(runs: ByChunk) -> Iterator[Finding]:
    where = "section VI, Fig. 14 (top)"
    for variant in FRAMED:
        small = {chunk: each for chunk, each in runs.items() if chunk < 512}
        large = {chunk: each for chunk, each in runs.items() if chunk >= 512}
        yield judge.finding(
            key=f"small-chunks-gain-{variant.key}",
            claim=f"{variant.label} gains with chunks smaller than 512 bytes",
            source=where,
            published="gain above 0 at each",
            judged=judge.all_above(_gains(small, variant), 0.0, "%"),
        )
        yield judge.finding(
            key=f"large-chunks-lose-{variant.key}",
            claim=f"{variant.label} does not gain with chunks of 512 bytes and more",
            source=where,
            published="gain below 0 at each",
            judged=judge.all_below(_gains(large, variant), 0.0, "%"),
        )
        yield judge.finding(
            key=f"bytes-better-than-packets-{variant.key}",
            claim=f"{variant.label}: byte-oriented buffers give a larger gain than packet-oriented ones",
            source="abstract, section VI",
            published="difference above 0",
            judged=judge.is_above(_bytes_over_packets(runs, variant), 0.0, "percentage points"),
        )
    largest = runs[max(runs)]
    increase = web_runs.gain(largest["fs"], largest["classic"])
    yield judge.finding(
        key="packets-175",
        claim="In a buffer of packets (1500 bytes) framing takes up to about 175 % longer (FS, to the nearest 25 %)",
        source=where,
        published="about 175 %",
        judged=judge.is_within(
            None if increase is None else increase.scaled(-1.0), *ABOUT_175, "%"
        ),
    )


def _bytes_over_packets(runs: ByChunk, variant: paper.Variant) -> stats.Estimate | None:
    least, most = (
        web_runs.gains(runs[chunk][variant.key], runs[chunk]["classic"])
        for chunk in (min(runs), max(runs))
    )
    return web_runs.paired(least, most)


def _claims_bottom(runs: ByChunk, direct: ByChunk) -> Iterator[Finding]:
    where = "section VI, Fig. 14 (bottom)"
    for variant in FRAMED:
        yield judge.finding(
            key=f"access-gain-{variant.key}",
            claim=f"Behind access nodes {variant.label} outperforms Classic at every chunk size",
            source=where,
            published="gain above 0 at each",
            judged=judge.all_above(_gains(runs, variant), 0.0, "%"),
        )
        yield judge.finding(
            key=f"access-bytes-better-than-packets-{variant.key}",
            claim=f"Behind access nodes {variant.label} gains more where the buffer counts bytes than packets",
            source="abstract",
            published="difference above 0",
            judged=judge.is_above(_bytes_over_packets(runs, variant), 0.0, "percentage points"),
        )
    for variant in paper.VARIANTS:
        shorter = {
            f"{chunk} bytes": web_runs.longer(runs[chunk][variant.key], direct[chunk][variant.key])
            for chunk in runs
        }
        yield judge.finding(
            key=f"access-shorter-{variant.key}",
            claim=f"{variant.label} takes less time behind access nodes than with sources at the bottleneck",
            source=where,
            published="less at every chunk size",
            judged=judge.all_below(shorter, 0.0, "s"),
        )
