"""The three sentences at the top of a report: computed from the findings, and one sentence each."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from plus_minus import plus_minus

from tcpsf.evaluation import judge
from tcpsf.evaluation.conclusion import conclude
from tcpsf.evaluation.data import OWN, Conclusion, Section
from tcpsf.evaluation.judge import Finding
from tcpsf.evaluation.ranges import Verdict
from tcpsf.report.evaluation_text import as_findings
from tcpsf.reproduce.closed_models import model_report

VALUES: dict[Verdict, float] = {"holds": 5.0, "does not hold": -5.0, "undecided": 0.0}


def finding(
    key: str, verdict: Verdict, *, source: str = "section 1", published: str = "above 0"
) -> Finding:
    judged = judge.is_above(plus_minus(VALUES[verdict], 1.0, 8), 0.0, "%")
    assert judged.verdict == verdict
    return judge.finding(
        key=key, claim=f"the claim {key}", source=source, published=published, judged=judged
    )


def section(title: str, *verdicts: Verdict, why: str = "", own: bool = False) -> Section:
    findings = tuple(
        finding(
            f"{title}-{number}",
            verdict,
            source=OWN if own else "section 1",
            published="" if own else "above 0",
        )
        for number, verdict in enumerate(verdicts)
    )
    return Section(key=title, title=title, findings=findings, why=why)


def one_sentence_each(found: Conclusion) -> None:
    for sentence in found.sentences:
        assert sentence.endswith(".")
        assert sentence[0].isupper() or sentence[0].isdigit()
        assert not re.search(r"[.!?] [A-Z]", re.sub(r"“[^”]*”", "", sentence)), sentence


def test_counts_and_main_claims_are_inserted() -> None:
    sections = (
        section("A", "holds", "does not hold", "undecided", why="the timer differs"),
        section("B", "does not hold", "does not hold"),
    )
    found = conclude(sections, headline=("B-1", "A-0"))
    assert found.found == (
        "1 of the 5 published claims tested holds, among them “the claim A-0” (paper: above 0; tcpsf: 5.0 ± 1.0 %)."
    )
    assert found.not_reproduced == (
        "3 published claims do not hold (2 of them in “B”), among them “the claim B-1” "
        "(paper: above 0; tcpsf: −5.0 ± 1.0 %); 1 is undecided."
    )
    assert found.why == (
        "As far as is known, in “A” the timer differs; no cause is known of the differences in “B”."
    )
    one_sentence_each(found)


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ([section("A", "holds", "holds")], "No published claim fails, and none is undecided."),
        ([section("A", "holds", "undecided")], "No published claim fails, but 1 is undecided."),
        ([section("A", "does not hold")], "1 published claim does not hold."),
        ([section("A")], "Since no claim was tested, none failed."),
    ],
)
def test_nothing_is_said_that_was_not_seen(sections: Sequence[Section], told: str) -> None:
    found = conclude(sections)
    assert found.not_reproduced == told
    one_sentence_each(found)


def test_causes_are_named_where_something_fails_alone() -> None:
    sections = (
        section("A", "holds", why="never to be read"),
        section("B", "does not hold", "holds", why="it rained"),
    )
    assert conclude(sections).why == "As far as is known, in “B” it rained."
    alike = [section(name, "does not hold", why="it rained") for name in "AB"]
    assert conclude(alike).why == "As far as is known, in “A” and “B” it rained."
    assert (
        conclude([section("A", "does not hold", why="it rained")]).why
        == "As far as is known, it rained."
    )
    many = [section(name, "does not hold", why=f"of {name.lower()}") for name in "ABCDE"]
    assert conclude(many).why.count("of ") == 3
    assert (
        conclude([section("A", "does not hold")]).why
        == "No cause is known of the differences in “A”."
    )


def test_checks_of_our_own_are_counted_apart() -> None:
    sections = (section("A", "holds"), section("B", "holds", "does not hold", own=True))
    found = conclude(sections)
    assert (
        found.found
        == "1 of the 1 published claim tested holds; of 2 checks of our own 1 hold, 1 fail."
    )
    assert found.not_reproduced == "No published claim fails, and none is undecided."
    assert found.why == "There is no difference to explain."


def test_text_and_data_begin_with_it() -> None:
    report = model_report(command="tcpsf model report")
    one_sentence_each(report.conclusion)
    text = re.sub(r"\s+", " ", as_findings(report))
    assert text.startswith(" ".join((report.title, *report.conclusion.sentences)))
    assert "± 0.0" not in text
    assert not re.search(r"(?<![\w–])-\d", text)  # a minus sign is no hyphen
