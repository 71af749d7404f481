"""Conclusion of a report: what the report found, what it did not reproduce, and the known causes.

Each is one sentence, computed from the findings. Papers contribute the keys of their main claims.
The sections state in a clause (`Section.why`) the causes of their differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tcpsf import text
from tcpsf.evaluation.data import OWN, Conclusion, Section

if TYPE_CHECKING:
    from tcpsf.evaluation.judge import Finding
    from tcpsf.evaluation.ranges import Verdict

CAUSES = 3
"""Maximum number of causes that a sentence names."""
QUOTED = 2
"""Maximum number of claims that a sentence quotes."""


def conclude(sections: Sequence[Section], *, headline: Sequence[str] = ()) -> Conclusion:
    """Summarize all findings; ``headline`` has the keys of the claims to quote, in order."""
    everything = [finding for section in sections for finding in section.findings]
    if not everything:
        return _without_claims(sections)
    return Conclusion(
        found=_found(everything, headline),
        not_reproduced=_not_reproduced(sections, headline),
        why=_why(sections),
    )


def counted(findings: Sequence[Finding], verdict: Verdict) -> int:
    """Number of findings with a verdict."""
    return sum(finding.verdict == verdict for finding in findings)


def is_own(finding: Finding) -> bool:
    """Whether the claim is this project's, not a paper's."""
    return finding.source == OWN


def _without_claims(sections: Sequence[Section]) -> Conclusion:
    figures = sum(len(section.figures) for section in sections)
    tables = sum(len(section.tables) for section in sections)
    return Conclusion(
        found=f"This report has {text.count(figures, 'figure')} and {text.count(tables, 'table')}, and tests "
        "no claim.",
        not_reproduced="Since no claim was tested, none failed.",
        why="The figures and tables can be compared with published values where these are shown beside them.",
    )


def _found(findings: Sequence[Finding], headline: Sequence[str]) -> str:
    published = [finding for finding in findings if not is_own(finding)]
    own = [finding for finding in findings if is_own(finding)]
    parts = []
    if published:
        hold = counted(published, "holds")
        noun = text.count(len(published), "published claim")
        sentence = f"{hold or 'None'} of the {noun} tested {'holds' if hold == 1 else 'hold'}"
        parts.append(_with_examples(sentence, published, "holds", headline))
    if own:
        verdicts = ", ".join(
            f"{counted(own, verdict)} {word}"
            for verdict, word in _OWN_WORDS.items()
            if counted(own, verdict) or verdict == "holds"
        )
        parts.append(f"of {text.count(len(own), 'check')} of our own {verdicts}")
    sentence = "; ".join(parts) + "."
    return sentence[0].upper() + sentence[1:]


_OWN_WORDS: dict[Verdict, str] = {
    "holds": "hold",
    "does not hold": "fail",
    "undecided": "undecided",
}


def _not_reproduced(sections: Sequence[Section], headline: Sequence[str]) -> str:
    published = [finding for section in sections for finding in _published(section)]
    failed, open_ = counted(published, "does not hold"), counted(published, "undecided")
    left = f"{open_} {'is' if open_ == 1 else 'are'} undecided" if open_ else ""
    if not failed:
        return (
            f"No published claim fails, but {left}."
            if left
            else "No published claim fails, and none is undecided."
        )
    sentence = f"{text.count(failed, 'published claim')} {'does' if failed == 1 else 'do'} not hold"
    counts = [(section, _failures(section)) for section in sections if _published(section)]
    if len(counts) > 1 and failed > 1:
        most, number = max(counts, key=lambda pair: pair[1])
        sentence += f" ({number} of them in “{most.title}”)"
    sentence = _with_examples(sentence, published, "does not hold", headline)
    return f"{sentence}; {left}." if left else f"{sentence}."


def _published(section: Section) -> list[Finding]:
    return [finding for finding in section.findings if not is_own(finding)]


def _failures(section: Section) -> int:
    return counted(_published(section), "does not hold")


def _with_examples(
    sentence: str, findings: Sequence[Finding], verdict: Verdict, headline: Sequence[str]
) -> str:
    chosen = [
        finding
        for key in headline
        for finding in findings
        if (finding.key, finding.verdict) == (key, verdict)
    ]
    quoted = [
        f"“{finding.claim}” (paper: {finding.published}; tcpsf: {finding.ours})"
        for finding in chosen[:QUOTED]
    ]
    return f"{sentence}, among them {' and '.join(quoted)}" if quoted else sentence


def _why(sections: Sequence[Section]) -> str:
    failing = sorted(
        (section for section in sections if _failures(section)), key=_failures, reverse=True
    )
    if not failing:
        return "There is no difference to explain."
    causes: dict[str, list[str]] = {}
    for section in failing:
        causes.setdefault(section.why, []).append(f"“{section.title}”")
    unknown = causes.pop("", [])
    alone = sum(bool(_published(section)) for section in sections) == 1
    parts = [why if alone else f"in {_listed(titles)} {why}" for why, titles in causes.items()]
    if len(parts) > CAUSES:
        parts[CAUSES:] = ["the sections give further causes"]
    if unknown:
        parts.append(f"no cause is known of the differences in {_listed(unknown)}")
    sentence = "; ".join(parts)
    return f"As far as is known, {sentence}." if causes else f"{sentence[0].upper()}{sentence[1:]}."


def _listed(words: Sequence[str]) -> str:
    """Join words.

    >>> _listed(["a"]), _listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
