"""The page of claims: it has the claims that do not hold, with both readings and what was tried."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tcpsf.pages import claims
from tcpsf.reproduce import catalogue
from tcpsf.reproduce.closed_models import model_section

VERDICTS = ("holds", "does not hold", "undecided")


def finding(key: str, verdict: str) -> dict[str, str]:
    return {
        "key": key,
        "claim": f"Claim | {key}",
        "source": "section 1",
        "published": "about 2",
        "ours": "3.0 ± 0.1",
        "verdict": verdict,
    }


def reports(folder: Path, keys: list[str], verdicts: tuple[str, ...]) -> Path:
    for key in keys:
        report = {"sections": [{"findings": [finding(f"claim-{name}", name) for name in verdicts]}]}
        (folder / key).mkdir(parents=True)
        (folder / key / "report.json").write_text(json.dumps(report), encoding="utf-8")
    return folder


PARTS = [part.key for part in catalogue.parts() if part.kind != "live"]


def test_the_page_has_what_does_not_hold(tmp_path: Path) -> None:
    text = reports(tmp_path / "text", PARTS, VERDICTS)
    closest = reports(tmp_path / "closest", list(claims.READINGS), VERDICTS)
    page = claims.page(text, closest)
    assert "| `santa-cruz` | 3 | 1; 1; 1 | – | 75 | 31; 37; 7 |" in page
    assert "| `short-flows` | 3 | 1; 1; 1 | 1; 1; 1 | 35 | 23; 12; 0 |" in page
    assert page.count(r"| Claim \| claim-does not hold | section 1 |") == len(PARTS)
    assert "claim-holds" not in page
    assert page.count("| does not hold: 3.0 ± 0.1 | does not hold: 3.0 ± 0.1 |") == 3


def test_a_missing_report_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert claims.main([str(tmp_path), str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"error: cannot read the reports of `{tmp_path}" in said.err
    assert "hint: tcpsf reproduce all --full" in said.err
    assert claims.main([]) == 2


def test_what_was_tried_is_about_claims_that_exist() -> None:
    """The tests of the simulated reports check theirs."""
    patterns = [pattern for pattern, _ in claims.tried()]
    assert patterns
    assert {pattern.partition("/")[0] for pattern in patterns} <= set(PARTS)
    closed = {
        part.key: model_section(part.section or "", command="")
        for part in catalogue.parts()
        if part.kind == "closed"
    }
    assert closed
    assert claims.without_claims(closed) == []
    empty = {key: replace(report, sections=()) for key, report in closed.items()}
    missing = claims.without_claims(empty)
    assert missing == [pattern for pattern in patterns if pattern.partition("/")[0] in closed]
    assert missing
    assert set(claims.before()) <= set(PARTS)
