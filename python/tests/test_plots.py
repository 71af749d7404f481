"""Charts of a user's own data: rows to panels, distribution functions, files, errors."""

from __future__ import annotations

import re
import sys
from datetime import date
from html import unescape
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest

from tcpsf import TcpsfError
from tcpsf.chart import Axis, Plot, cumulative, page_of, plot

SVG = "{http://www.w3.org/2000/svg}"
ROWS = [
    {"x": x, "y": x * scale, "low": x * scale - 0.5, "high": x * scale + 0.5}
    | {"series": sender, "panel": panel}
    for panel in ("20 ms", "200 ms")
    for scale, sender in ((1, "reno"), (2, "fs"))
    for x in (1.0, 10.0, 100.0)
]


def words(drawing: str) -> list[str | None]:
    return [text.text for text in ET.fromstring(drawing).iter(f"{SVG}text")]  # noqa: S314  our own


def test_rows_become_panels_and_curves() -> None:
    made = plot(ROWS, x_axis=Axis(label="RTT", unit="ms", scale="log"), y_axis="time")
    assert [panel.title for panel in made.panels] == ["20 ms", "200 ms"]
    for panel in made.panels:
        assert [(curve.label, len(curve.x)) for curve in panel.curves] == [("reno", 3), ("fs", 3)]
    marks = list(made.panels[1].curves[1].marks())
    assert [(mark.x, mark.value, mark.interval) for mark in marks] == [
        (1.0, 2.0, (1.5, 2.5)),
        (10.0, 20.0, (19.5, 20.5)),
        (100.0, 200.0, (199.5, 200.5)),
    ]


def test_frames_columns_and_rows_give_the_same_chart() -> None:
    frame = pl.DataFrame(ROWS)
    made = plot(ROWS).svg()
    assert plot(frame).svg() == made
    assert plot(frame.to_dict(as_series=False)).svg() == made
    renamed = frame.rename({"y": "mean_s", "series": "sender"})
    assert plot(renamed, y="mean_s", series="sender", y_axis="y").svg() == made


def test_a_series_without_rows_in_a_panel_keeps_its_place() -> None:
    rows = [row for row in ROWS if (row["panel"], row["series"]) != ("20 ms", "reno")]
    made = plot(rows)
    assert [[curve.label for curve in panel.curves] for panel in made.panels] == [
        ["fs", "reno"],
        ["fs", "reno"],
    ]
    assert words(made.svg()).count("reno") == 1


def test_text_makes_categories_and_groups_make_horizontal_bars() -> None:
    rows = [
        {"x": name, "y": number, "group": group, "published": 2.0}
        for group in ("up", "down")
        for number, name in enumerate(("red", "codel"), start=1)
    ]
    (panel,) = plot(rows, style="bar").panels
    assert panel.x.scale == "category"
    assert panel.groups == (("up", 2), ("down", 2))
    drawing = plot(rows, style="bar", reference="RFC 1").svg()
    assert {"up", "down", "red", "codel", "hollow: RFC 1"} <= set(words(drawing))
    assert drawing.count('class="p"') == len(rows) + 1, "one each, and one in the legend"


def test_a_distribution_function_counts_each_series_alone() -> None:
    rows = pl.DataFrame(
        {"time_s": [2.0, 1.0, 2.0, None, 5.0], "sender": ["fs", "fs", "fs", "fs", "reno"]}
    )
    assert cumulative(rows, x="time_s", series="sender").to_dict(as_series=False) == {
        "x": [1.0, 2.0, 5.0],
        "y": [1 / 3, 1.0, 1.0],
        "series": ["fs", "fs", "reno"],
    }
    above = cumulative(rows, x="time_s", series="sender", complementary=True)
    assert above["y"].to_list() == [1 - 1 / 3, 0.0, 0.0]


def test_a_page_needs_no_other_file_and_has_every_value() -> None:
    made = plot(ROWS, title="a <title>", caption="of `rows`")
    html = made.html()
    assert "a &lt;title&gt;" in html
    assert "of <code>rows</code>" in html
    for outside in ("://", "url(", "@import"):
        assert outside not in html
    for row in ROWS:
        assert f'data-value="{row["y"]}"' in html
    frame = made._repr_html_()
    (inner,) = re.findall(r'srcdoc="(.*?)"', frame, re.DOTALL)
    assert unescape(inner) == html
    assert set(made._repr_mimebundle_()) == {"text/html", "image/svg+xml", "text/plain"}


