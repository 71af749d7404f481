"""Segments over several slow links in series (journal, section I; draft, section 7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tcpsf import text
from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Axis, Figure
from tcpsf.evaluation.exhibit import Exhibit, Part, series
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Runs
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_advantages as settings
from tcpsf.reproduce.smart_framing.advantages import SECTION
from tcpsf.reproduce.smart_framing.exhibit_parts import DRAFT, FRAMED, JOURNAL, Setting
from tcpsf.reproduce.smart_framing.single_run import exact_rows, once

Times = Mapping[str, Mapping[int, float]]
"""Time in seconds until the receiver has the data, by sender's key and number of links."""


def pipelining(setting: Setting) -> Exhibit:
    """Return the times of one flow over store-and-forward links in series."""
    cases = {
        variant.key: {
            hops: once(setting, settings.hops_scenario(sender=variant.sender, hops=hops))
            for hops in settings.HOPS
        }
        for variant in paper.VARIANTS
    }

    def build(runs: Runs) -> Part:
        times = {
            key: {hops: exact_rows(runs.of(case), "receiver_s")[0] for hops, case in each.items()}
            for key, each in cases.items()
        }
        return Part(figures=(_figure(times),), findings=tuple(_claims(times)))

    return Exhibit(
        key="advantages-pipelining",
        section=SECTION,
        cases=tuple(case for each in cases.values() for case in each.values()),
        build=build,
        shown={"three slow links": cases["fs"][3].scenario},
    )


def _figure(times: Times) -> Figure:
    return Figure(
        key="advantages-pipelining",
        title="Several slow links in series",
        source=f"{JOURNAL}, section I; {DRAFT}, section 7",
        caption=f"Time until the receiver has {text.count(settings.PIPELINED_BYTES, 'byte')}, over store-and-"
        f"forward links of {settings.HOP_RATE} and {settings.HOP_DELAY}. Nothing is lost and nothing is random.",
        x=Axis(label="links", unit="", scale="linear"),
        y=Axis(label="time", unit="s", scale="linear", low=0.0),
        series=tuple(
            series(
                variant.key,
                variant.label,
                [float(hops) for hops in settings.HOPS],
                [judge.exact(times[variant.key][hops]) for hops in settings.HOPS],
            )
            for variant in paper.VARIANTS
        ),
    )


def _claims(times: Times) -> Iterator[Finding]:
    for variant in FRAMED:
        saved = {
            text.count(hops, "link"): judge.exact(times["classic"][hops] - times[variant.key][hops])
            for hops in settings.HOPS
            if hops > 1
        }
        yield judge.finding(
            key=f"pipelining-{variant.key}",
            claim=f"{variant.label}: shorter segments are pipelined through store-and-forward routers and take "
            "less time (2 to 5 slow links)",
            source="section I; draft, section 7",
            published="less",
            judged=judge.all_above(saved, 0.0, "s"),
        )
