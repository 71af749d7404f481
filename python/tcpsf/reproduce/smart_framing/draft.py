"""The draft's table: ten classes with AT&T's flow lengths at 80 % load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tcpsf import text
from tcpsf.evaluation import judge
from tcpsf.evaluation.exhibit import Exhibit, Part
from tcpsf.evaluation.judge import Finding
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_draft as draft
from tcpsf.reproduce import web_runs
from tcpsf.reproduce.smart_framing.exhibit_parts import (
    DRAFT,
    FRAMED,
    Setting,
    by_variant,
    class_gain_figure,
    class_gains,
    class_table,
)
from tcpsf.summary import RunSummary, fast_percent

WHERE = "draft, section 9"

ByVariant = Mapping[str, Sequence[RunSummary]]

FIRST_CLASSIC = draft.CLASS_BYTES.index(10910) + 1
"""Number of the first class with fast retransmit for Classic."""
FIRST_FRAMED = draft.CLASS_BYTES.index(1349) + 1
"""Number of the first class with fast retransmit for the framings."""

HALF = (45.0, 55.0)
"""Range of "half" in per cent, to the nearest ten."""


def exhibits(setting: Setting) -> tuple[Exhibit, ...]:
    """Return the exhibit of the draft's table by flow length."""
    cases = by_variant(
        lambda v: setting.case(draft.web_scenario(sender=v.sender, duration=setting.duration))
    )
    return (
        Exhibit(
            key="draft-table",
            section="draft",
            cases=tuple(cases.values()),
            build=lambda runs: _table({key: runs.of(case) for key, case in cases.items()}),
            shown={"the draft's lengths": cases["classic"].scenario},
        ),
    )


def _table(runs: ByVariant) -> Part:
    table = class_table(
        key="draft-table",
        title="The draft's ten flow lengths",
        source=f"{DRAFT}, section 9",
        caption="At 80 % load. %FR: fast recoveries as a percentage of recoveries; a dash where there was none.",
        sizes=draft.CLASS_BYTES,
        published=draft.PUBLISHED,
        runs=runs,
    )
    figure = class_gain_figure(
        key="draft-gain",
        title="Gain by flow size, the draft's lengths",
        source=f"{DRAFT}, section 9",
        caption="Gain in mean completion time over Classic, on the same arrivals.",
        sizes=draft.CLASS_BYTES,
        gains={
            v.key: class_gains(runs[v.key], runs["classic"], len(draft.CLASS_BYTES)) for v in FRAMED
        },
        published=draft.PUBLISHED,
        notes=("The published points are computed from the draft's table.",),
    )
    return Part(figures=(figure,), tables=(table,), findings=tuple(_claims(runs)))


def _claims(runs: ByVariant) -> Iterator[Finding]:
    for variant in FRAMED:
        gains = class_gains(runs[variant.key], runs["classic"], len(draft.CLASS_BYTES))
        yield judge.finding(
            key=f"draft-all-lengths-{variant.key}",
            claim=f"{variant.label} outperforms Classic for all flow lengths",
            source=WHERE,
            published="gain above 0 at each",
            judged=judge.all_above(
                {
                    text.count(draft.CLASS_BYTES[number - 1], "byte"): gain
                    for number, gain in gains.items()
                },
                0.0,
                "%",
            ),
        )
    for variant in paper.VARIANTS:
        due = FIRST_CLASSIC if variant is paper.CLASSIC else FIRST_FRAMED
        yield from _first(runs[variant.key], variant, due)
    yield judge.finding(
        key="draft-classic-share-10910",
        claim=f"Classic at {text.count(10_910, 'byte')}: less than 6 % of the drops trigger fast retransmit",
        source=WHERE,
        published="5.54 %",
        judged=judge.is_below(
            fast_percent(web_runs.each(runs["classic"], classes=(FIRST_CLASSIC,))), 6.0, "%"
        ),
    )
    for variant in FRAMED:
        ours, theirs = (
            draft.PUBLISHED[key][FIRST_CLASSIC - 1].completion_s for key in (variant.key, "classic")
        )
        yield judge.finding(
            key=f"draft-half-the-time-{variant.key}",
            claim=(
                f"{variant.label} at {text.count(10_910, 'byte')}: the completion time is reduced by half "
                "(to the nearest 10 %)"
            ),
            source=WHERE,
            published=f"{100.0 * (1.0 - ours / theirs):.1f} %",
            judged=judge.is_within(
                web_runs.gain(runs[variant.key], runs["classic"], classes=(FIRST_CLASSIC,)),
                *HALF,
                "%",
            ),
        )


def _first(runs: Sequence[RunSummary], variant: paper.Variant, due: int) -> Iterator[Finding]:
    """Judge that fast retransmit occurs in the class ``due`` and in no smaller class."""
    size = draft.CLASS_BYTES[due - 1]
    here = web_runs.each(runs, classes=(due,))
    expected = draft.PUBLISHED[variant.key][due - 1].fast_percent or 0.0
    yield judge.finding(
        key=f"draft-fr-from-{variant.key}",
        claim=f"{variant.label}: fast retransmit at {text.count(size, 'byte')}",
        source=WHERE,
        published=f"{expected} %",
        judged=judge.is_some(
            sum(t.fast_retransmits for t in here),
            sum(t.recoveries for t in here),
            expected=expected,
        ),
    )
    before = web_runs.each(runs, classes=range(1, due))
    yield judge.finding(
        key=f"draft-no-fr-before-{variant.key}",
        claim=f"{variant.label}: no fast retransmit below {text.count(size, 'byte')}",
        source=WHERE,
        published="none",
        judged=judge.is_none(
            sum(t.fast_retransmits for t in before), sum(t.recoveries for t in before)
        ),
    )
