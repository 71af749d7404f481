"""The report page as a document: whole, escaped, readable; charts whose points stand where their values are."""

from __future__ import annotations

import dataclasses
import re
from html import escape
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from example_report import NASTY, SENDERS, example
from test_chart import figure, line

from tcpsf import text
from tcpsf.chart import marks, upright
from tcpsf.chart.panel import Curve
from tcpsf.evaluation.data import Report
from tcpsf.report.evaluation_page import page, panel


@pytest.fixture(scope="module")
def report() -> Report:
    return example()


@pytest.fixture(scope="module")
def html(report: Report) -> str:
    return page(report)


class Document(HTMLParser):
    """Collects what could reach outside, names and links within, cells; checks that tags are closed."""

    VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.names: list[str] = []
        self.count: dict[str, int] = {}
        self.rows: list[list[str]] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        self.addresses += [
            value or "" for name, value in attrs if name in ("src", "href", "action", "xlink:href")
        ]
        self.names += [value or "" for name, value in attrs if name == "id"]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def test_the_page_needs_nothing_else(html: str) -> None:
    document = Document(html)
    assert document.addresses
    assert len(document.names) == len(set(document.names))
    for address in document.addresses:
        assert address.startswith("#")
        assert address[1:] in document.names, address
    for outside in ("://", "url(", "@import"):
        assert outside not in html
    assert "default-src 'none'" in html
    assert len(html) < 1_500_000


def test_the_same_report_gives_the_same_bytes(report: Report, html: str) -> None:
    assert page(report) == html


def test_everything_is_escaped(html: str) -> None:
    assert NASTY not in html
    assert html.count("<script") == 1
    assert html.count("alert(1)") > 10


def test_every_value_is_in_a_table(report: Report, html: str) -> None:
    rows = Document(html).rows
    for row in (
        ["0.8", "2.000 ±0.100", "2.1", "–", "2.5", "2.80 ±0.36", "2.9"],
        ["0.85", "", "3", "", "3", "", "3"],
        ["284\u202f454", "13.33 ±1.33", "14.04", "13.33 ±1.33", "14.04", "13.33 ±1.33", "14.04"],
        ["Reno", *["12.5 ±1.2"] * 4],
        [NASTY, "0.50 ±0.10 s", "–", "short"],
        ["none", "–", "–", ""],
    ):
        assert row in rows
    assert next(row[:2] for row in rows if row[0] == "recovery") == [
        "recovery",
        "delayed ACKs on, IW 1, %",
    ]
    distribution = next(each for each in report.sections[0].figures if each.key == "distribution")
    for point in distribution.series[2].points:
        assert any(row[0] == text.short(float(point.x)) for row in rows)


def test_claims_are_counted_and_listed(html: str) -> None:
    assert (
        re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html)).count(
            "30 claims: 16 hold, 7 do not hold, 7 undecided."
        )
        == 1
    )
    listed = [
        row for row in Document(html).rows if row[-1] in ("holds", "does not hold", "undecided")
    ]
    assert len(listed) == 30
    assert [row[0] for row in listed].count(NASTY) == 1


def test_the_foot_says_where_it_comes_from(html: str) -> None:
    text = re.sub(r"<[^>]+>", "", html[html.index("<footer") :])
    for told in (
        "tcpsf 0.0.0",
        "tcpsf reproduce nothing --quick --seed 1",
        "quick: 8 runs of 500s a point",
        "1 to 8",
        "240 runs in all",
        "2005-04-01T12:00:00+00:00",
        "12 min 34 s",
        "10 scenarios, as JSON",
        '"load": 0.95',
    ):
        assert told in text


def test_a_report_without_claims_or_times(report: Report) -> None:
    bare = dataclasses.replace(
        report,
        sections=report.sections[:1],
        provenance=dataclasses.replace(report.provenance, started=None, seconds=None),
    )
    html = page(bare)
    assert "claims:" not in html
    assert "<dt>Took</dt>" not in html


def test_the_conclusion_comes_first(report: Report, html: str) -> None:
    document = Document(html)
    assert document.rows
    place = html.index('class="conclusion"')
    assert html.index("<h1>") < place < html.index("<nav")
    for sentence in report.conclusion.sentences:
        assert escape(sentence) in html
    assert list(report.to_dict())[:3] == ["schema", "title", "conclusion"]
    assert "Why results differ here, as far as is known: none of it was run." in html


def test_the_verdict_stands_beside_its_test(report: Report, html: str) -> None:
    findings = [finding for section in report.sections for finding in section.findings]
    for finding in findings:
        assert f'<div class="test">{escape(finding.test.wording)}</div>' in html
    assert "more or longer runs would tell" not in html


def test_a_sender_looks_the_same_in_every_figure(report: Report) -> None:
    figures = [each for section in report.sections for each in section.figures]
    known = marks.palette(map(panel, figures))
    seen: dict[str, set[marks.Style]] = {}
    for each in figures:
        styles = upright.draw(panel(each), known).styles
        assert len(set(styles)) == len(styles)
        for series, style in zip(each.series, styles, strict=True):
            seen.setdefault(series.key, set()).add(style)
    for key, _ in SENDERS:
        assert len(seen[key]) == 1
    assert max(len(each.series) for each in figures) > marks.COLOURS


def test_a_sender_looks_the_same_on_every_page() -> None:
    """Classic, variable-size and fixed-size framing have a colour that nothing else has."""
    framings = {"classic": marks.CLASSIC, "vs": marks.VARIABLE, "fs": marks.FIXED}
    for key, colour in framings.items():
        for each in (key, f"{key}-linear", f"{key}-constant", f"lt-{key}", f"w2-{key}"):
            if each in marks.STYLES:
                assert marks.STYLES[each].colour == colour, each
    named = ("classic", "full-sized", "reno", "vs", "fs")
    # Pages of captures have no framings; their keys have a colon.
    for key, style in marks.STYLES.items():
        if ":" in key:
            continue
        own = style.colour in framings.values()
        assert own == any(word in key.split("-") or key.startswith(word) for word in named), key
    strangers = curves(*(f"stranger-{number}" for number in range(30)))
    known = marks.Palette(numbers={curve.key: number for number, curve in enumerate(strangers)})
    assert all(style.colour not in framings.values() for style in marks.styles(strangers, known))
    for classic, other in (("classic", "stranger-0"), ("stranger-3", "classic")):
        drawn_together = marks.styles(curves(classic, other), known)
        assert marks.STYLES["classic"] in drawn_together


def curves(*keys: str) -> tuple[Curve, ...]:
    return panel(figure(*(line((0, 1), key=key) for key in keys))).curves


def test_text_and_lines_are_seen_against_their_ground() -> None:
    """WCAG 2.2 §1.4.3: text at 4.5 to 1; the series' colours are text in no place but held to the same."""
    style = (files("tcpsf.chart") / "templates" / "chart.css").read_text(encoding="utf-8")
    themes = [
        dict(re.findall(r"--([a-z0-9]+): (#[0-9a-f]{3,6});", block))
        for block in re.findall(r":root \{(.*?)\}", style, re.S)
    ]
    assert len(themes) == 3  # light, dark, paper
    for theme in themes:
        for ground in ("page", "band"):
            for ink in (
                "ink",
                "soft",
                "link",
                "good",
                "bad",
                "open",
                *(f"c{number}" for number in range(marks.COLOURS)),
            ):
                assert contrast(theme[ink], theme[ground]) >= 4.5, (ink, theme[ink], theme[ground])


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[start : start + 2], 16) / 255 for start in (0, 2, 4)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