def test_charts_of_a_page_have_different_keys() -> None:
    pair = [plot(ROWS, key="a"), plot(ROWS, key="b")]
    assert page_of(pair, title="Both").count("<figure ") == 2
    with pytest.raises(TcpsfError, match="more than one chart `chart`"):
        page_of([plot(ROWS), plot(ROWS)], title="Both")


@pytest.mark.parametrize("theme", ["paper", "light", "dark"])
def test_a_drawing_for_other_programs_has_no_variables(theme: str) -> None:
    drawing = plot(ROWS, title="T").svg(theme=theme)  # type: ignore[arg-type]
    assert "var(" not in drawing
    assert "prefers-color-scheme" not in drawing
    assert "var(--c1)" in plot(ROWS).svg(theme="auto")
    assert {"T", "20 ms", "200 ms", "95 % interval"} <= set(words(drawing))


def test_files_are_written_by_their_extension(tmp_path: Path) -> None:
    made = plot(ROWS, title="T")
    assert made.save(tmp_path / "a.svg").read_text(encoding="utf-8") == made.svg()
    assert made.save(tmp_path / "a.html").read_text(encoding="utf-8") == made.html()
    with pytest.raises(TcpsfError, match=r"unknown extension `\.gif`"):
        made.save(tmp_path / "a.gif")
    with pytest.raises(TcpsfError, match="cannot write"):
        made.save(tmp_path / "none" / "a.svg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.svg"]


def test_pdf_without_its_package_is_refused_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(TcpsfError, match="vl-convert-python is not installed") as refused:
        plot(ROWS).save(tmp_path / "a.pdf")
    assert refused.value.hint == "pip install 'tcpsf[pdf]', or save it as .svg"


def test_a_pdf_has_a_page(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    assert plot(ROWS).save(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert plot(ROWS).save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def refused(**arguments: object) -> TcpsfError:
    rows = arguments.pop("rows", ROWS)
    with pytest.raises(TcpsfError) as found:
        plot(rows, **arguments)  # type: ignore[arg-type]
    return found.value


def test_what_cannot_be_plotted_is_refused() -> None:
    wrong = refused(y="seris")
    assert str(wrong) == "cannot plot the column `seris`: the rows have no such column"
    assert wrong.hint == "did you mean `series`?"
    assert str(refused(y="panel")) == "cannot plot the column `panel`: it has String"
    assert "on a log axis" in str(refused(x="panel", x_axis=Axis(label="x", scale="log")))
    assert "there is no column `high`" in str(refused(rows=[{"x": 1, "y": 1, "low": 0}]))
    assert str(refused(rows=[])) == "cannot plot the column `x`: the rows have no such column"
    assert str(refused(rows={"x": [None], "y": [1]})) == (
        "cannot plot the column `x`: it has no values"
    )
    assert "it has Date" in str(refused(rows=[{"x": date(2005, 4, 1), "y": 1}]))
    assert "cannot plot int" in str(refused(rows=7))
    with pytest.raises(TcpsfError, match="10 pixels wide"):
        plot(ROWS).svg(width=10)


def test_rows_without_a_position_or_a_reference_are_left_out() -> None:
    made: Plot = plot(
        {
            "x": [1.0, None, float("nan"), 4.0],
            "y": [1.0, 2.0, 3.0, None],
            "published": [None, 1.0, 1.0, 2.5],
        }
    )
    (curve,) = made.panels[0].curves
    assert [(mark.x, mark.value) for mark in curve.marks()] == [(1.0, 1.0), (4.0, None)]
    assert curve.published == ((4.0, 2.5),)
    assert made.panels[0].x == Axis(label="x")


def test_styles_and_colours_are_chosen_by_label() -> None:
    made = plot(ROWS, style={"fs": "point"}, keys={"fs": "vs"})
    assert [(curve.style, curve.key) for curve in made.panels[0].curves] == [
        ("line", "reno"),
        ("point", "vs"),
    ]
