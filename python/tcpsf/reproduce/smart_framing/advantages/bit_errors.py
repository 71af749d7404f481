"""Completion times on a line with bit errors (journal, section I)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tcpsf.evaluation import judge
from tcpsf.evaluation.data import Axis, Figure
from tcpsf.evaluation.exhibit import Exhibit, Part, series
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.plan import Runs
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_advantages as settings
from tcpsf.reproduce import web_runs
from tcpsf.reproduce.smart_framing.advantages import SECTION
from tcpsf.reproduce.smart_framing.exhibit_parts import FRAMED, JOURNAL, Setting
from tcpsf.summary import RunSummary

ByRate = Mapping[str, Mapping[float, Sequence[RunSummary]]]
"""Runs by sender's key and bit error rate."""


def bit_errors(setting: Setting) -> Exhibit:
    """Return completion times on an empty line with independent bit errors."""
    cases = {
        variant.key: {
            rate: setting.case(
                settings.bit_error_scenario(
                    sender=variant.sender, rate=rate, duration=setting.duration_of_ours
                )
            )
            for rate in settings.BIT_ERROR_RATES
        }
        for variant in paper.VARIANTS
    }

    def build(runs: Runs) -> Part:
        made = {
            key: {rate: runs.of(case) for rate, case in each.items()} for key, each in cases.items()
        }
        return Part(figures=(_figure(made),), findings=tuple(_claims(made)))

    return Exhibit(
        key="advantages-bit-errors",
        section=SECTION,
        cases=tuple(case for each in cases.values() for case in each.values()),
        build=build,
        shown={"bit errors": cases["fs"][settings.BIT_ERROR_RATES[-1]].scenario},
    )


def _figure(made: ByRate) -> Figure:
    return Figure(
        key="advantages-bit-errors",
        title="Bit errors on a wireless line",
        source=f"{JOURNAL}, section I",
        caption="Mean completion time of flows with Table I's sizes on an empty line of 10 Mb/s and 50 "
        "ms, with independent bit errors in both directions; a packet with a bit error is lost.",
        x=Axis(label="bit error rate", unit="", scale="category"),
        y=Axis(label="mean completion time", unit="s", scale="linear", low=0.0),
        series=tuple(
            series(
                variant.key,
                variant.label,
                [f"{rate:g}" for rate in settings.BIT_ERROR_RATES],
                [web_runs.mean_time(each) for each in made[variant.key].values()],
            )
            for variant in paper.VARIANTS
        ),
    )


def _claims(made: ByRate) -> Iterator[Finding]:
    for variant in FRAMED:
        gains = {
            f"{rate:g}": web_runs.gain(made[variant.key][rate], made["classic"][rate])
            for rate in settings.BIT_ERROR_RATES
        }
        yield judge.finding(
            key=f"bit-errors-{variant.key}",
            claim=f"{variant.label}: shorter packets suffer less from bit errors, so flows gain over Classic",
            source="section I",
            published="gain above 0 at each rate",
            judged=judge.all_above(gains, 0.0, "%"),
        )
