"""Verdicts on claims: one interval, several points, and the published tables themselves."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from plus_minus import plus_minus

from tcpsf.evaluation import judge
from tcpsf.papers import smart_framing as paper
from tcpsf.papers import smart_framing_draft as draft
from tcpsf.reproduce import web_runs
from tcpsf.reproduce.smart_framing import draft as draft_exhibits
from tcpsf.result import Provenance
from tcpsf.summary import Group, RunSummary, Totals


def made_up(
    sizes: tuple[int, ...],
    published: Mapping[str, tuple[paper.PublishedCell, ...]],
    key: str,
    factor: float,
) -> RunSummary:
    """A run whose cells are those of a published table, give or take ``factor``."""
    scenario = paper.web_scenario(sender=paper.CLASSIC.sender, duration="5s")
    groups = {}
    for number, cell in enumerate(published[key][: len(sizes)], start=1):
        fast = round(100 * (cell.fast_percent or 0))
        groups[Group(paper.WEB, "any", number)] = Totals(
            flows=1000,
            completed=1000,
            sender_ns=round(cell.completion_s * 1e12 * factor),
            fast_retransmits=fast,
            timeouts=10_000 - fast,
        )
    return RunSummary(
        provenance=Provenance(version="0", seed=1, scenario=scenario), groups=groups, links=[]
    )


def test_the_draft_agrees_with_itself() -> None:
    runs = {
        key: [
            made_up(draft.CLASS_BYTES, draft.PUBLISHED, key, factor)
            for factor in (0.999, 1.0, 1.001, 1.0)
        ]
        for key in draft.PUBLISHED
    }
    verdicts = {finding.key: finding for finding in draft_exhibits._claims(runs)}
    assert {key for key, finding in verdicts.items() if finding.verdict != "holds"} == {
        "draft-half-the-time-fs"
    }
    assert verdicts["draft-half-the-time-fs"].ours == "40.8 %"


def test_several_points_hold_together_or_not() -> None:
    sure, unsure, failing = (
        plus_minus(5.0, 1.0, 8),
        plus_minus(0.5, 1.0, 8),
        plus_minus(-2.0, 1.0, 8),
    )
    assert judge.all_above({"a": sure, "b": sure}, 0.0, "%").verdict == "holds"
    undecided = judge.all_above({"a": sure, "b": unsure}, 0.0, "%")
    assert (undecided.estimate, undecided.verdict) == (unsure, "undecided")
    assert undecided.ours == "lowest 0.5 ± 1.2 % (b; widened for 2 comparisons)"
    failed = judge.all_above({"a": sure, "b": unsure, "c": failing}, 0.0, "%")
    assert (failed.verdict, failed.ours) == (
        "does not hold",
        "lowest −2.0 ± 1.3 % (c; widened for 3 comparisons)",
    )
    assert (
        judge.all_below({"c": failing, "a": sure}, 0.0, "%").ours
        == "highest 5.0 ± 1.2 % (a; widened for 2 comparisons)"
    )
    assert judge.all_above({"a": sure, "b": None}, 0.0, "%").verdict == "undecided"
    assert judge.all_above({}, 0.0, "%").verdict == "undecided"


def test_one_of_many_that_strays_decides_nothing() -> None:
    """Failing by a little is no wonder among ten points, and is failing where there is one."""
    sure, straying = plus_minus(5.0, 1.0, 8), plus_minus(-1.2, 1.0, 8)
    many = {str(number): sure for number in range(9)} | {"x": straying}
    assert judge.all_above({"x": straying}, 0.0, "%").verdict == "does not hold"
    judged = judge.all_above(many, 0.0, "%")
    assert (judged.estimate, judged.verdict) == (straying, "undecided")
    assert judged.ours == "lowest −1.2 ± 1.7 % (x; widened for 10 comparisons)"
    assert judged.test.comparisons == 10
    assert judged.test.confidence == pytest.approx(0.995)
    assert judged.test.interval == straying.interval_at(0.995)
    assert judged.test.wording == (
        "The lowest undecided value is at x: its interval, [−2.9, 0.5] % (95 % for 10 comparisons together, "
        "Bonferroni), contains 0 %. More or longer runs would reduce the interval."
    )
    assert judge.some_below({"x": straying}, 0.0).verdict == "holds"
    assert judge.some_below(many, 0.0).verdict == "undecided"


@pytest.mark.parametrize(
    ("value", "half_width", "expected"),
    [
        (50.0, 4.0, "holds"),
        (50.0, 6.0, "undecided"),
        (60.0, 4.0, "does not hold"),
        (40.0, None, "undecided"),
    ],
)
def test_about(value: float, half_width: float | None, expected: str) -> None:
    assert judge.is_within(plus_minus(value, half_width, 8), 45.0, 55.0, "%").verdict == expected


def test_most_and_some() -> None:
    sure, unsure, failing = (
        plus_minus(5.0, 1.0, 8),
        plus_minus(0.5, 1.0, 8),
        plus_minus(-2.0, 1.0, 8),
    )
    assert judge.most_above({"a": sure, "b": sure, "c": failing}, 0.0).verdict == "holds"
    assert judge.most_above({"a": sure, "b": unsure, "c": failing}, 0.0).verdict == "undecided"
    assert judge.most_above({"a": sure, "b": failing, "c": failing}, 0.0).verdict == "does not hold"
    found = judge.some_below({"a": sure, "c": failing}, 0.0)
    assert (found.verdict, found.ours) == ("holds", "at c")
    assert found.test.interval == failing.interval_at(0.975)
    assert judge.some_below({"a": sure, "b": unsure}, 0.0).verdict == "undecided"
    assert judge.some_below({"a": sure}, 0.0).verdict == "does not hold"
    assert judge.is_none(0, 0).verdict == "undecided"
    assert judge.is_none(1, 9).verdict == "does not hold"


def test_slopes_need_every_point() -> None:
    assert web_runs.slope([0.0, 1.0], [[1.0, 2.0], None]) is None
