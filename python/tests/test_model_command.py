"""`tcpsf model`: tables, JSON by its schema, pages, and what it says of bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from conftest import Command
from test_cli import schema

from tcpsf.models import smart_framing as small
from tcpsf.reproduce.closed_best_framing import best_framing_figures
from tcpsf.reproduce.closed_models import model_report

MODELS = ("smart-framing", "short-flow", "padhye", "mathis", "packet-discard", "best-framing")


@pytest.mark.parametrize("model", MODELS)
def test_text_json_and_page(tcpsf: Command, tmp_path: Path, model: str) -> None:
    text = tcpsf("model", model)
    assert (text.status, text.err) == (0, "")
    out = tmp_path / "page"
    answer = tcpsf("model", model, "--json", "--out", out)
    assert answer.status == 0
    found = json.loads(answer.out)
    jsonschema.validate(found, schema("model"))
    assert found["model"] == model
    assert all(len(row) == len(found["columns"]) for row in found["rows"])
    assert len(text.out.rstrip().splitlines()) >= len(found["rows"]) + 4
    assert json.loads((out / "model.json").read_text(encoding="utf-8")) == found
    assert '<svg class="chart"' in (out / "model.html").read_text(encoding="utf-8")
    again = tcpsf("model", model, "--out", out)
    assert again.status == 2
    assert "`--force`" in again.err
    assert tcpsf("model", model, "--out", out, "--force").status == 0


@pytest.mark.parametrize("model", MODELS)
def test_no_title_stands_twice(tcpsf: Command, tmp_path: Path, model: str) -> None:
    assert tcpsf("model", model, "--out", tmp_path / "page").status == 0
    page = (tmp_path / "page" / "model.html").read_text(encoding="utf-8")
    titles = re.findall(r"<h[123]>(.*?)</h[123]>", page)
    assert len(titles) >= 4
    assert len(titles) == len(set(titles))


def test_a_claim_says_by_which_rule_a_number_is_the_published_one() -> None:
    """11.0 is not 10 and 1.55 is 2, so the claims say to which digit they are compared."""
    claims = {
        finding.key: finding.claim
        for section in model_report(command="").sections
        for finding in section.findings
    }
    for key, rule in (
        ("fs-waste", "nearest percent"),
        ("fs-waste-over-vs", "nearest integer"),
        ("modem", "half a kB"),
    ):
        assert rule in claims[key]
    assert not any(claim.startswith("that ") for claim in claims.values())


def test_equal_curves_are_drawn_once() -> None:
    for figure in best_framing_figures():
        curves = [
            tuple(point.y.value for point in series.points if point.y) for series in figure.series
        ]
        assert all(curves)
        for number, curve in enumerate(curves):
            for other in curves[number + 1 :]:
                assert any(abs(a / b - 1) > 1e-3 for a, b in zip(curve, other, strict=True))
        assert figure.notes


def test_values_are_those_of_the_functions(tcpsf: Command) -> None:
    answer = tcpsf(
        "model",
        "smart-framing",
        "--loss",
        "0.05",
        "--law",
        "0.5",
        "--rtt",
        "100ms",
        "--rto",
        "3s",
        "--json",
    )
    found = json.loads(answer.out)
    row = dict(zip(found["columns"], found["rows"][0], strict=True))
    fixed = small.fixed_size(0.05, law=0.5, rtt=0.1, rto=3.0)
    assert row["fs_throughput_Bps"] == pytest.approx(float(fixed.throughput_Bps))
    gain = float(small.gain_percent(fixed, small.classic(0.05, rtt=0.1, rto=3.0)))
    assert row["fs_gain_percent"] == pytest.approx(gain)


def test_the_page_tells_how_to_repeat_it(tcpsf: Command, tmp_path: Path) -> None:
    given = ["--loss", "0.01,0.05", "--rtt", "100ms", "--law", "0.5", "--net"]
    assert tcpsf("model", "smart-framing", *given, "--json", "--out", tmp_path / "x").status == 0
    page = (tmp_path / "x" / "model.html").read_text(encoding="utf-8")
    assert (
        "<code>tcpsf model smart-framing --loss 0.01,0.05 --law 0.5 --rtt 0.1s --net</code>" in page
    )


def test_one_pattern(tcpsf: Command) -> None:
    answer = tcpsf("model", "packet-discard", "--window", "8,9", "--lost", "0,7", "--json")
    assert [row[2] for row in json.loads(answer.out)["rows"]] == ["repaired", "timeout"]


def test_the_report(tcpsf: Command, tmp_path: Path) -> None:
    answer = tcpsf("model", "report", "--json", "--out", tmp_path / "all")
    assert answer.status == 0
    found = json.loads(answer.out)
    jsonschema.validate(found, schema("model-report"))
    keys = {figure["key"] for figure in found["figures"]}
    assert {"fig-12", "fig-13", "fig-15", "cardwell-fig-2", "repaired"} <= keys
    verdicts = {finding["key"]: finding["verdict"] for finding in found["findings"]}
    assert verdicts["negative-gain-gross"] == "does not hold"
    assert verdicts["negative-gain-net"] == "holds"
    assert verdicts["waste-crosses-vs"] == verdicts["waste-crosses-fs"] == "holds"
    assert verdicts["two-losses"] == "does not hold"
    assert "undecided" not in verdicts.values()
    page = (tmp_path / "all" / "model.html").read_text(encoding="utf-8")
    assert "closed forms" in page
    assert "scenarios, as JSON" not in page


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["smart-framing", "--loss", "0.6"],
            "`--loss 0.6`: cannot compute smart_framing.classic: the value is 0.6",
        ),
        (["smart-framing", "--loss", "x"], "`--loss x`: `x` is not a probability"),
        (["smart-framing", "--loss", ""], "the list is empty"),
        (["smart-framing", "--rtt", "5"], "`5` is not a duration"),
        (["smart-framing", "--law", "byte"], "`byte` is not `linear`, `constant` or a number"),
        (["short-flow", "--size", "-1"], "`-1` is not a whole number of bytes"),
        (["packet-discard", "--window", "40", "--losses", "6"], "658008 patterns"),
        (
            ["packet-discard", "--window", "8", "--lost", "9"],
            "`--lost 9`: cannot compute packet_discard: the value is [9.0]",
        ),
        (["best-framing", "--size", "100000"], "`--size 100000`: "),
        (["best-framing", "--most-segments", "20"], "`--most-segments 20`: "),
    ],
)
def test_bad_input(tcpsf: Command, arguments: list[str], told: str) -> None:
    answer = tcpsf("model", *arguments)
    assert (answer.status, answer.out) == (2, "")
    assert told in answer.err
    assert "\nhint: " in answer.err


def test_chains_of_the_small_window(tcpsf: Command, tmp_path: Path) -> None:
    """The matrix that is printed is the model's: every row but the exit's adds up to one, and sums up to the model."""
    out = tmp_path / "page"
    answer = tcpsf(
        "model",
        "smart-framing",
        "--chain",
        "--loss",
        "0.1",
        "--rtt",
        "100ms",
        "--json",
        "--out",
        out,
    )
    assert answer.status == 0, answer.err
    found = json.loads(answer.out)
    jsonschema.validate(found, schema("chain"))
    assert [(each["sender"], each["figure"]) for each in found["chains"]] == [
        ("classic", "Fig. 9"),
        ("fs", "Fig. 10"),
        ("vs", "Fig. 11"),
    ]
    passages = (
        small.classic(0.1, rtt=0.1),
        small.fixed_size(0.1, rtt=0.1),
        small.variable_size(0.1, rtt=0.1),
    )
    for each, passage in zip(found["chains"], passages, strict=True):
        assert [sum(row) for row in each["transition"]] == pytest.approx(
            [1.0] * (len(each["states"]) - 1) + [0.0]
        )
        duration = sum(state["visits"] * state["time_s"] for state in each["states"])
        assert duration == pytest.approx(float(passage.duration_s))
    page = (out / "model.html").read_text(encoding="utf-8")
    for number in (9, 10, 11):
        assert f'<figure id="drawing-fig-{number}">' in page
    # Of Classic's seven states three belong to other settings, and no passage visits them.
    assert ">S2FR1<" not in page
    assert page.count('class="state TO"') == 1 + 1 + 9


def test_chains_as_text(tcpsf: Command) -> None:
    answer = tcpsf("model", "smart-framing", "--chain")
    assert answer.status == 0
    assert "loss=0.05" in answer.out
    assert "S2 → TO 0.0975, S4 0.9025" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 100
    several = tcpsf("model", "smart-framing", "--chain", "--loss", "0.1,0.2")
    assert several.status == 2
    assert "give one" in several.err
    assert tcpsf("model", "smart-framing", "--chain", "--net").status == 2


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (["--profile", "linux-6.18"], ["--sender", "linux", "--rto-min", "200ms"]),
        (["--profile", "rfc"], ["--sender", "duplicates", "--rto", "1s"]),
        (["--profile", "bsd", "--rto", "3s"], ["--sender", "duplicates", "--rto", "3s"]),
    ],
)
def test_a_profile_sets_detection_and_timeout(
    tcpsf: Command, words: list[str], same: list[str]
) -> None:
    found = [tcpsf("model", "best-framing", "--json", *each) for each in (words, same)]
    assert [answer.status for answer in found] == [0, 0]
    assert found[0].out == found[1].out
